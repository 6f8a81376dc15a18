//! The other side: a command that reads cases and writes them with what Kafka Connect answers.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Command, Stdio};

/// The answers of a command to these cases, in their order.
///
/// # Errors
/// The command does not run, fails, or does not answer every case.
pub(crate) fn ask(command: &str, cases: &[Json]) -> Result<Vec<Json>> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{command} does not run"))?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        bail!("{command} has no pipes");
    };
    // Both sides at once: the answers would fill the pipe before all cases are written.
    let read = std::thread::scope(|scope| {
        let writer = scope.spawn(move || -> std::io::Result<()> {
            let mut input = BufWriter::new(input);
            for case in cases {
                writeln!(input, "{case}")?;
            }
            input.flush()
        });
        let mut answers = Vec::with_capacity(cases.len());
        for line in BufReader::new(output).lines() {
            answers.push(serde_json::from_str::<Json>(&line?).context("an answer is no JSON")?);
        }
        match writer.join() {
            // A command that ends early says why by its status, not by the broken pipe.
            Ok(_written) => Ok::<_, anyhow::Error>(answers),
            Err(_) => bail!("the thread that writes cases has ended"),
        }
    });
    let status = child.wait()?;
    let answers = read?;
    ensure!(status.success(), "{command} ended with {status}");
    let (got, asked) = (answers.len(), cases.len());
    ensure!(got == asked, "{command} answered {got} of {asked} cases");
    for (case, answer) in cases.iter().zip(&answers) {
        ensure!(
            case["id"] == answer["id"],
            "{command} answered {} as {}",
            case["id"],
            answer["id"]
        );
    }
    Ok(answers)
}

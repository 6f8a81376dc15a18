//! Confluent's own Python client as a writer and a reader of records with schemas, by
//! `scripts/registry-clients`.

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{Proxy, Reply, call, url};

/// A record that the client wrote, or is to read.
#[derive(Clone, Debug)]
pub struct Foreign {
    pub case: String,
    /// avro, json or protobuf.
    pub format: String,
    pub topic: String,
    /// key or value.
    pub side: String,
    pub strategy: String,
    pub headers: Vec<(String, Vec<u8>)>,
    pub data: Vec<u8>,
}

/// Has the client write all its cases by the registry at this address, to topics that begin with
/// `prefix`. Records of a case are in order.
///
/// # Panics
///
/// When the client cannot be had or refuses one.
pub fn written_by_others(url: &str, prefix: &str) -> Vec<Foreign> {
    run(&["write", url, prefix], "").iter().map(Foreign::of).collect()
}

/// The same by the client for JavaScript; `Err` says why it cannot run on this machine.
///
/// # Errors
///
/// Node or npm is missing.
///
/// # Panics
///
/// When the client refuses a case.
pub fn written_in_javascript(url: &str, prefix: &str) -> Result<Vec<Foreign>, String> {
    javascript()?;
    Ok(run(&["node", "write", url, prefix], "").iter().map(Foreign::of).collect())
}

/// What the client reads of these records: a value for each, with the kinds of Python's values.
///
/// # Panics
///
/// When the client cannot be had or refuses one; its own words are in the message.
pub fn read_by_others(url: &str, records: &[Foreign]) -> Vec<Value> {
    let lines: Vec<String> = records.iter().map(Foreign::line).collect();
    let read = run(&["read", url], &(lines.join("\n") + "\n"));
    read.into_iter().map(|mut line| line["value"].take()).collect()
}

/// The same by the client for JavaScript; `Err` says why it cannot run on this machine.
///
/// # Errors
///
/// Node or npm is missing.
///
/// # Panics
///
/// When the client refuses a record.
pub fn read_in_javascript(url: &str, records: &[Foreign]) -> Result<Vec<Value>, String> {
    javascript()?;
    let lines: Vec<String> = records.iter().map(Foreign::line).collect();
    let read = run(&["node", "read", url], &(lines.join("\n") + "\n"));
    Ok(read.into_iter().map(|mut line| line["value"].take()).collect())
}

fn javascript() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut check = Command::new(root.join("scripts/registry-clients"));
    let output = check.args(["node", "check"]).output().expect("bash is there");
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(said) }
}

/// A proxy of the shared registry that knows GUIDs, which the real one does not.
///
/// Records with ids in headers name them. The GUID of a schema ends with its id.
pub fn guids() -> Proxy {
    let proxy = Proxy::to(url());
    proxy.set(|asked| {
        if let Some(rest) = asked.path.strip_prefix("/schemas/guids/") {
            let digits = rest.split('?').next().and_then(|guid| guid.rsplit('-').next());
            let id = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            let path = format!("/schemas/ids/{}", id.unwrap_or(u64::MAX));
            let (status, answer) = call(url(), "GET", &path, None);
            return Reply::json(status, &answer);
        }
        let names_one =
            asked.path.starts_with("/subjects/") || asked.path.starts_with("/schemas/ids/");
        if !names_one {
            return Reply::Forward;
        }
        let body = serde_json::from_str(&asked.body).ok();
        let (status, mut answer) = call(url(), &asked.method, &asked.path, body.as_ref());
        let digits = || asked.path.strip_prefix("/schemas/ids/")?.split('?').next()?.parse().ok();
        if let Some(id) = answer["id"].as_u64().or_else(digits)
            && let Some(answer) = answer.as_object_mut()
        {
            answer.insert("guid".to_owned(), json!(format!("c0c0ca7a-0000-4000-8000-{id:012x}")));
        }
        Reply::json(status, &answer)
    });
    proxy
}

impl Foreign {
    fn of(line: &Value) -> Foreign {
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let headers = line["headers"].as_array().into_iter().flatten();
        let header = |pair: &Value| {
            let part = |at: usize| pair[at].as_str().unwrap_or_default();
            (part(0).to_owned(), unhex(part(1)))
        };
        Foreign {
            case: text("case"),
            format: text("format"),
            topic: text("topic"),
            side: text("side"),
            strategy: text("strategy"),
            headers: headers.map(header).collect(),
            data: unhex(&text("data")),
        }
    }

    fn line(&self) -> String {
        let headers: Vec<_> =
            self.headers.iter().map(|(name, value)| json!([name, hex(value)])).collect();
        json!({
            "case": self.case, "format": self.format, "topic": self.topic, "side": self.side,
            "headers": headers, "data": hex(&self.data),
        })
        .to_string()
    }
}

/// Runs the script; gives the lines that it prints.
fn run(arguments: &[&str], input: &str) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut child = Command::new(root.join("scripts/registry-clients"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bash is there");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_owned();
    let feeder = std::thread::spawn(move || {
        // Where it ends early its own words say why.
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().expect("the script ends");
    feeder.join().expect("writing does not panic");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "scripts/registry-clients {}: {said}", arguments.join(" "));
    let text = String::from_utf8(output.stdout).expect("it prints JSON");
    text.lines().map(|line| serde_json::from_str(line).expect("it prints JSON")).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at: usize| text.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    (0..text.len()).step_by(2).map(|at| digits(at).expect("the script prints hex")).collect()
}

//! The lines that every figure is about: the same bytes on every machine, 100 a line.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use md5::{Digest as _, Md5};

/// Line `index`, without its end.
fn line(index: u64) -> String {
    let hash: String =
        Md5::digest(index.to_string()).iter().map(|byte| format!("{byte:02x}")).collect();
    let reversed: String = hash.chars().rev().collect();
    let start: String = hash.chars().take(23).collect();
    format!("{index:010} {hash} {reversed} {start}")
}

/// Writes lines `0..count`.
pub(super) fn write(path: &Path, count: u64) -> Result<()> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let mut out = BufWriter::new(file);
    for index in 0..count {
        writeln!(out, "{}", line(index))?;
    }
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_everywhere() {
        let mut all = Md5::new();
        for index in 0..1000 {
            let line = line(index);
            assert_eq!(line.len(), 100);
            all.update(format!("{line}\n"));
        }
        let hash: String = all.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hash, "1acda138b013778e555befa0cb086e50");
    }
}

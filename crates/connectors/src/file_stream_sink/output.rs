//! Where lines are written: a file that is appended to, or the standard output.
//!
//! Invariant: bytes are written in order and once. What a failed write left is kept, and is the first
//! to be written next time.

use api::{Error, Result};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind as Io, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Bytes that are gathered before they are written.
const WRITE_BYTES: usize = 256 << 10;
/// How often it is looked whether the file is still the one of its name.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Output {
    /// `None`: the standard output.
    file: Option<AppendedFile>,
    buffer: Vec<u8>,
    /// Bytes at the start of the buffer that are written already.
    written: usize,
}

struct AppendedFile {
    path: PathBuf,
    /// Nobody else appends: a last line without an end is one that a killed worker left.
    alone: bool,
    open: Option<File>,
    looked_at: Instant,
}

impl Output {
    pub(super) fn file(path: &str, alone: bool) -> Output {
        let path = PathBuf::from(path);
        let file = AppendedFile { path, alone, open: None, looked_at: Instant::now() };
        Output { file: Some(file), buffer: Vec::new(), written: 0 }
    }

    pub(super) fn stdout() -> Output {
        Output { file: None, buffer: Vec::new(), written: 0 }
    }

    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// It cannot be opened; a matter of configuration unless it may pass.
    pub(super) fn open(&mut self) -> Result<()> {
        match &mut self.file {
            Some(file) => file.open().map(|_| ()),
            None => Ok(()),
        }
    }

    /// What is to be written next; only to be appended to, by whole lines.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Whether enough has been gathered for a write.
    pub(super) fn is_full(&self) -> bool {
        self.buffer.len() >= WRITE_BYTES
    }

    /// Whether something is gathered and not written.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Writes everything gathered.
    ///
    /// # Errors
    /// It cannot be written (the disk is full); what is left is kept.
    pub(super) fn write(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        match &mut self.file {
            Some(file) => {
                let open = file.current()?;
                let done = drain(open, &self.buffer, &mut self.written);
                done.map_err(|error| file.failed("written", error))?;
            }
            None => {
                let mut stdout = std::io::stdout().lock();
                let done = drain(&mut stdout, &self.buffer, &mut self.written);
                done.and_then(|()| stdout.flush()).map_err(|error| {
                    Error::retriable("the standard output cannot be written").source(error)
                })?;
            }
        }
        self.buffer.clear();
        self.buffer.shrink_to(WRITE_BYTES * 2);
        self.written = 0;
        Ok(())
    }

    /// Waits until everything written is on the disk; where that means nothing, does nothing.
    ///
    /// # Errors
    /// The disk has not taken it.
    pub(super) fn sync(&mut self) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let Some(open) = file.open.as_ref().filter(|open| is_regular(open)) else { return Ok(()) };
        open.sync_data().map_err(|error| file.failed("written to its disk", error))
    }
}

/// Writes what is left of some bytes, and notes how far it got.
fn drain(to: &mut impl Write, bytes: &[u8], written: &mut usize) -> std::io::Result<()> {
    while let Some(rest) = bytes.get(*written..).filter(|rest| !rest.is_empty()) {
        match to.write(rest) {
            Ok(0) => return Err(Io::WriteZero.into()),
            Ok(count) => *written += count,
            Err(error) if error.kind() == Io::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl AppendedFile {
    /// The open file, a new one if the name is another's now.
    fn current(&mut self) -> Result<&mut File> {
        if self.looked_at.elapsed() >= LOOK_EVERY && self.moved_away() {
            tracing::info!("file {} was moved away; a new one is made", self.path.display());
            self.open = None;
        }
        self.open()
    }

    fn moved_away(&mut self) -> bool {
        self.looked_at = Instant::now();
        let Some(own) = self.open.as_ref().and_then(|file| file.metadata().ok()) else {
            return false;
        };
        match std::fs::metadata(&self.path) {
            Ok(named) => !same(&own, &named),
            Err(error) => error.kind() == Io::NotFound,
        }
    }

    fn open(&mut self) -> Result<&mut File> {
        let file = match self.open.take() {
            Some(file) => file,
            None => self.open_anew()?,
        };
        Ok(self.open.insert(file))
    }

    fn open_anew(&mut self) -> Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let mut file = options.open(&self.path).map_err(|error| self.failed("opened", error))?;
        self.looked_at = Instant::now();
        if self.alone && is_regular(&file) && self.is_unfinished() {
            file.write_all(b"\n").map_err(|error| self.failed("written", error))?;
        }
        Ok(file)
    }

    /// Whether the last line has no end. Where the file may not be read, nobody knows.
    fn is_unfinished(&self) -> bool {
        let mut last = [0];
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)
        });
        read.is_ok() && last != *b"\n"
    }

    fn failed(&self, what: &str, error: std::io::Error) -> Error {
        let message = format!("file: {} cannot be {what}", self.path.display());
        match error.kind() {
            Io::PermissionDenied | Io::ReadOnlyFilesystem => Error::config(message)
                .source(error)
                .hint("let the user that runs the worker write it"),
            Io::NotFound => Error::config(message).source(error).hint("make the folder it is in"),
            Io::IsADirectory | Io::NotADirectory | Io::InvalidInput | Io::InvalidFilename => {
                Error::config(message).source(error).hint("name a file in the connector's `file`")
            }
            Io::StorageFull | Io::QuotaExceeded => {
                Error::retriable(message).source(error).hint("make room on its disk")
            }
            _ => Error::retriable(message).source(error),
        }
    }
}

fn is_regular(file: &File) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file())
}

fn same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a few bytes at a time, and fails in between.
    struct Full {
        taken: Vec<u8>,
        room: usize,
    }

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let count = bytes.len().min(self.room).min(3);
            if count == 0 {
                return Err(Io::StorageFull.into());
            }
            self.room -= count;
            self.taken.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_was_full_has_every_byte_once() {
        let mut disk = Full { taken: Vec::new(), room: 7 };
        let mut written = 0;
        let text = b"a line\nand another\n";
        let error = drain(&mut disk, text, &mut written).unwrap_err();
        assert_eq!((error.kind(), written), (Io::StorageFull, 7));
        disk.room = 100;
        drain(&mut disk, text, &mut written).unwrap();
        assert_eq!(disk.taken, text);
    }

    #[test]
    fn a_file_that_was_moved_away_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.txt");
        let mut output = Output::file(path.to_str().unwrap(), true);
        output.buffer().extend_from_slice(b"one\n");
        output.write().unwrap();
        std::fs::rename(&path, dir.path().join("old.txt")).unwrap();
        output.file.as_mut().unwrap().looked_at = Instant::now() - LOOK_EVERY;
        output.buffer().extend_from_slice(b"two\n");
        output.write().unwrap();
        let text = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!((text("old.txt"), text("out.txt")), ("one\n".to_owned(), "two\n".to_owned()));
    }

    #[test]
    fn a_line_that_was_left_unfinished_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.txt");
        for (before, alone, after) in
            [("whole\nhal", true, "whole\nhal\nx\n"), ("a\n", true, "a\nx\n"), ("", true, "x\n"), ("half", false, "halfx\n")]
        {
            std::fs::write(&path, before).unwrap();
            let mut output = Output::file(path.to_str().unwrap(), alone);
            output.buffer().extend_from_slice(b"x\n");
            output.write().unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
        }
    }
}

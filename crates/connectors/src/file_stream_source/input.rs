//! What lines are read from: a file that may come later, grow, be cut or be replaced, or the standard
//! input.
//!
//! Invariant: bytes are given in order and once. A file that was replaced is read to its end first,
//! and the new one from its start.

use api::{Error, ErrorKind, Result};
use crossbeam_channel::{Receiver, TryRecvError};
use rustix::fs::OFlags;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind as Io, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Bytes of the standard input that are read ahead, in parts.
const STDIN_PARTS_MAX: usize = 16;
const STDIN_PART_BYTES: usize = 64 << 10;

/// How long a file that was replaced is still read: who writes it may not have noticed yet.
const REPLACED_WAIT: Duration = Duration::from_secs(2);

/// What a read found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Bytes were appended to the buffer.
    Bytes,
    /// Nothing for now.
    Nothing,
    /// The source begins anew: what was read before, and not given, is void, and positions count from 0.
    Anew,
    /// The file has come to its end for good, and another one has taken its place: what was read
    /// before, and not given, is its last line, and positions count from 0 after it.
    Replaced,
}

pub(super) enum Input {
    File(Box<FileInput>),
    Stdin(Receiver<std::io::Result<Vec<u8>>>),
}

pub(super) struct FileInput {
    path: PathBuf,
    open: Option<File>,
    /// Where the file is read next.
    at: u64,
    /// Since when another file has been in this one's place, and this one has not grown.
    replaced: Option<Instant>,
    /// Why nothing is read at the moment.
    pub(super) waiting: Option<String>,
}

impl Input {
    pub(super) fn file(path: &str, at: u64) -> Input {
        let path = PathBuf::from(path);
        Input::File(Box::new(FileInput { path, open: None, at, replaced: None, waiting: None }))
    }

    /// Reads the standard input on a thread of its own, which ends with it.
    pub(super) fn stdin() -> Result<Input> {
        let (parts, inbox) = crossbeam_channel::bounded(STDIN_PARTS_MAX);
        let body = move || {
            let mut stdin = std::io::stdin().lock();
            loop {
                let mut part = vec![0; STDIN_PART_BYTES];
                let read = stdin.read(&mut part).map(|len| {
                    part.truncate(len);
                    part
                });
                let over = read.as_ref().map_or(true, Vec::is_empty);
                if parts.send(read).is_err() || over {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("stdin".to_owned()).spawn(body);
        thread.map_err(|error| Error::bug("a thread could not be started").source(error))?;
        Ok(Input::Stdin(inbox))
    }

    /// Appends at most `bytes_max` bytes to the buffer.
    pub(super) fn read(&mut self, bytes_max: usize, buffer: &mut Vec<u8>) -> Result<Found> {
        match self {
            Input::File(file) => file.read(bytes_max, buffer),
            Input::Stdin(inbox) => match inbox.try_recv() {
                Ok(Ok(part)) if !part.is_empty() => {
                    buffer.extend_from_slice(&part);
                    Ok(Found::Bytes)
                }
                Ok(Err(error)) => {
                    Err(Error::retriable("the standard input cannot be read").source(error))
                }
                Ok(Ok(_)) | Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                    Ok(Found::Nothing)
                }
            },
        }
    }
}

impl FileInput {
    fn read(&mut self, bytes_max: usize, buffer: &mut Vec<u8>) -> Result<Found> {
        if self.open.is_none() {
            match self.open_file()? {
                Found::Bytes => {}
                other => return Ok(other),
            }
        }
        let Some(file) = &mut self.open else { return Ok(Found::Nothing) };
        let before = buffer.len();
        let read = file.by_ref().take(bytes_max as u64).read_to_end(buffer);
        // A pipe that has no more for now; what it gave before is not to be had again.
        let read = match read {
            Err(error) if error.kind() == Io::WouldBlock && buffer.len() == before => {
                return Ok(Found::Nothing);
            }
            Err(error) if error.kind() == Io::WouldBlock => Ok(buffer.len() - before),
            other => other,
        };
        match read {
            Ok(0) => self.at_end(),
            Ok(len) => {
                self.at += len as u64;
                // Somebody still writes it: all of that is to be read.
                self.replaced = self.replaced.map(|_| Instant::now());
                Ok(Found::Bytes)
            }
            Err(error) => {
                buffer.truncate(before);
                self.open = None;
                Err(self.failed("read", error))
            }
        }
    }

    /// Opens the file where reading goes on; [`Found::Bytes`] if it could be.
    fn open_file(&mut self) -> Result<Found> {
        let shown = self.path.display();
        // A pipe that nobody writes would hold up the task, and its stop, until somebody does.
        let wait_for_nobody = OFlags::NONBLOCK.bits() as i32;
        let opened = OpenOptions::new().read(true).custom_flags(wait_for_nobody).open(&self.path);
        let mut file = match opened {
            Err(error) if error.kind() == Io::NotFound => {
                self.waiting = Some(format!("file {shown} is not there, waiting for it"));
                return Ok(Found::Nothing);
            }
            Err(error) => return Err(self.failed("opened", error)),
            Ok(file) => file,
        };
        let meta = file.metadata().map_err(|error| self.failed("opened", error))?;
        if meta.is_dir() {
            return Err(Error::config(format!("file: {shown} is a folder"))
                .hint("name a file in the connector's `file`"));
        }
        let shorter = meta.is_file() && meta.len() < self.at;
        if shorter {
            tracing::warn!(
                "file {shown} has {} bytes and was read up to {}: it was cut or replaced, and is read \
                 from its start",
                meta.len(),
                self.at
            );
            self.at = 0;
        }
        if meta.is_file() {
            file.seek(SeekFrom::Start(self.at)).map_err(|error| self.failed("read", error))?;
        }
        self.open = Some(file);
        self.waiting = None;
        Ok(if shorter { Found::Anew } else { Found::Bytes })
    }

    /// The end of what there is: of the file as it grows, or of one that is another now.
    fn at_end(&mut self) -> Result<Found> {
        let Some(own) = self.open.as_ref().and_then(|file| file.metadata().ok()) else {
            return Ok(Found::Nothing);
        };
        let shown = self.path.display();
        if own.is_file() && own.len() < self.at {
            tracing::warn!(
                "file {shown} was cut to {} bytes while it was read; it is read from its start",
                own.len()
            );
            self.begin_anew();
            return Ok(Found::Anew);
        }
        match std::fs::metadata(&self.path) {
            Ok(named) if !same(&own, &named) => {
                let since = *self.replaced.get_or_insert_with(Instant::now);
                if since.elapsed() < REPLACED_WAIT {
                    return Ok(Found::Nothing);
                }
                tracing::info!("file {shown} was replaced; the new one is read from its start");
                self.begin_anew();
                Ok(Found::Replaced)
            }
            // Moved away: what comes in its place is a new file. Until then this one may still grow.
            _ => Ok(Found::Nothing),
        }
    }

    fn begin_anew(&mut self) {
        self.open = None;
        self.at = 0;
        self.replaced = None;
    }

    /// As if a file that was replaced had not been written for long enough.
    #[cfg(test)]
    pub(super) fn wait_no_longer(&mut self) {
        let passed = Instant::now().checked_sub(REPLACED_WAIT);
        self.replaced = self.replaced.and(passed);
    }

    fn failed(&self, what: &str, error: std::io::Error) -> Error {
        let message = format!("file: {} cannot be {what}", self.path.display());
        match error.kind() {
            Io::PermissionDenied => Error::config(message)
                .source(error)
                .hint("let the user that runs the worker read it"),
            Io::IsADirectory | Io::NotADirectory | Io::InvalidInput => {
                Error::config(message).source(error).hint("name a file in the connector's `file`")
            }
            _ => Error::new(ErrorKind::Retriable, message).source(error),
        }
    }
}

fn same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

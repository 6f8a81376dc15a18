//! Files that a configuration names: whoever may write configurations must not be able to fill the memory
//! with an endless one, or to hold a thread with one that never answers.

use std::fs::{self, File};
use std::io::{self, Error, ErrorKind, Read as _};
use std::path::Path;

/// No file of settings, secrets or certificates is this large.
pub const BYTES_MAX: u64 = 16 << 20;

/// The content of a regular file of at most `bytes_max` bytes.
///
/// # Errors
/// It cannot be read, is a device or a pipe, or is larger.
pub fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no regular file"));
    }
    read_at_most(File::open(path)?, bytes_max)
}

/// What can be read to the end within `bytes_max` bytes.
///
/// # Errors
/// It cannot be read, or there is more.
pub fn read_at_most(file: impl io::Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let text = format!("it has more than {bytes_max} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// As [`read_bounded`], or it is not UTF-8.
pub fn read_text_bounded(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read_bounded(path, bytes_max)?)
        .map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_endless_or_too_large_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(read_bounded(&path, 5).unwrap(), b"12345");
        assert_eq!(read_text_bounded(&path, 5).unwrap(), "12345");
        assert_eq!(read_bounded(&path, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_at_most(io::repeat(0), 9).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let zero = read_bounded(Path::new("/dev/zero"), 9).unwrap_err();
        assert_eq!(zero.kind(), ErrorKind::InvalidInput);
        assert_eq!(read_bounded(dir.path(), 9).unwrap_err().kind(), ErrorKind::IsADirectory);
        fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_text_bounded(&path, 9).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}

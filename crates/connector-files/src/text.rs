//! Bytes of files as text, with messages that say what to do where they are none.

use crate::FileError;
use config::Props;
use config::files::{BYTES_MAX, read_at_most};
use std::path::Path;

/// A file of UTF-8 text.
pub(crate) fn read_text(path: &Path) -> Result<String, FileError> {
    let bytes = read_bytes(path)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        FileError::new(format!("{}: byte {at} is not UTF-8 text", path.display()))
            .hint("save the file as UTF-8")
    })?;
    // Windows editors put it at the start.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    let name = path.display();
    let wrong = |text: String, hint: &str| FileError::new(format!("{name}: {text}")).hint(hint);
    let unusable = |hint| wrong("cannot be read as a configuration file".to_owned(), hint);
    match std::fs::metadata(path) {
        Err(error) => Err(wrong(error.to_string(), "check the path and its permissions")),
        Ok(found) if found.is_dir() => Err(unusable("this is a folder; name a file in it")),
        Ok(found) if found.len() > BYTES_MAX => Err(unusable("no configuration is this large")),
        // A pipe or a device has no length.
        Ok(_) => std::fs::File::open(path).and_then(|file| read_at_most(file, BYTES_MAX)).map_err(
            |error| match error.kind() {
                std::io::ErrorKind::FileTooLarge => unusable("no configuration is this large"),
                _ => wrong(error.to_string(), "check the file's permissions"),
            },
        ),
    }
}

/// Java reads these files as ISO-8859-1, newer tools write UTF-8: what is not UTF-8 is the former.
/// Anything with a zero byte is no text at all.
fn properties_text(path: &Path) -> Result<String, FileError> {
    let bytes = read_bytes(path)?;
    if bytes.contains(&0) {
        return Err(FileError::new(format!("{}: not a text file", path.display()))
            .hint("save the file as UTF-8 text"));
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| error.as_bytes().iter().copied().map(char::from).collect()))
}

/// A properties file.
///
/// # Errors
/// The file cannot be read, or is no properties file.
pub fn read_properties(path: &Path) -> Result<Props, FileError> {
    let text = properties_text(path)?;
    config::properties::parse(&text)
        .map_err(|error| FileError::new(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Props, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.properties");
        std::fs::write(&path, bytes).unwrap();
        read_properties(&path).map_err(|error| error.message)
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let error = read_properties(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("no configuration is this large"));
    }

    #[test]
    fn properties_are_utf8_or_latin1_with_or_without_a_byte_order_mark() {
        for bytes in [
            "a=caf\u{e9} \u{20ac}\n".as_bytes(),
            "\u{feff}a=caf\u{e9} \u{20ac}\n".as_bytes(),
            b"a=caf\xe9 \\u20ac\n",
        ] {
            assert_eq!(read(bytes).unwrap().get("a"), Some("caf\u{e9} \u{20ac}"));
        }
        assert!(read(&[0xff, 0xfe, b'a', 0]).unwrap_err().contains("not a text file"));
    }
}

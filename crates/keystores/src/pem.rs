//! PEM text: certificates and private keys, as files have them and as one-line settings do.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// One block, cleaned up: base64 text in lines of 64 letters.
struct Block {
    label: String,
    text: String,
}

/// All blocks of a text; what stands between them is left out.
fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let (label, after) =
            after.split_once("-----").ok_or("a line -----BEGIN …----- is cut off")?;
        let end = format!("-----END {label}-----");
        let (body, after) =
            after.split_once(end.as_str()).ok_or_else(|| format!("the line {end} is missing"))?;
        rest = after;
        let text = if body.contains(':') {
            // Header lines (an encrypted key of the old form): kept as they are.
            format!("-----BEGIN {label}-----{body}{end}\n")
        } else {
            wrap(label, &body.split_whitespace().collect::<String>())?
        };
        blocks.push(Block { label: label.to_owned(), text });
    }
    Ok(blocks)
}

fn wrap(label: &str, body: &str) -> Result<String, String> {
    let der = STANDARD
        .decode(body)
        .map_err(|error| format!("the block {label} is not valid base64: {error}"))?;
    Ok(encode(label, &der))
}

/// A block of these bytes.
pub fn encode(label: &str, der: &[u8]) -> String {
    let body = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in body.as_bytes().chunks(64) {
        // Base64 is ASCII, so every chunk is valid text.
        let _ = writeln!(text, "{}", String::from_utf8_lossy(line));
    }
    let _ = writeln!(text, "-----END {label}-----");
    text
}

/// Label and bytes of every block of a text that has no header lines.
///
/// # Errors
/// A block is malformed.
pub(crate) fn blocks_of(text: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut found = Vec::new();
    for Block { label, text } in blocks(text)? {
        let body: String = text.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = STANDARD.decode(body);
        found.push((label, der.map_err(|error| format!("a block is not valid base64: {error}"))?));
    }
    Ok(found)
}

/// The certificates of a text, in order.
///
/// # Errors
/// There is none, or a block is malformed.
pub fn certificates(text: &str) -> Result<String, String> {
    let found: String = blocks(text)?
        .into_iter()
        .filter(|block| block.label.ends_with("CERTIFICATE"))
        .map(|block| block.text)
        .collect();
    if found.is_empty() {
        return Err("there is no block -----BEGIN CERTIFICATE-----".to_owned());
    }
    Ok(found)
}

/// The private key of a text.
///
/// # Errors
/// There is none or more than one, or a block is malformed.
pub fn private_key(text: &str) -> Result<String, String> {
    let mut keys = blocks(text)?.into_iter().filter(|block| block.label.ends_with("PRIVATE KEY"));
    match (keys.next(), keys.next()) {
        (Some(key), None) => Ok(key.text),
        (None, _) => Err("there is no block -----BEGIN PRIVATE KEY-----".to_owned()),
        (Some(_), Some(_)) => Err("there is more than one private key".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_settings_become_proper_blocks() {
        let body = STANDARD.encode([7_u8; 60]);
        let line = format!("x -----BEGIN CERTIFICATE----- {body} -----END CERTIFICATE----- y");
        let expected = encode("CERTIFICATE", &[7; 60]);
        assert_eq!(certificates(&line).unwrap(), expected);
        assert!(expected.lines().all(|line| line.len() <= 64), "{expected}");
        let two = format!("{line}\n{line}");
        assert_eq!(certificates(&two).unwrap(), expected.repeat(2));
    }

    #[test]
    fn keys_and_certificates_are_told_apart() {
        let text = encode("ENCRYPTED PRIVATE KEY", b"k") + &encode("CERTIFICATE", b"c");
        assert_eq!(private_key(&text).unwrap(), encode("ENCRYPTED PRIVATE KEY", b"k"));
        assert_eq!(certificates(&text).unwrap(), encode("CERTIFICATE", b"c"));
        let old = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAA==\n\
                   -----END RSA PRIVATE KEY-----\n";
        assert_eq!(private_key(old).unwrap(), old);
    }

    #[test]
    fn malformed_text_is_named() {
        assert!(certificates("nothing").unwrap_err().contains("no block"));
        assert!(certificates("-----BEGIN CERTIFICATE-----\nAA").unwrap_err().contains("missing"));
        let bad = "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----";
        assert!(certificates(bad).unwrap_err().contains("not valid base64"));
    }
}

//! The key with which workers sign what they ask of each other.

use super::json::Writer;
use super::{Unusable, json};
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::engine::{DecodePaddingMode, Engine};
use serde_json::Value;
use std::fmt;

/// Java's decoder does not mind bits that mean nothing, nor absent padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A secret; `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionKey {
    /// Never empty.
    pub key: Vec<u8>,
    /// The name of the MAC it is for, `HmacSHA256`.
    pub algorithm: String,
    /// Milliseconds since the epoch.
    pub created_ms: i64,
}

impl SessionKey {
    pub(super) fn read(value: Value) -> Result<SessionKey, Unusable> {
        let members = json::members(value)?;
        let missing = |name: &str| Unusable::new(format!("its member '{name}' cannot be used"));
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        let key = text("key").and_then(|key| LENIENT.decode(key).ok());
        let key = key.filter(|key| !key.is_empty()).ok_or_else(|| missing("key"))?;
        let algorithm = text("algorithm").ok_or_else(|| missing("algorithm"))?.to_owned();
        let created_ms = members.get("creation-timestamp").and_then(Value::as_i64);
        let created_ms = created_ms.ok_or_else(|| missing("creation-timestamp"))?;
        Ok(SessionKey { key, algorithm, created_ms })
    }

    pub(super) fn to_record(&self) -> Vec<u8> {
        Writer::new()
            .text("key", Some(&STANDARD.encode(&self.key)))
            .text("algorithm", Some(&self.algorithm))
            .raw("creation-timestamp", self.created_ms)
            .finish()
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SessionKey { algorithm, created_ms, .. } = self;
        let mut out = f.debug_struct("SessionKey");
        out.field("algorithm", algorithm).field("created_ms", created_ms).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SessionKey, Unusable> {
        SessionKey::read(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn a_key_is_read_as_java_does_and_never_shown() {
        let text = r#"{"key":"AAEC","algorithm":"HmacSHA256","creation-timestamp":17}"#;
        let key = read(text).unwrap();
        assert_eq!(key.to_record(), text.as_bytes());
        assert_eq!(key.key, [0, 1, 2]);
        assert!(!format!("{key:?}").contains("AAEC") && !format!("{key:?}").contains("[0, 1"));
        for lenient in ["AAE", "AAF="] {
            let text = text.replace("AAEC", lenient);
            assert_eq!(read(&text).unwrap().key, [0, 1], "{text}");
        }
        for (from, to) in
            [("AAEC", ""), ("AAEC", "A A"), ("\"AAEC\"", "5"), ("17", "1.0"), ("17", "\"17\"")]
        {
            let text = text.replace(from, to);
            let error = read(&text).unwrap_err();
            assert!(!error.undecodable && !error.why.contains("AAEC"), "{text}");
        }
    }
}

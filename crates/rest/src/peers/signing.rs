//! Signatures of what workers ask of each other, as Kafka Connect has them (KIP-507): a MAC with the
//! session key, in two headers.
//!
//! Source of the messages: Kafka Connect's internal endpoints.

use crate::codes::Code;
use crate::errors::RestError;
use aws_lc_rs::{constant_time, hmac};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::engine::Engine;
use base64::engine::general_purpose::STANDARD;
use herder::distributed::keys::SessionKey;

const SIGNATURE: HeaderName = HeaderName::from_static("x-connect-authorization");
const ALGORITHM: HeaderName = HeaderName::from_static("x-connect-request-signature-algorithm");

/// What Java can do; here only those that end an arm below are done.
const OF_JAVA: [&str; 12] = [
    "HmacMD5",
    "HmacSHA1",
    "HmacSHA224",
    "HmacSHA256",
    "HmacSHA384",
    "HmacSHA512",
    "HmacSHA512/224",
    "HmacSHA512/256",
    "HmacSHA3-224",
    "HmacSHA3-256",
    "HmacSHA3-384",
    "HmacSHA3-512",
];

fn algorithm(name: &str) -> Option<hmac::Algorithm> {
    Some(match name {
        "HmacSHA1" => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        "HmacSHA224" => hmac::HMAC_SHA224,
        "HmacSHA256" => hmac::HMAC_SHA256,
        "HmacSHA384" => hmac::HMAC_SHA384,
        "HmacSHA512" => hmac::HMAC_SHA512,
        _ => return None,
    })
}

/// How this worker signs, and what it takes.
pub(super) struct Signing {
    name: HeaderValue,
    algorithm: hmac::Algorithm,
    verifies: Vec<String>,
}

impl Signing {
    /// # Errors
    /// An algorithm that there is not.
    pub(super) fn new(name: &str, verifies: Vec<String>) -> Result<Signing, String> {
        let unknown = |name: &str| format!("there is no signature algorithm {name}");
        if let Some(other) = verifies.iter().find(|name| algorithm(name).is_none()) {
            return Err(unknown(other));
        }
        let algorithm = algorithm(name).ok_or_else(|| unknown(name))?;
        let name = HeaderValue::from_str(name).map_err(|error| error.to_string())?;
        Ok(Signing { name, algorithm, verifies })
    }

    pub(super) fn sign(&self, headers: &mut HeaderMap, key: &SessionKey, covers: &[&[u8]]) {
        let signature = STANDARD.encode(mac(self.algorithm, key, covers));
        // Base64 is text that a header can have.
        if let Ok(signature) = HeaderValue::from_str(&signature) {
            headers.insert(SIGNATURE, signature);
            headers.insert(ALGORITHM, self.name.clone());
        }
    }

    pub(super) fn is_signed(headers: &HeaderMap) -> bool {
        headers.contains_key(SIGNATURE) && headers.contains_key(ALGORITHM)
    }

    /// # Errors
    /// No signature, or none of these bytes by one of these keys.
    pub(super) fn verify<'a>(
        &self,
        headers: &HeaderMap,
        keys: impl Iterator<Item = &'a SessionKey>,
        covers: &[&[u8]],
    ) -> Result<(), RestError> {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let (Some(given), Some(name)) = (text(SIGNATURE), text(ALGORITHM)) else {
            let message = "Internal request missing required signature";
            return Err(RestError::new(Code::SignatureMissing, message)
                .hint("workers of the cluster ask this of each other, and nobody else does"));
        };
        if !OF_JAVA.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            let message = format!("Algorithm {name} not available");
            return Err(RestError::new(Code::SignatureUnusable, message));
        }
        let given = decode(given)?;
        let allowed = self.verifies.iter().find(|allowed| *allowed == name);
        let Some(algorithm) = allowed.and_then(|name| algorithm(name)) else {
            return Err(self.not_allowed(name));
        };
        let mut any = false;
        for key in keys {
            any = true;
            let right = mac(algorithm, key, covers);
            if constant_time::verify_slices_are_equal(&right, &given).is_ok() {
                return Ok(());
            }
        }
        if any {
            let message = "Internal request contained invalid signature.";
            return Err(RestError::new(Code::SignatureInvalid, message));
        }
        Err(RestError::new(
            Code::NoSessionKey,
            "This worker is still starting up and has not been able to read a session key from the \
             config topic yet",
        ))
    }

    fn not_allowed(&self, name: &str) -> RestError {
        let allowed = self.verifies.join(", ");
        let message = format!(
            "This worker does not support the '{name}' key signing algorithm used by other workers. This \
             worker is currently configured to use: [{allowed}]. Check that all workers' configuration \
             files permit the same set of signature algorithms, and correct any misconfigured worker and \
             restart it."
        );
        RestError::new(Code::SignatureUnusable, message)
            .hint("see inter.worker.signature.algorithm and inter.worker.verification.algorithms")
    }
}

fn mac(algorithm: hmac::Algorithm, key: &SessionKey, covers: &[&[u8]]) -> Vec<u8> {
    let mut context = hmac::Context::with_key(&hmac::Key::new(algorithm, &key.key));
    covers.iter().for_each(|piece| context.update(piece));
    context.sign().as_ref().to_vec()
}

/// In the words of Java's decoder.
fn decode(text: &str) -> Result<Vec<u8>, RestError> {
    STANDARD.decode(text).map_err(|error| {
        let message = match error {
            base64::DecodeError::InvalidByte(_, byte) => {
                format!("Illegal base64 character {byte:x}")
            }
            _ => "Input byte array has wrong 4-byte ending unit".to_owned(),
        };
        RestError::new(Code::SignatureUnusable, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;

    fn key(byte: u8) -> SessionKey {
        SessionKey { key: vec![byte; 32], algorithm: "HmacSHA256".to_owned(), created_ms: 0 }
    }

    fn signing(name: &str) -> Signing {
        Signing::new(name, vec![name.to_owned()]).unwrap()
    }

    fn verified(signing: &Signing, headers: &HeaderMap, keys: &[SessionKey]) -> u16 {
        let verified = signing.verify(headers, keys.iter(), &[b"bo", b"dy"]);
        verified.map_or_else(|error| error.into_response().status().as_u16(), |()| 200)
    }

    /// RFC 4231, test case 2.
    #[test]
    fn a_signature_is_a_mac_over_the_bytes() {
        let jefe = SessionKey { key: b"Jefe".to_vec(), ..key(0) };
        let text: [&[u8]; 2] = [b"what do ya want ", b"for nothing?"];
        let mac = mac(hmac::HMAC_SHA256, &jefe, &text);
        let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn only_what_was_signed_with_a_good_key_is_believed() {
        let signing = signing("HmacSHA256");
        let mut headers = HeaderMap::new();
        assert_eq!(verified(&signing, &headers, &[key(1)]), 400);
        signing.sign(&mut headers, &key(1), &[b"body"]);
        assert_eq!(verified(&signing, &headers, &[key(1)]), 200);
        assert_eq!(verified(&signing, &headers, &[key(2), key(1)]), 200, "replaced a moment ago");
        assert_eq!(verified(&signing, &headers, &[key(2)]), 403);
        assert_eq!(verified(&signing, &headers, &[]), 503);
        signing.sign(&mut headers, &key(1), &[b"other"]);
        assert_eq!(verified(&signing, &headers, &[key(1)]), 403);
        headers.remove(ALGORITHM);
        assert_eq!(verified(&signing, &headers, &[key(1)]), 400);
    }

    #[test]
    fn workers_whose_algorithms_differ_are_told_so() {
        let mut headers = HeaderMap::new();
        signing("HmacSHA512").sign(&mut headers, &key(1), &[b"body"]);
        let strict = signing("HmacSHA256");
        let error = strict.verify(&headers, [key(1)].iter(), &[b"body"]).unwrap_err();
        assert!(error.message.contains("'HmacSHA512' key signing algorithm"), "{}", error.message);
        let both = ["HmacSHA256", "HmacSHA512"].map(str::to_owned).to_vec();
        let lenient = Signing::new("HmacSHA256", both).unwrap();
        assert_eq!(verified(&lenient, &headers, &[key(1)]), 200);
        assert!(Signing::new("HmacMD5", Vec::new()).is_err());
    }
}

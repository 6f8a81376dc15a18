//! How the workers of a cluster sign what they ask of each other: keys of a distributed worker.
//!
//! Invariant: names of algorithms are Java's, and so are the messages, but that they name what this
//! worker has.

use crate::validator::{Validator, invalid};
use crate::value::Value;
use crate::{Config, ConfigError};

/// The algorithms that sign, each of which also makes keys, with the bits of such a key.
pub const ALGORITHMS: [(&str, u32); 5] = [
    ("HmacSHA1", 512),
    ("HmacSHA224", 224),
    ("HmacSHA256", 256),
    ("HmacSHA384", 384),
    ("HmacSHA512", 512),
];

/// Java makes no shorter ones.
const KEY_BITS_MIN: i32 = 40;
/// Longer ones sign no better: they are hashed first.
const KEY_BITS_MAX: i32 = 1 << 16;

/// Keys of what workers ask of each other.
#[derive(Config, Clone, Debug)]
#[config(importance = low, check = check)]
pub struct InterWorkerConfig {
    /// Algorithm for whose signatures the leader makes the key that workers share: HmacSHA1, HmacSHA224,
    /// HmacSHA256, HmacSHA384 or HmacSHA512.
    #[config(key = "inter.worker.key.generation.algorithm", default = "HmacSHA256",
        validator = Validator::custom(check_algorithms))]
    pub key_generation_algorithm: String,

    /// Bits of that key; as many as its algorithm asks for if not set.
    #[config(key = "inter.worker.key.size")]
    pub key_size: Option<i32>,

    /// How old that key becomes before the leader makes another one, in milliseconds; 0: it is never
    /// replaced for its age.
    #[config(key = "inter.worker.key.ttl.ms", default = 3600000, at_least(0))]
    pub key_ttl_ms: i32,

    /// Algorithm by which this worker signs what it asks of others.
    #[config(key = "inter.worker.signature.algorithm", default = "HmacSHA256",
        validator = Validator::custom(check_algorithms))]
    pub signature_algorithm: String,

    /// Algorithms by which others may sign what they ask of this worker, separated by commas. That of
    /// inter.worker.signature.algorithm is among them.
    #[config(key = "inter.worker.verification.algorithms", default = "HmacSHA256",
        validator = Validator::custom(check_algorithms))]
    pub verification_algorithms: Vec<String>,
}

impl InterWorkerConfig {
    /// Bytes of a new key.
    pub fn key_bytes(&self) -> usize {
        let own = ALGORITHMS.iter().find(|(name, _)| *name == self.key_generation_algorithm);
        let usual = own.map_or(256, |(_, bits)| *bits);
        let bits = self.key_size.and_then(|bits| u32::try_from(bits).ok()).unwrap_or(usual);
        bits.div_ceil(8) as usize
    }
}

fn is_known(name: &str) -> bool {
    ALGORITHMS.iter().any(|(known, _)| *known == name)
}

fn check_algorithms(key: &str, value: &Value) -> Result<(), String> {
    let names = match value {
        Value::String(name) => std::slice::from_ref(name),
        Value::List(names) => names.as_slice(),
        _ => return Ok(()),
    };
    if names.is_empty() {
        let text = "At least one signature verification algorithm must be provided";
        return Err(invalid(key, value, text));
    }
    match names.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(unknown) => {
            let known = ALGORITHMS.map(|(name, _)| name).join(", ");
            let text = format!(
                "the algorithm is not supported by this worker; the supported algorithms are: [{known}]"
            );
            Err(invalid(key, unknown, &text))
        }
    }
}

fn check(config: &InterWorkerConfig) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    let bounds = KEY_BITS_MIN..=KEY_BITS_MAX;
    if let Some(bits) = config.key_size.filter(|bits| !bounds.contains(bits)) {
        let why = if bits < KEY_BITS_MIN {
            format!("Key length must be at least {KEY_BITS_MIN} bits")
        } else {
            format!("Key length must be at most {KEY_BITS_MAX} bits")
        };
        let text = format!(
            "Unable to create key generator with algorithm {} and key size {bits}: {why}",
            config.key_generation_algorithm
        );
        errors.push(ConfigError::new("inter.worker.key.size", text));
    }
    if !config.verification_algorithms.contains(&config.signature_algorithm) {
        let key = "inter.worker.signature.algorithm";
        let text =
            "Signature algorithm must be present in inter.worker.verification.algorithms list";
        errors.push(ConfigError::new(key, invalid(key, &config.signature_algorithm, text)));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Props;

    fn parse(pairs: &[(&str, &str)]) -> Result<InterWorkerConfig, String> {
        let props: Props = pairs.iter().copied().collect();
        InterWorkerConfig::parse(&props).map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_key_has_the_bits_of_its_algorithm_unless_others_are_asked_for() {
        let bytes = |pairs: &[(&str, &str)]| parse(pairs).unwrap().key_bytes();
        let algorithm = "inter.worker.key.generation.algorithm";
        assert_eq!(bytes(&[]), 32);
        assert_eq!(bytes(&[(algorithm, "HmacSHA1")]), 64);
        assert_eq!(bytes(&[(algorithm, "HmacSHA384")]), 48);
        assert_eq!(bytes(&[("inter.worker.key.size", "41")]), 6);
    }

    #[test]
    fn what_cannot_sign_is_refused_in_the_words_of_kafka_connect() {
        let unknown = "the algorithm is not supported by this worker; the supported algorithms are: \
                       [HmacSHA1, HmacSHA224, HmacSHA256, HmacSHA384, HmacSHA512]";
        for (key, value, said) in [
            ("inter.worker.signature.algorithm", "HmacMD4", unknown),
            ("inter.worker.key.generation.algorithm", "AES", unknown),
            ("inter.worker.verification.algorithms", "HmacSHA256,X", unknown),
            (
                "inter.worker.verification.algorithms",
                "",
                "At least one signature verification algorithm must be provided",
            ),
            (
                "inter.worker.verification.algorithms",
                "HmacSHA1,HmacSHA512",
                "Invalid value HmacSHA256 for configuration inter.worker.signature.algorithm: Signature \
                 algorithm must be present in inter.worker.verification.algorithms list",
            ),
            (
                "inter.worker.key.size",
                "39",
                "Unable to create key generator with algorithm HmacSHA256 and key size 39: Key length \
                 must be at least 40 bits",
            ),
            ("inter.worker.key.size", "65537", "at most 65536 bits"),
            ("inter.worker.key.ttl.ms", "-1", "Value must be at least 0"),
        ] {
            let error = parse(&[(key, value)]).unwrap_err();
            assert!(error.contains(said), "{key}={value}: {error}");
        }
        let two = [
            ("inter.worker.signature.algorithm", "HmacSHA1"),
            ("inter.worker.verification.algorithms", "HmacSHA1,HmacSHA256"),
        ];
        assert_eq!(parse(&two).unwrap().verification_algorithms.len(), 2);
    }
}

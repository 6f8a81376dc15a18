//! Tests of the whole translation.

use super::{ClientKind, ClientSettings, NoticeKind, translate};
use config::Props;

mod clients;
mod keys;
mod security;

fn props(pairs: &[(&str, &str)]) -> Props {
    pairs.iter().copied().collect()
}

fn good(kind: ClientKind, pairs: &[(&str, &str)]) -> ClientSettings {
    translate(kind, &[&props(pairs)]).unwrap()
}

/// The errors, each as `key: message`.
fn bad(kind: ClientKind, pairs: &[(&str, &str)]) -> String {
    translate(kind, &[&props(pairs)]).unwrap_err().to_string()
}

fn value<'a>(settings: &'a ClientSettings, key: &str) -> Option<&'a str> {
    settings.librdkafka.get(key).map(String::as_str)
}

/// The notices, each as `kind key: message`.
fn notices(settings: &ClientSettings) -> Vec<String> {
    settings.notices.iter().map(|notice| format!("{:?} {notice}", notice.kind)).collect()
}

fn has_notice(settings: &ClientSettings, kind: NoticeKind, key: &str) -> bool {
    settings.notices.iter().any(|notice| notice.kind == kind && notice.key == key)
}

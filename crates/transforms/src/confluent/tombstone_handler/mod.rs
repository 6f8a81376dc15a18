//! TombstoneHandler: drops, keeps or refuses records without a value.

use api::{Transform, TransformPlugin};
use config::Config;
use data::{Batch, Mask};

use crate::fault::Fault;
use crate::part::{chosen, refuse};

const CLASS: &str = "io.confluent.connect.transforms.TombstoneHandler";

config::config_enum! {
    /// What becomes of a tombstone.
    enum Behavior {
        /// It is dropped.
        DropSilent = "drop_silent",
        /// It is dropped.
        DropWarn = "drop_warn",
        /// It stays.
        Ignore = "ignore",
        /// It stays.
        Warn = "warn",
        /// It is refused.
        Fail = "fail",
    }
}

/// The settings.
#[derive(Clone, Debug, Config)]
struct TombstoneHandlerConfig {
    /// What becomes of a record whose value is null: `drop_silent` and `drop_warn` drop it, `ignore`
    /// and `warn` keep it, `fail` refuses it. There is no line in the log for each of them; dropped
    /// records are counted.
    #[config(default = "warn", case_insensitive, importance = high)]
    behavior: Behavior,
}

pub(crate) static PLUGIN: TransformPlugin = TransformPlugin {
    class: CLASS,
    aliases: &["TombstoneHandler"],
    version: env!("CARGO_PKG_VERSION"),
    summary: "Drops, keeps or refuses records without a value.",
    config_def: TombstoneHandlerConfig::def,
    make: |props| {
        let behavior = TombstoneHandlerConfig::parse(props)?.behavior;
        Ok(Box::new(TombstoneHandler { behavior }))
    },
};

struct TombstoneHandler {
    behavior: Behavior,
}

impl Transform for TombstoneHandler {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn apply(&mut self, batch: &mut Batch, selected: &Mask) {
        if matches!(self.behavior, Behavior::Ignore | Behavior::Warn) {
            return;
        }
        for row in chosen(batch, selected) {
            if !batch.values.root(row).is_null() {
                continue;
            }
            match self.behavior {
                Behavior::Fail => {
                    let fault = Fault::data("A tombstone, which behavior=fail refuses");
                    refuse(CLASS, batch, row, fault);
                }
                _ => batch.alive.kill(row),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CLASS;
    use crate::debezium::testing::{apply, batch, shown};
    use data::Value;

    #[test]
    fn tombstones_go_stay_or_are_refused() {
        for (behavior, wanted) in [
            ("drop_silent", "dropped"),
            ("drop_warn", "dropped"),
            ("ignore", "null"),
            ("warn", "null"),
            ("fail", "A tombstone, which behavior=fail refuses"),
        ] {
            let mut batch = batch(&[(None, Value::Null), (None, Value::Text("x".to_owned()))]);
            apply(CLASS, &[("behavior", behavior)], &mut batch);
            assert_eq!([0, 1].map(|row| shown(&batch, row)), [wanted, "\"x\""], "{behavior}");
        }
    }
}

//! The settings of ExtractNewRecordState, old names included.

use config::{Config, ConfigError, ConfigErrors, Props};

use super::added::Item;
use super::shape::Wish;

config::config_enum! {
    /// What becomes of deletes and of the tombstones that follow them.
    enum DeleteTombstoneMode {
        /// Both are dropped.
        Drop = "drop",
        /// A delete becomes a tombstone; the tombstone behind it is dropped.
        Tombstone = "tombstone",
        /// A delete becomes its old row with `__deleted` = `true`; tombstones are dropped.
        Rewrite = "rewrite",
        /// As `rewrite`, and tombstones stay.
        RewriteWithTombstone = "rewrite-with-tombstone",
        /// As `tombstone`, without a schema.
        DeleteToTombstone = "delete-to-tombstone",
    }
}

config::config_enum! {
    /// What becomes of deletes, in the words of Debezium before 2.5.
    enum DeleteMode {
        /// They are dropped.
        Drop = "drop",
        /// They become the old row with `__deleted` = `true`.
        Rewrite = "rewrite",
        /// They become tombstones.
        None = "none",
    }
}

/// The settings.
#[derive(Clone, Debug, Config)]
#[config(importance = low)]
pub(super) struct ExtractNewRecordStateConfig {
    /// Metadata to add to the row, as a list: `op`, `source.ts_ms`, or `table:origin` to give it
    /// another name. A plain name is looked for in the event, then in its `source`. What an event
    /// does not have is left out.
    #[config(key = "add.fields", default = "", width = long, repeats)]
    add_fields: Vec<String>,
    /// Put before the names of added fields.
    #[config(key = "add.fields.prefix", default = "__", width = short)]
    add_fields_prefix: String,
    /// Metadata to add as headers, as a list in the form of `add.fields`.
    #[config(key = "add.headers", default = "", width = long, repeats)]
    add_headers: Vec<String>,
    /// Put before the names of added headers.
    #[config(key = "add.headers.prefix", default = "__", width = short)]
    add_headers_prefix: String,
    /// What becomes of deletes and tombstones: `drop` drops both; `tombstone` makes a tombstone of
    /// the delete and drops the one behind it; `rewrite` makes a row of the delete, with `__deleted`
    /// = `true` (other rows get `false`), and drops tombstones; `rewrite-with-tombstone` keeps
    /// them; `delete-to-tombstone` is `tombstone` without a schema.
    #[config(key = "delete.tombstone.handling.mode", default = "tombstone", case_insensitive,
        importance = medium, width = medium)]
    delete_tombstone_handling_mode: DeleteTombstoneMode,
    /// The old name, up to Debezium 2.4: `drop`, `rewrite` or `none` (a tombstone). It counts when
    /// `delete.tombstone.handling.mode` is not set.
    #[config(key = "delete.handling.mode", case_insensitive, width = medium)]
    delete_handling_mode: Option<DeleteMode>,
    /// The old name, up to Debezium 2.4: whether tombstones are dropped. It counts when
    /// `delete.tombstone.handling.mode` is not set.
    #[config(key = "drop.tombstones", width = short)]
    drop_tombstones: Option<bool>,
    /// Whether the fields that `drop.fields.header.name` leads to are dropped from the key too.
    #[config(key = "drop.fields.from.key", default = false, width = short)]
    pub(super) drop_fields_from_key: bool,
    /// The header that lists the fields to drop from the row.
    #[config(key = "drop.fields.header.name", width = short)]
    pub(super) drop_fields_header_name: Option<String>,
    /// Whether only optional fields are dropped, so that readers of the old schema can read the
    /// new one.
    #[config(key = "drop.fields.keep.schema.compatible", default = true, width = short)]
    pub(super) drop_fields_keep_schema_compatible: bool,
    /// Whether nulls of the row become the defaults of their fields where deletes are rewritten.
    #[config(key = "replace.null.with.default", default = true, width = short)]
    replace_null_with_default: bool,
    /// The field of the row whose text becomes the topic. A null leaves the topic as it is.
    #[config(key = "route.by.field", default = "", width = long)]
    pub(super) route_by_field: String,
}

/// What becomes of deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletes {
    Drop,
    Rewrite,
    /// A null under the row's schema.
    Tombstone,
    /// A null without a schema.
    BareTombstone,
}

/// The settings, read.
pub(super) struct Settings {
    pub(super) config: ExtractNewRecordStateConfig,
    pub(super) wish: Wish,
    pub(super) headers: Vec<Item>,
    pub(super) deletes: Deletes,
    pub(super) keep_tombstones: bool,
}

impl Settings {
    pub(super) fn parse(props: &Props) -> Result<Settings, ConfigErrors> {
        let config = ExtractNewRecordStateConfig::parse(props)?;
        let fields = items("add.fields", &config.add_fields, &config.add_fields_prefix)?;
        let headers = items("add.headers", &config.add_headers, &config.add_headers_prefix)?;
        let (deletes, keep_tombstones) = modes(&config, props);
        let wish = Wish {
            fields,
            rewrite: deletes == Deletes::Rewrite,
            replace_nulls: config.replace_null_with_default,
        };
        Ok(Settings { config, wish, headers, deletes, keep_tombstones })
    }
}

fn items(key: &str, list: &[String], prefix: &str) -> Result<Vec<Item>, ConfigErrors> {
    let read = |text: &String| {
        Item::parse(text, prefix)
            .map_err(|error| ConfigErrors { errors: vec![ConfigError::new(key, error)] })
    };
    list.iter().filter(|text| !text.is_empty()).map(read).collect()
}

fn modes(config: &ExtractNewRecordStateConfig, props: &Props) -> (Deletes, bool) {
    let old = config.delete_handling_mode.is_some() || config.drop_tombstones.is_some();
    if old && !props.contains("delete.tombstone.handling.mode") {
        let deletes = match config.delete_handling_mode {
            None | Some(DeleteMode::Drop) => Deletes::Drop,
            Some(DeleteMode::Rewrite) => Deletes::Rewrite,
            Some(DeleteMode::None) => Deletes::Tombstone,
        };
        return (deletes, config.drop_tombstones == Some(false));
    }
    match config.delete_tombstone_handling_mode {
        DeleteTombstoneMode::Drop => (Deletes::Drop, false),
        DeleteTombstoneMode::Tombstone => (Deletes::Tombstone, false),
        DeleteTombstoneMode::Rewrite => (Deletes::Rewrite, false),
        DeleteTombstoneMode::RewriteWithTombstone => (Deletes::Rewrite, true),
        DeleteTombstoneMode::DeleteToTombstone => (Deletes::BareTombstone, false),
    }
}

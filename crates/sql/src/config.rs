//! The options of a SQL sink under our own names, and what a database needs to know of them.
//!
//! The doc comments of [`SqlSinkConfig`] are the manual of these options. Other connectors' names
//! for them are the business of `foreign`. Invariant: every option here has an effect.

use crate::table::TableName;
use config::{Config, ConfigError, Password, config_enum};
use std::time::Duration;

config_enum! {
    /// What a record does to the row with its key.
    pub enum InsertMode {
        /// A new row for each record.
        Insert = "insert",
        /// A new row, unless one with the key is there already.
        InsertIgnore = "insert-ignore",
        /// A new row, or new values for the one that is there.
        Upsert = "upsert",
        /// New values for the row that is there; nothing where there is none.
        Update = "update",
    }
}

config_enum! {
    /// Where the key of a row comes from.
    pub enum PkMode {
        /// There is no key.
        None = "none",
        /// Topic, partition and offset.
        Kafka = "kafka",
        /// The record's key.
        RecordKey = "record_key",
        /// Fields of the record's value.
        RecordValue = "record_value",
        /// Headers of the record.
        RecordHeader = "record_header",
    }
}

config_enum! {
    /// What a record without a value does.
    pub enum NullValues {
        /// `delete` where `delete.enabled` is true, else `ignore`.
        Auto = "auto",
        /// Deletes the row with its key.
        Delete = "delete",
        /// Nothing; it is counted.
        Ignore = "ignore",
        /// It is an error of that record.
        Fail = "fail",
    }
}

config_enum! {
    /// Whether names keep their letters or are folded to lower case, as SQL does without quotes.
    pub enum Quote {
        Always = "always",
        Never = "never",
    }
}

config_enum! {
    /// What the dots of a table name mean.
    pub enum Dots {
        /// `schema.table`; of more parts the last two.
        Split = "split",
        /// They become underscores.
        Underscore = "underscore",
        /// They are part of the name.
        Literal = "literal",
    }
}

config_enum! {
    /// What happens to a table name that is longer than the database allows.
    pub enum Overflow {
        /// It is refused.
        Fail = "fail",
        /// Its end is replaced by a hash of the whole name.
        Hash = "hash",
    }
}

config_enum! {
    /// How a new column for a required field is made.
    pub enum EvolveRequired {
        /// It may be null, because older rows have no value for it.
        Nullable = "nullable",
        /// The records are refused.
        Fail = "fail",
    }
}

config_enum! {
    /// The type of new columns for Connect timestamps.
    pub enum TimestampColumn {
        /// A point in time.
        Timestamptz = "timestamptz",
        /// The wall clock of `db.timezone`.
        Timestamp = "timestamp",
    }
}

config_enum! {
    /// What the numbers of `timestamp.fields.list` count since 1970.
    pub enum EpochUnit {
        Microseconds = "microseconds",
        Nanoseconds = "nanoseconds",
    }
}

config_enum! {
    /// Which values are change events of Debezium.
    pub enum ChangeEvents {
        /// Those whose schema's name ends in `.Envelope`.
        Named = "named",
        /// Structs and objects with `op`, `after` and `source` too.
        Any = "any",
        /// None.
        Off = "off",
    }
}

config_enum! {
    /// What is done with the NUL character in text, which PostgreSQL cannot store.
    pub enum NulHandling {
        /// It is an error of that record.
        Fail = "fail",
        /// It is left out.
        Strip = "strip",
        /// U+FFFD is stored in its place.
        Replace = "replace",
    }
}

config_enum! {
    /// How bytes are written into columns of text.
    pub enum BytesEncoding {
        Hex = "hex",
        Base64 = "base64",
    }
}

config_enum! {
    /// Whether a connection pooler in transaction mode is between us and the database.
    pub enum Pooler {
        None = "none",
        Transaction = "transaction",
    }
}

config_enum! {
    /// Whether positions are kept in the database, in the rows' own transactions.
    pub enum ExactlyOnce {
        Enabled = "enabled",
        Disabled = "disabled",
    }
}

/// Whose types new tables have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum TypeDialect {
    #[default]
    Own,
    /// The Confluent JDBC sink's.
    CJdbc,
    /// The Aiven JDBC sink's.
    AJdbc,
    /// The Debezium JDBC sink's.
    DJdbc,
}

/// Options of the SQL sinks.
#[derive(Config, Clone, Debug)]
#[config(importance = medium, check = check)]
pub struct SqlSinkConfig {
    /// Address of the database: `postgresql://host:5432/database`, `jdbc:postgresql://…`,
    /// `host=… dbname=…`, `sqlite:/path/to/file`, `jdbc:sqlite:/path/to/file`.
    #[config(key = "connection.url", group = "Connection", importance = high, width = long)]
    pub connection_url: String,

    /// User to connect as. Wins over one in the URL.
    #[config(key = "connection.user", group = "Connection", importance = high)]
    pub connection_user: Option<String>,

    /// Password of that user. Wins over one in the URL.
    #[config(key = "connection.password", group = "Connection", importance = high)]
    pub connection_password: Option<Password>,

    /// `transaction` where a pooler such as PgBouncer in transaction mode is in between: no
    /// statement is kept prepared. It is found out by itself at the first error of that kind.
    #[config(key = "connection.pooler", default = "none", group = "Connection", importance = low)]
    pub connection_pooler: Pooler,

    /// What a record does: `insert` adds a row, `insert-ignore` adds it unless its key is there,
    /// `upsert` adds or replaces it by its key, `update` changes it if it is there.
    #[config(key = "insert.mode", default = "insert", group = "Writes", importance = high)]
    pub insert_mode: InsertMode,

    /// Whether a record without a value deletes the row with its key. Needs pk.mode=record_key or
    /// record_header, or delete.marker.field.
    #[config(key = "delete.enabled", default = false, group = "Writes")]
    pub delete_enabled: bool,

    /// What a record without a value does: `delete` the row with its key, `ignore`, `fail`, or
    /// `auto`: delete where delete.enabled is true, else ignore.
    #[config(key = "behavior.on.null.values", default = "auto", group = "Writes")]
    pub null_values: NullValues,

    /// A field of the value that says by `true` or `d` that the record deletes its row, such as
    /// `__deleted`. The field itself is not written. Empty: none.
    #[config(key = "delete.marker.field", default = "", group = "Writes")]
    pub delete_marker_field: String,

    /// Whether a change event with op `t` empties its table. It does so in the order of its
    /// partition's records; what other partitions hold has no order to it.
    #[config(key = "truncate.enabled", default = false, group = "Writes")]
    pub truncate_enabled: bool,

    /// Rows a transaction, at most. More are never waited for: a transaction takes what is there.
    #[config(key = "batch.size", default = 100_000, at_least(1), group = "Writes")]
    pub batch_size: usize,

    /// Leave rows alone that an upsert would not change: no dead row versions, and no triggers for
    /// them.
    #[config(key = "upsert.skip.unchanged", default = false, group = "Writes")]
    pub skip_unchanged: bool,

    /// Where the key comes from: `none`, `kafka` (topic, partition, offset), `record_key`,
    /// `record_value` or `record_header`.
    #[config(key = "pk.mode", default = "none", group = "Data mapping", importance = high)]
    pub pk_mode: PkMode,

    /// The key's columns. kafka: three names, `__connect_topic,__connect_partition,__connect_offset`
    /// if empty. record_key: the fields of the key, all if empty; for a key that is no struct one
    /// name, the table's only key column if empty. record_value: fields of the value, all if empty.
    /// record_header: names of headers.
    #[config(key = "pk.fields", default = "", group = "Data mapping")]
    pub pk_fields: Vec<String>,

    /// Fields of the value to write, all if empty: `field` or `topic:field`. Key columns are always
    /// written.
    #[config(key = "fields.include", default = "", group = "Data mapping")]
    pub fields_include: Vec<String>,

    /// Fields of the value not to write: `field` or `topic:field`.
    #[config(key = "fields.exclude", default = "", group = "Data mapping")]
    pub fields_exclude: Vec<String>,

    /// Which values are change events of Debezium: `named` (their schema's name ends in
    /// `.Envelope`), `any` (structs and objects with op, after and source as well) or `off`. The row
    /// is the event's `after`; op `d` deletes where a record without a value does.
    #[config(key = "change.events", default = "named", group = "Data mapping")]
    pub change_events: ChangeEvents,

    /// Name of the table: `${topic}`, `${topic[n]}` (the part number n between dots, from 0),
    /// `${key.FIELD}`, `${value.FIELD}`, `${header.NAME}`, `${source.FIELD}` (short for
    /// `${value.source.FIELD}`), and text.
    #[config(key = "table.name.format", default = "${topic}", non_empty, group = "Data mapping")]
    pub table_name_format: String,

    /// Replace every character outside A-Z, a-z, 0-9 and _ in table names by an underscore: dots
    /// too, so that such names have no schema. Tables of topics.to.tables.mapping are as they are.
    #[config(key = "table.name.normalize", default = false, group = "Data mapping")]
    pub table_name_normalize: bool,

    /// What dots in table names mean: `split` (schema.table; of more parts the last two),
    /// `underscore` (those of topics and fields become underscores, those of the format itself
    /// split) or `literal`. Databases without schemas: all become underscores, except `literal`.
    #[config(key = "table.name.dots", default = "split", group = "Data mapping")]
    pub table_name_dots: Dots,

    /// What happens to table names that are too long for the database: `fail`, or `hash`: the end
    /// is replaced by a hash.
    #[config(key = "table.name.overflow", default = "fail", group = "Data mapping")]
    pub table_name_overflow: Overflow,

    /// Tables of single topics, `topic:table` each; they win over table.name.format.
    #[config(key = "topics.to.tables.mapping", default = "", group = "Data mapping")]
    pub topics_to_tables: Vec<String>,

    /// Kinds of relations to write to, besides tables and partitioned tables: add VIEW for views.
    #[config(
        key = "table.types",
        default = "TABLE,PARTITIONED TABLE",
        group = "Data mapping",
        one_of("TABLE", "PARTITIONED TABLE", "VIEW"),
        case_insensitive
    )]
    pub table_types: Vec<String>,

    /// `never` folds the names of new tables and columns to lower case, as SQL does with names that
    /// are not quoted. Names are always quoted in statements.
    #[config(key = "quote.identifiers", default = "always", group = "Data mapping")]
    pub quote_identifiers: Quote,

    /// Time zone whose wall clock is stored in columns without a time zone, as in `Europe/Berlin`.
    /// Times of day are stored as they are, except under the Confluent sink's class name.
    #[config(key = "db.timezone", default = "UTC", group = "Data mapping")]
    pub db_timezone: String,

    /// Fields that hold a point in time as a number, or as text that is one: `field` or
    /// `topic:field`. Their columns are made as those of timestamps.
    #[config(key = "timestamp.fields.list", default = "", group = "Data mapping")]
    pub timestamp_fields: Vec<String>,

    /// What those numbers count since 1970: `microseconds` or `nanoseconds`.
    #[config(
        key = "timestamp.precision.mode",
        default = "microseconds",
        group = "Data mapping",
        importance = low
    )]
    pub timestamp_unit: EpochUnit,

    /// Write a field's default where an optional field is null. Off: null is null.
    #[config(key = "replace.null.with.default", default = false, group = "Data mapping")]
    pub replace_null_with_default: bool,

    /// The column for values that are no objects: text, bytes, numbers. Empty: the table's only
    /// column that is not part of the key.
    #[config(key = "string.output.value.column.name", default = "", group = "Data mapping")]
    pub value_column: String,

    /// What is done with NUL characters in text: `fail`, `strip` or `replace` (by U+FFFD).
    #[config(key = "string.nul.handling", default = "fail", group = "Data mapping")]
    pub nul_handling: NulHandling,

    /// How bytes are written into columns of text: `hex` or `base64`.
    #[config(key = "bytes.string.encoding", default = "hex", group = "Data mapping")]
    pub bytes_encoding: BytesEncoding,

    /// Create missing tables from the records' schema.
    #[config(key = "auto.create", default = false, group = "Tables", importance = high)]
    pub auto_create: bool,

    /// Add missing columns for fields of the records' schema.
    #[config(key = "auto.evolve", default = false, group = "Tables", importance = high)]
    pub auto_evolve: bool,

    /// A new column for a field that is required and has no default: `nullable`, or `fail`.
    #[config(key = "auto.evolve.required", default = "nullable", group = "Tables")]
    pub auto_evolve_required: EvolveRequired,

    /// Type of new columns for timestamps: `timestamptz`, or `timestamp` in db.timezone.
    #[config(key = "timestamp.column.type", default = "timestamptz", group = "Tables")]
    pub timestamp_column: TimestampColumn,

    /// How long a table's definition is used before it is read again, in milliseconds; 0: for ever.
    /// It is also read again after errors of rows, and after those that speak of a changed table.
    #[config(key = "table.metadata.max.age.ms", default = 300_000, at_least(0), group = "Tables",
        importance = low)]
    pub metadata_max_age_ms: u64,

    /// Failed attempts in a row after which the task fails, where max.retries.strict is true.
    #[config(key = "max.retries", default = 10, at_least(0), group = "Delivery")]
    pub max_retries: u32,

    /// Count attempts that failed because the database is down or busy, and fail the task after
    /// max.retries. Off: such attempts are repeated for ever.
    #[config(key = "max.retries.strict", default = false, group = "Delivery")]
    pub max_retries_strict: bool,

    /// `enabled`: the position is stored in the rows' own transaction, so that each record is
    /// stored exactly once. `disabled`: positions are the consumer group's alone, and a record may
    /// be stored again after a failure.
    #[config(key = "exactly.once.sink", default = "enabled", group = "Delivery",
        importance = high)]
    pub exactly_once: ExactlyOnce,

    /// Table of positions, made if missing.
    #[config(key = "offsets.table", default = "copycat_offsets", non_empty, group = "Delivery")]
    pub offsets_table: String,

    /// Table of records that could not be stored, made if missing.
    #[config(
        key = "dead.letters.table",
        default = "copycat_dead_letters",
        non_empty,
        group = "Delivery"
    )]
    pub dead_letters_table: String,
}

/// What goes beyond single keys; reported under our own names.
fn check(config: &SqlSinkConfig) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    let mut fault = |key: &str, text: String| errors.push(ConfigError::new(key, text));
    if jiff::tz::TimeZone::get(&config.db_timezone).is_err() {
        let zone = &config.db_timezone;
        fault(
            "db.timezone",
            format!("Invalid time zone identifier {zone}; example: Europe/Berlin"),
        );
    }
    let mode = config.insert_mode;
    if config.pk_mode == PkMode::None && matches!(mode, InsertMode::Upsert | InsertMode::Update) {
        fault("pk.mode", format!("insert.mode={mode} needs a key: record_key, record_value, …"));
    }
    let key_survives_null = matches!(config.pk_mode, PkMode::RecordKey | PkMode::RecordHeader);
    let marker = !config.delete_marker_field.is_empty();
    if config.delete_enabled && !key_survives_null && !(marker && config.pk_mode != PkMode::None) {
        let text = "deletes need the row's key: pk.mode=record_key or record_header, or \
                    delete.marker.field with pk.mode=record_value";
        fault("delete.enabled", text.to_owned());
    }
    if marker && matches!(config.pk_mode, PkMode::None | PkMode::Kafka) {
        let text = "deletes need a key that names the row: pk.mode=record_key, record_value or \
                    record_header";
        fault("delete.marker.field", text.to_owned());
    }
    if config.null_values == NullValues::Delete && !key_survives_null {
        let text = "a record without a value has only its key and headers: \
                    pk.mode=record_key or record_header";
        fault("behavior.on.null.values", text.to_owned());
    }
    if config.pk_mode == PkMode::Kafka && !matches!(config.pk_fields.len(), 0 | 3) {
        let text = "pk.mode=kafka needs three names (topic, partition, offset) or none";
        fault("pk.fields", text.to_owned());
    }
    if config.pk_mode == PkMode::RecordHeader && config.pk_fields.is_empty() {
        fault("pk.fields", "pk.mode=record_header needs the names of the headers".to_owned());
    }
    for entry in &config.topics_to_tables {
        let complete = entry.split_once(':').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
        if !complete {
            fault("topics.to.tables.mapping", format!("{entry} is not of the form topic:table"));
        }
    }
    if let Err(text) = crate::naming::NameFormat::parse(&config.table_name_format) {
        fault("table.name.format", text);
    }
    errors
}

/// What a `Database` is made from. Names are exact: always quote them.
#[derive(Clone, Debug)]
pub struct DatabaseSettings {
    /// The user's own text, credentials included.
    pub url: Password,
    pub user: Option<String>,
    pub password: Option<Password>,
    /// `<kafka cluster id>/<group id>`: the owner of the offset rows.
    pub owner: String,
    /// Name and task number, for dead letters and the application name.
    pub connector: String,
    pub task: u32,
    pub offsets_table: TableName,
    pub dead_letters_table: TableName,
    /// False: there is no offset table; transactions come without advances, and `claim` and
    /// `positions` are not called.
    pub exactly_once: bool,
    /// Whose types new tables and columns have.
    pub types: TypeDialect,
    pub timestamp_column: TimestampColumn,
    /// For columns without a time zone.
    pub timezone: jiff::tz::TimeZone,
    pub nul_handling: NulHandling,
    pub bytes_encoding: BytesEncoding,
    pub pooler: Pooler,
    /// How long opening a connection may take.
    pub connect_timeout: Duration,
    /// How long the server may take for one statement before it is given up as unreachable.
    pub statement_timeout: Duration,
    /// How long a statement waits for locks of others; then it is tried again.
    pub lock_timeout: Duration,
}

impl DatabaseSettings {
    /// Settings with every default, for tests and tools.
    pub fn new(url: &str, owner: &str) -> DatabaseSettings {
        DatabaseSettings {
            url: Password::new(url),
            user: None,
            password: None,
            owner: owner.to_owned(),
            connector: "connector".to_owned(),
            task: 0,
            offsets_table: TableName { schema: None, name: "copycat_offsets".to_owned() },
            dead_letters_table: TableName { schema: None, name: "copycat_dead_letters".to_owned() },
            exactly_once: true,
            types: TypeDialect::Own,
            timestamp_column: TimestampColumn::Timestamptz,
            timezone: jiff::tz::TimeZone::UTC,
            nul_handling: NulHandling::Fail,
            bytes_encoding: BytesEncoding::Hex,
            pooler: Pooler::None,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(60),
            lock_timeout: Duration::from_secs(10),
        }
    }
}

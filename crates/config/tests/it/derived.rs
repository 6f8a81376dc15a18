//! The derive macro: definitions, values and errors of a struct.

use config::{Config, ConfigError, Importance, Password, Props, Type, Width, config_enum};

config_enum! {
    /// How rows are written.
    pub enum InsertMode {
        /// New rows only.
        Insert = "insert",
        /// Rows replace those with their key.
        Upsert = "upsert",
    }
}

/// A part that other structs share.
#[derive(Config, Debug, PartialEq)]
#[config(group = "Connection")]
struct Connection {
    /// Where the database is.
    #[config(key = "connection.url", importance = high, non_empty)]
    url: String,

    /// The password.
    #[config(key = "connection.password")]
    password: Option<Password>,
}

/// All kinds of fields.
#[derive(Config, Debug, PartialEq)]
#[config(group = "Writes", check = check)]
struct Sink {
    #[config(flatten)]
    connection: Connection,

    /// How rows are written:
    /// new ones only, or over old ones.
    ///
    /// The second needs a key.
    #[config(key = "insert.mode", default = "insert", importance = high, width = medium,
        display = "Insert mode", since = "0.1", dependents("pk.fields"))]
    mode: InsertMode,

    /// Any case.
    #[config(default = "INSERT", case_insensitive)]
    loose: InsertMode,

    /// Columns of the key.
    #[config(key = "pk.fields", default = "")]
    pk_fields: Vec<String>,

    /// Columns to take; all if not set.
    fields: Option<Vec<String>>,

    /// Retries.
    #[config(default = 10, range(0, 100), group = "Retries")]
    retries: u32,

    /// Pause.
    #[config(key = "retry.backoff.ms", default = 3000, at_least(1), group = "Retries")]
    backoff: u64,

    /// Not set: no limit.
    #[config(key = "max.ratio", range(0.0, 1.0))]
    ratio: Option<f64>,

    /// A field named like a variable of the generated code.
    #[config(default = false)]
    errors: bool,

    #[config(default = 7)]
    short: i16,

    #[config(default = 8080)]
    port: u16,

    #[config(default = "linear", one_of("linear", "exponential"))]
    curve: String,

    #[config(default = "org.x.Y", class, group = "Other", recommended("org.x.Y", "org.x.Z"))]
    plugin: String,
}

fn check(sink: &Sink) -> Vec<ConfigError> {
    if sink.mode == InsertMode::Upsert && sink.pk_fields.is_empty() {
        return vec![ConfigError::new("pk.fields", "upsert needs the columns of a key")];
    }
    Vec::new()
}

fn props(pairs: &[(&str, &str)]) -> Props {
    [("connection.url", "u")].iter().chain(pairs).copied().collect()
}

fn messages(pairs: &[(&str, &str)]) -> Vec<String> {
    let errors = Sink::parse(&props(pairs)).unwrap_err().errors;
    errors.into_iter().map(|error| error.message).collect()
}

#[test]
fn definition_has_what_the_fields_say() {
    let def = Sink::def();
    let mode = def.get("insert.mode").unwrap();
    assert_eq!(mode.kind, Type::String);
    assert_eq!(mode.default, Some(Some("insert".to_owned())));
    assert_eq!(mode.importance, Importance::High);
    assert_eq!(mode.width, Width::Medium);
    assert_eq!(mode.display_name, "Insert mode");
    assert_eq!(
        mode.documentation,
        "How rows are written: new ones only, or over old ones.\n\nThe second needs a key."
    );
    assert_eq!(mode.since.as_deref(), Some("0.1"));
    assert_eq!(mode.dependents, ["pk.fields"]);
    assert_eq!(mode.validator.as_ref().unwrap().choices(), ["insert", "upsert"]);
    let orders: Vec<_> = ["insert.mode", "loose", "retries", "retry.backoff.ms", "plugin"]
        .map(|key| (def.get(key).unwrap().group.clone().unwrap(), def.get(key).unwrap().order))
        .to_vec();
    let group = |name: &str, order| (name.to_owned(), order);
    assert_eq!(
        orders,
        [
            group("Writes", 1),
            group("Writes", 2),
            group("Retries", 1),
            group("Retries", 2),
            group("Other", 1),
        ]
    );
    assert_eq!(def.groups(), ["Connection", "Writes", "Retries", "Other"]);
    assert!(def.get("connection.url").unwrap().is_required());
    assert_eq!(def.get("fields").unwrap().default, Some(None));
    assert_eq!(def.get("plugin").unwrap().kind, Type::Class);
    assert_eq!(def.get("plugin").unwrap().recommended, ["org.x.Y", "org.x.Z"]);
    assert_eq!(def.get("short").unwrap().kind, Type::Short);
    assert_eq!(def.get("retries").unwrap().kind, Type::Int);
    assert_eq!(def.get("retry.backoff.ms").unwrap().kind, Type::Long);
}

#[test]
fn values_are_read() {
    let sink = Sink::parse(&props(&[
        ("connection.password", " p "),
        ("insert.mode", "upsert"),
        ("loose", "uPsErT"),
        ("pk.fields", "a , b"),
        ("fields", ""),
        ("retries", " 5 "),
        ("max.ratio", "0.25"),
        ("errors", "TRUE"),
        ("unknown", "stays unread"),
    ]))
    .unwrap();
    assert_eq!(
        sink,
        Sink {
            connection: Connection { url: "u".to_owned(), password: Some(Password::new("p")) },
            mode: InsertMode::Upsert,
            loose: InsertMode::Upsert,
            pk_fields: vec!["a".to_owned(), "b".to_owned()],
            fields: Some(Vec::new()),
            retries: 5,
            backoff: 3000,
            ratio: Some(0.25),
            errors: true,
            short: 7,
            port: 8080,
            curve: "linear".to_owned(),
            plugin: "org.x.Y".to_owned(),
        }
    );
}

#[test]
fn every_fault_is_reported_with_kafkas_text() {
    let wrong = |key: &str, value: &str, text: &str| {
        format!("Invalid value {value} for configuration {key}: {text}")
    };
    let cases = [
        ("insert.mode", "Insert", "String must be one of: insert, upsert"),
        ("loose", "x", "String must be one of (case insensitive): INSERT, UPSERT"),
        ("retries", "-1", "Value must be at least 0"),
        ("retries", "101", "Value must be no more than 100"),
        ("retry.backoff.ms", "0", "Value must be at least 1"),
        ("max.ratio", "1.5", "Value must be no more than 1.0"),
        ("max.ratio", "x", "Not a number of type DOUBLE"),
        ("port", "65536", "Value must be no more than 65535"),
        ("short", "40000", "Not a number of type SHORT"),
        ("curve", "round", "String must be one of: linear, exponential"),
        ("errors", "yes", "Expected value to be either true or false"),
    ];
    for (key, value, text) in cases {
        assert_eq!(messages(&[(key, value)]), [wrong(key, value, text)]);
    }
    assert_eq!(
        messages(&[("retries", "many")]),
        [
            wrong("retries", "many", "Not a number of type INT"),
            wrong("retries", "null", "Value must be non-null"),
        ]
    );
    assert_eq!(
        messages(&[("pk.fields", "a,a")]),
        ["Configuration 'pk.fields' values must not be duplicated."]
    );
    let both = Sink::parse(&[("retries", "-1")].into_iter().collect()).unwrap_err();
    assert_eq!(
        both.to_string(),
        "connection.url: Missing required configuration \"connection.url\" which has no default \
         value.\nretries: Invalid value -1 for configuration retries: Value must be at least 0"
    );
}

#[test]
fn the_check_runs_on_values_that_are_right() {
    assert_eq!(messages(&[("insert.mode", "upsert")]), ["upsert needs the columns of a key"]);
    // With another fault the check, which needs every field, does not run.
    assert_eq!(messages(&[("insert.mode", "upsert"), ("port", "x")]).len(), 2);
}

#[test]
fn secrets_are_not_printed() {
    let sink = Sink::parse(&props(&[("connection.password", "hunter2")])).unwrap();
    assert!(!format!("{sink:?}").contains("hunter2"));
}

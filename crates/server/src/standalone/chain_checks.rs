//! Tests of what is said about chains of transforms in a configuration, with all built-in plugins.

use super::plugins;
use config::Props;
use runtime::Worker;

const HOIST: &str = "org.apache.kafka.connect.transforms.HoistField$Value";

fn worker() -> Worker {
    let props = [
        ("key.converter", "org.apache.kafka.connect.storage.StringConverter"),
        ("value.converter", "org.apache.kafka.connect.json.JsonConverter"),
        ("bootstrap.servers", "h:9092"),
    ];
    Worker::new(props.into_iter().collect(), plugins(), "localhost:8083".to_owned()).unwrap()
}

fn connector(more: &[(&str, &str)]) -> Props {
    let base = [
        ("name", "c"),
        ("connector.class", "postgres-sink"),
        ("topics", "t"),
        ("connection.url", "postgresql://localhost/d"),
    ];
    base.iter().chain(more).copied().collect()
}

/// What is wrong, a line each.
fn wrong(more: &[(&str, &str)]) -> String {
    worker().validate(&connector(more)).unwrap_err().to_string()
}

/// What is said about a configuration that can run.
fn notices(more: &[(&str, &str)]) -> Vec<String> {
    worker().validate(&connector(more)).unwrap().notices
}

#[test]
fn a_chain_that_is_right_passes_in_silence() {
    let none: Vec<String> = Vec::new();
    let chain = [
        ("transforms", "a, b"),
        ("transforms.a.type", HOIST),
        ("transforms.a.plugin.version", "[4.0,5.0)"),
        ("transforms.a.field", "line"),
        ("transforms.b.type", "Filter"),
    ];
    assert_eq!(notices(&chain), none);
}

#[test]
fn wrong_classes_are_told_in_connects_words() {
    let told = |class: &str| wrong(&[("transforms", "a"), ("transforms.a.type", class)]);
    assert_eq!(
        wrong(&[("transforms", "a")]),
        "transforms.a.type: Missing required configuration \"transforms.a.type\" which has no \
         default value."
    );
    let base = "org.apache.kafka.connect.transforms.HoistField";
    let forms = format!(
        "transforms.a.type: This class is abstract and cannot be created. \
         Did you mean {base}$Key, {base}$Value?"
    );
    assert_eq!([told(base), told("HoistField")], [forms.clone(), forms]);
    let unknown = told("com.x.Nope");
    assert!(
        unknown.starts_with(
            "transforms.a.type: Invalid value com.x.Nope for configuration transforms.a.type: \
             Class com.x.Nope could not be found.\n  hint: copycat transform list"
        ),
        "{unknown}"
    );
    let near = told("org.apache.kafka.connect.transform.HoistField$Value");
    assert!(near.contains(&format!("did you mean {HOIST}?")), "{near}");
    let json = "org.apache.kafka.connect.json.JsonConverter";
    assert_eq!(
        told(json),
        format!(
            "transforms.a.type: Class class {json} does not implement the Transformation interface"
        )
    );
    let predicate = wrong(&[("predicates", "p"), ("predicates.p.type", "Filter")]);
    assert_eq!(
        predicate,
        "predicates.p.type: Class class org.apache.kafka.connect.transforms.Filter does not \
         implement the Predicate interface",
        "an unused predicate is checked too"
    );
}

#[test]
fn settings_of_a_class_are_told_with_the_whole_key() {
    assert_eq!(
        wrong(&[("transforms", "a"), ("transforms.a.type", HOIST)]),
        "transforms.a.field: Missing required configuration \"transforms.a.field\" which has no \
         default value."
    );
    let misspelt =
        wrong(&[("transforms", "a"), ("transforms.a.type", HOIST), ("transforms.a.feild", "x")]);
    assert!(misspelt.contains("did you mean transforms.a.field?"), "{misspelt}");
    let class = wrong(&[("transforms", "a"), ("transforms.a.typ", HOIST)]);
    assert!(class.contains("did you mean transforms.a.type?"), "{class}");
    let right = [("transforms", "a"), ("transforms.a.type", HOIST), ("transforms.a.field", "x")];
    let unknown = [&right[..], &[("transforms.a.fields", "y")]].concat();
    assert_eq!(
        notices(&unknown),
        ["unknown configuration key transforms.a.fields; did you mean transforms.a.field?"]
    );
    let strict = [&unknown[..], &[("config.unknown.keys", "fail")]].concat();
    assert!(wrong(&strict).contains("unknown configuration key transforms.a.fields"));
}

#[test]
fn conditions_are_checked_before_a_task_starts() {
    let filter = [("transforms", "a"), ("transforms.a.type", "Filter")];
    let with = |more: &[(&'static str, &'static str)]| [&filter[..], more].concat();
    assert_eq!(
        wrong(&with(&[("transforms.a.negate", "true")])),
        "transforms.a.type: Config 'transforms.a.negate' was provided but there is no config \
         'transforms.a.predicate' defining a predicate to be negated."
    );
    let undeclared = wrong(&with(&[("transforms.a.predicate", "p")]));
    for part in [
        "transforms.a.predicate: Invalid value p for configuration transforms.a.predicate",
        "add it to predicates, with predicates.p.type",
    ] {
        assert!(undeclared.contains(part), "{part}: {undeclared}");
    }
    let odd = wrong(&with(&[("transforms.a.predicate", "p"), ("transforms.a.negate", "maybe")]));
    assert!(odd.contains("Invalid value maybe for configuration transforms.a.negate"), "{odd}");
}

#[test]
fn aliases_without_a_place_are_named() {
    assert_eq!(
        wrong(&[("transforms", "a,a"), ("transforms.a.type", "Filter")]),
        "transforms: Invalid value [a, a] for configuration transforms: Duplicate alias provided."
    );
    let stray =
        [("transforms", "one"), ("transforms.one.type", "Filter"), ("transforms.oen.x", "1")];
    let text = "transforms.oen.* has no effect: oen is not in transforms; \
                did you mean transforms.one?";
    assert_eq!(notices(&stray), [text]);
    let strict = [&stray[..], &[("config.unknown.keys", "fail")]].concat();
    assert_eq!(wrong(&strict), format!("transforms.oen: {text}"));
    // An alias that begins with another's name keeps its own keys.
    let nested = [
        ("transforms", "a,a.b"),
        ("transforms.a.type", "Filter"),
        ("transforms.a.b.type", HOIST),
        ("transforms.a.b.field", "x"),
    ];
    assert_eq!(notices(&nested), Vec::<String>::new());
}

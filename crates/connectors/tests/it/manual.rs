//! The options in the manuals are those of the code.

use std::fmt::Write;
use std::path::Path;

const START: &str = "<!-- options: written by the test `manual`, with UPDATE_MANUAL=1 -->\n";
const END: &str = "<!-- end of options -->\n";

fn options(plugin: &api::ConnectorPlugin) -> String {
    let mut text = String::from("| Option | Default | Meaning |\n|---|---|---|\n");
    for key in (plugin.make)().config_def(plugin.class).keys() {
        let default = match (&key.default, key.default_text()) {
            (None, _) => "required".to_owned(),
            (_, None) => String::new(),
            (_, Some(value)) if value.is_empty() => String::new(),
            (_, Some(value)) => format!("`{value}`"),
        };
        let meaning = key.documentation.replace("\n\n", " ").replace('|', "\\|");
        writeln!(text, "| `{}` | {default} | {meaning} |", key.name).expect("a text");
    }
    text
}

#[test]
fn the_manuals_have_every_option() {
    let mut pages = std::collections::BTreeSet::new();
    for (name, plugin) in connectors::folders() {
        let expected = options(plugin);
        assert!(pages.insert(expected.clone()), "{name} has the options of another connector");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name).join("README.md");
        let text = std::fs::read_to_string(&path).expect("a manual");
        let (before, rest) = text.split_once(START).expect("the start mark");
        let (found, after) = rest.split_once(END).expect("the end mark");
        if std::env::var_os("UPDATE_MANUAL").is_some() {
            let new = format!("{before}{START}{expected}{END}{after}");
            std::fs::write(&path, new).expect("the manual is written");
        } else {
            assert_eq!(found, expected, "{path:?} is old: run this test with UPDATE_MANUAL=1");
        }
    }
}

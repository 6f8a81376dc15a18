//! An environment variable for every option: `COPYCAT_`, the command's words, the option's name.
//! Options that all commands have in common name theirs themselves.

use clap::builder::FalseyValueParser;
use clap::{Arg, ArgAction, Command};

/// The command line with a variable for each option that has none.
pub fn with_environment(command: Command) -> Command {
    below(command, "COPYCAT")
}

fn below(command: Command, prefix: &str) -> Command {
    let command = command.mut_args(|arg| named(arg, prefix));
    let names: Vec<String> =
        command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let prefix = format!("{prefix}_{}", word(&name));
        command.mut_subcommand(name, |sub| below(sub, &prefix))
    })
}

fn named(arg: Arg, prefix: &str) -> Arg {
    let Some(long) = arg.get_long().map(word) else { return arg };
    let fixed = matches!(long.as_str(), "HELP" | "VERSION") || arg.is_hide_set();
    // What stands in the environment is not for help texts: it may be a secret.
    let mut arg = arg.hide_env_values(true);
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        // A variable says 1, yes or true; empty, 0, no and false are as if it were not there.
        arg = arg.value_parser(FalseyValueParser::new());
    }
    if fixed || arg.get_env().is_some() { arg } else { arg.env(format!("{prefix}_{long}")) }
}

fn word(name: &str) -> String {
    name.replace('-', "_").to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_flags_are_read_leniently() {
        for (value, wanted) in [("1", true), ("yes", true), ("0", false), ("", false)] {
            let read = FalseyValueParser::new();
            let command = Command::new("c");
            let read =
                clap::builder::TypedValueParser::parse_ref(&read, &command, None, value.as_ref());
            assert_eq!(read.unwrap(), wanted, "{value}");
        }
    }

    #[test]
    fn each_option_has_a_variable_after_its_command() {
        let arg = |name: &'static str| Arg::new(name).long(name);
        let own = arg("url").env("COPYCAT_URL");
        let inner = Command::new("connector").arg(arg("reg-exp")).arg(own).arg(Arg::new("NAME"));
        let inner = Command::new("set-it").subcommand(inner).arg(arg("secret").hide(true));
        let command = with_environment(Command::new("copycat").subcommand(inner));
        let find = |command: &Command, name: &str| {
            command.get_subcommands().find(|sub| sub.get_name() == name).cloned().unwrap()
        };
        let env = |command: &Command, id: &str| {
            let arg = command.get_arguments().find(|arg| arg.get_id() == id).unwrap();
            arg.get_env().map(|name| name.to_str().unwrap().to_owned())
        };
        let outer = find(&command, "set-it");
        let inner = find(&outer, "connector");
        assert_eq!(env(&inner, "reg-exp").as_deref(), Some("COPYCAT_SET_IT_CONNECTOR_REG_EXP"));
        assert_eq!(env(&inner, "url").as_deref(), Some("COPYCAT_URL"));
        assert_eq!(env(&inner, "NAME"), None);
        assert_eq!(env(&outer, "secret"), None);
    }
}

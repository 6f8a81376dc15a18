//! The reference page of the command line, as Markdown, from the same definitions as the help texts.

use clap::{Arg, Command};
use std::fmt::Write as _;

/// The page of a whole command line.
// Writing to a string cannot fail.
pub fn page(program: Command) -> String {
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let mut page = "# Command line\n\nEvery option can also be set by the variable behind it; the \
                    option wins. Options that all commands with a worker have are at the end.\n\n\
                    Exit codes: 0 all well; 1 internal error, or a check that failed; 2 the request \
                    or a file is wrong; 3 something that is needed cannot be reached; 4 `plan` found \
                    changes or `validate --strict` warnings; 130 and 143 after a second signal.\n"
        .to_owned();
    for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
        of_command(command, &mut page);
    }
    let _ok = write!(page, "\n## Options of all commands with a worker\n\n");
    let common = program.get_subcommands().find(|command| command.get_name() == "get");
    let common = common.into_iter().flat_map(Command::get_arguments);
    let headed = |wanted: &'static [&'static str]| {
        move |arg: &&Arg| arg.get_help_heading().is_some_and(|heading| wanted.contains(&heading))
    };
    for arg in common.filter(headed(&["Worker", "Output"])) {
        of_arg(arg, &mut page);
    }
    let _ok = write!(page, "\n## Options of commands that log\n\n");
    for arg in program.get_arguments().filter(headed(&["Logging"])) {
        of_arg(arg, &mut page);
    }
    page
}

fn of_command(command: &Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let inner: Vec<&Command> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    let args = command.get_arguments();
    let args: Vec<&Arg> = args.filter(|arg| !arg.is_hide_set() && !is_common(arg)).collect();
    let _ok = write!(page, "\n## `{name}`\n\n{about}.\n");
    if inner.is_empty() {
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage:").split_whitespace();
        let _ok = write!(page, "\n    {}\n", usage.collect::<Vec<_>>().join(" "));
    }
    let aliases: Vec<&str> = command.get_visible_aliases().collect();
    if !aliases.is_empty() {
        let _ok = write!(page, "\nAlso `{}`.\n", aliases.join("`, `"));
    }
    if !args.is_empty() {
        page.push('\n');
    }
    for arg in args {
        of_arg(arg, page);
    }
    for command in inner {
        of_command(command, page);
    }
}

/// Help and version, and what is under a heading of its own.
fn is_common(arg: &Arg) -> bool {
    matches!(arg.get_id().as_str(), "help" | "version") || arg.get_help_heading().is_some()
}

fn of_arg(arg: &Arg, page: &mut String) {
    let value = match arg.get_action().takes_values() {
        true => arg.get_value_names().and_then(<[_]>::first).map(|name| format!(" {name}")),
        false => None,
    };
    let value = value.unwrap_or_default();
    let name = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}{value}"),
        (None, Some(long)) => format!("--{long}{value}"),
        (Some(short), None) => format!("-{short}{value}"),
        (None, None) => value.trim().to_owned(),
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let _ok = write!(page, "- **`{name}`** {}", help.trim_end_matches('.'));
    let values = arg.get_possible_values();
    let values: Vec<&str> =
        values.iter().filter(|v| !v.is_hide_set()).map(|value| value.get_name()).collect();
    if !values.is_empty() && arg.get_action().takes_values() {
        let _ok = write!(page, "; one of `{}`", values.join("`, `"));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|text| text.to_string_lossy().into_owned()).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let _ok = write!(page, "; default `{}`", defaults.join(" "));
    }
    if let Some(variable) = arg.get_env() {
        let _ok = write!(page, " (`{}`)", variable.to_string_lossy());
    }
    page.push('\n');
}

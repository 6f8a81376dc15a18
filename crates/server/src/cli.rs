//! The command line.

use crate::logging::LogArgs;
use crate::{distributed, options, pg, quickstart, standalone, takeover, transform};
use clap::{Parser, Subcommand};

/// Moves data between Apache Kafka and databases, each record exactly once.
#[derive(Debug, Parser)]
#[command(name = "copycat", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a worker on its own, with Kafka Connect's configuration files
    Standalone(standalone::Args),
    /// Run one of the workers of a cluster, which share their connectors through Kafka
    Distributed(distributed::Args),
    /// Take a cluster of Kafka Connect over with its topics as they are, and hand it back
    Takeover(takeover::Args),
    /// Watch orders go from Kafka into a database, exactly once, through a kill -9
    Quickstart(quickstart::Args),
    /// Test chains of transforms on sample records; list and describe transforms and predicates
    Transform(transform::Args),
    /// Consume Kafka topics into PostgreSQL relations with SQL functions
    Pg(pg::Args),
    /// Print the configuration keys of a connector, a converter or the worker
    Options(options::Args),
    #[command(flatten)]
    Verb(Box<::cli::Verb>),
}

#[cfg(test)]
mod tests {
    use crate::program;
    use std::path::PathBuf;

    #[test]
    fn the_command_line_is_sound() {
        program().debug_assert();
    }

    #[test]
    fn pages_of_the_command_line_are_fresh() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
        let page = ::cli::reference(program());
        if std::env::var_os("COPYCAT_REFRESH_DOCS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == page,
            "docs/reference/cli.md is stale: COPYCAT_REFRESH_DOCS=1 cargo test -p server pages"
        );
    }

    #[test]
    fn commands_in_the_readme_are_understood() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
        let text = std::fs::read_to_string(path).unwrap();
        let section = text.split("## From the terminal").nth(1).unwrap();
        let block = section.split("```").nth(1).unwrap();
        let lines: Vec<&str> = block.lines().filter(|line| line.starts_with("copycat ")).collect();
        assert!(lines.len() > 8, "{block}");
        for line in lines {
            let read = program().try_get_matches_from(line.split(' '));
            assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
        }
    }

    #[test]
    fn the_grammar_of_kcctl_is_understood() {
        for line in [
            "config set-context local --cluster http://localhost:8083 --username u --password p",
            "config set-context local --bootstrap-servers b:9092 --offset-topic t",
            "config set-context local -o security.protocol=SSL --client-config-file f",
            "config use-context local",
            "config get-contexts",
            "config current-context",
            "config remove-context local",
            "info",
            "get connectors",
            "get plugins -t source,SINK",
            "get plugins --types header_converter",
            "get offsets a b",
            "get loggers",
            "get logger org.apache",
            "describe connector a b",
            "describe connectors -e a.* --tasks-config -o json",
            "describe connector a --output-format text",
            "describe plugin FileStreamSink --search-name topic",
            "apply -f a.json -f b.json",
            "apply -f a.json b.json --dry-run",
            "apply -f - -n name",
            "patch connector a -s k=v -s l=w -r m",
            "patch connectors -e a.* --set k=v --remove l",
            "patch logger root -l DEBUG -s cluster",
            "patch offsets a --kafka-topic t --kafka-partition 0 --kafka-offset 5",
            r#"patch offsets a --source-partition {"f":"x"} --source-offset {"p":1}"#,
            "restart connector a b -t ALL",
            "restart connectors -e a.* --tasks failed",
            "restart task a/0",
            "pause connector a",
            "resume connectors a b",
            "stop connector -e a.*",
            "delete connector a",
            "delete offsets a",
        ] {
            let words = std::iter::once("copycat").chain(line.split(' '));
            let read = program().try_get_matches_from(words);
            assert!(read.is_ok(), "{line}: {}", read.unwrap_err());
        }
    }
}

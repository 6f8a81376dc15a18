//! How answers look: tables for people, JSON, YAML or names for programs. Data go to standard output,
//! everything else to standard error; colours are for terminals alone.

mod printable;
mod table;

use crate::exit::Failure;
use clap::ValueEnum;
use serde_json::Value;
use std::io::{IsTerminal as _, Write as _};

pub(crate) use printable::printable;
pub(crate) use table::{Cell, Table};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns for people
    #[default]
    #[value(alias = "text")]
    Table,
    /// JSON, as the worker answers it where it is an answer of the worker
    Json,
    /// The same as YAML
    Yaml,
    /// One name a line
    Name,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Look {
    /// How the answer looks
    #[arg(
        short,
        long,
        alias = "output-format",
        value_enum,
        default_value = "table",
        global = true,
        env = "COPYCAT_OUTPUT",
        help_heading = "Output"
    )]
    output: Format,
    /// The same as --output json
    #[arg(long, global = true, env = "COPYCAT_JSON", help_heading = "Output")]
    json: bool,
    /// Say nothing but what was asked for, and errors
    #[arg(short, long, global = true, env = "COPYCAT_QUIET", help_heading = "Output")]
    quiet: bool,
    /// No colours; NO_COLOR does the same
    #[arg(long, global = true, env = "COPYCAT_NO_COLOR", help_heading = "Output")]
    no_color: bool,
}

impl Look {
    pub(crate) fn out(&self) -> Out {
        let format = if self.json { Format::Json } else { self.output };
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let color = !self.no_color && !unwanted && std::io::stdout().is_terminal();
        Out { format, quiet: self.quiet, color }
    }
}

/// Where answers go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    pub(crate) format: Format,
    pub(crate) quiet: bool,
    pub(crate) color: bool,
}

/// An answer in every form.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) json: Value,
    pub(crate) text: Text,
    pub(crate) names: Vec<String>,
}

/// An answer for people.
#[derive(Debug)]
pub(crate) enum Text {
    Table(Table),
    /// Lines, each ended.
    Lines(String),
}

impl From<Table> for Text {
    fn from(table: Table) -> Text {
        Text::Table(table)
    }
}

impl From<String> for Text {
    fn from(lines: String) -> Text {
        Text::Lines(lines)
    }
}

impl Out {
    /// For commands that have no data.
    pub(crate) fn plain(quiet: bool) -> Out {
        Out { format: Format::Table, quiet, color: false }
    }

    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn show(&self, view: View) -> Result<(), Failure> {
        let of_name = |name: &String| format!("{}\n", printable(name, false).replace('\n', " "));
        let text = match (self.format, view.text) {
            (Format::Json, _) => format!("{:#}\n", view.json),
            (Format::Yaml, _) => serde_saphyr::to_string(&view.json)
                .map_err(|error| Failure::internal(format!("YAML: {error}")))?,
            (Format::Name, _) => view.names.iter().map(of_name).collect(),
            (Format::Table, Text::Table(table)) => table.render(self.color),
            (Format::Table, Text::Lines(lines)) => printable(&lines, self.color).into_owned(),
        };
        self.data(&text)
    }

    /// That something was done: for people, not for programs.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn done(&self, text: &str) -> Result<(), Failure> {
        match self.format {
            Format::Table if !self.quiet => {
                self.data(&format!("{}\n", printable(text, self.color)))
            }
            _ => Ok(()),
        }
    }

    /// To standard output as it is. A reader that has gone has read enough.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(crate) fn data(&self, text: &str) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Failure::internal(format!("standard output: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// A message beside the data.
    #[expect(clippy::print_stderr, reason = "messages beside the data")]
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            eprintln!("{}", printable(text, false));
        }
    }

    /// A word that says how something is, in its colour.
    pub(crate) fn tinted(&self, text: &str) -> String {
        Cell::state(text).tinted(self.color)
    }

    /// A heading.
    pub(crate) fn bold(&self, text: &str) -> String {
        if self.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }
}

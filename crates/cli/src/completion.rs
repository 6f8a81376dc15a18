//! `copycat completion`: scripts that ask this program what can come next, names of connectors included.

use crate::exit::Failure;
use crate::show::Out;
use clap::ValueEnum;
use clap_complete::CompleteEnv;
use clap_complete::env::Shells;

/// The variable by which a shell's script asks.
const ASKED: &str = "COPYCAT_COMPLETE";
const NAME: &str = "copycat";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    fn name(self) -> &'static str {
        match self {
            Shell::Bash => "bash",
            Shell::Zsh => "zsh",
            Shell::Fish => "fish",
        }
    }
}

/// Answers a shell's script and ends the process, if one asks.
pub fn complete(program: fn() -> clap::Command) {
    CompleteEnv::with_factory(program).var(ASKED).bin(NAME).complete();
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let shell = args.shell.name();
    let shells = Shells::builtins();
    let completer = shells.completer(shell);
    let completer = completer.ok_or_else(|| Failure::internal(format!("no script for {shell}")))?;
    let mut script = Vec::new();
    completer
        .write_registration(ASKED, NAME, NAME, NAME, &mut script)
        .map_err(|error| Failure::internal(error.to_string()))?;
    Out::plain(false).data(&String::from_utf8_lossy(&script))
}

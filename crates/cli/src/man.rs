//! `copycat man`: manual pages, from the same definitions as the help texts.

use crate::exit::Failure;
use crate::show::Out;
use clap_mangen::Man;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write the pages of all commands into this folder, as copycat.1, copycat-get.1 and so on
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, program: fn() -> clap::Command) -> Result<(), Failure> {
    let out = Out::plain(false);
    let pages = pages(program())?;
    let Some(folder) = &args.dir else {
        return out.data(pages.first().map(|(_, page)| page.as_str()).unwrap_or_default());
    };
    let wrong =
        |error: std::io::Error| Failure::unavailable(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(wrong)?;
    for (name, page) in &pages {
        std::fs::write(folder.join(format!("{name}.1")), page).map_err(wrong)?;
    }
    out.done(&format!("{} pages in {}", pages.len(), folder.display()))
}

/// Name and text of every command's page, the program's first.
fn pages(mut program: clap::Command) -> Result<Vec<(String, String)>, Failure> {
    program = program.disable_help_subcommand(true);
    program.build();
    let mut pages = Vec::new();
    let mut open = vec![program];
    while let Some(command) = open.pop() {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let visible = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        open.extend(visible.cloned());
        let mut page = Vec::new();
        let rendered = Man::new(command.name(name.clone())).render(&mut page);
        rendered.map_err(|error| Failure::internal(error.to_string()))?;
        pages.push((name, String::from_utf8_lossy(&page).into_owned()));
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let inner = clap::Command::new("get").subcommand(clap::Command::new("tasks").about("T"));
        let pages = pages(clap::Command::new("copycat").subcommand(inner)).unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["copycat", "copycat-get", "copycat-get-tasks"]);
        assert!(pages[2].1.contains("copycat\\-get\\-tasks"), "{}", pages[2].1);
    }
}

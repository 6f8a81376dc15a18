//! `copycat pg install`, `upgrade` and `uninstall`.
//!
//! With --dry-run the SQL goes to standard output, whole, so that a person who may can run it.

use super::{Database, failure};
use crate::exit::Failure;
use pipeline::install::{Installer, Plan, UNINSTALL};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    database: Database,
    /// The role that workers will log in as, if it is not the role of this URL; it gets the rights
    #[arg(long, value_name = "ROLE")]
    worker_role: Option<String>,
    /// Print the SQL and change nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UpgradeArgs {
    #[command(flatten)]
    database: Database,
    /// Print the SQL and change nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    database: Database,
    /// Really remove it
    #[arg(long)]
    yes: bool,
    /// Print the SQL and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn install(args: &InstallArgs) -> Result<ExitCode, Failure> {
    let mut installer = Installer::connect(&args.database.url).map_err(failure)?;
    let plan = installer.install(args.worker_role.as_deref(), args.dry_run).map_err(failure)?;
    report(&plan, &installer.place, args.dry_run);
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn upgrade(args: &UpgradeArgs) -> Result<ExitCode, Failure> {
    let mut installer = Installer::connect(&args.database.url).map_err(failure)?;
    let plan = installer.upgrade(args.dry_run).map_err(failure)?;
    report(&plan, &installer.place, args.dry_run);
    Ok(ExitCode::SUCCESS)
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
fn report(plan: &Plan, place: &str, dry_run: bool) {
    if !dry_run {
        println!("{}: {}", place, plan.summary);
    } else if plan.sql.is_empty() {
        println!("-- {place}: {}; nothing to do", plan.summary);
    } else {
        println!("-- {place}\nBEGIN;\n{}COMMIT;", plan.sql);
    }
}

#[expect(clippy::print_stdout, reason = "the command's answer")]
pub(crate) fn uninstall(args: &UninstallArgs) -> Result<ExitCode, Failure> {
    let mut installer = Installer::connect(&args.database.url).map_err(failure)?;
    let losses = installer.losses().map_err(failure)?;
    if args.dry_run {
        for loss in &losses {
            println!("-- lost: {loss}");
        }
        println!("{UNINSTALL};");
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes {
        let place = &installer.place;
        println!("{place}: removing the schema pipeline_kafka loses its settings and");
        for loss in &losses {
            println!("  {loss}");
        }
        println!("Rows that were consumed stay.");
        return Ok(Failure::wrong_input("nothing was removed")
            .hint("run it again with --yes; pg_dump -n pipeline_kafka keeps a copy")
            .report());
    }
    installer.uninstall().map_err(failure)?;
    println!("{}: the schema pipeline_kafka is removed", installer.place);
    for loss in &losses {
        println!("  lost: {loss}");
    }
    Ok(ExitCode::SUCCESS)
}

//! Logs: to standard error, one readable line each, or one JSON object each.

use clap::ValueEnum;
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// How log lines look
    #[arg(long, global = true, env = "COPYCAT_LOG_FORMAT", value_enum, default_value = "text")]
    log_format: LogFormat,
    /// What is logged: error, warn, info, debug, trace, or a filter such as "info,kafka=debug"
    #[arg(long, global = true, env = "COPYCAT_LOG_LEVEL", default_value = "info")]
    log_level: String,
}

/// Installs the logger; called once, by commands that log.
pub(crate) fn start(args: &LogArgs) {
    let filter = EnvFilter::builder().parse(&args.log_level);
    let wrong = filter.as_ref().err().map(ToString::to_string);
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_span_events(FmtSpan::NONE)
        .with_target(false);
    match args.log_format {
        LogFormat::Text => {
            let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            builder.with_ansi(color).init();
        }
        LogFormat::Json => builder.json().init(),
    }
    if let Some(wrong) = wrong {
        tracing::warn!("log level {:?} is not understood, using info: {wrong}", args.log_level);
    }
}

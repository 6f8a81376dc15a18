//! Logs: to standard error, one readable line each, or one JSON object each.

mod json;
mod levels;
mod lines;

use clap::ValueEnum;
use std::io::IsTerminal;
use std::sync::Arc;
use tracing_subscriber::fmt::format::{FmtSpan, JsonFields};
use tracing_subscriber::{EnvFilter, reload};

pub(crate) use levels::Levels;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// How log lines look
    #[arg(
        long,
        global = true,
        env = "COPYCAT_LOG_FORMAT",
        value_enum,
        default_value = "text",
        help_heading = "Logging"
    )]
    log_format: LogFormat,
    /// What is logged: error, warn, info, debug, trace, or a filter such as "info,kafka=debug"
    #[arg(
        long,
        global = true,
        env = "COPYCAT_LOG_LEVEL",
        default_value = "info",
        help_heading = "Logging"
    )]
    log_level: String,
}

/// Installs the logger; called once, by commands that log. Gives the levels, to be changed later.
pub(crate) fn start(args: &LogArgs) -> Arc<Levels> {
    let filter = EnvFilter::builder().parse(&args.log_level);
    let wrong = filter.as_ref().err().map(ToString::to_string);
    let text = if wrong.is_some() { "info" } else { args.log_level.as_str() };
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_span_events(FmtSpan::NONE)
        .with_target(false);
    let levels = match args.log_format {
        LogFormat::Text => {
            let color = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let builder =
                builder.with_ansi(color).with_writer(lines::Lines).with_filter_reloading();
            let handle = builder.reload_handle();
            builder.init();
            Levels::new(text, Box::new(move |filter| reload(|f| handle.reload(f), filter)))
        }
        LogFormat::Json => {
            let fields = JsonFields::new();
            let builder = builder.with_writer(std::io::stderr);
            let builder =
                builder.fmt_fields(fields).event_format(json::Flat).with_filter_reloading();
            let handle = builder.reload_handle();
            builder.init();
            Levels::new(text, Box::new(move |filter| reload(|f| handle.reload(f), filter)))
        }
    };
    if let Some(wrong) = wrong {
        tracing::warn!("log level {:?} is not understood, using info: {wrong}", args.log_level);
    }
    Arc::new(levels)
}

fn reload(take: impl Fn(EnvFilter) -> Result<(), reload::Error>, filter: &str) {
    let taken = EnvFilter::builder().parse(filter).map_err(|error| error.to_string());
    let taken = taken.and_then(|filter| take(filter).map_err(|error| error.to_string()));
    if let Err(error) = taken {
        tracing::error!("log levels {filter} cannot be set: {error}");
    }
}

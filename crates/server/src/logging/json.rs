//! Log lines as JSON objects: one a line, flat, with the connector and the task that it is about.
//!
//! `timestamp`, `level`, `logger` (as `/admin/loggers` names it), then what the spans around the line
//! say (`connector` and `task` for everything that a task says), `message`, and the line's own fields.

use serde_json::{Map, Value};
use std::fmt;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// The format of a line. Fields of spans are to be formatted by [`JsonFields`].
#[derive(Debug)]
pub(super) struct Flat;

impl<S> FormatEvent<S, JsonFields> for Flat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut line = Line::default();
        line.put("timestamp", time.into());
        line.put("level", event.metadata().level().as_str().into());
        line.put("logger", event.metadata().target().replace("::", ".").into());
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<JsonFields>>();
            let fields = fields.and_then(|fields| serde_json::from_str(&fields.fields).ok());
            line.0.extend(fields.unwrap_or_else(Map::new));
        }
        event.record(&mut line);
        writeln!(writer, "{}", Value::Object(line.0))
    }
}

#[derive(Default)]
struct Line(Map<String, Value>);

impl Line {
    fn put(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field.name(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field.name(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field.name(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field.name(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_one_flat_object_with_connector_and_task() {
        let kept = Kept::default();
        let sink = kept.clone();
        let subscriber = tracing_subscriber::fmt()
            .fmt_fields(JsonFields::new())
            .event_format(Flat)
            .with_writer(move || sink.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "a::b", up = true, "a \"quoted\"\nline");
            let _task = tracing::info_span!("task", connector = %"c\"1", task = 3_u32).entered();
            tracing::warn!(records = 5, share = 0.5, "in a task");
        });
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2, "{text}");
        let names: Vec<&String> = lines[1].as_object().unwrap().keys().collect();
        let wanted =
            ["timestamp", "level", "logger", "connector", "task", "message", "records", "share"];
        assert_eq!(names, wanted);
        assert_eq!((&lines[0]["logger"], &lines[0]["up"]), (&"a.b".into(), &true.into()));
        assert_eq!(lines[0]["message"], "a \"quoted\"\nline");
        assert_eq!((&lines[1]["connector"], &lines[1]["task"]), (&"c\"1".into(), &3.into()));
        assert_eq!((&lines[1]["level"], &lines[1]["records"]), (&"WARN".into(), &5.into()));
    }
}

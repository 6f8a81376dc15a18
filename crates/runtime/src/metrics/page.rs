//! The text of `/metrics`: Prometheus' own format, or OpenMetrics for those who ask for it.
//!
//! Samples may be added in any order; those of a metric come out together, as both formats want it.

use super::table::{Kind, Metric};
use std::fmt::Write;

/// In which words the page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The text format of Prometheus, version 0.0.4.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// The header `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Text => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The format that a header `Accept` asks for; the first where it likes both the same.
    pub fn wanted(accept: &str) -> Format {
        let (mut text, mut open) = (0.0_f32, 0.0_f32);
        for range in accept.split(',') {
            let mut parts = range.split(';').map(|part| part.trim().to_ascii_lowercase());
            let kind = parts.next().unwrap_or_default();
            let (mut quality, mut version) = (1.0_f32, None);
            for part in parts {
                match part.split_once('=') {
                    Some(("q", q)) => quality = q.parse().unwrap_or(0.0),
                    Some(("version", v)) => version = Some(v.to_owned()),
                    _ => {}
                }
            }
            match (kind.as_str(), version.as_deref()) {
                ("application/openmetrics-text", None | Some("1.0.0")) => open = quality.max(open),
                ("text/plain", None | Some("0.0.4")) | ("text/*" | "*/*", _) => {
                    text = quality.max(text);
                }
                _ => {}
            }
        }
        if open > text { Format::OpenMetrics } else { Format::Text }
    }
}

/// A page that is being written.
#[derive(Debug)]
pub struct Page {
    format: Format,
    /// The samples of each metric, in the order of the table.
    samples: Vec<String>,
}

impl Page {
    pub fn new(format: Format) -> Page {
        Page { format, samples: vec![String::new(); Metric::ALL.len()] }
    }

    /// Adds a sample; the values of its labels stand in the order of the table.
    pub fn add(&mut self, metric: Metric, labels: &[&str], value: f64) {
        let definition = metric.definition();
        let Some(out) = self.samples.get_mut(metric as usize) else { return };
        out.push_str(definition.name);
        let mut open = '{';
        for (name, value) in definition.labels.iter().zip(labels) {
            out.push(open);
            out.push_str(name);
            out.push_str("=\"");
            escape(value, out);
            out.push('"');
            open = ',';
        }
        if open == ',' {
            out.push('}');
        }
        out.push(' ');
        // Writing to a string cannot fail.
        let _ok = match value {
            f64::INFINITY => out.write_str("+Inf"),
            f64::NEG_INFINITY => out.write_str("-Inf"),
            value => write!(out, "{value}"),
        };
        out.push('\n');
    }

    /// The whole text.
    pub fn finish(self) -> String {
        let size: usize = self.samples.iter().map(|samples| samples.len() + 200).sum();
        let mut out = String::with_capacity(size);
        for (metric, samples) in Metric::ALL.iter().zip(&self.samples) {
            if samples.is_empty() {
                continue;
            }
            let definition = metric.definition();
            let (mut family, mut kind) = (definition.name, definition.kind.name());
            if self.format == Format::OpenMetrics {
                if definition.kind == Kind::Counter {
                    family = family.strip_suffix("_total").unwrap_or(family);
                }
                if definition.kind == Kind::Untyped {
                    kind = "unknown";
                }
            }
            let _ok = write!(out, "# HELP {family} {}\n# TYPE {family} {kind}\n", definition.help);
            out.push_str(samples);
        }
        if self.format == Format::OpenMetrics {
            out.push_str("# EOF\n");
        }
        out
    }
}

fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_a_metric_stand_together_with_escaped_labels() {
        let page = |format| {
            let mut page = Page::new(format);
            page.add(Metric::TaskRead, &["a\"b\\c\nd{}", "0"], 3.0);
            page.add(Metric::ConnectorCount, &[], 2.0);
            page.add(Metric::TaskRead, &["é", "1"], 1e15);
            page.add(Metric::Retries, &["é", "1"], f64::NAN);
            page.add(Metric::TaskLag, &["é", "1"], f64::INFINITY);
            page.finish()
        };
        let text = page(Format::Text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("# HELP")).collect();
        assert_eq!(
            lines,
            [
                "# TYPE kafka_connect_worker_connector_count gauge",
                "kafka_connect_worker_connector_count 2",
                "# TYPE kafka_connect_task_error_total_retries untyped",
                "kafka_connect_task_error_total_retries{connector=\"é\",task=\"1\"} NaN",
                "# TYPE copycat_task_records_read_total counter",
                "copycat_task_records_read_total{connector=\"a\\\"b\\\\c\\nd{}\",task=\"0\"} 3",
                "copycat_task_records_read_total{connector=\"é\",task=\"1\"} 1000000000000000",
                "# TYPE copycat_task_lag_records gauge",
                "copycat_task_lag_records{connector=\"é\",task=\"1\"} +Inf",
            ]
        );
        let open = page(Format::OpenMetrics);
        assert!(open.contains("# TYPE copycat_task_records_read counter\n"), "{open}");
        assert!(open.contains("# TYPE kafka_connect_task_error_total_retries unknown\n"), "{open}");
        assert!(open.ends_with("# EOF\n"), "{open}");
    }

    #[test]
    fn the_format_is_the_one_that_is_liked_more() {
        for (accept, wanted) in [
            ("", Format::Text),
            ("*/*", Format::Text),
            ("text/html", Format::Text),
            ("application/openmetrics-text", Format::OpenMetrics),
            ("application/openmetrics-text; version=1.0.0; q=0.3, text/plain;q=0.5", Format::Text),
            ("application/openmetrics-text;version=0.0.1,text/plain;q=0.1", Format::Text),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                 application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,\
                 text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                Format::OpenMetrics,
            ),
        ] {
            assert_eq!(Format::wanted(accept), wanted, "{accept}");
        }
    }
}

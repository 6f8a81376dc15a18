//! The reference page of the interface, written from the table of routes and the codes of errors.

use crate::codes::Code;
use crate::openapi::description;
use crate::routes::PLACES;
use std::fmt::Write as _;

/// `docs/reference/rest.md`.
pub fn page() -> String {
    let mut page = String::from(
        "# REST interface\n\nThe routes of Kafka Connect, and `/openapi.json`, which describes all of them \
         with their bodies. Two more, `POST /connectors/{connector}/tasks` and `PUT \
         /connectors/{connector}/fence`, are for workers among themselves.\n\n## Routes\n\n| route | what \
         | answers | query |\n|---|---|---|---|\n",
    );
    for place in &PLACES {
        for (method, operation) in place.operations {
            let Some(described) = description(*operation) else { continue };
            let answers = described.answers.iter().map(|answer| answer.status.to_string());
            let answers = answers.collect::<Vec<_>>().join(", ");
            let query = described.query.iter().map(|q| format!("`{}`: {}", q.name, q.text));
            let query = query.collect::<Vec<_>>().join("; ");
            // Writing to a string cannot fail.
            let _ok = writeln!(
                page,
                "| `{method} {}` | {} | {answers} | {query} |",
                place.path, described.summary
            );
        }
    }
    page.push_str(
        "\n## Errors\n\nAn error is an object: `error_code` (the HTTP status) and `message` are Kafka \
         Connect's, `code` is one of the words below and stays the same between releases, `hint` says what \
         to do, `path` is the place in the request's body as a JSON pointer. Whoever is not let in is \
         answered 401 with plain text, as by Kafka Connect.\n\n| code | status | meaning |\n|---|---|---|\n",
    );
    for (word, status, text) in Code::all() {
        let _ok = writeln!(page, "| `{word}` | {status} | {text} |");
    }
    page
}

//! A consumer's definition in the words of the SQL sink.
//!
//! Place in the data path: at the start of a lane.

use crate::control::{Consumer, Format, Mode, Relation, Route, Settings, Target};
use api::{Error, Tolerance};
use sql::consumer::{ConsumerMode, ConsumerWrites, RouteBy, Routes, Tombstones, UnknownFields};
use sql::settings::SinkSettings;
use sql::table::TableName;

/// The settings of the sink of one lane.
/// # Errors
/// Parts of the definition that contradict each other.
pub(crate) fn sink_settings(consumer: &Consumer) -> Result<SinkSettings, Error> {
    let settings = &consumer.settings;
    let mut writes = ConsumerWrites::new(match settings.mode {
        Mode::Append => ConsumerMode::Append,
        Mode::Ignore => ConsumerMode::Ignore,
        Mode::Upsert => ConsumerMode::Upsert,
    });
    writes.conflict_columns = settings.conflict_columns.clone().unwrap_or_default();
    writes.version_column.clone_from(&settings.version_column);
    if settings.tombstones_delete {
        writes.tombstones = Tombstones::Delete;
    }
    // A field that goes by its place has a column, or the column has just been dropped.
    let by_place = matches!(settings.format, Format::Text | Format::Csv);
    if settings.unknown_fields_error || by_place {
        writes.unknown_fields = UnknownFields::Error;
    }
    // It goes with unknown_fields = 'collect' alone.
    if let Some(column) = settings.option_text("collect_column") {
        writes.unknown_fields = UnknownFields::Collect(column.to_owned());
    }
    writes.auto_evolve = settings.option_is("auto_evolve", true);
    writes.rows_max = settings.batchsize as usize;
    writes.tolerance = if settings.stop_on_error { Tolerance::None } else { Tolerance::All };
    writes.mapped = settings.mapping.is_some();
    writes.expressions = expressions(settings);
    writes.transform.clone_from(&settings.transform);
    writes.routes = routes(&consumer.target);
    writes.settings()
}

/// The entries of the mapping that are SQL: column and expression.
fn expressions(settings: &Settings) -> Vec<(String, String)> {
    let expression = |(column, source): (&String, &String)| {
        Some((column.clone(), source.strip_prefix('=')?.trim().to_owned()))
    };
    settings.mapping.iter().flatten().filter_map(expression).collect()
}

/// By what names the records of a stream-partitioned consumer may call its relations: with the schema,
/// and without where that is the only one of its name.
fn routes(target: &Target) -> Option<Routes> {
    let Target::Routed { route, relations } = target else { return None };
    let by = match route {
        Route::Key => RouteBy::Key,
        Route::Header(name) => RouteBy::Header(name.clone()),
        Route::Field(path) => RouteBy::Field(path.clone()),
    };
    let named = names(relations).into_iter();
    let named = named.filter_map(|(name, place)| Some((name, relations.get(place)?.table.clone())));
    Some(Routes { by, relations: named.collect() })
}

/// The names of relations, each with the place of its relation.
pub(super) fn names(relations: &[Relation]) -> Vec<(String, usize)> {
    let unique =
        |name: &str| relations.iter().filter(|other| other.table.name == name).count() == 1;
    let names = |(place, relation): (usize, &Relation)| {
        let TableName { schema, name } = &relation.table;
        let whole = format!("{}.{name}", schema.as_deref().unwrap_or_default());
        let short = unique(name).then(|| name.clone());
        [Some(whole), short].into_iter().flatten().map(move |name| (name, place))
    };
    relations.iter().enumerate().flat_map(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::RelationKind;

    #[test]
    fn a_record_may_leave_the_schema_out_where_the_name_is_the_only_one() {
        let relation = |schema: &str, name: &str| Relation {
            oid: 1,
            table: TableName { schema: Some(schema.to_owned()), name: name.to_owned() },
            kind: RelationKind::Table,
            row_security: false,
            unlogged: false,
            primary_key: Vec::new(),
            columns: Vec::new(),
        };
        let relations = vec![relation("a", "x"), relation("b", "x"), relation("b", "y")];
        let routes = routes(&Target::Routed { route: Route::Key, relations }).unwrap();
        let names: Vec<&str> = routes.relations.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a.x", "b.x", "b.y", "y"]);
    }
}

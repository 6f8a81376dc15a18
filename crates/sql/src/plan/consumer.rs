//! Plans of a consumer of the SQL control plane: its relation exists, and its definition says more than
//! a connector's options.

use super::{Catalog, NO_VALUE, NOT_NULL, Planned, Planner, Target};
use crate::config::NullValues;
use crate::consumer::{ConsumerRules, UnknownFields};
use crate::database::{DbError, DbErrorKind, DbResult};
use crate::ddl::plain_table;
use crate::resolve::Resolved;
use crate::shape::Shape;
use crate::table::{Table, TableName};
use crate::wanted::{Collector, Extra, Wanted, WantedRow};
use crate::write::{Source, Special, Transform, WriteMode};
use std::sync::Arc;

impl Planner {
    /// What to do with records of a form.
    ///
    /// # Errors
    /// The database's; `Config`: a definition that does not fit the relation.
    pub(super) fn consumed(
        &mut self,
        rules: &ConsumerRules,
        (topic, name): (&str, &TableName),
        key: Shape,
        value: Shape,
        catalog: &mut dyn Catalog,
    ) -> DbResult<Planned> {
        let settings = self.settings.clone();
        let null = value == Shape::Null;
        match settings.null_values() {
            NullValues::Fail if null => {
                let text = "the record has no value, and tombstones is error";
                return Ok(Planned::Reject(text.into(), NO_VALUE));
            }
            NullValues::Auto | NullValues::Ignore if null => {
                return Ok(Planned::Skip("records without a value"));
            }
            _ => {}
        }
        let table = self.relation(name, catalog)?;
        let fields = rules.key_of(&table)?;
        if let Some(function) = &rules.transform {
            return self.transformed(rules, function, &table, &fields);
        }
        let collect =
            Collector { settings: &settings, shapes: &self.shapes, topic, fields: &fields };
        let (wanted, mode) = match rules.document(&table) {
            _ if null => (collect.deleted(key), WriteMode::Delete),
            Some(target) => {
                let schema = collect.schema_of(value).cloned();
                (Ok(document(&table, target, schema)), settings.mode())
            }
            None => (collect.all_columns(key, value), settings.mode()),
        };
        match wanted {
            Ok(wanted) => self.fit(name, table, wanted, mode, catalog),
            Err(lack) => Ok(Planned::Reject(lack.into(), NOT_NULL)),
        }
    }

    fn relation(&mut self, name: &TableName, catalog: &mut dyn Catalog) -> DbResult<Arc<Table>> {
        if let Some(known) = self.tables.iter().find(|t| t.name == *name) {
            return Ok(known.table.clone());
        }
        match self.read(name, catalog)? {
            Some(table) => Ok(table),
            None => {
                let text = format!("the relation {} does not exist", plain_table(name));
                Err(DbError::new(DbErrorKind::Drift, text)
                    .sqlstate("42P01")
                    .hint("create it, or drop the consumer"))
            }
        }
    }

    /// A plan that hands records to a function.
    fn transformed(
        &mut self,
        rules: &ConsumerRules,
        function: &Arc<str>,
        table: &Arc<Table>,
        fields: &[String],
    ) -> DbResult<Planned> {
        let mode = self.settings.mode();
        let place = |name: &String| rules.named(table, name, "conflict_columns");
        let open = table.columns.iter().enumerate().filter(|(_, column)| !column.generated);
        let transform = Transform {
            function: function.clone(),
            columns: open.map(|(at, _)| at).collect(),
            key: fields.iter().map(place).collect::<DbResult<_>>()?,
        };
        let version = self.version(rules, table, mode)?;
        let special = Special { version, computed: Vec::new(), transform: Some(transform) };
        let plan = self.share(table, &[], mode, Some(Arc::new(special)));
        let number = self.tables.iter().position(|t| Arc::ptr_eq(&t.table, table));
        Ok(Planned::Write(Arc::new(Target {
            plan,
            delete: None,
            marker: None,
            extras: Vec::new(),
            table: number.unwrap_or_default() as u32,
            ignored: Vec::new(),
        })))
    }

    fn version(
        &self,
        rules: &ConsumerRules,
        table: &Table,
        mode: WriteMode,
    ) -> DbResult<Option<usize>> {
        let name = rules.version_column.as_ref().filter(|_| mode == WriteMode::Upsert);
        name.map(|name| rules.named(table, name, "version_column")).transpose()
    }

    /// What plans of this mode have beside their columns.
    ///
    /// # Errors
    /// `Config`: the definition names columns that the table does not have.
    pub(super) fn special(&self, table: &Table, mode: WriteMode) -> DbResult<Option<Arc<Special>>> {
        let Some(rules) = self.settings.consumer.as_deref() else { return Ok(None) };
        if mode == WriteMode::Delete {
            return Ok(None);
        }
        let version = self.version(rules, table, mode)?;
        let computed = rules
            .expressions
            .iter()
            .map(|(name, sql)| Ok((rules.named(table, name, "mapping")?, Arc::from(sql.as_str()))));
        let computed = computed.collect::<DbResult<Vec<_>>>()?;
        let plain = version.is_none() && computed.is_empty();
        Ok((!plain).then(|| Arc::new(Special { version, computed, transform: None })))
    }

    /// Adds the column that collects members without one, and takes computed columns from the record.
    ///
    /// # Errors
    /// `Config`: the table has no such column.
    pub(super) fn collect(
        &self,
        table: &Table,
        wanted: &mut WantedRow,
        resolved: &mut Resolved,
        mode: WriteMode,
    ) -> DbResult<()> {
        let Some(rules) = self.settings.consumer.as_deref() else { return Ok(()) };
        if mode == WriteMode::Delete {
            return Ok(());
        }
        for (name, _) in &rules.expressions {
            let target = rules.named(table, name, "mapping")?;
            resolved.columns.retain(|(taken, _)| *taken != target);
        }
        let UnknownFields::Collect(column) = &rules.unknown_fields else { return Ok(()) };
        let target = rules.named(table, column, "collect_column")?;
        if !table.columns.get(target).is_some_and(|column| column.json) {
            let text = format!(
                "column {column} of {}, which collects unknown fields, is not of type jsonb",
                plain_table(&table.name)
            );
            return Err(DbError::new(DbErrorKind::Config, text).sqlstate("42804"));
        }
        let whole = resolved.columns.iter().any(|(_, w)| w.source == Source::ValueRoot);
        if whole {
            return Ok(());
        }
        resolved.columns.retain(|(taken, _)| *taken != target);
        resolved.ignored.clear();
        let known = resolved.columns.iter().filter_map(|(_, wanted)| wanted.name.clone());
        let source = Source::Extra(wanted.extras.len());
        wanted.extras.push(Extra::Rest(known.collect()));
        let name = Some(Arc::from(column.as_str()));
        let rest = Wanted { name, source, schema: None, key: false, certain: true };
        let at = resolved.columns.partition_point(|(taken, _)| *taken < target);
        resolved.columns.insert(at, (target, rest));
        Ok(())
    }
}

/// The whole value goes into one column.
fn document(table: &Table, target: usize, schema: Option<Arc<data::Schema>>) -> WantedRow {
    let name = table.columns.get(target).map(|column| Arc::from(column.name.as_str()));
    let source = Source::ValueRoot;
    let whole = Wanted { name, source, schema: schema.clone(), key: false, certain: true };
    WantedRow { columns: vec![whole], value_schema: schema, ..WantedRow::default() }
}

/// Why records of this form cannot be compared with the rows that are there.
pub(super) fn lacks_version(
    table: &Table,
    special: Option<&Special>,
    columns: &[(usize, Wanted)],
) -> Option<String> {
    let version = special?.version?;
    if columns.iter().any(|(target, _)| *target == version) {
        return None;
    }
    let name = &table.columns.get(version)?.name;
    Some(format!("the record has no field for column {name}, which version_column names"))
}

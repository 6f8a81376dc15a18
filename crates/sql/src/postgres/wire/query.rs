//! Short ways to run one statement and read its answer.
//!
//! Place in the data path: catalogue look-ups, offset rows, DDL. Batches use pipelines.

use super::connection::Connection;
use super::error::PgError;
use super::pipeline::{Format, Param, Pipeline};
use super::reply::{FieldInfo, Reply, Rows, StatementResult};
use super::wait::Wait;
use smallvec::SmallVec;

impl Connection {
    /// Runs SQL by the simple protocol (several statements are one transaction) and returns the rows
    /// of the last statement, as text.
    pub fn query_text(&mut self, sql: &str, wait: Wait<'_>) -> Result<Rows, PgError> {
        let reply = self.simple(sql, wait)?;
        Ok(last(reply).rows)
    }

    /// Runs SQL by the simple protocol and returns the row count of the last statement.
    pub fn execute(&mut self, sql: &str, wait: Wait<'_>) -> Result<u64, PgError> {
        let reply = self.simple(sql, wait)?;
        Ok(last(reply).row_count())
    }

    fn simple(&mut self, sql: &str, wait: Wait<'_>) -> Result<Reply, PgError> {
        self.with_scratch(wait, |p| {
            p.query(sql);
        })
    }

    /// Runs one statement with parameters in text form and returns its rows, as text.
    pub fn query_params(
        &mut self,
        sql: &str,
        params: &[Option<&str>],
        wait: Wait<'_>,
    ) -> Result<Rows, PgError> {
        self.run_params(sql, params, wait).map(|r| r.rows)
    }

    /// Runs one statement with parameters in text form and returns its row count.
    pub fn execute_params(
        &mut self,
        sql: &str,
        params: &[Option<&str>],
        wait: Wait<'_>,
    ) -> Result<u64, PgError> {
        self.run_params(sql, params, wait).map(|r| r.row_count())
    }

    fn run_params(
        &mut self,
        sql: &str,
        params: &[Option<&str>],
        wait: Wait<'_>,
    ) -> Result<StatementResult, PgError> {
        let params: SmallVec<[Param<'_>; 8]> =
            params.iter().map(|p| p.map_or(Param::Null, |t| Param::Text(t.as_bytes()))).collect();
        let reply = self.with_scratch(wait, |p| {
            p.parse("", sql, &[]).bind("", &params, Format::Text).execute(0).sync();
        })?;
        Ok(last(reply))
    }

    /// Prepares `sql` under `name` and returns its parameter types and result columns. It lives as
    /// long as the session; [`Pipeline::bind`] uses it.
    pub fn prepare(
        &mut self,
        name: &str,
        sql: &str,
        types: &[u32],
        wait: Wait<'_>,
    ) -> Result<(Vec<u32>, Vec<FieldInfo>), PgError> {
        let reply = self.with_scratch(wait, |p| {
            p.parse(name, sql, types).describe_statement(name).sync();
        })?;
        let described = last(reply);
        Ok((described.param_types, described.fields))
    }

    fn with_scratch(
        &mut self,
        wait: Wait<'_>,
        build: impl FnOnce(&mut Pipeline),
    ) -> Result<Reply, PgError> {
        self.check_idle()?;
        let mut pipeline = std::mem::take(&mut self.scratch);
        pipeline.clear();
        build(&mut pipeline);
        let result = self.run(&mut pipeline, wait);
        self.scratch = pipeline;
        result?.check()
    }
}

fn last(mut reply: Reply) -> StatementResult {
    reply.statements.pop().unwrap_or_default()
}

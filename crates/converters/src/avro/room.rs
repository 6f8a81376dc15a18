//! A stack for what recurses over a schema.
//!
//! Control path: once a schema. Threads that deliver records need no large stack for the sake of
//! schemas that are deep.

/// Stack for a schema whose types are as deep within each other as they may be.
const STACK_BYTES: usize = 32 << 20;

/// Runs what recurses over a schema, once a schema, where there is stack for it.
pub(super) fn with_room<T: Send>(
    work: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("avro schema".to_owned());
        let thread = builder.stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let thread = thread.map_err(|why| format!("No thread to compile the schema in: {why}"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

//! Work on schemas that may be nested hundreds of levels deep, on a stack that is large enough.
//!
//! Schemas are walked by recursion, with more on the stack a level than reading a value needs. The
//! stack is that of a thread that lives as long as the work, once a schema.

/// Bytes of the stack; only what is used takes memory.
const STACK_BYTES: usize = 64 << 20;

/// Does the work, and gives its result.
///
/// # Errors
/// The work's own; no thread could be started.
pub(super) fn deep<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let thread = thread.name("schema".to_owned()).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| format!("no thread for the schema: {error}"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

//! Room for schemas that are nested deeply: what walks them recurses.

use registry::Registered;
use std::panic::resume_unwind;
use std::thread;

/// Brackets within each other up to which a thread's usual stack is enough by far.
const USUAL_NESTING: usize = 60;

/// Enough for the limits of depth that schemas have.
const STACK_BYTES: usize = 64 << 20;

/// How deep the brackets of a schema's text, and of those it refers to, are within each other; brackets
/// in strings are counted as well.
pub(super) fn nesting(schema: &Registered) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    for byte in schema.text.bytes() {
        match byte {
            b'{' | b'[' => {
                open += 1;
                most = most.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    schema.references.iter().map(|(_, schema)| nesting(schema)).fold(most, usize::max)
}

/// Does something that goes as deep as `nesting` says, on a stack that suffices.
///
/// # Errors
/// There is no memory for it.
pub(super) fn deep<T: Send>(
    nesting: usize,
    walk: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    if nesting <= USUAL_NESTING {
        return walk();
    }
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("schema".to_owned()).stack_size(STACK_BYTES);
        let walking = builder.spawn_scoped(scope, walk);
        let walking = walking.map_err(|error| format!("no stack for a deep schema: {error}"))?;
        walking.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

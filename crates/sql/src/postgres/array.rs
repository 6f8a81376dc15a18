//! One-dimensional arrays in binary form, written in place.
//!
//! Place in the data path: a parameter of `unnest`, one array per column. Elements are appended
//! straight into the Bind message.

/// An array's head for `len` elements of a type; the elements follow. Nulls are allowed.
pub(super) fn begin(buf: &mut Vec<u8>, element_oid: u32, len: usize) {
    let len = i32::try_from(len).unwrap_or(i32::MAX);
    let dimensions = i32::from(len > 0);
    buf.extend(dimensions.to_be_bytes());
    buf.extend(1i32.to_be_bytes());
    buf.extend(element_oid.to_be_bytes());
    if len > 0 {
        buf.extend(len.to_be_bytes());
        buf.extend(1i32.to_be_bytes());
    }
}

/// Begins an element that is null unless it is closed; gives its place.
pub(super) fn open(buf: &mut Vec<u8>) -> usize {
    let start = buf.len();
    buf.extend((-1i32).to_be_bytes());
    start
}

/// Ends an element that was opened at `start`. One over 2 GiB cannot be: the message's limit is
/// 1 GiB and is checked by the pipeline.
pub(super) fn close(buf: &mut [u8], start: usize) {
    let len = i32::try_from(buf.len().saturating_sub(start + 4)).unwrap_or(i32::MAX);
    if let Some(field) = buf.get_mut(start..).and_then(|b| b.first_chunk_mut::<4>()) {
        *field = len.to_be_bytes();
    }
}

fn bytes(buf: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        Some(value) => {
            buf.extend(i32::try_from(value.len()).unwrap_or(i32::MAX).to_be_bytes());
            buf.extend_from_slice(value);
        }
        None => {
            open(buf);
        }
    }
}

/// `text[]`.
pub(super) fn texts<'a>(buf: &mut Vec<u8>, values: impl ExactSizeIterator<Item = Option<&'a str>>) {
    begin(buf, 25, values.len());
    values.for_each(|value| bytes(buf, value.map(str::as_bytes)));
}

/// `bytea[]`.
pub(super) fn blobs<B: AsRef<[u8]>>(
    buf: &mut Vec<u8>,
    values: impl ExactSizeIterator<Item = Option<B>>,
) {
    begin(buf, 17, values.len());
    values.for_each(|value| bytes(buf, value.as_ref().map(AsRef::as_ref)));
}

/// `int4[]`.
pub(super) fn ints(buf: &mut Vec<u8>, values: impl ExactSizeIterator<Item = i32>) {
    begin(buf, 23, values.len());
    values.for_each(|value| bytes(buf, Some(&value.to_be_bytes())));
}

/// `int8[]`.
pub(super) fn longs(buf: &mut Vec<u8>, values: impl ExactSizeIterator<Item = Option<i64>>) {
    begin(buf, 20, values.len());
    values.for_each(|value| bytes(buf, value.map(i64::to_be_bytes).as_ref().map(AsRef::as_ref)));
}

/// `timestamptz[]` of milliseconds since 1970; what PostgreSQL cannot hold becomes null.
pub(super) fn instants(buf: &mut Vec<u8>, values: impl ExactSizeIterator<Item = Option<i64>>) {
    begin(buf, 1184, values.len());
    values.for_each(|value| {
        let micros = value.and_then(timestamp);
        bytes(buf, micros.map(i64::to_be_bytes).as_ref().map(AsRef::as_ref));
    });
}

/// Microseconds since 2000, within the range of PostgreSQL's timestamps.
fn timestamp(millis: i64) -> Option<i64> {
    const MIN: i64 = -211_813_488_000_000_000;
    const END: i64 = 9_223_371_331_200_000_000;
    let micros = millis.checked_mul(1000)?.checked_sub(946_684_800_000_000)?;
    (MIN..END).contains(&micros).then_some(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_head_and_elements() {
        let mut buf = Vec::new();
        longs(&mut buf, [Some(7), None].into_iter());
        let mut expect = Vec::new();
        for n in [1i32, 1, 20, 2, 1, 8, 0, 7, -1] {
            expect.extend(n.to_be_bytes());
        }
        assert_eq!(buf, expect);
        buf.clear();
        texts(&mut buf, [].into_iter());
        assert_eq!(buf.len(), 12, "an empty array has no dimension");
    }

    #[test]
    fn times_beyond_the_servers_range_are_null() {
        assert_eq!(timestamp(946_684_800_000), Some(0));
        assert_eq!(timestamp(i64::MAX), None);
        assert_eq!(timestamp(-210_866_803_200_000 - 1_000_000_000), None);
    }
}

//! Decimals: unscaled bytes at the scale of the type, as long as the type wants them.

use super::binary::put_long;
use super::fault::Fault;
use crate::json::{rescale, shortest};
use data::java_text::class_name;
use data::{Cell, Rows};

/// How a Decimal is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal {
    /// Of the Connect schema, which its values have.
    pub(super) scale: i32,
    /// Of the Avro type.
    pub(super) target: i32,
    /// Bytes, where the type is a fixed.
    pub(super) size: Option<usize>,
}

impl Decimal {
    pub(super) fn write(self, rows: &Rows, cell: Cell, out: &mut Vec<u8>) -> Result<(), Fault> {
        let Cell::Decimal { unscaled, scale } = cell else {
            if cell.is_null() {
                return Err(Fault::null());
            }
            let class = class_name(cell);
            return Err(Fault::new(format!(
                "Invalid type for Decimal, expected BigDecimal but was {class}"
            )));
        };
        if scale != self.scale {
            return Err(Fault::new(format!(
                "Decimal value has mismatching scale for given Decimal schema. Schema has scale {}, \
                 value has scale {scale}.",
                self.scale
            )));
        }
        let unscaled = rows.bytes(unscaled);
        if self.scale == self.target {
            return self.put(unscaled, out);
        }
        match rescale(unscaled, self.scale, self.target) {
            Some(unscaled) => self.put(&unscaled, out),
            None => Err(Fault::new(format!(
                "A Decimal of scale {scale} would lose digits at the scale {} of the Avro schema",
                self.target
            ))),
        }
    }

    fn put(self, unscaled: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        // No bytes at all are zero.
        let bytes = if unscaled.is_empty() { &[0] } else { shortest(unscaled) };
        let Some(size) = self.size else {
            put_long(bytes.len() as i64, out);
            out.extend_from_slice(bytes);
            return Ok(());
        };
        let Some(missing) = size.checked_sub(bytes.len()) else {
            return Err(Fault::new(format!(
                "Unscaled value byte array length {} is greater than fixed size {size}",
                bytes.len()
            )));
        };
        let sign = if bytes.first().is_some_and(|byte| byte & 0x80 != 0) { 0xff } else { 0 };
        out.resize(out.len() + missing, sign);
        out.extend_from_slice(bytes);
        Ok(())
    }
}

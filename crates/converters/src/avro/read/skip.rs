//! Passing over values that the reader has no place for.

use super::input::Failed;
use super::ops::Skip;
use super::run::Run;

impl Run<'_> {
    pub(super) fn skip(&mut self, skip: Skip) -> Result<(), Failed> {
        match skip {
            Skip::Varint => self.input.long().map(drop),
            Skip::Bytes => self.input.block().map(drop),
            Skip::Fixed(size) => self.input.take(size as usize).map(drop),
            Skip::Record(at) => {
                self.deeper()?;
                let list = self.program.skip_lists.get(at as usize);
                for skip in list.map(Vec::as_slice).unwrap_or_default() {
                    self.skip(*skip)?;
                }
                self.depth -= 1;
                Ok(())
            }
            Skip::Union(at) => {
                let list = self.program.skip_lists.get(at as usize);
                let branches = list.map(Vec::as_slice).unwrap_or_default();
                let choice = self.input.choice(branches.len(), "the type of a union has")?;
                branches.get(choice).map_or(Ok(()), |skip| self.skip(*skip))
            }
            Skip::Items { inner, keys, empty } => self.skip_items(inner, keys, empty),
        }
    }

    fn skip_items(&mut self, inner: u32, keys: bool, empty: bool) -> Result<(), Failed> {
        let nothing = empty && !keys;
        let inner = self.program.skips.get(inner as usize).copied().unwrap_or(Skip::Fixed(0));
        loop {
            let (count, end) = self.input.items(nothing)?;
            match (count, end) {
                (0, None) => return Ok(()),
                (_, Some(end)) => self.input.jump(end),
                _ if nothing => {}
                _ => {
                    for _ in 0..count {
                        if keys {
                            self.input.block()?;
                        }
                        self.skip(inner)?;
                    }
                }
            }
        }
    }
}

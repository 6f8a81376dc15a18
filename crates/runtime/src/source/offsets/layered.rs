//! A store in front of older ones: where a connector stood before it got a topic of its own, or before
//! its worker gave records exactly once.
//!
//! Invariant: the first store that knows a partition decides, also where it knows that its offset was
//! forgotten. Only the first is written.

use super::{OffsetChange, OffsetStore};
use api::{Result, SourceMap};
use std::sync::Arc;

/// See the module documentation.
pub struct Layered {
    first: Arc<dyn OffsetStore>,
    older: Vec<Arc<dyn OffsetStore>>,
}

impl Layered {
    pub fn new(first: Arc<dyn OffsetStore>, older: Vec<Arc<dyn OffsetStore>>) -> Layered {
        Layered { first, older }
    }

    fn stores(&self) -> impl Iterator<Item = &Arc<dyn OffsetStore>> {
        std::iter::once(&self.first).chain(&self.older)
    }
}

impl OffsetStore for Layered {
    fn refresh(&self, stopped: &dyn Fn() -> bool) -> Result<()> {
        self.stores().try_for_each(|store| store.refresh(stopped))
    }

    fn get(&self, connector: &str, partition: &SourceMap) -> Result<Option<SourceMap>> {
        for store in self.stores() {
            if let Some(offset) = store.get(connector, partition)? {
                return Ok(Some(offset));
            }
            if store.forgot(connector, partition) {
                break;
            }
        }
        Ok(None)
    }

    fn forgot(&self, connector: &str, partition: &SourceMap) -> bool {
        self.stores().any(|store| store.forgot(connector, partition))
    }

    fn list(&self, connector: &str) -> Result<Vec<(SourceMap, SourceMap)>> {
        let mut found: Vec<(SourceMap, SourceMap)> = Vec::new();
        for store in self.stores() {
            for (partition, _) in store.list(connector)? {
                if !found.iter().any(|(known, _)| *known == partition)
                    && let Some(offset) = self.get(connector, &partition)?
                {
                    found.push((partition, offset));
                }
            }
        }
        Ok(found)
    }

    fn put(&self, connector: &str, changes: &[OffsetChange]) -> Result<()> {
        self.first.put(connector, changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[derive(Default)]
    struct Fixed(HashMap<String, Option<i64>>);

    fn store(offsets: &[(&str, Option<i64>)]) -> Arc<dyn OffsetStore> {
        Arc::new(Fixed(offsets.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect()))
    }

    fn map(name: &str, value: impl Into<serde_json::Value>) -> SourceMap {
        SourceMap::from_iter([(name.to_owned(), value.into())])
    }

    impl OffsetStore for Fixed {
        fn get(&self, _: &str, partition: &SourceMap) -> Result<Option<SourceMap>> {
            let at = partition["file"].as_str().and_then(|name| self.0.get(name));
            Ok(at.copied().flatten().map(|at| map("at", at)))
        }

        fn forgot(&self, _: &str, partition: &SourceMap) -> bool {
            let at = partition["file"].as_str().and_then(|name| self.0.get(name));
            at.is_some_and(Option::is_none)
        }

        fn list(&self, _: &str) -> Result<Vec<(SourceMap, SourceMap)>> {
            let known = self.0.iter().filter_map(|(name, at)| Some((name, (*at)?)));
            Ok(known.map(|(name, at)| (map("file", name.as_str()), map("at", at))).collect())
        }

        fn put(&self, _: &str, _: &[OffsetChange]) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_first_store_that_knows_a_partition_decides() {
        let first = store(&[("both", Some(9)), ("reset", None)]);
        let older = store(&[("both", Some(1)), ("reset", Some(2)), ("old", Some(3))]);
        let layered = Layered::new(first, vec![older]);
        let at = |name: &str| {
            let offset = layered.get("c", &map("file", name)).unwrap();
            offset.map(|offset| offset["at"].as_i64().unwrap())
        };
        assert_eq!(["both", "reset", "old", "none"].map(at), [Some(9), None, Some(3), None]);
        let mut listed = layered.list("c").unwrap();
        listed.sort_by_key(|(_, offset)| offset["at"].as_i64());
        assert_eq!(
            listed,
            [(map("file", "old"), map("at", 3)), (map("file", "both"), map("at", 9))]
        );
    }
}

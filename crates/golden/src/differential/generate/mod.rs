//! Makes cases: random, with a liking for corners.
//!
//! Cases are made in the notation, not with the crates under test, so that what those cannot say is
//! asked too.

mod conversions;
mod definitions;
mod records;
mod schemas;
mod steps;
mod texts;
mod values;

use super::dice::Dice;
use serde_json::Value as Json;

/// A part of the crates that cases are made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    Data,
    Values,
    Projection,
    Converters,
    Transforms,
    Predicates,
    Configdef,
}

impl Area {
    pub const ALL: [Area; 7] = [
        Area::Data,
        Area::Values,
        Area::Projection,
        Area::Converters,
        Area::Transforms,
        Area::Predicates,
        Area::Configdef,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Area::Data => "data",
            Area::Values => "values",
            Area::Projection => "projection",
            Area::Converters => "converters",
            Area::Transforms => "transforms",
            Area::Predicates => "predicates",
            Area::Configdef => "configdef",
        }
    }

    /// The area of this name.
    pub fn named(name: &str) -> Option<Area> {
        Area::ALL.into_iter().find(|area| area.name() == name)
    }

    /// An operation and its input.
    pub(super) fn case(self, dice: &mut Dice) -> (String, Json) {
        match self {
            Area::Data => schemas::case(dice),
            Area::Values => values::case(dice),
            Area::Projection => schemas::projection(dice),
            Area::Converters => conversions::case(dice),
            Area::Transforms => steps::transform(dice),
            Area::Predicates => steps::predicate(dice),
            Area::Configdef => definitions::case(dice),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::{Surroundings, answer};
    use serde_json::json;

    #[test]
    fn every_area_makes_cases_that_are_cases() {
        for area in Area::ALL {
            let mut dice = Dice::new(7, area.name());
            for _ in 0..300 {
                let (op, input) = area.case(&mut dice);
                let case = json!({"op": op, "input": input});
                let seen = answer(&case, &Surroundings::default());
                let class = seen.as_ref().and_then(|seen| seen["error"]["class"].as_str());
                assert!(seen.is_some() && class != Some("unreadable"), "{case} {seen:?}");
            }
            assert_eq!(Area::named(area.name()), Some(area));
        }
    }
}

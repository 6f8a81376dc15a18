//! Single-message transforms and predicates, each a vectorised pass over a batch.

use config::{ConfigDef, ConfigErrors, Props};
use data::{Batch, Mask};

/// Changes a decoded batch in place. Rows may be filtered (mask) or rejected (mask and reason).
pub trait Transform: Send {
    /// The Connect class name, for error reports.
    fn class(&self) -> &'static str;

    /// Applies the transform to the rows of `selected` that are alive. Rows keep their numbers.
    fn apply(&mut self, batch: &mut Batch, selected: &Mask);

    /// Whether it reads or changes headers, which are decoded for those who do.
    fn uses_headers(&self) -> bool {
        false
    }
}

/// Chooses the rows a transform is applied to.
pub trait Predicate: Send {
    /// The Connect class name, for error reports.
    fn class(&self) -> &'static str;

    /// Clears the bits of rows that do not match. Rows that are dead may get either.
    fn select(&mut self, batch: &Batch, mask: &mut Mask);

    /// Whether it reads headers, which are decoded for those who do.
    fn uses_headers(&self) -> bool {
        false
    }
}

/// A registry entry of a transform. `$Key` and `$Value` forms are entries of their own.
pub struct TransformPlugin {
    /// The class name that configs carry.
    pub class: &'static str,
    /// Other names that configs may carry.
    pub aliases: &'static [&'static str],
    pub version: &'static str,
    /// What it does, in a paragraph of Markdown for the reference page.
    pub summary: &'static str,
    pub config_def: fn() -> ConfigDef,
    /// Makes an instance from the settings under its alias.
    pub make: fn(&Props) -> Result<Box<dyn Transform>, ConfigErrors>,
}

/// A registry entry of a predicate.
pub struct PredicatePlugin {
    /// The class name that configs carry.
    pub class: &'static str,
    /// Other names that configs may carry.
    pub aliases: &'static [&'static str],
    pub version: &'static str,
    /// What it does, in a paragraph of Markdown for the reference page.
    pub summary: &'static str,
    pub config_def: fn() -> ConfigDef,
    /// Makes an instance from the settings under its alias.
    pub make: fn(&Props) -> Result<Box<dyn Predicate>, ConfigErrors>,
}

//! The registry entries of transforms that come in two forms, one for keys and one for values.

/// Makes the statics `KEY` and `VALUE` of a transform: its package and simple name, its config struct, and
/// a `fn(class: &'static str, Part, &Props) -> Result<Box<dyn Transform>, ConfigErrors>`. The simple name
/// is an alias, unless `no_alias` says that it is another's.
macro_rules! key_and_value {
    ($package:literal, $name:literal, $config:ty, $make:path, $summary:expr) => {
        crate::plugin::key_and_value!(
            $package,
            $name,
            $config,
            $make,
            $summary,
            &[concat!($name, "$Key")],
            &[concat!($name, "$Value")]
        );
    };
    ($package:literal, $name:literal, $config:ty, $make:path, $summary:expr, no_alias) => {
        crate::plugin::key_and_value!($package, $name, $config, $make, $summary, &[], &[]);
    };
    ($package:literal, $name:literal, $config:ty, $make:path, $summary:expr, $key:expr, $value:expr) => {
        pub(crate) static KEY: api::TransformPlugin = api::TransformPlugin {
            class: concat!($package, ".", $name, "$Key"),
            aliases: $key,
            version: env!("CARGO_PKG_VERSION"),
            summary: $summary,
            config_def: <$config as config::Config>::def,
            make: |props| {
                $make(concat!($package, ".", $name, "$Key"), crate::part::Part::Key, props)
            },
        };
        pub(crate) static VALUE: api::TransformPlugin = api::TransformPlugin {
            class: concat!($package, ".", $name, "$Value"),
            aliases: $value,
            version: env!("CARGO_PKG_VERSION"),
            summary: $summary,
            config_def: <$config as config::Config>::def,
            make: |props| {
                $make(concat!($package, ".", $name, "$Value"), crate::part::Part::Value, props)
            },
        };
    };
}
pub(crate) use key_and_value;

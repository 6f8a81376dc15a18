//! The plugins there are, as tools ask for them.

use super::Worker;
use super::describe::{connector_keys, is_header_only, matches, no_such_version};
use api::Connector;
use config::{ConfigDef, ConfigKey, Props};

/// Connect's kinds of plugins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginKind {
    Sink,
    Source,
    Transformation,
    Predicate,
    Converter,
    HeaderConverter,
}

impl PluginKind {
    /// As REST answers say it.
    pub fn name(self) -> &'static str {
        match self {
            PluginKind::Sink => "sink",
            PluginKind::Source => "source",
            PluginKind::Transformation => "transformation",
            PluginKind::Predicate => "predicate",
            PluginKind::Converter => "converter",
            PluginKind::HeaderConverter => "header_converter",
        }
    }
}

/// A plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginInfo {
    pub class: &'static str,
    pub kind: PluginKind,
    pub version: &'static str,
}

/// Why a plugin's keys cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownPlugin {
    /// There is none of that name.
    None(String),
    /// There is, but it has no keys to tell, or not in that version.
    Refused(String),
}

/// Names that Connect knows as plugins of kinds that have no keys to tell.
const OTHER_KINDS: [&str; 2] = ["ConfigProvider", "ConnectorClientConfigOverridePolicy"];

/// Connect's own are as they are there; those of others have what user interfaces ask for.
fn plugin_keys(class: &str, def: ConfigDef) -> Vec<ConfigKey> {
    let of_connect = class.starts_with("org.apache.kafka.");
    let def = if of_connect { def } else { def.completed("Settings") };
    def.keys().cloned().collect()
}

impl Worker {
    /// Every plugin: sinks, sources, then (unless `connectors_only`) the others.
    pub fn plugins(&self, connectors_only: bool) -> Vec<PluginInfo> {
        let mut plugins = Vec::new();
        let connectors = (self.plugins.connector_plugins)().iter();
        let connectors = connectors.map(|plugin| PluginInfo {
            class: plugin.class,
            kind: match (plugin.make)() {
                Connector::Sink(_) => PluginKind::Sink,
                Connector::Source(_) => PluginKind::Source,
            },
            version: plugin.version,
        });
        plugins.extend(connectors);
        if !connectors_only {
            let transforms = (self.plugins.transforms)().iter();
            plugins.extend(transforms.map(|plugin| PluginInfo {
                class: plugin.class,
                kind: PluginKind::Transformation,
                version: plugin.version,
            }));
            let predicates = (self.plugins.predicates)().iter();
            plugins.extend(predicates.map(|plugin| PluginInfo {
                class: plugin.class,
                kind: PluginKind::Predicate,
                version: plugin.version,
            }));
            for kind in [PluginKind::Converter, PluginKind::HeaderConverter] {
                let converters = (self.plugins.converter_plugins)().iter();
                let fits = |class: &str| kind != PluginKind::Converter || !is_header_only(class);
                let converters = converters.filter(|plugin| fits(plugin.class));
                let info = |plugin: &api::ConverterPlugin| PluginInfo {
                    class: plugin.class,
                    kind,
                    version: plugin.version,
                };
                plugins.extend(converters.map(info));
            }
        }
        let order = |plugin: &PluginInfo| (plugin.kind as u8, plugin.class);
        plugins.sort_by(|a, b| order(a).cmp(&order(b)));
        plugins
    }

    /// The keys of a plugin, under any name that configurations may use for it.
    ///
    /// # Errors
    /// There is no such plugin, or not in that version.
    pub fn plugin_keys(
        &self,
        name: &str,
        version: Option<&str>,
    ) -> Result<Vec<ConfigKey>, UnknownPlugin> {
        let none = Props::new();
        let (class, found, keys) = if let Ok(plugin) = (self.plugins.connector)(name, &none) {
            let keys = connector_keys(&(plugin.make)(), plugin.class);
            (plugin.class, plugin.version, keys)
        } else if let Some(plugin) = (self.plugins.converter)(name) {
            (plugin.class, plugin.version, plugin_keys(plugin.class, (plugin.config_def)()))
        } else if let Some(plugin) = (self.plugins.transform)(name) {
            (plugin.class, plugin.version, plugin_keys(plugin.class, (plugin.config_def)()))
        } else if let Some(plugin) = (self.plugins.predicate)(name) {
            (plugin.class, plugin.version, plugin_keys(plugin.class, (plugin.config_def)()))
        } else if OTHER_KINDS.iter().any(|kind| name.ends_with(kind)) {
            return Err(UnknownPlugin::Refused(format!(
                "Invalid plugin class {name}. Valid types are sink, source, converter, \
                 header_converter, transformation, predicate."
            )));
        } else {
            return Err(UnknownPlugin::None(format!("Unknown plugin {name}.")));
        };
        match version.map(str::trim).filter(|asked| !asked.is_empty()) {
            Some(asked) if !matches(asked, found) => {
                Err(UnknownPlugin::Refused(no_such_version(class, asked, found)))
            }
            _ => Ok(keys),
        }
    }
}

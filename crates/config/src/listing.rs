//! Lists the configuration as `toolgate config` prints it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    CommandSettings, Config, ConfinementSettings, FileSettings, LimitSettings, SettingSource, SourcedValue,
    ToolSettings,
};

/// One key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigRow {
    /// The dotted name of the key, such as `limits.parallel`.
    pub key: Cow<'static, str>,
    /// The value with its source.
    pub value: RowValue,
}

/// The value that is printed for a key.
#[derive(Debug, Clone, PartialEq)]
pub enum RowValue {
    /// The key is not set.
    Unset,
    /// One value with its source.
    One(Value, SettingSource),
    /// Several values, each with its own source.
    List(Vec<(Value, SettingSource)>),
}

impl Config {
    /// Returns every key with its values and their sources, in the order of the documentation.
    pub fn rows(&self) -> Vec<ConfigRow> {
        let ToolSettings { only, without, web_search, search, shell_type, apply_patch_tool_type, .. } =
            &self.tools;
        let streamable = &self.tools.use_experimental_streamable_shell_tool;
        let FileSettings { read_roots, deny_read, deny_read_defaults } = &self.files;
        let LimitSettings { output_tokens, call_timeout_ms, parallel } = &self.limits;
        let only_from = only.last().map(|last| last.source.clone());
        let chosen = self.tools.allowed_names().zip(only_from);
        let built_in = runtime::DEFAULT_DENY_READ.iter().filter(|_| deny_read_defaults.value);
        let built_in = built_in.map(|pattern| (json!(pattern), SettingSource::BuiltIn));
        let mut rows = vec![
            row("model", optional_value(&self.model)),
            row("sandbox", one_value(&self.sandbox)),
            row("approval", one_value(&self.approval)),
            row(
                "tools.only",
                chosen.map_or(RowValue::Unset, |(names, source)| RowValue::One(json!(names), source)),
            ),
            row("tools.without", list_value(without.iter().map(value_and_source))),
            row("tools.web_search", one_value(web_search)),
            row("tools.shell_type", optional_value(shell_type)),
            row("tools.apply_patch_tool_type", optional_value(apply_patch_tool_type)),
            row("tools.use_experimental_streamable_shell_tool", optional_value(streamable)),
            row("models", list_value(self.models.iter().map(value_and_source))),
            row("files.read_roots", list_value(read_roots.iter().map(value_and_source))),
            row("files.deny_read", list_value(built_in.chain(deny_read.iter().map(value_and_source)))),
            row("files.deny_read_defaults", one_value(deny_read_defaults)),
        ];
        rows.extend(search.as_ref().map(|search| row("tools.web_search.own", one_value(search))));
        rows.extend(self.commands.rows());
        rows.extend(self.confinement.rows());
        rows.extend([
            row("limits.output_tokens", one_value(output_tokens)),
            row("limits.call_timeout_ms", one_value(call_timeout_ms)),
            row("limits.parallel", one_value(parallel)),
            row("wire.integers", one_value(&self.integers)),
            row("hook", list_value(self.hooks.iter().map(value_and_source))),
            row("mcp_servers", list_value(self.servers.iter().map(value_and_source))),
        ]);
        rows
    }
}

impl CommandSettings {
    fn rows(&self) -> Vec<ConfigRow> {
        let Self { inherit, pass, set, sessions, shell } = self;
        let mut rows = vec![
            row("commands.inherit", one_value(inherit)),
            row("commands.pass", list_value(pass.iter().map(value_and_source))),
        ];
        if set.is_empty() {
            rows.push(row("commands.set", RowValue::Unset));
        }
        rows.extend(set.iter().map(|SourcedValue { value: (name, value), source }| {
            let key = Cow::Owned(format!("commands.set.{}", toml_key(name)));
            ConfigRow { key, value: RowValue::One(json!(value), source.clone()) }
        }));
        rows.extend([
            row("commands.sessions", one_value(sessions)),
            row("commands.shell", optional_value(shell)),
        ]);
        rows
    }
}

impl ConfinementSettings {
    fn rows(&self) -> Vec<ConfigRow> {
        vec![
            row("confinement.writable", list_value(self.writable.iter().map(value_and_source))),
            row("confinement.read_only", list_value(self.read_only.iter().map(value_and_source))),
            row("confinement.network", one_value(&self.network)),
            row("confinement.hosts", list_value(self.hosts.iter().map(text_and_source))),
            row("confinement.unix_sockets", list_value(self.unix_sockets.iter().map(value_and_source))),
            row("confinement.tier", one_value(&self.tier)),
            row("confinement.require", one_value(&self.require)),
            row("confinement.processes", optional_value(&self.processes)),
            row("confinement.memory_mb", optional_value(&self.memory_mb)),
            row("confinement.file_size_mb", optional_value(&self.file_size_mb)),
            row("confinement.open_files", optional_value(&self.open_files)),
            row("confinement.tmp_mb", optional_value(&self.tmp_mb)),
            row("confinement.shm_mb", optional_value(&self.shm_mb)),
        ]
    }
}

/// Returns a variable's name as TOML spells a key.
fn toml_key(name: &str) -> String {
    let bare = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if bare { name.to_owned() } else { json!(name).to_string() }
}

fn row(key: &'static str, value: RowValue) -> ConfigRow {
    ConfigRow { key: Cow::Borrowed(key), value }
}

fn value_and_source<T: Serialize>(setting: &SourcedValue<T>) -> (Value, SettingSource) {
    (json!(setting.value), setting.source.clone())
}

fn text_and_source<T: ToString>(setting: &SourcedValue<T>) -> (Value, SettingSource) {
    (json!(setting.value.to_string()), setting.source.clone())
}

fn one_value<T: Serialize>(setting: &SourcedValue<T>) -> RowValue {
    let (value, source) = value_and_source(setting);
    RowValue::One(value, source)
}

fn optional_value<T: Serialize>(setting: &SourcedValue<Option<T>>) -> RowValue {
    if setting.value.is_some() { one_value(setting) } else { RowValue::Unset }
}

fn list_value(values: impl Iterator<Item = (Value, SettingSource)>) -> RowValue {
    let values: Vec<_> = values.collect();
    if values.is_empty() { RowValue::Unset } else { RowValue::List(values) }
}

impl ConfigRow {
    /// Returns the row as JSON, one object for each value.
    pub fn to_json(&self) -> Vec<Value> {
        let one = |(value, source): &(Value, SettingSource)| json!({ "key": self.key, "value": value, "source": source.to_string() });
        match &self.value {
            RowValue::Unset => Vec::new(),
            RowValue::One(value, source) => vec![one(&(value.clone(), source.clone()))],
            RowValue::List(values) => values.iter().map(one).collect(),
        }
    }
}

/// Formats a value as TOML. Only tables differ from JSON.
pub fn to_toml(value: &Value) -> String {
    let Value::Object(table) = value else { return value.to_string() };
    let pairs: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {}", to_toml(value))).collect();
    format!("{{ {} }}", pairs.join(", "))
}

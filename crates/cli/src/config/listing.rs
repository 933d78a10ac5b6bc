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
pub(crate) struct ConfigRow {
    pub(crate) key: Cow<'static, str>,
    pub(crate) value: RowValue,
}

/// The value that is printed for a key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RowValue {
    /// The key is not set.
    Unset,
    One(Value, SettingSource),
    /// Several values, each with its own source.
    List(Vec<(Value, SettingSource)>),
}

impl Config {
    /// Returns every key with its values and their sources, in the order of the documentation.
    pub(crate) fn rows(&self) -> Vec<ConfigRow> {
        let ToolSettings { only, without, web_search, search, shell_type, apply_patch_tool_type, .. } =
            &self.tools;
        let streamable = &self.tools.use_experimental_streamable_shell_tool;
        let FileSettings { read_roots, deny_read, deny_read_defaults } = &self.files;
        let LimitSettings { output_tokens, call_timeout_ms, parallel } = &self.limits;
        let only_from = only.last().map(|last| last.source.clone());
        let chosen = self.tools.allowed_names().zip(only_from);
        let built_in = toolgate::DEFAULT_DENY_READ.iter().filter(|_| deny_read_defaults.value);
        let built_in = built_in.map(|pattern| (json!(pattern), SettingSource::BuiltIn));
        let mut rows = vec![
            row("model", maybe(&self.model)),
            row("sandbox", one(&self.sandbox)),
            row("approval", one(&self.approval)),
            row(
                "tools.only",
                chosen.map_or(RowValue::Unset, |(names, source)| RowValue::One(json!(names), source)),
            ),
            row("tools.without", list(without.iter().map(pair))),
            row("tools.web_search", one(web_search)),
            row("tools.shell_type", maybe(shell_type)),
            row("tools.apply_patch_tool_type", maybe(apply_patch_tool_type)),
            row("tools.use_experimental_streamable_shell_tool", maybe(streamable)),
            row("models", list(self.models.iter().map(pair))),
            row("files.read_roots", list(read_roots.iter().map(pair))),
            row("files.deny_read", list(built_in.chain(deny_read.iter().map(pair)))),
            row("files.deny_read_defaults", one(deny_read_defaults)),
        ];
        rows.extend(search.as_ref().map(|search| row("tools.web_search.own", one(search))));
        rows.extend(self.commands.rows());
        rows.extend(self.confinement.rows());
        rows.extend([
            row("limits.output_tokens", one(output_tokens)),
            row("limits.call_timeout_ms", one(call_timeout_ms)),
            row("limits.parallel", one(parallel)),
            row("wire.integers", one(&self.integers)),
            row("hook", list(self.hooks.iter().map(pair))),
            row("mcp_servers", list(self.servers.iter().map(pair))),
        ]);
        rows
    }
}

impl CommandSettings {
    fn rows(&self) -> Vec<ConfigRow> {
        let Self { inherit, pass, set, sessions, shell } = self;
        let mut rows =
            vec![row("commands.inherit", one(inherit)), row("commands.pass", list(pass.iter().map(pair)))];
        if set.is_empty() {
            rows.push(row("commands.set", RowValue::Unset));
        }
        rows.extend(set.iter().map(|SourcedValue { value: (name, value), source }| {
            let key = Cow::Owned(format!("commands.set.{}", key(name)));
            ConfigRow { key, value: RowValue::One(json!(value), source.clone()) }
        }));
        rows.extend([row("commands.sessions", one(sessions)), row("commands.shell", maybe(shell))]);
        rows
    }
}

impl ConfinementSettings {
    fn rows(&self) -> Vec<ConfigRow> {
        vec![
            row("confinement.writable", list(self.writable.iter().map(pair))),
            row("confinement.read_only", list(self.read_only.iter().map(pair))),
            row("confinement.network", one(&self.network)),
            row("confinement.hosts", list(self.hosts.iter().map(spelled))),
            row("confinement.unix_sockets", list(self.unix_sockets.iter().map(pair))),
            row("confinement.tier", one(&self.tier)),
            row("confinement.require", one(&self.require)),
            row("confinement.processes", maybe(&self.processes)),
            row("confinement.memory_mb", maybe(&self.memory_mb)),
            row("confinement.file_size_mb", maybe(&self.file_size_mb)),
            row("confinement.open_files", maybe(&self.open_files)),
            row("confinement.tmp_mb", maybe(&self.tmp_mb)),
            row("confinement.shm_mb", maybe(&self.shm_mb)),
        ]
    }
}

/// Returns a variable's name as TOML spells a key.
fn key(name: &str) -> String {
    let bare = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if bare { name.to_owned() } else { json!(name).to_string() }
}

fn row(key: &'static str, value: RowValue) -> ConfigRow {
    ConfigRow { key: Cow::Borrowed(key), value }
}

fn pair<T: Serialize>(setting: &SourcedValue<T>) -> (Value, SettingSource) {
    (json!(setting.value), setting.source.clone())
}

fn spelled<T: ToString>(setting: &SourcedValue<T>) -> (Value, SettingSource) {
    (json!(setting.value.to_string()), setting.source.clone())
}

fn one<T: Serialize>(setting: &SourcedValue<T>) -> RowValue {
    let (value, source) = pair(setting);
    RowValue::One(value, source)
}

fn maybe<T: Serialize>(setting: &SourcedValue<Option<T>>) -> RowValue {
    if setting.value.is_some() { one(setting) } else { RowValue::Unset }
}

fn list(values: impl Iterator<Item = (Value, SettingSource)>) -> RowValue {
    let values: Vec<_> = values.collect();
    if values.is_empty() { RowValue::Unset } else { RowValue::List(values) }
}

impl ConfigRow {
    /// Returns the row as JSON, one object for each value.
    pub(crate) fn to_json(&self) -> Vec<Value> {
        let one = |(value, source): &(Value, SettingSource)| json!({ "key": self.key, "value": value, "source": source.to_string() });
        match &self.value {
            RowValue::Unset => Vec::new(),
            RowValue::One(value, source) => vec![one(&(value.clone(), source.clone()))],
            RowValue::List(values) => values.iter().map(one).collect(),
        }
    }
}

//! Lists the configuration as `toolgate config` prints it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Config, SettingSource, SourcedValue};

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
        let mut rows = vec![
            row("model", optional_value(&self.model)),
            row("insecure_http", one_value(&self.insecure_http)),
            row("sandbox", one_value(&self.sandbox)),
            row("approval", one_value(&self.approval)),
            row("changes", one_value(&self.changes)),
        ];
        rows.extend(self.tools.rows());
        rows.push(row("models", list_value(self.models.iter().map(value_and_source))));
        rows.extend(self.files.rows());
        rows.extend(self.commands.rows());
        rows.extend(self.confinement.rows());
        rows.extend(self.limits.rows());
        rows.extend(self.journal.rows());
        rows.extend([
            row("wire.integers", one_value(&self.integers)),
            row("hook", list_value(self.hooks.iter().map(value_and_source))),
            row("mcp_servers", list_value(self.servers.iter().map(value_and_source))),
        ]);
        rows
    }
}

pub(super) fn row(key: &'static str, value: RowValue) -> ConfigRow {
    ConfigRow { key: Cow::Borrowed(key), value }
}

pub(super) fn value_and_source<T: Serialize>(setting: &SourcedValue<T>) -> (Value, SettingSource) {
    (json!(setting.value), setting.source.clone())
}

pub(super) fn text_and_source<T: ToString>(setting: &SourcedValue<T>) -> (Value, SettingSource) {
    (json!(setting.value.to_string()), setting.source.clone())
}

pub(super) fn one_value<T: Serialize>(setting: &SourcedValue<T>) -> RowValue {
    let (value, source) = value_and_source(setting);
    RowValue::One(value, source)
}

pub(super) fn optional_value<T: Serialize>(setting: &SourcedValue<Option<T>>) -> RowValue {
    if setting.value.is_some() { one_value(setting) } else { RowValue::Unset }
}

pub(super) fn list_value(values: impl Iterator<Item = (Value, SettingSource)>) -> RowValue {
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

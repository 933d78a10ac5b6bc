//! Takes the settings of a setup out of a file that its agent has rewritten since: by key and value, not by line.

use serde_json::{Map, Value};

use super::edit_settings::{FileSetting, SettingValue};

/// The key that names our entry: it is taken back as a whole, because a part of it is no valid entry.
const ENTRY_KEY: &str = "toolgate";

/// The location of a setting in a file, as the record of a setup holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingLocation {
    pub(super) keys: Vec<String>,
    pub(super) kind: SettingKind,
}

/// The part of a value that a setup wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingKind {
    /// All of it.
    Value,
    /// Some elements of a list.
    Elements,
}

/// One change that takes a setting back.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RestoringEdit {
    pub(super) keys: Vec<String>,
    /// The number of first keys that existed before the setup. Containers below them go when they become empty.
    pub(super) kept_depth: usize,
    pub(super) change: RestoringChange,
}

/// The change of [`RestoringEdit`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RestoringChange {
    Remove,
    Replace(Value),
    /// Removes these elements of a list.
    RemoveElements(Vec<String>),
}

/// The edits that take a setup back, and the settings that must stay.
#[derive(Debug, Default, PartialEq)]
pub(super) struct RestoringPlan {
    pub(super) edits: Vec<RestoringEdit>,
    /// The settings whose values were changed since the setup.
    pub(super) changed: Vec<String>,
}

/// The content of a file before the setup, after it, and now.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileStates<'a> {
    pub(super) before: &'a Value,
    pub(super) after: &'a Value,
    pub(super) now: &'a Value,
}

impl SettingLocation {
    pub(super) fn of(setting: &FileSetting) -> Self {
        let kind = match setting.value {
            SettingValue::Set(_) => SettingKind::Value,
            SettingValue::Add(_) => SettingKind::Elements,
        };
        Self { keys: setting.keys.iter().map(|&key| key.to_owned()).collect(), kind }
    }

    /// Returns the keys of the unit that is taken back together.
    fn unit(&self) -> &[String] {
        let entry = self.keys.iter().position(|key| key == ENTRY_KEY);
        entry.map_or(&self.keys, |at| &self.keys[..=at])
    }
}

/// Plans how to take the settings back.
pub(super) fn plan_restoring(states: FileStates<'_>, locations: &[SettingLocation]) -> RestoringPlan {
    let (mut plan, mut planned) = (RestoringPlan::default(), Vec::new());
    for location in locations {
        let unit = location.unit();
        if planned.contains(&unit) {
            continue;
        }
        planned.push(unit);
        match location.kind {
            SettingKind::Value => plan.restore_value(states, unit),
            SettingKind::Elements => plan.remove_elements(states, unit),
        }
    }
    plan
}

impl RestoringPlan {
    fn restore_value(&mut self, states: FileStates<'_>, keys: &[String]) {
        let [before, after, now] =
            [states.before, states.after, states.now].map(|content| lookup(content, keys));
        let (Some(after), Some(now)) = (after, now) else { return };
        match (before, after, now) {
            (Some(before), after, _) if before == after => {}
            (Some(before), after, now) if after == now => {
                self.push(states, keys, RestoringChange::Replace(before.clone()));
            }
            // The user's own entry, to which the setup added values.
            (Some(Value::Object(_)), Value::Object(after), Value::Object(_)) => {
                for key in after.keys() {
                    self.restore_value(states, &[keys, std::slice::from_ref(key)].concat());
                }
            }
            (None, after, now) => match find_conflict(after, now, keys) {
                // Values that the agent added to our entry go with it.
                None => self.push(states, keys, RestoringChange::Remove),
                Some(changed) => self.changed.push(changed),
            },
            (Some(_), _, _) => self.changed.push(keys.join(".")),
        }
    }

    fn remove_elements(&mut self, states: FileStates<'_>, keys: &[String]) {
        let texts = |content: &Value| -> Vec<String> {
            let elements = lookup(content, keys).and_then(Value::as_array).into_iter().flatten();
            elements.filter_map(|element| Some(element.as_str()?.to_owned())).collect()
        };
        let (before, now) = (texts(states.before), texts(states.now));
        let mut added = texts(states.after);
        added.retain(|text| !before.contains(text) && now.contains(text));
        if !added.is_empty() {
            self.push(states, keys, RestoringChange::RemoveElements(added));
        }
    }

    fn push(&mut self, states: FileStates<'_>, keys: &[String], change: RestoringChange) {
        let existed = |depth: &usize| lookup(states.before, &keys[..*depth]).is_some();
        let kept_depth = (1..=keys.len()).take_while(existed).count();
        self.edits.push(RestoringEdit { keys: keys.to_vec(), kept_depth, change });
    }
}

fn lookup<'a>(content: &'a Value, keys: &[String]) -> Option<&'a Value> {
    keys.iter().try_fold(content, |value, key| value.get(key))
}

/// Returns the keys of the first value of `ours` that has another value now. A missing one is no conflict.
fn find_conflict(ours: &Value, now: &Value, keys: &[String]) -> Option<String> {
    match (ours, now) {
        (Value::Object(ours), Value::Object(now)) => ours.iter().find_map(|(key, value)| {
            find_conflict(value, now.get(key)?, &[keys, std::slice::from_ref(key)].concat())
        }),
        _ => (ours != now).then(|| keys.join(".")),
    }
}

/// Returns a TOML table as JSON. Dates become texts.
pub(super) fn json_from_toml(table: &dyn toml_edit::TableLike) -> Value {
    let members = table.iter().map(|(key, item)| (key.to_owned(), json_from_item(item)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn json_from_item(item: &toml_edit::Item) -> Value {
    match item {
        toml_edit::Item::None => Value::Null,
        toml_edit::Item::Value(value) => json_from_value(value),
        toml_edit::Item::Table(table) => json_from_toml(table),
        toml_edit::Item::ArrayOfTables(tables) => tables.iter().map(|table| json_from_toml(table)).collect(),
    }
}

fn json_from_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => (*number.value()).into(),
        toml_edit::Value::Boolean(flag) => (*flag.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(values) => values.iter().map(json_from_value).collect(),
        toml_edit::Value::InlineTable(table) => json_from_toml(table),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn exactly_the_values_of_the_setup_are_taken_back() {
        let location = |keys: &[&str], kind| SettingLocation {
            keys: keys.iter().map(|&key| key.to_owned()).collect(),
            kind,
        };
        let locations = [
            location(&["servers", "toolgate", "command"], SettingKind::Value),
            location(&["servers", "toolgate", "args"], SettingKind::Value),
            location(&["mode"], SettingKind::Value),
            location(&["deny"], SettingKind::Elements),
        ];
        let after = json!({
            "servers": { "toolgate": { "command": "t", "args": ["mcp"] } }, "mode": "ours", "deny": ["Bash", "Edit"],
        });
        let plan = |before: Value, now: Value| {
            let states = FileStates { before: &before, after: &after, now: &now };
            let plan = plan_restoring(states, &locations);
            let edits = plan.edits.iter();
            let edits = edits.map(|edit| {
                format!("{} at {} of {}", edit.keys.join("."), edit.kept_depth, edit.keys.len())
                    + &format!(": {:?}", edit.change)
            });
            edits
                .chain(plan.changed.iter().map(|keys| format!("{keys} was changed")))
                .collect::<Vec<_>>()
                .join("\n")
        };
        insta::assert_snapshot!(plan(json!({}), after.clone()), @r#"
        servers.toolgate at 0 of 2: Remove
        mode at 0 of 1: Remove
        deny at 0 of 1: RemoveElements(["Bash", "Edit"])
        "#);
        insta::assert_snapshot!(plan(json!({"mode": "mine", "deny": ["Edit"], "servers": {}}), json!({
            "servers": { "other": {}, "toolgate": { "command": "t", "args": ["mcp"], "env": {} } },
            "mode": "ours", "deny": ["Read", "Edit", "Bash"],
        })), @r#"
        servers.toolgate at 1 of 2: Remove
        mode at 1 of 1: Replace(String("mine"))
        deny at 1 of 1: RemoveElements(["Bash"])
        "#);
        insta::assert_snapshot!(plan(json!({}), json!({
            "servers": { "toolgate": { "command": "t", "args": ["mcp", "--cwd"] } }, "mode": 1, "deny": [],
        })), @"
        servers.toolgate.args was changed
        mode was changed
        ");
        insta::assert_snapshot!(plan(json!({"servers": {"toolgate": {"command": "old"}}}), json!({
            "servers": { "toolgate": { "command": "t", "args": ["mcp", "--cwd"] } },
        })), @r#"
        servers.toolgate.command at 3 of 3: Replace(String("old"))
        servers.toolgate.args was changed
        "#);
        assert_eq!(plan(json!({}), json!({})), "");
    }
}

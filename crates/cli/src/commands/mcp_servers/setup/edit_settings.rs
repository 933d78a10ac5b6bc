//! Sets values in the text of a TOML, JSON or YAML file, and keeps the rest of it unchanged.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::merge_lines::merge_lines;
use super::take_back::{
    FileStates, RestoringChange, RestoringEdit, RestoringPlan, SettingLocation, json_from_toml,
    plan_restoring,
};

/// The format of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingsFormat {
    Toml,
    /// JSON, with comments.
    Json,
    /// JSON that its reader refuses if it has a comment.
    StrictJson,
    /// YAML in block style, of which two levels are edited.
    Yaml,
}

/// One setting: the keys that lead to it, and its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FileSetting {
    pub(super) keys: Vec<&'static str>,
    pub(super) value: SettingValue,
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum SettingValue {
    /// Replaces the value.
    Set(Value),
    /// Adds these texts to a list.
    Add(&'static [&'static str]),
}

/// Returns `text` with these settings.
pub(super) fn apply_settings(
    format: SettingsFormat,
    text: &str,
    settings: &[FileSetting],
) -> Result<String, String> {
    match format {
        SettingsFormat::Toml => apply_toml(text, settings),
        SettingsFormat::Json => apply_json(text, settings),
        SettingsFormat::StrictJson => {
            check_strict_json(text)?;
            apply_json(text, settings)
        }
        SettingsFormat::Yaml => super::edit_yaml::apply_yaml(text, settings),
    }
}

/// The texts of a file before a setup, after it, and now.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileTexts<'a> {
    pub(super) before: &'a str,
    pub(super) after: &'a str,
    pub(super) now: &'a str,
}

/// Returns the current text without the settings of a setup, and the keys of those that were changed since and stay.
pub(super) fn take_back_settings(
    format: SettingsFormat,
    texts: FileTexts<'_>,
    locations: &[SettingLocation],
) -> Result<(String, Vec<String>), String> {
    let plan = |parse: &dyn Fn(&str) -> Result<Value, String>| -> Result<RestoringPlan, String> {
        let [before, after, now] = [texts.before, texts.after, texts.now].map(parse);
        let (before, after, now) = (before?, after?, now?);
        Ok(plan_restoring(FileStates { before: &before, after: &after, now: &now }, locations))
    };
    match format {
        SettingsFormat::Toml => {
            let plan = plan(&|text| Ok(json_from_toml(parse_toml(text)?.as_table())))?;
            let mut document = parse_toml(texts.now)?;
            for edit in &plan.edits {
                restore_in_toml(document.as_table_mut(), edit, 0);
            }
            Ok((document.to_string(), plan.changed))
        }
        SettingsFormat::Json | SettingsFormat::StrictJson => {
            let plan = plan(&|text| {
                let top = parse_json(text)?.1;
                top.to_serde_value().ok_or_else(|| "it has no JSON values".to_owned())
            })?;
            let (root, top) = parse_json(texts.now)?;
            plan.edits.iter().for_each(|edit| restore_in_json(&top, edit, 0));
            Ok((root.to_string(), plan.changed))
        }
        SettingsFormat::Yaml => {
            let merged = merge_lines(texts.after, texts.before, texts.now);
            let merged = merged.ok_or("it was changed since the setup in the same lines")?;
            Ok((merged, Vec::new()))
        }
    }
}

/// Refuses what only a lenient reader accepts: the settings would have no effect.
fn check_strict_json(text: &str) -> Result<(), String> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Ok(());
    }
    serde_json::from_str::<Value>(text).map(drop).map_err(|error| {
        format!(
            "its agent does not load it, because it is not plain JSON at line {} column {} (a comment, a trailing comma …)",
            error.line(),
            error.column()
        )
    })
}

fn parse_toml(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| error.to_string())
}

fn parse_json(text: &str) -> Result<(CstRootNode, CstObject), String> {
    let root = CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())?;
    let top = root.object_value_or_create().ok_or("it is not a JSON object")?;
    Ok((root, top))
}

/// Carries out `edit` in the table below its first `depth` keys.
fn restore_in_toml(table: &mut dyn TableLike, edit: &RestoringEdit, depth: usize) {
    let Some(key) = edit.keys.get(depth) else { return };
    if depth + 1 < edit.keys.len() {
        let Some(inner) = table.get_mut(key).and_then(Item::as_table_like_mut) else { return };
        restore_in_toml(inner, edit, depth + 1);
        if depth >= edit.kept_depth && inner.is_empty() {
            table.remove(key);
        }
        return;
    }
    match &edit.change {
        RestoringChange::Remove => drop(table.remove(key)),
        RestoringChange::Replace(value) => {
            let _same = toml_value(value).map(|value| table.insert(key, toml_edit::value(value)));
        }
        // No setup adds to a list in TOML.
        RestoringChange::RemoveElements(_) => {}
    }
}

/// Carries out `edit` in the object below its first `depth` keys.
fn restore_in_json(object: &CstObject, edit: &RestoringEdit, depth: usize) {
    let Some(member) = edit.keys.get(depth).and_then(|key| object.get(key)) else { return };
    if depth + 1 < edit.keys.len() {
        let Some(inner) = member.object_value() else { return };
        restore_in_json(&inner, edit, depth + 1);
        if depth >= edit.kept_depth && inner.properties().is_empty() {
            member.remove();
        }
        return;
    }
    match &edit.change {
        RestoringChange::Remove => member.remove(),
        RestoringChange::Replace(value) => member.set_value(json_value(value)),
        RestoringChange::RemoveElements(texts) => {
            let Some(list) = member.array_value() else { return };
            for element in list.elements() {
                let text = element.as_string_lit().and_then(|text| text.decoded_value().ok());
                if text.is_some_and(|text| texts.contains(&text)) {
                    element.remove();
                }
            }
            if depth >= edit.kept_depth && list.elements().is_empty() {
                member.remove();
            }
        }
    }
}

fn apply_toml(text: &str, settings: &[FileSetting]) -> Result<String, String> {
    let mut document = parse_toml(text)?;
    for FileSetting { keys, value } in settings {
        let Some((last, tables)) = keys.split_last() else { continue };
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for key in tables {
            let entry = table.entry(key).or_insert_with(|| {
                let mut new = Table::new();
                // Only tables with values of their own get a header.
                new.set_implicit(true);
                Item::Table(new)
            });
            table = entry.as_table_like_mut().ok_or_else(|| format!("`{key}` is not a table"))?;
        }
        let SettingValue::Set(value) = value else { return Err(format!("`{last}` is not a list here")) };
        let value = toml_value(value).ok_or_else(|| format!("`{last}` has no form in TOML"))?;
        table.insert(last, toml_edit::value(value));
    }
    Ok(document.to_string())
}

fn toml_value(value: &Value) -> Option<toml_edit::Value> {
    Some(match value {
        Value::String(text) => text.as_str().into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => number.as_i64()?.into(),
        Value::Array(items) => items.iter().map(toml_value).collect::<Option<Array>>()?.into(),
        Value::Object(members) => {
            let mut table = InlineTable::new();
            for (name, member) in members {
                table.insert(name, toml_value(member)?);
            }
            table.into()
        }
        Value::Null => return None,
    })
}

fn apply_json(text: &str, settings: &[FileSetting]) -> Result<String, String> {
    let (root, top) = parse_json(text)?;
    for FileSetting { keys, value } in settings {
        let Some((last, objects)) = keys.split_last() else { continue };
        let mut object = top.clone();
        for key in objects {
            let inner: Option<CstObject> = object.object_value_or_create(key);
            object = inner.ok_or_else(|| format!("`{key}` is not an object"))?;
        }
        match value {
            SettingValue::Set(value) => match object.get(last) {
                Some(member) => member.set_value(json_value(value)),
                None => drop(object.append(last, json_value(value))),
            },
            SettingValue::Add(texts) => {
                let list =
                    object.array_value_or_create(last).ok_or_else(|| format!("`{last}` is not a list"))?;
                let present: Vec<String> = list.elements().iter().map(ToString::to_string).collect();
                for text in texts.iter().filter(|text| !present.contains(&format!("\"{text}\""))) {
                    list.append(CstInputValue::String((*text).to_owned()));
                }
            }
        }
    }
    let text = root.to_string();
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}

fn json_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(json_value).collect()),
        Value::Object(members) => CstInputValue::Object(
            members.iter().map(|(name, member)| (name.clone(), json_value(member))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(keys: &[&'static str], value: Value) -> FileSetting {
        FileSetting { keys: keys.to_vec(), value: SettingValue::Set(value) }
    }

    #[test]
    fn toml_keeps_comments_and_other_keys() {
        let text = "# mine\nmodel = \"m\" # yes\n\n[features]\nother = true\n";
        let settings = [
            set(&["features", "shell_tool"], json!(false)),
            set(&["mcp_servers", "toolgate", "args"], json!(["mcp"])),
            set(&["approval_policy"], json!({ "granular": { "rules": false } })),
        ];
        let edited = apply_settings(SettingsFormat::Toml, text, &settings).unwrap();
        insta::assert_snapshot!(edited, @r#"
        # mine
        model = "m" # yes
        approval_policy = { granular = { rules = false } }

        [features]
        other = true
        shell_tool = false

        [mcp_servers.toolgate]
        args = ["mcp"]
        "#);
        assert_eq!(apply_settings(SettingsFormat::Toml, &edited, &settings).unwrap(), edited);
        assert!(apply_settings(SettingsFormat::Toml, "features = 1", &settings).is_err());
        assert!(apply_settings(SettingsFormat::Toml, "a = ", &settings).is_err());
    }

    #[test]
    fn json_keeps_comments_and_adds_to_lists_once() {
        let text = "{\n  // mine\n  \"permissions\": { \"deny\": [\"Bash\"] },\n  \"a\": 1\n}\n";
        let settings = [
            FileSetting { keys: vec!["permissions", "deny"], value: SettingValue::Add(&["Bash", "Edit"]) },
            set(&["mcpServers", "toolgate"], json!({ "command": "toolgate", "args": ["mcp"] })),
        ];
        let edited = apply_settings(SettingsFormat::Json, text, &settings).unwrap();
        insta::assert_snapshot!(edited, @r#"
        {
          // mine
          "permissions": { "deny": ["Bash", "Edit"] },
          "a": 1,
          "mcpServers": {
            "toolgate": {
              "args": ["mcp"],
              "command": "toolgate"
            }
          }
        }
        "#);
        assert_eq!(apply_settings(SettingsFormat::Json, &edited, &settings).unwrap(), edited);
        assert!(apply_settings(SettingsFormat::Json, "", &settings).unwrap().contains("\"Edit\""));
        assert!(apply_settings(SettingsFormat::Json, "[]", &settings).is_err());
        assert!(apply_settings(SettingsFormat::Json, "{\"permissions\": 1}", &settings).is_err());
    }
}

//! Argument aliases: renamed before validation; errors use the spelling that was sent.

use serde_json::Value;

use crate::{BadArguments, JsonSchema, SchemaViolation};

/// Renames each alias (`file_path`, `steps[].step`) to the name in the schema. If both spellings are present, a `null`
/// counts as absent; two different values are an error.
pub(crate) fn rename_aliases(
    value: &mut Value,
    aliases: &[(&str, &str)],
    schema: &JsonSchema,
) -> Result<(), BadArguments> {
    aliases.iter().try_for_each(|(alias, name)| {
        rename_alias(value, alias, name, schema).map_err(|path| {
            let alias = alias.rsplit("[].").next().unwrap_or(alias);
            let why = format!("`{alias}` and `{name}` are the same argument and differ: give one of them");
            BadArguments::Value { path, why }
        })
    })
}

/// Renames `alias` to `name`. The error is the path of an alias whose value differs from that of `name`.
fn rename_alias(value: &mut Value, alias: &str, name: &str, schema: &JsonSchema) -> Result<(), String> {
    let properties = schema.object.as_ref().map(|object| &object.properties);
    let property = |name: &str| properties.and_then(|properties| properties.get(name));
    if let Some((list, rest)) = alias.split_once("[].") {
        let each = property(list).and_then(|list| list.items.as_deref());
        let (Some(Value::Array(items)), Some(each)) = (value.get_mut(list), each) else { return Ok(()) };
        return items.iter_mut().enumerate().try_for_each(|(index, item)| {
            rename_alias(item, rest, name, each).map_err(|path| format!("{list}[{index}].{path}"))
        });
    }
    let Value::Object(map) = value else { return Ok(()) };
    let is_left_out = map.get(name).is_none_or(Value::is_null);
    match map.get(alias) {
        None => {}
        Some(Value::Null) if map.contains_key(name) => drop(map.remove(alias)),
        Some(_) if is_left_out => {
            let found = map.remove(alias).unwrap_or_default();
            map.insert(name.to_owned(), found);
        }
        // The tool accepts both names, with different meanings.
        Some(_) if property(alias).is_some() => {}
        Some(said) if map.get(name) == Some(said) => drop(map.remove(alias)),
        Some(_) => return Err(alias.to_owned()),
    }
    Ok(())
}

/// Renames the argument in `fault` to the spelling that the model used in `sent`.
pub(crate) fn restore_sent_names(
    fault: BadArguments,
    sent: &Value,
    aliases: &[(&str, &str)],
) -> BadArguments {
    match fault {
        BadArguments::SchemaViolation(SchemaViolation { path, expected, found }) => {
            SchemaViolation { path: path_as_sent(&path, sent, aliases), expected, found }.into()
        }
        BadArguments::Value { path, why } => {
            BadArguments::Value { path: path_as_sent(&path, sent, aliases), why }
        }
        BadArguments::NotJson { .. } | BadArguments::TooLong { .. } => fault,
    }
}

/// Converts `steps[1].description` to `plan[1].step`, if the model spelled it so.
fn path_as_sent(path: &str, sent: &Value, aliases: &[(&str, &str)]) -> String {
    let (name, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
    let spelled = name_as_sent(name, sent, aliases);
    let of_items: Vec<(&str, &str)> = aliases
        .iter()
        .filter_map(|(alias, to)| Some((alias.strip_prefix(name)?.strip_prefix("[].")?, *to)))
        .collect();
    let below = rest.strip_prefix('[').and_then(|rest| rest.split_once("]."));
    let item = below.and_then(|(index, path)| {
        let item = sent.get(spelled)?.get(index.parse::<usize>().ok()?)?;
        Some((index, path_as_sent(path, item, &of_items)))
    });
    match item {
        Some((index, path)) => format!("{spelled}[{index}].{path}"),
        None => format!("{spelled}{rest}"),
    }
}

/// Returns the spelling of argument `name` that has a value in `sent`, else one that is present as `null`.
fn name_as_sent<'a>(name: &'a str, sent: &Value, aliases: &[(&'a str, &'a str)]) -> &'a str {
    let others = aliases.iter().filter(|(_, to)| *to == name).map(|(alias, _)| *alias);
    let spellings = || std::iter::once(name).chain(others.clone());
    let has_value = |name: &&str| sent.get(*name).is_some_and(|value| !value.is_null());
    let is_there = |name: &&str| sent.get(*name).is_some();
    spellings().find(has_value).or_else(|| spellings().find(is_there)).unwrap_or(name)
}

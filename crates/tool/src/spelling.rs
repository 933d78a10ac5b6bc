//! Argument aliases: other spellings of an argument, renamed before arguments are validated.

use serde_json::Value;

use crate::{BadArguments, JsonSchema};

/// Renames each alias (`file_path`, `steps[].step`) to the name in the schema. Of two spellings, a `null` counts as left
/// out; two values that differ are a fault.
pub(crate) fn rename_aliases(
    value: &mut Value,
    aliases: &[(&str, &str)],
    schema: &JsonSchema,
) -> Result<(), BadArguments> {
    aliases.iter().try_for_each(|(alias, name)| {
        rename(value, alias, name, schema).map_err(|path| {
            let alias = alias.rsplit("[].").next().unwrap_or(alias);
            let why = format!("`{alias}` and `{name}` are the same argument and differ: give one of them");
            BadArguments::Value { path, why }
        })
    })
}

/// Renames `alias` to `name`; the error is the path of an alias that says something else than `name` does.
fn rename(value: &mut Value, alias: &str, name: &str, schema: &JsonSchema) -> Result<(), String> {
    let properties = schema.object.as_ref().map(|object| &object.properties);
    let property = |name: &str| properties.and_then(|properties| properties.get(name));
    if let Some((list, rest)) = alias.split_once("[].") {
        let each = property(list).and_then(|list| list.items.as_deref());
        let (Some(Value::Array(items)), Some(each)) = (value.get_mut(list), each) else { return Ok(()) };
        return items.iter_mut().enumerate().try_for_each(|(index, item)| {
            rename(item, rest, name, each).map_err(|path| format!("{list}[{index}].{path}"))
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
        // The tool takes both, for two things.
        Some(_) if property(alias).is_some() => {}
        Some(said) if map.get(name) == Some(said) => drop(map.remove(alias)),
        Some(_) => return Err(alias.to_owned()),
    }
    Ok(())
}

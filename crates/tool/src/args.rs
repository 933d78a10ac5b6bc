//! Defines the `Args` trait: schema and spec of tool arguments, and validated parsing of JSON and freeform payloads.

use std::marker::PhantomData;

use schemars::JsonSchema as Derive;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::arg_aliases::{rename_aliases, restore_sent_names};
use crate::{
    AdditionalProperties, BadArguments, FreeformSpec, FunctionSpec, JsonSchema, JsonType, StrictMode,
    TextGrammar, ToolCall, ToolPayload, ToolSpec, replace_lone_surrogates,
};

/// Longer arguments, in bytes, are rejected.
pub const MAX_ARGUMENT_BYTES: usize = 8 << 20;

/// The arguments of a tool: schema, documentation and parser from one source.
///
/// Every type that derives `serde::Deserialize` and `schemars::JsonSchema` implements it. [`FreeformArgs`] is the other
/// kind.
pub trait Args: Sized + Send + Sync + 'static {
    /// Returns the schema that arguments are validated against.
    fn schema() -> JsonSchema;

    /// Returns the spec that the model gets for a tool with these arguments.
    fn spec(name: &str, about: &str, strict: StrictMode) -> ToolSpec;

    /// Parses a payload.
    fn parse_payload(
        payload: &ToolPayload,
        schema: &JsonSchema,
        aliases: &[(&str, &str)],
    ) -> Result<Self, BadArguments>;

    /// Parses the payload of a call. The default ignores the name that the tool was called by.
    fn parse_call(
        call: &ToolCall,
        schema: &JsonSchema,
        aliases: &[(&str, &str)],
    ) -> Result<Self, BadArguments> {
        Self::parse_payload(&call.payload, schema, aliases)
    }
}

impl<T: DeserializeOwned + Derive + Send + Sync + 'static> Args for T {
    fn schema() -> JsonSchema {
        let schema = JsonSchema::for_type::<T>();
        // `()` and unit structs: a tool without arguments gets an empty object.
        if schema.types == [JsonType::Null] { JsonSchema::empty_object() } else { schema }
    }

    fn spec(name: &str, about: &str, strict: StrictMode) -> ToolSpec {
        let schema = Self::schema();
        let parameters = match strict {
            StrictMode::Yes => schema.to_strict(),
            StrictMode::No => schema.to_terse(),
        };
        let (name, description) = (name.to_owned(), about.to_owned());
        ToolSpec::Function(Box::new(FunctionSpec { name, description, parameters, strict }))
    }

    fn parse_payload(
        payload: &ToolPayload,
        schema: &JsonSchema,
        aliases: &[(&str, &str)],
    ) -> Result<Self, BadArguments> {
        let text = payload.arguments();
        parse_typed(&text, schema, aliases).map_err(|fault| fault_as_sent(fault, &text, aliases))
    }
}

fn parse_typed<T: DeserializeOwned>(
    text: &str,
    schema: &JsonSchema,
    aliases: &[(&str, &str)],
) -> Result<T, BadArguments> {
    let mut value = parse_and_validate(text, schema, aliases)?;
    floats_to_integers(&mut value);
    if value.as_object().is_some_and(Map::is_empty)
        && let Ok(unit) = T::deserialize(Value::Null)
    {
        return Ok(unit);
    }
    serde_path_to_error::deserialize(value).map_err(|error| BadArguments::Value {
        path: error.path().to_string(),
        why: error.inner().to_string(),
    })
}

/// Renames the argument in `fault` to the spelling that the model used in `text`. Parses the text again: keeping both
/// forms would cost every call.
pub(crate) fn fault_as_sent(fault: BadArguments, text: &str, aliases: &[(&str, &str)]) -> BadArguments {
    match parse_json(text) {
        Ok(sent) if !aliases.is_empty() => restore_sent_names(fault, &sent, aliases),
        Ok(_) | Err(_) => fault,
    }
}

/// The arguments of a freeform tool: text in the language `L`, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeformArgs<L> {
    /// The unparsed text.
    pub text: String,
    language: PhantomData<L>,
}

/// The language of a freeform tool's text.
pub trait FreeformLanguage: Send + Sync + 'static {
    /// The grammar that the model's provider enforces.
    const GRAMMAR: TextGrammar;
}

/// How the text of a freeform tool arrives from an API that knows only functions.
#[derive(Deserialize, Derive)]
#[serde(deny_unknown_fields)]
struct WrappedText {
    /// The whole text, as the tool's description shows it.
    input: String,
}

impl<L: FreeformLanguage> Args for FreeformArgs<L> {
    fn schema() -> JsonSchema {
        JsonSchema::for_type::<WrappedText>()
    }

    fn spec(name: &str, about: &str, _: StrictMode) -> ToolSpec {
        let (name, description) = (name.to_owned(), about.to_owned());
        ToolSpec::Freeform(FreeformSpec { name, description, grammar: L::GRAMMAR })
    }

    fn parse_payload(
        payload: &ToolPayload,
        schema: &JsonSchema,
        _: &[(&str, &str)],
    ) -> Result<Self, BadArguments> {
        let text = match payload {
            ToolPayload::Custom { input } => input.clone(),
            ToolPayload::Function { .. } | ToolPayload::Mcp { .. } | ToolPayload::LocalShell(_) => {
                <WrappedText as Args>::parse_payload(payload, schema, &[])?.input
            }
        };
        Ok(Self { text, language: PhantomData })
    }
}

/// Parses `text` as JSON and validates it against `schema`.
pub(crate) fn parse_and_validate(
    text: &str,
    schema: &JsonSchema,
    aliases: &[(&str, &str)],
) -> Result<Value, BadArguments> {
    let mut value = parse_json(text)?;
    rename_aliases(&mut value, aliases, schema)?;
    drop_nulls(&mut value, schema);
    schema.validate(&value)?;
    Ok(value)
}

/// Parses `text` as JSON. Empty text means no arguments: some models send it for a call without any.
fn parse_json(text: &str) -> Result<Value, BadArguments> {
    if text.len() > MAX_ARGUMENT_BYTES {
        return Err(BadArguments::TooLong { bytes: text.len(), limit: MAX_ARGUMENT_BYTES });
    }
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let parsed = serde_json::from_str(text).or_else(|error| {
        let mended = replace_lone_surrogates(text).and_then(|mended| serde_json::from_str(&mended).ok());
        mended.ok_or(error)
    });
    parsed.map_err(|error| {
        let why = error.to_string();
        // The parser appends its own "at line … column …", which the message already contains.
        let why = why.split(" at line ").next().unwrap_or_default().to_owned();
        BadArguments::NotJson { line: error.line(), column: error.column(), why }
    })
}

/// Removes optional properties that are `null`, and unknown `null` properties of a closed object: both mean "absent".
/// Strict schemas make models write `null`, and models send it for fields of other products.
fn drop_nulls(value: &mut Value, schema: &JsonSchema) {
    match value {
        Value::Object(map) => {
            let Some(object) = &schema.object else { return };
            map.retain(|name, value| match object.properties.contains_key(name) {
                _ if !value.is_null() => true,
                true => object.required.contains(name),
                false => object.additional != AdditionalProperties::Forbidden,
            });
            for (name, value) in map {
                if let Some(schema) = object.properties.get(name) {
                    drop_nulls(value, schema);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            items.iter_mut().for_each(|item| drop_nulls(item, schema));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Converts `3.0` to `3`: JSON Schema accepts both as integers, serde only the second.
fn floats_to_integers(value: &mut Value) {
    const MAX_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0; // 2^53: below it every whole f64 is that integer
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64())
                && float.fract() == 0.0
                && float.abs() < MAX_EXACT_FLOAT
            {
                #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
                let whole = float as i64;
                *value = Value::from(whole);
            }
        }
        Value::Object(map) => map.values_mut().for_each(floats_to_integers),
        Value::Array(items) => items.iter_mut().for_each(floats_to_integers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[derive(Debug, Deserialize, Derive, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct SampleArgs {
        /// A path.
        path: String,
        /// A line.
        #[serde(default)]
        line: Option<u32>,
        /// Parts.
        #[serde(default)]
        parts: Vec<SamplePart>,
    }

    #[derive(Debug, Deserialize, Derive, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct SamplePart {
        /// Its name.
        name: String,
        /// Its size.
        size: Option<u8>,
    }

    const ALIASES: &[(&str, &str)] =
        &[("file_path", "path"), ("row", "line"), ("pieces", "parts"), ("parts[].title", "name")];

    fn read(arguments: &str) -> Result<SampleArgs, BadArguments> {
        let payload = ToolPayload::Function { arguments: arguments.to_owned() };
        SampleArgs::parse_payload(&payload, &SampleArgs::schema(), ALIASES)
    }

    #[test]
    fn other_spellings_nulls_and_whole_floats_are_read() {
        let sample =
            read(r#"{"file_path": "a", "line": 3.0, "parts": [{"title": "x", "size": null}]}"#).unwrap();
        let parts = vec![SamplePart { name: "x".into(), size: None }];
        assert_eq!(sample, SampleArgs { path: "a".into(), line: Some(3), parts });
        assert_eq!(read(r#"{"path": "a", "line": null}"#).unwrap().line, None);
    }

    #[test]
    fn every_misfit_has_a_path_and_a_sentence() {
        let say = |text: &str| read(text).unwrap_err().to_string();
        assert_snapshot!(say(""), @"the arguments do not fit at `path`: expected a string, found nothing");
        assert_snapshot!(say("{"), @"the arguments are not JSON at line 1, column 1: EOF while parsing an object");
        assert_snapshot!(say("[]"), @"the arguments do not fit: expected an object, found an array");
        assert_snapshot!(say(r#"{"path": 3}"#), @"the arguments do not fit at `path`: expected a string, found a number");
        assert_snapshot!(say(r#"{"path": "a", "line": -1}"#), @"the arguments do not fit at `line`: expected an integer of at least 0, found -1");
        assert_snapshot!(say(r#"{"path": "a", "parts": [{"name": "x"}, {}]}"#), @"the arguments do not fit at `parts[1].name`: expected a string, found nothing");
        assert_snapshot!(say(r#"{"path": "a", "lime": 1}"#), @"the arguments do not fit at `lime`: expected no property of this name (did you mean `line`?), found a number");
        assert_snapshot!(say(r#"{"path": "a", "parts": [{"name": "x", "size": 300}]}"#), @"the arguments do not fit at `parts[0].size`: expected an integer of at least 0 and at most 255, found 300");
    }

    #[test]
    fn two_spellings_of_an_argument_have_to_agree() {
        assert_eq!(read(r#"{"path": "a", "file_path": "a"}"#).unwrap().path, "a");
        assert_eq!(read(r#"{"path": "a", "file_path": null}"#).unwrap().path, "a");
        let differing = read(r#"{"path": "a", "file_path": "b"}"#).unwrap_err().to_string();
        assert_snapshot!(differing, @"the arguments do not fit at `file_path`: `file_path` and `path` are the same argument and differ: give one of them");
    }

    #[test]
    fn a_null_counts_as_left_out_beside_another_spelling() {
        let nothing_else = SampleArgs { path: "a".into(), line: None, parts: Vec::new() };
        assert_eq!(read(r#"{"path": null, "file_path": "a"}"#).unwrap(), nothing_else);
        assert_eq!(read(r#"{"path": "a", "row": 3, "line": null}"#).unwrap().line, Some(3));
        assert_eq!(read(r#"{"path": "a", "row": null, "line": 3}"#).unwrap().line, Some(3));
        assert_eq!(read(r#"{"path": "a", "row": null, "line": null}"#).unwrap(), nothing_else);
        let part = |text: &str| read(&format!(r#"{{"path": "a", "parts": [{text}]}}"#));
        for text in [r#"{"title": "x", "name": null}"#, r#"{"title": null, "name": "x"}"#] {
            assert_eq!(part(text).unwrap().parts, [SamplePart { name: "x".into(), size: None }], "{text}");
        }
        assert_eq!(part(r#"{"title": "x", "name": "x"}"#).unwrap().parts.len(), 1);
        let differing = part(r#"{"title": "x", "name": "y"}"#).unwrap_err().to_string();
        assert_snapshot!(differing, @"the arguments do not fit at `parts[0].title`: `title` and `name` are the same argument and differ: give one of them");
    }

    #[test]
    fn a_fault_names_the_argument_as_it_was_sent() {
        let at = |text: &str| match read(text).unwrap_err() {
            BadArguments::SchemaViolation(misfit) => misfit.path,
            other => panic!("{other}"),
        };
        assert_eq!(at(r#"{"file_path": 7}"#), "file_path");
        assert_eq!(at(r#"{"file_path": null}"#), "file_path");
        assert_eq!(at(r#"{"path": null, "file_path": 7}"#), "file_path");
        assert_eq!(at(r#"{"path": 7, "file_path": null}"#), "path");
        assert_eq!(at(r#"{"path": "a", "row": "5"}"#), "row");
        assert_eq!(at(r#"{"row": 5}"#), "path");
        assert_eq!(at(r#"{"path": "a", "pieces": 5}"#), "pieces");
        assert_eq!(at(r#"{"path": "a", "pieces": [{"name": "x"}, {"title": 5}]}"#), "pieces[1].title");
        assert_eq!(at(r#"{"path": "a", "parts": [{"title": "x"}, {"name": 5}]}"#), "parts[1].name");
        assert_eq!(at(r#"{"path": "a", "pieces": [{"title": "x", "size": 300}]}"#), "pieces[0].size");
    }

    #[test]
    fn an_unknown_argument_that_is_null_is_dropped() {
        let read = read(r#"{"path": "a", "mode": null, "parts": [{"name": "x", "kind": null}]}"#).unwrap();
        assert_eq!(read.parts, [SamplePart { name: "x".into(), size: None }]);
        let open = JsonSchema::from_foreign(&serde_json::json!({"type": "object"}), usize::MAX).unwrap();
        let kept = parse_and_validate(r#"{"anything": null}"#, &open, &[]).unwrap();
        assert_eq!(kept, serde_json::json!({"anything": null}), "an open object may give null a meaning");
    }

    #[test]
    fn too_many_bytes_are_not_parsed() {
        let long = format!(r#"{{"path": "{}"}}"#, "x".repeat(MAX_ARGUMENT_BYTES));
        assert!(matches!(read(&long), Err(BadArguments::TooLong { .. })));
    }
}

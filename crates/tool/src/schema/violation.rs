//! Describes a schema violation in words that let a model correct it.

use serde_json::Value;

use super::{JsonSchema, JsonType, LengthBounds, NumericBounds, ObjectSchema};
use crate::sanitize_text::sanitize_text;

/// Characters of a value or name in the message.
const MAX_SHOWN_CHARS: usize = 40;
/// Names or choices in a list.
const MAX_LISTED_ITEMS: usize = 20;
/// Bytes of an unknown name that is compared with the known ones.
const MAX_COMPARED_BYTES: usize = 128;
/// The minimum similarity of a suggested name.
const MIN_SIMILARITY: f64 = 0.75;

/// The location and nature of a schema violation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the arguments do not fit{}: expected {expected}, found {found}", at(.path))]
pub struct SchemaViolation {
    /// The location, e.g. `steps[2].status`; empty for the root.
    pub path: String,
    /// The expected value, e.g. `a string`.
    pub expected: String,
    /// The actual value, e.g. `a number`.
    pub found: String,
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at `{path}`") }
}

/// A violation at one location.
#[derive(Clone, Copy)]
pub(super) enum ViolationKind<'a> {
    /// The value has another type.
    WrongType(&'a JsonSchema, &'a Value),
    /// The value is none of the choices, or out of bounds.
    WrongValue(&'a JsonSchema, &'a Value),
    /// The text or the array is too short or too long.
    WrongLength(&'a JsonSchema, &'a Value),
    /// A required property with this schema is missing.
    MissingProperty(Option<&'a JsonSchema>),
    /// A closed object has an unknown property with this name and value.
    UnknownProperty(&'a str, &'a ObjectSchema, &'a Value),
    /// The value must match exactly one of this many forms and matches several.
    SeveralBranchesMatch(usize, &'a Value),
    /// The value matches none of this many forms.
    NoBranchMatches(usize, &'a Value),
    /// The value is nested too deeply, or the schema refers to itself endlessly.
    TooDeep(&'a Value),
    /// Validation needs more steps than allowed.
    TooComplex(&'a Value),
}

impl ViolationKind<'_> {
    /// Describes the violation at `path`.
    pub(super) fn at_path(self, path: String) -> SchemaViolation {
        let (expected, found) = match self {
            Self::WrongType(schema, value)
                if value.is_number() && schema.types.contains(&JsonType::Integer) =>
            {
                (describe_expected(schema), format_value(value))
            }
            Self::WrongType(schema, value) => (describe_expected(schema), describe_type_of(value)),
            Self::WrongValue(schema, value) => (describe_expected(schema), format_value(value)),
            Self::WrongLength(schema, value) => (describe_expected(schema), describe_size(value)),
            Self::MissingProperty(schema) => {
                (schema.map_or_else(|| "a value".to_owned(), describe_expected), "nothing".to_owned())
            }
            Self::UnknownProperty(name, object, value) => {
                (describe_unknown_property(name, object), describe_type_of(value))
            }
            Self::SeveralBranchesMatch(forms, value) => (
                format!("exactly one of {forms} forms"),
                format!("{} that fits several", describe_type_of(value)),
            ),
            Self::NoBranchMatches(forms, value) => (format!("one of {forms} forms"), format_value(value)),
            Self::TooDeep(value) => {
                ("a value that is not nested so deeply".to_owned(), describe_type_of(value))
            }
            Self::TooComplex(value) => {
                ("a value that is simpler to check".to_owned(), describe_type_of(value))
            }
        };
        SchemaViolation { path, expected, found }
    }
}

/// Appends one segment to a path.
pub(super) fn push_path_segment(path: &mut String, name: &str) {
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '$');
    if !name.is_empty() && name.chars().count() <= MAX_SHOWN_CHARS && name.chars().all(plain) {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
    } else {
        path.push_str(&format!("[{:?}]", sanitize_text(name, MAX_SHOWN_CHARS)));
    }
}

fn describe_expected(schema: &JsonSchema) -> String {
    if let Some(choices) = &schema.values.choices {
        let listed = join_limited(choices.iter().map(|choice| match choice {
            Value::String(word) => quote(word),
            other => format_value(other),
        }));
        return if choices.len() == 1 { listed } else { format!("one of {listed}") };
    }
    // Null is last in the order of types, and no limit applies to it.
    let (types, or_null) = match schema.types.as_slice() {
        [types @ .., JsonType::Null] if !types.is_empty() => (types, " or null"),
        types => (types, ""),
    };
    let types: Vec<&str> = types.iter().map(|&wanted| type_with_article(wanted)).collect();
    let types = if types.is_empty() { "a value".to_owned() } else { types.join(" or ") };
    let limits = describe_limits(&schema.values.bounds, &schema.values.lengths);
    let limits = if limits.is_empty() { String::new() } else { format!(" of {}", limits.join(" and ")) };
    format!("{types}{limits}{or_null}")
}

fn describe_limits(bounds: &NumericBounds, lengths: &LengthBounds) -> Vec<String> {
    let NumericBounds { minimum, maximum, exclusive_minimum, exclusive_maximum } = bounds;
    let LengthBounds { min_length, max_length, min_items, max_items } = lengths;
    let number =
        |word: &str, limit: &Option<serde_json::Number>| limit.as_ref().map(|n| format!("{word} {n}"));
    let count = |word: &str, limit: &Option<u64>, unit: &str| {
        limit.map(|n| format!("{word} {n} {unit}{}", if n == 1 { "" } else { "s" }))
    };
    let limits = [
        number("at least", minimum),
        number("more than", exclusive_minimum),
        number("at most", maximum),
        number("less than", exclusive_maximum),
        count("at least", min_length, "character"),
        count("at most", max_length, "character"),
        count("at least", min_items, "item"),
        count("at most", max_items, "item"),
    ];
    limits.into_iter().flatten().collect()
}

fn describe_unknown_property(name: &str, object: &ObjectSchema) -> String {
    let known = object.properties.keys();
    // A name this long is no typo, and comparing it is not free.
    let nearest = known
        .clone()
        .filter(|_| name.len() <= MAX_COMPARED_BYTES)
        .map(|known| (strsim::jaro_winkler(name, known), known));
    let nearest =
        nearest.filter(|(alike, _)| *alike >= MIN_SIMILARITY).max_by(|(a, _), (b, _)| a.total_cmp(b));
    let hint = match nearest {
        Some((_, nearest)) => format!("did you mean {}?", quote(nearest)),
        None if object.properties.is_empty() => "none is known".to_owned(),
        None => format!("known: {}", join_limited(known.map(|known| quote(known)))),
    };
    format!("no property of this name ({hint})")
}

fn join_limited(items: impl ExactSizeIterator<Item = String>) -> String {
    let more = items.len().saturating_sub(MAX_LISTED_ITEMS);
    let listed = items.take(MAX_LISTED_ITEMS).collect::<Vec<_>>().join(", ");
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}

fn quote(text: &str) -> String {
    format!("`{}`", sanitize_text(text, MAX_SHOWN_CHARS))
}

/// Formats a scalar as its value and a container as its size, since its text may be long.
fn format_value(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => describe_size(value),
    }
}

fn describe_size(value: &Value) -> String {
    let count = |what: &str, count: usize, unit: &str| {
        format!("{what} of {count} {unit}{}", if count == 1 { "" } else { "s" })
    };
    match value {
        Value::String(text) => count("a string", text.chars().count(), "character"),
        Value::Array(items) => count("an array", items.len(), "item"),
        Value::Object(map) if map.is_empty() => "an empty object".to_owned(),
        Value::Object(map) => format!("an object with {}", join_limited(map.keys().map(|name| quote(name)))),
        Value::Null | Value::Bool(_) | Value::Number(_) => format_value(value),
    }
}

/// Names the type of a value. Integers count as numbers here; only a schema distinguishes them.
fn describe_type_of(value: &Value) -> String {
    let kind = if value.is_number() {
        type_with_article(JsonType::Number)
    } else {
        type_with_article(JsonType::of_value(value))
    };
    kind.to_owned()
}

/// Names a type with its article.
fn type_with_article(kind: JsonType) -> &'static str {
    match kind {
        JsonType::String => "a string",
        JsonType::Number => "a number",
        JsonType::Integer => "an integer",
        JsonType::Boolean => "a boolean",
        JsonType::Object => "an object",
        JsonType::Array => "an array",
        JsonType::Null => "null",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::JsonSchema;

    fn validation_message(schema: &Value, instance: &Value) -> String {
        let schema = JsonSchema::from_foreign(schema, usize::MAX).unwrap();
        schema.validate(instance).map_or_else(|misfit| misfit.to_string(), |()| "fits".to_owned())
    }

    #[test]
    fn misfits_say_where_and_what() {
        let schema = json!({
            "type": "object",
            "properties": {
                "command": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                "line": {"type": "integer", "minimum": 1},
                "ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                "name": {"type": ["string", "null"], "maxLength": 3},
                "steps": {"type": "array", "items": {
                    "type": "object", "properties": {"status": {"enum": ["pending", "in_progress"]}}, "required": ["status"],
                }},
                "to": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "part": {"anyOf": [
                    {"type": "object", "properties": {"kind": {"const": "text"}, "text": {"type": "string"}}, "required": ["kind", "text"]},
                    {"type": "object", "properties": {"kind": {"const": "image"}, "url": {"type": "string"}}, "required": ["kind", "url"]},
                ]},
                "odd name": {"type": "string"},
            },
            "required": ["command"],
            "additionalProperties": false,
        });
        let with = |name: &str, value: Value| json!({"command": ["ls"], name: value});
        let told: Vec<String> = [
            json!({"command": ["ls", "-la"], "line": 3.0, "name": null, "to": 1}),
            json!([]),
            json!({"command": [1]}),
            json!({"command": []}),
            json!({}),
            json!({"comand": ["ls"]}),
            with("frobnicate", json!(1)),
            with("line", json!(0)),
            with("line", json!(1.5)),
            with("line", json!("1")),
            with("ratio", json!(0)),
            with("name", json!("long")),
            with("steps", json!([{"status": "pending"}, {"status": "done"}])),
            with("steps", json!([{}])),
            with("to", json!(true)),
            with("part", json!({"kind": "image", "text": "x"})),
            with("part", json!({"kind": "sound"})),
            with("odd name", json!(1)),
        ]
        .iter()
        .map(|instance| self::validation_message(&schema, instance))
        .collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        fits
        the arguments do not fit: expected an object, found an array
        the arguments do not fit at `command[0]`: expected a string, found a number
        the arguments do not fit at `command`: expected an array of at least 1 item, found an array of 0 items
        the arguments do not fit at `command`: expected an array of at least 1 item, found nothing
        the arguments do not fit at `comand`: expected no property of this name (did you mean `command`?), found an array
        the arguments do not fit at `frobnicate`: expected no property of this name (known: `command`, `line`, `name`, `odd name`, `part`, `ratio`, `steps`, `to`), found a number
        the arguments do not fit at `line`: expected an integer of at least 1, found 0
        the arguments do not fit at `line`: expected an integer of at least 1, found 1.5
        the arguments do not fit at `line`: expected an integer of at least 1, found a string
        the arguments do not fit at `ratio`: expected a number of more than 0 and at most 1, found 0
        the arguments do not fit at `name`: expected a string of at most 3 characters or null, found a string of 4 characters
        the arguments do not fit at `steps[1].status`: expected one of `pending`, `in_progress`, found `done`
        the arguments do not fit at `steps[0].status`: expected one of `pending`, `in_progress`, found nothing
        the arguments do not fit at `to`: expected a string or an integer, found a boolean
        the arguments do not fit at `part.url`: expected a string, found nothing
        the arguments do not fit at `part.kind`: expected `text` or `image`, found `sound`
        the arguments do not fit at `["odd name"]`: expected a string, found a number
        "#);
    }
}

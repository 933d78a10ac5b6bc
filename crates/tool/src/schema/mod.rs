//! The JSON Schema subset for tool arguments: one type to derive, sanitize, compact, emit and validate.

mod compact;
mod derive;
mod emit;
mod json_compare;
mod json_pointer;
mod keywords;
mod normalize;
mod parse;
mod ref_cleanup;
mod root_merge;
mod sanitize;
mod strict;
mod validate;
mod violation;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Number, Value};

pub use sanitize::SchemaFault;
pub use strict::StrictFault;
pub use violation::SchemaViolation;

/// A JSON Schema in the subset that every model API supports; the default accepts anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonSchema {
    /// The accepted types, sorted and without duplicates; empty accepts every type.
    pub types: Vec<JsonType>,
    /// Annotations for the model.
    pub notes: SchemaNotes,
    /// Constraints on scalars and lengths.
    pub values: ValueConstraints,
    /// The schema of every array element.
    pub items: Option<Box<JsonSchema>>,
    /// The properties of an object.
    pub object: Option<Box<ObjectSchema>>,
    /// `anyOf`, `oneOf` and `allOf`.
    pub combined: SchemaComposition,
    /// `$ref`: `#` or `#/$defs/<name>`.
    pub reference: Option<String>,
    /// `$defs`, only meaningful at the root.
    pub defs: BTreeMap<String, JsonSchema>,
}

/// A JSON type by its schema name, in the order in which a union lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JsonType {
    /// `string`
    String,
    /// `number`
    Number,
    /// `integer`
    Integer,
    /// `boolean`
    Boolean,
    /// `object`
    Object,
    /// `array`
    Array,
    /// `null`
    Null,
}

/// Annotations for the model; they constrain nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchemaNotes {
    /// `description`
    pub description: Option<String>,
    /// `default`; `Some(Value::Null)` is an explicit null.
    pub default: Option<Value>,
}

/// Constraints on a scalar, a text length or an item count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ValueConstraints {
    /// `enum`
    pub choices: Option<Vec<Value>>,
    /// `format`, an annotation that is never validated.
    pub format: Option<String>,
    /// The numeric bounds.
    pub bounds: NumericBounds,
    /// The length bounds.
    pub lengths: LengthBounds,
}

/// The numeric bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NumericBounds {
    /// `minimum`
    pub minimum: Option<Number>,
    /// `maximum`
    pub maximum: Option<Number>,
    /// `exclusiveMinimum`
    pub exclusive_minimum: Option<Number>,
    /// `exclusiveMaximum`
    pub exclusive_maximum: Option<Number>,
}

/// The length bounds of strings (in characters) and arrays (in items).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LengthBounds {
    /// `minLength`
    pub min_length: Option<u64>,
    /// `maxLength`
    pub max_length: Option<u64>,
    /// `minItems`
    pub min_items: Option<u64>,
    /// `maxItems`
    pub max_items: Option<u64>,
}

/// The properties of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectSchema {
    /// `properties`
    pub properties: BTreeMap<String, JsonSchema>,
    /// `required`
    pub required: BTreeSet<String>,
    /// `additionalProperties`
    pub additional: AdditionalProperties,
}

/// The rule for properties that `properties` does not name.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AdditionalProperties {
    /// Any property is allowed; the keyword is not written.
    #[default]
    Any,
    /// No other property is allowed.
    Forbidden,
    /// Each other property must match this schema.
    Schema(Box<JsonSchema>),
}

/// The composition keywords; an empty list is an absent keyword.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchemaComposition {
    /// `anyOf`
    pub any_of: Vec<JsonSchema>,
    /// `oneOf`
    pub one_of: Vec<JsonSchema>,
    /// `allOf`
    pub all_of: Vec<JsonSchema>,
}

impl JsonSchema {
    /// Creates a schema that accepts any value of one type.
    pub fn of_type(kind: JsonType) -> Self {
        let object = (kind == JsonType::Object).then(Box::default);
        let items = (kind == JsonType::Array).then(Box::default);
        Self { types: vec![kind], object, items, ..Self::default() }
    }

    /// Creates the schema of an object without members.
    pub fn empty_object() -> Self {
        let object = ObjectSchema { additional: AdditionalProperties::Forbidden, ..ObjectSchema::default() };
        Self { types: vec![JsonType::Object], object: Some(Box::new(object)), ..Self::default() }
    }

    /// Derives the schema of the JSON that `T` is deserialized from, worded for a model.
    ///
    /// ```
    /// #[derive(schemars::JsonSchema)]
    /// struct Args {
    ///     /// File to read, e.g. `src/lib.rs`.
    ///     path: String,
    /// }
    /// let schema = toolgate_tool::JsonSchema::for_type::<Args>();
    /// assert!(schema.validate(&serde_json::json!({"path": "a"})).is_ok());
    /// ```
    pub fn for_type<T: schemars::JsonSchema>() -> Self {
        derive::derive_schema::<T>()
    }

    /// Sanitizes a foreign schema to at most `budget` bytes of compact JSON. Hostile and unknown parts are loosened.
    ///
    /// # Errors
    /// If the root cannot describe an object.
    pub fn from_foreign(value: &Value, budget: usize) -> Result<Self, SchemaFault> {
        sanitize::sanitize_schema(value, budget)
    }

    /// Requires every property (optional ones become nullable) and closes every object.
    #[must_use]
    pub fn to_strict(&self) -> Self {
        strict::make_strict(self)
    }

    /// Checks that the schema has the form that [`JsonSchema::to_strict`] produces.
    ///
    /// # Errors
    /// The first object that is open or has an optional property.
    pub fn check_strict(&self) -> Result<(), StrictFault> {
        strict::check_strict(self)
    }

    /// Turns `integer` into `number` everywhere, for a model API without integers.
    #[must_use]
    pub fn fold_integers(&self) -> Self {
        strict::fold_integers(self)
    }

    /// Drops minimums of 0 and 1: for a model whose provider does not enforce the schema.
    #[must_use]
    pub fn to_terse(&self) -> Self {
        strict::drop_small_minimums(self)
    }

    /// Validates `instance` against the schema.
    ///
    /// # Errors
    /// The first violation.
    pub fn validate(&self, instance: &Value) -> Result<(), SchemaViolation> {
        validate::validate(self, instance)
    }

    /// Returns true if the schema accepts every value; annotations do not matter.
    pub fn is_any(&self) -> bool {
        self.types.is_empty()
            && self.values == ValueConstraints::default()
            && self.items.is_none()
            && self.object.is_none()
            && self.combined == SchemaComposition::default()
            && self.reference.is_none()
    }

    /// Iterates over the direct subschemas, without `$defs`.
    fn children_mut(&mut self) -> impl Iterator<Item = &mut JsonSchema> {
        let object = self.object.as_deref_mut().map(|object| {
            let additional = match &mut object.additional {
                AdditionalProperties::Schema(schema) => Some(&mut **schema),
                AdditionalProperties::Any | AdditionalProperties::Forbidden => None,
            };
            object.properties.values_mut().chain(additional)
        });
        let combined = &mut self.combined;
        self.items
            .as_deref_mut()
            .into_iter()
            .chain(object.into_iter().flatten())
            .chain(&mut combined.any_of)
            .chain(&mut combined.one_of)
            .chain(&mut combined.all_of)
    }

    /// Iterates over the direct subschemas, without `$defs`.
    fn children(&self) -> impl Iterator<Item = &JsonSchema> {
        let object = self.object.as_deref().map(|object| {
            let additional = match &object.additional {
                AdditionalProperties::Schema(schema) => Some(&**schema),
                AdditionalProperties::Any | AdditionalProperties::Forbidden => None,
            };
            object.properties.values().chain(additional)
        });
        let combined = &self.combined;
        self.items
            .as_deref()
            .into_iter()
            .chain(object.into_iter().flatten())
            .chain(&combined.any_of)
            .chain(&combined.one_of)
            .chain(&combined.all_of)
    }
}

impl JsonType {
    const ALL: [Self; 7] =
        [Self::String, Self::Number, Self::Integer, Self::Boolean, Self::Object, Self::Array, Self::Null];

    /// Returns the type's name in a schema.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::Array => "array",
            Self::Null => "null",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the narrowest type of a value.
    pub fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

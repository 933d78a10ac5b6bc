//! Validates a value against a schema: allocates only for an error, and terminates for any schema.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::json_compare::{compare_numbers, is_integral, json_equal};
use super::violation::{SchemaViolation, ViolationKind, push_path_segment};
use super::{AdditionalProperties, JsonSchema, JsonType, LengthBounds, ObjectSchema, SchemaComposition};

/// The deepest nesting of values, references and compositions that is followed.
const MAX_LEVEL: usize = 128;
/// The most comparisons in one validation. Ordinary arguments take hundreds; a hostile schema can ask for 2^n.
const MAX_STEPS: usize = 1_000_000;
/// The most different expectations of a choice's branches that are listed one by one.
const MAX_LISTED_EXPECTATIONS: usize = 4;

/// Validates `instance`; `#` and `#/$defs/..` refer to `schema`.
pub(super) fn validate(schema: &JsonSchema, instance: &Value) -> Result<(), SchemaViolation> {
    let validator = SchemaValidator { root: schema, steps: Cell::new(MAX_STEPS) };
    let root = InstanceLocation { parent: None, key: LocationKey::SameLocation, level: 0 };
    validator.check_schema::<LocatedViolation>(schema, instance, &root).map_err(|found| found.violation)
}

/// A location in the instance, as a linked list from the leaf up. The list lives on the stack and is formatted only for
/// an error.
struct InstanceLocation<'a> {
    parent: Option<&'a InstanceLocation<'a>>,
    key: LocationKey<'a>,
    level: usize,
}

/// The last segment of a location.
enum LocationKey<'a> {
    /// The parent's own location: a reference or a branch.
    SameLocation,
    Name(&'a str),
    Index(usize),
}

impl<'a> InstanceLocation<'a> {
    fn child(&'a self, key: LocationKey<'a>) -> InstanceLocation<'a> {
        InstanceLocation { parent: Some(self), key, level: self.level + 1 }
    }

    /// Formats the path and counts its keys.
    fn path(&self) -> (String, usize) {
        let (mut path, depth) = self.parent.map_or_else(Default::default, InstanceLocation::path);
        match self.key {
            LocationKey::SameLocation => return (path, depth),
            LocationKey::Name(name) => push_path_segment(&mut path, name),
            LocationKey::Index(index) => path.push_str(&format!("[{index}]")),
        }
        (path, depth + 1)
    }
}

/// The result of a failed check: nothing if only success matters, a [`LocatedViolation`] if the error is reported.
trait CheckFailure: Sized {
    fn from_violation(problem: ViolationKind<'_>, step: &InstanceLocation<'_>) -> Self;
    fn from_failed_branches(
        check: &SchemaValidator<'_>,
        branches: &[JsonSchema],
        value: &Value,
        step: &InstanceLocation<'_>,
    ) -> Self;
}

impl CheckFailure for () {
    fn from_violation(_: ViolationKind<'_>, _: &InstanceLocation<'_>) {}
    fn from_failed_branches(_: &SchemaValidator<'_>, _: &[JsonSchema], _: &Value, _: &InstanceLocation<'_>) {}
}

/// A violation and the depth of its location.
struct LocatedViolation {
    violation: SchemaViolation,
    depth: usize,
}

impl CheckFailure for LocatedViolation {
    fn from_violation(problem: ViolationKind<'_>, location: &InstanceLocation<'_>) -> Self {
        let (path, depth) = location.path();
        Self { violation: problem.at_path(path), depth }
    }

    /// Reports the expectation of the nearest branch: the one whose tag matches, else the branches that got deepest.
    fn from_failed_branches(
        validator: &SchemaValidator<'_>,
        branches: &[JsonSchema],
        value: &Value,
        location: &InstanceLocation<'_>,
    ) -> Self {
        let explain = |branch| validator.check_schema::<LocatedViolation>(branch, value, location).err();
        let mut tagged = branches.iter().filter(|branch| validator.tag_matches(branch, value));
        if let (Some(branch), None) = (tagged.next(), tagged.next())
            && let Some(found) = explain(branch)
        {
            return found;
        }
        let mut all: Vec<LocatedViolation> = branches.iter().filter_map(explain).collect();
        let deepest = all.iter().map(|found| found.depth).max().unwrap_or_default();
        all.retain(|found| found.depth == deepest);
        if all.is_empty() {
            return Self::from_violation(ViolationKind::NoBranchMatches(branches.len(), value), location);
        }
        let mut nearest = all.swap_remove(0);
        if all.iter().any(|found| found.violation.path != nearest.violation.path) {
            return nearest;
        }
        let mut expectations = vec![nearest.violation.expected.clone()];
        for found in all {
            if !expectations.contains(&found.violation.expected) {
                expectations.push(found.violation.expected);
            }
        }
        nearest.violation.expected = match expectations.len() {
            1..=MAX_LISTED_EXPECTATIONS => expectations.join(" or "),
            _ => format!("one of {} forms", branches.len()),
        };
        nearest
    }
}

/// The state of a validation: the root schema and the remaining steps.
struct SchemaValidator<'a> {
    root: &'a JsonSchema,
    steps: Cell<usize>,
}

impl SchemaValidator<'_> {
    fn check_schema<V: CheckFailure>(
        &self,
        schema: &JsonSchema,
        value: &Value,
        location: &InstanceLocation<'_>,
    ) -> Result<(), V> {
        if location.level > MAX_LEVEL {
            return Err(V::from_violation(ViolationKind::TooDeep(value), location));
        }
        let choices = schema.values.choices.as_deref().unwrap_or_default();
        let required = schema.object.as_ref().map_or(0, |object| object.required.len());
        let Some(steps) = self.steps.get().checked_sub(1 + choices.len() + required) else {
            self.steps.set(0);
            return Err(V::from_violation(ViolationKind::TooComplex(value), location));
        };
        self.steps.set(steps);
        if !schema.types.is_empty() && !schema.types.iter().any(|&kind| is_of_type(value, kind)) {
            return Err(V::from_violation(ViolationKind::WrongType(schema, value), location));
        }
        if schema.values.choices.is_some() && !choices.iter().any(|choice| json_equal(choice, value)) {
            return Err(V::from_violation(ViolationKind::WrongValue(schema, value), location));
        }
        match value {
            Value::Number(_) if !in_bounds(schema, value) => {
                Err(V::from_violation(ViolationKind::WrongValue(schema, value), location))
            }
            Value::String(text) if !fits_length(&schema.values.lengths, text) => {
                Err(V::from_violation(ViolationKind::WrongLength(schema, value), location))
            }
            Value::Array(items) => self.check_array(schema, value, items, location),
            Value::Object(map) => {
                schema.object.as_ref().map_or(Ok(()), |object| self.check_object(object, map, location))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }?;
        self.check_composition(schema, value, &location.child(LocationKey::SameLocation))
    }

    fn check_array<V: CheckFailure>(
        &self,
        schema: &JsonSchema,
        value: &Value,
        items: &[Value],
        location: &InstanceLocation<'_>,
    ) -> Result<(), V> {
        if !is_within(items.len() as u64, schema.values.lengths.min_items, schema.values.lengths.max_items) {
            return Err(V::from_violation(ViolationKind::WrongLength(schema, value), location));
        }
        let Some(each) = &schema.items else { return Ok(()) };
        for (index, item) in items.iter().enumerate() {
            self.check_schema::<V>(each, item, &location.child(LocationKey::Index(index)))?;
        }
        Ok(())
    }

    fn check_object<V: CheckFailure>(
        &self,
        object: &ObjectSchema,
        map: &Map<String, Value>,
        location: &InstanceLocation<'_>,
    ) -> Result<(), V> {
        // Unknown names first: a typo explains the missing property.
        for (name, value) in map {
            let schema = match (object.properties.get(name), &object.additional) {
                (Some(schema), _) => schema,
                (None, AdditionalProperties::Schema(schema)) => schema,
                (None, AdditionalProperties::Any) => continue,
                (None, AdditionalProperties::Forbidden) => {
                    return Err(V::from_violation(
                        ViolationKind::UnknownProperty(name, object, value),
                        &location.child(LocationKey::Name(name)),
                    ));
                }
            };
            self.check_schema::<V>(schema, value, &location.child(LocationKey::Name(name)))?;
        }
        match object.required.iter().find(|name| !map.contains_key(*name)) {
            Some(name) => {
                let missing = ViolationKind::MissingProperty(object.properties.get(name));
                Err(V::from_violation(missing, &location.child(LocationKey::Name(name))))
            }
            None => Ok(()),
        }
    }

    fn check_composition<V: CheckFailure>(
        &self,
        schema: &JsonSchema,
        value: &Value,
        location: &InstanceLocation<'_>,
    ) -> Result<(), V> {
        if let Some(target) = schema.reference.as_deref().and_then(|reference| self.root.resolve(reference)) {
            self.check_schema::<V>(target, value, location)?;
        }
        let SchemaComposition { any_of, one_of, all_of } = &schema.combined;
        for member in all_of {
            self.check_schema::<V>(member, value, location)?;
        }
        let fits = |branch: &&JsonSchema| self.check_schema::<()>(branch, value, location).is_ok();
        if !any_of.is_empty() && !any_of.iter().any(|branch| fits(&branch)) {
            return Err(V::from_failed_branches(self, any_of, value, location));
        }
        match one_of.iter().filter(fits).take(2).count() {
            0 if !one_of.is_empty() => Err(V::from_failed_branches(self, one_of, value, location)),
            0 | 1 => Ok(()),
            _ => Err(V::from_violation(ViolationKind::SeveralBranchesMatch(one_of.len(), value), location)),
        }
    }

    /// Returns true if a property that the branch fixes to one value has that value.
    fn tag_matches(&self, branch: &JsonSchema, value: &Value) -> bool {
        let target = branch.reference.as_deref().and_then(|reference| self.root.resolve(reference));
        let object = branch.object.as_deref().or_else(|| target?.object.as_deref());
        object.is_some_and(|object| {
            object.properties.iter().any(|(name, property)| match property.values.choices.as_deref() {
                Some([tag]) => value.get(name).is_some_and(|value| json_equal(tag, value)),
                Some(_) | None => false,
            })
        })
    }
}

fn is_of_type(value: &Value, kind: JsonType) -> bool {
    match kind {
        JsonType::String => value.is_string(),
        JsonType::Number => value.is_number(),
        JsonType::Integer => value.as_number().is_some_and(is_integral),
        JsonType::Boolean => value.is_boolean(),
        JsonType::Object => value.is_object(),
        JsonType::Array => value.is_array(),
        JsonType::Null => value.is_null(),
    }
}

fn in_bounds(schema: &JsonSchema, value: &Value) -> bool {
    let Some(number) = value.as_number() else { return true };
    let bounds = &schema.values.bounds;
    let holds = |limit: &Option<serde_json::Number>, fits: fn(std::cmp::Ordering) -> bool| {
        limit.as_ref().is_none_or(|limit| fits(compare_numbers(number, limit)))
    };
    holds(&bounds.minimum, std::cmp::Ordering::is_ge)
        && holds(&bounds.maximum, std::cmp::Ordering::is_le)
        && holds(&bounds.exclusive_minimum, std::cmp::Ordering::is_gt)
        && holds(&bounds.exclusive_maximum, std::cmp::Ordering::is_lt)
}

fn fits_length(lengths: &LengthBounds, text: &str) -> bool {
    let unbounded = lengths.min_length.is_none() && lengths.max_length.is_none();
    unbounded || is_within(text.chars().count() as u64, lengths.min_length, lengths.max_length)
}

fn is_within(count: u64, least: Option<u64>, most: Option<u64>) -> bool {
    least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_of_wants_exactly_one() {
        let mut schema = JsonSchema::default();
        schema.combined.one_of =
            vec![JsonSchema::of_type(JsonType::Number), JsonSchema::of_type(JsonType::Integer)];
        assert_eq!(schema.validate(&json!(1.5)), Ok(()));
        let misfit = schema.validate(&json!(1)).unwrap_err().to_string();
        assert_eq!(
            misfit,
            "the arguments do not fit: expected exactly one of 2 forms, found a number that fits several"
        );
    }

    #[test]
    fn cycles_and_doubling_end() {
        let mut cycle = JsonSchema { reference: Some("#".into()), ..JsonSchema::default() };
        assert!(cycle.validate(&json!(1)).is_err());
        cycle.reference = None;
        let here = JsonSchema { reference: Some("#".into()), ..JsonSchema::default() };
        cycle.combined.any_of = vec![here.clone(), here];
        assert!(cycle.validate(&json!(1)).is_err());
    }

    #[test]
    fn depth_of_data_is_bounded() {
        let list = JsonSchema {
            types: vec![JsonType::Array],
            items: Some(Box::new(JsonSchema { reference: Some("#".into()), ..JsonSchema::default() })),
            ..JsonSchema::default()
        };
        let nest = |depth| (0..depth).fold(json!([]), |inner, _| json!([inner]));
        assert_eq!(list.validate(&nest(60)), Ok(()));
        let misfit = list.validate(&nest(500)).unwrap_err();
        assert_eq!(misfit.expected, "a value that is not nested so deeply");
    }
}

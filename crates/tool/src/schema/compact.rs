//! Compacts a schema to a byte budget, in passes that drop the least useful parts first. Every pass loosens.

use std::io;

use super::parse::MAX_NODES;
use super::{AdditionalProperties, JsonSchema, JsonType, ObjectSchema, SchemaComposition, ref_cleanup};
use crate::sanitize_text::sanitize_text;

/// Characters of a description after the first pass.
const SHORT_DESCRIPTION_CHARS: usize = 200;
/// The most values and bytes of an `enum` that is kept.
const MAX_KEPT_CHOICES: usize = 32;
const MAX_KEPT_CHOICES_BYTES: usize = 1_024;

/// One compaction pass.
type CompactionPass = fn(&mut JsonSchema);

const PASSES: [CompactionPass; 9] = [
    |root| visit_all(root, 0, &mut |schema, _| shorten_description(schema)),
    |root| visit_all(root, 0, &mut |schema, depth| drop_description(schema, depth, 2)),
    |root| visit_all(root, 0, &mut |schema, depth| drop_description(schema, depth, 0)),
    |root| visit_all(root, 0, &mut |schema, _| drop_long_data(schema)),
    drop_references,
    |root| visit_all(root, 0, &mut |schema, depth| flatten(schema, depth, 3)),
    |root| visit_all(root, 0, &mut |schema, depth| flatten(schema, depth, 2)),
    |root| visit_all(root, 0, &mut |schema, _| schema.combined = SchemaComposition::default()),
    drop_property_schemas,
];

/// Runs passes until the compact JSON has at most `budget` bytes. The last resort is an open, empty object (33 bytes).
pub(super) fn compact_to_budget(mut schema: JsonSchema, budget: usize) -> JsonSchema {
    for pass in PASSES {
        if fits_budget(&schema, budget) {
            return schema;
        }
        pass(&mut schema);
        schema.normalize_all();
        ref_cleanup::prune_definitions(&mut schema);
    }
    if fits_budget(&schema, budget) { schema } else { JsonSchema::of_type(JsonType::Object) }
}

/// Also checks the number of schemas: more than the parser allows would be parsed differently the next time.
fn fits_budget(schema: &JsonSchema, budget: usize) -> bool {
    let mut nodes = 0;
    count_nodes(schema, &mut nodes);
    schema.defs.values().for_each(|schema| count_nodes(schema, &mut nodes));
    nodes <= MAX_NODES && fits_json_bytes(schema, budget)
}

fn count_nodes(schema: &JsonSchema, nodes: &mut usize) {
    *nodes += 1;
    schema.children().for_each(|child| count_nodes(child, nodes));
}

/// Returns true if the compact JSON has at most `limit` bytes; stops writing beyond that.
fn fits_json_bytes(value: &impl serde::Serialize, limit: usize) -> bool {
    /// A writer with a byte budget that fails once the budget is exceeded.
    struct BudgetWriter(usize);
    impl io::Write for BudgetWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    serde_json::to_writer(BudgetWriter(limit), value).is_ok()
}

/// Visits every schema with its depth, children first. The root has depth 0; a definition counts as two levels deep.
fn visit_all(schema: &mut JsonSchema, depth: usize, visit: &mut dyn FnMut(&mut JsonSchema, usize)) {
    schema.children_mut().for_each(|child| visit_all(child, depth + 1, visit));
    schema.defs.values_mut().for_each(|child| visit_all(child, depth + 2, visit));
    visit(schema, depth);
}

fn shorten_description(schema: &mut JsonSchema) {
    if let Some(text) = &mut schema.notes.description {
        *text = sanitize_text(text, SHORT_DESCRIPTION_CHARS);
    }
}

fn drop_description(schema: &mut JsonSchema, depth: usize, from: usize) {
    if depth >= from {
        schema.notes.description = None;
    }
}

fn drop_long_data(schema: &mut JsonSchema) {
    schema.notes.default = None;
    schema.values.choices.take_if(|choices| {
        choices.len() > MAX_KEPT_CHOICES || !fits_json_bytes(choices, MAX_KEPT_CHOICES_BYTES)
    });
}

fn drop_references(root: &mut JsonSchema) {
    visit_all(root, 0, &mut |schema, _| schema.reference = None);
    root.defs.clear();
}

/// Leaves only the type of a schema that contains other schemas.
fn flatten(schema: &mut JsonSchema, depth: usize, from: usize) {
    if depth >= from && schema.children().next().is_some() {
        *schema = JsonSchema { types: std::mem::take(&mut schema.types), ..JsonSchema::default() };
    }
}

fn drop_property_schemas(root: &mut JsonSchema) {
    if let Some(ObjectSchema { properties, additional, required: _ }) = root.object.as_deref_mut() {
        properties.values_mut().for_each(|schema| *schema = JsonSchema::default());
        if *additional != AdditionalProperties::Forbidden {
            *additional = AdditionalProperties::Any;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written(schema: &JsonSchema) -> usize {
        serde_json::to_string(schema).unwrap().len()
    }

    fn rich() -> Value {
        let long = "x".repeat(300);
        json!({
            "type": "object",
            "description": long,
            "properties": {
                "mode": {"type": "string", "description": "how", "enum": ["a", "b"], "default": "a"},
                "zone": {"enum": (0..40).collect::<Vec<_>>()},
                "tree": {"$ref": "#/$defs/node"},
                "deep": {
                    "type": "object",
                    "description": "first level",
                    "properties": {"list": {
                        "type": "array",
                        "description": "second level",
                        "items": {"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
                    }},
                },
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            },
            "required": ["mode"],
            "$defs": {"node": {"type": "object", "description": "a node", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        })
    }

    #[test]
    fn passes_take_the_least_useful_first() {
        let full = JsonSchema::from_foreign(&rich(), usize::MAX).unwrap();
        let mut steps = Vec::new();
        let mut schema = full.clone();
        // ends: every step is smaller than the one before
        while written(&schema) > 33 {
            schema = compact_to_budget(full.clone(), written(&schema) - 1);
            let text = serde_json::to_string(&schema).unwrap();
            steps.push(text.replace(&"x".repeat(199), "x*"));
        }
        insta::assert_snapshot!(steps.join("\n"), @r##"
        {"type":"object","description":"x*…","properties":{"deep":{"type":"object","description":"first level","properties":{"list":{"type":"array","description":"second level","items":{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}}},"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},"mode":{"type":"string","description":"how","enum":["a","b"],"default":"a"},"tree":{"$ref":"#/$defs/node"},"zone":{"type":"integer","enum":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39]}},"required":["mode"],"$defs":{"node":{"type":"object","description":"a node","properties":{"next":{"$ref":"#/$defs/node"}}}}}
        {"type":"object","description":"x*…","properties":{"deep":{"type":"object","description":"first level","properties":{"list":{"type":"array","items":{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}}},"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},"mode":{"type":"string","description":"how","enum":["a","b"],"default":"a"},"tree":{"$ref":"#/$defs/node"},"zone":{"type":"integer","enum":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39]}},"required":["mode"],"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}
        {"type":"object","properties":{"deep":{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}}},"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},"mode":{"type":"string","enum":["a","b"],"default":"a"},"tree":{"$ref":"#/$defs/node"},"zone":{"type":"integer","enum":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39]}},"required":["mode"],"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}
        {"type":"object","properties":{"deep":{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}}},"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},"mode":{"type":"string","enum":["a","b"]},"tree":{"$ref":"#/$defs/node"},"zone":{"type":"integer"}},"required":["mode"],"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}
        {"type":"object","properties":{"deep":{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"null"}]}}}}}},"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},"mode":{"type":"string","enum":["a","b"]},"tree":{},"zone":{"type":"integer"}},"required":["mode"]}
        {"type":"object","properties":{"deep":{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{}}}}},"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},"mode":{"type":"string","enum":["a","b"]},"tree":{},"zone":{"type":"integer"}},"required":["mode"]}
        {"type":"object","properties":{"deep":{"type":"object","properties":{"list":{"type":"array","items":{}}}},"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},"mode":{"type":"string","enum":["a","b"]},"tree":{},"zone":{"type":"integer"}},"required":["mode"]}
        {"type":"object","properties":{"deep":{"type":"object","properties":{"list":{"type":"array","items":{}}}},"either":{},"mode":{"type":"string","enum":["a","b"]},"tree":{},"zone":{"type":"integer"}},"required":["mode"]}
        {"type":"object","properties":{"deep":{},"either":{},"mode":{},"tree":{},"zone":{}},"required":["mode"]}
        {"type":"object","properties":{}}
        "##);
    }

    #[test]
    fn the_budget_always_holds() {
        for budget in (0..2_000).step_by(7) {
            let schema = JsonSchema::from_foreign(&rich(), budget).unwrap();
            assert!(written(&schema) <= budget.max(33), "{budget}");
            let again = JsonSchema::from_foreign(&serde_json::to_value(&schema).unwrap(), budget).unwrap();
            assert_eq!(again, schema, "{budget}");
        }
    }

    #[test]
    fn what_fitted_still_fits() {
        let closed = |properties: Value| -> Value {
            json!({"type": "object", "properties": properties, "additionalProperties": false})
        };
        let mut schema = closed(json!({
            "a": closed(json!({"b": closed(json!({"c": closed(json!({"d": {"$ref": "#/$defs/word"}}))}))})),
            "l": {"type": "array", "items": {"anyOf": [closed(json!({"x": {"type": "string"}})), {"type": "null"}]}},
        }));
        schema["$defs"] = json!({"word": {"type": "string", "description": "any word", "enum": ["u", "v"]}});
        let instance = json!({"a": {"b": {"c": {"d": "u"}}}, "l": [{"x": "y"}, null]});
        for budget in 33..800 {
            let compacted = JsonSchema::from_foreign(&schema, budget).unwrap();
            assert_eq!(compacted.validate(&instance), Ok(()), "{budget}");
        }
    }
}

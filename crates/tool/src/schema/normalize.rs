//! Normalizes schemas: drops redundant keywords and adds implied ones. Parsing the result gives the same schema.

use super::parse::MAX_BRANCHES;
use super::{
    AdditionalProperties, JsonSchema, JsonType, NumericBounds, ObjectSchema, SchemaComposition,
    ValueConstraints,
};

impl JsonSchema {
    /// Normalizes the schema and everything below it; loosens or keeps, never tightens.
    pub(super) fn normalize_all(&mut self) {
        // ends: a schema is a tree, and reading caps its depth
        self.children_mut().for_each(JsonSchema::normalize_all);
        self.defs.values_mut().for_each(JsonSchema::normalize_all);
        self.normalize();
    }

    /// Normalizes one node whose children are already normalized.
    pub(super) fn normalize(&mut self) {
        self.types.sort_unstable();
        self.types.dedup();
        self.normalize_composition();
        if !self.types.is_empty() {
            self.drop_unused_keywords();
        } else if self.reference.is_none() && self.combined == SchemaComposition::default() {
            // Without a type, a parser would infer one from these keywords and tighten the schema.
            self.values = ValueConstraints::default();
            self.items = None;
            self.object = None;
        } else if self.object.as_deref() == Some(&ObjectSchema::default()) {
            self.object = None;
        }
        if let Some(object) = &mut self.object {
            object.normalize();
        }
        self.unwrap_single_branch();
    }

    /// Drops duplicate and empty members of a composition. A duplicate `oneOf` branch can never match, so it stays.
    pub(super) fn normalize_composition(&mut self) {
        let SchemaComposition { any_of, one_of, all_of } = &mut self.combined;
        for choice in [&mut *any_of, one_of] {
            // A choice with unknown alternatives is no choice.
            if choice.len() > MAX_BRANCHES {
                choice.clear();
            }
        }
        all_of.truncate(MAX_BRANCHES);
        all_of.retain(|member| !member.is_any());
        dedup(all_of);
        dedup(any_of);
    }

    fn drop_unused_keywords(&mut self) {
        let has = |kind| self.types.contains(&kind);
        let (text, object, array) = (has(JsonType::String), has(JsonType::Object), has(JsonType::Array));
        let number = has(JsonType::Number) || has(JsonType::Integer);
        let lengths = &mut self.values.lengths;
        if !text {
            lengths.min_length = None;
            lengths.max_length = None;
        }
        if !number {
            self.values.bounds = NumericBounds::default();
        }
        if array {
            self.items.get_or_insert_default();
        } else {
            self.items = None;
            lengths.min_items = None;
            lengths.max_items = None;
        }
        if object {
            self.object.get_or_insert_default();
        } else {
            self.object = None;
        }
    }

    /// Replaces a bare wrapper around one branch (`{"description": .., "allOf": [x]}`, as pydantic writes it) by that
    /// branch.
    fn unwrap_single_branch(&mut self) {
        let mut wrapper = std::mem::take(self);
        let combined = std::mem::take(&mut wrapper.combined);
        let SchemaComposition { mut any_of, one_of, mut all_of } = combined;
        let branches = any_of.len() + one_of.len() + all_of.len();
        let only =
            if wrapper.is_any() && branches == 1 { any_of.pop().or_else(|| all_of.pop()) } else { None };
        match only {
            Some(branch) => {
                *self = branch;
                self.notes.description = wrapper.notes.description.or(self.notes.description.take());
                self.notes.default = wrapper.notes.default.or(self.notes.default.take());
                self.defs = wrapper.defs;
            }
            None => {
                *self = wrapper;
                self.combined = SchemaComposition { any_of, one_of, all_of };
            }
        }
    }
}

impl ObjectSchema {
    fn normalize(&mut self) {
        if self.additional == AdditionalProperties::Schema(Box::default()) {
            self.additional = AdditionalProperties::Any;
        }
    }
}

fn dedup(branches: &mut Vec<JsonSchema>) {
    // Quadratic, but there are at most MAX_BRANCHES.
    let mut kept: Vec<JsonSchema> = Vec::with_capacity(branches.len());
    for branch in branches.drain(..) {
        if !kept.contains(&branch) {
            kept.push(branch);
        }
    }
    *branches = kept;
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::JsonSchema;
    use crate::schema::parse::{OneOfHandling, parse_schema};

    fn settled(value: &Value) -> Value {
        let mut schema: JsonSchema = parse_schema(value, OneOfHandling::Loosen);
        schema.normalize_all();
        let once = serde_json::to_value(&schema).unwrap();
        schema.normalize_all();
        assert_eq!(serde_json::to_value(&schema).unwrap(), once, "settling settles");
        once
    }

    #[test]
    fn what_says_nothing_goes_and_what_a_type_implies_comes() {
        for (value, wanted) in [
            (json!({"type": "string", "items": {}, "minItems": 1, "minimum": 2}), json!({"type": "string"})),
            (json!({"type": "array"}), json!({"type": "array", "items": {}})),
            (json!({"type": "object"}), json!({"type": "object", "properties": {}})),
            (json!({"type": ["null", "string", "null"]}), json!({"type": ["string", "null"]})),
            (
                json!({"type": "object", "additionalProperties": {}}),
                json!({"type": "object", "properties": {}}),
            ),
            (
                json!({"description": "outer", "allOf": [{"type": "string", "description": "inner"}]}),
                json!({"type": "string", "description": "outer"}),
            ),
            (json!({"anyOf": [{"type": "string"}, {"type": "string"}]}), json!({"type": "string"})),
            (
                json!({"type": "object", "allOf": [{"title": "says nothing"}]}),
                json!({"type": "object", "properties": {}}),
            ),
        ] {
            assert_eq!(settled(&value), wanted, "{value}");
        }
    }
}

//! Cleans up references after parsing: breaks cycles without data, prunes unreachable definitions, limits the depth.

use std::collections::{BTreeMap, BTreeSet};

use super::JsonSchema;
use super::parse::MAX_DEPTH;

const ROOT: &str = "#";
const DEFS_PREFIX: &str = "#/$defs/";

impl JsonSchema {
    /// Resolves a reference from the root.
    pub(super) fn resolve(&self, reference: &str) -> Option<&JsonSchema> {
        if reference == ROOT { Some(self) } else { self.defs.get(reference.strip_prefix(DEFS_PREFIX)?) }
    }
}

/// Replaces the references that close a cycle at one location of the data (`a` is `b` is `a`) by schemas that accept
/// anything.
pub(super) fn break_cycles(root: &mut JsonSchema) {
    let mut graph: BTreeMap<String, Vec<String>> = BTreeMap::new();
    graph.insert(ROOT.to_owned(), references_here(root));
    graph.extend(
        root.defs.iter().map(|(name, schema)| (format!("{DEFS_PREFIX}{name}"), references_here(schema))),
    );
    for (from, to) in find_cycle_edges(&graph) {
        let schema = if from == ROOT {
            Some(&mut *root)
        } else {
            from.strip_prefix(DEFS_PREFIX).and_then(|name| root.defs.get_mut(name))
        };
        if let Some(schema) = schema {
            remove_reference(schema, &to);
        }
    }
}

/// Returns the references that apply to the schema's own location in the data.
fn references_here(schema: &JsonSchema) -> Vec<String> {
    let combined = &schema.combined;
    let mut found: Vec<String> = schema.reference.iter().cloned().collect();
    for branch in combined.any_of.iter().chain(&combined.one_of).chain(&combined.all_of) {
        found.extend(references_here(branch));
    }
    found
}

fn remove_reference(schema: &mut JsonSchema, reference: &str) {
    schema.reference.take_if(|own| own == reference);
    let combined = &mut schema.combined;
    for branch in combined.any_of.iter_mut().chain(&mut combined.one_of).chain(&mut combined.all_of) {
        remove_reference(branch, reference);
    }
}

/// Finds the edges that close a cycle, depth first. Iterative: a chain of definitions may be thousands long.
fn find_cycle_edges(graph: &BTreeMap<String, Vec<String>>) -> BTreeSet<(String, String)> {
    /// The visit state of a node.
    #[derive(PartialEq)]
    enum VisitState {
        Open,
        Done,
    }
    let mut seen: BTreeMap<&str, VisitState> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for start in graph.keys() {
        let mut trail: Vec<(&str, usize)> = Vec::new();
        if !seen.contains_key(start.as_str()) {
            seen.insert(start, VisitState::Open);
            trail.push((start, 0));
        }
        // ends: a node is opened once and every step moves on by one edge
        while let Some((node, next)) = trail.last_mut() {
            let node = *node;
            let Some(target) = graph.get(node).and_then(|edges| edges.get(*next)) else {
                seen.insert(node, VisitState::Done);
                trail.pop();
                continue;
            };
            *next += 1;
            match seen.get(target.as_str()) {
                Some(VisitState::Open) => {
                    found.insert((node.to_owned(), target.clone()));
                }
                Some(VisitState::Done) => {}
                None => {
                    seen.insert(target, VisitState::Open);
                    trail.push((target, 0));
                }
            }
        }
    }
    found
}

/// Drops unreachable definitions.
pub(super) fn prune_definitions(root: &mut JsonSchema) {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&JsonSchema> = vec![root];
    // ends: a definition is opened once
    while let Some(schema) = open.pop() {
        if let Some(name) =
            schema.reference.as_deref().and_then(|reference| reference.strip_prefix(DEFS_PREFIX))
            && !reached.contains(name)
        {
            reached.insert(name.to_owned());
            open.extend(root.defs.get(name));
        }
        open.extend(schema.children());
    }
    root.defs.retain(|name, _| reached.contains(name));
}

/// Replaces everything below the parser's depth limit, which merging may have exceeded.
pub(super) fn limit_depth(root: &mut JsonSchema) {
    cut_below_limit(root, 0);
    root.defs.values_mut().for_each(|schema| cut_below_limit(schema, 1));
}

fn cut_below_limit(schema: &mut JsonSchema, depth: usize) {
    if depth >= MAX_DEPTH {
        *schema = JsonSchema::default();
    }
    schema.children_mut().for_each(|child| cut_below_limit(child, depth + 1));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::JsonSchema;

    #[track_caller]
    fn check(value: &Value, wanted: &Value) {
        let schema = JsonSchema::from_foreign(value, usize::MAX).unwrap();
        assert_eq!(serde_json::to_value(&schema).unwrap(), *wanted, "{value}");
    }

    #[test]
    fn a_cycle_without_data_becomes_any() {
        check(
            &json!({
                "properties": {"x": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}},
            }),
            &json!({
                "type": "object",
                "properties": {"x": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {}},
            }),
        );
    }

    #[test]
    fn recursive_data_keeps_its_references() {
        let tree = json!({
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/node"}, "self": {"$ref": "#"}},
            "$defs": {
                "leaf": {"type": "string"},
                "node": {"anyOf": [{"$ref": "#/$defs/leaf"}, {"type": "array", "items": {"$ref": "#/$defs/node"}}]},
            },
        });
        check(&tree, &tree);
    }

    #[test]
    fn zod_style_pointers_keep_recursion() {
        check(
            &json!({"properties": {"node": {"properties": {"next": {"$ref": "#/properties/node"}}}}}),
            &json!({
                "type": "object",
                "properties": {
                    "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}},
                },
                "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
            }),
        );
    }

    #[test]
    fn long_chains_of_definitions_end() {
        let mut defs = serde_json::Map::new();
        for n in 0..4_000 {
            defs.insert(format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}));
        }
        let value = json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs});
        let schema = JsonSchema::from_foreign(&value, usize::MAX).unwrap();
        assert_eq!(schema.defs.len(), 4_000);
        assert!(schema.validate(&json!({"x": 1})).unwrap_err().expected.contains("nested"));
    }
}

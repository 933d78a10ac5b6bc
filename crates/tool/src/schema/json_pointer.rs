//! Resolves the local references (`#/…`) of a foreign schema and names their definitions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

/// A longer reference is treated as an attack and ignored.
const MAX_REFERENCE_BYTES: usize = 1_024;
/// Characters of a definition's name; the model reads it too.
const MAX_NAME_CHARS: usize = 64;

/// The locations of `document` that references point to. Each becomes a definition that is parsed exactly once.
pub(super) struct ReferencedDefs<'a> {
    document: &'a Value,
    names: BTreeMap<Vec<String>, String>,
    used_names: BTreeSet<String>,
    name_counts: BTreeMap<String, usize>,
    queue: VecDeque<(String, &'a Value)>,
}

impl<'a> ReferencedDefs<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        let (names, used_names, name_counts) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        Self { document, names, used_names, name_counts, queue: VecDeque::new() }
    }

    /// Returns the normalized form of `reference`; `None` if it is external or points nowhere.
    ///
    /// A deep pointer (`#/properties/a`, as zod writes it) becomes a definition of its own, so recursion survives.
    pub(super) fn resolve_reference(&mut self, reference: &str) -> Option<String> {
        let tokens = parse_pointer(reference)?;
        if tokens.is_empty() {
            return Some("#".to_owned());
        }
        if let Some(name) = self.names.get(&tokens) {
            return Some(format!("#/$defs/{name}"));
        }
        let target = follow_pointer(self.document, &tokens)?;
        let name = self.unused_name(tokens.last().map_or("", String::as_str));
        self.queue.push_back((name.clone(), target));
        let reference = format!("#/$defs/{name}");
        self.names.insert(tokens, name);
        Some(reference)
    }

    /// Returns the next referenced definition that is not yet parsed.
    pub(super) fn next_unread(&mut self) -> Option<(String, &'a Value)> {
        self.queue.pop_front()
    }

    /// Creates an unused name that needs no escaping in a pointer.
    fn unused_name(&mut self, token: &str) -> String {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
        let base: String = token
            .chars()
            .take(MAX_NAME_CHARS)
            .map(|letter| if plain(letter) { letter } else { '_' })
            .collect();
        let base = if base.is_empty() { "_".to_owned() } else { base };
        let mut name = base.clone();
        let count = self.name_counts.entry(base.clone()).or_insert(1);
        // ends: the count climbs and only finitely many names are taken
        while !self.used_names.insert(name.clone()) {
            *count += 1;
            name = format!("{base}_{count}");
        }
        name
    }
}

/// Splits `#/a/b` into its decoded tokens; `None` for an anchor, another document or broken escapes.
fn parse_pointer(reference: &str) -> Option<Vec<String>> {
    if reference.len() > MAX_REFERENCE_BYTES {
        return None;
    }
    let pointer = reference.strip_prefix('#')?;
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let pointer = percent_decode(pointer.strip_prefix('/')?)?;
    Some(pointer.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

fn percent_decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            16 * hex_digit(rest.next()?)? + hex_digit(rest.next()?)?
        } else {
            byte
        });
    }
    String::from_utf8(bytes).ok()
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Follows `tokens`; stops at a nested `$id`, below which pointers start from another root.
fn follow_pointer<'a>(document: &'a Value, tokens: &[String]) -> Option<&'a Value> {
    let mut node = document;
    for (depth, token) in tokens.iter().enumerate() {
        if depth > 0 && has_own_id(node) {
            return None;
        }
        node = match node {
            Value::Object(map) => map.get(token)?,
            Value::Array(list) => list.get(token.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(node)
}

/// Returns true if the schema is a resource of its own, so that `#` inside it is not the document's root.
pub(super) fn has_own_id(schema: &Value) -> bool {
    schema.get("$id").and_then(Value::as_str).is_some_and(|id| !id.is_empty() && !id.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ReferencedDefs;

    #[test]
    fn references_name_places_once() {
        let document = json!({
            "$defs": {"User": {"properties": {"name": {}}}, "a/b": {}, "a b": {}, "sub": {"$id": "x", "y": {}}},
            "definitions": {"User": {}},
            "anyOf": [{}],
        });
        let mut wanted = ReferencedDefs::new(&document);
        for (reference, name) in [
            ("#", Some("#")),
            ("#/$defs/User", Some("#/$defs/User")),
            ("#/definitions/User", Some("#/$defs/User_2")),
            ("#/$defs/User", Some("#/$defs/User")),
            ("#/$defs/User/properties/name", Some("#/$defs/name")),
            ("#/$defs/a~1b", Some("#/$defs/a_b")),
            ("#/$defs/a%20b", Some("#/$defs/a_b_2")),
            ("#/anyOf/0", Some("#/$defs/0")),
            ("#/anyOf/1", None),
            ("#/$defs/Ghost", None),
            ("#/$defs/sub/y", None),
            ("#anchor", None),
            ("#/%zz", None),
            ("#/%ff", None),
            ("https://evil.example/schema.json", None),
            ("other.json#/$defs/User", None),
            ("", None),
        ] {
            assert_eq!(wanted.resolve_reference(reference).as_deref(), name, "{reference}");
        }
        assert_eq!(std::iter::from_fn(|| wanted.next_unread()).count(), 6);
    }
}

//! Property tests with the `jsonschema` crate as oracle: validation agrees with it, and sanitizing only loosens.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};
use toolgate_tool::JsonSchema;

const BUDGETS: [usize; 8] = [64, 150, 250, 400, 600, 1_000, 5_000, usize::MAX];
/// Instances tried on each schema.
const TRIES: usize = 12;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, max_shrink_iters: 4_000, ..ProptestConfig::with_cases(cases) }
}

fn emitted(schema: &JsonSchema) -> Value {
    serde_json::to_value(schema).expect("a schema is plain JSON")
}

fn scalar() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(true),
        json!(1),
        json!(3.0),
        json!(0.5),
        json!("a"),
        json!("b"),
        json!(u64::MAX),
    ])
}

/// Generates a schema in which every node has a type, with supported and unsupported keywords.
fn typed(references: bool) -> BoxedStrategy<Value> {
    let text = (0..3_u64, 0..4_u64, any::<bool>()).prop_map(|(least, more, pattern)| {
        let mut schema =
            json!({"type": "string", "minLength": least, "maxLength": least + more, "description": "t"});
        if pattern {
            schema["pattern"] = json!("^a");
        }
        schema
    });
    let number = (-2_i64..2, 0_i64..4, select(vec!["number", "integer"]), any::<bool>()).prop_map(
        |(least, more, kind, open)| {
            let (low, high) =
                if open { ("exclusiveMinimum", "exclusiveMaximum") } else { ("minimum", "maximum") };
            json!({"type": kind, low: least, high: least + more, "multipleOf": 0.5})
        },
    );
    let mut leaves = vec![
        Just(json!({})).boxed(),
        Just(json!({"type": ["boolean", "null"]})).boxed(),
        vec(scalar(), 1..4).prop_map(|values| json!({"enum": values})).boxed(),
        scalar().prop_map(|value| json!({"const": value})).boxed(),
        text.boxed(),
        number.boxed(),
    ];
    if references {
        leaves.push(
            select(vec!["#/$defs/n", "#/$defs/m", "#"]).prop_map(|place| json!({"$ref": place})).boxed(),
        );
    }
    proptest::strategy::Union::new(leaves).prop_recursive(3, 30, 4, |inner| {
        let object = (table(inner.clone()), subsequence(vec!["a", "b"], 0..3), inner.clone(), 0..5_u8).prop_map(
            |(properties, required, more, kind)| {
                let mut schema = json!({"type": "object", "properties": properties, "required": required});
                match kind {
                    0 => schema["additionalProperties"] = json!(false),
                    1 => schema["additionalProperties"] = more,
                    2 => schema["patternProperties"] = json!({"^c": more}),
                    3 => {
                        schema["patternProperties"] = json!({"^c": more});
                        schema["additionalProperties"] = json!(false);
                    }
                    _ => schema["minProperties"] = json!(1),
                }
                schema
            },
        );
        let array = (inner.clone(), 0..2_u64, 0..3_u64, any::<bool>()).prop_map(|(items, least, more, unique)| {
            json!({"type": ["array", "null"], "items": items, "minItems": least, "maxItems": least + more, "uniqueItems": unique})
        });
        let tuple = (vec(inner.clone(), 1..3), prop_oneof![Just(json!(false)), inner.clone()])
            .prop_map(|(tuple, rest)| json!({"type": "array", "prefixItems": tuple, "items": rest}));
        let choice = (select(vec!["anyOf", "oneOf", "allOf"]), vec(inner.clone(), 1..4))
            .prop_map(|(key, branches)| json!({key: branches}));
        let both = (vec(inner.clone(), 1..3), vec(inner.clone(), 1..3))
            .prop_map(|(any_of, one_of)| json!({"anyOf": any_of, "oneOf": one_of}));
        let guarded = (inner.clone(), inner).prop_map(|(not, then)| json!({"not": not, "if": {"type": "string"}, "then": then}));
        prop_oneof![4 => object, 2 => array, 1 => tuple, 2 => choice, 1 => both, 1 => guarded]
    })
    .boxed()
}

fn table(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    btree_map(select(vec!["a", "b", "c"]), inner, 0..4)
        .prop_map(|map| Value::Object(map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()))
}

/// Generates a whole document: an object at the root, recursion only through data.
fn document() -> impl Strategy<Value = Value> {
    (table(typed(true)), typed(false), typed(false), any::<bool>(), table(typed(true))).prop_map(
        |(properties, n, m, closed, more)| {
            let mut root = json!({
                "type": "object",
                "properties": properties,
                "$defs": {
                    "n": {"type": ["object", "null"], "properties": {"a": n, "b": {"$ref": "#/$defs/n"}}},
                    "m": {"anyOf": [m, {"type": "array", "items": {"$ref": "#/$defs/m"}}]},
                },
            });
            if closed {
                root["additionalProperties"] = json!(false);
            } else {
                root["allOf"] = json!([{"type": "object", "properties": more}]);
            }
            root
        },
    )
}

/// Turns every `anyOf` into a `oneOf`, which parsing never yields.
fn exact(schema: &mut JsonSchema) {
    std::mem::swap(&mut schema.combined.any_of, &mut schema.combined.one_of);
    schema.combined.one_of.iter_mut().for_each(exact);
    schema.combined.all_of.iter_mut().for_each(exact);
    schema.items.iter_mut().for_each(|items| exact(items));
    schema.object.iter_mut().flat_map(|object| object.properties.values_mut()).for_each(exact);
    schema.defs.values_mut().for_each(exact);
}

/// Generates instances that mostly match a schema; `picks` decides between the options.
struct InstanceGenerator<'a> {
    root: &'a Value,
    picks: std::iter::Cycle<std::slice::Iter<'a, u8>>,
}

impl InstanceGenerator<'_> {
    fn pick(&mut self, below: u64) -> u64 {
        self.picks.next().map_or(0, |&pick| u64::from(pick) % below.max(1))
    }

    fn choose(&mut self, list: &[Value]) -> Value {
        let index = self.pick(list.len() as u64);
        list.iter().zip(0..).find(|(_, at)| *at == index).map_or(Value::Null, |(value, _)| value.clone())
    }

    fn value(&mut self, schema: &Value, depth: u64) -> Value {
        if let Some(place) = schema["$ref"].as_str() {
            let target = self.root.pointer(place.trim_start_matches('#')).filter(|_| depth < 6);
            return target.map_or(Value::Null, |target| self.value(target, depth + 1));
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            if let Some(list) = schema[key].as_array().filter(|_| schema.get("type").is_none()) {
                let branch = self.choose(list);
                return self.value(&branch, depth + 1);
            }
        }
        if let Some(list) = schema["enum"].as_array() {
            return self.choose(list);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        let kind = schema["type"].as_array().map_or_else(|| schema["type"].clone(), |list| self.choose(list));
        match kind.as_str() {
            Some("string") => {
                let length = schema["minLength"].as_u64().unwrap_or(0) + self.pick(4);
                json!((0..length).map(|_| 'a').collect::<String>())
            }
            Some("number" | "integer") => {
                let least = schema["minimum"].as_i64().or(schema["exclusiveMinimum"].as_i64()).unwrap_or(0);
                let options =
                    [json!(least), json!(least - 1), json!(least + 1), json!(least + 3), json!(0.5)];
                self.choose(&options)
            }
            Some("boolean") => json!(true),
            Some("array") => self.array(schema, depth),
            Some("object") => self.object(schema, depth),
            _ => self.choose(&[json!(null), json!(1), json!("a"), json!([1]), json!({"a": 1})]),
        }
    }

    fn array(&mut self, schema: &Value, depth: u64) -> Value {
        let count = schema["minItems"].as_u64().unwrap_or(0) + self.pick(3);
        let item =
            |at: u64| schema["prefixItems"].as_array().and_then(|list| list.get(usize::try_from(at).ok()?));
        (0..count).map(|at| self.value(item(at).unwrap_or(&schema["items"]), depth + 1)).collect()
    }

    fn object(&mut self, schema: &Value, depth: u64) -> Value {
        let mut map = serde_json::Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if self.pick(4) > 0 {
                map.insert(name.clone(), self.value(property, depth + 1));
            }
        }
        if self.pick(3) == 0 {
            let more = schema["patternProperties"].get("^c").unwrap_or(&schema["additionalProperties"]);
            map.insert("cx".to_owned(), self.value(more, depth + 1));
        }
        Value::Object(map)
    }
}

/// Seeds for [`InstanceGenerator`]: one per instance.
fn seeds() -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(any::<u8>(), 16), TRIES)
}

fn guesses(root: &Value, seeds: &[Vec<u8>]) -> Vec<Value> {
    seeds.iter().map(|seed| InstanceGenerator { root, picks: seed.iter().cycle() }.value(root, 0)).collect()
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn validation_agrees_with_the_oracle(value in document(), one in any::<bool>(), seeds in seeds()) {
        let mut schema = JsonSchema::from_foreign(&value, usize::MAX).unwrap();
        if one {
            exact(&mut schema);
        }
        let json = emitted(&schema);
        let oracle = jsonschema::draft202012::new(&json).unwrap();
        for instance in guesses(&json, &seeds) {
            let ours = schema.validate(&instance);
            prop_assert_eq!(ours.is_ok(), oracle.is_valid(&instance), "{} {:?}", instance, ours);
        }
    }

    #[test]
    fn sanitising_only_loosens(value in document(), budget in select(BUDGETS.to_vec()), seeds in seeds()) {
        let original = jsonschema::draft202012::new(&value).unwrap();
        let schema = JsonSchema::from_foreign(&value, budget).unwrap();
        for instance in guesses(&value, &seeds).iter().filter(|instance| original.is_valid(instance)) {
            prop_assert_eq!(schema.validate(instance), Ok(()), "{} under {}", instance, emitted(&schema));
        }
    }
}

//! Property tests with hostile schemas: sanitizing is bounded and idempotent; strict mode and validation are correct.

use std::time::{Duration, Instant};

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};
use toolgate_tool::{JsonSchema, SchemaFault};

const BUDGETS: [usize; 6] = [64, 150, 400, 1_000, 5_000, usize::MAX];

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, max_shrink_iters: 4_000, ..ProptestConfig::with_cases(cases) }
}

fn emitted(schema: &JsonSchema) -> Value {
    serde_json::to_value(schema).expect("a schema is plain JSON")
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..4).prop_map(Value::from),
        select(vec![json!(0.5), json!(3.0), json!(-1.5), json!(1e300), json!(u64::MAX), json!(i64::MIN)]),
        select(vec!["", "a", "b", "abc", "x\u{200b}y", "\u{202e}z"]).prop_map(Value::from),
    ]
}

fn name() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c", "$ref", "type", "properties"]).prop_map(str::to_owned)
}

fn data() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(name(), inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn reference() -> impl Strategy<Value = Value> {
    let places = [
        "#", "#/", "#/$defs/a", "#/$defs/b", "#/definitions/a", "#/definitions/b", "#/properties/a",
        "#/anyOf/0", "#/$defs/a/properties/b", "#/properties/a/items", "#/$defs/a~1b", "#/%zz", "#anchor",
        "https://x.example/y",
    ];
    select(places.to_vec()).prop_map(Value::from)
}

/// Generates schema-like values: every keyword with a fitting or a wrong value.
fn hostile() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![scalar(), reference().prop_map(|place| json!({"$ref": place}))];
    leaf.prop_recursive(5, 60, 6, |inner| {
        let list = vec(inner.clone(), 0..4).prop_map(Value::from);
        let table = btree_map(name(), inner.clone(), 0..4).prop_map(|map| Value::Object(map.into_iter().collect()));
        let types = ["string", "number", "integer", "boolean", "object", "array", "null", "strange"];
        let types = prop_oneof![
            select(types.to_vec()).prop_map(Value::from),
            subsequence(types.to_vec(), 0..4).prop_map(Value::from),
        ];
        let keyword = |keys: Vec<&'static str>, value: BoxedStrategy<Value>| (select(keys), value);
        let entry = prop_oneof![
            3 => keyword(vec!["type"], types.boxed()),
            2 => keyword(vec!["properties", "$defs", "definitions", "patternProperties"], table.boxed()),
            2 => keyword(vec!["anyOf", "oneOf", "allOf", "prefixItems", "items", "enum"], list.boxed()),
            2 => keyword(vec!["items", "additionalProperties", "not", "additionalItems", "if"], inner.boxed()),
            1 => keyword(vec!["$ref"], reference().boxed()),
            1 => keyword(vec!["required"], vec(name(), 0..3).prop_map(Value::from).boxed()),
            2 => keyword(
                vec![
                    "minimum", "maximum", "exclusiveMinimum", "minLength", "maxItems", "const", "default", "enum",
                    "description", "format", "nullable", "required", "properties", "anyOf", "$ref", "$id", "$defs",
                ],
                data().boxed(),
            ),
        ];
        vec(entry, 0..6).prop_map(|entries| {
            Value::Object(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
        })
    })
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn hostile_schemas_become_small_valid_stable_objects(value in hostile(), budget in select(BUDGETS.to_vec())) {
        let schema = match JsonSchema::from_foreign(&value, budget) {
            Ok(schema) => schema,
            Err(SchemaFault::RootNotObject { found }) => {
                prop_assert!(!found.is_empty());
                return Ok(());
            }
        };
        let text = serde_json::to_string(&schema).unwrap();
        prop_assert!(text.len() <= budget);
        let json = emitted(&schema);
        prop_assert_eq!(&json["type"], "object");
        for key in ["anyOf", "oneOf", "allOf", "$ref", "enum"] {
            prop_assert!(json.get(key).is_none(), "{} at the root", key);
        }
        prop_assert!(jsonschema::draft202012::meta::is_valid(&json), "{}", text);
        prop_assert!(jsonschema::draft202012::new(&json).is_ok(), "unresolved reference in {}", text);
        prop_assert_eq!(&JsonSchema::from_foreign(&json, budget).unwrap(), &schema, "not idempotent");
        prop_assert_eq!(serde_json::to_string(&JsonSchema::from_foreign(&value, budget).unwrap()).unwrap(), text);
    }

    #[test]
    fn strict_schemas_pass_their_check_and_stay_valid(value in hostile()) {
        let Ok(schema) = JsonSchema::from_foreign(&value, 5_000) else { return Ok(()) };
        let strict = schema.to_strict();
        // Only a map stays open, and is rejected for it.
        let has_map = emitted(&strict).to_string().contains(r#""additionalProperties":{"#);
        prop_assert_eq!(strict.check_strict().is_err(), has_map);
        prop_assert_eq!(&strict.to_strict(), &strict);
        prop_assert!(jsonschema::draft202012::meta::is_valid(&emitted(&strict)));
        let folded = serde_json::to_string(&schema.fold_integers()).unwrap();
        prop_assert!(!folded.contains(r#""type":"integer""#));
    }

    #[test]
    fn validation_of_hostile_schemas_agrees(value in hostile(), instances in vec(data(), 4)) {
        let Ok(schema) = JsonSchema::from_foreign(&value, 5_000) else { return Ok(()) };
        let oracle = jsonschema::draft202012::new(&emitted(&schema)).unwrap();
        for instance in &instances {
            prop_assert_eq!(schema.validate(instance).is_ok(), oracle.is_valid(instance), "{}", instance);
        }
    }
}

#[track_caller]
fn quick(value: &Value) -> JsonSchema {
    let start = Instant::now();
    let schema = JsonSchema::from_foreign(value, 5_000).expect("the root is an object");
    // Generous: a debug build on a busy machine. The guarded failures take minutes.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(emitted(&schema).to_string().len() <= 5_000);
    schema
}

#[test]
fn huge_schemas_are_read_in_bounded_time() {
    let names = |value: &Value| -> Value {
        (0..100_000).map(|n| (format!("p{n:06}"), value.clone())).collect::<Map<_, _>>().into()
    };
    quick(&json!({"properties": names(&json!({"type": "string", "description": "a property"}))}));
    quick(&json!({"properties": {}, "required": (0..300_000).map(|n| format!("p{n}")).collect::<Vec<_>>()}));
    quick(&json!({"description": "x".repeat(10_000_000)}));
    quick(&json!({"properties": {"a": {"enum": ["x".repeat(10_000_000)]}}}));
    quick(&json!({"anyOf": vec![json!({"type": "object"}); 100_000]}));
    quick(
        &json!({"$defs": names(&json!({"$ref": "#/$defs/p000000"})), "properties": names(&json!({"$ref": "#/$defs/p000001"}))}),
    );
}

#[test]
fn deep_schemas_are_read_in_bounded_time() {
    for key in ["items", "additionalProperties", "not", "default"] {
        let mut bomb = json!({"type": "string"});
        for _ in 0..2_000 {
            bomb = Value::Object(Map::from_iter([(key.to_owned(), bomb)]));
        }
        quick(&json!({"properties": {"a": bomb}}));
    }
    let mut bomb = json!({"type": "object"});
    for _ in 0..2_000 {
        bomb = Value::Object(Map::from_iter([("allOf".to_owned(), Value::Array(vec![bomb]))]));
    }
    quick(&bomb);
}

//! Tests that `docs/openrpc.json` matches the Rust types, has a summary per method, and has no dangling `$ref`.
#![expect(clippy::disallowed_methods, reason = "this test reads the checkout")]

use std::collections::BTreeSet;

use serde_json::Value;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openrpc.json");

#[test]
fn the_description_is_that_of_the_types() {
    let made = serde_json::to_string_pretty(&toolgate_rpc::openrpc_document()).unwrap() + "\n";
    if std::env::var_os("TOOLGATE_BLESS").is_some() {
        std::fs::write(FILE, &made).unwrap();
    }
    let committed = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        committed == made,
        "docs/openrpc.json is old; `TOOLGATE_BLESS=1 cargo test -p toolgate-rpc` writes it"
    );
}

#[test]
fn every_method_says_what_it_is_for_and_every_reference_leads_somewhere() {
    let made = toolgate_rpc::openrpc_document();
    for method in made["methods"].as_array().unwrap() {
        assert!(method["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{method}");
    }
    let defined: BTreeSet<&str> =
        made["components"]["schemas"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut todo = vec![&made];
    while let Some(value) = todo.pop() {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(to)) = members.get("$ref") {
                    assert!(defined.contains(to.rsplit('/').next().unwrap()), "{to}");
                }
                todo.extend(members.values());
            }
            Value::Array(items) => todo.extend(items),
            _ => {}
        }
    }
}

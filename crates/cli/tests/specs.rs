//! Tests that the tool specifications in every dialect and the manual of all tools match the committed files.

mod support;

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;
use support::TestHome;
use testkit::TestWorkspace;

fn tools(args: &[&str]) -> String {
    let ran = TestHome::new().run(&TestWorkspace::new().path(), &[&["tools"], args].concat(), "");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    ran.out
}

#[test]
fn every_spec_in_every_dialect_is_committed() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specs");
    for wire in ["responses", "chat", "anthropic", "mcp"] {
        testkit::assert_committed(here.join(format!("{wire}.json")), &tools(&["--wire", wire]));
    }
}

#[test]
fn the_bytes_are_the_same_every_time_and_sorted_by_name() {
    let first = tools(&["--wire", "responses", "--json"]);
    assert_eq!(tools(&["--wire", "responses", "--json"]), first);
    let names: Vec<String> = serde_json::from_str::<Vec<Value>>(&first)
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn the_manual_of_every_tool_is_committed() {
    let mut page = String::from(
        "# The tools\n\nThe descriptions and arguments of all tools, as models get them. `just bless` writes this page from the code.\n\
         [models.md](models.md) lists which model is offered which tools.\n",
    );
    let offered = tools(&["--wire", "mcp", "--json"]);
    for spec in serde_json::from_str::<Vec<Value>>(&tools(&["--wire", "mcp", "--json", "--all"])).unwrap() {
        let name = spec["name"].as_str().unwrap();
        let _infallible = write!(page, "\n## `{name}`\n\n{}\n\n", spec["description"].as_str().unwrap());
        if !offered.contains(&format!("\"name\":\"{name}\"")) {
            page += "Callable without being offered: [models.md](models.md).\n\n";
        }
        page += "| argument | type | |\n|---|---|---|\n";
        for (name, schema) in spec["inputSchema"]["properties"].as_object().unwrap() {
            let required = spec["inputSchema"]["required"].as_array().into_iter().flatten();
            let required = if required.into_iter().any(|known| known == name) { ", required" } else { "" };
            let kind = schema["type"].as_str().unwrap_or("any");
            let about = schema["description"].as_str().unwrap_or_default().replace('|', "\\|");
            let _infallible = writeln!(page, "| `{name}` | {kind}{required} | {about} |");
        }
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    testkit::assert_committed(docs, &page);
}

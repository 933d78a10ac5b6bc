//! What clients are told about each tool beside its spec, and which data of its answers they get.
//!
//! Some clients show a model the data of an answer and nothing else of it, so the text is a part of the data; and what may
//! be a picture has none.

use ::mcp::serve::{Hints, Offer, Reply};
use serde_json::{Map, Value, json};
use toolgate::wire::mcp_tools;
use toolgate::{ToolOutput, ToolSpec};

/// One tool of ours.
struct Row {
    name: &'static str,
    title: &'static str,
    hints: Hints,
    /// The data of its answers beside their text, each with its schema; `None` if they have none.
    facts: Option<&'static [(&'static str, &'static str)]>,
}

const READS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
const EDITS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: false };
const ENDS: Hints = Hints { read_only: false, destructive: true, idempotent: true, open_world: false };
const RUNS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };

const COMMAND: &[(&str, &str)] = &[
    ("exit_code", r#"{"type": ["integer", "null"], "description": "None while it runs."}"#),
    ("signal", r#"{"type": ["string", "null"], "description": "The signal that ended it."}"#),
    ("session_id", r#"{"type": ["integer", "null"], "description": "For write_stdin, while it runs."}"#),
    ("wall_time_seconds", r#"{"type": "number"}"#),
];
const HITS: &[(&str, &str)] = &[
    ("matches", r#"{"type": ["integer", "null"]}"#),
    ("files", r#"{"type": "integer"}"#),
    ("complete", r#"{"type": "boolean", "description": "Whether all files were searched."}"#),
];
const CHANGES: &[(&str, &str)] = &[(
    "changes",
    r#"{"type": "array", "items": {"type": "object", "properties": {
        "kind": {"type": "string", "description": "A, M, D or R."},
        "path": {"type": "string"}, "from": {"type": ["string", "null"]}}}}"#,
)];
const SESSIONS: &[(&str, &str)] = &[("sessions", r#"{"type": "array", "items": {"type": "object"}}"#)];

const ROWS: &[Row] = &[
    Row { name: "apply_patch", title: "Apply a patch", hints: EDITS, facts: Some(CHANGES) },
    Row { name: "exec_command", title: "Start a command", hints: RUNS, facts: Some(COMMAND) },
    Row { name: "grep_files", title: "Search files", hints: READS, facts: Some(HITS) },
    Row { name: "kill_session", title: "End a command", hints: ENDS, facts: Some(COMMAND) },
    Row { name: "list_dir", title: "List a directory", hints: READS, facts: None },
    Row { name: "list_sessions", title: "List running commands", hints: READS, facts: Some(SESSIONS) },
    Row { name: "read_file", title: "Read a file", hints: READS, facts: None },
    Row { name: "shell", title: "Run a program", hints: RUNS, facts: Some(COMMAND) },
    Row { name: "shell_command", title: "Run a shell command", hints: RUNS, facts: Some(COMMAND) },
    Row { name: "update_plan", title: "Update the plan", hints: READS, facts: None },
    Row { name: "view_image", title: "View an image", hints: READS, facts: None },
    Row { name: "write_stdin", title: "Type into a command", hints: RUNS, facts: Some(COMMAND) },
];

fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// The tools, as clients are told of them.
pub(super) fn offers(specs: &[ToolSpec]) -> Vec<Offer> {
    let specs: Vec<&ToolSpec> = specs.iter().collect();
    let Value::Array(listed) = mcp_tools(&specs) else { return Vec::new() };
    let offer = |mut tool: Value| {
        let name = tool["name"].as_str()?.to_owned();
        let Value::Object(input) = tool["inputSchema"].take() else { return None };
        let description = tool["description"].as_str().unwrap_or_default().to_owned();
        let row = row(&name);
        Some(Offer {
            title: row.map(|row| row.title.to_owned()),
            hints: row.map(|row| row.hints),
            output: row.and_then(|row| row.facts).map(schema),
            name,
            description,
            input,
        })
    };
    listed.into_iter().filter_map(offer).collect()
}

/// What the data of an answer looks like. Only its text is always there: a shell that is given a patch answers as the
/// tool for patches does.
fn schema(facts: &[(&str, &str)]) -> Map<String, Value> {
    let text = json!({ "type": "string", "description": "The whole answer." });
    let mut properties = Map::from_iter([("text".to_owned(), text)]);
    let read = |schema: &str| serde_json::from_str(schema).unwrap_or_default();
    properties.extend(facts.iter().map(|(name, schema)| ((*name).to_owned(), read(schema))));
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("required".to_owned(), json!(["text"])),
    ])
}

/// An answer of `tool`, as clients get it.
pub(super) fn reply(tool: &str, output: ToolOutput) -> Reply {
    let data = row(tool).and_then(|row| row.facts).map(|facts| {
        let mut data = Map::from_iter([("text".to_owned(), Value::String(output.joined_text()))]);
        let known =
            |name: &&(&str, &str)| output.structured.as_ref().and_then(|all| all.get(name.0)).is_some();
        let fact = |(name, _): &(&str, &str)| {
            let value = output.structured.as_ref().map(|all| all[*name].clone()).unwrap_or_default();
            ((*name).to_owned(), value)
        };
        data.extend(facts.iter().filter(known).map(fact));
        Value::Object(data)
    });
    Reply { structured: data, ..Reply::from(output) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_ours_has_a_row_and_every_schema_can_be_read() {
        let toolgate = toolgate::Toolgate::at("/").with_tools().build().unwrap();
        let mut names = toolgate.router().registry().names();
        names.sort_unstable();
        assert_eq!(names, ROWS.iter().map(|row| row.name).collect::<Vec<_>>());
        for (name, schema) in ROWS.iter().flat_map(|row| row.facts.unwrap_or_default()) {
            assert!(serde_json::from_str::<Value>(schema).unwrap().is_object(), "{name}");
        }
    }

    #[test]
    fn the_text_is_part_of_the_data_and_what_else_there_is_is_chosen() {
        let output = ToolOutput::text("hello").with_structured(json!({ "exit_code": 0, "stdout": "hello" }));
        let reply = reply("shell", output.clone());
        assert_eq!(reply.structured, Some(json!({ "text": "hello", "exit_code": 0 })));
        assert_eq!(super::reply("read_file", output).structured, None);
    }
}

//! Summarizes a tool call on one line.

use runtime::{ToolCall, ToolPayload, Value};

use terminal::to_one_line;

/// Maximum number of characters.
const MAX_TITLE_CHARS: usize = 100;
/// Arguments that describe a call, the most telling first.
const DESCRIPTIVE_ARGUMENTS: &[&str] = &[
    "cmd", "command", "path", "file_path", "dir_path", "pattern", "query", "chars", "url", "question", "name",
];

/// Arguments that are shown elsewhere.
const OMITTED_ARGUMENTS: &[&str] = &["steps", "plan", "questions"];

/// Returns the tool's name and a summary of its arguments.
pub fn title(call: &ToolCall) -> String {
    let name: String = call.name.chars().take(MAX_TITLE_CHARS).collect();
    format!("{} {}", to_one_line(&name), summarize_arguments(call)).trim_end().to_owned()
}

/// Summarizes the arguments of a call. Empty if they say nothing.
pub fn summarize_arguments(call: &ToolCall) -> String {
    let about = match &call.payload {
        ToolPayload::Custom { input } => patched_files(input),
        payload => summarize_json(&payload.arguments()),
    };
    let short: String = about.chars().take(MAX_TITLE_CHARS).collect();
    let more = if about.chars().nth(MAX_TITLE_CHARS).is_some() { "…" } else { "" };
    to_one_line(format!("{short}{more}").trim_end())
}

fn summarize_json(text: &str) -> String {
    let Ok(Value::Object(arguments)) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let description = DESCRIPTIVE_ARGUMENTS.iter().find_map(|name| match arguments.get(*name)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        _ => None,
    });
    if let Some(input) = arguments.get("input").and_then(Value::as_str) {
        return patched_files(input);
    }
    match description {
        Some(description) => description.lines().next().unwrap_or_default().to_owned(),
        None if arguments.is_empty()
            || OMITTED_ARGUMENTS.iter().any(|name| arguments.contains_key(*name)) =>
        {
            String::new()
        }
        None => text.to_owned(),
    }
}

/// Returns the files that a patch names.
fn patched_files(patch: &str) -> String {
    let named = patch.lines().filter_map(|line| {
        let rest = line.strip_prefix("*** ")?;
        let (_, file) = rest.split_once(" File: ")?;
        Some(file.trim())
    });
    let files: Vec<&str> = named.take(20).collect();
    if files.is_empty() { patch.lines().next().unwrap_or_default().to_owned() } else { files.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_in_a_line() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n*** Add File: b\x1b.rs\n+x\n*** End Patch";
        let custom = ToolPayload::Custom { input: patch.to_owned() };
        let rows = [
            (
                ToolCall::function("1", "exec_command", r#"{"cmd": "cargo test\nrm x"}"#),
                "exec_command cargo test",
            ),
            (
                ToolCall::function("1", "read_file", r#"{"path": "src/lib.rs", "start_line": 3}"#),
                "read_file src/lib.rs",
            ),
            (ToolCall::function("1", "update_plan", r#"{"steps": []}"#), "update_plan"),
            (ToolCall::function("1", "x", r#"{"a": 1}"#), r#"x {"a": 1}"#),
            (
                ToolCall { id: "1".into(), name: "apply_patch".to_owned(), payload: custom },
                "apply_patch a.rs, b\\u{1b}.rs",
            ),
        ];
        for (call, expected) in rows {
            assert_eq!(title(&call), expected);
        }
        let long = ToolCall::function("1", "x", format!("{{\"cmd\": \"{}\"}}", "é".repeat(200)));
        assert_eq!(title(&long).chars().count(), 103);
    }
}

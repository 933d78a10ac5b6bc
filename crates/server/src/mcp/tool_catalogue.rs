//! The tool list for MCP clients: specs with titles and hints; and the structured data of answers.
//!
//! The model reads the text of an answer. Clients that get data as `structuredContent` show it to the model
//! instead of the text, as one line of JSON (Claude Code does). So the data goes into `_meta`, which only
//! programs read.

use ::mcp::serve::{HostReply, HostTool, ToolHints};
use runtime::wire::mcp_tools;
use runtime::{OutputItem, ToolOutput, ToolSpec};
use serde_json::{Map, Value};

/// The catalogue entry of one tool.
struct CatalogueRow {
    name: &'static str,
    title: &'static str,
    hints: ToolHints,
    /// The structured data of its answers that clients get beside the text.
    facts: &'static [&'static str],
}

const READ_HINTS: ToolHints =
    ToolHints { read_only: true, destructive: false, idempotent: true, open_world: false };
const EDIT_HINTS: ToolHints =
    ToolHints { read_only: false, destructive: true, idempotent: false, open_world: false };
const END_HINTS: ToolHints =
    ToolHints { read_only: false, destructive: true, idempotent: true, open_world: false };
const RUN_HINTS: ToolHints =
    ToolHints { read_only: false, destructive: true, idempotent: false, open_world: true };

const COMMAND_FACTS: &[&str] = &["exit_code", "signal", "session_id", "wall_time_seconds"];
const SEARCH_FACTS: &[&str] = &["matches", "files", "complete"];
const PATCH_FACTS: &[&str] = &["changes"];
const SESSION_FACTS: &[&str] = &["sessions"];

const CATALOGUE: &[CatalogueRow] = &[
    CatalogueRow { name: "apply_patch", title: "Apply a patch", hints: EDIT_HINTS, facts: PATCH_FACTS },
    CatalogueRow { name: "exec_command", title: "Start a command", hints: RUN_HINTS, facts: COMMAND_FACTS },
    CatalogueRow { name: "grep_files", title: "Search files", hints: READ_HINTS, facts: SEARCH_FACTS },
    CatalogueRow { name: "kill_session", title: "End a command", hints: END_HINTS, facts: COMMAND_FACTS },
    CatalogueRow { name: "list_dir", title: "List a directory", hints: READ_HINTS, facts: &[] },
    CatalogueRow {
        name: "list_sessions",
        title: "List running commands",
        hints: READ_HINTS,
        facts: SESSION_FACTS,
    },
    CatalogueRow { name: "read_file", title: "Read a file", hints: READ_HINTS, facts: &[] },
    CatalogueRow { name: "shell", title: "Run a program", hints: RUN_HINTS, facts: COMMAND_FACTS },
    CatalogueRow {
        name: "shell_command",
        title: "Run a shell command",
        hints: RUN_HINTS,
        facts: COMMAND_FACTS,
    },
    CatalogueRow { name: "update_plan", title: "Update the plan", hints: READ_HINTS, facts: &[] },
    CatalogueRow { name: "view_image", title: "View an image", hints: READ_HINTS, facts: &[] },
    CatalogueRow {
        name: "write_stdin",
        title: "Type into a command",
        hints: RUN_HINTS,
        facts: COMMAND_FACTS,
    },
];

fn find_row(name: &str) -> Option<&'static CatalogueRow> {
    CATALOGUE.iter().find(|row| row.name == name)
}

/// Returns true if calls of `tool` may change files. A tool of another server may.
pub(super) fn may_change_files(tool: &str) -> bool {
    find_row(tool).is_none_or(|row| !row.hints.read_only)
}

/// Converts tool specs into the offers that clients list.
pub(super) fn tool_offers(specs: &[ToolSpec]) -> Vec<HostTool> {
    let specs: Vec<&ToolSpec> = specs.iter().collect();
    let Value::Array(listed) = mcp_tools(&specs) else { return Vec::new() };
    let offer = |mut tool: Value| {
        let name = tool["name"].as_str()?.to_owned();
        let Value::Object(input) = tool["inputSchema"].take() else { return None };
        let description = tool["description"].as_str().unwrap_or_default().to_owned();
        let row = find_row(&name);
        Some(HostTool {
            title: row.map(|row| row.title.to_owned()),
            hints: row.map(|row| row.hints),
            output_schema: None,
            name,
            description,
            input_schema: input,
        })
    };
    listed.into_iter().filter_map(offer).collect()
}

/// Converts an answer of `tool` into the reply for a client.
pub(super) fn reply_for_client(tool: &str, mut output: ToolOutput) -> HostReply {
    let data = output.structured.take().unwrap_or_default();
    let known = find_row(tool).map_or(&[][..], |row| row.facts).iter();
    let facts = known.filter_map(|&name| Some((name.to_owned(), data.get(name)?.clone())));
    let facts: Map<String, Value> = facts.collect();
    let data = (!facts.is_empty()).then_some(Value::Object(facts));
    move_refusal_to_end(&mut output);
    HostReply { data, ..HostReply::from(output) }
}

/// Moves the reason of a refusal from the head of a failed command's report to its end: Codex shows a person the last
/// three lines of a call. A program may print such a line too; it could deceive about its own refusal only.
fn move_refusal_to_end(output: &mut ToolOutput) {
    let denials = output.facts.denials.iter().chain(&output.facts.suspected_denial);
    let reasons: Vec<String> = denials.map(ToString::to_string).collect();
    if output.success || reasons.is_empty() {
        return;
    }
    let last = output.items.len().saturating_sub(1);
    if let Some(OutputItem::Text(report)) = output.items.last_mut() {
        // The report's head comes before the output, so the first line with a reason is its own.
        let is_reason = |line: &&str| reasons.iter().any(|reason| line.contains(reason));
        if let Some(line) = report.lines().find(is_reason).map(str::to_owned) {
            *report = report.replacen(&format!("{line}\n"), "", 1);
            if !report.ends_with(&line) {
                *report = format!("{}\n{line}", report.trim_end_matches('\n'));
            }
        }
    }
    // What the user refused stands before the report.
    output.items.rotate_left(last);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_tool_of_ours_has_a_row() {
        let toolgate = runtime::Toolgate::at("/").with_tools().build().unwrap();
        let callable = toolgate.router().registry().callable_specs();
        let names: Vec<&str> = callable.iter().map(ToolSpec::name).collect();
        assert_eq!(names, CATALOGUE.iter().map(|row| row.name).collect::<Vec<_>>());
    }

    #[test]
    fn the_reason_of_a_refusal_is_the_last_line_of_a_failed_call() {
        let denial = runtime::Denial::NotStated { path: "/etc/x".into() };
        let report =
            format!("Process exited with code 1\nRefused by the sandbox: {denial}; a hint\nOutput:\nno\n");
        let mut failed = ToolOutput::failure(report.clone());
        failed.facts.denials = vec![denial.clone()];
        let text = |output: &ToolOutput| {
            let pieces = reply_for_client("exec_command", output.clone()).pieces;
            let texts = pieces.into_iter().map(|piece| match piece {
                ::mcp::serve::ReplyPiece::Text(text) => text,
                other => panic!("{other:?}"),
            });
            texts.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(text(&failed), @"
        Process exited with code 1
        Output:
        no
        Refused by the sandbox: `/etc/x` may not be opened: the call did not state it beforehand; a hint
        ");
        assert_eq!(text(&failed).len() + 1, report.len(), "no longer for the model");
        failed
            .items
            .insert(0, OutputItem::Text("The user was asked to let it write, and said no.".to_owned()));
        insta::assert_snapshot!(text(&failed), @"
        Process exited with code 1
        Output:
        no
        Refused by the sandbox: `/etc/x` may not be opened: the call did not state it beforehand; a hint
        The user was asked to let it write, and said no.
        ");
        failed.success = true;
        assert!(
            text(&failed).ends_with("Output:\nno\n"),
            "a command that succeeded was refused nothing that matters"
        );
        let refused = ToolOutput { success: false, ..ToolOutput::failure(format!("blocked: {denial}")) };
        assert_eq!(text(&refused), format!("blocked: {denial}"));
    }

    #[test]
    fn data_is_for_programs_and_the_text_for_the_model() {
        let output = ToolOutput::text("hello").with_structured(json!({ "exit_code": 0, "stdout": "hello" }));
        let reply = reply_for_client("shell", output.clone());
        assert_eq!((reply.structured, reply.data), (None, Some(json!({ "exit_code": 0 }))));
        assert_eq!(reply_for_client("read_file", output).data, None);
    }
}

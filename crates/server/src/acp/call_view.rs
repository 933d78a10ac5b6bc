//! Converts a tool call into the view that an editor shows: title, icon, files and content.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use runtime::patch::{self, EditAction, ParsedPatch};
use runtime::{OutputItem, ToolCall, ToolOutput, ToolPayload, WorkingDir};
use serde_json::{Value, json};

use super::protocol::{
    ContentBlock, ToolCallContent, ToolCallKind, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    fenced_block,
};
use session::call_title::summarize_arguments;

/// The tool whose calls are shown only as a plan.
pub(super) const PLAN_TOOL: &str = "update_plan";
/// Maximum number of files in a view.
const MAX_FILES: usize = 20;
/// Arguments that name a file.
const PATH_ARGUMENTS: [&str; 3] = ["path", "file_path", "dir_path"];
/// Arguments that name a line in that file.
const LINE_ARGUMENTS: [&str; 2] = ["start_line", "line"];

/// Returns the view of a new call; `id` is the call's id in the editor.
pub(super) fn started_view(id: String, call: &ToolCall, cwd: &Path) -> ToolCallUpdate {
    ToolCallUpdate {
        tool_call_id: id,
        title: Some(title(call)),
        kind: Some(kind_of_call(call)),
        status: Some(ToolCallStatus::Pending),
        content: None,
        locations: Some(locations(call, cwd)),
        raw_input: Some(arguments_json(call)),
    }
}

/// Returns the update for an answered call.
pub(super) fn finished_view(id: String, output: &ToolOutput) -> ToolCallUpdate {
    let content = output.items.iter().map(|item| ToolCallContent::Content {
        content: match item {
            OutputItem::Text(text) => fenced_block("", text),
            OutputItem::Image(image) => {
                ContentBlock::Image { data: STANDARD.encode(&image.bytes), mime_type: image.mime.to_owned() }
            }
        },
    });
    let status = Some(if output.success { ToolCallStatus::Completed } else { ToolCallStatus::Failed });
    ToolCallUpdate { tool_call_id: id, status, content: Some(content.collect()), ..ToolCallUpdate::default() }
}

/// Describes the call in plain words.
pub(super) fn title(call: &ToolCall) -> String {
    if let ToolPayload::Mcp { server, tool, .. } = &call.payload {
        return terminal::to_one_line(&format!("{server}: {tool}"));
    }
    let verb = match call.name.as_str() {
        "read_file" => "Read",
        "list_dir" => "List",
        "view_image" => "Look at",
        "grep_files" | "search" => "Search for",
        "apply_patch" | "applypatch" | "edit_file" | "write_file"
            if edit_kind(call) == ToolCallKind::Delete =>
        {
            "Delete"
        }
        "apply_patch" | "applypatch" | "edit_file" | "write_file" => "Edit",
        "exec_command" | "shell" | "shell_command" | "local_shell" | "container.exec" => "Run",
        "write_stdin" => "Type",
        "kill_session" => "Stop a command",
        "list_sessions" => "List the commands that run",
        "request_user_input" => "Ask",
        "remember" => "Remember",
        "get_memory" | "list_memories" => "Recall",
        other => other,
    };
    format!("{} {}", terminal::to_one_line(verb), summarize_arguments(call)).trim_end().to_owned()
}

/// Returns the icon of the call.
pub(super) fn kind_of_call(call: &ToolCall) -> ToolCallKind {
    match call.name.as_str() {
        "read_file" | "list_dir" | "view_image" | "get_memory" | "list_memories" => ToolCallKind::Read,
        "grep_files" | "search" | "tool_search" => ToolCallKind::Search,
        "apply_patch" | "applypatch" | "edit_file" | "write_file" => edit_kind(call),
        "exec_command" | "shell" | "shell_command" | "local_shell" | "container.exec" | "write_stdin"
        | "kill_session" | "list_sessions" => ToolCallKind::Execute,
        _ => ToolCallKind::Other,
    }
}

/// Returns `ToolCallKind::Delete` for a patch that only deletes files, else `ToolCallKind::Edit`.
fn edit_kind(call: &ToolCall) -> ToolCallKind {
    let only_deletes =
        |patch: &ParsedPatch| patch.edits.iter().all(|edit| matches!(edit.action, EditAction::Delete { .. }));
    match patch::parse(&call.payload.arguments()) {
        Ok(patch) if only_deletes(&patch) => ToolCallKind::Delete,
        Ok(_) | Err(_) => ToolCallKind::Edit,
    }
}

/// Returns the arguments that the model sent.
fn arguments_json(call: &ToolCall) -> Value {
    match &call.payload {
        ToolPayload::Custom { input } => json!({ "input": input }),
        payload => {
            let text = payload.arguments();
            serde_json::from_str(&text).unwrap_or_else(|_| json!({ "arguments": text }))
        }
    }
}

/// Returns the files that the arguments of the call name.
fn locations(call: &ToolCall, cwd: &Path) -> Vec<ToolCallLocation> {
    let working_dir = WorkingDir { cwd: cwd.to_owned() };
    let at = |path: &str| -> Option<PathBuf> { working_dir.resolve_path("path", path).ok() };
    let changed = match kind_of_call(call) {
        ToolCallKind::Edit | ToolCallKind::Delete => patch::parse(&call.payload.arguments()).ok(),
        ToolCallKind::Read
        | ToolCallKind::Search
        | ToolCallKind::Execute
        | ToolCallKind::Fetch
        | ToolCallKind::Other => None,
    };
    if let Some(patch) = changed {
        let mut paths: Vec<PathBuf> = patch.paths().filter_map(at).collect();
        paths.dedup();
        return paths.into_iter().take(MAX_FILES).map(|path| ToolCallLocation { path, line: None }).collect();
    }
    let arguments = arguments_json(call);
    let path = PATH_ARGUMENTS.iter().find_map(|name| at(arguments[*name].as_str()?));
    let line = LINE_ARGUMENTS.iter().find_map(|name| arguments[*name].as_u64());
    path.map(|path| ToolCallLocation { path, line }).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_in_plain_words_with_its_files() {
        let function = |name: &str, arguments: &str| ToolCall::function("1", name, arguments);
        let patch =
            "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: /w/b.rs\n+x\n*** End Patch";
        let custom = |input: &str| {
            let payload = ToolPayload::Custom { input: input.to_owned() };
            ToolCall { id: "1".into(), name: "apply_patch".to_owned(), payload }
        };
        let mcp = ToolPayload::Mcp { server: "git".into(), tool: "log".into(), arguments: "{}".into() };
        let rows = [
            (
                function("exec_command", r#"{"cmd": "cargo test"}"#),
                "Run cargo test",
                ToolCallKind::Execute,
                "",
            ),
            (
                function("read_file", r#"{"path": "src/lib.rs", "start_line": 3}"#),
                "Read src/lib.rs",
                ToolCallKind::Read,
                "/w/src/lib.rs:3",
            ),
            (
                function("grep_files", r#"{"pattern": "x", "path": ".."}"#),
                "Search for ..",
                ToolCallKind::Search,
                "/",
            ),
            (custom(patch), "Edit a.rs, /w/b.rs", ToolCallKind::Edit, "/w/a.rs /w/b.rs"),
            (
                ToolCall { id: "1".into(), name: "mcp__git__log".to_owned(), payload: mcp },
                "git: log",
                ToolCallKind::Other,
                "",
            ),
            (
                custom("*** Begin Patch\n*** Delete File: a.rs\n*** End Patch"),
                "Delete a.rs",
                ToolCallKind::Delete,
                "/w/a.rs",
            ),
            (function("x\u{1b}", "no json"), "x\\u{1b} no json", ToolCallKind::Other, ""),
        ];
        for (call, title, kind, files) in rows {
            let view = started_view("1".to_owned(), &call, Path::new("/w"));
            let shown =
                view.locations.unwrap_or_default().into_iter().map(|ToolCallLocation { path, line }| {
                    line.map_or(path.display().to_string(), |line| format!("{}:{line}", path.display()))
                });
            let shown: Vec<String> = shown.collect();
            assert_eq!(
                (view.title.as_deref(), view.kind, shown.join(" ").as_str()),
                (Some(title), Some(kind), files)
            );
        }
    }
}

//! The settings files of each agent that `toolgate mcp setup` knows, and what is set in them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use config::OperationFault;
use serde_json::{Value, json};

use super::edit_settings::{FileSetting, SettingValue, SettingsFormat};
use crate::args::{McpSetupArgs, SetupAgent};

/// Tools of Claude Code that run programs, read or change files, or start agents with these tools.
const CLAUDE_OWN_TOOLS: &[&str] = &[
    "Bash", "Edit", "Write", "NotebookEdit", "Read", "Glob", "Grep", "Agent", "Workflow", "WebFetch",
    "WebSearch", "CronCreate", "CronDelete", "CronList", "EnterWorktree", "ExitWorktree",
];

/// Extensions of goose that run programs or change files, or that can switch such an extension on.
const GOOSE_OWN_EXTENSIONS: &[&str] =
    &["developer", "extensionmanager", "analyze", "apps", "summon", "skills"];

/// Tools of Zed's agent that run programs, read or change files.
const ZED_OWN_TOOLS: &[&str] = &[
    "copy_path", "create_directory", "delete_path", "diagnostics", "edit_file", "fetch", "find_path", "grep",
    "list_directory", "move_path", "read_file", "terminal", "write_file",
];

/// Toolgate's tools that do the work of those.
const OFFERED_TOOLS: &[&str] = &[
    "apply_patch", "exec_command", "grep_files", "kill_session", "list_dir", "list_sessions", "read_file",
    "write_stdin",
];

/// The longest call that agents wait for: ten minutes for an answer, and time for the work.
const CALL_TIMEOUT: Duration = Duration::from_secs(900);

/// A settings file of an agent, and its new settings.
pub(super) struct AgentFile {
    pub(super) path: PathBuf,
    pub(super) format: SettingsFormat,
    pub(super) settings: Vec<FileSetting>,
}

/// The directories in which agents keep their settings.
pub(super) struct AgentDirs {
    pub(super) home: PathBuf,
    pub(super) project: PathBuf,
    /// `CODEX_HOME`, if it is set.
    pub(super) codex: Option<PathBuf>,
}

fn set(keys: &[&'static str], value: Value) -> FileSetting {
    FileSetting { keys: keys.to_vec(), value: SettingValue::Set(value) }
}

fn add(keys: &[&'static str], texts: &'static [&'static str]) -> FileSetting {
    FileSetting { keys: keys.to_vec(), value: SettingValue::Add(texts) }
}

/// The settings of an agent that a setup can change.
enum SettingsScope {
    /// Those of a project, or with `--user` those of the user.
    ProjectOrUser,
    Project,
    /// Those of the user, with and without `--user`.
    User,
}

fn settings_scope(agent: SetupAgent) -> SettingsScope {
    match agent {
        SetupAgent::Claude | SetupAgent::Cursor => SettingsScope::ProjectOrUser,
        SetupAgent::Vscode => SettingsScope::Project,
        SetupAgent::Codex | SetupAgent::Zed | SetupAgent::Goose => SettingsScope::User,
    }
}

/// Refuses a scope that the agent does not have in a file.
pub(super) fn check_scope(args: &McpSetupArgs) -> Result<(), OperationFault> {
    match settings_scope(args.agent) {
        SettingsScope::Project if args.user => {
            let agent = args.agent.as_str();
            Err(OperationFault::usage(format!(
                "`{agent}` can be set up for a project only, not for the user"
            ))
            .with_hint(format!("run `toolgate mcp setup {agent}` in each project, without --user")))
        }
        SettingsScope::Project | SettingsScope::ProjectOrUser | SettingsScope::User => Ok(()),
    }
}

/// Returns the files to change for the chosen agent; `program` is the path of this program.
pub(super) fn files_for(args: &McpSetupArgs, dirs: &AgentDirs, program: &Path) -> Vec<AgentFile> {
    let in_project = match settings_scope(args.agent) {
        SettingsScope::ProjectOrUser => !args.user,
        SettingsScope::Project => true,
        SettingsScope::User => false,
    };
    // A project's file is shared with other machines; agents with a window often have another PATH than a shell.
    let command = if in_project { "toolgate".to_owned() } else { program.display().to_string() };
    let mut call = vec!["mcp", "--sandbox", args.sandbox.as_str()];
    if args.agent == SetupAgent::Vscode {
        call.extend(["--cwd", "${workspaceFolder}"]);
    }
    let server = json!({ "command": command, "args": call });
    let own = args.keep_own_tools;
    let base = if args.user { &dirs.home } else { &dirs.project };
    let file = |path: PathBuf, format, settings| vec![AgentFile { path, format, settings }];
    match args.agent {
        SetupAgent::Codex => {
            let directory = dirs.codex.clone().unwrap_or_else(|| dirs.home.join(".codex"));
            file(directory.join("config.toml"), SettingsFormat::Toml, codex_settings(&command, &call, own))
        }
        SetupAgent::Claude => claude_files(args, base, server),
        SetupAgent::Cursor => {
            let settings = vec![set(&["mcpServers", "toolgate"], server)];
            file(base.join(".cursor/mcp.json"), SettingsFormat::Json, settings)
        }
        SetupAgent::Vscode => {
            let server = json!({ "type": "stdio", "command": command, "args": call });
            let settings = vec![set(&["servers", "toolgate"], server)];
            file(dirs.project.join(".vscode/mcp.json"), SettingsFormat::Json, settings)
        }
        SetupAgent::Zed => {
            let path = dirs.home.join(".config/zed/settings.json");
            file(path, SettingsFormat::Json, zed_settings(&server, own))
        }
        SetupAgent::Goose => {
            let path = dirs.home.join(".config/goose/config.yaml");
            file(path, SettingsFormat::Yaml, goose_settings(&command, &call, own))
        }
    }
}

fn claude_files(args: &McpSetupArgs, base: &Path, mut server: Value) -> Vec<AgentFile> {
    let (servers, settings) = match args.user {
        true => (".claude.json", ".claude/settings.json"),
        false => (".mcp.json", ".claude/settings.local.json"),
    };
    let mut permissions = vec![add(&["permissions", "allow"], &["mcp__toolgate"])];
    if !args.user {
        permissions.push(add(&["enabledMcpjsonServers"], &["toolgate"]));
    }
    if !args.keep_own_tools {
        permissions.push(add(&["permissions", "deny"], CLAUDE_OWN_TOOLS));
    }
    // Otherwise Claude Code hides the tools behind a search, and ends a call whose question waits for long.
    server["alwaysLoad"] = json!(true);
    server["timeout"] = json!(CALL_TIMEOUT.as_secs() * 1000);
    let file = |path: &str, settings| AgentFile {
        path: base.join(path),
        format: SettingsFormat::StrictJson,
        settings,
    };
    vec![file(servers, vec![set(&["mcpServers", "toolgate"], server)]), file(settings, permissions)]
}

fn codex_settings(command: &str, call: &[&str], own: bool) -> Vec<FileSetting> {
    const SERVER: [&str; 2] = ["mcp_servers", "toolgate"];
    let server = |key: &'static str, value| set(&[SERVER[0], SERVER[1], key], value);
    let mut settings = vec![
        server("command", json!(command)),
        server("args", json!(call)),
        // Codex does not ask about these tools, because Toolgate does.
        server("default_tools_approval_mode", json!("approve")),
        // Otherwise Codex hides the tools behind a search.
        server("omit_tools_from", json!(["deferred"])),
        server("required", json!(true)),
        server("tool_timeout_sec", json!(CALL_TIMEOUT.as_secs())),
    ];
    if !own {
        settings.push(set(&["features", "shell_tool"], json!(false)));
        // Codex's own apply_patch cannot be switched off. With these two it is refused without a question.
        settings.push(set(&["sandbox_mode"], json!("read-only")));
        let granular = json!({ "sandbox_approval": false, "rules": false, "mcp_elicitations": true });
        settings.push(set(&["approval_policy"], json!({ "granular": granular })));
    }
    settings
}

fn zed_settings(server: &Value, own: bool) -> Vec<FileSetting> {
    let mut entry = server.clone();
    entry["env"] = json!({});
    let mut settings = vec![set(&["context_servers", "toolgate"], entry)];
    if !own {
        let off: serde_json::Map<String, Value> =
            ZED_OWN_TOOLS.iter().map(|tool| ((*tool).to_owned(), json!(false))).collect();
        let on: serde_json::Map<String, Value> =
            OFFERED_TOOLS.iter().map(|tool| ((*tool).to_owned(), json!(true))).collect();
        let profile = json!({
            "name": "Toolgate", "tools": off, "enable_all_context_servers": false,
            "context_servers": { "toolgate": { "tools": on } },
        });
        settings.push(set(&["agent", "profiles", "toolgate"], profile));
    }
    settings
}

fn goose_settings(command: &str, call: &[&str], own: bool) -> Vec<FileSetting> {
    let server = |key: &'static str, value| set(&["extensions", "toolgate", key], value);
    let mut settings = vec![
        // Otherwise goose asks about each call too.
        set(&["GOOSE_MODE"], json!("auto")),
        server("enabled", json!(true)),
        server("type", json!("stdio")),
        server("name", json!("toolgate")),
        server("description", json!("Sandboxed tools")),
        server("cmd", json!(command)),
        server("args", json!(call)),
        server("timeout", json!(CALL_TIMEOUT.as_secs())),
    ];
    for name in GOOSE_OWN_EXTENSIONS.iter().filter(|_| !own) {
        settings.push(set(&["extensions", name, "enabled"], json!(false)));
        settings.push(set(&["extensions", name, "type"], json!("platform")));
        settings.push(set(&["extensions", name, "name"], json!(name)));
    }
    settings
}

/// Returns what the user must know about the agent after the setup.
pub(super) fn advice_for(agent: SetupAgent) -> &'static [&'static str] {
    match agent {
        SetupAgent::Codex => &[
            "Codex shows Toolgate's questions as a form; `codex exec` shows none: keep `toolgate approve` open",
            "Codex's own apply_patch stays, and is refused by its read-only sandbox",
        ],
        SetupAgent::Claude => &[
            "Claude Code asks once whether you trust this directory: it names the tools of toolgate there",
            "`claude -p` shows no questions: keep `toolgate approve` open beside it",
        ],
        SetupAgent::Cursor => &[
            "Cursor's own terminal and edit tools stay: ask it to use the tools of toolgate",
            "Cursor may ask about each tool once more: allow `toolgate` in its settings",
        ],
        SetupAgent::Vscode => &[
            "VS Code's own tools stay, unless you choose toolgate alone in the tool picker of the chat",
            "it asks about each tool once more: choose to allow the tools of this server always",
        ],
        SetupAgent::Zed => &[
            "choose the profile Toolgate in the agent panel: Zed's own tools are off in it",
            "Zed shows no questions of servers: keep `toolgate approve` open beside it",
        ],
        SetupAgent::Goose => &["`goose run` shows no questions: keep `toolgate approve` open beside it"],
    }
}

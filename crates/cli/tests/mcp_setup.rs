//! Tests of `toolgate mcp setup`: the settings of each agent, the diff, the confirmation and the way back.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests start real programs, look at real files, and may unwrap"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use support::{CommandRun, TestHome};

const AGENTS: [&str; 6] = ["codex", "claude", "cursor", "vscode", "zed", "goose"];

struct SetupFixture {
    home: TestHome,
    project: tempfile::TempDir,
}

impl SetupFixture {
    fn new() -> Self {
        Self { home: TestHome::new(), project: tempfile::tempdir().unwrap() }
    }

    fn run(&self, arguments: &[&str]) -> CommandRun {
        self.run_in(self.project.path(), arguments)
    }

    fn run_in(&self, project: &Path, arguments: &[&str]) -> CommandRun {
        self.home.run(project, &[&["mcp", "setup"], arguments].concat(), "")
    }

    /// Runs a setup that must succeed, and returns its stderr.
    fn set_up(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(0), "{arguments:?}: {}", ran.err);
        ran.err
    }

    /// Returns all files of the home and the project, but for Toolgate's state, each with its text.
    fn files(&self) -> Vec<(PathBuf, String)> {
        let mut files = Vec::new();
        for root in [self.home.path(), self.project.path()] {
            let first = files.len();
            list_files(root, &mut files);
            files[first..].sort();
        }
        files.retain(|(path, _)| !path.starts_with(self.home.path().join(".local")));
        files
    }

    /// Returns the files as one text, with stable paths.
    fn rendered_files(&self) -> String {
        let mut text = String::new();
        for (path, content) in self.files() {
            text += &format!("== {}\n{content}", path.display());
        }
        let program = env!("CARGO_BIN_EXE_toolgate");
        let project = self.project.path().display().to_string();
        text.replace(program, "PROGRAM")
            .replace(&project, "PROJECT")
            .replace(&self.home.path().display().to_string(), "HOME")
    }
}

fn list_files(directory: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list_files(&path, files);
        } else {
            files.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn codex_loses_its_shell_and_asks_nothing_itself() {
    let world = SetupFixture::new();
    world.set_up(&["codex", "--yes"]);
    assert_snapshot!(world.rendered_files(), @r#"
    == HOME/.codex/config.toml
    sandbox_mode = "read-only"
    approval_policy = { granular = { mcp_elicitations = true, rules = false, sandbox_approval = false } }

    [mcp_servers.toolgate]
    command = "PROGRAM"
    args = ["mcp", "--sandbox", "workspace-write"]
    default_tools_approval_mode = "approve"
    omit_tools_from = ["deferred"]
    required = true
    tool_timeout_sec = 900

    [features]
    shell_tool = false
    "#);
}

#[test]
fn claude_code_loses_its_own_tools_in_this_project() {
    let world = SetupFixture::new();
    world.set_up(&["claude", "--yes"]);
    assert_snapshot!(world.rendered_files(), @r#"
    == PROJECT/.claude/settings.local.json
    {
      "permissions": {
        "allow": ["mcp__toolgate"],
        "deny": ["Bash", "Edit", "Write", "NotebookEdit", "Read", "Glob", "Grep", "Agent", "Workflow", "WebFetch", "WebSearch", "CronCreate", "CronDelete", "CronList", "EnterWorktree", "ExitWorktree"]
      },
      "enabledMcpjsonServers": ["toolgate"]
    }
    == PROJECT/.mcp.json
    {
      "mcpServers": {
        "toolgate": {
          "alwaysLoad": true,
          "args": ["mcp", "--sandbox", "workspace-write"],
          "command": "toolgate",
          "timeout": 900000
        }
      }
    }
    "#);
}

#[test]
fn own_tools_stay_on_request() {
    let world = SetupFixture::new();
    for agent in ["codex", "claude", "goose"] {
        world.set_up(&[agent, "--keep-own-tools", "--yes", "--sandbox", "read-only"]);
    }
    assert_snapshot!(world.rendered_files(), @r#"
    == HOME/.codex/config.toml
    [mcp_servers.toolgate]
    command = "PROGRAM"
    args = ["mcp", "--sandbox", "read-only"]
    default_tools_approval_mode = "approve"
    omit_tools_from = ["deferred"]
    required = true
    tool_timeout_sec = 900
    == HOME/.config/goose/config.yaml
    GOOSE_MODE: auto
    extensions:
      toolgate:
        enabled: true
        type: stdio
        name: toolgate
        description: Sandboxed tools
        cmd: "PROGRAM"
        args: ["mcp","--sandbox","read-only"]
        timeout: 900
    == PROJECT/.claude/settings.local.json
    {
      "permissions": {
        "allow": ["mcp__toolgate"]
      },
      "enabledMcpjsonServers": ["toolgate"]
    }
    == PROJECT/.mcp.json
    {
      "mcpServers": {
        "toolgate": {
          "alwaysLoad": true,
          "args": ["mcp", "--sandbox", "read-only"],
          "command": "toolgate",
          "timeout": 900000
        }
      }
    }
    "#);
}

#[test]
fn editors_get_the_server_in_their_own_form() {
    let world = SetupFixture::new();
    for agent in ["cursor", "vscode", "zed"] {
        world.set_up(&[agent, "--yes"]);
    }
    assert_snapshot!(world.rendered_files(), @r#"
    == HOME/.config/zed/settings.json
    {
      "context_servers": {
        "toolgate": {
          "args": ["mcp", "--sandbox", "workspace-write"],
          "command": "PROGRAM",
          "env": {}
        }
      },
      "agent": {
        "profiles": {
          "toolgate": {
            "context_servers": {
              "toolgate": {
                "tools": {
                  "apply_patch": true,
                  "exec_command": true,
                  "grep_files": true,
                  "kill_session": true,
                  "list_dir": true,
                  "list_sessions": true,
                  "read_file": true,
                  "write_stdin": true
                }
              }
            },
            "enable_all_context_servers": false,
            "name": "Toolgate",
            "tools": {
              "copy_path": false,
              "create_directory": false,
              "delete_path": false,
              "diagnostics": false,
              "edit_file": false,
              "fetch": false,
              "find_path": false,
              "grep": false,
              "list_directory": false,
              "move_path": false,
              "read_file": false,
              "terminal": false,
              "write_file": false
            }
          }
        }
      }
    }
    == PROJECT/.cursor/mcp.json
    {
      "mcpServers": {
        "toolgate": {
          "args": ["mcp", "--sandbox", "workspace-write"],
          "command": "toolgate"
        }
      }
    }
    == PROJECT/.vscode/mcp.json
    {
      "servers": {
        "toolgate": {
          "args": ["mcp", "--sandbox", "workspace-write", "--cwd", "${workspaceFolder}"],
          "command": "toolgate",
          "type": "stdio"
        }
      }
    }
    "#);
}

#[test]
fn a_setup_is_written_once_and_taken_back_completely() {
    let world = SetupFixture::new();
    let config = world.home.path().join(".codex/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "# mine\nmodel = \"m\"\n").unwrap();
    let before = world.files();
    for agent in AGENTS {
        let dry = world.run(&[agent, "--dry-run"]);
        assert!(dry.code == Some(0) && dry.out.contains("+++"), "{agent}: the diff is shown");
        assert_eq!(world.files(), before, "{agent}: --dry-run writes nothing");
        world.set_up(&[agent, "--yes"]);
        assert_ne!(world.files(), before, "{agent}");
        assert!(world.set_up(&[agent, "--yes"]).contains("it is set up already"), "{agent}");
        world.set_up(&[agent, "--undo", "--yes"]);
        assert_eq!(world.files(), before, "{agent}: it is taken back");
        assert!(world.set_up(&[agent, "--undo", "--yes"]).contains("nothing to take back"), "{agent}");
    }
}

#[test]
fn each_agent_is_set_up_only_where_it_reads_its_settings() {
    for (agent, project, user) in [
        ("codex", "user", "user"),
        ("claude", "project", "user"),
        ("cursor", "project", "user"),
        ("vscode", "project", "refused"),
        ("zed", "user", "user"),
        ("goose", "user", "user"),
    ] {
        for (flags, expected) in [(&[][..], project), (&["--user"], user)] {
            let fixture = SetupFixture::new();
            let ran = fixture.run(&[&[agent, "--yes"], flags].concat());
            let written = fixture.files();
            let below = |root: &Path| written.iter().all(|(path, _)| path.starts_with(root));
            match expected {
                "refused" => {
                    assert_eq!((ran.code, written.len()), (Some(2), 0), "{agent}");
                    assert_snapshot!(ran.err, @"
                    error: `vscode` can be set up for a project only, not for the user
                    hint: run `toolgate mcp setup vscode` in each project, without --user
                    ");
                }
                "user" => assert!(ran.code == Some(0) && below(fixture.home.path()), "{agent} {flags:?}"),
                _ => assert!(ran.code == Some(0) && below(fixture.project.path()), "{agent} {flags:?}"),
            }
        }
    }
}

#[test]
fn undo_keeps_what_the_agent_wrote_since() {
    let world = SetupFixture::new();
    let config = world.home.path().join(".codex/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "model = \"m\"\n").unwrap();
    world.set_up(&["codex", "--yes"]);
    let text = fs::read_to_string(&config).unwrap();
    // As a session of Codex leaves it.
    fs::write(&config, format!("{text}\n[tui]\nseen = 3\n")).unwrap();
    world.set_up(&["codex", "--undo", "--yes"]);
    assert_eq!(fs::read_to_string(&config).unwrap(), "model = \"m\"\n\n[tui]\nseen = 3\n");
}

#[test]
fn undo_takes_our_values_out_of_settings_that_claude_code_rewrote() {
    let world = SetupFixture::new();
    let settings = world.project.path().join(".claude/settings.local.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{\"permissions\": {\"deny\": [\"Bash\"]}}\n").unwrap();
    world.set_up(&["claude", "--yes"]);
    // Claude Code writes one element a line, and adds servers, answers and settings.
    let rewrite = |path: &Path, change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        change(&mut value);
        fs::write(path, serde_json::to_string_pretty(&value).unwrap()).unwrap();
    };
    rewrite(&settings, &|value| {
        value["permissions"]["allow"].as_array_mut().unwrap().insert(0, "WebFetch(domain:docs.rs)".into());
        value["enabledMcpjsonServers"].as_array_mut().unwrap().push("other".into());
    });
    let servers = world.project.path().join(".mcp.json");
    rewrite(&servers, &|value| value["mcpServers"]["other"] = serde_json::json!({ "command": "other" }));
    world.set_up(&["claude", "--undo", "--yes"]);
    assert_snapshot!(world.rendered_files(), @r#"
    == PROJECT/.claude/settings.local.json
    {
      "enabledMcpjsonServers": [
        "other"
      ],
      "permissions": {
        "allow": [
          "WebFetch(domain:docs.rs)"
        ],
        "deny": [
          "Bash"
        ]
      }
    }== PROJECT/.mcp.json
    {
      "mcpServers": {
        "other": {
          "command": "other"
        }
      }
    }
    "#);
}

#[test]
fn undo_leaves_a_value_of_ours_that_was_changed_and_names_it() {
    let world = SetupFixture::new();
    let servers = world.home.path().join(".claude.json");
    world.set_up(&["claude", "--user", "--yes"]);
    let text = fs::read_to_string(&servers).unwrap().replace("workspace-write", "read-only");
    fs::write(&servers, text.replacen('{', "{\n  \"numStartups\": 1,", 1)).unwrap();
    let said = world.set_up(&["claude", "--user", "--undo", "--yes"]);
    assert_snapshot!(said.replace(&world.home.path().display().to_string(), "HOME").lines().next().unwrap(), @"warning: `mcpServers.toolgate.args` in `HOME/.claude.json` was changed since the setup, so it stays; remove it by hand");
    assert_snapshot!(world.rendered_files(), @r#"
    == HOME/.claude.json
    {
      "numStartups": 1,
      "mcpServers": {
        "toolgate": {
          "alwaysLoad": true,
          "args": ["mcp", "--sandbox", "read-only"],
          "command": "PROGRAM",
          "timeout": 900000
        }
      }
    }
    "#);
}

#[test]
fn a_setup_with_other_flags_replaces_the_earlier_one() {
    let world = SetupFixture::new();
    let settings = world.project.path().join(".claude/settings.local.json");
    world.set_up(&["claude", "--yes"]);
    assert!(fs::read_to_string(&settings).unwrap().contains("\"Bash\""));
    world.set_up(&["claude", "--keep-own-tools", "--yes"]);
    assert!(!fs::read_to_string(&settings).unwrap().contains("\"Bash\""));
    world.set_up(&["claude", "--undo", "--yes"]);
    assert!(world.files().is_empty(), "{}", world.rendered_files());
}

#[test]
fn undo_concerns_only_this_project() {
    let world = SetupFixture::new();
    let other = tempfile::tempdir().unwrap();
    assert!(world.run_in(other.path(), &["cursor", "--yes"]).code == Some(0));
    world.set_up(&["cursor", "--yes"]);
    world.set_up(&["cursor", "--undo", "--yes"]);
    assert!(!world.project.path().join(".cursor/mcp.json").exists());
    assert!(other.path().join(".cursor/mcp.json").exists());
    assert!(world.run_in(other.path(), &["cursor", "--undo", "--yes"]).code == Some(0));
    assert!(!other.path().join(".cursor/mcp.json").exists());
}

#[test]
fn nothing_changes_without_a_yes_or_in_a_file_that_is_not_understood() {
    let world = SetupFixture::new();
    let refusal = |arguments: &[&str], code: i32| {
        let before = world.files();
        let ran = world.run(arguments);
        assert_eq!(ran.code, Some(code), "{arguments:?}");
        assert_eq!(world.files(), before, "{arguments:?}");
        ran.err.replace(&world.project.path().display().to_string(), "PROJECT")
    };
    assert_snapshot!(refusal(&["cursor"], 2), @"
    error: there is no terminal to confirm this at; nothing was changed
    hint: --yes writes it without a question
    ");
    let file = world.project.path().join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{ \"mcpServers\": [] }\n").unwrap();
    assert_snapshot!(refusal(&["cursor", "--yes"], 1), @"error: PROJECT/.cursor/mcp.json: `mcpServers` is not an object; nothing was changed");
    fs::write(&file, "{ \"mcpServers\"\n").unwrap();
    assert_snapshot!(refusal(&["cursor", "--yes"], 1), @"error: PROJECT/.cursor/mcp.json: Expected colon after the string or word in object property on line 2 column 1; nothing was changed");
    fs::write(&file, "{}\n").unwrap();
    world.set_up(&["cursor", "--yes"]);
    fs::write(&file, "{\"mcpServers\"\n").unwrap();
    assert_snapshot!(refusal(&["cursor", "--undo", "--yes"], 1), @"
    error: PROJECT/.cursor/mcp.json: Expected colon after the string or word in object property on line 2 column 1; nothing was changed
    hint: remove the settings of `toolgate` from it by hand
    ");
}

#[test]
fn settings_that_claude_code_would_not_load_are_refused() {
    let world = SetupFixture::new();
    let settings = world.project.path().join(".claude/settings.local.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{\n  // mine\n  \"model\": \"opus\"\n}\n").unwrap();
    let before = world.files();
    let ran = world.run(&["claude", "--yes"]);
    assert_eq!((ran.code, world.files()), (Some(1), before));
    assert_snapshot!(ran.err.replace(&world.project.path().display().to_string(), "PROJECT"), @"error: PROJECT/.claude/settings.local.json: its agent does not load it, because it is not plain JSON at line 2 column 3 (a comment, a trailing comma …); nothing was changed");
    // Cursor and others read comments.
    let servers = world.project.path().join(".cursor/mcp.json");
    fs::create_dir_all(servers.parent().unwrap()).unwrap();
    fs::write(&servers, "{\n  // mine\n}\n").unwrap();
    world.set_up(&["cursor", "--yes"]);
}

#[test]
fn undo_removes_the_directories_that_the_setup_made() {
    let world = SetupFixture::new();
    let mine = world.project.path().join(".vscode");
    fs::create_dir(&mine).unwrap();
    for agent in AGENTS {
        world.set_up(&[agent, "--yes"]);
        world.set_up(&[agent, "--undo", "--yes"]);
    }
    let names = |root: &Path| -> Vec<_> {
        fs::read_dir(root).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert_eq!(names(world.project.path()), [".vscode"], "the user's own stays");
    assert_eq!(names(world.home.path()), [".local"]);
}

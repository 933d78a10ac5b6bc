//! Tests of the command line: `call`, `pipe` and help output, exit codes, configuration and its limits and errors.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

mod support;

use insta::assert_snapshot;
use serde_json::Value;
use support::{CommandRun, TestHome};
use testkit::TestWorkspace;

struct CommandFixture {
    home: TestHome,
    workspace: TestWorkspace,
}

impl CommandFixture {
    fn new() -> Self {
        let workspace = TestWorkspace::new();
        workspace.write_file("a.txt", "one\ntwo\n");
        Self { home: TestHome::new(), workspace }
    }

    fn run(&self, args: &[&str]) -> CommandRun {
        self.fed(args, "")
    }

    fn fed(&self, args: &[&str], stdin: &str) -> CommandRun {
        let ran = self.home.run(&self.workspace.path(), args, stdin);
        let home = self.home.path().to_str().unwrap();
        let normal = |text: &str| self.workspace.normalize(text).replace(home, "$HOME");
        CommandRun { code: ran.code, out: normal(&ran.out), err: normal(&ran.err) }
    }

    #[expect(clippy::disallowed_methods, reason = "tests set up real files")]
    fn configure(&self, text: &str) {
        let dir = self.home.path().join(".config/toolgate");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("config.toml"), text).unwrap();
    }

    /// Runs the command, and formats exit code, stdout and stderr as one text.
    fn transcript(&self, args: &[&str]) -> String {
        let CommandRun { code, out, err } = self.run(args);
        format!("{}\n-- out\n{out}-- err\n{err}", code.unwrap())
    }
}

#[test]
fn a_call_answers_on_stdout_and_fails_on_stderr() {
    let shell = CommandFixture::new();
    assert_snapshot!(shell.transcript(&["call", "read_file", "--json", r#"{"path": "a.txt"}"#]), @"
    0
    -- out
    1| one
    2| two
    -- err
    ");
    assert_snapshot!(shell.transcript(&["call", "read_file", "--json", r#"{"path": "b.txt"}"#]), @"
    1
    -- out
    -- err
    error: `$DIR/b.txt` does not exist; did you mean `a.txt`?
    ");
    assert_snapshot!(shell.transcript(&["call", "read_file", "--json", r#"{"path": 1}"#]), @"
    2
    -- out
    -- err
    error: the arguments do not fit at `path`: expected a string, found a number
    ");
    assert_snapshot!(shell.transcript(&["call", "read_file", "--json", "{"]), @"
    2
    -- out
    -- err
    error: the arguments are not JSON at line 1, column 1: EOF while parsing an object
    ");
    assert_snapshot!(shell.transcript(&["call", "raed_file"]), @"
    2
    -- out
    -- err
    error: there is no tool `raed_file`; did you mean `read_file`?
    ");
    assert_snapshot!(shell.transcript(&["call", "read_file", "--json", "{}", "--cwd", "nowhere"]), @"
    2
    -- out
    -- err
    error: `$DIR/nowhere` cannot be read as a directory: No such file or directory (os error 2)
    ");
    assert_eq!(shell.run(&["call"]).code, Some(2));
    assert_eq!(shell.run(&["cal"]).code, Some(2));
    assert_eq!(shell.run(&["--help"]).code, Some(0));
}

#[test]
fn arguments_come_from_a_file_or_from_stdin() {
    let shell = CommandFixture::new();
    shell.workspace.write_file("args.json", r#"{"path": "a.txt", "end_line": 1}"#);
    let expected = shell.run(&["call", "read_file", "--json", r#"{"path": "a.txt", "end_line": 1}"#]).out;
    assert_eq!(shell.run(&["call", "read_file", "--input", "args.json"]).out, expected);
    assert_eq!(
        shell.fed(&["call", "read_file", "--input", "-"], r#"{"path": "a.txt", "end_line": 1}"#).out,
        expected
    );
    assert_snapshot!(shell.transcript(&["call", "read_file", "--input", "none.json"]), @"
    2
    -- out
    -- err
    error: `none.json` cannot be read: No such file or directory (os error 2)
    ");
}

#[test]
fn call_prints_json() {
    let shell = CommandFixture::new();
    let json = |args: &[&str]| {
        let mut value: Value = serde_json::from_str(&shell.run(args).out).unwrap();
        assert!(value["duration_ms"].take().is_f64());
        value.to_string()
    };
    assert_snapshot!(json(&["call", "read_file", "--output", "json", "--json", r#"{"path": "a.txt"}"#]), @r#"{"duration_ms":null,"items":[{"text":"1| one\n2| two","type":"text"}],"structured":{"encoding":"UTF-8","end_line":2,"path":"$DIR/a.txt","start_line":1,"total_lines":2},"success":true,"tool":"read_file"}"#);
    assert_snapshot!(json(&["call", "read_file", "--output", "json", "--json", r#"{"path": "/x"}"#]), @r#"{"duration_ms":null,"error":"forbidden","items":[{"text":"forbidden by policy: `/x` is outside the readable roots (`$DIR`); only the user can add one, with `files.read_roots` in their own configuration or `--read-root`","type":"text"}],"success":false,"tool":"read_file"}"#);
}

#[test]
fn what_may_be_read_is_widened_only_by_the_user() {
    let shell = CommandFixture::new();
    let secret = shell.workspace.outside_dir().join("secret.txt");
    let arguments = serde_json::json!({ "path": secret }).to_string();
    let read = |more: &[&str]| shell.run(&[&["call", "read_file", "--json", &arguments], more].concat());
    assert_eq!(read(&[]).code, Some(1));
    let outside = shell.workspace.outside_dir();
    let outside = outside.to_str().unwrap();
    assert_eq!(read(&["--read-root", outside]).out, "1| SECRET\n");

    shell.workspace.write_file("toolgate.toml", format!("[files]\nread_roots = [\"{outside}\"]\n"));
    let refused = read(&[]);
    assert_eq!(refused.code, Some(2));
    assert_snapshot!(refused.err, @"
    error: $DIR/toolgate.toml:2:15: a project may narrow what tools can do, not widen it: `files.read_roots` belongs in your own file ($HOME/.config/toolgate/config.toml)
    hint: `toolgate config --help` says what can be set
    ");
    shell.workspace.write_file("toolgate.toml", "[files]\ndeny_read_defaults = false\n");
    assert_snapshot!(read(&[]).err, @"
    error: $DIR/toolgate.toml:2:22: a project may narrow what tools can do, not widen it: `files.deny_read_defaults` belongs in your own file ($HOME/.config/toolgate/config.toml)
    hint: `toolgate config --help` says what can be set
    ");
    shell.workspace.write_file("toolgate.toml", "[files]\ndeny_read = [\"a.*\"]\n");
    assert_snapshot!(shell.run(&["call", "read_file", "--json", r#"{"path": "a.txt"}"#]).err, @"error: forbidden by policy: `$DIR/a.txt` may not be read: the deny-read rule `a.*` covers it");

    shell.configure(&format!("[files]\nread_roots = [\"{outside}\"]\n"));
    assert_eq!(read(&[]).out, "1| SECRET\n");
}

#[test]
fn what_commands_may_do_is_widened_only_by_the_user() {
    let shell = CommandFixture::new();
    let refused = |text: &str| {
        shell.workspace.write_file("toolgate.toml", text);
        let ran = shell.run(&["tools"]);
        assert_eq!(ran.code, Some(2), "{text}");
        ran.err.lines().next().unwrap().to_owned()
    };
    assert_snapshot!(refused("sandbox = \"danger-full-access\"\n"), @"error: $DIR/toolgate.toml:1:11: a project may narrow what tools can do, not widen it: `sandbox` belongs in your own file ($HOME/.config/toolgate/config.toml)");
    assert_snapshot!(refused("[commands]\ninherit = \"all\"\n"), @"error: $DIR/toolgate.toml:2:11: a project may narrow what tools can do, not widen it: `commands.inherit` belongs in your own file ($HOME/.config/toolgate/config.toml)");
    assert_snapshot!(refused("[commands]\npass = [\"CI\"]\n"), @"error: $DIR/toolgate.toml:2:9: a project may narrow what tools can do, not widen it: `commands.pass` belongs in your own file ($HOME/.config/toolgate/config.toml)");
    assert_snapshot!(refused("[commands]\nset = { A = \"1\" }\n"), @"error: $DIR/toolgate.toml:2:13: a project may narrow what tools can do, not widen it: `commands.set` belongs in your own file ($HOME/.config/toolgate/config.toml)");
    assert_snapshot!(refused("[confinement]\nhosts = [\"a.org\"]\n"), @"error: $DIR/toolgate.toml:2:10: a project may narrow what tools can do, not widen it: `confinement.hosts` belongs in your own file ($HOME/.config/toolgate/config.toml)");
    assert_snapshot!(refused("[confinement]\nhosts = [\"*\"]\n"), @"error: $DIR/toolgate.toml:2:10: `*` is not a host: `*` may only stand before a whole name, for the hosts below it; write e.g. `example.org`, `example.org:443`, `*.example.org`, `192.0.2.7` or `[2001:db8::1]:443`");
    assert_snapshot!(refused("[commands]\nshell = \"/bin/sh\"\n"), @"error: $DIR/toolgate.toml:2:9: a project may narrow what tools can do, not widen it: `commands.shell` belongs in your own file ($HOME/.config/toolgate/config.toml)");

    shell.configure("sandbox = \"danger-full-access\"\n[commands]\ninherit = \"all\"\nsessions = 8\n");
    shell.workspace.write_file("toolgate.toml", "[commands]\ninherit = \"core\"\nsessions = 9\n");
    shell.workspace.write_file("sub/toolgate.toml", "sandbox = \"read-only\"\ncommands.inherit = \"none\"\n");
    let rows = |args: &[&str]| {
        let out = shell.run(&[&["config"], args].concat()).out;
        let own = ["sandbox", "commands.inherit", "commands.sessions"];
        let rows = out.lines().filter(|row| own.iter().any(|key| row.starts_with(key)));
        rows.map(|row| format!("{row}\n")).collect::<String>()
    };
    assert_snapshot!(rows(&[]), @r#"
    sandbox = "danger-full-access"  # $HOME/.config/toolgate/config.toml:1
    commands.inherit = "core"  # $DIR/toolgate.toml:2
    commands.sessions = 8  # $HOME/.config/toolgate/config.toml:4
    "#);
    assert_snapshot!(rows(&["--cwd", "sub"]), @r#"
    sandbox = "read-only"  # $DIR/sub/toolgate.toml:1
    commands.inherit = "none"  # $DIR/sub/toolgate.toml:2
    commands.sessions = 8  # $HOME/.config/toolgate/config.toml:4
    "#);
    assert_snapshot!(rows(&["--cwd", "sub", "--sandbox", "danger-full-access"]), @r#"
    sandbox = "danger-full-access"  # --sandbox
    commands.inherit = "none"  # $DIR/sub/toolgate.toml:2
    commands.sessions = 8  # $HOME/.config/toolgate/config.toml:4
    "#);
    shell.configure("[commands]\ninherit = \"none\"\nsessions = 10\n");
    assert_snapshot!(rows(&["--sandbox", "read-only"]), @r#"
    sandbox = "read-only"  # --sandbox
    commands.inherit = "none"  # $HOME/.config/toolgate/config.toml:2
    commands.sessions = 9  # $DIR/toolgate.toml:3
    "#);
}

#[test]
fn the_configuration_says_where_each_value_comes_from() {
    let shell = CommandFixture::new();
    let commands = "[commands]\npass = [\"CI\"]\nset.A = \"1\"\nset.\"a.b\" = \"\"\nshell = \"/bin/sh\"\n";
    let own = "model = \"gpt-5\"\n[limits]\nparallel = 4\n[files]\nread_roots = [\"/usr/include\"]\n";
    shell.configure(&format!("{own}{commands}"));
    shell
        .workspace
        .write_file("toolgate.toml", "[tools]\nwithout = [\"view_image\"]\n\n[limits]\nparallel = 2\n");
    let rows = shell.run(&["config", "--model", "claude-opus-4"]).out;
    let own: Vec<&str> = rows.lines().filter(|row| !row.contains("built in")).collect();
    assert_snapshot!(own.join("\n"), @r#"
    model = "claude-opus-4"  # --model
    # tools.only is not set
    tools.without = [
      "view_image",  # $DIR/toolgate.toml:2
    ]
    # tools.shell_type is not set
    # tools.apply_patch_tool_type is not set
    # tools.use_experimental_streamable_shell_tool is not set
    # models is not set
    files.read_roots = [
      "/usr/include",  # $HOME/.config/toolgate/config.toml:5
    ]
    files.deny_read = [
    ]
    commands.pass = [
      "CI",  # $HOME/.config/toolgate/config.toml:7
    ]
    commands.set.A = "1"  # $HOME/.config/toolgate/config.toml:8
    commands.set."a.b" = ""  # $HOME/.config/toolgate/config.toml:9
    commands.shell = "/bin/sh"  # $HOME/.config/toolgate/config.toml:10
    # confinement.writable is not set
    # confinement.read_only is not set
    # confinement.hosts is not set
    # confinement.unix_sockets is not set
    # confinement.memory_mb is not set
    # confinement.file_size_mb is not set
    # confinement.open_files is not set
    # confinement.tmp_mb is not set
    # confinement.shm_mb is not set
    limits.parallel = 2  # $DIR/toolgate.toml:5
    # journal.keep_days is not set
    # journal.max_mb is not set
    # hook is not set
    # mcp_servers is not set
    # $HOME/.config/toolgate/config.toml: read
    # $HOME/.config/toolgate/toolgate.toml: not there
    # $DIR/toolgate.toml: read
    # /etc/toolgate/rules.toml: not there
    # $HOME/.config/toolgate/rules.toml: not there
    "#);
    let json: Value = serde_json::from_str(&shell.run(&["config", "--json"]).out).unwrap();
    assert!(
        json["settings"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["key"] == "limits.parallel" && row["value"] == 2)
    );
    assert!(!shell.run(&["tools"]).out.contains("view_image"));
}

#[test]
fn a_bad_file_is_refused_with_its_place() {
    let shell = CommandFixture::new();
    let fault = |text: &str| {
        shell.workspace.write_file("toolgate.toml", text);
        let ran = shell.run(&["tools"]);
        assert_eq!(ran.code, Some(2));
        ran.err.lines().next().unwrap().to_owned()
    };
    assert_snapshot!(fault("[tools]\nwithot = []\n"), @"error: $DIR/toolgate.toml:2:1: unknown field `withot`, expected one of `only`, `without`, `web_search`, `tools_web_search_request`, `web_search_request`, `include_plan_tool`, `include_apply_patch_tool`, `include_view_image_tool`, `shell_type`, `apply_patch_tool_type`, `use_experimental_streamable_shell_tool`");
    assert_snapshot!(fault("[tools]\nwithout = [\"veiw_image\"]\n"), @"error: $DIR/toolgate.toml:2: there is no tool `veiw_image`; did you mean `view_image`?");
    assert_snapshot!(fault("model = 3\n"), @"error: $DIR/toolgate.toml:1:9: invalid type: integer `3`, expected a string");
    assert_snapshot!(fault("[limits]\nparallel = \"x\"\n"), @r#"error: $DIR/toolgate.toml:2:12: invalid type: string "x", expected a whole number"#);
    assert_snapshot!(fault("files = 3\n"), @"error: $DIR/toolgate.toml:1:9: invalid type: integer `3`, expected a table `[files]`");
    assert_snapshot!(fault("[files]\ndeny_read = \"x\"\n"), @r#"error: $DIR/toolgate.toml:2:13: invalid type: string "x", expected a list, e.g. `["a"]`"#);
    assert_snapshot!(fault("[limits\n"), @"error: $DIR/toolgate.toml:1:8: unclosed table, expected `]`");
    assert_snapshot!(fault("[limits]\n  output_tokens = 5\n"), @"error: $DIR/toolgate.toml:2:19: `output_tokens` must be from 100 to 1000000");
    assert_snapshot!(fault("sandbox = \"off\"\n"), @"error: $DIR/toolgate.toml:1:11: unknown variant `off`, expected one of `read-only`, `restricted`, `workspace-write`, `external`, `danger-full-access`, `none`");
    assert_snapshot!(fault("commands = 3\n"), @"error: $DIR/toolgate.toml:1:12: invalid type: integer `3`, expected a table `[commands]`");
    assert_snapshot!(fault("[commands]\nset = [\"A=1\"]\n"), @r#"error: $DIR/toolgate.toml:2:7: invalid type: sequence, expected a table, e.g. `{ NAME = "value" }`"#);
    assert_snapshot!(fault("[commands]\nset = { A = \"1\",\n  OPENAI_API_KEY = \"x\" }\n"), @"error: $DIR/toolgate.toml:3:20: `OPENAI_API_KEY` is the key of a model provider, which no command gets");
    assert_snapshot!(fault("[commands.set]\nA = \"1\"\n\"A=B\" = \"x\"\n"), @"error: $DIR/toolgate.toml:3:9: `A=B` is not a variable name");
    assert_snapshot!(fault("[commands]\npass = [\"CI\", \"$CI\"]\n"), @"error: $DIR/toolgate.toml:2:15: `$CI` is not a variable name, nor a pattern of one (`*` stands for any letters)");
    assert_snapshot!(fault("[commands]\nsessions = 0\n"), @"error: $DIR/toolgate.toml:2:12: `sessions` must be from 1 to 1024");
    assert_snapshot!(fault("[commands]\nshell = \"bash\"\n"), @"error: $DIR/toolgate.toml:2:9: `shell` must be a whole path, e.g. `/bin/bash`");
    assert_snapshot!(fault("[files]\ndeny_read = [\"ok\",\n  \"a[\"]\n"), @"error: $DIR/toolgate.toml:3:3: the deny-read pattern `a[` is not a path or a glob: unclosed character class; missing ']'");
}

#[test]
fn the_example_in_the_help_is_a_configuration() {
    let shell = CommandFixture::new();
    shell.configure(shell.run(&["config", "--help"]).out.split_once("What can be set:").unwrap().1);
    let ran = shell.run(&["tools"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert_eq!(ran.out.lines().count(), 2);
}

#[test]
fn a_project_may_lower_limits_and_not_raise_them() {
    let shell = CommandFixture::new();
    shell.configure("[limits]\noutput_tokens = 500\nparallel = 4\n");
    shell.workspace.write_file("toolgate.toml", "[limits]\noutput_tokens = 900\nparallel = 2\n");
    let rows = shell.run(&["config"]).out;
    let limits: Vec<&str> =
        rows.lines().filter(|row| row.starts_with("limits") && !row.contains("built in")).collect();
    assert_snapshot!(limits.join("\n"), @"
    limits.output_tokens = 500  # $HOME/.config/toolgate/config.toml:2
    limits.parallel = 2  # $DIR/toolgate.toml:3
    ");
}

#[test]
fn a_project_file_holds_for_all_that_is_below_it() {
    let shell = CommandFixture::new();
    shell.workspace.write_file("toolgate.toml", "[files]\ndeny_read = [\"*.secret\"]\n");
    shell
        .workspace
        .write_file("sub/a.secret", "key\n")
        .write_file("sub/toolgate.toml", "model = \"gpt-5\"\n");
    let read = || shell.run(&["call", "read_file", "--cwd", "sub", "--json", r#"{"path": "a.secret"}"#]).code;
    assert_eq!(read(), Some(1));
    // Inside a repository, its top ends the search.
    shell.workspace.write_file(".git/HEAD", "");
    assert_eq!(read(), Some(1));
    shell.workspace.write_file("sub/.git/HEAD", "");
    assert_eq!(read(), Some(0));
}

#[test]
fn text_from_outside_is_passed_on_as_it_is_without_a_terminal() {
    let shell = CommandFixture::new();
    shell.workspace.write_file("esc", "\u{1b}[31mred\n");
    let out = shell.run(&["call", "read_file", "--json", r#"{"path": "esc"}"#]).out;
    assert_eq!(out, "1| \u{1b}[31mred\n");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "reads the pages")]
fn manual_pages_for_every_command_that_help_lists() {
    let shell = CommandFixture::new();
    let directory = shell.home.path().join("share/man1");
    let ran = shell.run(&["man", directory.to_str().unwrap()]);
    assert_eq!((ran.code, &*ran.out, &*ran.err), (Some(0), "", ""));
    let page = |name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    assert!(page("toolgate.1").contains("toolgate\\-sandbox(1)"));
    assert!(page("toolgate-sandbox.1").contains("toolgate sandbox \\-\\- cargo test"));
    assert!(page("toolgate-mcp-add.1").contains(".SH OPTIONS"));
    let help = shell.run(&["--help"]).out;
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let commands = commands.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    for command in commands.filter(|command| *command != "help") {
        assert!(directory.join(format!("toolgate-{command}.1")).is_file(), "{command}");
    }
}

#[test]
fn a_typo_recommends_no_weaker_protection() {
    let shell = CommandFixture::new();
    let told = |args: &[&str]| shell.run(&[&["call", "read_file"], args].concat()).err;
    let weak = told(&["--sandbox", "externl"]);
    assert!(weak.contains("invalid value 'externl'") && !weak.contains("similar value"), "{weak}");
    assert!(told(&["--sandbox", "readonly"]).contains("a similar value exists: 'read-only'"));
}

#[test]
fn commands_do_not_see_the_records_of_other_directories() {
    let shell = CommandFixture::new();
    shell.workspace.write_file("script.jsonl", r#"{"items": [{"type": "message", "text": "hello"}]}"#);
    assert_eq!(shell.run(&["run", "--script", "script.jsonl", "a private prompt"]).code, Some(0));
    let sessions = shell.home.path().join(".local/state/toolgate/sessions");
    assert!(sessions.exists());
    let ran = shell.run(&["sandbox", "--", "grep", "-r", "private prompt", sessions.to_str().unwrap()]);
    assert!(!ran.out.contains("private prompt") && ran.code != Some(0), "{}{}", ran.out, ran.err);
}

#[test]
fn a_refused_host_is_named_with_the_flag_that_allows_it() {
    let shell = CommandFixture::new();
    let ran = shell.run(&["sandbox", "--", "getent", "ahosts", "nosuch.example"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    let hint = "the sandbox refused a connection to `nosuch.example`; `--host nosuch.example` allows it";
    assert_eq!(ran.err, format!("hint: {hint}\n"));
    let allowed =
        shell.run(&["sandbox", "--host", "nosuch.example", "--", "getent", "ahosts", "nosuch.example"]);
    assert!(!allowed.err.contains("refused"), "{}", allowed.err);
}

#[test]
fn a_clone_into_an_empty_directory_is_explained() {
    let shell = CommandFixture::new();
    std::fs::remove_file(shell.workspace.path().join("a.txt")).unwrap();
    let ran = shell.run(&["sandbox", "--", "git", "clone", "none", "."]);
    assert_eq!(ran.code, Some(128), "{}", ran.err);
    assert!(ran.err.contains("clone into a new directory below it"), "{}", ran.err);
    let call = r#"{"command": "git clone file:///none ."}"#;
    let called = shell.run(&["call", "shell_command", "--sandbox", "workspace-write", "--json", call]);
    assert!(called.out.contains("Clone into a new directory below it"), "{}", called.out);
}

#[test]
fn pipe_prints_events_and_stats() {
    let shell = CommandFixture::new();
    let call = r#"{"type": "function_call", "call_id": "p", "name": "update_plan", "arguments": "{\"steps\": [{\"description\": \"x\", \"status\": \"pending\"}]}"}"#;
    let ran = shell.fed(&["pipe", "--events", "--stats"], call);
    let kinds: Vec<String> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| line["event"].as_str().or(line["type"].as_str()).unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["queued", "started", "plan_updated", "finished", "function_call_output"]);
    assert!(ran.err.contains("update_plan"), "{}", ran.err);
}

#[test]
fn invalid_pipe_lines_are_reported() {
    let shell = CommandFixture::new();
    let lines = "\u{feff}{\"type\": \"toolgate.cancle\"}\n\ndata: {]\n{\"type\": \"toolgate.cancel\", \"call_id\": 7}\n{\"type\": \"toolgate.cancel\"}\n";
    assert_snapshot!(shell.fed(&["pipe"], lines).out, @r#"
    {"message":"there is no toolgate.cancle; there are toolgate.cancel, toolgate.decision, toolgate.elicited and toolgate.end_turn","type":"toolgate.fault"}
    {"message":"line 3 is not JSON at column 2: key must be a string","type":"toolgate.fault"}
    {"message":"the call_id of a toolgate.cancel must be a string; nothing was cancelled","type":"toolgate.fault"}
    "#);
    let half = r#"{"role": "assistant", "content": [{"type": "text", "text": "\ud83d"}, {"type": "tool_use", "id": "t", "name": "nope", "input": {}}]}"#;
    assert!(shell.fed(&["pipe", "--wire", "anthropic"], half).out.contains(r#""tool_use_id":"t""#));
}

#[test]
fn a_raw_stream_of_events_may_be_piped() {
    let shell = CommandFixture::new();
    shell.workspace.write_file("a.txt", "one\n");
    let chunk = |delta: &str| format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
    let call = chunk(
        r#"{"tool_calls":[{"index":0,"id":"c","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}}]}"#,
    );
    let answer = r#"{"content":"1| one","role":"tool","tool_call_id":"c"}"#;
    for stream in [
        format!("{call}\n[DONE]\n"),
        format!(": keep-alive\n\ndata: {call}\n\ndata: [DONE]\n\n"),
        format!("data:{call}\r\n\r\ndata:[DONE]\r\n\r\n"),
    ] {
        let next = stream.replace(r#""id":"c""#, r#""id":"d""#);
        let answers = shell.fed(&["pipe", "--wire", "chat"], &format!("{stream}{next}")).out;
        let expected = [answer.to_owned(), answer.replace(r#":"c""#, r#":"d""#)];
        assert_eq!(answers.lines().collect::<Vec<_>>(), expected, "{stream}");
    }
    let block = "event: content_block_start\nid: 7\nretry: 3\ndata: {\"type\": \"content_block_start\", \"index\": 0, \"content_block\": {\"type\": \"tool_use\", \"id\": \"t\", \"name\": \"read_file\", \"input\": {\"path\": \"a.txt\"}}}\n\nevent: content_block_stop\ndata: {\"type\": \"content_block_stop\", \"index\": 0}\n\n";
    let ran = shell.fed(&["pipe", "--wire", "anthropic"], block);
    assert_snapshot!(ran.out, @r#"{"content":"1| one","tool_use_id":"t","type":"tool_result"}"#);
}

#[test]
fn an_input_that_ends_within_a_call_ends_the_session() {
    let shell = CommandFixture::new();
    let half = r#"{"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "read_file", "arguments": "{"}}]}}]}"#;
    let ran = shell.fed(&["pipe", "--wire", "chat"], half);
    assert_eq!(ran.code, Some(0));
    assert!(ran.out.contains("the response ended before the call was complete"), "{}", ran.out);
}

#[test]
fn an_input_for_another_wire_gets_a_hint() {
    let shell = CommandFixture::new();
    let call = r#"{"type": "function_call", "call_id": "1", "name": "list_dir", "arguments": "{}"}"#;
    let ran = shell.fed(&["pipe", "--wire", "anthropic"], call);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
    assert_snapshot!(ran.err, @"hint: 1 lines came, and no call in them for --wire anthropic; the first line is for --wire responses");
}

#[test]
fn in_chat_pictures_stand_behind_all_answers() {
    let shell = CommandFixture::new();
    // The smallest GIF: one transparent pixel.
    let gif =
        b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\0\0\0!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";
    shell.workspace.write_file("p.gif", gif);
    let call = |id: &str, name: &str, path: &str| {
        let arguments = serde_json::json!({ "path": path }).to_string();
        serde_json::json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    };
    let calls = [call("a", "view_image", "p.gif"), call("b", "read_file", "a.txt")];
    let message = serde_json::json!({"role": "assistant", "tool_calls": calls}).to_string();
    let out = shell.fed(&["pipe", "--wire", "chat"], &message).out;
    let roles: Vec<String> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["role"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(roles, ["tool", "tool", "user"], "{out}");
}

#[test]
fn a_flood_of_calls_is_answered_in_order() {
    let shell = CommandFixture::new();
    let mut lines = String::new();
    for n in 0..6000 {
        lines += &format!(
            "{{\"type\": \"function_call\", \"call_id\": \"{n}\", \"name\": \"list_dir\", \"arguments\": \"{{\\\"path\\\": \\\".\\\"}}\"}}\n"
        );
    }
    let out = shell.fed(&["pipe"], &lines).out;
    let ids: Vec<String> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["call_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, (0..6000).map(|n| n.to_string()).collect::<Vec<_>>());
}

#[test]
fn special_project_file_neither_hangs_nor_leaks() {
    let shell = CommandFixture::new();
    let path = shell.workspace.path().join("toolgate.toml");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    assert_snapshot!(shell.run(&["tools"]).err, @"error: $DIR/toolgate.toml: it is not a file");
    rustix::fs::unlink(&path).unwrap();
    shell.workspace.symlink("toolgate.toml", shell.workspace.outside_dir().join("secret.txt"));
    assert_snapshot!(shell.run(&["tools"]).err, @"error: $DIR/toolgate.toml: it is a link; a project's configuration must be a file");
    rustix::fs::unlink(&path).unwrap();
    let braces = "{".repeat(100_000);
    shell.workspace.write_file("toolgate.toml", format!("[files]\ndeny_read = [\"{braces}\"]\n"));
    assert_eq!(shell.run(&["tools"]).code, Some(2));
}

#[test]
fn the_home_is_protected_however_it_is_spelled() {
    let shell = CommandFixture::new();
    let home = shell.home.path().to_str().unwrap().to_owned();
    std::fs::create_dir(shell.home.path().join(".ssh")).unwrap();
    let key = format!("{home}/.ssh/key");
    #[expect(clippy::disallowed_methods, reason = "tests set up real files")]
    std::fs::write(&key, "KEY").unwrap();
    for spelled in
        [home.clone(), format!("{home}/"), format!("/{home}"), format!("{home}/."), format!("{home}/.//")]
    {
        let ran = support::run_toolgate(
            spelled.as_ref(),
            home.as_ref(),
            &["call", "read_file", "--json", r#"{"path": ".ssh/key"}"#],
            "",
        );
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{spelled}");
    }
}

#[test]
fn commands_run_and_secrets_stay_where_the_home_is_reached_by_a_link() {
    let shell = CommandFixture::new();
    let real = shell.home.path().join("real");
    std::fs::create_dir_all(real.join("me/.ssh")).unwrap();
    #[expect(clippy::disallowed_methods, reason = "tests set up real files")]
    std::fs::write(real.join("me/.ssh/key"), "KEY").unwrap();
    std::os::unix::fs::symlink(&real, shell.home.path().join("home")).unwrap();
    let home = shell.home.path().join("home/me");
    for path in [home.join(".ssh/key"), real.join("me/.ssh/key")] {
        let args = ["sandbox", "--", "cat", path.to_str().unwrap()];
        let ran = support::run_toolgate(home.as_os_str(), &shell.workspace.path(), &args, "");
        assert!(ran.code == Some(1) && ran.err.starts_with("cat: "), "{}{}", ran.out, ran.err);
    }
}

#[test]
fn typing_a_tools_arguments_as_flags_gets_a_hint() {
    let err = CommandFixture::new().run(&["call", "read_file", "--path", "a.txt"]).err;
    assert!(err.contains(r#"hint: a tool's arguments go into --json"#), "{err}");
}

#[test]
fn tool_manual_describes_nested_arguments() {
    assert_snapshot!(CommandFixture::new().run(&["tools", "update_plan"]).out, @"
    update_plan
    Shows the user your plan. Send all of it each time; at most one step may be in_progress.

      explanation (string)
          Why the plan changed.
      steps (array of object, required)
          All steps, in order.
          description (string, required)
          id (string)
              Stable step name.
          status (one of pending, in_progress, completed)
    ");
}

#[test]
fn help_is_committed() {
    let shell = CommandFixture::new();
    let mut text = String::new();
    for args in [
        &["--help"][..],
        &["demo", "--help"],
        &["run", "--help"],
        &["replay", "--help"],
        &["script-server", "--help"],
        &["call", "--help"],
        &["tools", "--help"],
        &["pipe", "--help"],
        &["patch", "--help"],
        &["mcp", "--help"],
        &["serve", "--help"],
        &["acp", "--help"],
        &["approve", "--help"],
        &["log", "--help"],
        &["log", "verify", "--help"],
        &["stats", "--help"],
        &["policy", "--help"],
        &["policy", "check", "--help"],
        &["policy", "test", "--help"],
        &["policy", "import", "--help"],
        &["config", "--help"],
        &["completions", "--help"],
    ] {
        text += &format!("$ toolgate {}\n{}\n", args.join(" "), shell.run(args).out);
    }
    testkit::assert_committed(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help.txt"), &text);
}

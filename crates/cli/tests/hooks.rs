//! Tests of hooks: configured in the user's file, with the real binary, as root and as an unprivileged user.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and start real programs"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use tempfile::TempDir;
use testkit::WorldExecutableCopy;

const UNPRIVILEGED_ID: u32 = 65534;
const TOOLGATE: &str = env!("CARGO_BIN_EXE_toolgate");

/// A user with a home, a project and a configuration.
struct HookFixture {
    directory: TempDir,
    /// The user id, if it is not the tester's, with a copy of the program that this user may run.
    user: Option<(u32, WorldExecutableCopy)>,
}

impl HookFixture {
    fn new() -> Self {
        Self::who(None)
    }

    fn who(user: Option<u32>) -> Self {
        testkit::restore_signals();
        let directory = tempfile::tempdir().unwrap();
        let copy = |user| (user, WorldExecutableCopy::new(TOOLGATE));
        let person = Self { directory, user: user.map(copy) };
        for name in ["", "home", "project", "own"] {
            let path = person.path(name);
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            chown(&path, user, user).unwrap();
        }
        person.file("project/a.txt", "one\n");
        person
    }

    fn path(&self, name: &str) -> PathBuf {
        let directory = fs::canonicalize(self.directory.path()).unwrap();
        if name.is_empty() { directory } else { directory.join(name) }
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let user = self.user.as_ref().map(|(user, _)| *user);
        chown(path, user, user).unwrap();
    }

    fn configure(&self, text: &str) {
        self.file("own/config.toml", text);
    }

    /// Configures a hook that is a script in the home.
    fn hook(&self, script: &str, more: &str) {
        self.file("home/hook.sh", &format!("#!/bin/sh\n{script}\n"));
        self.configure(&format!("[[hook]]\nname = \"guard\"\ncommand = [\"~/hook.sh\"]\n{more}\n"));
    }

    fn start(&self, args: &[&str]) -> Child {
        let copy = self.user.as_ref().map(|(_, copy)| copy.path());
        let mut command = Command::new(copy.unwrap_or_else(|| TOOLGATE.into()));
        command.args(args).current_dir(self.path("project")).env_clear();
        command.envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("GITHUB_TOKEN", "secret"),
            ("EDITOR", "vi"),
        ]);
        command.env("HOME", self.path("home")).env("TOOLGATE_HOME", self.path("own"));
        if let Some((user, _)) = &self.user {
            command.uid(*user).gid(*user);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs the command, and formats exit code, stdout and stderr as one text.
    fn transcript(&self, args: &[&str]) -> String {
        let Output { status, stdout, stderr } = self.start(args).wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap().replace(self.path("").to_str().unwrap(), "$DIR");
        format!("{}\n-- out\n{}-- err\n{}", status.code().unwrap(), text(stdout), text(stderr))
    }

    fn read(&self) -> String {
        self.transcript(&["call", "read_file", "--json", r#"{"path": "a.txt"}"#])
    }
}

#[test]
fn a_hook_of_the_users_own_file_tightens() {
    let person = HookFixture::new();
    person.hook("echo 'not today' >&2; exit 2", "");
    assert_snapshot!(person.read(), @"
    1
    -- out
    -- err
    error: forbidden by policy: the hook `guard` forbids it: not today
    ");
    person.hook(r#"echo '{"decision": "ask", "reason": "look at it"}'"#, "on = [\"before\"]");
    assert_snapshot!(person.read(), @"
    1
    -- out
    -- err
    error: forbidden by policy: this needs approval: the hook `guard` asks: look at it; no approver is available, so it was refused: try a way that needs no approval; the user can run it on a terminal, open `toolgate approve` if this is `toolgate mcp`, or add a rule
    ");
    person.hook(r#"echo '{"note": "mind the gap"}'"#, "on = [\"after\"]");
    assert_snapshot!(person.read(), @"
    0
    -- out
    Note of the hook `guard`: mind the gap
    1| one
    -- err
    ");
    person.hook("exit 2", "tools = [\"shell*\", \"exec_command\"]");
    assert_snapshot!(person.read(), @"
    0
    -- out
    1| one
    -- err
    ");
}

#[test]
fn a_hook_that_fails_says_where_it_is_configured() {
    let person = HookFixture::new();
    person.hook("echo oh >&2; exit 3", "");
    assert_snapshot!(person.read(), @"
    1
    -- out
    -- err
    error: forbidden by policy: the hook `guard` forbids it: it failed, which counts as a no: it ended with exit code 3: oh ($DIR/own/config.toml:3)
    ");
    person.hook("sleep 60", "timeout_ms = 200");
    assert_snapshot!(person.read(), @"
    1
    -- out
    -- err
    error: forbidden by policy: the hook `guard` forbids it: it failed, which counts as a no: it took longer than 200 ms, and was ended ($DIR/own/config.toml:3)
    ");
    person.hook("echo '{\"decision\": \"allow\"}'", "");
    assert_snapshot!(person.read(), @r#"
    1
    -- out
    -- err
    error: forbidden by policy: the hook `guard` forbids it: it failed, which counts as a no: its output is not an answer: a decision is "deny", "ask" or null: a hook cannot allow anything; it printed `{"decision": "allow"}` ($DIR/own/config.toml:3)
    "#);
    person.hook("exit 3", "on_failure = \"ignore\"");
    let ignored = person.read();
    assert!(ignored.starts_with("0\n-- out\n1| one\n-- err\n"), "{ignored}");
    assert!(
        ignored.contains("the hook `guard` was ignored: it ended with exit code 3 ($DIR/own/config.toml:3)"),
        "{ignored}"
    );
}

#[test]
fn a_hook_names_a_tool_by_any_of_its_names() {
    let person = HookFixture::new();
    let tools = r#"["local_shell", "container.exec", "write_file", "search"]"#;
    person.configure(&format!("model = \"gpt-5\"\n[[hook]]\ncommand = [\"true\"]\ntools = {tools}\n"));
    let told = person.read();
    assert!(told.starts_with("0\n"), "{told}");
}

#[test]
fn invalid_hook_is_rejected_before_anything_runs() {
    let person = HookFixture::new();
    person.file("home/hook.sh", "#!/bin/sh\nexit 0\n");
    let wrong = |text: &str| {
        person.configure(&format!("model = \"gpt-5\"\n[[hook]]\n{text}\n"));
        let told = person.read();
        assert!(told.starts_with("2\n"), "{told}");
        told.split_once("-- err\n").unwrap().1.lines().next().unwrap().to_owned()
    };
    assert_snapshot!(wrong("command = [\"no-such-program\"]"), @"error: $DIR/own/config.toml:3: the hook `no-such-program` cannot be run: there is no program `no-such-program` in PATH");
    assert_snapshot!(wrong("command = [\"~/none.sh\"]"), @"error: $DIR/own/config.toml:3: the hook `none.sh` cannot be run: `$DIR/home/none.sh` is not an executable program");
    assert_snapshot!(wrong("command = [\"./none.sh\"]"), @"error: $DIR/own/config.toml:3: the hook `none.sh` cannot be run: `$DIR/own/none.sh` is not an executable program");
    assert_snapshot!(wrong("command = [\"true\"]\ntools = [\"reed_file\"]"), @"error: $DIR/own/config.toml:3: the hook `true` cannot be run: it is for the tool `reed_file`, which does not exist");
    assert_snapshot!(wrong("name = \"x\""), @"error: $DIR/own/config.toml:2:1: missing field `command`");
    assert_snapshot!(wrong("command = \"true\""), @r#"error: $DIR/own/config.toml:3:11: invalid type: string "true", expected a list, e.g. `["a"]`"#);
    assert_snapshot!(wrong("command = []"), @r#"error: $DIR/own/config.toml:3:11: `command` must be a program and its arguments, e.g. `["python3", "~/guard.py"]`"#);
    assert_snapshot!(wrong("command = [\"true\"]\nname = \"\""), @"error: $DIR/own/config.toml:4:8: `name` must be 1 to 64 letters on one line");
    assert_snapshot!(wrong("command = [\"true\"]\non = []"), @r#"error: $DIR/own/config.toml:4:6: it is never run; leave `on` out, or write `["before"]`"#);
    assert_snapshot!(wrong("command = [\"true\"]\non = [\"during\"]"), @"error: $DIR/own/config.toml:4:7: unknown variant `during`, expected `before` or `after`");
    assert_snapshot!(wrong("command = [\"true\"]\ntools = []"), @"error: $DIR/own/config.toml:4:9: it is for no tool; leave `tools` out, or name some");
    assert_snapshot!(wrong("command = [\"true\"]\ntools = [\"\"]"), @"error: $DIR/own/config.toml:4:9: it is empty; write a tool's name, e.g. `mcp__github__*`");
    assert_snapshot!(wrong("command = [\"true\"]\ntimeout_ms = 0"), @"error: $DIR/own/config.toml:4:14: `timeout_ms` must be from 100 to 600000");
    assert_snapshot!(wrong("command = [\"true\"]\non_failure = \"allow\""), @"error: $DIR/own/config.toml:4:14: unknown variant `allow`, expected `deny` or `ignore`");
    assert_snapshot!(wrong("command = [\"true\"]\npass = [\"OPENAI_API_KEY\"]"), @"error: $DIR/own/config.toml:4:9: `OPENAI_API_KEY` is the key of a model provider, which no command gets");
    assert_snapshot!(wrong("command = [\"true\"]\nallow = true"), @"error: $DIR/own/config.toml:4:1: unknown field `allow`, expected one of `name`, `command`, `on`, `tools`, `timeout_ms`, `on_failure`, `pass`");
    person.configure("hook = 3\n");
    assert!(person.read().starts_with("2\n"));
}

#[test]
fn a_project_has_no_hooks() {
    let person = HookFixture::new();
    person.configure("");
    person.file("project/toolgate.toml", "[[hook]]\ncommand = [\"touch\", \"/tmp/toolgate-was-here\"]\n");
    assert_snapshot!(person.read(), @"
    2
    -- out
    -- err
    error: $DIR/project/toolgate.toml:2:11: a project may narrow what tools can do, not widen it: `hook` belongs in your own file ($DIR/own/config.toml)
    hint: `toolgate config --help` says what can be set
    ");
}

#[test]
fn the_configuration_shows_hooks_as_they_are_run() {
    let person = HookFixture::new();
    person.hook(
        "",
        "tools = [\"shell*\"]\npass = [\"GITHUB_TOKEN\"]\n[[hook]]\ncommand = [\"python3\", \"~/guard.py\"]",
    );
    let told = person.transcript(&["config"]);
    let rows: Vec<&str> = told.lines().skip_while(|row| !row.starts_with("hook")).take(4).collect();
    assert_snapshot!(rows.join("\n"), @r#"
    hook = [
      { command = ["$DIR/home/hook.sh"], name = "guard", on = ["before"], on_failure = "deny", pass = ["GITHUB_TOKEN"], timeout_ms = 10000, tools = ["shell*"] },  # $DIR/own/config.toml:3
      { command = ["python3","$DIR/home/guard.py"], name = "guard.py", on = ["before"], on_failure = "deny", timeout_ms = 10000 },  # $DIR/own/config.toml:7
    ]
    "#);
    // The printed form is valid configuration.
    let dir = person.path("");
    person.configure(&rows.join("\n").replace("$DIR", dir.to_str().unwrap()));
    let again = person.transcript(&["config"]);
    let shown = |text: &str| {
        text.lines().find(|row| row.contains("guard\"")).unwrap().split('#').next().unwrap().to_owned()
    };
    assert_eq!(shown(&again), shown(&told));
}

#[test]
fn hooks_without_names_can_be_told_apart() {
    let person = HookFixture::new();
    let commands = [
        "[\"python3\", \"~/a/guard.py\"]",
        "[\"python3\", \"~/other.py\"]",
        "[\"python3\", \"~/b/guard.py\"]",
        "[\"~/hook.sh\", \"/etc/hosts\"]",
        "[\"sh\", \"-c\", \"/bin/true\"]",
    ];
    let hooks: String = commands.iter().map(|command| format!("[[hook]]\ncommand = {command}\n")).collect();
    person.configure(&hooks);
    let told = person.transcript(&["config"]);
    let names: Vec<&str> =
        told.split("name = \"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(names, ["guard.py #1", "other.py", "guard.py #3", "hook.sh", "sh"], "{told}");
}

#[test]
fn a_hook_gets_the_users_environment_but_no_credentials() {
    let person = HookFixture::new();
    let env = |more: &str| {
        person.hook("env | grep -E '^(EDITOR|GITHUB_TOKEN|HOME|PATH|PWD|TOOLGATE)' | sort > ~/env", more);
        let told = person.read();
        assert!(told.starts_with("0\n"), "{told}");
        fs::read_to_string(person.path("home/env"))
            .unwrap()
            .replace(person.path("").to_str().unwrap(), "$DIR")
    };
    assert_snapshot!(env(""), @"
    EDITOR=vi
    HOME=$DIR/home
    PATH=/usr/local/bin:/usr/bin:/bin
    PWD=$DIR/project
    TOOLGATE=1
    ");
    assert!(env("pass = [\"GITHUB_TOKEN\"]").contains("GITHUB_TOKEN=secret"));
}

/// Counts the processes with `mark` in their arguments.
fn running(mark: &str) -> usize {
    let pids =
        fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let lines = pids.filter_map(|pid| fs::read(format!("/proc/{pid}/cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

#[test]
fn ctrl_c_ends_the_hook_too() {
    let person = HookFixture::new();
    let mark = format!("6{}.75", std::process::id());
    person.hook(&format!("(setsid sleep {mark} &); sleep {mark}; :"), "timeout_ms = 60000");
    let child = person.start(&["call", "read_file", "--json", r#"{"path": "a.txt"}"#]);
    let until = Instant::now() + Duration::from_secs(30);
    while running(&mark) < 2 {
        assert!(Instant::now() < until);
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", String::from_utf8_lossy(&ended.stderr));
    while running(&mark) > 0 {
        assert!(Instant::now() < until);
        std::thread::yield_now();
    }
}

#[test]
fn hooks_work_for_an_unprivileged_user() {
    if !rustix::process::getuid().is_root() {
        // Without root, the other tests have covered this user already.
        return;
    }
    let person = HookFixture::who(Some(UNPRIVILEGED_ID));
    person.hook("id -u > ~/who; cat >> ~/who; echo '{\"note\": \"seen\"}'", "on = [\"before\", \"after\"]");
    let told = person.read();
    assert!(
        told.starts_with(
            "0\n-- out\nNote of the hook `guard`: seen\nNote of the hook `guard`: seen\n1| one\n"
        ),
        "{told}"
    );
    let who = fs::read_to_string(person.path("home/who")).unwrap();
    assert!(who.starts_with(&UNPRIVILEGED_ID.to_string()) && who.contains("after_call"), "{who}");
    person.hook("sleep 60 & sleep 60", "timeout_ms = 200");
    assert!(person.read().contains("it took longer than 200 ms"));
    let told = person.transcript(&["call", "shell", "--json", r#"{"command": ["true"]}"#]);
    assert!(told.contains("it took longer than 200 ms"), "{told}");
}

/// Returns the code block of docs/hooks.md in `language` that contains `mark`.
fn example(language: &str, mark: &str) -> String {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hooks.md")).unwrap();
    let begins = format!("```{language}\n");
    let mut blocks = page.split(&begins).skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.find(|block| block.contains(mark)).unwrap().to_owned()
}

#[test]
fn the_examples_of_the_page_do_what_it_says() {
    let person = HookFixture::new();
    person.file("home/hooks/no_push.py", &example("python", "no_push.py"));
    person.file("home/hooks/tests.py", &example("python", "tests.py"));
    let both = format!(
        "sandbox = \"workspace-write\"\n{}{}",
        example("toml", "no_push.py"),
        example("toml", "name = \"tests\"")
    );
    person.configure(&both);
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(person.path("project")).status().unwrap();
        assert!(done.success());
    };
    git(&["init", "-q", "-b", "main"]);
    let shell = |script: &str| {
        let arguments = serde_json::json!({ "command": ["bash", "-c", script] }).to_string();
        person.transcript(&["call", "shell", "--json", &arguments])
    };
    let denied = shell("git push origin main");
    assert!(denied.contains("the hook `no-push` forbids it: do not push to main"), "{denied}");
    git(&["checkout", "-q", "-b", "mine"]);
    let pushed = shell("git push 2>&1; echo tried");
    assert!(pushed.contains("tried") && !pushed.contains("no-push"), "{pushed}");
    let tests = shell("echo cargo test; exit 1");
    assert!(tests.contains("Note of the hook `tests`: Mend the code"), "{tests}");
    assert!(!shell("echo cargo test").contains("Note of the hook"));
}

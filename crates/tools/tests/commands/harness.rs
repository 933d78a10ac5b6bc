//! The test harness: the command tools in a workspace, with answers normalized across machines.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::{CallLimits, CallObserver, ToolRegistry, ToolRouter};
use exec::session::{ProcessSession as Running, SessionTable, SharedProcesses};
use exec::shell::{InstalledShell, ShellCommands};
use exec::spill::Spill;
use policy::rules::{RuleLayer, RuleSet};
use policy::{DEFAULT_DENY_READ, DenyRead, EnvironmentPolicy, Gate, ReadRoot, ReadScope, SandboxPolicy};
use serde_json::{Value, json};
use testkit::{TestWorkspace, ToolTestSession};
use tokio::runtime::Runtime;
use tool::{AnyTool, ToolOutput, WorkingDir};
use toolgate_tools::{CommandRunner, ImageSettings};

/// Long enough for any expected event, even on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// The configuration of the tools under test.
pub(crate) struct CommandToolsSetup {
    pub(crate) sandbox: SandboxPolicy,
    pub(crate) sessions: usize,
    pub(crate) environment: EnvironmentPolicy,
    /// Variables in addition to the `PATH` of these tests and a `HOME` in the workspace.
    pub(crate) host: Vec<(&'static str, String)>,
    /// Keeps long outputs in files below `kept` in the workspace.
    pub(crate) spills: bool,
    pub(crate) processes: Arc<SharedProcesses>,
    pub(crate) limits: CallLimits,
}

impl Default for CommandToolsSetup {
    fn default() -> Self {
        Self {
            sandbox: SandboxPolicy::FullAccess,
            sessions: 64,
            environment: EnvironmentPolicy::default(),
            host: Vec::new(),
            spills: true,
            processes: Arc::default(),
            limits: CallLimits::default(),
        }
    }
}

impl CommandToolsSetup {
    pub(crate) fn harness(self) -> CommandHarness {
        self.harness_in(TestWorkspace::new())
    }

    pub(crate) fn harness_in(self, workspace: TestWorkspace) -> CommandHarness {
        let (sandbox, limits) = (self.sandbox, self.limits);
        let commands = self.command_runner(&workspace);
        let session =
            ToolTestSession::with_sandbox(sandbox, &workspace, tools(&commands)).with_limits(limits);
        CommandHarness { session, commands, workspace }
    }

    pub(crate) fn command_runner(self, workspace: &TestWorkspace) -> Arc<CommandRunner> {
        let root = workspace.path();
        let home = root.join("home");
        fs::create_dir_all(&home).unwrap();
        let mut host = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("HOME".into(), home.into_os_string()),
        ];
        host.extend(self.host.into_iter().map(|(name, value)| (OsString::from(name), value.into())));
        let spill = self.spills.then(|| Arc::new(Spill::new(root.join("kept"), &root)));
        Arc::new(CommandRunner {
            sessions: SessionTable::new(self.processes, spill, self.sessions),
            shells: ShellCommands::new(Some(InstalledShell::find("bash").unwrap()), self.environment, host),
        })
    }
}

fn tools(commands: &Arc<CommandRunner>) -> Vec<Arc<dyn AnyTool>> {
    toolgate_tools::builtin_tools(ImageSettings::default(), commands, &Arc::default()).unwrap()
}

/// Creates a separate router, for calls that `ToolTestSession` does not support.
pub(crate) fn router(workspace: &TestWorkspace, commands: &Arc<CommandRunner>) -> ToolRouter {
    let root = workspace.path();
    let deny = DenyRead::new(DEFAULT_DENY_READ, None).unwrap();
    // Some of the scripts fork repeatedly, and no approver is there to allow that.
    let allowed = "[[rule]]\ntool = [\"shell\", \"shell_command\", \"exec_command\"]\ndecision = \"allow\"\n";
    let rules = RuleSet::parse(allowed, "/rules.toml".as_ref(), RuleLayer::User).unwrap();
    let gate = Gate::new(ReadScope::new(vec![ReadRoot::new(&root)], deny), SandboxPolicy::FullAccess)
        .with_rules(rules);
    let tools =
        tools(commands).into_iter().fold(ToolRegistry::builder(), |builder, tool| builder.erased(tool));
    ToolRouter::new(tools.build().unwrap(), gate, WorkingDir { cwd: root })
}

/// Creates such a router with an observer.
pub(crate) fn observed_router(
    workspace: &TestWorkspace,
    commands: &Arc<CommandRunner>,
    observer: &Arc<impl CallObserver + 'static>,
) -> ToolRouter {
    router(workspace, commands).with_observer(Arc::clone(observer) as Arc<dyn CallObserver>)
}

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// The tools, their workspace, and a session to call them as a model does.
pub(crate) struct CommandHarness {
    // Dropped first: running processes end before their workspace does.
    session: ToolTestSession,
    pub(crate) commands: Arc<CommandRunner>,
    pub(crate) workspace: TestWorkspace,
}

impl CommandHarness {
    pub(crate) fn new() -> Self {
        CommandToolsSetup::default().harness()
    }

    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> ToolOutput {
        self.session.call(tool, arguments)
    }

    pub(crate) fn call_and_cancel(&self, tool: &str, arguments: &Value, after: Duration) -> ToolOutput {
        self.session.call_and_cancel(tool, arguments, after)
    }

    /// Returns the text for the model, without parts that differ from run to run.
    pub(crate) fn call_text(&self, tool: &str, arguments: &Value) -> String {
        self.normalized(&self.call(tool, arguments))
    }

    pub(crate) fn normalized(&self, output: &ToolOutput) -> String {
        self.workspace.normalize(&mask_times_and_pids(&output.joined_text()))
    }

    /// Runs a script to its end, without a profile.
    pub(crate) fn run_script(&self, script: &str) -> ToolOutput {
        self.call("shell", &json!({"command": ["bash", "-c", script], "timeout_ms": 60_000}))
    }

    /// Starts a script without a profile and waits as briefly as possible; `more` are further arguments.
    pub(crate) fn start_script(&self, script: &str, more: &Value) -> ToolOutput {
        let mut arguments = json!({"cmd": script, "login": false, "yield_time_ms": 250});
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        self.call("exec_command", &arguments)
    }

    /// Starts a script that keeps running, and returns its session id.
    pub(crate) fn start_background(&self, script: &str, more: &Value) -> u32 {
        let started = self.start_script(script, more);
        session_id(&started).unwrap_or_else(|| panic!("{}", started.joined_text()))
    }

    /// Writes to a session and returns its output.
    pub(crate) fn type_in(&self, id: u32, chars: &str) -> ToolOutput {
        self.call("write_stdin", &json!({"session_id": id, "chars": chars, "yield_time_ms": 1000}))
    }

    /// Writes, and polls until the collected output contains `wanted`.
    pub(crate) fn type_until(&self, id: u32, chars: &str, wanted: &str) -> String {
        let mut seen = output_text(&self.type_in(id, chars));
        let until = Instant::now() + PATIENCE;
        while !seen.contains(wanted) {
            assert!(Instant::now() < until, "no `{wanted}` in:\n{seen}");
            eventually("more output", || self.find_session(id).pending_output() > 0);
            // A resize to the same size waits as briefly as possible.
            let more = json!({"session_id": id, "rows": 24, "yield_time_ms": 250});
            seen.push_str(&output_text(&self.call("write_stdin", &more)));
        }
        seen
    }

    /// Returns the session itself.
    pub(crate) fn find_session(&self, id: u32) -> Arc<Running> {
        self.commands.sessions.find(id).unwrap()
    }

    /// Waits until all processes of a session have ended, without taking its output.
    pub(crate) fn wait_until_over(&self, id: u32) {
        eventually("end", || self.find_session(id).is_over());
    }

    pub(crate) fn kept_files(&self) -> Vec<PathBuf> {
        let entries =
            |path: PathBuf| fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = entries(self.workspace.path().join("kept")).flat_map(entries).collect();
        files.sort();
        files
    }
}

/// Returns the session id in an answer.
pub(crate) fn session_id(output: &ToolOutput) -> Option<u32> {
    u32::try_from(output.structured.as_ref()?.get("session_id")?.as_u64()?).ok()
}

/// Returns the text after the labels.
pub(crate) fn output_text(answer: &ToolOutput) -> String {
    let text = answer.joined_text();
    text.split_once("Output:\n").unwrap_or_else(|| panic!("no output in: {text}")).1.to_owned()
}

/// Returns a field of the structured answer.
pub(crate) fn structured_field<'a>(answer: &'a ToolOutput, name: &str) -> &'a str {
    answer.structured.as_ref().unwrap()[name].as_str().unwrap_or_else(|| panic!("no {name}: {answer:?}"))
}

/// Waits for an event that must happen.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_within(PATIENCE, what, &mut is_so);
}

/// Waits for an event that must happen within `patience`.
#[track_caller]
pub(crate) fn wait_within(patience: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + patience;
    while !is_so() {
        assert!(Instant::now() < until, "no {what} within {patience:?}");
        sleep(Duration::from_millis(5));
    }
}

/// Returns a number of seconds for `sleep` that no other process on this machine uses, so that the process can be
/// found.
pub(crate) fn unique_sleep_mark() -> String {
    static MARKS: AtomicU32 = AtomicU32::new(0);
    format!("987654.{}{:03}", std::process::id(), MARKS.fetch_add(1, Ordering::Relaxed))
}

/// Returns the command lines of all processes that contain `mark`.
pub(crate) fn processes_with_mark(mark: &str) -> Vec<String> {
    let command = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).ok();
    let lines = fs::read_dir("/proc").unwrap().filter_map(|entry| command(entry.unwrap()));
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(mark)).collect()
}

#[track_caller]
pub(crate) fn assert_none_left(mark: &str) {
    let left = processes_with_mark(mark);
    assert!(left.is_empty(), "left behind: {left:#?}");
}

/// Returns the path of the real Python, not of a version manager's shim, which searches before it starts.
pub(crate) fn python_path() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        #[expect(clippy::disallowed_methods, reason = "a test looks for a program")]
        let said =
            std::process::Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let said = said.expect("these tests need `python3`");
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    })
}

/// Replaces times and process ids by letters.
fn mask_times_and_pids(text: &str) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let line = mask_numbers(line, "Wall time: ", "T");
        let line = mask_numbers(&line, " for ", "T");
        // The pid of a process that ended at once is unknown.
        let line = mask_numbers(&line, ", pid ", "").replace(", pid ", "");
        let line = mask_numbers(&line, "by the user after ", "T");
        let ended = ["Ended: ", "Left running, so ended", "Could not be killed: "];
        if ended.iter().any(|begin| line.starts_with(begin)) {
            out.push_str(&mask_numbers(&line, " (", "P"));
        } else {
            out.push_str(&line);
        }
    }
    out
}

/// Replaces each number that follows `before` in `text` by `name`.
pub(crate) fn mask_numbers(text: &str, before: &str, name: &str) -> String {
    let mut parts = text.split(before);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        out.push_str(before);
        out.push_str(if rest.len() < part.len() { name } else { "" });
        out.push_str(rest);
    }
    out
}

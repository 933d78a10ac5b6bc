//! Runs a workload without and with the sandbox, checks its result, and compares the files and output of both runs.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tempfile::TempDir;

use crate::machine::{TestMachine, toolgate_binary};
use crate::process::{ProgramResult, ProgramUser, RunningProgram, TestProgram, UNPRIVILEGED_ID, shell_quote};
use crate::workload::{
    ConcurrentRun, OutputCheck, StandardStreams, Workload, WorkloadHome, WorkspaceLocation,
};

/// The tier of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrialTier {
    Namespaces,
    Landlock,
}

impl TrialTier {
    pub(crate) const ALL: [Self; 2] = [Self::Namespaces, Self::Landlock];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
        }
    }
}

/// Shell functions for every script.
const PRELUDE: &str = r#"set -euo pipefail
wait_for() {
  for _ in {1..400}; do if "$@"; then return 0; fi; sleep 0.05; done
  echo "waited in vain for: $*" >&2; return 1
}
is() { [ "$1" = "$2" ] || { printf 'is:\n%s\nand not:\n%s\n' "$1" "$2" >&2; return 1; }; }
has() { grep "$@" >/dev/null; }
fails() { if "$@"; then echo "does not fail: $*" >&2; return 1; fi; }
repo() { git init -q "$1"; (cd "$1"; echo one >a.txt; git add a.txt; git commit -qm first); }
subjects() { git log --format=%s "$@"; }
sound() { git -C "${1:-.}" fsck --strict --no-dangling; git -C "${1:-.}" status >/dev/null; }
clean() { sound "${1:-.}"; is "$(git -C "${1:-.}" status --porcelain)" ''; }
"#;

const GITCONFIG: &str = r#"[user]
	name = Keeper
	email = keeper@example.org
[init]
	defaultBranch = main
[gc]
	auto = 0
"#;
/// A shell that runs one script does not read this.
const BASHRC: &str = "echo the bashrc was read; echo the bashrc was read >&2\n";

/// The result of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TrialResult {
    said: Vec<String>,
    /// The files in the workspace afterwards.
    names: BTreeSet<String>,
}

/// Runs `workload` without and with the sandbox.
///
/// # Panics
/// If it fails; the message contains the command that reproduces it.
pub(crate) fn prove_workload(machine: &TestMachine, workload: &Workload, tier: TrialTier, user: ProgramUser) {
    let told = control(machine, workload, user);
    let told = told.unwrap_or_else(|fault| panic!("it does not even work without the sandbox: {fault}"));
    let seen = WorkloadTrial::new(machine, workload, Some(tier), user).attempt();
    let seen = seen.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(seen.names, told.names, "what is in the workspace afterwards, and without the sandbox");
    if workload.setting.output == OutputCheck::Same {
        assert_eq!(seen.said, told.said, "what it prints, and what it prints without the sandbox");
    }
}

/// Removes the warning about a weaker tier, which a terminal shows among the output. Its further lines are indented.
fn without_warning(output: &str) -> String {
    let mut is_in_warning = false;
    let is_output = |line: &&str| {
        is_in_warning = line.contains("commands are confined LESS than the policy says")
            || (is_in_warning && line.starts_with("  "));
        !is_in_warning
    };
    output.split_inclusive('\n').filter(is_output).collect()
}

type ControlResult = Arc<OnceLock<Result<TrialResult, String>>>;

/// Runs a workload without the sandbox, once for each user.
fn control(machine: &TestMachine, workload: &Workload, user: ProgramUser) -> Result<TrialResult, String> {
    static TOLD: Mutex<Option<HashMap<(&str, ProgramUser), ControlResult>>> = Mutex::new(None);
    let mut table = TOLD.lock();
    let told: ControlResult =
        Arc::clone(table.get_or_insert_default().entry((workload.name, user)).or_default());
    drop(table);
    told.get_or_init(|| WorkloadTrial::new(machine, workload, None, user).attempt()).clone()
}

struct WorkloadTrial<'a> {
    machine: &'a TestMachine,
    workload: &'a Workload,
    /// `None` means unconfined.
    tier: Option<TrialTier>,
    user: ProgramUser,
    base: TempDir,
    workspace: PathBuf,
    /// Keeps a workspace outside the base directory.
    _elsewhere: Option<TempDir>,
}

impl<'a> WorkloadTrial<'a> {
    fn new(
        machine: &'a TestMachine,
        workload: &'a Workload,
        tier: Option<TrialTier>,
        user: ProgramUser,
    ) -> Self {
        let base = directory_of(user, &machine.room);
        let elsewhere = matches!(workload.setting.place, WorkspaceLocation::Tmp)
            .then(|| directory_of(user, "/tmp".as_ref()));
        let home = base.path().join("home");
        let workspace = match workload.setting.place {
            WorkspaceLocation::At(path) => base.path().join(path),
            WorkspaceLocation::Tmp => elsewhere.as_ref().unwrap().path().to_owned(),
        };
        for directory in [&home, &workspace] {
            fs::create_dir_all(directory).unwrap();
        }
        fs::write(home.join(".gitconfig"), GITCONFIG).unwrap();
        fs::write(home.join(".bashrc"), BASHRC).unwrap();
        if user == ProgramUser::Unprivileged {
            give(base.path());
        }
        Self { machine, workload, tier, user, base, workspace, _elsewhere: elsewhere }
    }

    fn attempt(mut self) -> Result<TrialResult, String> {
        let seen = self.steps();
        if std::env::var_os("TOOLGATE_KEEP").is_some() {
            self.base.disable_cleanup(true);
        }
        let tier = self.tier.map_or("not confined", TrialTier::name);
        let who = format!("{} ({tier}, {})", self.workload.name, self.user.name());
        seen.map_err(|fault| format!("{who}: {fault}\nbase: {}", self.base.path().display()))
    }

    fn steps(&self) -> Result<TrialResult, String> {
        self.person("before", self.workload.before)?;
        let mut said = Vec::new();
        for (number, script) in self.workload.runs.iter().enumerate() {
            let last = number + 1 == self.workload.runs.len();
            let status = if last { self.workload.setting.status } else { 0 };
            let beside = if number == 0 { self.beside()? } else { None };
            let program = self.run(script);
            let what = format!("run {}", number + 1);
            let ended = program.run().map_err(|fault| describe_failure(&what, &program, &fault));
            let ended = ended.and_then(|ended| check(&what, &program, &ended, status).map(|()| ended));
            let other = beside.map_or(Ok(()), |(program, running)| finish(&program, running));
            let ended = match (ended, other) {
                (Ok(ended), Ok(())) => ended,
                (Err(fault), Ok(())) | (Ok(_), Err(fault)) => return Err(fault),
                // Each may have waited for the other.
                (Err(one), Err(other)) => return Err(format!("{one}\n{other}")),
            };
            said.push(without_warning(&ended.stdout));
        }
        self.person("after", self.workload.after)?;
        let names = self.names()?;
        Ok(TrialResult { said, names })
    }

    fn beside(&self) -> Result<Option<(TestProgram, RunningProgram)>, String> {
        let program = match self.workload.beside {
            ConcurrentRun::Nothing => return Ok(None),
            ConcurrentRun::Run(script) => self.run(script),
            ConcurrentRun::Person(script) => self.program(self.bash(script)),
        };
        let running = program.start()?;
        Ok(Some((program, running)))
    }

    /// Runs an unconfined script.
    fn person(&self, what: &str, script: &str) -> Result<(), String> {
        let program = self.program(self.bash(script));
        let ended = program.run().map_err(|fault| describe_failure(what, &program, &fault))?;
        check(what, &program, &ended, 0)
    }

    /// Builds the command of a script, confined if the trial is.
    fn run(&self, script: &str) -> TestProgram {
        let setting = self.workload.setting;
        let mut argv: Vec<String> = setting.wrapper.iter().map(|word| (*word).to_owned()).collect();
        if let StandardStreams::Terminal(talk) = setting.streams {
            argv.extend([
                "python3".to_owned(),
                self.machine.shelf.path_of("terminal.py"),
                talk.len().to_string(),
            ]);
            argv.extend(talk.iter().flat_map(|(wait, send)| [(*wait).to_owned(), (*send).to_owned()]));
        }
        if let Some(tier) = self.tier {
            argv.extend([
                toolgate_binary(),
                "sandbox".to_owned(),
                "--tier".to_owned(),
                tier.name().to_owned(),
            ]);
            let base = self.base.path().display().to_string();
            argv.extend(setting.flags.iter().map(|flag| flag.replace("$BASE", &base)));
            argv.push("--".to_owned());
        }
        argv.extend(self.bash(script));
        let mut program = self.program(argv);
        match setting.streams {
            StandardStreams::Input(input) => program.input = input,
            StandardStreams::File => program.output = Some(self.base.path().join("output.txt")),
            StandardStreams::Pipes | StandardStreams::Terminal(_) => {}
        }
        program
    }

    fn bash(&self, script: &str) -> Vec<String> {
        let names = [
            ("BASE", self.base.path().display().to_string()),
            ("WS", self.workspace.display().to_string()),
            ("SHELF", self.machine.shelf.path_of("")),
            ("TIER", self.tier.map_or("none", TrialTier::name).to_owned()),
        ];
        let names: Vec<String> =
            names.iter().map(|(name, value)| format!("{name}={}", shell_quote(value))).collect();
        let script = format!("{PRELUDE}{}\n{script}", names.join(" "));
        vec!["bash".to_owned(), "-c".to_owned(), script]
    }

    fn program(&self, argv: Vec<String>) -> TestProgram {
        let environment = self.environment();
        let directory = self.workspace.clone();
        TestProgram { argv, directory, environment, user: self.user, input: "", output: None }
    }

    fn environment(&self) -> Vec<(String, String)> {
        if self.workload.setting.home == WorkloadHome::Real {
            // Cargo's variables for this test must not reach the builds in it.
            let told =
                |name: &str| name.starts_with("CARGO") && name != "CARGO_HOME" || name == "LD_LIBRARY_PATH";
            return std::env::vars().filter(|(name, _)| !told(name)).collect();
        }
        let login = match self.user {
            ProgramUser::Unprivileged => "nobody".to_owned(),
            ProgramUser::Oneself => std::env::var("USER").unwrap_or_else(|_| self.user.name()),
        };
        let environment = [
            ("PATH", self.machine.path(self.user)),
            ("HOME", &self.base.path().join("home").display().to_string()),
            ("USER", &login),
            ("LOGNAME", &login),
            ("SHELL", "/bin/bash"),
            ("LANG", "C.UTF-8"),
            ("TERM", "xterm"),
        ];
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        environment.into_iter().map(owned).collect()
    }

    /// Returns the names in the workspace; all must belong to the user.
    fn names(&self) -> Result<BTreeSet<String>, String> {
        let owner = self.user.uid();
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&self.workspace).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            let is = entry.metadata().unwrap().uid();
            if is != owner && self.tier.is_some() && self.user == ProgramUser::Unprivileged {
                return Err(format!("`{name}` belongs to {is} and not to {owner}"));
            }
            names.insert(name);
        }
        Ok(names)
    }
}

fn directory_of(user: ProgramUser, place: &Path) -> TempDir {
    let made = tempfile::Builder::new().prefix("keep-").tempdir_in(place).unwrap();
    fs::set_permissions(made.path(), Permissions::from_mode(0o755)).unwrap();
    if user == ProgramUser::Unprivileged {
        give(made.path());
    }
    made
}

/// Gives a directory and all below it to the user 65534.
fn give(path: &Path) {
    chown(path, Some(UNPRIVILEGED_ID), Some(UNPRIVILEGED_ID)).unwrap();
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| give(&entry.unwrap().path()));
    }
}

/// Waits for the concurrent program.
fn finish(program: &TestProgram, running: RunningProgram) -> Result<(), String> {
    let ended = running.wait_to_end().map_err(|fault| describe_failure("beside", program, &fault))?;
    check("beside", program, &ended, 0)
}

fn check(what: &str, program: &TestProgram, ended: &ProgramResult, status: i32) -> Result<(), String> {
    if ended.status == status {
        return Ok(());
    }
    let how = format!("ended with {} and not with {status}", ended.status);
    Err(describe_failure(
        what,
        program,
        &format!("{how}\nstdout:\n{}\nstderr:\n{}", tail(&ended.stdout), tail(&ended.stderr)),
    ))
}

fn describe_failure(what: &str, program: &TestProgram, fault: &str) -> String {
    format!("{what}: {fault}\nto see it again:\n{}", program.to_shell_line())
}

/// Returns the end of a text.
fn tail(text: &str) -> &str {
    let start = text.len().saturating_sub(3000);
    let start = (start..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[start..]
}

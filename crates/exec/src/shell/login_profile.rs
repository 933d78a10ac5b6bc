//! Snapshot of a login shell's profile, taken once: variables, functions, options.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use policy::{EnvironmentPolicy, Permit, ShellFamily};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::InstalledShell;
use crate::capture::Capture;
use crate::process::{PRELUDE_FD, ProcessCommand, Spawner, Stdio, sealed_memfd};
use crate::session::{ProcessExit, ProcessSession, SessionOrigin, SessionStage, TakenOutput};

/// A slower profile is run with every command, as if there were no snapshot.
const PROFILE_TIMEOUT: Duration = Duration::from_secs(10);
/// Separates the parts of the shell's output.
const PART_SEPARATOR: &str = "\u{1e}toolgate\u{1e}";
/// Discards the profile's error messages: they come through a pipe of their own, and might be read after later
/// output.
const DISCARD_STDERR: [&str; 3] = ["/bin/sh", "-c", "exec \"$0\" \"$@\" 2>/dev/null"];
/// Variables of the shell itself, not of its profile.
const SHELL_VARIABLES: [&str; 4] = ["_", "PWD", "OLDPWD", "SHLVL"];

/// Profile snapshots by shell.
#[derive(Debug, Default)]
pub(super) struct LoginProfiles(Mutex<HashMap<InstalledShell, ProfileProbe>>);

/// A snapshot, taken or in progress; `None` if that failed.
type ProfileProbe = Arc<OnceCell<Option<Arc<LoginProfile>>>>;

/// The effects of one shell's profile.
#[derive(Debug)]
pub(super) struct LoginProfile {
    exported: BTreeMap<OsString, OsString>,
    unset: Vec<OsString>,
    admitted: OnceLock<BTreeMap<OsString, OsString>>,
    prelude: Option<Arc<OwnedFd>>,
    functions: BTreeSet<String>,
    /// True if there are aliases, and the shell is told to expand them.
    has_aliases: bool,
    /// True if the profile sets a umask, which only a shell can apply.
    sets_umask: bool,
}

impl LoginProfiles {
    /// Returns the effects of the profile of `shell`, as seen by the command `first`, which is about to run it;
    /// `None` if unknown.
    pub(super) async fn load(
        &self,
        shell: &InstalledShell,
        first: &ProcessCommand,
        spawner: &Spawner,
        permit: &Permit,
    ) -> Option<Arc<LoginProfile>> {
        let cell = Arc::clone(self.0.lock().entry(shell.clone()).or_default());
        let found = cell.get_or_init(|| async {
            let found =
                timeout(PROFILE_TIMEOUT, probe_profile(shell, first, spawner, permit)).await.ok().flatten();
            found.map(Arc::new)
        });
        found.await.clone()
    }

    pub(super) fn forget(&self) {
        self.0.lock().clear();
    }
}

impl LoginProfile {
    /// Returns the arguments that make `shell` run `script` without the profile, but with its definitions.
    pub(super) fn argv(&self, shell: &InstalledShell, script: &str) -> Vec<String> {
        match self.prelude {
            // On the same line, so that line numbers in messages stay correct.
            Some(_) => {
                // Aliases take effect only from the next line on.
                let then = if self.has_aliases { "\n" } else { " " };
                let script = format!(". /dev/fd/{PRELUDE_FD}; exec {PRELUDE_FD}<&-;{then}{script}");
                shell.without_profile(&script)
            }
            None => shell.without_profile(script),
        }
    }

    /// Returns true if the profile redefines `name`, or has effects that only a shell can apply.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.sets_umask || self.functions.contains(name)
    }

    /// Returns the variables that the profile unset.
    pub(super) fn unset(&self) -> &[OsString] {
        &self.unset
    }

    pub(super) fn prelude(&self) -> Option<Arc<OwnedFd>> {
        self.prelude.clone()
    }

    /// Returns the variables that the profile exported and `environment` admits. PATH directories of the host that
    /// the profile lacks are appended: many profiles drop the settings of a container or a parent.
    pub(super) fn variables(
        &self,
        before: &BTreeMap<OsString, OsString>,
        environment: &EnvironmentPolicy,
    ) -> &BTreeMap<OsString, OsString> {
        self.admitted.get_or_init(|| {
            let mut variables = environment.build_from_profile(self.exported.clone());
            if let (Some(path), Some(before)) =
                (variables.get_mut(OsStr::new("PATH")), before.get(OsStr::new("PATH")))
            {
                *path = join_paths(path, before);
            }
            variables
        })
    }
}

/// Joins the directories of `first`, then those of `second` that are missing in it.
fn join_paths(first: &OsStr, second: &OsStr) -> OsString {
    let mut seen = BTreeSet::new();
    let mut out: Vec<&[u8]> = Vec::new();
    for directory in [first, second].iter().flat_map(|path| path.as_bytes().split(|&byte| byte == b':')) {
        if !directory.is_empty() && seen.insert(directory) {
            out.push(directory);
        }
    }
    OsString::from_vec(out.join(&b':'))
}

async fn probe_profile(
    shell: &InstalledShell,
    first: &ProcessCommand,
    spawner: &Spawner,
    permit: &Permit,
) -> Option<LoginProfile> {
    let with = run_and_capture(shell, &state_script(shell.family, true), first, spawner, permit).await?;
    let [_, variables, functions, options] = split_parts(&with)?;
    let (mut has_aliases, mut sets_umask) = (false, false);
    let mut names = BTreeSet::new();
    let prelude = match shell.family {
        ShellFamily::Sh
        | ShellFamily::Almquist
        | ShellFamily::Korn
        | ShellFamily::Similar
        | ShellFamily::Foreign => None,
        ShellFamily::Bash | ShellFamily::Zsh => {
            let without =
                run_and_capture(shell, &state_script(shell.family, false), first, spawner, permit).await?;
            let [_, _, no_functions, plain] = split_parts(&without)?;
            let functions = if functions == no_functions { &[] } else { functions };
            let changed = changed_options(options, plain);
            has_aliases = changed.contains(&b"shopt -s expand_aliases".as_slice());
            sets_umask = changed.iter().any(|line| line.starts_with(b"umask "));
            names.extend(changed.iter().filter_map(|line| alias_name(line)));
            create_prelude(functions, &changed)?
        }
    };
    let variables = variables.split(|&byte| byte == 0).filter_map(|pair| {
        let at = pair.iter().position(|&byte| byte == b'=')?;
        let name = OsStr::from_bytes(&pair[..at]);
        let own = SHELL_VARIABLES.iter().any(|own| name == OsStr::new(own));
        (!own).then(|| (name.to_owned(), OsStr::from_bytes(&pair[at + 1..]).to_owned()))
    });
    // A function begins in the first column with its name and ` ()`; a false match is harmless.
    let text = String::from_utf8_lossy(functions).into_owned();
    names.extend(text.lines().filter_map(|line| Some(line.split_once(" ()")?.0.to_owned())));
    let mut exported: BTreeMap<OsString, OsString> = variables.collect();
    let is_own = |name: &OsStr| SHELL_VARIABLES.iter().any(|own| name == OsStr::new(own));
    let unset =
        first.env.keys().filter(|name| !exported.contains_key(*name) && !is_own(name)).cloned().collect();
    // A variable that is only passed on is not the profile's, and may differ for the next command.
    exported.retain(|name, value| first.env.get(name) != Some(value));
    let admitted = OnceLock::new();
    Some(LoginProfile { exported, unset, admitted, prelude, functions: names, has_aliases, sets_umask })
}

/// Returns the flags and the script that make a shell print its state, with its profile or without.
fn state_script(family: ShellFamily, login: bool) -> (Vec<&'static str>, String) {
    let mark = format!("printf '%s' '{PART_SEPARATOR}'");
    let (plain, functions, options): (Vec<&'static str>, _, _) = match family {
        ShellFamily::Bash => {
            (vec!["--noprofile", "--norc"], "declare -f", "shopt -p; set +o; umask -p; alias -p")
        }
        ShellFamily::Zsh => (vec!["-f"], "typeset -f", ":"),
        ShellFamily::Sh
        | ShellFamily::Almquist
        | ShellFamily::Korn
        | ShellFamily::Similar
        | ShellFamily::Foreign => (vec![], ":", ":"),
    };
    let flags = if login { vec!["-l"] } else { plain };
    (flags, format!("{mark}; command env -0; {mark}; {functions}; {mark}; {options}"))
}

/// Splits the output at the marks. The part before the first mark is the profile's own output.
fn split_parts(output: &[u8]) -> Option<[&[u8]; 4]> {
    let mark = PART_SEPARATOR.as_bytes();
    let mut parts = Vec::new();
    let mut rest = output;
    // ends: every round takes a mark out
    while let Some(at) = rest.windows(mark.len()).position(|window| window == mark) {
        parts.push(&rest[..at]);
        rest = &rest[at + mark.len()..];
    }
    parts.push(rest);
    parts.try_into().ok()
}

/// Returns the name in `alias NAME=…`.
fn alias_name(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?.strip_prefix("alias ")?;
    Some(line.trim_start_matches("-- ").split_once('=')?.0.to_owned())
}

/// Returns the options that the profile set. A shell cannot be told that it is a login shell.
fn changed_options<'a>(with: &'a [u8], without: &[u8]) -> Vec<&'a [u8]> {
    let plain: BTreeSet<&[u8]> = without.split(|&byte| byte == b'\n').collect();
    let lines = with.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && !plain.contains(line));
    lines.filter(|line| !line.ends_with(b" login_shell")).collect()
}

/// Creates an in-memory file for the shell to source, if there is anything to define.
fn create_prelude(functions: &[u8], options: &[&[u8]]) -> Option<Option<Arc<OwnedFd>>> {
    if functions.is_empty() && options.is_empty() {
        return Some(None);
    }
    // Options first: they affect how functions are parsed.
    let text = [&options.join(&b'\n'), b"\n".as_slice(), functions, b"\n"].concat();
    Some(Some(Arc::new(sealed_memfd(c"toolgate-login", &text).ok()?)))
}

/// Runs `shell` with the permit of the command that would have run its profile, and returns its output.
async fn run_and_capture(
    shell: &InstalledShell,
    (flags, script): &(Vec<&'static str>, String),
    first: &ProcessCommand,
    spawner: &Spawner,
    permit: &Permit,
) -> Option<Vec<u8>> {
    let mut argv: Vec<OsString> = DISCARD_STDERR.into_iter().map(OsString::from).collect();
    argv.push(shell.path.clone().into());
    argv.extend(flags.iter().map(OsString::from));
    argv.extend(["-c".into(), OsString::from(script)]);
    let (stated, env) = (first.judged.clone(), first.env.clone());
    let mut command = ProcessCommand::new(stated, env, Arc::clone(&first.directory), Stdio::NoInput);
    command.argv = argv;
    let capture = Capture::new(None, String::new());
    let allowed = spawner.find_cell(permit).await.ok()?;
    let started =
        ProcessSession::begin(0, command, SessionOrigin::default(), capture, spawner, &allowed).await;
    let (session, mut pump) = started.ok()?;
    let ended = |session: &ProcessSession| {
        matches!(
            session.stage(),
            SessionStage::Over { .. } | SessionStage::LeaderExited { settled: true, .. } | SessionStage::Lost
        )
    };
    // Background processes of a profile are not awaited; they die with the pump.
    tokio::select! {
        () = &mut pump => {}
        () = session.wait_until(ended) => {}
    }
    let TakenOutput { stage, output: captured, .. } = session.take_output();
    let done = ProcessExit::Code(0);
    let whole = matches!(stage, SessionStage::Over { exit, .. } | SessionStage::LeaderExited { exit, .. } if exit == done);
    (whole && captured.omitted == 0).then(|| [captured.head, captured.tail].concat())
}

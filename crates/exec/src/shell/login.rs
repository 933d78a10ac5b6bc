//! What a login shell's profile does, found out once: variables, functions, options.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use policy::{Environment, Permit};
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::{Kind, Shell};
use crate::capture::Capture;
use crate::process::{Command, PRELUDE_FD, Spawner, Stdio, memory};
use crate::session::{About, Exit, Session, Stage, Taken};

/// A profile that takes longer is run with every command, as if there were no snapshot.
const PATIENCE: Duration = Duration::from_secs(10);
/// Stands between the parts of what the shell says.
const MARK: &str = "\u{1e}toolgate\u{1e}";
/// What a profile complains about comes through a pipe of its own, so that it may be read after what follows it: it is
/// not listened to at all.
const APART: [&str; 3] = ["/bin/sh", "-c", "exec \"$0\" \"$@\" 2>/dev/null"];
/// Variables of the shell itself, not of its profile.
const OWN: [&str; 4] = ["_", "PWD", "OLDPWD", "SHLVL"];

/// What profiles do, by shell.
#[derive(Debug, Default)]
pub(super) struct Logins(Mutex<HashMap<Shell, Finding>>);

/// What is known of one, or being found out; nothing if that came to nothing.
type Finding = Arc<OnceCell<Option<Arc<Login>>>>;

/// What one shell's profile does.
#[derive(Debug)]
pub(super) struct Login {
    exported: BTreeMap<OsString, OsString>,
    unset: Vec<OsString>,
    admitted: OnceLock<BTreeMap<OsString, OsString>>,
    prelude: Option<Arc<OwnedFd>>,
    functions: BTreeSet<String>,
    /// Whether there are aliases, and the shell is told to mind them.
    aliases: bool,
    /// Whether it says who may read what is made, which only a shell can put in place.
    masks: bool,
}

impl Logins {
    /// What the profile of `shell` does, as seen by `first`, which is about to run it; `None` if that is not known.
    pub(super) async fn of(
        &self,
        shell: &Shell,
        first: &Command,
        spawner: &Spawner,
        permit: &Permit,
    ) -> Option<Arc<Login>> {
        let cell = Arc::clone(self.lock().entry(shell.clone()).or_default());
        let found = cell.get_or_init(|| async {
            let found = timeout(PATIENCE, find_out(shell, first, spawner, permit)).await.ok().flatten();
            found.map(Arc::new)
        });
        found.await.clone()
    }

    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Shell, Finding>> {
        // A map is whole between any two statements.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Login {
    /// How `shell` is told to run `script`: without the profile, but with what it defined.
    pub(super) fn argv(&self, shell: &Shell, script: &str) -> Vec<String> {
        match self.prelude {
            // On the same line, so that the numbers of lines in messages stay right.
            Some(_) => {
                // But aliases are known only from the next line on.
                let then = if self.aliases { "\n" } else { " " };
                let script = format!(". /dev/fd/{PRELUDE_FD}; exec {PRELUDE_FD}<&-;{then}{script}");
                shell.without_profile(&script)
            }
            None => shell.without_profile(script),
        }
    }

    /// Whether the profile gave `name` a meaning of its own, or one that only a shell can.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.masks || self.functions.contains(name)
    }

    /// What the profile took away.
    pub(super) fn unset(&self) -> &[OsString] {
        &self.unset
    }

    pub(super) fn prelude(&self) -> Option<Arc<OwnedFd>> {
        self.prelude.clone()
    }

    /// What the profile exported and `environment` lets through. Directories of programs that the host knows and the
    /// profile does not are added behind its own: many a profile forgets what a container or a parent set.
    pub(super) fn variables(
        &self,
        before: &BTreeMap<OsString, OsString>,
        environment: &Environment,
    ) -> &BTreeMap<OsString, OsString> {
        self.admitted.get_or_init(|| {
            let mut variables = environment.of_profile(self.exported.clone());
            if let (Some(path), Some(before)) =
                (variables.get_mut(OsStr::new("PATH")), before.get(OsStr::new("PATH")))
            {
                *path = joined(path, before);
            }
            variables
        })
    }
}

/// The directories of `first`, then those of `second` that are not among them.
fn joined(first: &OsStr, second: &OsStr) -> OsString {
    let mut seen = BTreeSet::new();
    let mut out: Vec<&[u8]> = Vec::new();
    for directory in [first, second].iter().flat_map(|path| path.as_bytes().split(|&byte| byte == b':')) {
        if !directory.is_empty() && seen.insert(directory) {
            out.push(directory);
        }
    }
    OsString::from_vec(out.join(&b':'))
}

async fn find_out(shell: &Shell, first: &Command, spawner: &Spawner, permit: &Permit) -> Option<Login> {
    let with = said(shell, &questions(shell.kind, true), first, spawner, permit).await?;
    let [_, variables, functions, options] = parts(&with)?;
    let (mut aliases, mut masks) = (false, false);
    let mut names = BTreeSet::new();
    let prelude = match shell.kind {
        Kind::Posix => None,
        Kind::Bash | Kind::Zsh => {
            let without = said(shell, &questions(shell.kind, false), first, spawner, permit).await?;
            let [_, _, no_functions, plain] = parts(&without)?;
            let functions = if functions == no_functions { &[] } else { functions };
            let changed = changed(options, plain);
            aliases = changed.contains(&b"shopt -s expand_aliases".as_slice());
            masks = changed.iter().any(|line| line.starts_with(b"umask "));
            names.extend(changed.iter().filter_map(|line| alias_name(line)));
            prelude(functions, &changed)?
        }
    };
    let variables = variables.split(|&byte| byte == 0).filter_map(|pair| {
        let at = pair.iter().position(|&byte| byte == b'=')?;
        let name = OsStr::from_bytes(&pair[..at]);
        let own = OWN.iter().any(|own| name == OsStr::new(own));
        (!own).then(|| (name.to_owned(), OsStr::from_bytes(&pair[at + 1..]).to_owned()))
    });
    // A line that begins in the first column and ends in brackets; one too many does no harm.
    let text = String::from_utf8_lossy(functions).into_owned();
    names.extend(text.lines().filter_map(|line| Some(line.split_once(" ()")?.0.to_owned())));
    let mut exported: BTreeMap<OsString, OsString> = variables.collect();
    let is_own = |name: &OsStr| OWN.iter().any(|own| name == OsStr::new(own));
    let unset =
        first.env.keys().filter(|name| !exported.contains_key(*name) && !is_own(name)).cloned().collect();
    // What it only passes on is not the profile's, and may be different for the next command.
    exported.retain(|name, value| first.env.get(name) != Some(value));
    let admitted = OnceLock::new();
    Some(Login { exported, unset, admitted, prelude, functions: names, aliases, masks })
}

/// The words that make a shell say what it knows, with its profile or without.
fn questions(kind: Kind, login: bool) -> (Vec<&'static str>, String) {
    let mark = format!("printf '%s' '{MARK}'");
    let (plain, functions, options): (Vec<&'static str>, _, _) = match kind {
        Kind::Bash => (vec!["--noprofile", "--norc"], "declare -f", "shopt -p; set +o; umask -p; alias -p"),
        Kind::Zsh => (vec!["-f"], "typeset -f", ":"),
        Kind::Posix => (vec![], ":", ":"),
    };
    let flags = if login { vec!["-l"] } else { plain };
    (flags, format!("{mark}; command env -0; {mark}; {functions}; {mark}; {options}"))
}

/// What is before the first mark is the profile's own output.
fn parts(said: &[u8]) -> Option<[&[u8]; 4]> {
    let mark = MARK.as_bytes();
    let mut parts = Vec::new();
    let mut rest = said;
    // ends: every round takes a mark out
    while let Some(at) = rest.windows(mark.len()).position(|window| window == mark) {
        parts.push(&rest[..at]);
        rest = &rest[at + mark.len()..];
    }
    parts.push(rest);
    parts.try_into().ok()
}

/// The name in `alias NAME=…`.
fn alias_name(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?.strip_prefix("alias ")?;
    Some(line.trim_start_matches("-- ").split_once('=')?.0.to_owned())
}

/// The options that the profile set. A shell cannot be told that it is a login shell.
fn changed<'a>(with: &'a [u8], without: &[u8]) -> Vec<&'a [u8]> {
    let plain: BTreeSet<&[u8]> = without.split(|&byte| byte == b'\n').collect();
    let lines = with.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && !plain.contains(line));
    lines.filter(|line| !line.ends_with(b" login_shell")).collect()
}

/// A file in memory that a shell can read; nothing if there is nothing to say.
fn prelude(functions: &[u8], options: &[&[u8]]) -> Option<Option<Arc<OwnedFd>>> {
    if functions.is_empty() && options.is_empty() {
        return Some(None);
    }
    // Options first: they say how functions are read.
    let text = [&options.join(&b'\n'), b"\n".as_slice(), functions, b"\n"].concat();
    Some(Some(Arc::new(memory(c"toolgate-login", &text).ok()?)))
}

/// Runs `shell` with the permit of the command that would have run its profile, and takes down what it says.
async fn said(
    shell: &Shell,
    (flags, script): &(Vec<&'static str>, String),
    first: &Command,
    spawner: &Spawner,
    permit: &Permit,
) -> Option<Vec<u8>> {
    let mut argv: Vec<OsString> = APART.into_iter().map(OsString::from).collect();
    argv.push(shell.path.clone().into());
    argv.extend(flags.iter().map(OsString::from));
    argv.extend(["-c".into(), OsString::from(script)]);
    let (stated, env) = (first.stated.clone(), first.env.clone());
    let mut command = Command::new(stated, env, Arc::clone(&first.directory), Stdio::Piped);
    command.argv = argv;
    let capture = Capture::new(None, String::new());
    let (session, mut pump) =
        Session::begin(0, command, About::default(), capture, spawner, permit).await.ok()?;
    let ended = |session: &Session| {
        matches!(session.stage(), Stage::Over { .. } | Stage::Leaving { settled: true, .. } | Stage::Lost)
    };
    // What a profile starts in the background is not waited for, and goes with the pump.
    tokio::select! {
        () = &mut pump => {}
        () = session.until(ended) => {}
    }
    let Taken { stage, output: said, .. } = session.take();
    let done = Exit::Code(0);
    let whole = matches!(stage, Stage::Over { exit, .. } | Stage::Leaving { exit, .. } if exit == done);
    (whole && said.omitted == 0).then(|| [said.head, said.tail].concat())
}

//! Hints: the flags, configuration keys and commands of this program that help against an error of a library.

use std::error::Error;
use std::iter::successors;
use std::path::Path;

use exec::process::SpawnFault;
use exec::sandbox::SetupFix;
use runtime::mcp::AuthFault;
use runtime::{
    Denial, ErrorHints, NotAskedReason, PrivateDirectory, ResourceExcess, SandboxFault, WeakerEnforcement,
};

/// The hint for a private directory of commands that cannot be made.
pub const SCRATCH_HINT: &str = "set TMPDIR to a directory that you may write to";

/// Returns the hints of this program, for answers and messages.
pub fn program_hints() -> ErrorHints {
    ErrorHints::new(hint_for)
}

/// Returns the message of `error`, with its hint if there is one.
pub fn explain(error: &(dyn Error + 'static)) -> String {
    program_hints().explain(error)
}

/// Returns all hints for `error`.
pub fn hint_lines(error: &(dyn Error + 'static)) -> Vec<String> {
    hint_for(error).map(|hints| hints.lines().map(str::to_owned).collect()).unwrap_or_default()
}

/// Returns the hint for `error` or for the first of its sources that has one. Further lines are further hints.
fn hint_for(error: &(dyn Error + 'static)) -> Option<String> {
    // ends: an error has a finite chain of sources
    successors(Some(error), |&error| error.source()).find_map(|error| {
        if let Some(denial) = error.downcast_ref() {
            return denial_hint(denial);
        }
        if let Some(fault) = error.downcast_ref() {
            return spawn_hint(fault);
        }
        match error.downcast_ref() {
            Some(SandboxFault::Denied(denial)) => return denial_hint(denial),
            Some(SandboxFault::Spawn(fault)) => return spawn_hint(fault),
            Some(SandboxFault::Directory(_) | SandboxFault::OneShot(_)) | None => {}
        }
        if let Some(AuthFault::LoginRequired { server, .. }) = error.downcast_ref() {
            return Some(format!("run `toolgate mcp login {server}`"));
        }
        if error.is::<WeakerEnforcement>() {
            return Some("`toolgate doctor` shows the fix".to_owned());
        }
        error.is::<PrivateDirectory>().then(|| {
            "only the user can show a directory of it, with `files.read_roots` in their own configuration or `--read-root`"
                .to_owned()
        })
    })
}

fn denial_hint(denial: &Denial) -> Option<String> {
    let setting = |key: &str, flag: &str| {
        Some(format!("only the user can change that, with `{key}` in their own configuration or `{flag}`"))
    };
    match denial {
        Denial::Outside { .. } => Some(
            "only the user can add one, with `files.read_roots` in their own configuration or `--read-root`"
                .to_owned(),
        ),
        Denial::MayNotWrite { .. } => setting("confinement.writable", "--writable"),
        Denial::MayNotReach { .. } => setting("confinement.unix_sockets", "--unix-socket"),
        Denial::MayNotConnect { target, .. } => setting("confinement.network", "--network on").map(|hint| {
            format!("{hint}, or for this host alone with `confinement.hosts` or `--host {target}`")
        }),
        Denial::ClosedByRule { .. } => Some("only the user can change that, by another rule".to_owned()),
        Denial::HostConfiguration { .. } => Some(
            "only the user can allow it: ask them, or have them add a rule that allows the path".to_owned(),
        ),
        Denial::Ended { excess: ResourceExcess::Scratch { .. } } => {
            Some("the user can allow more with `confinement.tmp_mb`".to_owned())
        }
        Denial::Ended { excess: ResourceExcess::SharedMemory { .. } } => {
            Some("the user can allow more with `confinement.memory_mb`".to_owned())
        }
        Denial::Unasked { denials, unasked, .. } => {
            let mut hints: Vec<String> = denials.iter().filter_map(denial_hint).collect();
            if *unasked == NotAskedReason::NoReviewer {
                hints.push("the user can run it on a terminal, open `toolgate approve` if this is `toolgate mcp`, or add a rule".to_owned());
            }
            (!hints.is_empty()).then(|| hints.join("; "))
        }
        Denial::LeadsOutside { .. }
        | Denial::DenyRead { .. }
        | Denial::NotStated { .. }
        | Denial::NotStatedRun { .. }
        | Denial::Ended { excess: ResourceExcess::Memory }
        | Denial::ByRule { .. }
        | Denial::ByHook { .. }
        | Denial::Disabled => None,
    }
}

/// Advice to the user at the terminal about a refusal.
#[derive(Debug, PartialEq, Eq)]
pub enum Remedy {
    /// A flag allows the access.
    Allow {
        /// A command to run first.
        prepare: Option<String>,
        /// The flag, with its value.
        flag: String,
    },
    /// No flag helps: the user may not write there either.
    NotPermitted,
}

/// Returns the advice that lifts `denial`.
pub fn remedy(denial: &Denial) -> Option<Remedy> {
    let flag = |flag: &str, value: &str| {
        Some(Remedy::Allow { prepare: None, flag: format!("{flag} {}", quote_for_shell(value)) })
    };
    match denial {
        Denial::Outside { path, .. } => {
            let directory = readable_directory(path, &Path::is_dir, std::env::home_dir().as_deref())?;
            flag("--read-root", &directory.display().to_string())
        }
        Denial::MayNotWrite { roots, .. } if roots.is_empty() => flag("--sandbox", "workspace-write"),
        Denial::MayNotWrite { path, .. } => {
            Some(writable_remedy(path, &Path::exists, &may_write, std::env::home_dir().as_deref()))
        }
        Denial::MayNotReach { name } => flag("--unix-socket", name),
        Denial::MayNotConnect { target, .. } => flag("--host", target),
        Denial::ClosedByRule { .. }
        | Denial::HostConfiguration { .. }
        | Denial::Ended { .. }
        | Denial::Unasked { .. }
        | Denial::LeadsOutside { .. }
        | Denial::DenyRead { .. }
        | Denial::NotStated { .. }
        | Denial::NotStatedRun { .. }
        | Denial::ByRule { .. }
        | Denial::ByHook { .. }
        | Denial::Disabled => None,
    }
}

/// Returns the directory that shows `path` if it can be read: the flag takes no file, and must not open the whole home.
fn readable_directory<'a>(
    path: &'a Path,
    is_directory: &dyn Fn(&Path) -> bool,
    home: Option<&Path>,
) -> Option<&'a Path> {
    let directory = path.ancestors().find(|above| is_directory(above))?;
    let is_too_broad = directory.parent().is_none() || home.is_some_and(|home| home.starts_with(directory));
    (!is_too_broad).then_some(directory)
}

/// Returns true if the user may write to an existing path.
fn may_write(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

/// Returns the advice that makes `path` writable. The flag needs an existing path, and must not open the whole home.
fn writable_remedy(
    path: &Path,
    exists: &dyn Fn(&Path) -> bool,
    may_write: &dyn Fn(&Path) -> bool,
    home: Option<&Path>,
) -> Remedy {
    let quoted = |path: &Path| quote_for_shell(&path.display().to_string());
    let existing = path.ancestors().find(|above| exists(above)).unwrap_or(path);
    if !may_write(existing) {
        return Remedy::NotPermitted;
    }
    let is_too_broad =
        existing.components().count() <= 2 || home.is_some_and(|home| home.starts_with(existing));
    if existing == path || !is_too_broad {
        return Remedy::Allow { prepare: None, flag: format!("--writable {}", quoted(existing)) };
    }
    match path.parent() {
        Some(parent) if parent != existing => Remedy::Allow {
            prepare: Some(format!("mkdir -p {}", quoted(parent))),
            flag: format!("--writable {}", quoted(parent)),
        },
        _ => Remedy::Allow {
            prepare: Some(format!("touch {}", quoted(path))),
            flag: format!("--writable {}", quoted(path)),
        },
    }
}

/// Quotes a word that a shell would split or expand.
fn quote_for_shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@%+,=~".contains(letter);
    match word.chars().all(is_plain) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn spawn_hint(fault: &SpawnFault) -> Option<String> {
    match fault {
        SpawnFault::Denied(denial) => denial_hint(denial),
        SpawnFault::Unconfined { missing, .. } if missing.is_empty() => {
            Some("`confinement.require` and `confinement.tier` must agree".to_owned())
        }
        SpawnFault::Unconfined { fix, weaker, .. } => {
            let mut hints = vec!["`toolgate doctor` shows the fix".to_owned()];
            hints.extend(fix.map(|fix| fix.to_string()));
            hints.extend(fix.and_then(setup_hint));
            if let Some(tier) = weaker.map(runtime::Tier::as_str) {
                hints.push(format!(
                    "`--require {tier}`, or `confinement.require = \"{tier}\"` in the user's own configuration, runs commands, \
                     which can then read secrets and change git hooks"
                ));
            }
            Some(hints.join("\n"))
        }
        SpawnFault::TooMuch | SpawnFault::GitUnread { .. } => {
            Some("`--require landlock` accepts it".to_owned())
        }
        SpawnFault::NoProc => Some("`mount -t proc proc /proc` mounts it".to_owned()),
        SpawnFault::NoConstructor | SpawnFault::Refused { .. } | SpawnFault::System(_) => None,
    }
}

/// Returns what this program offers besides `fix`.
pub fn setup_hint(fix: SetupFix) -> Option<String> {
    match fix {
        SetupFix::Container => {
            Some("`--sandbox external` leaves all confinement to the container".to_owned())
        }
        SetupFix::AppArmorProfile => Some("`sudo toolgate doctor --fix` does it".to_owned()),
        SetupFix::Sysctl(_) | SetupFix::MaskedProc => None,
    }
}

#[cfg(test)]
mod tests {
    use runtime::mcp::AuthRejection;
    use runtime::{NetworkPolicy, Tier, ToolError};

    use super::*;

    #[test]
    fn what_must_exist_is_made_first_and_the_home_stays_closed() {
        let exists = |path: &Path| {
            ["/", "/etc", "/home/u", "/home/u/w", "/home/u/w/a"].iter().any(|known| path == Path::new(known))
        };
        for (path, expected) in [
            ("/home/u/w/a", "--writable /home/u/w/a"),
            ("/home/u/w/new/x", "--writable /home/u/w"),
            ("/home/u/x", "touch /home/u/x, then --writable /home/u/x"),
            ("/etc/x", "not permitted"),
            ("/home/u/.cache/t/x", "mkdir -p /home/u/.cache/t, then --writable /home/u/.cache/t"),
            ("/srv/data/x", "mkdir -p /srv/data, then --writable /srv/data"),
        ] {
            let may_write = |path: &Path| path != Path::new("/etc");
            let advice =
                match writable_remedy(Path::new(path), &exists, &may_write, Some(Path::new("/home/u"))) {
                    Remedy::Allow { prepare, flag } => {
                        prepare.map(|first| format!("{first}, then ")).unwrap_or_default() + &flag
                    }
                    Remedy::NotPermitted => "not permitted".to_owned(),
                };
            assert_eq!(advice, expected);
        }
    }

    #[test]
    fn a_file_is_shown_with_its_directory() {
        let is_directory =
            |path: &Path| ["/", "/srv", "/home/u", "/home/u/w"].contains(&path.to_str().unwrap());
        for (path, expected) in [
            ("/srv", Some("/srv")),
            ("/srv/data/x", Some("/srv")),
            ("/home/u/w/x", Some("/home/u/w")),
            ("/home/u/x", None),
            ("/x", None),
        ] {
            let shown = readable_directory(Path::new(path), &is_directory, Some(Path::new("/home/u")));
            assert_eq!(shown, expected.map(Path::new), "{path}");
        }
    }

    /// Every hint. The fact comes before it, in the words of the library.
    #[test]
    fn each_error_has_its_hint() {
        let write = || Denial::MayNotWrite { path: "/a".into(), roots: vec!["/w".into()] };
        let errors: Vec<Box<dyn Error>> = vec![
            Box::new(Denial::Outside { path: "/a".into(), roots: vec!["/w".into()] }),
            Box::new(write()),
            Box::new(Denial::ClosedByRule { path: "/w/a".into(), rule: "the rule at r:1 asks".into() }),
            Box::new(Denial::MayNotConnect { target: "h:1".into(), network: NetworkPolicy::Off }),
            Box::new(Denial::MayNotReach { name: "@x".into() }),
            Box::new(Denial::HostConfiguration { path: "/w/a".into(), when: "start an agent here".into() }),
            Box::new(Denial::Ended { excess: ResourceExcess::Scratch { most: 1 << 20 } }),
            Box::new(Denial::Ended { excess: ResourceExcess::SharedMemory { most: 1 << 20 } }),
            Box::new(Denial::Disabled),
            Box::new(ToolError::Blocked(write())),
            Box::new(ToolError::Forbidden(Denial::Unasked {
                why: write().to_string(),
                denials: vec![write()],
                unasked: NotAskedReason::NoReviewer,
            })),
            Box::new(ToolError::io_source(SpawnFault::TooMuch)),
            Box::new(SandboxFault::Spawn(SpawnFault::Unconfined {
                at_least: Tier::Namespaces,
                missing: Vec::new(),
                fix: None,
                weaker: None,
            })),
            Box::new(AuthFault::LoginRequired {
                server: "o".into(),
                rejection: AuthRejection::Unauthenticated,
            }),
            Box::new(ToolError::io_source(PrivateDirectory { place: "/tmp".into() })),
        ];
        let told: Vec<String> = errors.iter().map(|error| explain(&**error)).collect();
        insta::assert_snapshot!(told.join("\n"), @"
        `/a` is outside the readable roots (`/w`); only the user can add one, with `files.read_roots` in their own configuration or `--read-root`
        `/a` may not be changed: it lies outside the writable roots (`/w`); only the user can change that, with `confinement.writable` in their own configuration or `--writable`
        `/w/a` may not be changed without approval: the rule at r:1 asks; only the user can change that, by another rule
        connecting to `h:1` is not allowed: no host can be reached (the network is off); only the user can change that, with `confinement.network` in their own configuration or `--network on`, or for this host alone with `confinement.hosts` or `--host h:1`
        connecting to the socket `@x` is not allowed; only the user can change that, with `confinement.unix_sockets` in their own configuration or `--unix-socket`
        `/w/a` is configuration that takes effect on this machine next time you start an agent here; only the user can allow it: ask them, or have them add a rule that allows the path
        the command was ended: there were more than 1 MB in the session's `/tmp`, `/var/tmp` and package caches; remove what is not needed; the user can allow more with `confinement.tmp_mb`
        the command was ended: there were more than 1 MB of shared memory (memfd, shared mappings); use less; the user can allow more with `confinement.memory_mb`
        tool calls are switched off (the approval policy is disabled), and only the user can change that: answer without tools
        blocked by the sandbox: `/a` may not be changed: it lies outside the writable roots (`/w`); only the user can change that, with `confinement.writable` in their own configuration or `--writable`
        forbidden by policy: this needs approval: `/a` may not be changed: it lies outside the writable roots (`/w`); no approver is available, so it was refused: try a way that needs no approval; only the user can change that, with `confinement.writable` in their own configuration or `--writable`; the user can run it on a terminal, open `toolgate approve` if this is `toolgate mcp`, or add a rule
        nothing is run: the workspace holds more files, secrets or repositories than can be looked at, or is a directory that cannot be listed, so that some would not be protected; work in a smaller directory, or remove what a command may have put there; `--require landlock` accepts it
        nothing is run: the policy demands at least namespaces, and allows no tier that is as strong; `confinement.require` and `confinement.tier` must agree
        it requires authentication: the user must log in; run `toolgate mcp login o`
        `/tmp` is private to this session, so files in the host's `/tmp` are not visible; only the user can show a directory of it, with `files.read_roots` in their own configuration or `--read-root`
        ");
    }
}

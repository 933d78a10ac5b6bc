//! Random file operations on existing and missing paths.

use serde_json::{Value, json};

use crate::paths::{join, parent};
use crate::random::FuzzRandom;
use crate::snapshot::TreeSnapshot;
use crate::tree::{DECIDING, NAMES};

/// One operation of a confined program. Paths are relative to the tree's top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileOperation {
    pub(crate) kind: &'static str,
    pub(crate) path: String,
    /// The second path, for operations with two.
    pub(crate) to: String,
    /// The spelling of the path.
    pub(crate) via: &'static str,
    pub(crate) text: String,
    pub(crate) mode: u32,
}

const KINDS: &[&str] = &[
    "read", "read", "read", "list", "list", "stat", "readlink", "create", "write", "write", "append",
    "truncate", "unlink", "unlink", "rmdir", "mkdir", "mkdir", "rename", "rename", "rename", "rename",
    "exchange", "exchange", "link", "link", "symlink", "chmod", "utime", "setxattr", "removexattr", "mkfifo",
    "tmpfile", "connect",
];
const VIAS: &[&str] =
    &["absolute", "absolute", "relative", "proc-cwd", "proc-root", "chdir", "fd", "proc-fd"];
/// Files in git directories that would land.
const OF_GIT: &[&str] = &[
    ".git/COMMIT_EDITMSG", ".git/hooks/post-commit", ".git/config", ".git/description", ".git/commondir",
    ".git/HEAD",
];

/// Returns a random operation on the tree `now`; `special` are the paths that the policy mentions.
pub(crate) fn random(
    dice: &mut FuzzRandom,
    now: &TreeSnapshot,
    special: &[String],
    base: &str,
) -> FileOperation {
    let kind = dice.pick(KINDS);
    let makes = matches!(kind, "create" | "mkdir" | "symlink" | "mkfifo" | "tmpfile");
    let path = fitting_path(dice, now, special, makes);
    let two = matches!(kind, "rename" | "exchange" | "link");
    let to = if two { fitting_path(dice, now, special, kind != "exchange") } else { String::new() };
    let text = if kind == "symlink" {
        let target = random_path(dice, now, special);
        match dice.below(3) {
            0 => format!("{base}/{target}"),
            1 => target,
            _ => format!("../{target}"),
        }
    } else {
        format!("written {}", dice.below(1000))
    };
    // A directory stays accessible.
    let is_directory = now.get(&path).is_none_or(|seen| seen.kind != 'f');
    let modes: &[u32] = if is_directory { &[0o755, 0o700, 0o555, 0o711] } else { &[0o644, 0o444, 0, 0o600] };
    FileOperation { kind, path, to, via: dice.pick(VIAS), text, mode: dice.pick(modes) }
}

/// Returns a path, mostly one that exists or is missing as the operation needs.
fn fitting_path(dice: &mut FuzzRandom, now: &TreeSnapshot, special: &[String], makes: bool) -> String {
    let path = random_path(dice, now, special);
    if now.contains_key(&path) == makes && dice.chance(75) { random_path(dice, now, special) } else { path }
}

fn random_path(dice: &mut FuzzRandom, now: &TreeSnapshot, special: &[String]) -> String {
    let all: Vec<&str> = now.keys().map(|path| &**path).filter(|path| !path.is_empty()).collect();
    let enterable: Vec<&str> =
        all.iter().copied().filter(|path| matches!(now[*path].kind, 'd' | 'l')).collect();
    let name = |dice: &mut FuzzRandom| {
        let names = if dice.chance(85) { NAMES } else { DECIDING };
        dice.pick(names)
    };
    match dice.below(100) {
        0..40 => (dice.pick(&all)).to_owned(),
        40..60 => join(dice.pick(&enterable), name(dice)),
        // Paths that the policy mentions, and paths below and above them.
        60..80 if !special.is_empty() => {
            let path = dice.pick(special);
            match dice.below(4) {
                0 => join(&path, name(dice)),
                1 => parent(&path).filter(|above| !above.is_empty()).unwrap_or(&path).to_owned(),
                _ => path,
            }
        }
        80..84 => join(dice.pick(&enterable), dice.pick(OF_GIT)),
        84..92 => {
            let detour = dice.pick(&enterable);
            let end = dice.pick(&all).rsplit('/').next().unwrap();
            format!("{detour}/../{end}")
        }
        _ => {
            let below = dice.pick(&all);
            let below = below.split_once('/').map_or(below, |(_, rest)| rest);
            join(dice.pick(&enterable), below)
        }
    }
}

impl FileOperation {
    /// Reports whether it changes the directory entry instead of the file.
    pub(crate) fn is_on_entry(&self) -> bool {
        let makes = matches!(self.kind, "create" | "mkdir" | "mkfifo" | "symlink" | "tmpfile" | "link");
        makes || matches!(self.kind, "unlink" | "rmdir" | "rename" | "exchange")
    }

    /// Reports whether it follows a symlink.
    pub(crate) fn follows(&self) -> bool {
        !self.is_on_entry() && self.kind != "readlink"
    }

    /// Returns the operation as JSON for the driver, for the tree at `base`.
    pub(crate) fn to_json(&self, real: &str, base: &str) -> Value {
        let text = self.text.replace(real, base);
        json!({
            "op": self.kind, "path": format!("{base}/{}", self.path), "to": format!("{base}/{}", self.to),
            "via": self.via, "text": text, "mode": self.mode,
        })
    }

    /// Formats the operation on one line.
    pub(crate) fn to_line(&self) -> String {
        let Self { kind, path, to, via, text, mode } = self;
        match *kind {
            "rename" | "exchange" | "link" => format!("{kind} {path:?} {to:?} via {via}"),
            "symlink" => format!("{kind} {path:?} -> {text:?} via {via}"),
            "chmod" => format!("{kind} {mode:04o} {path:?} via {via}"),
            _ => format!("{kind} {path:?} via {via}"),
        }
    }
}

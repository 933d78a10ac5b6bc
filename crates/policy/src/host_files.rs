//! Classifies workspace files that take effect on the user's machine: configuration, and code that it runs.
//!
//! Editors, agents, shells and git obey such configuration without being asked. The names are listed in
//! `host_file_names` and `home_file_names`. Commands get the configuration read-only, file tools ask before changing it,
//! and replies name changed code. [`MachineLookup`](crate::MachineLookup) finds files that only git's configuration
//! names.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::home_file_names::{HOME_CONFIGURATION, HOME_WRITTEN};
use crate::host_file_names::{
    CONFIGURATION_ENDINGS, CONFIGURATION_FORMS, GIT_CONFIGURATION, HOST_CODE, HOST_CONFIGURATION,
    NESTED_CODE, NESTED_CONFIGURATION,
};
use crate::{Confinement, MachineLookup};

/// A file that a program of the user obeys or runs automatically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFile {
    /// The role of the file.
    pub role: HostFileRole,
    /// The user's action that makes the file take effect, e.g. `open this folder in VS Code`.
    pub when: String,
}

/// The way in which a file takes effect on the user's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostFileRole {
    /// The file controls which programs run or what is allowed. It is read-only for commands, and file tools ask.
    Configuration,
    /// The file is executed. It may be changed, and the change is reported.
    Code,
}

/// The treatment of configuration that is missing at the start of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingConfigAction {
    /// An empty directory occupies the path for the duration of the session.
    Occupied,
    /// The path stays free for the user. A file that a command creates there is renamed and reported.
    SetAside,
}

/// Names of configuration and of code with their actions, as maps: each directory entry is looked up after each run.
static CONFIGURATION_BY_NAME: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| HOST_CONFIGURATION.iter().map(|(name, _, when)| (*name, *when)).collect());
static CODE_BY_NAME: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| HOST_CODE.iter().copied().collect());

const HOME_TRIGGER: &str = "log in, open a shell or use a program that obeys it";

impl HostFile {
    /// Configuration that takes effect when the user does `when`.
    pub fn configuration(when: impl Into<String>) -> Self {
        Self { role: HostFileRole::Configuration, when: when.into() }
    }

    /// Code that runs when the user does `when`.
    pub fn code(when: impl Into<String>) -> Self {
        Self { role: HostFileRole::Code, when: when.into() }
    }

    /// Returns the sentence about a change of `path` for replies, diffs and questions.
    pub fn describe_change(&self, path: &str) -> String {
        match self.role {
            HostFileRole::Configuration => {
                format!("`{path}` takes effect on your machine next time you {}", self.when)
            }
            HostFileRole::Code => format!("`{path}` runs on your machine next time you {}", self.when),
        }
    }
}

/// Classifies a path `below` a writable root by its name alone.
pub fn host_file_by_name(below: &Path) -> Option<HostFile> {
    let names: Vec<&OsStr> = below.components().map(|part| part.as_os_str()).collect();
    let configuration = (0..names.len()).find_map(|at| configuration_trigger(&names[at..]));
    if let Some(when) = configuration {
        return Some(HostFile::configuration(when));
    }
    let nested = (0..names.len()).find_map(|at| trigger_of_prefix(&names[at..], NESTED_CODE.iter()));
    let last = names.last()?;
    let named = || CODE_BY_NAME.get(last.to_str()?).copied();
    nested.or_else(named).map(HostFile::code)
}

/// Returns the action that makes configuration take effect, if `names` begin with a configuration path.
fn configuration_trigger(names: &[&OsStr]) -> Option<&'static str> {
    let name = names.first()?;
    let ends = |ending: &str| name.to_str().is_some_and(|name| name.ends_with(ending));
    let plain = name.to_str().and_then(|name| CONFIGURATION_BY_NAME.get(name).copied());
    let nested = || trigger_of_prefix(names, NESTED_CONFIGURATION.iter().chain(GIT_CONFIGURATION));
    let ending = || CONFIGURATION_ENDINGS.iter().find(|(ending, _)| ends(ending)).map(|(_, when)| *when);
    let form = || {
        let name = name.to_str()?;
        let fits = |begin: &str, end: &str| {
            name.strip_prefix(begin)
                .and_then(|rest| rest.strip_suffix(end))
                .is_some_and(|word| !word.is_empty())
        };
        CONFIGURATION_FORMS.iter().find(|(begin, end, _)| fits(begin, end)).map(|(_, _, when)| *when)
    };
    plain.or_else(nested).or_else(ending).or_else(form)
}

/// Returns the action of the first `known` path that is a prefix of `names`.
fn trigger_of_prefix(
    names: &[&OsStr],
    mut known: impl Iterator<Item = &'static (&'static str, &'static str)>,
) -> Option<&'static str> {
    let begins = |path: &str| {
        let mut parts = path.split('/').enumerate();
        parts.all(|(at, part)| names.get(at).is_some_and(|name| *name == part))
    };
    known.find(|(path, _)| begins(path)).map(|(_, when)| *when)
}

/// Returns true if a path below a home is a dot entry that ordinary work does not write.
fn is_dot_entry(below: &Path) -> bool {
    let is_dot = below.iter().next().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    // The contents of a directory such as `.local` are judged separately.
    let is_above = |written: &str| Path::new(written).starts_with(below);
    is_dot && !HOME_WRITTEN.iter().any(|written| below.starts_with(written) || is_above(written))
}

/// Returns true for a file, given by its path below a home, that Python runs at each start.
fn is_python_startup(below: &Path) -> bool {
    let names: Vec<&str> = below.iter().filter_map(OsStr::to_str).collect();
    let [".local", "lib", python, "site-packages", file] = names[..] else { return false };
    let is_run = matches!(file, "usercustomize.py" | "sitecustomize.py") || file.ends_with(".pth");
    python.starts_with("python") && is_run
}

/// Classifies `path` by its name, for a user with these `homes`. Names are relative to the innermost root of `roots`. A
/// root inside configuration was given explicitly, so its files are not classified by the directories above it.
fn classify_by_name<'a>(
    path: &Path,
    roots: impl Iterator<Item = &'a Path>,
    homes: impl Iterator<Item = &'a Path>,
) -> Option<HostFile> {
    let root = roots.filter(|root| path.starts_with(root)).max_by_key(|root| root.components().count());
    let given = |place: &Path| root.is_some_and(|root| root.starts_with(place));
    let is_at = |place: &Path| path.starts_with(place) && !given(place);
    let mut homes = homes;
    let at_home = homes.any(|home| {
        HOME_CONFIGURATION.iter().any(|name| is_at(&home.join(name)))
            || path.strip_prefix(home).is_ok_and(is_python_startup) && !given(path)
            // A root further below lies inside such an entry itself.
            || root.is_none_or(|root| home.starts_with(root))
                && path.strip_prefix(home).is_ok_and(is_dot_entry)
    });
    if at_home {
        return Some(HostFile::configuration(HOME_TRIGGER));
    }
    host_file_by_name(root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path))
}

/// Classifies `path` by its name or by files of `machine`. Configuration takes precedence over code: a symlink may make
/// any file configuration.
pub(crate) fn host_file_on<'a>(
    machine: &dyn MachineLookup,
    path: &Path,
    roots: impl Iterator<Item = &'a Path>,
    homes: impl Iterator<Item = &'a Path>,
) -> Option<HostFile> {
    let by_name = classify_by_name(path, roots, homes);
    if by_name.as_ref().is_some_and(|file| file.role == HostFileRole::Configuration) {
        return by_name;
    }
    match (by_name, machine.host_file(path)) {
        (_, Some(file)) if file.role == HostFileRole::Configuration => Some(file),
        (by_name, by_machine) => by_name.or(by_machine),
    }
}

impl Confinement {
    /// Returns the user's home directories: the one in the environment and the one of the account.
    pub fn user_homes(&self) -> impl Iterator<Item = &Path> {
        self.home.iter().chain(&self.account_home).map(PathBuf::as_path)
    }

    /// Returns true if a home lies in a writable root, e.g. if the home itself is the workspace.
    pub fn holds_home(&self) -> bool {
        self.user_homes().any(|home| self.writable.iter().any(|root| home.starts_with(root)))
    }

    /// Classifies `path` by its name in its writable root.
    pub fn host_file(&self, path: &Path) -> Option<HostFile> {
        classify_by_name(path, self.writable.iter().map(PathBuf::as_path), self.user_homes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home_file_names::HOME_LISTED;

    #[test]
    fn classifies_host_files_by_name() {
        let (configuration, code) = (Some(HostFileRole::Configuration), Some(HostFileRole::Code));
        for (path, role) in [
            (".claude/settings.json", configuration),
            (".claude", configuration),
            ("sub/.claude/settings.json", configuration),
            (".mcp.json", configuration),
            (".cursor/mcp.json", configuration),
            (".vscode/tasks.json", configuration),
            ("AGENTS.md", configuration),
            ("packages/a/CLAUDE.md", configuration),
            (".envrc", configuration),
            (".husky/pre-commit", configuration),
            ("my.code-workspace", configuration),
            (".github/copilot-instructions.md", configuration),
            (".github/workflows/ci.yml", None),
            (".github/instructions/a.instructions.md", configuration),
            ("a/.github/prompts/x.prompt.md", configuration),
            (".github/agents", configuration),
            (".hg/hgrc", configuration),
            (".hg/store/x", None),
            (".jj/repo/config.toml", configuration),
            (".jj/repo/store/x", None),
            (".config/mise/config.toml", configuration),
            (".config/other.toml", None),
            (".mise.local.toml", configuration),
            (".vimrc", configuration),
            (".gdbinit", configuration),
            (".Rprofile", configuration),
            (".kilocode/mcp.json", configuration),
            (".rules", configuration),
            ("WARP.md", configuration),
            ("lefthook-local.yaml", configuration),
            ("lefthook.yml", configuration),
            // Scaffolding that commands write and a person runs: reported as code.
            (".tool-versions", code),
            ("Justfile", code),
            ("justfile", code),
            (".yarnrc", code),
            (".pre-commit-config.yaml", code),
            (".git/hooks/pre-commit", configuration),
            (".git/index", None),
            (".pdbrc", configuration),
            ("AGENT.md", configuration),
            (".qwen/settings.json", configuration),
            ("crush.json", configuration),
            ("prek.toml", configuration),
            ("lefthook.json", configuration),
            ("mise.dev.toml", configuration),
            ("mise..toml", None),
            ("x.sublime-project", configuration),
            (".hg/hgrc-not-shared", configuration),
            (".sl/config", configuration),
            (".helix/languages.toml", configuration),
            (".mvn/jvm.config", code),
            (".bundle/config", code),
            (".yarn/releases/yarn.cjs", code),
            (".yarn/cache/x.zip", None),
            ("Taskfile.yml", code),
            ("noxfile.py", code),
            ("eslint.config.mjs", code),
            ("a/.cargo/config", code),
            (".gitignore", None),
            ("package.json", code),
            ("a/b/package.json", code),
            (".cargo/config.toml", code),
            ("Cargo.toml", None),
            ("src/main.rs", None),
            ("docs/AGENTS.md.txt", None),
            ("vscode/x", None),
        ] {
            assert_eq!(host_file_by_name(Path::new(path)).map(|file| file.role), role, "{path}");
        }
        insta::assert_snapshot!(
            host_file_by_name(Path::new(".vscode/tasks.json")).unwrap().describe_change(".vscode/tasks.json"),
            @"`.vscode/tasks.json` takes effect on your machine next time you open this folder in VS Code"
        );
    }

    #[test]
    fn a_home_is_guarded_where_it_is_a_workspace() {
        let at = |writable: &[&str]| Confinement {
            writable: writable.iter().map(Into::into).collect(),
            home: Some("/home/me".into()),
            ..Confinement::default()
        };
        let (home, project, all) = (at(&["/home/me"]), at(&["/home/me/p"]), at(&["/home"]));
        for (confinement, path, guarded) in [
            (&home, "/home/me/.bashrc", true),
            (&home, "/home/me/.config/systemd/user/x.service", true),
            (&home, "/home/me/.config/other/x", true),
            (&home, "/home/me/.new-agent/x", true),
            (&home, "/home/me/.cache/x", false),
            (&home, "/home/me/.cargo/registry/x", false),
            (&home, "/home/me/.cargo/bin/x", true),
            (&home, "/home/me/.gradle/caches/x", false),
            (&home, "/home/me/.gradle/init.d/x.gradle", true),
            (&home, "/home/me/.local", false),
            (&home, "/home/me/.local/state/x", false),
            (&home, "/home/me/.local/share/pnpm/store/x", false),
            (&home, "/home/me/.local/share/pnpm/x", true),
            (&home, "/home/me/.git", false),
            (&at(&["/home/me/.dotfiles"]), "/home/me/.dotfiles/x", false),
            (&home, "/home/me/.local/bin/x", true),
            (&home, "/home/me/.local/share/x", true),
            (&home, "/home/me/.config/zsh/.zshrc", true),
            (&home, "/home/me/.local/lib/python3.12/site-packages/usercustomize.py", true),
            (&home, "/home/me/.local/lib/python3.12/site-packages/x.pth", true),
            (&home, "/home/me/.local/lib/python3.12/site-packages/numpy/x.py", false),
            (&home, "/home/me/.copilot/mcp-config.json", true),
            (&home, "/home/me/.config/gh/config.yml", true),
            (&home, "/home/me/p/.bashrc", false),
            (&project, "/home/me/p/.bashrc", false),
            (&project, "/home/me/p/bin/x", false),
            (&all, "/home/me/.zshenv", true),
            (&all, "/home/me/x", false),
            // `HOME` names another directory.
            (
                &Confinement {
                    home: Some("/x".into()),
                    account_home: Some("/home/me".into()),
                    ..home.clone()
                },
                "/home/me/.bashrc",
                true,
            ),
            // A root given explicitly.
            (&at(&["/home/me", "/home/me/.local/bin"]), "/home/me/.local/bin/x", false),
        ] {
            assert_eq!(
                confinement.host_file(Path::new(path)).is_some(),
                guarded,
                "{path} in {:?}",
                confinement.writable
            );
        }
        let above =
            |written: &&str| Path::new(written).ancestors().skip(1).map(Path::to_owned).collect::<Vec<_>>();
        let listed: std::collections::BTreeSet<_> = HOME_WRITTEN.iter().flat_map(above).collect();
        assert_eq!(listed.iter().collect::<Vec<_>>(), HOME_LISTED.iter().map(Path::new).collect::<Vec<_>>());
        assert!(home.holds_home() && all.holds_home() && !project.holds_home());
    }
}

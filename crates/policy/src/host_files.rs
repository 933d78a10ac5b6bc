//! Files of a workspace that take effect on the user's machine by themselves: configuration that editors, agents, shells and
//! git obey, and code that such configuration runs.
//!
//! This is the one list. Commands get the configuration read-only, file tools ask before they change it, and answers name the
//! code that was changed. Files that only git's own configuration names are found by [`Machine`](crate::Machine).

use std::ffi::OsStr;
use std::path::Path;

use crate::Confinement;

/// A file that a program of the user's obeys or runs without being told to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFile {
    /// Its part in that.
    pub role: HostRole,
    /// The user's action that makes it take effect, e.g. `open this folder in VS Code`.
    pub when: String,
}

/// How a file takes effect on the user's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRole {
    /// It says what is run or allowed: read-only for commands, asked about for file tools.
    Configuration,
    /// It is run: it may be changed, and the change is named.
    Code,
}

/// The treatment of configuration that is missing when a session begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenMissing {
    /// An empty directory holds its place as long as the session lives.
    Held,
    /// Its place stays free for the user; one that a command makes is renamed, and that is told.
    SetAside,
}

use WhenMissing::{Held, SetAside};

/// Names of configuration at any depth of a workspace, with the action that makes them take effect.
pub const HOST_CONFIGURATION: &[(&str, WhenMissing, &str)] = &[
    (".toolgate", Held, "start Toolgate here"),
    (".codex", Held, "start Codex here"),
    (".claude", Held, "start Claude Code here"),
    (".agents", Held, "start an agent here"),
    (".cursor", Held, "open this folder in Cursor"),
    (".gemini", Held, "start Gemini CLI here"),
    (".vscode", Held, "open this folder in VS Code"),
    (".zed", Held, "open this folder in Zed"),
    (".idea", Held, "open this folder in a JetBrains IDE"),
    (".devcontainer", Held, "open this folder in a dev container"),
    (".husky", Held, "use git here"),
    (".windsurf", SetAside, "open this folder in Windsurf"),
    (".roo", SetAside, "start Roo Code here"),
    (".clinerules", SetAside, "start Cline here"),
    (".continue", SetAside, "start Continue here"),
    (".kiro", SetAside, "start Kiro here"),
    (".opencode", SetAside, "start opencode here"),
    (".amazonq", SetAside, "start Amazon Q here"),
    (".junie", SetAside, "start Junie here"),
    (".mcp.json", SetAside, "start an agent here"),
    (".devcontainer.json", SetAside, "open this folder in a dev container"),
    ("AGENTS.md", SetAside, "start an agent here"),
    ("AGENTS.override.md", SetAside, "start an agent here"),
    ("CLAUDE.md", SetAside, "start Claude Code here"),
    ("CLAUDE.local.md", SetAside, "start Claude Code here"),
    ("GEMINI.md", SetAside, "start Gemini CLI here"),
    (".cursorrules", SetAside, "open this folder in Cursor"),
    (".windsurfrules", SetAside, "open this folder in Windsurf"),
    (".goosehints", SetAside, "start goose here"),
    (".aider.conf.yml", SetAside, "start aider here"),
    ("opencode.json", SetAside, "start opencode here"),
    ("opencode.jsonc", SetAside, "start opencode here"),
    (".envrc", SetAside, "enter this directory with direnv"),
    (".mise.toml", SetAside, "enter this directory with mise"),
    ("mise.toml", SetAside, "enter this directory with mise"),
    (".exrc", SetAside, "open a file here in vi"),
    (".nvimrc", SetAside, "open a file here in Neovim"),
    (".nvim.lua", SetAside, "open a file here in Neovim"),
    (".dir-locals.el", SetAside, "open a file here in Emacs"),
];

/// Configuration in a directory that is not its own.
const NESTED_CONFIGURATION: &[(&str, &str, &str)] = &[
    (".github", "copilot-instructions.md", "start Copilot here"),
    (".git", "hooks", "use git here"),
    (".git", "config", "use git here"),
    (".git", "config.worktree", "use git here"),
    (".git", "commondir", "use git here"),
];

/// Endings of names of configuration.
const CONFIGURATION_ENDINGS: &[(&str, &str)] = &[(".code-workspace", "open this workspace in VS Code")];

/// Names of files that well-known programs run when the user works here.
const HOST_CODE: &[(&str, &str)] = &[
    ("package.json", "run npm, pnpm, yarn or bun here"),
    (".npmrc", "run npm here"),
    (".yarnrc.yml", "run yarn here"),
    (".pnpmfile.cjs", "run pnpm here"),
    (".pre-commit-config.yaml", "commit here"),
    ("lefthook.yml", "commit here"),
    (".lefthook.yml", "commit here"),
    (".gitattributes", "use git here"),
    (".gitmodules", "update submodules here"),
    ("Makefile", "run make here"),
    ("makefile", "run make here"),
    ("GNUmakefile", "run make here"),
    ("justfile", "run just here"),
    ("build.rs", "build with cargo, or open this folder in an editor with rust-analyzer"),
    ("rust-toolchain", "run cargo here"),
    ("rust-toolchain.toml", "run cargo here"),
    ("setup.py", "install this package with pip"),
    ("conftest.py", "run pytest here"),
];

/// Configuration below the user's home that shells, desktops, git, package managers and agents obey. It matters where the home
/// itself is a workspace.
pub const HOME_CONFIGURATION: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".inputrc",
    ".pam_environment",
    ".xprofile",
    ".xsession",
    ".xsessionrc",
    ".xinitrc",
    ".Xresources",
    ".tmux.conf",
    ".screenrc",
    ".vimrc",
    ".vim",
    ".emacs",
    ".emacs.d",
    ".gdbinit",
    ".config/fish",
    ".config/nvim",
    ".config/git",
    ".config/systemd",
    ".config/autostart",
    ".config/environment.d",
    ".config/pip",
    ".config/direnv",
    ".config/mise",
    ".config/opencode",
    ".config/zed",
    ".config/Code",
    ".config/Cursor",
    ".config/containers",
    ".config/toolgate",
    ".local/bin",
    ".local/share/applications",
    ".local/share/systemd",
    ".local/share/mise",
    ".local/state/toolgate",
    "bin",
    "go/bin",
    ".cargo/bin",
    ".cargo/env",
    ".cargo/config",
    ".cargo/config.toml",
    ".rustup",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".volta",
    ".asdf",
    ".deno/bin",
    ".bun/bin",
    ".gitconfig",
    ".gitattributes",
    ".hgrc",
    ".netrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".condarc",
    ".curlrc",
    ".wgetrc",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".claude.json",
    ".vscode-server",
    ".cursor-server",
    ".codeium",
];

const AT_HOME: &str = "log in, open a shell or use a program that obeys it";

impl HostFile {
    /// A piece of configuration that takes effect when the user does `when`.
    pub fn configuration(when: impl Into<String>) -> Self {
        Self { role: HostRole::Configuration, when: when.into() }
    }

    /// Code that is run when the user does `when`.
    pub fn code(when: impl Into<String>) -> Self {
        Self { role: HostRole::Code, when: when.into() }
    }

    /// The sentence about a change of `path` that answers, diffs and questions carry.
    pub fn sentence(&self, path: &str) -> String {
        match self.role {
            HostRole::Configuration => {
                format!("`{path}` takes effect on your machine next time you {}", self.when)
            }
            HostRole::Code => format!("`{path}` runs on your machine next time you {}", self.when),
        }
    }
}

/// The part that a path plays by its name alone, `below` a writable root.
pub fn host_file_by_name(below: &Path) -> Option<HostFile> {
    let names: Vec<&OsStr> = below.components().map(|part| part.as_os_str()).collect();
    let configuration =
        names.iter().enumerate().find_map(|(at, name)| configuration(name, names.get(at + 1).copied()));
    if let Some(when) = configuration {
        return Some(HostFile::configuration(when));
    }
    let last = names.last()?;
    let in_cargo = names.len() > 1 && names[names.len() - 2] == ".cargo";
    if in_cargo && (*last == "config.toml" || *last == "config") {
        return Some(HostFile::code("run cargo here, or open this folder in an editor with rust-analyzer"));
    }
    HOST_CODE.iter().find(|(name, _)| last == name).map(|(_, when)| HostFile::code(*when))
}

/// The action that makes a name take effect, if it is one of configuration; `next` is the name below it.
fn configuration(name: &OsStr, next: Option<&OsStr>) -> Option<&'static str> {
    let ends = |ending: &str| name.to_str().is_some_and(|name| name.ends_with(ending));
    let plain = HOST_CONFIGURATION.iter().find(|(known, _, _)| name == *known).map(|(_, _, when)| *when);
    let nested = || {
        let found = NESTED_CONFIGURATION
            .iter()
            .find(|(above, below, _)| name == *above && next.is_some_and(|next| next == *below));
        found.map(|(_, _, when)| *when)
    };
    let ending = || CONFIGURATION_ENDINGS.iter().find(|(ending, _)| ends(ending)).map(|(_, when)| *when);
    plain.or_else(nested).or_else(ending)
}

/// The part that `path` plays by its name, for a user with this `home`. Names count from the innermost of the `roots` that it
/// lies in, so a root that was given for itself, and lies inside a piece of configuration, plays no part.
pub(crate) fn host_file<'a>(
    path: &Path,
    roots: impl Iterator<Item = &'a Path>,
    home: Option<&Path>,
) -> Option<HostFile> {
    let root = roots.filter(|root| path.starts_with(root)).max_by_key(|root| root.components().count());
    let given = |place: &Path| root.is_some_and(|root| root.starts_with(place));
    let is_at = |place: &Path| path.starts_with(place) && !given(place);
    let at_home = home.is_some_and(|home| HOME_CONFIGURATION.iter().any(|name| is_at(&home.join(name))));
    if at_home {
        return Some(HostFile::configuration(AT_HOME));
    }
    host_file_by_name(root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path))
}

impl Confinement {
    /// Whether the home of the user lies in a writable root, as it does where the home itself is the workspace.
    pub fn holds_home(&self) -> bool {
        let home = self.home.as_deref();
        home.is_some_and(|home| self.writable.iter().any(|root| home.starts_with(root)))
    }

    /// The part that `path` plays by its name in the writable root that it lies in.
    pub fn host_file(&self, path: &Path) -> Option<HostFile> {
        host_file(path, self.writable.iter().map(|root| root.as_path()), self.home.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_that_a_name_plays() {
        let (configuration, code) = (Some(HostRole::Configuration), Some(HostRole::Code));
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
            (".git/hooks/pre-commit", configuration),
            (".git/index", None),
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
            host_file_by_name(Path::new(".vscode/tasks.json")).unwrap().sentence(".vscode/tasks.json"),
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
            (&home, "/home/me/.config/other/x", false),
            (&home, "/home/me/.local/bin/x", true),
            (&home, "/home/me/.local/share/x", false),
            (&home, "/home/me/p/.bashrc", false),
            (&project, "/home/me/p/.bashrc", false),
            (&project, "/home/me/p/bin/x", false),
            (&all, "/home/me/.zshenv", true),
            (&all, "/home/me/x", false),
            // Given for itself.
            (&at(&["/home/me", "/home/me/.local/bin"]), "/home/me/.local/bin/x", false),
        ] {
            assert_eq!(
                confinement.host_file(Path::new(path)).is_some(),
                guarded,
                "{path} in {:?}",
                confinement.writable
            );
        }
        assert!(home.holds_home() && all.holds_home() && !project.holds_home());
    }
}

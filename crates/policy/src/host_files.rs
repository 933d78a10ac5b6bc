//! Files of a workspace that take effect on the user's machine by themselves: configuration that editors, agents, shells and
//! git obey, and code that such configuration runs.
//!
//! This is the one list. Commands get the configuration read-only, file tools ask before they change it, and answers name the
//! code that was changed. Files that only git's own configuration names are found by [`Machine`](crate::Machine).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

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
    (".kilocode", SetAside, "start Kilo Code here"),
    (".junie", SetAside, "start Junie here"),
    (".mcp.json", SetAside, "start an agent here"),
    (".devcontainer.json", SetAside, "open this folder in a dev container"),
    ("AGENTS.md", SetAside, "start an agent here"),
    ("AGENTS.override.md", SetAside, "start an agent here"),
    ("CLAUDE.md", SetAside, "start Claude Code here"),
    ("CLAUDE.local.md", SetAside, "start Claude Code here"),
    ("GEMINI.md", SetAside, "start Gemini CLI here"),
    ("WARP.md", SetAside, "open this folder in Warp"),
    (".rules", SetAside, "open this folder in Zed"),
    (".cursorrules", SetAside, "open this folder in Cursor"),
    (".windsurfrules", SetAside, "open this folder in Windsurf"),
    (".goosehints", SetAside, "start goose here"),
    (".aider.conf.yml", SetAside, "start aider here"),
    ("opencode.json", SetAside, "start opencode here"),
    ("opencode.jsonc", SetAside, "start opencode here"),
    (".envrc", SetAside, "enter this directory with direnv"),
    (".mise.toml", SetAside, "enter this directory with mise"),
    ("mise.toml", SetAside, "enter this directory with mise"),
    (".mise.local.toml", SetAside, "enter this directory with mise"),
    ("mise.local.toml", SetAside, "enter this directory with mise"),
    ("lefthook.yml", SetAside, "commit here"),
    ("lefthook.yaml", SetAside, "commit here"),
    ("lefthook.toml", SetAside, "commit here"),
    (".lefthook.yml", SetAside, "commit here"),
    (".lefthook.yaml", SetAside, "commit here"),
    (".lefthook.toml", SetAside, "commit here"),
    ("lefthook-local.yml", SetAside, "commit here"),
    ("lefthook-local.yaml", SetAside, "commit here"),
    ("lefthook-local.toml", SetAside, "commit here"),
    (".lefthook-local.yml", SetAside, "commit here"),
    (".lefthook-local.yaml", SetAside, "commit here"),
    (".lefthook-local.toml", SetAside, "commit here"),
    (".vimrc", SetAside, "open a file here in vi"),
    (".exrc", SetAside, "open a file here in vi"),
    (".nvimrc", SetAside, "open a file here in Neovim"),
    (".nvim.lua", SetAside, "open a file here in Neovim"),
    (".dir-locals.el", SetAside, "open a file here in Emacs"),
    (".gdbinit", SetAside, "start gdb here"),
    (".lldbinit", SetAside, "start lldb here"),
    (".Rprofile", SetAside, "start R here"),
];

/// Configuration in a directory that is not its own, at any depth of a workspace. One that a command makes is renamed.
pub const NESTED_CONFIGURATION: &[(&str, &str)] = &[
    (".github/copilot-instructions.md", "start Copilot here"),
    (".github/instructions", "start Copilot here"),
    (".github/prompts", "start Copilot here"),
    (".github/agents", "start Copilot here"),
    (".github/chatmodes", "start Copilot here"),
    (".github/hooks", "start Copilot here"),
    (".config/mise", "enter this directory with mise"),
    (".config/mise.toml", "enter this directory with mise"),
    (".mise/config.toml", "enter this directory with mise"),
    ("mise/config.toml", "enter this directory with mise"),
    (".config/lefthook.yml", "commit here"),
    (".hg/hgrc", "use Mercurial here"),
    (".jj/repo/config.toml", "use jj here"),
];

/// The same for git, whose directories are guarded by themselves.
const GIT_CONFIGURATION: &[(&str, &str)] = &[
    (".git/hooks", "use git here"),
    (".git/config", "use git here"),
    (".git/config.worktree", "use git here"),
    (".git/commondir", "use git here"),
];

/// Endings of names of configuration.
const CONFIGURATION_ENDINGS: &[(&str, &str)] = &[(".code-workspace", "open this workspace in VS Code")];

/// Names of files that well-known programs run when the user works here.
const HOST_CODE: &[(&str, &str)] = &[
    ("package.json", "run npm, pnpm, yarn or bun here"),
    (".npmrc", "run npm here"),
    (".yarnrc", "run yarn here"),
    (".yarnrc.yml", "run yarn here"),
    (".pnpmfile.cjs", "run pnpm here"),
    (".pre-commit-config.yaml", "commit here"),
    (".gitattributes", "use git here"),
    (".gitmodules", "update submodules here"),
    ("Makefile", "run make here"),
    ("makefile", "run make here"),
    ("GNUmakefile", "run make here"),
    ("justfile", "run just here"),
    ("Justfile", "run just here"),
    (".justfile", "run just here"),
    (".tool-versions", "run a program of asdf or mise here"),
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
    ".bash_completion",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".config/zsh",
    ".oh-my-zsh",
    ".p10k.zsh",
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
    ".config/tmux",
    ".config/kitty",
    ".config/wezterm",
    ".wezterm.lua",
    ".vimrc",
    ".vim",
    ".emacs",
    ".emacs.d",
    ".config/emacs",
    ".gdbinit",
    ".config/fish",
    ".lldbinit",
    ".Rprofile",
    ".config/nvim",
    ".config/git",
    ".config/systemd",
    ".config/autostart",
    ".config/plasma-workspace",
    ".config/sway",
    ".config/hypr",
    ".config/i3",
    ".config/environment.d",
    ".config/pip",
    ".config/direnv",
    ".config/mise",
    ".config/opencode",
    ".config/zed",
    ".config/Code",
    ".config/Cursor",
    ".config/Claude",
    ".config/goose",
    ".config/crush",
    ".config/github-copilot",
    ".config/gh",
    ".config/containers",
    ".config/toolgate",
    ".local/bin",
    ".local/share/applications",
    ".local/share/dbus-1",
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
    ".copilot",
    ".qwen",
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
    let configuration = (0..names.len()).find_map(|at| configuration(&names[at..]));
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

/// The action that makes configuration take effect, if `names` begin with the path of one.
fn configuration(names: &[&OsStr]) -> Option<&'static str> {
    let name = names.first()?;
    let ends = |ending: &str| name.to_str().is_some_and(|name| name.ends_with(ending));
    let plain = HOST_CONFIGURATION.iter().find(|(known, _, _)| name == known).map(|(_, _, when)| *when);
    let nested = || {
        let mut all = NESTED_CONFIGURATION.iter().chain(GIT_CONFIGURATION);
        let begins = |path: &str| {
            let mut parts = path.split('/').enumerate();
            parts.all(|(at, part)| names.get(at).is_some_and(|name| *name == part))
        };
        all.find(|(path, _)| begins(path)).map(|(_, when)| *when)
    };
    let ending = || CONFIGURATION_ENDINGS.iter().find(|(ending, _)| ends(ending)).map(|(_, when)| *when);
    plain.or_else(nested).or_else(ending)
}

/// Whether Python runs a file by itself at each start, given its path below a home.
fn is_python_startup(below: &Path) -> bool {
    let names: Vec<&str> = below.iter().filter_map(OsStr::to_str).collect();
    let [".local", "lib", python, "site-packages", file] = names[..] else { return false };
    let is_run = matches!(file, "usercustomize.py" | "sitecustomize.py") || file.ends_with(".pth");
    python.starts_with("python") && is_run
}

/// The part that `path` plays by its name, for a user with these `homes`. Names count from the innermost of the `roots` that it
/// lies in, so a root that was given for itself, and lies inside a piece of configuration, plays no part.
pub(crate) fn host_file<'a>(
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
    });
    if at_home {
        return Some(HostFile::configuration(AT_HOME));
    }
    host_file_by_name(root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path))
}

impl Confinement {
    /// The homes of the user: what the environment says, and what the account has.
    pub fn homes(&self) -> impl Iterator<Item = &Path> {
        self.home.iter().chain(&self.account_home).map(PathBuf::as_path)
    }

    /// Whether a home of the user lies in a writable root, as it does where the home itself is the workspace.
    pub fn holds_home(&self) -> bool {
        self.homes().any(|home| self.writable.iter().any(|root| home.starts_with(root)))
    }

    /// The part that `path` plays by its name in the writable root that it lies in.
    pub fn host_file(&self, path: &Path) -> Option<HostFile> {
        host_file(path, self.writable.iter().map(PathBuf::as_path), self.homes())
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
            // Scaffolding that commands write, and a person runs: told.
            (".tool-versions", code),
            ("Justfile", code),
            ("justfile", code),
            (".yarnrc", code),
            (".pre-commit-config.yaml", code),
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
            // HOME says another one.
            (
                &Confinement {
                    home: Some("/x".into()),
                    account_home: Some("/home/me".into()),
                    ..home.clone()
                },
                "/home/me/.bashrc",
                true,
            ),
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

//! The runners: package managers that run the program of a package, such as `npx` and `poetry run`.

use super::list_contains;

/// A package manager that runs programs.
pub(crate) struct Runner {
    /// Names, separated by spaces.
    names: &'static str,
    /// The sub-commands before the program; empty for a program of its own, which is also a starter.
    pub(crate) subcommands: &'static str,
    /// True if the program is one of the project, so that a saved rule may name it behind the runner. Other runners
    /// fetch it from a registry, or take its name from there.
    pub(crate) may_be_in_rule: bool,
}

impl Runner {
    /// Reports whether `name` is a name of the package manager.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        list_contains(self.names, name)
    }
}

const fn runner(names: &'static str, subcommands: &'static str, may_be_in_rule: bool) -> Runner {
    Runner { names, subcommands, may_be_in_rule }
}

/// All runners.
pub(crate) const RUNNERS: &[Runner] = &[
    runner("npx bunx pnpx uvx", "", true),
    runner("uv poetry pipenv pdm hatch", "run", true),
    runner("pipx rye", "run", false),
    runner("uv", "tool run", false),
    runner("bundle pnpm yarn", "exec", true),
    runner("npm", "exec", false),
    runner("npm bun", "x", false),
    runner("pnpm yarn", "dlx", false),
];

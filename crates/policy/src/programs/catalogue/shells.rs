//! The shells, by family: the options and the grammar that the analysis knows of each.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::{program_name, without_version};
use crate::shell::ShellDialect;

/// Shells with the same options and the same grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShellFamily {
    /// `bash`.
    Bash,
    /// `zsh`: options of POSIX, a grammar of its own.
    Zsh,
    /// `sh`, which is a shell of another family under this name.
    Sh,
    /// `ash` and `dash`.
    Almquist,
    /// `ksh`: options of POSIX, a grammar of its own.
    Korn,
    /// Shells with `-c`, `-s` and `-o`, whose other options or whose grammar differ.
    Similar,
    /// Shells with options and a grammar of their own.
    Foreign,
}

/// The shells, those that run scripts in order of preference first.
const SHELLS: &[(&str, ShellFamily)] = &[
    ("bash", ShellFamily::Bash),
    ("zsh", ShellFamily::Zsh),
    ("sh", ShellFamily::Sh),
    ("dash", ShellFamily::Almquist),
    ("ksh", ShellFamily::Korn),
    ("ash", ShellFamily::Almquist),
    ("csh es fish ksh93 mksh oil oksh osh pdksh posh rbash rc tcsh yash ysh", ShellFamily::Similar),
    ("elvish murex nu nush powershell pwsh scsh xonsh", ShellFamily::Foreign),
];

impl ShellFamily {
    /// Returns the family of the shell `program`, a name or a path. A name with a version belongs to a similar shell.
    pub fn of(program: &str) -> Option<Self> {
        let name = program_name(program);
        static INDEX: LazyLock<HashMap<&str, ShellFamily>> = LazyLock::new(|| shells().collect());
        let find = |name: &str| INDEX.get(name).copied();
        find(name).or_else(|| {
            let family = find(without_version(name))?;
            Some(if family == Self::Foreign { family } else { Self::Similar })
        })
    }

    /// Returns the names of the shells that scripts may be run with, in order of preference.
    pub fn script_shells() -> impl Iterator<Item = &'static str> {
        shells().filter(|(_, family)| family.has_known_options()).map(|(name, _)| name)
    }

    /// Returns true if the options of the shell are those of POSIX.
    pub fn has_known_options(self) -> bool {
        match self {
            Self::Bash | Self::Zsh | Self::Sh | Self::Almquist | Self::Korn => true,
            Self::Similar | Self::Foreign => false,
        }
    }

    /// Returns the dialect in which scripts for the shell are parsed.
    pub(crate) fn dialect(self) -> ShellDialect {
        match self {
            Self::Bash => ShellDialect::Bash,
            Self::Sh | Self::Almquist => ShellDialect::Posix,
            Self::Zsh | Self::Korn | Self::Similar | Self::Foreign => ShellDialect::Foreign,
        }
    }
}

/// Lists the names of all shells.
pub(in crate::programs) fn shell_names() -> impl Iterator<Item = &'static str> {
    shells().map(|(name, _)| name)
}

fn shells() -> impl Iterator<Item = (&'static str, ShellFamily)> {
    SHELLS.iter().flat_map(|(names, family)| names.split(' ').map(move |name| (name, *family)))
}

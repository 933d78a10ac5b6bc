//! Shell variables that change how commands are found, parsed or run, and variables that hold numbers.

use crate::shell::ScriptWord;

/// Names that do so for any value.
const COMMAND_CHANGING_NAMES: &[&str] = &[
    "CDPATH", "COMP_WORDBREAKS", "ENV", "EXECIGNORE", "FPATH", "FUNCNEST", "GLOBIGNORE", "HISTCONTROL",
    "IFS", "NULLCMD", "PATH", "POSIXLY_CORRECT", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS3", "PS4",
    "READNULLCMD", "SHELL", "SHELLOPTS", "TMPPREFIX", "ZDOTDIR",
];
/// Prefixes of such names.
const COMMAND_CHANGING_PREFIXES: &[&str] = &["BASH", "DYLD_", "LD_"];
/// Variables that the shell keeps numeric.
pub(crate) const NUMERIC_VARIABLES: &[&str] = &[
    "BASHPID", "EPOCHSECONDS", "EUID", "HISTCMD", "LINENO", "OPTIND", "PPID", "RANDOM", "SECONDS", "SRANDOM",
    "UID",
];

/// Returns true if setting this variable may change which commands run.
pub(crate) fn changes_commands(name: &str, value: &ScriptWord) -> bool {
    let is_locale = name == "LANG" || name.starts_with("LC_");
    let function = name.contains(['%', '(', ')']);
    COMMAND_CHANGING_NAMES.contains(&name)
        || COMMAND_CHANGING_PREFIXES.iter().any(|family| name.starts_with(family))
        || function
        || (is_locale && !is_usual_locale(value))
}

/// Returns true if a locale has ordinary characters: in some locales characters end with a backslash.
fn is_usual_locale(value: &ScriptWord) -> bool {
    match value {
        ScriptWord::Literal(text) => {
            matches!(text.as_str(), "" | "C" | "POSIX") || text.ends_with(".UTF-8") || text.ends_with(".utf8")
        }
        ScriptWord::Unknown(_) => false,
    }
}

//! Read-only commands that are known in full: each entry lists all words after the program.

use std::sync::LazyLock;

use super::MaybeWord;
use super::program_index::ProgramIndex;

/// Program names, and the complete arguments that each may have.
type ExactCommand = (&'static str, &'static [&'static str]);

/// Programs that print their version, with the exact arguments. Java is excluded, which leaves a file behind, and so is
/// `npm`, which looks for `node` in the `PATH`.
///
/// A proxy with one of these names chooses the program from project files (`rustup` from `rust-toolchain.toml`, even a
/// path inside it). The program lookup must therefore not report such a proxy as the real program.
const VERSION_COMMANDS: &[ExactCommand] = &[
    ("cargo rustc rustdoc", &["--version", "-V", "-vV", "-Vv", "--version --verbose"]),
    ("rustfmt cargo-clippy cargo-fmt rust-analyzer", &["--version", "-V"]),
    ("node", &["--version", "-v"]),
    ("python python2 python3", &["--version", "-V"]),
    ("gcc g++ cc c++ clang clang++ ld as", &["--version"]),
    ("gcc g++ cc c++", &["-dumpversion", "-dumpmachine"]),
    ("make gmake cmake ninja", &["--version"]),
    ("bash", &["--version"]),
    ("ruby", &["--version"]),
    ("perl", &["-v", "--version"]),
    ("awk gawk sed jq tar wget curl uv ruff", &["--version"]),
    ("find", &["--version", "--help"]),
    ("openssl", &["version"]),
    ("ssh", &["-V"]),
];

/// Common script preambles and queries about the shell.
const IDIOMS: &[ExactCommand] = &[
    ("set", &["-e", "-u", "-x", "-eu", "-ex", "-ux", "-eux", "+e", "+u", "+x", "+eu", "+ex", "+ux"]),
    ("set", &["-o pipefail", "-e -o pipefail", "-eo pipefail", "-uo pipefail", "-euo pipefail"]),
    ("set", &["-exo pipefail", "-euxo pipefail", "-o errexit", "-o nounset", "+o pipefail"]),
    ("ulimit", &["-n", "-a"]),
    ("tee", &["/dev/null"]),
];

/// Returns true if an entry is the program `name` with exactly these `words`.
pub(super) fn is_exact_command(name: &str, words: &[MaybeWord<'_>]) -> bool {
    static EXACT_COMMANDS: LazyLock<Vec<ExactCommand>> =
        LazyLock::new(|| [VERSION_COMMANDS, IDIOMS].concat());
    static INDEX: LazyLock<ProgramIndex> =
        LazyLock::new(|| ProgramIndex::new(EXACT_COMMANDS.iter().map(|(names, _)| *names)));
    let words_are = |line: &str| words.iter().copied().eq(line.split(' ').map(Some));
    INDEX.rows_for(name).into_iter().any(|row| EXACT_COMMANDS[row].1.iter().any(|line| words_are(line)))
}

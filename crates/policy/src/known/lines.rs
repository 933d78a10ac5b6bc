//! Commands that are known as a whole: each line is all the words of one.

use std::sync::LazyLock;

use super::Word;
use super::index::Index;

/// The names of programs, and the words that each of them may have.
type Line = (&'static str, &'static [&'static str]);

/// Programs that say which version they are, and how they are asked: each line is all their words. Java is not among them,
/// which leaves a file behind while it runs, nor `npm`, which looks for `node` on the path.
///
/// A proxy that goes by one of these names reads which program to run from the project (`rustup` from
/// `rust-toolchain.toml`, even a path inside it). Whoever says where a program lies must not pass one off as the other.
const VERSIONS: &[Line] = &[
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

/// How scripts begin, and what they look up about the shell they run in.
const IDIOMS: &[Line] = &[
    ("set", &["-e", "-u", "-x", "-eu", "-ex", "-ux", "-eux", "+e", "+u", "+x", "+eu", "+ex", "+ux"]),
    ("set", &["-o pipefail", "-e -o pipefail", "-eo pipefail", "-uo pipefail", "-euo pipefail"]),
    ("set", &["-exo pipefail", "-euxo pipefail", "-o errexit", "-o nounset", "+o pipefail"]),
    ("ulimit", &["-n", "-a"]),
    ("tee", &["/dev/null"]),
];

/// Whether one of the lines is the program `name` with `words`.
pub(super) fn lists(name: &str, words: &[Word<'_>]) -> bool {
    static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| [VERSIONS, IDIOMS].concat());
    static INDEX: LazyLock<Index> = LazyLock::new(|| Index::of(LINES.iter().map(|(names, _)| *names)));
    let words_are = |line: &str| words.iter().copied().eq(line.split(' ').map(Some));
    INDEX.rows(name).into_iter().any(|row| LINES[row].1.iter().any(|line| words_are(line)))
}

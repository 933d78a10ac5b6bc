//! What is known about one command by its words alone: that it only reads, that it is dangerous, or nothing.
//!
//! The tables do not trust each other. `reading` lists what is allowed, option by option, and whatever it does not
//! list is not read-only. `danger` lists what somebody should look at, and whatever it does not list is ordinary: a gap
//! there costs a question, never the confinement.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

mod added;
mod altering;
mod awk;
mod danger;
mod destroying;
mod filter;
mod find;
mod git;
mod index;
mod lines;
mod options;
mod places;
mod predicate;
mod reading;
mod risks;
mod rows;
mod sed;
mod sending;
mod stem;
mod variables;
mod ways;
mod wrapper;

pub(crate) use added::{find_only_starts, prints_names, reads_whatever_is_added, xargs_only_starts};
pub(crate) use altering::alters;
pub(crate) use stem::is_unknown;
pub use stem::{is_interpreter, stem};
pub use variables::dangerous_variable;

pub(crate) use danger::{commands_inside, names_like};
pub(crate) use destroying::never_ends;
pub(crate) use places::{is_lasting, plain};
pub(crate) use predicate::drops_data;
pub(crate) use ways::{leads_astray, may_be_read};

/// Why a place should not be written to without a look.
pub(crate) const LASTING: &str = "changes the system, or what runs later";
/// Why removing many files deserves a look.
pub(crate) const REMOVES: &str = "removes files without asking";

/// One word of a command: `None` if nobody knows what it will be.
type Word<'a> = Option<&'a str>;

/// What is known about a command by its arguments alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It reads and prints, and does nothing else, whatever the files hold.
    ReadOnly,
    /// Nothing is known: it runs confined.
    Ordinary,
    /// It may do harm where nothing confines it, for this reason; confined it is ordinary.
    Risky(&'static str),
    /// Somebody should look at it even if it is confined, for this reason.
    Dangerous(&'static str),
}

/// Says what is known about the command `argv`. Of a path in its first word only the last part counts: where the program
/// lies is judged elsewhere.
///
/// ```
/// use toolgate_policy::{Known, known};
/// assert_eq!(known(&["ls", "-la", "src"]), Known::ReadOnly);
/// assert_eq!(known(&["cargo", "test"]), Known::Ordinary);
/// assert!(matches!(known(&["rm", "-rf", "src"]), Known::Dangerous(_)));
/// ```
pub fn known(argv: &[&str]) -> Known {
    let words: Vec<Word<'_>> = argv.iter().copied().map(Some).collect();
    known_partly(&words)
}

/// The same if not all words are known. An unknown word can only make things worse: the command is read-only only if the
/// word cannot be taken for an option and may be anything.
pub fn known_partly(argv: &[Option<&str>]) -> Known {
    if argv.iter().flatten().any(|word| word.contains(crate::letters::hides)) {
        return Known::Dangerous("holds characters that do not show on a terminal");
    }
    let Some((Some(program), words)) = argv.split_first() else { return Known::Ordinary };
    if let Some(why) = danger::why(argv) {
        return Known::Dangerous(why);
    }
    if reading::only_reads(last_part(program), words) {
        return Known::ReadOnly;
    }
    danger::risk(argv).map_or(Known::Ordinary, Known::Risky)
}

/// The name of the program at a path.
pub(crate) fn last_part(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

thread_local! {
    /// Lists that were taken apart: doing that each time is what would take time here.
    static APART: RefCell<HashMap<(usize, usize), HashSet<&'static str>>> = RefCell::default();
}

/// Whether `list`, names between blanks, holds `name`.
fn lists(list: &'static str, name: &str) -> bool {
    APART.with_borrow_mut(|apart| {
        let key = (list.as_ptr().addr(), list.len());
        apart.entry(key).or_insert_with(|| list.split_whitespace().collect()).contains(name)
    })
}

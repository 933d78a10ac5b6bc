//! Session ids, which sort by start time and name the journal files.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fault::JournalFault;
use crate::timestamp::UtcTimestamp;

/// The extension of journal files.
const JOURNAL_EXTENSION: &str = ".jsonl";
/// Lengths of the parts of an id: date, time, and fraction of the second with random digits.
const PART_LENGTHS: [usize; 3] = [8, 6, 6];

/// A session id, such as `20261116-213602-4f9a1c`: the start time in UTC, three hexadecimal digits for the fraction of
/// the second, and three random digits. Ids sort by time.
///
/// An id contains no `/` and no dot, so it is safe as a file name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// Creates an id for a session that starts now.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each is another one, which no default is")]
    pub fn new() -> Self {
        // A random start and an odd increment: 4096 consecutive ids of one process have different random digits.
        static RANDOM_START: OnceLock<u64> = OnceLock::new();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let random_start = RANDOM_START.get_or_init(|| RandomState::new().build_hasher().finish());
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let random_digits = random_start.wrapping_add(count.wrapping_mul(0x9e_3779)) & 0xfff;
        let now = UtcTimestamp::now();
        Self(format!("{}-{:03x}{random_digits:03x}", now.to_compact(), now.subsecond_parts()))
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the file name of its journal.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}{JOURNAL_EXTENSION}", self.0)
    }

    /// Returns the session of a journal file name, if it is one.
    pub(crate) fn from_file_name(name: &str) -> Option<Self> {
        name.strip_suffix(JOURNAL_EXTENSION)?.parse().ok()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SessionId {
    type Err = JournalFault;

    fn from_str(text: &str) -> Result<Self, JournalFault> {
        let parts: Vec<&str> = text.splitn(PART_LENGTHS.len() + 1, '-').collect();
        let fits = parts.iter().map(|part| part.len()).eq(PART_LENGTHS);
        let is_plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte) || byte == b'-';
        let digits = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        if fits && text.bytes().all(is_plain) && parts.iter().take(2).all(digits) {
            return Ok(Self(text.to_owned()));
        }
        Err(JournalFault::NotAnId { text: text.chars().take(80).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_names_are_names_and_differ() {
        let names: std::collections::BTreeSet<SessionId> = (0..64).map(|_| SessionId::new()).collect();
        assert!(names.len() > 60, "{names:?}");
        for name in names {
            assert_eq!(name.as_str().parse::<SessionId>().unwrap(), name);
            assert_eq!(SessionId::from_file_name(&name.file_name()), Some(name));
        }
    }

    #[test]
    fn names_sort_by_time_within_a_second() {
        let names: Vec<SessionId> = std::iter::repeat_with(|| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            SessionId::new()
        })
        .take(32)
        .collect();
        assert!(names.is_sorted(), "{names:?}");
    }

    #[test]
    fn text_that_could_be_a_path_is_no_session_id() {
        assert!("20261116-213602-4f9a1c".parse::<SessionId>().is_ok());
        for text in [
            "", "..", "../20261116-213602-4f9a1c", "20261116-213602-4f9a1c/..", "20261116-213602-4F9A1C",
            "20261116-213602-4f9a1", "20261116-213602-4f9a1c-", "2026111a-213602-4f9a1c",
            "20261116-21360a-4f9a1c", "20261116-213602-4f9a1\n", "20261116/213602/4f9a1c",
            "20261116-213602-…1c",
        ] {
            assert!(text.parse::<SessionId>().is_err(), "{text:?}");
        }
    }
}

//! Compares a file's content with git blob ids. A matching id proves which content a diff was made for.

use std::fmt::Write;

use sha1::{Digest, Sha1};

/// The shortest abbreviation that git writes.
const MIN_ID_LENGTH: usize = 7;

/// Returns true if `name` is git's blob id of `bytes`, or a prefix of it.
pub(crate) fn matches_blob_id(bytes: &[u8], name: &str) -> bool {
    if name.len() < MIN_ID_LENGTH {
        return false;
    }
    let head = format!("blob {}\0", bytes.len());
    let hash = Sha1::new().chain_update(head).chain_update(bytes).finalize();
    let mut full = String::with_capacity(2 * hash.len());
    for byte in hash {
        let _ = write!(full, "{byte:02x}");
    }
    full.starts_with(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_has_the_name_that_git_gives_it() {
        let rows = [
            ("", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", true),
            ("", "e69de29", true),
            ("one\n", "5626abf", true),
            ("one\n", "5626abf0", true),
            ("one\n", "5626abe", false),
            ("one\n", "5626ab", false),
            ("one\n", "", false),
        ];
        for (content, name, called) in rows {
            assert_eq!(matches_blob_id(content.as_bytes(), name), called, "{content:?} {name}");
        }
    }
}

//! What git calls a file's content: a diff that has it right says for sure what it is about.

use std::fmt::Write;

use sha1::{Digest, Sha1};

/// git shortens names to this at most.
const LEAST: usize = 7;

/// Whether git calls `bytes` so, or with a name that begins so.
pub(crate) fn is_called(bytes: &[u8], name: &str) -> bool {
    if name.len() < LEAST {
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
            assert_eq!(is_called(content.as_bytes(), name), called, "{content:?} {name}");
        }
    }
}

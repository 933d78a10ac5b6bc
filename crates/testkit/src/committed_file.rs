//! Compares text with a committed file, or rewrites the file with `TOOLGATE_BLESS=1`.
#![expect(clippy::disallowed_methods, reason = "tests read and write committed files")]

use std::path::Path;

/// Asserts that the file at `path` contains `actual`.
pub fn assert_committed(path: impl AsRef<Path>, actual: &str) {
    let path = path.as_ref();
    if std::env::var_os("TOOLGATE_BLESS").is_some() {
        std::fs::write(path, actual).expect("the checkout can be written to");
        return;
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    if committed == actual {
        return;
    }
    let differs = committed.lines().zip(actual.lines()).position(|(old, new)| old != new);
    let line = differs.unwrap_or(committed.lines().count().min(actual.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
    panic!(
        "{}:{} is\n  {}\nbut should be\n  {}\nIf that is what was meant: TOOLGATE_BLESS=1 cargo test",
        path.display(),
        line + 1,
        at(&committed),
        at(actual)
    );
}

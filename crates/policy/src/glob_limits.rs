//! Limits the size of globs: the glob compiler recurses into braces, and its time and memory grow with the length.

/// Maximum length of a glob in bytes.
const MAX_GLOB_BYTES: usize = 1024;
/// Maximum number of braces in a glob.
const MAX_BRACES: usize = 32;
/// Maximum number of wildcards in a glob; each takes about a kilobyte when compiled.
const MAX_WILDCARDS: usize = 64;

/// Counts the wildcards of `pattern`.
pub fn count_wildcards(pattern: &str) -> usize {
    pattern.matches(['*', '?', '[', '{', ',']).count()
}

/// Returns the reason why a glob is too large to compile, if it is.
///
/// ```
/// assert_eq!(toolgate_policy::glob_fault("src/**/*.{rs,toml}"), None);
/// assert!(toolgate_policy::glob_fault(&"{".repeat(100_000)).is_some());
/// ```
pub fn glob_fault(pattern: &str) -> Option<&'static str> {
    match pattern {
        _ if pattern.len() > MAX_GLOB_BYTES => Some("it is longer than 1,024 bytes"),
        _ if pattern.matches('{').count() > MAX_BRACES => Some("it has more than 32 braces"),
        _ if count_wildcards(pattern) > MAX_WILDCARDS => Some("it has more than 64 wildcards"),
        _ => None,
    }
}

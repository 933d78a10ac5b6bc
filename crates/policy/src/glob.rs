//! How large a glob may be: the compiler of globs recurses into braces and takes time and memory with their length.

/// The longest glob that is compiled, in bytes.
const MAX_BYTES: usize = 1024;
/// The most braces in one.
const MAX_BRACES: usize = 32;
/// The most wildcards in one; each takes about a kilobyte when it is compiled.
const MAX_WILDCARDS: usize = 64;

/// How many wildcards `pattern` has.
pub fn wildcards(pattern: &str) -> usize {
    pattern.matches(['*', '?', '[', '{', ',']).count()
}

/// Why a glob is not to be compiled, whoever wrote it.
///
/// ```
/// assert_eq!(toolgate_policy::glob_fault("src/**/*.{rs,toml}"), None);
/// assert!(toolgate_policy::glob_fault(&"{".repeat(100_000)).is_some());
/// ```
pub fn glob_fault(pattern: &str) -> Option<&'static str> {
    match pattern {
        _ if pattern.len() > MAX_BYTES => Some("it is longer than 1,024 bytes"),
        _ if pattern.matches('{').count() > MAX_BRACES => Some("it has more than 32 braces"),
        _ if wildcards(pattern) > MAX_WILDCARDS => Some("it has more than 64 wildcards"),
        _ => None,
    }
}

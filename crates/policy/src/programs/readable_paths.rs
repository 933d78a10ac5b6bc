//! Decides which paths may be read or searched without side effects.

use super::list_contains;

/// Returns true if reading `path` has no effect, ends, and shows no process environment. Few paths in `/dev` qualify,
/// and in `/proc` only those about the machine.
pub(crate) fn may_be_read(path: &str) -> bool {
    // Some programs read file names from a file given as `@file`.
    if path.starts_with('@') {
        return false;
    }
    let parts = path_components(path);
    // Behind a symlink `..` may lead elsewhere, so such a path is not resolved here.
    let winds =
        path.contains("/..") && path.split('/').any(|part| list_contains("dev proc sys run lock", part));
    if winds || parts.contains(&"environ") {
        return false;
    }
    let rest = match parts.iter().position(|part| *part != "..") {
        Some(at) if path.starts_with('/') || at > 0 => &parts[at..],
        _ => return true,
    };
    match rest {
        ["dev", rest @ ..] => matches!(rest, ["null"] | ["stdin"]),
        ["proc", name] => list_contains(
            "cpuinfo meminfo version loadavg uptime filesystems stat mounts partitions devices swaps",
            name,
        ),
        ["proc", ..] | ["run", ..] | ["var", "run" | "lock", ..] | ["sys", "kernel", ..] => false,
        // Network addresses of gawk.
        ["inet" | "inet4" | "inet6", ..] => false,
        _ => true,
    }
}

/// Returns true if everything below `path` may be read too: not `/`, no ancestor of it, and no devices or processes.
pub(super) fn may_be_searched(path: &str) -> bool {
    let climbs = path.split('/').filter(|part| *part == "..").count() > 1;
    may_be_read(path) && !climbs && !is_special_directory(path)
}

/// Returns true if commands may run in `path`: relative names there are no devices or processes.
pub(super) fn is_safe_directory(path: &str) -> bool {
    let all = path.starts_with('/') && is_special_directory(path);
    !(all || path_components(path).is_empty() || path_components(path).contains(&"..") || path == "-")
}

/// Returns true if `path`, absolute or one level up, is `/` or a directory of devices, processes or services.
fn is_special_directory(path: &str) -> bool {
    let parts = path_components(path);
    let rest: &[&str] = match parts.split_first() {
        Some((&"..", rest)) => rest,
        _ if path.starts_with('/') => &parts,
        _ => return false,
    };
    match rest {
        [] => path.starts_with('/'),
        ["var"] | ["var", "run" | "lock", ..] => true,
        [first, ..] => list_contains("dev proc sys run ..", first),
    }
}

/// Returns true if `text` may name or lead to endless or sensitive files. Symlinks may do so too, but they must already
/// exist.
pub(crate) fn may_name_special_files(text: &str) -> bool {
    let climbs = |word: &str| word.split('/').any(|part| part == "..") || is_special_directory(word);
    let named = ["/dev", "/proc", "/sys", "/inet"].iter().any(|place| text.contains(place));
    named || text.split_whitespace().any(climbs)
}

/// Splits a path into components, with `.` and `..` resolved lexically.
fn path_components(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." && parts.last().is_some_and(|last| *last != "..") {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts
}

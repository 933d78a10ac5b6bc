//! Where paths lead: what may be read, and below what one may search.

use super::lists;

/// Whether reading what is at `path` has no effect, comes to an end, and shows no environment of a process. Of `/dev` that
/// is little, and of `/proc` what is about the machine.
pub(crate) fn may_be_read(path: &str) -> bool {
    // Some programs take the names of files from a file that is named so.
    if path.starts_with('@') {
        return false;
    }
    let parts = parts(path);
    // Behind a link `..` is not where it seems: no guess whether this is one of those.
    let winds = path.contains("/..") && path.split('/').any(|part| lists("dev proc sys run lock", part));
    if winds || parts.contains(&"environ") {
        return false;
    }
    let rest = match parts.iter().position(|part| *part != "..") {
        Some(at) if path.starts_with('/') || at > 0 => &parts[at..],
        _ => return true,
    };
    match rest {
        ["dev", rest @ ..] => matches!(rest, ["null"] | ["stdin"]),
        ["proc", name] => lists(
            "cpuinfo meminfo version loadavg uptime filesystems stat mounts partitions devices swaps",
            name,
        ),
        ["proc", ..] | ["run", ..] | ["var", "run" | "lock", ..] | ["sys", "kernel", ..] => false,
        // What gawk takes for an address.
        ["inet" | "inet4" | "inet6", ..] => false,
        _ => true,
    }
}

/// Whether all that is below `path` may be read too: it is not `/`, no way up to it, and holds no devices or processes.
pub(super) fn may_be_searched(path: &str) -> bool {
    let climbs = path.split('/').filter(|part| *part == "..").count() > 1;
    may_be_read(path) && !climbs && !holds_more(path)
}

/// Whether commands may be run at `path`: what is named from there is then no device or process.
pub(super) fn is_a_place(path: &str) -> bool {
    let all = path.starts_with('/') && holds_more(path);
    !(all || parts(path).is_empty() || parts(path).contains(&"..") || path == "-")
}

/// Whether `path`, from the root or one step up, is `/`, or a directory of devices, processes or services.
fn holds_more(path: &str) -> bool {
    let parts = parts(path);
    let rest: &[&str] = match parts.split_first() {
        Some((&"..", rest)) => rest,
        _ if path.starts_with('/') => &parts,
        _ => return false,
    };
    match rest {
        [] => path.starts_with('/'),
        ["var"] | ["var", "run" | "lock", ..] => true,
        [first, ..] => lists("dev proc sys run ..", first),
    }
}

/// Whether `text` may name, or lead to, files that never end or show what they should not. Links may do so too, but
/// those have to be there.
pub(crate) fn leads_astray(text: &str) -> bool {
    let climbs = |word: &str| word.split('/').any(|part| part == "..") || holds_more(word);
    let named = ["/dev", "/proc", "/sys", "/inet"].iter().any(|place| text.contains(place));
    named || text.split_whitespace().any(climbs)
}

/// The names of a path with `.` and `..` resolved as far as the words go.
fn parts(path: &str) -> Vec<&str> {
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

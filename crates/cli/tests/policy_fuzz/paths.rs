//! Resolves paths on the host, one component at a time.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Joins a name to a path.
pub(crate) fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") }
}

/// Returns the parent directory; `""` is the top.
pub(crate) fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/') {
        Some((above, _)) => Some(above),
        None if path.is_empty() => None,
        None => Some(""),
    }
}

/// Reports whether `path` is `above` or lies below it.
pub(crate) fn is_below(path: &str, above: &str) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The type of the file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    Missing,
    Directory,
    File,
    Link,
    /// A FIFO or a socket.
    Special,
}

/// Returns the type of the file at `path`, without following symlinks.
pub(crate) fn path_kind(path: &Path) -> PathKind {
    match fs::symlink_metadata(path).map(|stat| stat.file_type()) {
        Err(_) => PathKind::Missing,
        Ok(kind) if kind.is_dir() => PathKind::Directory,
        Ok(kind) if kind.is_symlink() => PathKind::Link,
        Ok(kind) if kind.is_fifo() || kind.is_socket() => PathKind::Special,
        Ok(_) => PathKind::File,
    }
}

/// The result of resolving a path.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResolvedPath {
    /// The resolved path, if it is below the top; the last component may be missing.
    pub(crate) real: Option<String>,
    /// The path leads out of the tree.
    pub(crate) outside: bool,
    /// Every directory in which a name was looked up, and every symlink that was followed.
    pub(crate) through: Vec<String>,
}

/// Resolves `path` in the tree at `base`; follows the last component only if `follow`.
pub(crate) fn resolve(base: &Path, path: &str, follow: bool) -> ResolvedPath {
    let mut way = ResolvedPath::default();
    let mut names: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
    let mut at = String::new();
    let mut links = 0;
    while let Some(name) = names.pop() {
        if path_kind(&base.join(&at)) != PathKind::Directory {
            return way;
        }
        way.through.push(at.clone());
        let next = match &*name {
            "" | "." => at.clone(),
            ".." => match parent(&at) {
                Some(above) => above.to_owned(),
                None => return ResolvedPath { outside: true, ..way },
            },
            name => join(&at, name),
        };
        let is_last = names.iter().all(|name| name.is_empty() || name == ".");
        match path_kind(&base.join(&next)) {
            PathKind::Missing if is_last && names.is_empty() => {
                return ResolvedPath { real: Some(next), ..way };
            }
            PathKind::Missing => return way,
            PathKind::Link if follow || !names.is_empty() => {
                links += 1;
                if links > 40 {
                    return way;
                }
                way.through.push(next.clone());
                let to = fs::read_link(base.join(&next)).unwrap().to_str().unwrap().to_owned();
                let to = match Path::new(&to).strip_prefix(base) {
                    Ok(below) => {
                        at = String::new();
                        below.to_str().unwrap().to_owned()
                    }
                    Err(_) if to.starts_with('/') => return ResolvedPath { outside: true, ..way },
                    Err(_) => to,
                };
                names.extend(to.split('/').rev().map(str::to_owned));
            }
            _ => at = next,
        }
    }
    ResolvedPath { real: Some(at), ..way }
}

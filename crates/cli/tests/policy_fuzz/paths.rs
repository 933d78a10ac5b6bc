//! Where a path really leads, found on the host one name at a time.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// The rest of a path below `above`.
pub(crate) fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") }
}

/// The directory above, `""` being the top.
pub(crate) fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/') {
        Some((above, _)) => Some(above),
        None if path.is_empty() => None,
        None => Some(""),
    }
}

/// Whether `path` is `above` or lies below it.
pub(crate) fn is_below(path: &str, above: &str) -> bool {
    above.is_empty() || path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Missing,
    Directory,
    File,
    Link,
    /// A FIFO or a socket.
    Special,
}

/// What is at `path` itself.
pub(crate) fn kind(path: &Path) -> Kind {
    match fs::symlink_metadata(path).map(|stat| stat.file_type()) {
        Err(_) => Kind::Missing,
        Ok(kind) if kind.is_dir() => Kind::Directory,
        Ok(kind) if kind.is_symlink() => Kind::Link,
        Ok(kind) if kind.is_fifo() || kind.is_socket() => Kind::Special,
        Ok(_) => Kind::File,
    }
}

/// Where a path leads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Way {
    /// Its real path, if it has one below the top: the last name may be missing.
    pub(crate) real: Option<String>,
    /// It leads out of the tree.
    pub(crate) outside: bool,
    /// Every real directory in which a name was looked up, and every link that was followed.
    pub(crate) through: Vec<String>,
}

/// Follows `path` in the tree at `base`; the last name only if `follow`.
pub(crate) fn resolve(base: &Path, path: &str, follow: bool) -> Way {
    let mut way = Way::default();
    let mut names: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
    let mut at = String::new();
    let mut links = 0;
    while let Some(name) = names.pop() {
        if kind(&base.join(&at)) != Kind::Directory {
            return way;
        }
        way.through.push(at.clone());
        let next = match &*name {
            "" | "." => at.clone(),
            ".." => match parent(&at) {
                Some(above) => above.to_owned(),
                None => return Way { outside: true, ..way },
            },
            name => join(&at, name),
        };
        let is_last = names.iter().all(|name| name.is_empty() || name == ".");
        match kind(&base.join(&next)) {
            Kind::Missing if is_last && names.is_empty() => {
                return Way { real: Some(next), ..way };
            }
            Kind::Missing => return way,
            Kind::Link if follow || !names.is_empty() => {
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
                    Err(_) if to.starts_with('/') => return Way { outside: true, ..way },
                    Err(_) => to,
                };
                names.extend(to.split('/').rev().map(str::to_owned));
            }
            _ => at = next,
        }
    }
    Way { real: Some(at), ..way }
}

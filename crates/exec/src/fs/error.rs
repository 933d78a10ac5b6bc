//! Why a path could not be looked at, opened or walked, in words for the model that chose it.

use std::io;
use std::path::PathBuf;

use policy::Denial;

use super::Kind;

/// Why a path could not be looked at, opened or walked.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// The policy refuses it.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// There is nothing at the path.
    #[error("`{}` does not exist; {}", path.display(), instead(nearest, exists.as_deref()))]
    NotFound {
        /// What was asked for.
        path: PathBuf,
        /// Names like the missing one, from the deepest directory that exists; at most three.
        nearest: Vec<String>,
        /// The deepest directory above `path` that exists, if that is not its parent.
        exists: Option<PathBuf>,
    },
    /// The path is a link inside the roots whose target is missing.
    #[error("`{}` is a symbolic link to `{}`, which does not exist; the link is broken", path.display(), target.display())]
    BrokenLink {
        /// The link.
        path: PathBuf,
        /// Where it points, as it is written in the link.
        target: PathBuf,
    },
    /// A file was needed.
    #[error("`{}` is {kind}, not a file; give the path of a regular file", path.display())]
    NotAFile {
        /// What was asked for.
        path: PathBuf,
        /// What is there.
        kind: Kind,
    },
    /// A directory was needed, here or on the way.
    #[error("`{}` is {kind}, not a directory; give the path of a directory", path.display())]
    NotADirectory {
        /// The part of the path that is no directory.
        path: PathBuf,
        /// What is there.
        kind: Kind,
    },
    /// Following the links of the path does not end.
    #[error("the symbolic links of `{}` form a loop or lead through a magic link such as `/proc/self/root`, which is not followed; give the path of the thing itself", path.display())]
    Loop {
        /// What was asked for.
        path: PathBuf,
    },
    /// The path, or a name in it, is longer than the file system allows.
    #[error(
        "the path is too long for the file system ({length} bytes; names hold 255, paths 4095); give a shorter one"
    )]
    TooLong {
        /// How many bytes the path has.
        length: usize,
    },
    /// This system cannot look there without a race.
    #[error("`{}` cannot be read safely on this system: {why}", path.display())]
    Unsupported {
        /// What was asked for.
        path: PathBuf,
        /// What is missing and what would fix it.
        why: &'static str,
    },
    /// The system refused for a reason of its own.
    #[error("`{}` cannot be read: {}", path.display(), plain(source))]
    Io {
        /// What was asked for.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

fn instead(nearest: &[String], exists: Option<&std::path::Path>) -> String {
    let mut said = Vec::new();
    if let Some(exists) = exists {
        said.push(format!("the deepest directory above it that does is `{}`", exists.display()));
    }
    if let Some((last, rest)) = nearest.split_last() {
        let rest: Vec<String> = rest.iter().map(|name| format!("`{name}`")).collect();
        let or = if rest.is_empty() { "" } else { " or " };
        said.push(format!("did you mean {}{or}`{last}`?", rest.join(", ")));
    }
    if said.is_empty() {
        said.push("list its directory to see what is there".to_owned());
    }
    said.join("; ")
}

fn plain(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::PermissionDenied => {
            "the user running this has no permission; only they can change that, so read something else"
                .to_owned()
        }
        _ => format!("{source}; try again, or read something else"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_path_is_explained() {
        let say = |nearest: &[&str], exists: Option<&str>| {
            let nearest = nearest.iter().map(|&name| name.to_owned()).collect();
            FsError::NotFound { path: "/w/a/b".into(), nearest, exists: exists.map(PathBuf::from) }
                .to_string()
        };
        assert_eq!(say(&[], None), "`/w/a/b` does not exist; list its directory to see what is there");
        assert_eq!(say(&["c"], None), "`/w/a/b` does not exist; did you mean `c`?");
        assert_eq!(say(&["c", "d", "e"], None), "`/w/a/b` does not exist; did you mean `c`, `d` or `e`?");
        assert_eq!(
            say(&["aa"], Some("/w")),
            "`/w/a/b` does not exist; the deepest directory above it that does is `/w`; did you mean `aa`?"
        );
    }
}

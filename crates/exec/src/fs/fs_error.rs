//! Errors of file access, worded for the model that chose the path.

use std::io;
use std::path::PathBuf;

use policy::Denial;

use super::FileKind;

/// The reason why a path could not be looked up, opened or walked.
#[derive(Debug, thiserror::Error)]
pub enum FsError {
    /// The policy denies it.
    #[error(transparent)]
    Denied(#[from] Denial),
    /// The path does not exist.
    #[error("`{}` does not exist; {}", path.display(), suggest_alternatives(nearest, exists.as_deref()))]
    NotFound {
        /// The requested path.
        path: PathBuf,
        /// At most three similar names in the deepest existing directory.
        nearest: Vec<String>,
        /// The deepest existing ancestor of `path`, if it is not the parent.
        exists: Option<PathBuf>,
    },
    /// The path is a symlink inside the roots whose target is missing.
    #[error("`{}` is a symbolic link to `{}`, which does not exist; the link is broken", path.display(), target.display())]
    BrokenLink {
        /// The link.
        path: PathBuf,
        /// The target, as it is written in the link.
        target: PathBuf,
    },
    /// The operation needs a regular file.
    #[error("`{}` is {kind}, not a file; give the path of a regular file", path.display())]
    NotAFile {
        /// The requested path.
        path: PathBuf,
        /// The kind of file that exists there.
        kind: FileKind,
    },
    /// The operation needs a directory, at the path or on the way to it.
    #[error("`{}` is {kind}, not a directory; give the path of a directory", path.display())]
    NotADirectory {
        /// The part of the path that is not a directory.
        path: PathBuf,
        /// The kind of file that exists there.
        kind: FileKind,
    },
    /// The symlinks of the path form a loop.
    #[error("the symbolic links of `{}` form a loop or lead through a magic link such as `/proc/self/root`, which is not followed; give the path of the thing itself", path.display())]
    Loop {
        /// The requested path.
        path: PathBuf,
    },
    /// The path, or a name in it, is longer than the file system allows.
    #[error(
        "the path is too long for the file system ({length} bytes; names hold 255, paths 4095); give a shorter one"
    )]
    TooLong {
        /// The length of the path in bytes.
        length: usize,
    },
    /// This system cannot open the path without a race.
    #[error("`{}` cannot be read safely on this system: {why}", path.display())]
    Unsupported {
        /// The requested path.
        path: PathBuf,
        /// The missing feature, and a remedy.
        why: &'static str,
    },
    /// The system call failed for another reason.
    #[error("`{}` cannot be read: {}", path.display(), describe_io_error(source))]
    Io {
        /// The requested path.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
}

fn suggest_alternatives(nearest: &[String], exists: Option<&std::path::Path>) -> String {
    let mut suggestions = Vec::new();
    if let Some(exists) = exists {
        suggestions.push(format!("the deepest directory above it that does is `{}`", exists.display()));
    }
    if let Some((last, rest)) = nearest.split_last() {
        let rest: Vec<String> = rest.iter().map(|name| format!("`{name}`")).collect();
        let or = if rest.is_empty() { "" } else { " or " };
        suggestions.push(format!("did you mean {}{or}`{last}`?", rest.join(", ")));
    }
    if suggestions.is_empty() {
        suggestions.push("list its directory to see what is there".to_owned());
    }
    suggestions.join("; ")
}

fn describe_io_error(source: &io::Error) -> String {
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

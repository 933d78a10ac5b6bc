//! Paths that no tool may read, wherever they lie: credentials first of all.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// What nobody may read unless the user's own configuration says otherwise. `~` is the user's home.
pub const DEFAULT_DENY_READ: &[&str] = &[
    "~/.ssh",
    "~/.gnupg",
    "~/.aws",
    "~/.azure",
    "~/.config/gcloud",
    "~/.config/gh",
    "~/.kube",
    "~/.docker/config.json",
    "~/.netrc",
    "~/.git-credentials",
    "~/.pypirc",
    "~/.npmrc",
    "~/.cargo/credentials",
    "~/.cargo/credentials.toml",
    "**/.env",
    "**/.env.local",
    "**/.env.*.local",
    "**/.env.production",
    "**/.env.prod",
    "**/.env.staging",
    "**/id_rsa",
    "**/id_ed25519",
    "**/id_ecdsa",
];

/// A pattern that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the deny-read pattern `{pattern}` is not a path or a glob: {why}")]
pub struct DenyReadFault {
    /// The pattern as it was written.
    pub pattern: String,
    /// What is wrong with it.
    pub why: String,
}

/// A compiled set of deny-read patterns.
#[derive(Debug, Clone)]
pub struct DenyRead {
    globs: GlobSet,
    patterns: Vec<String>,
}

impl DenyRead {
    /// Compiles `patterns`: absolute paths, `~/…` (resolved against `home`), or globs. A pattern without a leading
    /// `/` holds at any depth. A denied directory denies all that is below it.
    pub fn new<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
        home: Option<&Path>,
    ) -> Result<Self, DenyReadFault> {
        let mut builder = GlobSetBuilder::new();
        let mut kept = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let fault = |why: String| DenyReadFault { pattern: pattern.to_owned(), why };
            if let Some(why) = denies_nothing(pattern) {
                return Err(fault(why.to_owned()));
            }
            let Some(anchored) = anchor(pattern, home) else { continue };
            let glob = GlobBuilder::new(anchored.trim_end_matches('/'))
                .literal_separator(true)
                .build()
                .map_err(|error| fault(error.kind().to_string()))?;
            builder.add(glob);
            kept.push(pattern.to_owned());
        }
        let globs = builder
            .build()
            .map_err(|error| DenyReadFault { pattern: kept.join(", "), why: error.to_string() })?;
        Ok(Self { globs, patterns: kept })
    }

    /// Names the pattern that denies `path` itself or a directory above it: the outermost, which is the same whether or
    /// not there is anything at `path`.
    pub fn denies(&self, path: &Path) -> Option<&str> {
        path.ancestors().filter_map(|at| self.denies_entry(at)).last()
    }

    /// Names the pattern that denies `path` itself; for a walk that has already asked about what is above.
    pub fn denies_entry(&self, path: &Path) -> Option<&str> {
        let first = *self.globs.matches(path).first()?;
        Some(&self.patterns[first])
    }
}

/// Why a pattern would deny nothing, though whoever wrote it means it to.
fn denies_nothing(pattern: &str) -> Option<&'static str> {
    let has = |part: &str| pattern.split('/').any(|name| name == part);
    match pattern {
        _ if pattern.trim_end_matches('/').is_empty() => Some("it is empty"),
        _ if pattern.trim() != pattern => Some("it begins or ends with a blank"),
        _ if pattern.starts_with('!') => Some("it cannot allow again what another one denies"),
        _ if pattern.starts_with('$') => Some("variables are not expanded; write the path, or `~/…`"),
        _ if pattern.starts_with('~') && !pattern.starts_with("~/") => {
            Some("only `~/…` is known, your own home")
        }
        _ if pattern.trim_matches('/').contains("//") => Some("it has two `/` in a row"),
        _ if has(".") || has("..") => {
            Some("`.` and `..` are not resolved; write the path from `/` or `~/`, or a glob")
        }
        _ => None,
    }
}

/// `None`: the pattern is about a home directory, and there is none.
fn anchor(pattern: &str, home: Option<&Path>) -> Option<String> {
    if let Some(rest) = pattern.strip_prefix("~/") {
        let home = globset::escape(&home?.to_string_lossy());
        return Some(format!("{home}/{rest}"));
    }
    if pattern.starts_with('/') || pattern.starts_with("**/") {
        return Some(pattern.to_owned());
    }
    Some(if pattern.is_empty() { String::new() } else { format!("**/{pattern}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_denied_and_by_which_pattern() {
        let home = Path::new("/home/[me]");
        let deny = DenyRead::new(DEFAULT_DENY_READ.iter().chain(&["secrets/", "*.pem"]), Some(home)).unwrap();
        for (path, by) in [
            ("/home/[me]/.ssh", Some("~/.ssh")),
            ("/home/[me]/.ssh/id_rsa", Some("~/.ssh")),
            ("/home/me/id_rsa", Some("**/id_rsa")),
            ("/home/[me]/.ssh/deep/x", Some("~/.ssh")),
            ("/home/other/.ssh/x", None),
            ("/w/.env", Some("**/.env")),
            ("/w/a/.env.local", Some("**/.env.local")),
            ("/w/.env.example", None),
            ("/w/secrets/a/b", Some("secrets/")),
            ("/w/k.pem", Some("*.pem")),
            ("/w/environment", None),
        ] {
            assert_eq!(deny.denies(Path::new(path)), by, "{path}");
        }
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let fault = DenyRead::new(["a[".to_owned()], None).unwrap_err();
        assert!(
            fault.to_string().starts_with("the deny-read pattern `a[` is not a path or a glob"),
            "{fault}"
        );
        for pattern in ["/", "", " *.pem", "*.pem ", "!a", "$HOME/a", "~", "~root/x", "./a", "a/../b"] {
            assert!(DenyRead::new([pattern], None).is_err(), "{pattern}");
        }
    }
}

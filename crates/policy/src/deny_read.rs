//! Deny-read patterns: paths that no tool may read in any location, above all credentials.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The default deny-read patterns, which only the user's own configuration changes. `~` is the user's home.
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
    "~/.config/git/credentials",
    "~/.vault-token",
    "~/.password-store",
    "~/.local/share/keyrings",
    "~/.local/share/kwalletd",
    "~/.terraform.d/credentials.tfrc.json",
    "~/.pgpass",
    "~/.my.cnf",
    "~/.mylogin.cnf",
    "~/.s3cfg",
    "~/.boto",
    "~/.oci",
    "~/.snowflake",
    "~/.databrickscfg",
    "~/.kaggle/kaggle.json",
    "~/.gem/credentials",
    "~/.fly/config.yml",
    "~/.ngrok2",
    "~/.wakatime.cfg",
    "~/.pulumi/credentials.json",
    "~/.config/op",
    "~/.config/Bitwarden",
    "~/.config/sops/age",
    "~/.config/rclone",
    "~/.config/doctl",
    "~/.config/hub",
    "~/.config/ngrok",
    "~/.config/stripe",
    "~/.config/netlify",
    "~/.config/.wrangler",
    "~/.wrangler/config",
    "~/.config/heroku",
    "~/.local/share/com.vercel.cli",
    "~/.config/solana/id.json",
    "~/.config/glab-cli",
    "~/.config/tea",
    "~/.config/containers/auth.json",
    "~/.config/helm/registry",
    "~/.config/configstore/firebase-tools.json",
    "~/.config/hcloud",
    "~/.config/scw",
    "~/.config/linode-cli",
    "~/.vultr-cli.yaml",
    "~/.supabase",
    "~/.railway",
    "~/.config/argocd",
    "~/.circleci/cli.yml",
    "~/.doppler",
    "~/.infisical",
    "~/.dbt/profiles.yml",
    "~/.msmtprc",
    "~/.config/msmtp",
    "~/.mbsyncrc",
    "~/.fetchmailrc",
    "~/.authinfo",
    "~/.authinfo.gpg",
    "~/.bitcoin",
    "~/.ethereum/keystore",
    "~/.electrum",
    "~/.huggingface/token",
    "~/.cache/huggingface/token",
    "~/.cache/huggingface/stored_tokens",
    "~/.composer/auth.json",
    "~/.config/composer/auth.json",
    "~/.config/pypoetry/auth.toml",
    "~/.vercel/auth.json",
    "~/.netlify/config.json",
    // Logins of agents.
    "~/.claude/.credentials.json",
    "~/.claude.json",
    "~/.codex/auth.json",
    "~/.gemini/oauth_creds.json",
    "~/.qwen/oauth_creds.json",
    "~/.config/github-copilot",
    "~/.local/share/opencode/auth.json",
    "~/.config/goose/secrets.yaml",
    "~/.config/io.datasette.llm/keys.json",
    "~/.config/Cursor/User/globalStorage",
    "~/.config/Code/User/globalStorage",
    "~/.config/VSCodium/User/globalStorage",
    // Histories of shells and consoles may contain passwords typed in command lines.
    "~/.bash_history",
    "~/.zsh_history",
    "~/.zhistory",
    "~/.zsh_sessions",
    "~/.histfile",
    "~/.sh_history",
    "~/.ksh_history",
    "~/.local/share/fish/fish_history",
    "~/.python_history",
    "~/.node_repl_history",
    "~/.irb_history",
    "~/.pry_history",
    "~/.psql_history",
    "~/.mysql_history",
    "~/.sqlite_history",
    "~/.rediscli_history",
    "~/.dbshell",
    "~/.viminfo",
    // Cookies and saved passwords.
    "~/.mozilla",
    "~/.thunderbird",
    "~/.librewolf",
    "~/.zen",
    "~/.config/google-chrome",
    "~/.config/google-chrome-beta",
    "~/.config/chromium",
    "~/.config/BraveSoftware",
    "~/.config/microsoft-edge",
    "~/.config/vivaldi",
    "~/.config/opera",
    "~/snap/firefox",
    "~/snap/chromium",
    "~/.var/app/org.mozilla.firefox",
    "~/.var/app/com.google.Chrome",
    "~/.var/app/org.chromium.Chromium",
    // Files that only root can read, for commands that run as root.
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/security/opasswd",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/krb5.keytab",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/ipsec.secrets",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/NetworkManager/system-connections",
    "/etc/wpa_supplicant",
    "/etc/kubernetes",
    "/etc/rancher",
    "/var/backups/shadow.bak",
    "/var/backups/gshadow.bak",
    "/var/lib/sss",
    "/var/lib/samba/private",
    "/var/lib/NetworkManager",
    "/root/.ssh",
    "/root/.gnupg",
    "/root/.aws",
    "/root/.azure",
    "/root/.config/gcloud",
    "/root/.config/gh",
    "/root/.kube",
    "/root/.docker/config.json",
    "/root/.netrc",
    "/root/.git-credentials",
    "/root/.pypirc",
    "/root/.npmrc",
    "**/.env",
    "**/.env.local",
    "**/.env.*.local",
    "**/.env.production",
    "**/.env.prod",
    "**/.env.staging",
    "**/.env.development",
    "**/.env.test",
    "**/.envrc",
    "**/.netrc",
    "**/.pgpass",
    "**/.git-credentials",
    "**/.htpasswd",
    "**/id_rsa",
    "**/id_dsa",
    "**/id_ecdsa",
    "**/id_ecdsa_sk",
    "**/id_ed25519",
    "**/id_ed25519_sk",
];

/// Maximum number of characters of a pattern in a fault.
const MAX_SHOWN_CHARS: usize = 100;

/// A deny-read pattern that is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the deny-read pattern `{pattern}` is not a path or a glob: {why}")]
pub struct DenyReadFault {
    /// The pattern as it was written.
    pub pattern: String,
    /// The reason why it is invalid.
    pub why: String,
}

/// A compiled set of deny-read patterns.
#[derive(Debug, Clone)]
pub struct DenyRead {
    globs: GlobSet,
    patterns: Vec<String>,
    literal_paths: Vec<PathBuf>,
}

impl DenyRead {
    /// Compiles `patterns`: absolute paths, `~/…` (resolved against `home`), or globs. A pattern without a leading `/`
    /// matches at any depth. A denied directory denies everything below it.
    pub fn new<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
        home: Option<&Path>,
    ) -> Result<Self, DenyReadFault> {
        let mut builder = GlobSetBuilder::new();
        let (mut kept, mut literal_paths) = (Vec::new(), Vec::new());
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let shown = || pattern.chars().take(MAX_SHOWN_CHARS).collect();
            let fault = |why: String| DenyReadFault { pattern: shown(), why };
            if let Some(why) = ineffective_reason(pattern).or_else(|| crate::glob_fault(pattern)) {
                return Err(fault(why.to_owned()));
            }
            let Some(anchored) = anchor_pattern(pattern, home) else { continue };
            literal_paths.extend(literal_path(pattern, home));
            let glob = GlobBuilder::new(anchored.trim_end_matches('/'))
                .literal_separator(true)
                // A backslash in a name is literal, so that a pattern needs no escaping to deny the name.
                .backslash_escape(false)
                .build()
                .map_err(|error| fault(error.kind().to_string()))?;
            builder.add(glob);
            kept.push(pattern.to_owned());
        }
        let globs = builder
            .build()
            .map_err(|error| DenyReadFault { pattern: kept.join(", "), why: error.to_string() })?;
        Ok(Self { globs, patterns: kept, literal_paths })
    }

    /// Returns the pattern for the real location of `pattern`, as `resolve` finds it by following symlinks. Returns
    /// `None` if both are equal. A glob is resolved up to its first component with a wildcard.
    pub fn resolve_pattern(
        pattern: &str,
        home: Option<&Path>,
        resolve: impl FnOnce(&Path) -> PathBuf,
    ) -> Option<String> {
        let path = match (pattern.strip_prefix("~/"), home) {
            (Some(rest), Some(home)) => home.join(rest),
            (Some(_), None) => return None,
            (None, _) => PathBuf::from(pattern),
        };
        if !path.is_absolute() {
            return None;
        }
        let is_glob = |name: &std::ffi::OsStr| name.to_string_lossy().contains(['*', '?', '[', '{']);
        let plain: PathBuf = path.iter().take_while(|name| !is_glob(name)).collect();
        let globs: PathBuf = path.iter().skip_while(|name| !is_glob(name)).collect();
        let real = resolve(&plain);
        if real == plain {
            return None;
        }
        let real = globset::escape(&real.to_string_lossy());
        let globs = globs.to_string_lossy();
        Some(if globs.is_empty() { real } else { format!("{}/{globs}", real.trim_end_matches('/')) })
    }

    /// Returns the patterns that are one literal path.
    pub fn literal_paths(&self) -> &[PathBuf] {
        &self.literal_paths
    }

    /// Returns the pattern that denies `path` or a directory above it. The outermost match wins, so the answer does not
    /// depend on the existence of `path`.
    pub fn denying_pattern(&self, path: &Path) -> Option<&str> {
        path.ancestors().filter_map(|at| self.denying_entry_pattern(at)).last()
    }

    /// Returns the pattern that denies `path` itself, for a walk that has already checked the directories above.
    pub fn denying_entry_pattern(&self, path: &Path) -> Option<&str> {
        let first = *self.globs.matches(path).first()?;
        Some(&self.patterns[first])
    }
}

/// Returns the reason why a pattern would silently deny nothing.
fn ineffective_reason(pattern: &str) -> Option<&'static str> {
    let has = |part: &str| pattern.split('/').any(|name| name == part);
    match pattern {
        _ if pattern.trim_end_matches('/').is_empty() => Some("it is empty"),
        _ if pattern.trim() != pattern => Some("it begins or ends with a blank"),
        _ if pattern.starts_with('!') => Some("it cannot allow again what another one denies"),
        _ if pattern.starts_with('$') => Some("variables are not expanded; write the path, or `~/…`"),
        _ if pattern.starts_with('~') && !pattern.starts_with("~/") => {
            Some("only `~/…` is known, your own home")
        }
        _ if pattern.contains('\0') => Some("it holds a NUL, which no name can"),
        _ if pattern.contains("//") => Some("it has two `/` in a row"),
        _ if has(".") || has("..") => {
            Some("`.` and `..` are not resolved; write the path from `/` or `~/`, or a glob")
        }
        _ => None,
    }
}

/// Returns the path of a pattern without wildcards.
fn literal_path(pattern: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match pattern.strip_prefix("~/") {
        Some(rest) => home?.join(rest),
        None => PathBuf::from(pattern),
    };
    // Only patterns made by `resolved` are escaped.
    let is_plain = |text: &str| !text.contains(['*', '?', '[', '{']);
    (path.is_absolute() && is_plain(pattern)).then_some(path)
}

/// Anchors a pattern to an absolute path. Returns `None` for a pattern below the home if there is no home.
fn anchor_pattern(pattern: &str, home: Option<&Path>) -> Option<String> {
    if let Some(rest) = pattern.strip_prefix("~/") {
        let home = globset::escape(&home?.to_string_lossy());
        return Some(format!("{}/{rest}", home.trim_end_matches('/')));
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
    fn names_the_pattern_that_denies_a_path() {
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
            ("/etc/shadow", Some("/etc/shadow")),
            ("/etc/sudoers.d/me", Some("/etc/sudoers.d")),
            ("/etc/ssh/ssh_host_rsa_key", Some("/etc/ssh/ssh_host_rsa_key")),
            ("/etc/ssh/ssh_host_rsa_key.pub", None),
            ("/etc/passwd", None),
            ("/home/[me]/.bash_history", Some("~/.bash_history")),
            ("/home/[me]/.mozilla/firefox/x/logins.json", Some("~/.mozilla")),
            ("/home/[me]/.config/google-chrome/Default/Cookies", Some("~/.config/google-chrome")),
            ("/home/[me]/.claude/.credentials.json", Some("~/.claude/.credentials.json")),
            ("/home/[me]/.claude/settings.json", None),
            ("/home/[me]/.codex/auth.json", Some("~/.codex/auth.json")),
            ("/home/[me]/.codex/config.toml", None),
            ("/home/[me]/.vault-token", Some("~/.vault-token")),
            ("/home/[me]/.cache/huggingface/token", Some("~/.cache/huggingface/token")),
            ("/home/[me]/.cache/huggingface/hub/x", None),
            ("/home/[me]/.config/pypoetry/auth.toml", Some("~/.config/pypoetry/auth.toml")),
            ("/home/[me]/.local/share/keyrings/login.keyring", Some("~/.local/share/keyrings")),
            ("/home/[me]/.config/git/credentials", Some("~/.config/git/credentials")),
            // Build programs fail if they cannot read these files.
            ("/home/[me]/.config/git/config", None),
            ("/home/[me]/.gitconfig", None),
            ("/home/[me]/.m2/settings.xml", None),
            ("/home/[me]/.gradle/gradle.properties", None),
            ("/home/[me]/.cargo/config.toml", None),
            ("/w/.bash_history", None),
        ] {
            assert_eq!(deny.denying_pattern(Path::new(path)), by, "{path}");
        }
    }

    #[test]
    fn a_rule_follows_the_links_in_its_path() {
        let home = Path::new("/link");
        let resolve = |path: &Path| PathBuf::from(path.to_string_lossy().replace("/link", "/re[al]"));
        let at = |pattern: &str| DenyRead::resolve_pattern(pattern, Some(home), resolve);
        assert_eq!(at("~/.ssh").as_deref(), Some("/re[[]al[]]/.ssh"));
        assert_eq!(at("~/*.tok").as_deref(), Some("/re[[]al[]]/*.tok"));
        assert_eq!(at("/link/a/**/k").as_deref(), Some("/re[[]al[]]/a/**/k"));
        assert_eq!(at("/elsewhere"), None);
        assert_eq!(at("*.pem"), None);
        let deny = DenyRead::new([at("~/.ssh").unwrap(), "/a\\b".to_owned()], None).unwrap();
        assert!(deny.denying_pattern(Path::new("/re[al]/.ssh/k")).is_some());
        assert!(deny.denying_pattern(Path::new("/a\\b/c")).is_some());
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let fault = DenyRead::new(["a[".to_owned()], None).unwrap_err();
        assert!(
            fault.to_string().starts_with("the deny-read pattern `a[` is not a path or a glob"),
            "{fault}"
        );
        for pattern in
            ["/", "", "//a/b", "a\0b", " *.pem", "*.pem ", "!a", "$HOME/a", "~", "~root/x", "./a", "a/../b"]
        {
            assert!(DenyRead::new([pattern], None).is_err(), "{pattern}");
        }
    }
}

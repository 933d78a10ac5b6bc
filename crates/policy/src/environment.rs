//! Selects the environment variables that a command gets.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::credentials::{is_provider_key, list_contains, looks_like_secret_name, looks_like_secret_value};

/// Variables about identity, directories, toolchains and locale. Sockets are excluded, and so are proxies, whose
/// addresses may contain passwords.
const CORE: &str = "
    PATH SHELL HOME USER LOGNAME TMPDIR TEMP TMP LANG TZ
    XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_DATA_DIRS XDG_CONFIG_DIRS
    ZDOTDIR MANPATH INFOPATH TERMINFO TERMINFO_DIRS LOCALE_ARCHIVE
    SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO NIX_SSL_CERT_FILE
    CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN
    GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOTOOLCHAIN
    JAVA_HOME JDK_HOME MAVEN_HOME M2_HOME GRADLE_HOME GRADLE_USER_HOME SDKMAN_DIR JENV_ROOT
    ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_HOME FLUTTER_ROOT PUB_CACHE
    NVM_DIR NVM_BIN FNM_DIR FNM_MULTISHELL_PATH N_PREFIX NODENV_ROOT VOLTA_HOME PNPM_HOME BUN_INSTALL DENO_INSTALL DENO_DIR
    PYENV_ROOT VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE MAMBA_ROOT_PREFIX POETRY_HOME PIPX_HOME
    UV_PYTHON_INSTALL_DIR RBENV_ROOT GEM_HOME GEM_PATH COMPOSER_HOME PLENV_ROOT
    ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR MISE_CONFIG_DIR
    DOTNET_ROOT NUGET_PACKAGES GHCUP_INSTALL_BASE_PREFIX STACK_ROOT CABAL_DIR OPAMROOT OPAM_SWITCH_PREFIX
    JULIA_DEPOT_PATH R_HOME MIX_HOME HEX_HOME SWIFTLY_HOME_DIR CUDA_HOME CUDA_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH
    NIX_PATH NIX_PROFILES HOMEBREW_PREFIX HOMEBREW_CELLAR HOMEBREW_REPOSITORY SDKROOT DEVELOPER_DIR";
const CORE_PREFIX: &str = "LC_";

/// Variables that make every program, or every shell, run code that the command does not name.
const CODE_LOADING_VARIABLES: &str = "
    LD_PRELOAD LD_AUDIT LD_DEBUG LD_PROFILE GCONV_PATH DYLD_INSERT_LIBRARIES
    BASH_ENV ENV PROMPT_COMMAND PS4 SHELLOPTS BASHOPTS";
/// Prefixes of exported shell functions and of toolgate's own variables.
const WITHHELD_PREFIXES: [&str; 2] = ["BASH_FUNC_", "TOOLGATE_"];

/// Maximum number of characters of a name in a fault.
const MAX_SHOWN_CHARS: usize = 100;

/// The part of the host's environment that a command inherits by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InheritScope {
    /// Every variable that does not look like credentials.
    All,
    /// Variables about the user, directories and toolchains.
    #[default]
    Core,
    /// No variables.
    None,
}

/// The selection of environment variables for commands.
///
/// A variable that looks like credentials, or makes programs load code, is inherited only if `pass` names it in full.
/// The keys of model providers are never passed on.
///
/// ```
/// use toolgate_policy::EnvironmentPolicy;
/// let host = ["PATH=/bin", "CI=1", "GITHUB_TOKEN=x"].map(|one| one.split_once('=').unwrap());
/// let host = host.map(|(name, value)| (name.into(), value.into()));
/// let environment = EnvironmentPolicy { pass: vec!["CI".to_owned(), "GITHUB_*".to_owned()], ..EnvironmentPolicy::default() };
/// assert_eq!(environment.build(host).into_keys().collect::<Vec<_>>(), ["CI", "PATH"]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentPolicy {
    /// The variables inherited by default.
    pub inherit: InheritScope,
    /// Additional inherited variables: names, in which `*` matches any characters.
    pub pass: Vec<String>,
    /// Variables that are always set to these values.
    pub set: Vec<(String, String)>,
}

/// An entry of an [`EnvironmentPolicy`] that would be ignored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentFault {
    /// The name is not valid for a variable.
    #[error("`{name}` is not a variable name")]
    NoName {
        /// The name as it was written.
        name: String,
    },
    /// The pattern is neither a valid name nor a valid pattern.
    #[error("`{pattern}` is not a variable name, nor a pattern of one (`*` stands for any letters)")]
    NoPattern {
        /// The pattern as it was written.
        pattern: String,
    },
    /// The value contains a NUL.
    #[error("the value of `{name}` contains a NUL character, which no value can")]
    NoValue {
        /// The variable.
        name: String,
    },
    /// The variable is the key of a model provider.
    #[error("`{name}` is the key of a model provider, which no command gets")]
    ProviderKey {
        /// The variable.
        name: String,
    },
}

impl EnvironmentPolicy {
    /// Returns a fault for the first entry that [`build`](Self::build) would ignore.
    pub fn check(&self) -> Result<(), EnvironmentFault> {
        let shown = |text: &str| text.chars().take(MAX_SHOWN_CHARS).collect();
        let odd = |letter: char| letter.is_whitespace() || "?[]{}$".contains(letter);
        for pattern in &self.pass {
            if !is_valid_name(pattern) || pattern.contains(odd) {
                return Err(EnvironmentFault::NoPattern { pattern: shown(pattern) });
            }
        }
        for (name, value) in &self.set {
            if !is_valid_name(name) || name.contains('*') || name.contains(odd) {
                return Err(EnvironmentFault::NoName { name: shown(name) });
            }
            if !is_valid_value(value.as_ref()) {
                return Err(EnvironmentFault::NoValue { name: shown(name) });
            }
        }
        let mut names = self.pass.iter().chain(self.set.iter().map(|(name, _)| name));
        match names.find(|name| is_provider_key(name)) {
            Some(name) => Err(EnvironmentFault::ProviderKey { name: name.clone() }),
            None => Ok(()),
        }
    }

    /// Builds a command's environment from `host` and the variables to set.
    pub fn build(
        &self,
        host: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<OsString, OsString> {
        let inherited = host.into_iter().filter(|(name, value)| self.inherits(name, value));
        let set = self.set.iter().filter(|(name, value)| may_be_set(name) && is_valid_value(value.as_ref()));
        inherited.chain(set.map(|(name, value)| (name.into(), value.into()))).collect()
    }

    /// Selects the variables that a command gets from a login shell's profile. The selection is wider than that of
    /// [`build`](Self::build), since profiles are written for commands.
    pub fn build_from_profile(
        &self,
        exported: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<OsString, OsString> {
        let admits = |(name, value): &(OsString, OsString)| {
            name.to_str().is_some_and(|name| {
                let known = self.is_named_in_full(name) || !looks_like_secret_value(value);
                known && is_valid_value(value) && self.admits_from_profile(name)
            })
        };
        exported.into_iter().filter(admits).collect()
    }

    /// Returns true if a command may get the variable `name` from a profile, which exports every variable not withheld.
    pub fn admits_from_profile(&self, name: &str) -> bool {
        may_be_set(name) && (self.is_named_in_full(name) || !is_withheld(name))
    }

    fn inherits(&self, name: &OsStr, value: &OsStr) -> bool {
        let Some(name) = name.to_str().filter(|name| may_be_set(name)) else { return false };
        let asked = match self.inherit {
            InheritScope::All => true,
            InheritScope::Core => list_contains(CORE, name) || name.starts_with(CORE_PREFIX),
            InheritScope::None => false,
        };
        let asked = asked || self.pass.iter().any(|pattern| matches_wildcards(pattern, name));
        is_valid_value(value)
            && (self.is_named_in_full(name) || asked && !is_withheld(name) && !looks_like_secret_value(value))
    }

    /// Returns true if `pass` names the variable in full.
    fn is_named_in_full(&self, name: &str) -> bool {
        !name.contains('*') && self.pass.iter().any(|passed| passed == name)
    }
}

fn is_valid_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

fn is_valid_value(value: &OsStr) -> bool {
    !value.as_encoded_bytes().contains(&0)
}

fn may_be_set(name: &str) -> bool {
    is_valid_name(name) && !is_provider_key(name)
}

/// Returns true if a variable is inherited only when named in full.
fn is_withheld(name: &str) -> bool {
    let begins = WITHHELD_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    begins || list_contains(CODE_LOADING_VARIABLES, name) || looks_like_secret_name(name)
}

/// Returns true if `name` matches `pattern`, in which each `*` matches any characters or none.
fn matches_wildcards(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        // The earliest match is best: it leaves the most text for the remaining parts.
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    left.ends_with(last)
}

/// Returns the variables that every command gets, with or without a terminal. The caller applies them last.
///
/// They disable pagers and make text the same on every machine. Without a terminal they disable colours and prompts:
/// git takes its proposed message, and a program that needs a password fails.
pub fn imposed_variables(terminal: bool) -> &'static [(&'static str, &'static str)] {
    const WITH_TERMINAL: &[(&str, &str)] = &[
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GH_PAGER", "cat"),
        ("MANPAGER", "cat"),
        ("SYSTEMD_PAGER", "cat"),
        ("LANG", "C.UTF-8"),
        ("LC_ALL", "C.UTF-8"),
        ("COLORTERM", ""),
        ("TOOLGATE", "1"),
        ("NO_UPDATE_NOTIFIER", "1"),
        ("npm_config_update_notifier", "false"),
        ("TERM", "xterm-256color"),
    ];
    const WITHOUT_TERMINAL: &[(&str, &str)] = &[
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GH_PAGER", "cat"),
        ("MANPAGER", "cat"),
        ("SYSTEMD_PAGER", "cat"),
        ("LANG", "C.UTF-8"),
        ("LC_ALL", "C.UTF-8"),
        ("COLORTERM", ""),
        ("TOOLGATE", "1"),
        ("NO_UPDATE_NOTIFIER", "1"),
        ("npm_config_update_notifier", "false"),
        ("TERM", "dumb"),
        ("NO_COLOR", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_EDITOR", "true"),
        ("GIT_SEQUENCE_EDITOR", "true"),
        ("DEBIAN_FRONTEND", "noninteractive"),
    ];
    if terminal { WITH_TERMINAL } else { WITHOUT_TERMINAL }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_core_is_withheld() {
        assert!(!CORE.split_whitespace().any(is_withheld));
    }
}

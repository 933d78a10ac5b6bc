//! Tests which variables of the host's environment a command gets.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use proptest::prelude::*;
use toolgate_policy::{EnvironmentPolicy, InheritScope, imposed_variables};

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// Returns true if a command gets `name` with `value`.
fn gets(environment: &EnvironmentPolicy, name: &str, value: &str) -> bool {
    environment.build([(name.into(), value.into())]).contains_key(OsStr::new(name))
}

#[test]
fn inherits_only_the_selected_variables() {
    const ALL: &[InheritScope] = &[InheritScope::All];
    const CORE: &[InheritScope] = &[InheritScope::All, InheritScope::Core];
    const NEVER: &[InheritScope] = &[];
    for (name, value, expected) in [
        ("PATH", "/bin", CORE),
        ("SHELL", "/bin/bash", CORE),
        ("HOME", "/home/me", CORE),
        ("USER", "me", CORE),
        ("LOGNAME", "me", CORE),
        ("TMPDIR", "/tmp", CORE),
        ("TEMP", "/tmp", CORE),
        ("TMP", "/tmp", CORE),
        ("LANG", "de_DE.UTF-8", CORE),
        ("LC_ALL", "C", CORE),
        ("LC_TIME", "C", CORE),
        ("TZ", "UTC", CORE),
        ("CARGO_HOME", "/c", CORE),
        ("RUSTUP_TOOLCHAIN", "stable", CORE),
        ("GOPATH", "/go", CORE),
        ("JAVA_HOME", "/java", CORE),
        ("NVM_DIR", "/nvm", CORE),
        ("VIRTUAL_ENV", "/venv", CORE),
        ("XDG_CACHE_HOME", "/cache", CORE),
        ("SSL_CERT_FILE", "/ca.pem", CORE),
        ("NODE_EXTRA_CA_CERTS", "/ca.pem", CORE),
        ("XDG_RUNTIME_DIR", "/run/user/1", ALL),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/x", ALL),
        ("HTTPS_PROXY", "http://proxy:3128", ALL),
        ("HTTPS_PROXY", "http://me:pass@proxy:3128", NEVER),
        ("DATABASE_URL", "postgres://host/db", ALL),
        ("DATABASE_URL", "postgres://me:pass@host/db", NEVER),
        ("GIT_AUTHOR_NAME", "me", ALL),
        ("TOKENIZERS_PARALLELISM", "false", ALL),
        ("KEYBOARD", "us", ALL),
        ("PWD", "/w", ALL),
        ("LD_LIBRARY_PATH", "/lib", ALL),
        ("EDITOR", "vi", ALL),
        ("path", "/bin", ALL),
        ("CARGO_REGISTRY_TOKEN", "x", NEVER),
        ("GITHUB_TOKEN", "x", NEVER),
        ("github_token", "x", NEVER),
        ("AWS_SECRET_ACCESS_KEY", "x", NEVER),
        ("MYSQL_PWD", "x", NEVER),
        ("SSH_AUTH_SOCK", "/x", NEVER),
        ("LC_SECRET", "x", NEVER),
        ("OPENAI_API_KEY", "x", NEVER),
        ("LD_PRELOAD", "/x.so", NEVER),
        ("LD_AUDIT", "/x.so", NEVER),
        ("BASH_ENV", "/x", NEVER),
        ("ENV", "/x", NEVER),
        ("PROMPT_COMMAND", "x", NEVER),
        ("BASH_FUNC_ls%%", "() { x; }", NEVER),
        ("TOOLGATE_HOME", "/x", NEVER),
        ("TOOLGATE_LOG", "debug", NEVER),
        ("", "x", NEVER),
        ("A=B", "x", NEVER),
        ("A\0", "x", NEVER),
        ("A", "x\0", NEVER),
    ] {
        for inherit in [InheritScope::All, InheritScope::Core, InheritScope::None] {
            let environment = EnvironmentPolicy { inherit, ..EnvironmentPolicy::default() };
            assert_eq!(gets(&environment, name, value), expected.contains(&inherit), "{inherit:?} {name}");
        }
    }
}

#[test]
fn passes_named_variables_and_patterns() {
    for (name, value, pass, expected) in [
        ("CI", "1", &["CI"][..], true),
        ("CI", "1", &["ci"], false),
        ("CI", "1", &["C"], false),
        ("CI", "1", &["*"], true),
        ("CARGO_TERM_COLOR", "x", &["CARGO_*"], true),
        ("XCARGO_A", "x", &["CARGO_*"], false),
        ("A_B_C", "x", &["A*B*C"], true),
        ("A_B_CD", "x", &["A*B*C"], false),
        ("ABA", "x", &["AB*BA"], false),
        ("AB", "x", &["**A**B**"], true),
        ("A", "x", &[""], false),
        ("A", "x", &["[A]"], false),
        ("GITHUB_TOKEN", "x", &["GITHUB_TOKEN"], true),
        ("GITHUB_TOKEN", "x", &["GITHUB_*"], false),
        ("GITHUB_TOKEN", "x", &["*", "GITHUB_TOKEN*"], false),
        ("GITHUB_TOKEN", "x", &["github_token"], false),
        ("GITHUB_*", "x", &["GITHUB_*"], true),
        ("A_TOKEN*", "x", &["A_TOKEN*"], false),
        ("DATABASE_URL", "a://b:c@d", &["DATABASE_*"], false),
        ("DATABASE_URL", "a://b:c@d", &["DATABASE_URL"], true),
        ("LD_PRELOAD", "x", &["LD_*"], false),
        ("LD_PRELOAD", "x", &["LD_PRELOAD"], true),
        ("LD_LIBRARY_PATH", "x", &["LD_*"], true),
        ("TOOLGATE_LOG", "x", &["TOOLGATE_*"], false),
        ("TOOLGATE_LOG", "x", &["TOOLGATE_LOG"], true),
        ("OPENAI_API_KEY", "x", &["OPENAI_API_KEY", "*"], false),
        ("openai_Api_key", "x", &["openai_Api_key"], false),
        ("A=B", "x", &["A=B"], false),
    ] {
        let environment =
            EnvironmentPolicy { inherit: InheritScope::None, pass: strings(pass), ..Default::default() };
        assert_eq!(gets(&environment, name, value), expected, "{name} {pass:?}");
    }
}

#[test]
fn set_variables_override_inherited_ones() {
    let set =
        [("A", "1"), ("PATH", "/x"), ("MY_TOKEN", "2"), ("ANTHROPIC_API_KEY", "3"), ("A=B", "4"), ("", "5")];
    let set = set.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let environment = EnvironmentPolicy { set, ..EnvironmentPolicy::default() };
    let host = [("PATH", "/bin"), ("HOME", "/me")].map(|(name, value)| (name.into(), value.into()));
    let expected = [("A", "1"), ("HOME", "/me"), ("MY_TOKEN", "2"), ("PATH", "/x")];
    let expected: BTreeMap<OsString, OsString> =
        expected.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    assert_eq!(environment.build(host), expected);
}

#[test]
fn a_name_must_be_text_and_a_value_need_not() {
    let odd = || OsStr::from_bytes(b"\xff").to_owned();
    let environment = EnvironmentPolicy { inherit: InheritScope::All, ..EnvironmentPolicy::default() };
    let got = environment.build([(odd(), "x".into()), ("A".into(), odd())]);
    assert_eq!(got, BTreeMap::from([("A".into(), odd())]));
}

#[test]
fn profile_exports_reach_commands_unless_withheld() {
    let environment =
        EnvironmentPolicy { pass: strings(&["NPM_TOKEN", "GH_*"]), ..EnvironmentPolicy::default() };
    for (name, expected) in [
        ("EDITOR", true),
        ("LD_LIBRARY_PATH", true),
        ("NPM_TOKEN", true),
        ("GH_TOKEN", false),
        ("AWS_SESSION_TOKEN", false),
        ("OPENAI_API_KEY", false),
        ("LD_PRELOAD", false),
        ("TOOLGATE_HOME", false),
        ("A=B", false),
        ("", false),
    ] {
        assert_eq!(environment.admits_from_profile(name), expected, "{name}");
        let got = environment.build_from_profile([(name.into(), "x".into())]);
        assert_eq!(got.contains_key(OsStr::new(name)), expected, "{name}");
    }
    let url = || OsString::from("https://me:pass@host");
    let got = environment.build_from_profile([("A".into(), url()), ("NPM_TOKEN".into(), url())]);
    assert_eq!(got.into_keys().collect::<Vec<_>>(), ["NPM_TOKEN"]);
}

#[test]
fn what_would_be_left_out_is_named() {
    let say = |pass: &[&str], set: &[(&str, &str)]| {
        let set = set.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let environment = EnvironmentPolicy { pass: strings(pass), set, ..EnvironmentPolicy::default() };
        environment.check().map_or_else(|fault| fault.to_string(), |()| "fine".to_owned())
    };
    for (pass, set, expected) in [
        (&["A", "B_*", "MY_TOKEN", "BASH_FUNC_x%%"][..], &[("A", "1"), ("MY_TOKEN", "")][..], "fine"),
        (&[""], &[], "`` is not a variable name, nor a pattern of one (`*` stands for any letters)"),
        (&["A", "B?"], &[], "`B?` is not a variable name, nor a pattern of one (`*` stands for any letters)"),
        (&["$A"], &[], "`$A` is not a variable name, nor a pattern of one (`*` stands for any letters)"),
        (&["A=1"], &[], "`A=1` is not a variable name, nor a pattern of one (`*` stands for any letters)"),
        (&["A B"], &[], "`A B` is not a variable name, nor a pattern of one (`*` stands for any letters)"),
        (&[], &[("A*", "1")], "`A*` is not a variable name"),
        (&[], &[("", "1")], "`` is not a variable name"),
        (&[], &[("A", "1\0")], "the value of `A` contains a NUL character, which no value can"),
        (&["GEMINI_API_KEY"], &[], "`GEMINI_API_KEY` is the key of a model provider, which no command gets"),
        (&[], &[("Co_Api_Key", "")], "`Co_Api_Key` is the key of a model provider, which no command gets"),
    ] {
        assert_eq!(say(pass, set), expected, "{pass:?} {set:?}");
    }
}

#[test]
fn every_command_gets_the_imposed_variables() {
    let of = |terminal| imposed_variables(terminal).iter().copied().collect::<BTreeMap<_, _>>();
    let (with, without) = (of(true), of(false));
    for (name, on_terminal, on_none) in [
        ("PAGER", Some("cat"), Some("cat")),
        ("GIT_PAGER", Some("cat"), Some("cat")),
        ("GH_PAGER", Some("cat"), Some("cat")),
        ("MANPAGER", Some("cat"), Some("cat")),
        ("SYSTEMD_PAGER", Some("cat"), Some("cat")),
        ("LANG", Some("C.UTF-8"), Some("C.UTF-8")),
        ("LC_ALL", Some("C.UTF-8"), Some("C.UTF-8")),
        ("COLORTERM", Some(""), Some("")),
        ("TOOLGATE", Some("1"), Some("1")),
        ("TERM", Some("xterm-256color"), Some("dumb")),
        ("NO_COLOR", None, Some("1")),
        ("GIT_TERMINAL_PROMPT", None, Some("0")),
        ("GIT_EDITOR", None, Some("true")),
        ("GIT_SEQUENCE_EDITOR", None, Some("true")),
        ("DEBIAN_FRONTEND", None, Some("noninteractive")),
    ] {
        assert_eq!((with.get(name).copied(), without.get(name).copied()), (on_terminal, on_none), "{name}");
    }
    assert_eq!((with.len(), without.len()), (12, 17));
}

const PROVIDER_KEYS: [&str; 6] = [
    "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY",
    "MISTRAL_API_KEY",
];

/// Generates a name that looks like credentials, with any surrounding words.
fn credentials() -> impl Strategy<Value = String> {
    let word = "(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS|AUTH|COOKIE|PRIVATE)";
    let case = prop_oneof![Just(false), Just(true)];
    ("([A-Z]{1,4}_){0,2}", word, "(_[A-Z]{1,4})?[0-9]{0,2}", case).prop_map(|(before, word, after, lower)| {
        let name = format!("{before}{word}{after}");
        if lower { name.to_lowercase() } else { name }
    })
}

fn provider_key() -> impl Strategy<Value = String> {
    let key = prop::sample::select(&PROVIDER_KEYS[..]);
    (key, any::<bool>()).prop_map(|(key, lower)| if lower { key.to_lowercase() } else { key.to_owned() })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![credentials(), provider_key(), "[A-Za-z_*=]{0,6}", any::<String>()]
}

fn environment() -> impl Strategy<Value = EnvironmentPolicy> {
    let inherit = prop::sample::select(&[InheritScope::All, InheritScope::Core, InheritScope::None][..]);
    let glob = prop_oneof![
        Just("*".to_owned()),
        "[A-Z]{0,2}\\*(KEY|TOKEN|_)?\\*?",
        name().prop_map(|name| name + "*"),
        name()
    ];
    let set = prop::collection::vec((name(), any::<String>()), 0..3);
    (inherit, prop::collection::vec(glob, 0..6), set).prop_map(|(inherit, pass, set)| EnvironmentPolicy {
        inherit,
        pass,
        set,
    })
}

fn is_provider_key(name: &OsStr) -> bool {
    PROVIDER_KEYS.iter().any(|key| name.eq_ignore_ascii_case(key))
}

proptest! {
    /// Law: no provider key is passed on, and no credentials unless named in full or set.
    #[test]
    fn credentials_stay_behind(
        environment in environment(),
        secrets in prop::collection::vec(credentials(), 0..6),
        others in prop::collection::vec(name(), 0..6),
    ) {
        let named = |name: &String| environment.pass.contains(name) || environment.set.iter().any(|(set, _)| set == name);
        // The host also has the variables that are named for passing on.
        let passed = environment.pass.iter().cloned();
        let names: Vec<String> = secrets.iter().cloned().chain(others).chain(passed).collect();
        let host = || names.iter().map(|name| (name.into(), "x".into()));
        let got = environment.build(host());
        for secret in secrets.iter().filter(|secret| !named(secret)) {
            prop_assert!(!got.contains_key(OsStr::new(secret)), "{secret}");
            prop_assert!(!environment.admits_from_profile(secret), "{secret}");
        }
        let from_profile = environment.build_from_profile(host());
        prop_assert!(!got.keys().chain(from_profile.keys()).any(|name| is_provider_key(name)));
        for name in got.keys().filter_map(|name| name.to_str()) {
            prop_assert!(!name.is_empty() && !name.contains(['=', '\0']), "{name}");
            prop_assert!(named(&name.to_owned()) || environment.admits_from_profile(name), "{name}");
        }
    }
}

//! A policy → a profile for macOS's `sandbox-exec`, as text.
//!
//! The profile denies what it does not allow. The last rule that fits an operation decides, so what is allowed widely comes
//! first and what is protected inside it comes last.

use std::path::Path;

use policy::{Confinement, Network, PROTECTED};

/// What every program needs to run at all.
const BASE: &str = "\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow file-read*)
(allow file-write-data file-ioctl (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/tty\") (literal \"/dev/ptmx\") (regex #\"^/dev/ttys[0-9]+$\"))
(allow pseudo-tty)
(allow sysctl-read)
(allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\") (global-name \"com.apple.SystemConfiguration.configd\"))
(allow ipc-posix-sem ipc-posix-shm)
(allow user-preference-read)
";

/// The profile for `confinement`, whose `/tmp` is `tmp`, with these paths hidden.
pub fn profile(confinement: &Confinement, tmp: &Path, hidden: &[impl AsRef<Path>]) -> String {
    let mut rules = Vec::new();
    let mut rule =
        |operations: &str, path: &Path| rules.push(format!("({operations} (subpath {}))", quoted(path)));
    let writable = || confinement.writable.iter().map(AsRef::as_ref).chain([tmp]);
    writable().for_each(|root| rule("allow file-write*", root));
    writable().for_each(|root| rule("allow network-outbound network-bind", root));
    confinement.read_only.iter().for_each(|path| rule("deny file-write*", path));
    for root in &confinement.writable {
        for name in PROTECTED.iter().copied().chain([".git/hooks", ".git/config", ".git/commondir"]) {
            rule("deny file-write*", &root.join(name));
        }
    }
    hidden.iter().for_each(|path| rule("deny file-read* file-write*", path.as_ref()));
    // Whoever renames what lies above renames what is protected.
    let above = confinement.writable.iter().map(|root| root.join(".git"));
    rules.extend(above.map(|path| format!("(deny file-write-unlink (literal {}))", quoted(&path))));
    let network: &[&str] = match confinement.network {
        Network::Off => &[],
        Network::Loopback => &[
            "(allow network-bind network-inbound (local ip \"localhost:*\"))",
            "(allow network-outbound (remote ip \"localhost:*\"))",
        ],
        Network::On => &[
            "(allow network-outbound (remote ip))",
            "(allow network-bind network-inbound (local ip))",
            "(allow system-socket)",
        ],
    };
    rules.extend(network.iter().map(|&rule| rule.to_owned()));
    let sockets = confinement.sockets.iter().filter(|name| name.starts_with('/'));
    rules.extend(
        sockets.map(|name| format!("(allow network-outbound (literal {}))", quoted(Path::new(name)))),
    );
    format!("{BASE}{}\n", rules.join("\n"))
}

/// A path as a string of the profile's language, which knows two escapes.
fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\""))
}

/// How macOS is told to run `argv` under `profile`.
#[cfg(target_os = "macos")]
pub fn argv(profile: &str, argv: &[String]) -> Vec<String> {
    let sandbox_exec = ["/usr/bin/sandbox-exec", "-p", profile, "--"].map(str::to_owned);
    sandbox_exec.into_iter().chain(argv.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn after_base(confinement: &Confinement, hidden: &[&str]) -> String {
        let text = profile(confinement, Path::new("/private/tmp/tg"), hidden);
        text.strip_prefix(BASE).unwrap().to_owned()
    }

    #[test]
    fn a_profile_for_each_policy() {
        let read_only = Confinement { network: Network::Off, ..Confinement::default() };
        assert_snapshot!(after_base(&read_only, &[]), @r#"
        (allow file-write* (subpath "/private/tmp/tg"))
        (allow network-outbound network-bind (subpath "/private/tmp/tg"))
        "#);
        let write = Confinement {
            writable: vec!["/Users/me/my \"work\"".into()],
            read_only: vec!["/Users/me/my \"work\"/vendor".into()],
            sockets: vec!["/var/run/db.sock".to_owned(), "@abstract".to_owned()],
            ..Confinement::default()
        };
        assert_snapshot!(after_base(&write, &["/Users/me/.ssh"]), @r#"
        (allow file-write* (subpath "/Users/me/my \"work\""))
        (allow file-write* (subpath "/private/tmp/tg"))
        (allow network-outbound network-bind (subpath "/Users/me/my \"work\""))
        (allow network-outbound network-bind (subpath "/private/tmp/tg"))
        (deny file-write* (subpath "/Users/me/my \"work\"/vendor"))
        (deny file-write* (subpath "/Users/me/my \"work\"/.toolgate"))
        (deny file-write* (subpath "/Users/me/my \"work\"/.codex"))
        (deny file-write* (subpath "/Users/me/my \"work\"/.claude"))
        (deny file-write* (subpath "/Users/me/my \"work\"/.agents"))
        (deny file-write* (subpath "/Users/me/my \"work\"/.git/hooks"))
        (deny file-write* (subpath "/Users/me/my \"work\"/.git/config"))
        (deny file-write* (subpath "/Users/me/my \"work\"/.git/commondir"))
        (deny file-read* file-write* (subpath "/Users/me/.ssh"))
        (deny file-write-unlink (literal "/Users/me/my \"work\"/.git"))
        (allow network-bind network-inbound (local ip "localhost:*"))
        (allow network-outbound (remote ip "localhost:*"))
        (allow network-outbound (literal "/var/run/db.sock"))
        "#);
        let open = Confinement { network: Network::On, ..Confinement::default() };
        assert_snapshot!(after_base(&open, &[]), @r#"
        (allow file-write* (subpath "/private/tmp/tg"))
        (allow network-outbound network-bind (subpath "/private/tmp/tg"))
        (allow network-outbound (remote ip))
        (allow network-bind network-inbound (local ip))
        (allow system-socket)
        "#);
    }

    #[test]
    fn a_path_cannot_leave_its_string() {
        assert_eq!(quoted(Path::new(r#"/a")(allow default)("\"#)), r#""/a\")(allow default)(\"\\""#);
    }

    #[test]
    fn brackets_pair_up() {
        let all = Confinement {
            writable: vec!["/w".into()],
            read_only: vec!["/w/r".into()],
            sockets: vec!["/s".to_owned()],
            network: Network::On,
            ..Confinement::default()
        };
        let text = profile(&all, Path::new("/t"), &["/h"]);
        assert_eq!(text.matches('(').count(), text.matches(')').count());
        assert!(text.lines().all(|line| line.starts_with('(') && line.ends_with(')')));
    }
}

//! The command `/allow`: gives a running session one more permission, as a flag of the command line would.

use std::path::PathBuf;

use clap::ValueEnum;
use config::flags::WorkspaceArgs;
use config::{NetworkMode, OperationFault, SandboxMode};

/// The usage, for a call without arguments.
pub(super) const USAGE: &str = "\
/allow --sandbox workspace-write   commands may change files here
/allow --writable PATH             … and below PATH
/allow --read-root DIR             tools may read below DIR
/allow --host HOST                 commands may connect to HOST, e.g. example.org or *.example.org:443
/allow --network on                … to every host
/allow --unix-socket NAME          … to this Unix socket
It holds until you leave this session. Processes in the background end.";

/// The flags that can be given.
pub(super) const FLAGS: &[&str] =
    &["--host", "--network", "--read-root", "--sandbox", "--unix-socket", "--writable"];

/// Adds the flag in `argument` to `place`. Returns the flag as it is understood.
pub(super) fn add_permission(place: &mut WorkspaceArgs, argument: &str) -> Result<String, OperationFault> {
    let usage =
        |text: String| OperationFault::usage(text).with_hint("`/allow` alone shows what can be allowed");
    let (flag, value) = argument.split_once([' ', '=']).unwrap_or((argument, ""));
    let (flag, value) = (flag.trim_start_matches('-'), unquote(value.trim()));
    if value.is_empty() {
        return Err(usage(format!("/allow {flag} needs a value")));
    }
    let invalid = || usage(format!("`{value}` is no value for --{flag}"));
    match flag {
        "sandbox" => place.sandbox = Some(SandboxMode::from_str(&value, false).map_err(|_| invalid())?),
        "network" => {
            place.confine.network = Some(NetworkMode::from_str(&value, false).map_err(|_| invalid())?);
        }
        "host" => place.confine.host.push(value.parse().map_err(|_| invalid())?),
        "writable" => place.confine.writable.push(expand_home(&value)),
        "read-root" => place.read_root.push(expand_home(&value)),
        "unix-socket" => place.confine.unix_socket.push(value.clone()),
        _ => return Err(usage(format!("/allow knows no --{flag}"))),
    }
    Ok(format!("--{flag} {value}"))
}

/// Returns the permissions of `place` that `/allow` can give: those of the command line and those given since.
pub(super) fn given_permissions(place: &WorkspaceArgs) -> Vec<String> {
    let WorkspaceArgs { read_root, confine, .. } = place;
    let paths = |flag: &'static str, paths: &[PathBuf]| -> Vec<String> {
        paths.iter().map(|path| format!("--{flag} {}", path.display())).collect()
    };
    let mut given = paths("writable", &confine.writable);
    given.extend(paths("read-root", read_root));
    given.extend(confine.host.iter().map(|host| format!("--host {host}")));
    given.extend(confine.unix_socket.iter().map(|name| format!("--unix-socket {name}")));
    given
}

/// Replaces `~` at the start, which no shell does here.
fn expand_home(value: &str) -> PathBuf {
    let below = value.strip_prefix('~').filter(|below| below.is_empty() || below.starts_with('/'));
    match (below, std::env::home_dir()) {
        (Some(below), Some(home)) => home.join(below.trim_start_matches('/')),
        _ => value.into(),
    }
}

/// Removes quotes as a shell does.
fn unquote(value: &str) -> String {
    let inner = |mark| value.strip_prefix(mark)?.strip_suffix(mark);
    match (inner('\''), inner('"')) {
        (Some(text), _) => text.replace(r"'\''", "'"),
        (_, Some(text)) => text.to_owned(),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flag_is_added() {
        let added = |argument: &str| {
            let mut place = WorkspaceArgs::default();
            add_permission(&mut place, argument)
                .map(|flag| format!("{flag} | {:?} {:?}", place.confine.writable, place.confine.host.len()))
                .map_err(|fault| fault.to_string())
        };
        for (argument, expected) in [
            ("--writable /a/b", Ok("--writable /a/b | [\"/a/b\"] 0")),
            ("writable '/a b'", Ok("--writable /a b | [\"/a b\"] 0")),
            ("--host=example.org:443", Ok("--host example.org:443 | [] 1")),
            ("--sandbox workspace-write", Ok("--sandbox workspace-write | [] 0")),
            ("--network on", Ok("--network on | [] 0")),
            ("--sandbox all", Err("`all` is no value for --sandbox")),
            ("--host", Err("/allow host needs a value")),
            ("--model x", Err("/allow knows no --model")),
        ] {
            assert_eq!(added(argument), expected.map(str::to_owned).map_err(str::to_owned), "{argument}");
        }
    }

    #[test]
    fn given_permissions_are_listed_as_flags() {
        let mut place = WorkspaceArgs::default();
        assert!(given_permissions(&place).is_empty());
        for argument in ["--host example.org:443", "--read-root /b", "--writable /a", "--unix-socket @x"] {
            add_permission(&mut place, argument).unwrap();
        }
        assert_eq!(
            given_permissions(&place),
            ["--writable /a", "--read-root /b", "--host example.org:443", "--unix-socket @x"]
        );
    }

    #[test]
    fn every_flag_of_the_usage_is_known() {
        for line in USAGE.lines().filter_map(|line| line.strip_prefix("/allow --")) {
            let flag = line.split(' ').next().unwrap();
            assert!(FLAGS.contains(&format!("--{flag}").as_str()), "{flag}");
        }
        for flag in FLAGS {
            let fault = add_permission(&mut WorkspaceArgs::default(), flag).unwrap_err().to_string();
            assert!(fault.ends_with("needs a value"), "{fault}");
            assert!(USAGE.contains(&format!("/allow {flag} ")), "{flag}");
        }
    }
}

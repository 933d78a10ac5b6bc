//! Tests the family of each shell and the treatment of each starter with literal tables.

use super::starters::all_starters;
use super::{Listing, ShellFamily, is_interpreter, runs_script_file, script_file_options, shell_names};
use crate::shell::ShellDialect;

#[test]
fn each_shell_has_a_family() {
    let shown: Vec<String> = shell_names()
        .map(|name| {
            let family = ShellFamily::of(name).unwrap();
            let dialect = match family.dialect() {
                ShellDialect::Bash => "bash",
                ShellDialect::Posix => "posix",
                ShellDialect::Foreign => "foreign",
            };
            let options = if family.has_known_options() { "known" } else { "unknown" };
            assert!(is_interpreter(name) && runs_script_file(name), "{name}");
            assert_eq!(script_file_options(name), ["--rcfile", "--init-file"], "{name}");
            format!("{name}: {family:?}, {dialect} grammar, {options} options")
        })
        .collect();
    let parsed = [
        "bash: Bash, bash grammar, known options",
        "zsh: Zsh, foreign grammar, known options",
        "sh: Sh, posix grammar, known options",
        "dash: Almquist, posix grammar, known options",
        "ksh: Korn, foreign grammar, known options",
        "ash: Almquist, posix grammar, known options",
    ];
    let similar = "csh es fish ksh93 mksh oil oksh osh pdksh posh rbash rc tcsh yash ysh".split(' ');
    let foreign = "elvish murex nu nush powershell pwsh scsh xonsh".split(' ');
    let expected: Vec<String> = parsed
        .map(str::to_owned)
        .into_iter()
        .chain(similar.map(|name| format!("{name}: Similar, foreign grammar, unknown options")))
        .chain(foreign.map(|name| format!("{name}: Foreign, foreign grammar, unknown options")))
        .collect();
    assert_eq!(shown, expected);
    assert!(ShellFamily::script_shells().eq(["bash", "zsh", "sh", "dash", "ksh", "ash"]));
}

#[test]
fn a_shell_is_found_by_its_path_and_with_a_version() {
    for (program, family) in [
        ("/bin/bash", Some(ShellFamily::Bash)),
        ("bash-5.2", Some(ShellFamily::Similar)),
        ("pwsh7", Some(ShellFamily::Foreign)),
        ("python3", None),
        ("bashful", None),
        ("", None),
    ] {
        assert_eq!(ShellFamily::of(program), family, "{program}");
    }
}

#[test]
fn each_starter_is_treated_in_one_way() {
    for (listing, expected) in [
        (Listing::Transparent, "ionice nice stdbuf timeout"),
        (
            Listing::Listed,
            "catchsegv chronic chrt dbus-run-session doas gosu nohup setpriv setsid setuidgid ssh-agent strace su-exec
             taskset time tini torsocks unbuffer",
        ),
        (Listing::ListedLoosely, "choom numactl prlimit tsocks"),
        (Listing::ListedOrShell, "chroot fakeroot linux32 linux64 nsenter unshare"),
        (Listing::Analysed, "busybox command env flock script su sudo watch xargs"),
        (
            Listing::Undecided,
            "aa-exec at batch bwrap capsh chpst coreutils daemonize dbus-launch entr envdir expect faketime firejail
             gdb i386 ltrace parallel perf pkexec proot rlwrap run-parts run0 runcon runuser screen setarch softlimit
             start-stop-daemon systemd-run tmux toybox uname26 valgrind x86_64 xvfb-run",
        ),
        (
            Listing::Unlisted,
            "asdf aws-vault builtin bunx caffeinate concurrently conda cpulimit cross-env direnv doppler dotenv
             dpkg-architecture dumb-init eatmydata exec fakechroot gtimeout gxargs hyperfine ifne logsave mamba
             micromamba mise nix nix-shell nocache nocorrect noglob npx pee pnpx proxychains proxychains4 pyenv rbenv
             rustup systemd-cat systemd-inhibit torify uvx",
        ),
    ] {
        let mut names: Vec<&str> =
            all_starters().filter(|(_, starter)| starter.listing == listing).map(|(name, _)| name).collect();
        names.sort_unstable();
        assert_eq!(names.join(" "), expected.split_whitespace().collect::<Vec<_>>().join(" "));
    }
}

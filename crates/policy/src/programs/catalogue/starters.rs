//! The starters: programs that start the command in their arguments, and their options.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::program_name;
use crate::shell::OptionTable;

/// The way in which the analysis of scripts treats the command that a program starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// The command is listed, and the program has no other effect.
    Transparent,
    /// The command is listed.
    Listed,
    /// The command is listed. The options are easily misread, so that any other word may be the command too.
    ListedLoosely,
    /// The command is listed; without one, the program starts a shell.
    ListedOrShell,
    /// The command is listed by code for this program.
    Analysed,
    /// The command is not known, which makes the script undecided.
    Undecided,
    /// The command is not listed. Rules name it together with the program.
    Unlisted,
}

/// A program that starts a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Starter {
    /// The options, if they are known, and the number of operands before the command.
    pub(crate) grammar: Option<(&'static OptionTable, usize)>,
    pub(crate) listing: Listing,
}

impl Starter {
    /// Finds the starter `program`, a name or a path.
    pub(crate) fn of(program: &str) -> Option<Self> {
        static INDEX: LazyLock<HashMap<&str, Starter>> = LazyLock::new(|| all_starters().collect());
        INDEX.get(program_name(program)).copied()
    }
}

/// Lists all starters by name.
pub(super) fn all_starters() -> impl Iterator<Item = (&'static str, Starter)> {
    let parsed = STARTERS.iter().map(|row| {
        (row.names, Starter { grammar: Some((&row.options, row.operands)), listing: row.listing })
    });
    let others = UNPARSED_STARTERS
        .iter()
        .map(|(names, listing)| (*names, Starter { grammar: None, listing: *listing }));
    let named =
        |(names, starter): (&'static str, Starter)| names.split_whitespace().map(move |name| (name, starter));
    parsed.chain(others).flat_map(named)
}

/// Names, separated by spaces, the options, and the number of operands before the command.
struct StarterRow {
    names: &'static str,
    options: OptionTable,
    operands: usize,
    listing: Listing,
}

const fn row(names: &'static str, options: OptionTable, operands: usize, listing: Listing) -> StarterRow {
    StarterRow { names, options, operands, listing }
}

const UNSHARE_LONG: &[&str] = &["fork", "map-root-user", "map-current-user", "map-auto", "keep-caps"];
const UNSHARE_VALUED: &[&str] = &[
    "map-user", "map-group", "map-users", "map-groups", "propagation", "setgroups", "root", "wd", "setuid",
    "setgid", "monotonic", "boottime",
];
const NAMESPACES: &[&str] = &[
    "mount", "uts", "ipc", "net", "pid", "user", "cgroup", "time", "kill-child", "mount-proc", "root", "wd",
];
const SETPRIV_VALUED: &[&str] = &[
    "ambient-caps", "inh-caps", "bounding-set", "ruid", "euid", "rgid", "egid", "reuid", "regid", "groups",
    "securebits", "pdeathsig", "selinux-label", "apparmor-profile",
];
const SETPRIV_LONG: &[&str] = &["nnp", "no-new-privs", "clear-groups", "keep-groups", "init-groups"];

const NUMACTL_VALUED: &[&str] = &["cpunodebind", "interleave", "membind", "physcpubind", "preferred"];
const PRLIMIT_RESOURCES: &[&str] = &[
    "as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc", "rss",
    "rtprio", "rttime", "sigpending", "stack",
];

pub(crate) const ENV_OPTIONS: OptionTable = OptionTable {
    flags: "i0v",
    valued: "auCS",
    attached: "",
    long_flags: &["ignore-environment", "null", "debug", "list-signal-handling"],
    long_valued: &["argv0", "unset", "chdir", "split-string"],
    long_attached: &["block-signal", "default-signal", "ignore-signal"],
};
pub(crate) const SUDO_OPTIONS: OptionTable = OptionTable {
    flags: "ABbEHknPS",
    valued: "CDghpRrTtuU",
    attached: "",
    long_flags: &[
        "askpass", "background", "preserve-env", "set-home", "reset-timestamp", "non-interactive", "stdin",
    ],
    long_valued: &["chdir", "group", "host", "prompt", "user"],
    long_attached: &[],
};
pub(crate) const XARGS_OPTIONS: OptionTable = OptionTable {
    flags: "0oprtx",
    valued: "aEdILnPs",
    attached: "eil",
    long_flags: &["null", "open-tty", "interactive", "no-run-if-empty", "verbose", "exit"],
    long_valued: &["arg-file", "delimiter", "max-args", "max-chars", "max-procs"],
    long_attached: &["eof", "replace", "max-lines"],
};
pub(crate) const WATCH_OPTIONS: OptionTable = OptionTable {
    flags: "bcegptwx",
    valued: "nq",
    attached: "d",
    long_flags: &["beep", "color", "errexit", "chgexit", "precise", "no-title", "no-wrap", "exec"],
    long_valued: &["interval", "equexit"],
    long_attached: &["differences"],
};
pub(crate) const FLOCK_OPTIONS: OptionTable = OptionTable {
    flags: "sxeunoF",
    valued: "wE",
    attached: "",
    long_flags: &["shared", "exclusive", "unlock", "nonblock", "nb", "close", "no-fork", "verbose"],
    long_valued: &["timeout", "wait", "conflict-exit-code"],
    long_attached: &[],
};
pub(crate) const SCRIPT_OPTIONS: OptionTable = OptionTable {
    flags: "aefq",
    valued: "cEIOBTmo",
    attached: "t",
    long_flags: &["append", "return", "flush", "force", "quiet"],
    long_valued: &[
        "command", "echo", "log-in", "log-out", "log-io", "log-timing", "logging-format", "output-limit",
    ],
    long_attached: &["timing"],
};
pub(crate) const SU_OPTIONS: OptionTable = OptionTable {
    flags: "mplfP",
    valued: "cgGw",
    attached: "",
    long_flags: &["preserve-environment", "login", "fast", "pty"],
    long_valued: &["command", "session-command", "group", "supp-group", "whitelist-environment"],
    long_attached: &[],
};
const TIMEOUT_OPTIONS: OptionTable = OptionTable {
    flags: "v",
    valued: "ks",
    long_flags: &["foreground", "preserve-status", "verbose"],
    long_valued: &["kill-after", "signal"],
    ..OptionTable::NONE
};
pub(crate) const COMMAND_OPTIONS: OptionTable = OptionTable { flags: "pvV", ..OptionTable::NONE };
/// Options of programs that run a package: `npx`, `uvx`.
const PACKAGE_OPTIONS: OptionTable = OptionTable {
    flags: "qvy",
    valued: "cps",
    long_flags: &[
        "bun", "ignore-existing", "isolated", "no", "no-install", "offline", "prefer-offline", "quiet", "yes",
    ],
    long_valued: &["call", "from", "package", "python", "shell", "spec", "with"],
    ..OptionTable::NONE
};
const PARALLEL_OPTIONS: OptionTable = OptionTable {
    flags: "0kmqtuvXx",
    valued: "aCdIjLnNPSs",
    long_flags: &[
        "bar", "dry-run", "eta", "group", "keep-order", "line-buffer", "null", "progress", "ungroup",
        "verbose", "will-cite",
    ],
    long_valued: &[
        "arg-file", "colsep", "delay", "halt", "joblog", "jobs", "max-args", "max-procs", "retries",
        "timeout",
    ],
    ..OptionTable::NONE
};

/// The programs that start the command in their arguments.
const STARTERS: &[StarterRow] = &[
    row(
        "chroot",
        OptionTable {
            long_flags: &["skip-chdir"],
            long_valued: &["groups", "userspec"],
            ..OptionTable::NONE
        },
        1,
        Listing::ListedOrShell,
    ),
    row("chrt", OptionTable { flags: "bdfiorRv", valued: "TPD", ..OptionTable::NONE }, 1, Listing::Listed),
    row(
        "choom",
        OptionTable { valued: "n", long_valued: &["adjust"], ..OptionTable::NONE },
        0,
        Listing::ListedLoosely,
    ),
    row("chronic", OptionTable { flags: "ev", ..OptionTable::NONE }, 0, Listing::Listed),
    row(
        "dbus-run-session",
        OptionTable { long_valued: &["config-file", "dbus-daemon"], ..OptionTable::NONE },
        0,
        Listing::Listed,
    ),
    row("doas", OptionTable { flags: "n", valued: "aCu", ..OptionTable::NONE }, 0, Listing::Listed),
    row(
        "fakeroot",
        OptionTable { flags: "u", valued: "bfils", ..OptionTable::NONE },
        0,
        Listing::ListedOrShell,
    ),
    row("gosu setuidgid su-exec", OptionTable::NONE, 1, Listing::Listed),
    row(
        "ionice",
        OptionTable {
            flags: "t",
            valued: "cn",
            long_flags: &["ignore"],
            long_valued: &["class", "classdata"],
            ..OptionTable::NONE
        },
        0,
        Listing::Transparent,
    ),
    row(
        "linux32 linux64",
        OptionTable { flags: "3BFILRSTXv", ..OptionTable::NONE },
        0,
        Listing::ListedOrShell,
    ),
    row(
        "nice",
        OptionTable { valued: "n", long_valued: &["adjustment"], ..OptionTable::NONE },
        0,
        Listing::Transparent,
    ),
    row("catchsegv nohup torsocks", OptionTable::NONE, 0, Listing::Listed),
    row("tsocks", OptionTable::NONE, 0, Listing::ListedLoosely),
    row(
        "numactl",
        OptionTable { flags: "al", valued: "CNimp", long_valued: NUMACTL_VALUED, ..OptionTable::NONE },
        0,
        Listing::ListedLoosely,
    ),
    row(
        "prlimit",
        OptionTable { attached: "cdefilmnqrstuvxy", long_attached: PRLIMIT_RESOURCES, ..OptionTable::NONE },
        0,
        Listing::ListedLoosely,
    ),
    row(
        "nsenter",
        OptionTable {
            flags: "aFZ",
            valued: "tSGW",
            attached: "muinpCUTrw",
            long_flags: &["all", "preserve-credentials", "no-fork", "follow-context"],
            long_valued: &["target", "setuid", "setgid", "wdns"],
            long_attached: NAMESPACES,
        },
        0,
        Listing::ListedOrShell,
    ),
    row(
        "setpriv",
        OptionTable { long_flags: SETPRIV_LONG, long_valued: SETPRIV_VALUED, ..OptionTable::NONE },
        0,
        Listing::Listed,
    ),
    row(
        "setsid",
        OptionTable { flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..OptionTable::NONE },
        0,
        Listing::Listed,
    ),
    row("ssh-agent", OptionTable { flags: "Dd", valued: "EOPat", ..OptionTable::NONE }, 0, Listing::Listed),
    row(
        "stdbuf",
        OptionTable { valued: "ioe", long_valued: &["input", "output", "error"], ..OptionTable::NONE },
        0,
        Listing::Transparent,
    ),
    row(
        "strace",
        OptionTable { flags: "ACcdfFhikqrtTvwxyYzZn", valued: "abeIoOPsSUuX", ..OptionTable::NONE },
        0,
        Listing::Listed,
    ),
    row(
        "taskset",
        OptionTable { flags: "ac", long_flags: &["all-tasks", "cpu-list"], ..OptionTable::NONE },
        1,
        Listing::Listed,
    ),
    row(
        "time",
        OptionTable {
            flags: "apvq",
            valued: "fo",
            long_flags: &["append", "portability", "verbose", "quiet"],
            long_valued: &["format", "output"],
            ..OptionTable::NONE
        },
        0,
        Listing::Listed,
    ),
    row("timeout", TIMEOUT_OPTIONS, 1, Listing::Transparent),
    row("tini", OptionTable { flags: "gsvw", valued: "ep", ..OptionTable::NONE }, 0, Listing::Listed),
    row("unbuffer", OptionTable { flags: "p", ..OptionTable::NONE }, 0, Listing::Listed),
    row(
        "unshare",
        OptionTable {
            flags: "fmuinpUCTrc",
            valued: "RwSG",
            long_flags: UNSHARE_LONG,
            long_valued: UNSHARE_VALUED,
            long_attached: NAMESPACES,
            ..OptionTable::NONE
        },
        0,
        Listing::ListedOrShell,
    ),
    row("env", ENV_OPTIONS, 0, Listing::Analysed),
    row("sudo", SUDO_OPTIONS, 0, Listing::Analysed),
    row("xargs", XARGS_OPTIONS, 0, Listing::Analysed),
    row("watch", WATCH_OPTIONS, 0, Listing::Analysed),
    row("flock", FLOCK_OPTIONS, 1, Listing::Analysed),
    row("script", SCRIPT_OPTIONS, 1, Listing::Analysed),
    row("su", SU_OPTIONS, 1, Listing::Analysed),
    row("busybox", OptionTable::NONE, 0, Listing::Analysed),
    row("command", COMMAND_OPTIONS, 0, Listing::Analysed),
    row("exec", OptionTable { flags: "cl", valued: "a", ..OptionTable::NONE }, 0, Listing::Unlisted),
    row("builtin eatmydata nocorrect noglob", OptionTable::NONE, 0, Listing::Unlisted),
    row(
        "caffeinate",
        OptionTable { flags: "dimsu", valued: "tw", ..OptionTable::NONE },
        0,
        Listing::Unlisted,
    ),
    row("gtimeout", TIMEOUT_OPTIONS, 1, Listing::Unlisted),
    row("gxargs", XARGS_OPTIONS, 0, Listing::Unlisted),
    row(
        "proxychains proxychains4",
        OptionTable { flags: "q", valued: "f", ..OptionTable::NONE },
        0,
        Listing::Unlisted,
    ),
    row("bunx npx pnpx uvx", PACKAGE_OPTIONS, 0, Listing::Unlisted),
    row("entr", OptionTable { flags: "acdnprsxz", ..OptionTable::NONE }, 0, Listing::Undecided),
    row("faketime", OptionTable { flags: "fm", ..OptionTable::NONE }, 1, Listing::Undecided),
    row(
        "ltrace",
        OptionTable { flags: "cfiLrStT", valued: "aAeEFlnopPsuwxX", ..OptionTable::NONE },
        0,
        Listing::Undecided,
    ),
    row("parallel", PARALLEL_OPTIONS, 0, Listing::Undecided),
    row("toybox", OptionTable::NONE, 0, Listing::Undecided),
    row(
        "xvfb-run",
        OptionTable { flags: "al", valued: "efnpsw", ..OptionTable::NONE },
        0,
        Listing::Undecided,
    ),
];

/// Programs that start a command, whose options are not known: any word may begin the command.
const UNPARSED_STARTERS: &[(&str, Listing)] = &[
    (
        "aa-exec at batch bwrap capsh chpst coreutils daemonize dbus-launch envdir expect firejail gdb i386 perf pkexec proot
         rlwrap run-parts run0 runcon runuser screen setarch softlimit start-stop-daemon systemd-run tmux uname26 valgrind
         x86_64",
        Listing::Undecided,
    ),
    (
        "asdf aws-vault concurrently conda cpulimit cross-env direnv doppler dotenv dpkg-architecture dumb-init fakechroot
         hyperfine ifne logsave mamba micromamba mise nix nix-shell nocache pee pyenv rbenv rustup systemd-cat
         systemd-inhibit torify",
        Listing::Unlisted,
    ),
];

//! The table of simple wrappers: programs that take options and operands, and then a command.

use crate::shell::options::Options;

/// A program that takes options, then a number of operands, then a command.
pub(crate) struct Row {
    /// The names, separated by spaces.
    names: &'static str,
    pub(crate) options: Options,
    pub(crate) operands: usize,
    /// The behaviour without a command.
    pub(crate) alone: Alone,
}

impl Row {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.split(' ').any(|one| one == name)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alone {
    Nothing,
    /// Starts a shell.
    Shell,
}

const UNSHARE_LONG: &[&str] = &["fork", "map-root-user", "map-current-user", "map-auto", "keep-caps"];
const UNSHARE_VALUED: &[&str] = &[
    "map-user",
    "map-group",
    "map-users",
    "map-groups",
    "propagation",
    "setgroups",
    "root",
    "wd",
    "setuid",
    "setgid",
    "monotonic",
    "boottime",
];
const NAMESPACES: &[&str] = &[
    "mount",
    "uts",
    "ipc",
    "net",
    "pid",
    "user",
    "cgroup",
    "time",
    "kill-child",
    "mount-proc",
    "root",
    "wd",
];
const SETPRIV_VALUED: &[&str] = &[
    "ambient-caps",
    "inh-caps",
    "bounding-set",
    "ruid",
    "euid",
    "rgid",
    "egid",
    "reuid",
    "regid",
    "groups",
    "securebits",
    "pdeathsig",
    "selinux-label",
    "apparmor-profile",
];
const SETPRIV_LONG: &[&str] = &["nnp", "no-new-privs", "clear-groups", "keep-groups", "init-groups"];

const NUMACTL_VALUED: &[&str] = &["cpunodebind", "interleave", "membind", "physcpubind", "preferred"];
const LIMITS: &[&str] = &[
    "as",
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nice",
    "nofile",
    "nproc",
    "rss",
    "rtprio",
    "rttime",
    "sigpending",
    "stack",
];

/// The simple wrappers.
pub(crate) const ROWS: &[Row] = &[
    row(
        "chroot",
        Options { long: &["skip-chdir"], long_valued: &["groups", "userspec"], ..Options::NONE },
        1,
        Alone::Shell,
    ),
    row("chrt", Options { flags: "bdfiorRv", valued: "TPD", ..Options::NONE }, 1, Alone::Nothing),
    row("choom", Options { valued: "n", long_valued: &["adjust"], ..Options::NONE }, 0, Alone::Nothing),
    row("chronic", Options { flags: "ev", ..Options::NONE }, 0, Alone::Nothing),
    row(
        "dbus-run-session",
        Options { long_valued: &["config-file", "dbus-daemon"], ..Options::NONE },
        0,
        Alone::Nothing,
    ),
    row("doas", Options { flags: "n", valued: "aCu", ..Options::NONE }, 0, Alone::Nothing),
    row("fakeroot", Options { flags: "u", valued: "bfils", ..Options::NONE }, 0, Alone::Shell),
    row("gosu setuidgid su-exec", Options::NONE, 1, Alone::Nothing),
    row(
        "ionice",
        Options {
            flags: "t",
            valued: "cn",
            long: &["ignore"],
            long_valued: &["class", "classdata"],
            ..Options::NONE
        },
        0,
        Alone::Nothing,
    ),
    row("linux32 linux64", Options { flags: "3BFILRSTXv", ..Options::NONE }, 0, Alone::Shell),
    row("nice", Options { valued: "n", long_valued: &["adjustment"], ..Options::NONE }, 0, Alone::Nothing),
    row("catchsegv nohup torsocks tsocks", Options::NONE, 0, Alone::Nothing),
    row(
        "numactl",
        Options { flags: "al", valued: "CNimp", long_valued: NUMACTL_VALUED, ..Options::NONE },
        0,
        Alone::Nothing,
    ),
    row(
        "prlimit",
        Options { attached: "cdefilmnqrstuvxy", long_attached: LIMITS, ..Options::NONE },
        0,
        Alone::Nothing,
    ),
    row(
        "nsenter",
        Options {
            flags: "aFZ",
            valued: "tSGW",
            attached: "muinpCUTrw",
            long: &["all", "preserve-credentials", "no-fork", "follow-context"],
            long_valued: &["target", "setuid", "setgid", "wdns"],
            long_attached: NAMESPACES,
        },
        0,
        Alone::Shell,
    ),
    row(
        "setpriv",
        Options { long: SETPRIV_LONG, long_valued: SETPRIV_VALUED, ..Options::NONE },
        0,
        Alone::Nothing,
    ),
    row(
        "setsid",
        Options { flags: "cfw", long: &["ctty", "fork", "wait"], ..Options::NONE },
        0,
        Alone::Nothing,
    ),
    row("ssh-agent", Options { flags: "Dd", valued: "EOPat", ..Options::NONE }, 0, Alone::Nothing),
    row(
        "stdbuf",
        Options { valued: "ioe", long_valued: &["input", "output", "error"], ..Options::NONE },
        0,
        Alone::Nothing,
    ),
    row(
        "strace",
        Options { flags: "ACcdfFhikqrtTvwxyYzZn", valued: "abeIoOPsSUuX", ..Options::NONE },
        0,
        Alone::Nothing,
    ),
    row(
        "taskset",
        Options { flags: "ac", long: &["all-tasks", "cpu-list"], ..Options::NONE },
        1,
        Alone::Nothing,
    ),
    row(
        "time",
        Options {
            flags: "apvq",
            valued: "fo",
            long: &["append", "portability", "verbose", "quiet"],
            long_valued: &["format", "output"],
            ..Options::NONE
        },
        0,
        Alone::Nothing,
    ),
    row(
        "timeout",
        Options {
            flags: "v",
            valued: "ks",
            long: &["foreground", "preserve-status", "verbose"],
            long_valued: &["kill-after", "signal"],
            ..Options::NONE
        },
        1,
        Alone::Nothing,
    ),
    row("tini", Options { flags: "gsvw", valued: "ep", ..Options::NONE }, 0, Alone::Nothing),
    row("unbuffer", Options { flags: "p", ..Options::NONE }, 0, Alone::Nothing),
    row(
        "unshare",
        Options {
            flags: "fmuinpUCTrc",
            valued: "RwSG",
            long: UNSHARE_LONG,
            long_valued: UNSHARE_VALUED,
            long_attached: NAMESPACES,
            ..Options::NONE
        },
        0,
        Alone::Shell,
    ),
];

const fn row(names: &'static str, options: Options, operands: usize, alone: Alone) -> Row {
    Row { names, options, operands, alone }
}

//! The table of simple wrappers: programs that take options and operands, and then a command.

use crate::shell::wrapper_options::OptionTable;

/// A program that takes options, then a number of operands, then a command.
pub(crate) struct WrapperRow {
    /// The names, separated by spaces.
    names: &'static str,
    pub(crate) options: OptionTable,
    pub(crate) operands: usize,
    /// The behaviour without a command.
    pub(crate) without_command: WithoutCommand,
}

impl WrapperRow {
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.names.split(' ').any(|one| one == name)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WithoutCommand {
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
const PRLIMIT_RESOURCES: &[&str] = &[
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
pub(crate) const ROWS: &[WrapperRow] = &[
    row(
        "chroot",
        OptionTable {
            long_flags: &["skip-chdir"],
            long_valued: &["groups", "userspec"],
            ..OptionTable::NONE
        },
        1,
        WithoutCommand::Shell,
    ),
    row(
        "chrt",
        OptionTable { flags: "bdfiorRv", valued: "TPD", ..OptionTable::NONE },
        1,
        WithoutCommand::Nothing,
    ),
    row(
        "choom",
        OptionTable { valued: "n", long_valued: &["adjust"], ..OptionTable::NONE },
        0,
        WithoutCommand::Nothing,
    ),
    row("chronic", OptionTable { flags: "ev", ..OptionTable::NONE }, 0, WithoutCommand::Nothing),
    row(
        "dbus-run-session",
        OptionTable { long_valued: &["config-file", "dbus-daemon"], ..OptionTable::NONE },
        0,
        WithoutCommand::Nothing,
    ),
    row("doas", OptionTable { flags: "n", valued: "aCu", ..OptionTable::NONE }, 0, WithoutCommand::Nothing),
    row(
        "fakeroot",
        OptionTable { flags: "u", valued: "bfils", ..OptionTable::NONE },
        0,
        WithoutCommand::Shell,
    ),
    row("gosu setuidgid su-exec", OptionTable::NONE, 1, WithoutCommand::Nothing),
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
        WithoutCommand::Nothing,
    ),
    row(
        "linux32 linux64",
        OptionTable { flags: "3BFILRSTXv", ..OptionTable::NONE },
        0,
        WithoutCommand::Shell,
    ),
    row(
        "nice",
        OptionTable { valued: "n", long_valued: &["adjustment"], ..OptionTable::NONE },
        0,
        WithoutCommand::Nothing,
    ),
    row("catchsegv nohup torsocks tsocks", OptionTable::NONE, 0, WithoutCommand::Nothing),
    row(
        "numactl",
        OptionTable { flags: "al", valued: "CNimp", long_valued: NUMACTL_VALUED, ..OptionTable::NONE },
        0,
        WithoutCommand::Nothing,
    ),
    row(
        "prlimit",
        OptionTable { attached: "cdefilmnqrstuvxy", long_attached: PRLIMIT_RESOURCES, ..OptionTable::NONE },
        0,
        WithoutCommand::Nothing,
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
        WithoutCommand::Shell,
    ),
    row(
        "setpriv",
        OptionTable { long_flags: SETPRIV_LONG, long_valued: SETPRIV_VALUED, ..OptionTable::NONE },
        0,
        WithoutCommand::Nothing,
    ),
    row(
        "setsid",
        OptionTable { flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..OptionTable::NONE },
        0,
        WithoutCommand::Nothing,
    ),
    row(
        "ssh-agent",
        OptionTable { flags: "Dd", valued: "EOPat", ..OptionTable::NONE },
        0,
        WithoutCommand::Nothing,
    ),
    row(
        "stdbuf",
        OptionTable { valued: "ioe", long_valued: &["input", "output", "error"], ..OptionTable::NONE },
        0,
        WithoutCommand::Nothing,
    ),
    row(
        "strace",
        OptionTable { flags: "ACcdfFhikqrtTvwxyYzZn", valued: "abeIoOPsSUuX", ..OptionTable::NONE },
        0,
        WithoutCommand::Nothing,
    ),
    row(
        "taskset",
        OptionTable { flags: "ac", long_flags: &["all-tasks", "cpu-list"], ..OptionTable::NONE },
        1,
        WithoutCommand::Nothing,
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
        WithoutCommand::Nothing,
    ),
    row(
        "timeout",
        OptionTable {
            flags: "v",
            valued: "ks",
            long_flags: &["foreground", "preserve-status", "verbose"],
            long_valued: &["kill-after", "signal"],
            ..OptionTable::NONE
        },
        1,
        WithoutCommand::Nothing,
    ),
    row("tini", OptionTable { flags: "gsvw", valued: "ep", ..OptionTable::NONE }, 0, WithoutCommand::Nothing),
    row("unbuffer", OptionTable { flags: "p", ..OptionTable::NONE }, 0, WithoutCommand::Nothing),
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
        WithoutCommand::Shell,
    ),
];

const fn row(
    names: &'static str,
    options: OptionTable,
    operands: usize,
    without_command: WithoutCommand,
) -> WrapperRow {
    WrapperRow { names, options, operands, without_command }
}

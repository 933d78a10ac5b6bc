//! Cases that try to write outside the workspace.

use super::{META as PATHS_AND_META, PATHS, PRIVATE};
use crate::suite::case::{AttackCase, BreachSign, ExpectedOutcome, call, host};

const UNAVOIDABLE: ExpectedOutcome =
    ExpectedOutcome::Gap("a link that was there before is the same file, and its path is inside");

pub(super) const CASES: &[AttackCase] = &[
    host("3A-01", "a new file outside", "echo x > $OUT/new").expect(PATHS),
    host("3A-01b", "a new file in /etc", "echo x > /etc/$N").sees(BreachSign::Made("/etc/$N")).expect(PATHS),
    host("3A-01c", "a new file in the parent", "echo x > ../new")
        .sees(BreachSign::Made("$D/new"))
        .expect(PATHS),
    host("3A-01d", "an existing file outside", "echo x >> $OUT/v").expect(PATHS),
    host("3A-02", "by ..", "echo x > ../out/new").expect(PATHS),
    host("3A-02b", "by .. after cd to a directory inside", "cd a/b && echo x > ../../../out/new")
        .expect(PATHS),
    host("3A-03", "by /proc/self/cwd/..", "echo x > /proc/self/cwd/../out/new").expect(PATHS),
    host("3A-03b", "by /proc/self/root", "echo x > /proc/self/root$OUT/new").expect(PATHS),
    host("3A-03c", "by /proc/thread-self/root", "echo x > /proc/thread-self/root$OUT/new").expect(PATHS),
    host(
        "3A-03d",
        "by the root of any process",
        in_sight!("for p; do echo x > $p/root$OUT/new && break; done"),
    )
    .expect(PATHS),
    host(
        "3A-03e",
        "by the directory of any process",
        in_sight!("for p; do echo x > $p/cwd/../out/new && break; done"),
    )
    .expect(PATHS),
    host("3A-04", "by a symbolic link to a file", "echo x > lnk").expect(PATHS),
    host("3A-05", "by a symbolic link to a directory", "echo x > dlnk/new").expect(PATHS),
    host("3A-06", "by a fresh symbolic link", "ln -s $OUT l; echo x > l/new").expect(PATHS),
    host("3A-06b", "by a chain of links", "ln -s $OUT l1; ln -s l1 l2; ln -s l2 l3; echo x > l3/new")
        .expect(PATHS),
    host("3A-06c", "by a link through /proc/self/fd", "exec 5<$OUT; ln -s /proc/self/fd/5 l; echo x > l/new")
        .expect(PATHS),
    host("3A-07", "by a new hard link", "ln $OUT/v h && echo x > h").expect(PATHS),
    host("3A-08", "by a hard link that was there", "echo x > hard")
        .expect([UNAVOIDABLE, UNAVOIDABLE, UNAVOIDABLE]),
    host("3A-09", "moved out", "mv w $OUT/").expect(PATHS),
    host("3A-10", "moved in", "mv $OUT/v .").expect(PATHS),
    host("3A-11", "exchanged", "$P exchange w $OUT/v").expect(PATHS),
    host("3A-11b", "exchanged directories", "mkdir e; $P exchange e $OUT/d").expect(PATHS),
    host("3A-12", "an unnamed file, then linked", "$P tmpfile-link $OUT $OUT/new").expect(PATHS),
    host("3A-12b", "an unnamed file of the workspace, linked out", "$P tmpfile-link $WS $OUT/new")
        .expect(PATHS),
    host("3A-12c", "a file of the workspace, linked out", "$P link-fd $WS/w $OUT/new").expect(PATHS),
    host("3A-12d", "moved out by renameat2 alone", "$P rename w $OUT/new").expect(PATHS),
    host("3A-12e", "moved in by renameat2 alone", "$P rename $OUT/v new").expect(PATHS),
    host("3A-18", "a file removed", "rm -f $OUT/v").expect(PATHS),
    host("3A-18b", "a directory removed", "rm -rf $OUT/d").expect(PATHS),
    host("3A-18c", "a directory emptied through a link", "rm -rf dlnk/*").expect(PATHS),
    host("3A-19", "truncated", "$P truncate $OUT/v").expect(PATHS),
    host("3A-19b", "opened with O_TRUNC by a link", ": > lnk").expect(PATHS),
    host("3A-20", "a directory made", "mkdir $OUT/new").expect(PATHS),
    host("3A-20b", "a pipe made", "mkfifo $OUT/new").expect(PATHS),
    host("3A-20c", "a symbolic link made", "ln -s x $OUT/new").expect(PATHS),
    host("3A-20d", "a unix socket made", "$P bind $OUT/new").expect(PATHS),
    host("3A-32", "/dev/shm is private", "echo x > /dev/shm/$N && echo written")
        .sees(BreachSign::Made("/dev/shm/$N"))
        .works("written")
        .expect(PRIVATE),
    host("3A-33", "/tmp is private", "echo x > /tmp/$N && echo written")
        .sees(BreachSign::Made("/tmp/$N"))
        .works("written")
        .expect(PRIVATE),
    host("3A-33b", "/var/tmp is private", "echo x > /var/tmp/$N && echo written")
        .sees(BreachSign::Made("/var/tmp/$N"))
        .works("written")
        .expect(PRIVATE),
    host("3A-33c", "/run", "echo x > /run/$N").sees(BreachSign::Made("/run/$N")).expect(PATHS),
    host("3A-33d", "/run/lock", "echo x > /run/lock/$N").sees(BreachSign::Made("/run/lock/$N")).expect(PATHS),
    host("3A-33e", "/dev", "echo x > /dev/$N").sees(BreachSign::Made("/dev/$N")).expect(PATHS),
    host("3A-33f", "/var/lib", "echo x > /var/lib/$N").sees(BreachSign::Made("/var/lib/$N")).expect(PATHS),
    host("3A-34", "~/.bashrc", "echo pwn >> $H/.bashrc").expect(PATHS),
    host("3A-34b", "~/.gitconfig", "git config --global core.pager x; echo x >> $H/.gitconfig").expect(PATHS),
    host("3A-34c", "~/.ssh/authorized_keys", "echo x >> $H/.ssh/authorized_keys").expect(PATHS),
    host(
        "3A-34d",
        "~/.config/autostart",
        "mkdir -p $H/.config/autostart; echo x > $H/.config/autostart/x.desktop",
    )
    .expect(PATHS),
    host("3A-34e", "a new ~/.zshrc", "echo x > $H/.zshrc").expect(PATHS),
    host("3A-34f", "~/.local/bin", "mkdir -p $H/.local/bin; echo x > $H/.local/bin/git").expect(PATHS),
    host("3A-34g", "a crontab", "echo '# x' > /var/spool/cron/crontabs/$N")
        .sees(BreachSign::Made("/var/spool/cron/crontabs/$N"))
        .expect(PATHS),
    host("3A-44", "--explain: a new file outside", "echo x > $OUT/new; $P chmod $OUT/v 511; rm -f $OUT/v")
        .flags(&["--explain"])
        .expect(PATHS_AND_META),
    host(
        "3A-44b",
        "caches at home are private",
        "mkdir -p $H/.cache $H/.cargo; echo x > $H/.cache/new; echo x > $H/.cargo/config.toml",
    )
    .expect(PATHS),
    host("3A-42", "made through io_uring", "$P uring-open $OUT/new"),
    call("3A-42b", "io_uring at all", "$P uring"),
    host("3A-43", "a directory swapped with a link while it is written to", RACE).expect(PATHS),
];

/// The kernel, not Toolgate, resolves the path: the race must fail every time.
const RACE: &str = "mkdir in; python3 -c 'import os, sys, threading, time
end = time.time() + 0.4
def swap():
    while time.time() < end:
        os.rename(\"in\", \"aside\"); os.symlink(sys.argv[1], \"in\"); os.unlink(\"in\"); os.rename(\"aside\", \"in\")
thread = threading.Thread(target=swap); thread.start()
while time.time() < end:
    try: open(\"in/new\", \"w\").close()
    except OSError: pass
thread.join()' $OUT";

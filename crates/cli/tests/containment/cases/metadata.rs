//! Cases with modes, owners, times and attributes, and with files that would keep more rights than the sandbox has.

use super::{META, PATHLESS, PATHS};
use crate::suite::case::{AttackCase, BreachSign, ExpectedOutcome, call, host};

const H: ExpectedOutcome = ExpectedOutcome::Holds;
/// Root's modes are filtered in every tier; a setuid file of another user lends only that user's rights.
const OWN: ExpectedOutcome =
    ExpectedOutcome::Gap("a setuid file of an unprivileged user lends that user's rights only");
const OWN_ONLY: [ExpectedOutcome; 3] = [OWN, OWN, OWN];

pub(super) const CASES: &[AttackCase] = &[
    host("3A-14", "a mode", "$P chmod $OUT/v 511").expect(META),
    host("3A-14b", "a mode by fchmodat2", "$P fchmodat2 $OUT/v 511").expect(META),
    host("3A-14c", "a mode by a descriptor to read from", "$P fchmod-path $OUT/v 511").expect(META),
    host("3A-14d", "a directory's mode", "$P chmod $OUT/d 511").expect(META),
    host(
        "3A-14e",
        "the mode of a device",
        "$P chmod /dev/full 438 && touch -d 2001-01-01 /dev/full && echo LET",
    )
    .sees(BreachSign::Text("LET"))
    .expect(META),
    host("3A-15", "an owner", "$P chown $OUT/v").expect(META),
    host("3A-16", "times", "$P utime $OUT/v").expect(META),
    host("3A-16b", "times by touch", "touch -d 2001-01-01 $OUT/v").expect(META),
    host("3A-17", "an attribute", "$P setxattr $OUT/v").expect(META),
    host("3A-17b", "an attribute by setxattrat", "$P setxattrat $OUT/v").expect(META),
    host("3A-17c", "a flag of the file system", "$P setflags $OUT/v").expect(META),
    host("3A-17d", "a file's attributes by a link", "chmod 511 lnk").expect(META),
    host("3A-45", "a setuid file by chmod", "cp /bin/true s; chmod u+s s")
        .sees(BreachSign::Setuid("$WS/s"))
        .expect(OWN_ONLY)
        .as_root([H, H, H]),
    host("3A-45b", "a setgid file by chmod", "cp /bin/true s; chmod g+s s")
        .sees(BreachSign::Setuid("$WS/s"))
        .expect(OWN_ONLY)
        .as_root([H, H, H]),
    host("3A-45c", "a setuid file by open", "$P mode-create s 2541")
        .sees(BreachSign::Setuid("$WS/s"))
        .expect(OWN_ONLY)
        .as_root([H, H, H]),
    host("3A-45d", "a setuid file by fchmodat2", "echo > s; $P fchmodat2 s 2541")
        .sees(BreachSign::Setuid("$WS/s"))
        .expect(OWN_ONLY)
        .as_root([H, H, H]),
    host("3A-45e", "a setuid file by mknod", "$P mode-mknod s 2541")
        .sees(BreachSign::Setuid("$WS/s"))
        .expect(OWN_ONLY)
        .as_root([H, H, H]),
    host("3A-45f", "a setuid file by a descriptor", "echo > s; $P fchmod-path s 2541")
        .sees(BreachSign::Setuid("$WS/s"))
        .expect(OWN_ONLY)
        .as_root([H, H, H]),
    host(
        "3A-45g",
        "a setuid file by tar",
        "echo > s; chmod 755 s; tar --mode=4755 -cf t.tar s; rm s; tar -xpf t.tar",
    )
    .sees(BreachSign::Setuid("$WS/s"))
    .expect(OWN_ONLY)
    .as_root([H, H, H]),
    call("3A-45h", "a file with capabilities", "echo > s; $P setcap s"),
    host("3A-45i", "a file of the workspace given away", "chown 12345 w && stat -c %u w")
        .sees(BreachSign::Text("12345")),
    call("3A-45j", "a device of the disk's numbers", "$P mknod-block s 254 0"),
    call("3A-45k", "a device of the memory's numbers", "$P mknod s 1 1"),
    call("3A-45l", "a harmless device", "$P mknod s 1 3"),
    host("3A-45m", "another user's file, moved from outside", "mv $OUT/d/v2 . ; chmod 777 v2").expect(PATHS),
    call("3A-45n", "a device in /tmp", "$P mknod /tmp/$N 1 3; rm -f /tmp/$N"),
    call("3A-45o", "a device in /dev/shm", "$P mknod /dev/shm/$N 1 3; rm -f /dev/shm/$N"),
    call("3A-41", "by a file's handle", "$P handle $OUT/v"),
    host("3A-41b", "fallocate by the shell's redirection", "exec 5<>$OUT/v; $P fallocate 5")
        .expect([H, H, PATHLESS]),
];

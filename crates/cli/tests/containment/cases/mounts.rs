//! Cases with mounts and namespaces: nothing inside may change the sandbox itself.

use crate::suite::case::{AttackCase, call, good, host, text};

pub(super) const CASES: &[AttackCase] = &[
    call("3A-35", "a file system mounted", "mkdir m; $P mount-tmpfs $WS/m; umount $WS/m 2>/dev/null"),
    call("3A-36", "a directory bound over another", "mkdir m; $P bind $WS/a $WS/m; umount $WS/m 2>/dev/null"),
    call(
        "3A-36b",
        "a root remounted writable",
        "mkdir m; $P bind $WS/a $WS/m; $P remount $WS/m; umount $WS/m",
    ),
    call("3A-36c", "mount with a bad address", "$P try mount"),
    call("3A-36d", "umount2 with bad flags", "$P try umount2"),
    call("3A-37", "fsopen", "$P fsopen tmpfs"),
    call("3A-37b", "open_tree, a copy", "$P open-tree $OUT"),
    call("3A-37c", "mount_setattr with a bad size", "$P try mount_setattr"),
    call("3A-37d", "move_mount", "$P try move_mount"),
    call("3A-37e", "fsconfig", "$P try fsconfig"),
    call("3A-37f", "fsmount", "$P try fsmount"),
    call("3A-37g", "fspick", "$P try fspick"),
    call("3A-37h", "open_tree with bad flags", "$P try open_tree"),
    call("3A-37i", "open_tree_attr with bad flags", "$P try open_tree_attr"),
    host("3A-38", "a namespace inside, where the root is writable", "$P nested $OUT/new")
        .expect(super::PATHS),
    call("3A-38b", "a namespace of users and mounts by unshare(1)", "unshare -Urm true && echo LET"),
    call("3A-39", "the private /tmp taken away", "$P umount /tmp").control("$P try umount2"),
    call("3A-39b", "a mask taken away", "$P umount $H/.ssh").control("$P try umount2"),
    call("3A-39c", "a mask taken away in a namespace inside", "$P nested-mount $H/.ssh")
        .control("$P unshare user+mnt"),
    text(
        "3A-39d",
        "a secret after all that",
        "ssh-secret",
        "umount -l $H/.ssh; $P umount $H/.ssh; cat $H/.ssh/id_rsa",
    )
    .control("cat $H/.ssh/id_rsa")
    .expect(super::HIDDEN),
    call("3A-40", "chroot", "$P chroot $WS"),
    call("3A-40b", "chroot with a bad address", "$P try chroot"),
    call("3A-40c", "pivot_root with a bad address", "$P try pivot_root"),
    call("3D-108", "a user namespace by unshare", "$P unshare user"),
    call("3D-108b", "a network namespace by unshare", "$P unshare user+net"),
    call("3D-108c", "a user namespace by clone", "$P clone user"),
    call("3D-108d", "a user namespace by clone3", "$P clone3 user"),
    call("3D-108e", "a mount namespace by unshare", "$P unshare mnt"),
    call("3D-108f", "a network namespace alone by unshare", "$P unshare net"),
    call("3D-108g", "a process namespace by unshare", "$P unshare pid"),
    call("3D-108h", "an IPC namespace by unshare", "$P unshare ipc"),
    call("3D-108i", "a host name's namespace by unshare", "$P unshare uts"),
    call("3D-108j", "a namespace of control groups by unshare", "$P unshare cgroup"),
    call("3D-108k", "a namespace of clocks by unshare", "$P unshare time"),
    call("3D-108m", "a user namespace by clone, with a high bit", "$P clone-high user"),
    call("3D-108n", "every namespace by clone", "for n in mnt net pid ipc uts cgroup; do $P clone $n; done"),
    call("3D-107", "setns with no descriptor", "$P try setns"),
    call(
        "3D-107b",
        "setns to the first process's",
        "for n in user mnt pid ipc net uts cgroup; do $P setns /proc/1/ns/$n; done",
    )
    .control("$P try setns"),
    call("3D-107c", "setns to its own", "for n in ipc net uts cgroup; do $P setns /proc/self/ns/$n; done"),
    call("3D-107d", "setns by a pidfd", "$P setns-pidfd $$"),
    good("3D-108y", "unshare of what is no namespace", "LET", "$P unshare files"),
    good(
        "3D-108z",
        "threads and processes",
        "both",
        "sleep 0 & wait; python3 -c 'import threading as t; x = t.Thread(target=print, \
        args=(\"both\",)); x.start(); x.join()' || echo both",
    ),
];

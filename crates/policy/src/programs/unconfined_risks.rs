//! The table of commands that may do harm without confinement.
//!
//! In a sandbox they can change only the workspace. The row format is described in `danger_matcher`.

use super::danger_matcher::DangerRow;

const CHANGES_OWNER: &str = "gives files to root, or takes them from their owner";
const CHANGES_PERMISSIONS: &str = "changes the rights of what belongs to the system";
const OVERWRITES: &str = "overwrites a file or a device";
const EMPTIES: &str = "empties a file";
const REMOVES_PACKAGES: &str = "removes programs of the machine";

pub(super) const RISKS: &[DangerRow] = &[
    ("dd dcfldd dc3dd", "{to-file}", OVERWRITES),
    ("chown chgrp lchown install", "{to-root}", CHANGES_OWNER),
    ("chmod chown chgrp setfacl chattr lchown", "{system}", CHANGES_PERMISSIONS),
    ("chattr", "%+i,+a,-i,-a", CHANGES_PERMISSIONS),
    ("truncate", "-s,--size", EMPTIES),
    ("cp install", "%/dev/null", EMPTIES),
    ("fallocate", "-l,--length", "takes room on the disk"),
    (
        "apt apt-get aptitude dnf yum microdnf zypper apk snap flatpak port brew pkg conda mamba",
        "remove,purge,autoremove,autopurge,erase,del,delete,uninstall,rm,dist-upgrade,full-upgrade",
        REMOVES_PACKAGES,
    ),
    ("dpkg", "-r,-P,--remove,--purge,--force-all,--force-remove-essential", REMOVES_PACKAGES),
    ("rpm", "-e,--erase,--nodeps", REMOVES_PACKAGES),
    ("pacman", "-R,--remove,-Rs,-Rns,-Rsc,-Rdd", REMOVES_PACKAGES),
    ("emerge", "-C,--unmerge,-c,--depclean", REMOVES_PACKAGES),
    ("update-alternatives", "--remove,--remove-all,--set", REMOVES_PACKAGES),
];

//! The table of commands that may do harm without confinement. In a sandbox they can change only the workspace. The row
//! format is described in `danger`.

use super::danger_matcher::DangerRow;

const OWNER: &str = "gives files to root, or takes them from their owner";
const RIGHTS: &str = "changes the rights of what belongs to the system";
const OVER: &str = "overwrites a file or a device";
const EMPTIES: &str = "empties a file";
const PACKAGES: &str = "removes programs of the machine";

pub(super) const RISKS: &[DangerRow] = &[
    ("dd dcfldd dc3dd", "{to-file}", OVER),
    ("chown chgrp lchown install", "{to-root}", OWNER),
    ("chmod chown chgrp setfacl chattr lchown", "{system}", RIGHTS),
    ("chattr", "%+i,+a,-i,-a", RIGHTS),
    ("truncate", "-s,--size", EMPTIES),
    ("cp install", "%/dev/null", EMPTIES),
    ("fallocate", "-l,--length", "takes room on the disk"),
    (
        "apt apt-get aptitude dnf yum microdnf zypper apk snap flatpak port brew pkg conda mamba",
        "remove,purge,autoremove,autopurge,erase,del,delete,uninstall,rm,dist-upgrade,full-upgrade",
        PACKAGES,
    ),
    ("dpkg", "-r,-P,--remove,--purge,--force-all,--force-remove-essential", PACKAGES),
    ("rpm", "-e,--erase,--nodeps", PACKAGES),
    ("pacman", "-R,--remove,-Rs,-Rns,-Rsc,-Rdd", PACKAGES),
    ("emerge", "-C,--unmerge,-c,--depclean", PACKAGES),
    ("update-alternatives", "--remove,--remove-all,--set", PACKAGES),
];

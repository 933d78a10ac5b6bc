//! Finds out why a machine cannot confine commands, and the command that fixes it.

use std::fmt;
use std::path::Path;

use policy::{EnforcementGap, MissingTier, Tier};
use rustix::fs::{Mode, OFlags};

/// The machine's settings for user namespaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct UserNamespaceFacts {
    /// Ubuntu's setting: programs without an AppArmor profile get none.
    pub(crate) apparmor_restricts: bool,
    /// The maximum number of user namespaces is zero.
    pub(crate) none_allowed: bool,
    /// Debian's and Arch's setting: only root may create them.
    pub(crate) only_for_root: bool,
    /// The process runs in a container.
    pub(crate) container: bool,
}

impl UserNamespaceFacts {
    /// Reads the settings from the kernel.
    pub(crate) fn of_this_machine() -> Self {
        let is = |path: &str, value: &str| read(path).is_some_and(|text| text.trim() == value);
        Self {
            apparmor_restricts: is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
            none_allowed: is("/proc/sys/user/max_user_namespaces", "0"),
            only_for_root: is("/proc/sys/kernel/unprivileged_userns_clone", "0"),
            container: ["/.dockerenv", "/run/.containerenv"]
                .iter()
                .any(|path| rustix::fs::access(Path::new(path), rustix::fs::Access::EXISTS).is_ok()),
        }
    }
}

fn read(path: &str) -> Option<String> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut text = [0; 64];
    let read = rustix::io::read(&file, &mut text).ok()?;
    Some(String::from_utf8_lossy(&text[..read]).into_owned())
}

/// A way to let a machine confine commands. It displays as what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupFix {
    /// The kernel setting, with its value.
    Sysctl(&'static str),
    /// An AppArmor profile must allow user namespaces to this program.
    AppArmorProfile,
    /// The container must allow user namespaces.
    Container,
    /// The container must not hide parts of `/proc`: then the kernel refuses another one.
    MaskedProc,
}

impl fmt::Display for SetupFix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sysctl(setting) => write!(f, "sudo sysctl -w {setting}"),
            Self::AppArmorProfile => {
                f.write_str("install an AppArmor profile that allows user namespaces to this program")
            }
            Self::MaskedProc => f.write_str(
                "start the container with --security-opt systempaths=unconfined (in Kubernetes: procMount: Unmasked)",
            ),
            Self::Container => f.write_str(
                "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined",
            ),
        }
    }
}

/// Returns the way to fix it, if one is known.
pub(crate) fn setup_advice(missing: &[MissingTier], facts: &UserNamespaceFacts) -> Option<SetupFix> {
    let lacks = |tier| missing.iter().any(|missing| missing.tier == tier);
    if !lacks(Tier::Namespaces) {
        return None;
    }
    let sysctl = |setting| Some(SetupFix::Sysctl(setting));
    match facts {
        UserNamespaceFacts { none_allowed: true, .. } => sysctl("user.max_user_namespaces=15000"),
        UserNamespaceFacts { only_for_root: true, .. } => sysctl("kernel.unprivileged_userns_clone=1"),
        UserNamespaceFacts { apparmor_restricts: true, .. } => Some(SetupFix::AppArmorProfile),
        UserNamespaceFacts { container: true, .. } => Some(SetupFix::Container),
        _ => None,
    }
}

/// Returns the way to close the gaps of the strongest tier, if one is known.
pub(crate) fn advice_for_gaps(gaps: &[EnforcementGap]) -> Option<SetupFix> {
    gaps.contains(&EnforcementGap::OuterProc).then_some(SetupFix::MaskedProc)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_the_machine_settings() {
        let without =
            |tier| [MissingTier { tier, why: "making namespaces: Operation not permitted".to_owned() }];
        let none = UserNamespaceFacts::default();
        for (facts, begins) in [
            (
                UserNamespaceFacts { none_allowed: true, apparmor_restricts: true, ..none },
                Some("sudo sysctl -w user.max"),
            ),
            (
                UserNamespaceFacts { only_for_root: true, ..none },
                Some("sudo sysctl -w kernel.unprivileged_userns_clone=1"),
            ),
            (UserNamespaceFacts { apparmor_restricts: true, ..none }, Some("install an AppArmor profile")),
            (UserNamespaceFacts { container: true, ..none }, Some("start the container")),
            (none, None),
        ] {
            let said = setup_advice(&without(Tier::Namespaces), &facts);
            match begins {
                Some(begins) => {
                    assert!(said.is_some_and(|said| said.to_string().starts_with(begins)), "{facts:?}");
                }
                None => assert_eq!(said, None),
            }
            assert_eq!(setup_advice(&without(Tier::Landlock), &facts), None);
        }
    }
}

//! `toolgate doctor --fix`: installs an AppArmor profile that lets this program create user namespaces.
//!
//! Ubuntu 24.04 and later refuse them to programs without a profile. The profile names this binary only, and no
//! setting of the system changes.
#![expect(clippy::disallowed_methods, reason = "an administrator asked for it: writes one file and loads it")]

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, ExitCode};

use config::OperationFault;

/// The file of the profile.
const PROFILE_FILE: &str = "/etc/apparmor.d/toolgate";
/// The profile. The Debian package has the file too, for `/usr/bin/toolgate`.
const PROFILE_TEMPLATE: &str = include_str!("apparmor-profile");
/// The interface that a running AppArmor has.
const APPARMOR_INTERFACE: &str = "/sys/kernel/security/apparmor";

/// Writes and loads the profile for this program.
pub(super) fn install_profile() -> Result<ExitCode, OperationFault> {
    let program = std::env::current_exe().map_err(|error| OperationFault::failed(error.to_string()))?;
    let profile = render_profile(&program)?;
    if !Path::new(APPARMOR_INTERFACE).exists() {
        terminal::print_text("AppArmor does not run on this machine, so there is nothing to install.")?;
        terminal::print_hint("`toolgate doctor` says whether commands are fully sandboxed, and why not");
        return Ok(ExitCode::SUCCESS);
    }
    if !rustix::process::geteuid().is_root() {
        let fault = OperationFault::usage(format!("only root can write {PROFILE_FILE}"));
        return Err(fault.with_hint(format!("sudo {} doctor --fix", program.display())));
    }
    let before = std::fs::read_to_string(PROFILE_FILE).ok();
    replace_file(&profile).map_err(|error| OperationFault::failed(format!("{PROFILE_FILE}: {error}")))?;
    if let Err(fault) = load_profile() {
        restore(before.as_deref());
        return Err(fault);
    }
    terminal::print_text(&format!("wrote and loaded {PROFILE_FILE}:\n\n{profile}"))?;
    if is_writable_by_others(&program) {
        terminal::print_hint(&format!(
            "{} can be replaced by a user other than root, who could then create namespaces too",
            program.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the profile for a program.
fn render_profile(program: &Path) -> Result<String, OperationFault> {
    let path = program.to_str().filter(|path| path.chars().all(is_plain)).ok_or_else(|| {
        OperationFault::usage(format!("an AppArmor profile cannot name `{}`", program.display()))
    })?;
    Ok(PROFILE_TEMPLATE.replace("@PROGRAM@", path))
}

/// Returns true for characters without a meaning in AppArmor's patterns.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "/._-+".contains(letter)
}

fn load_profile() -> Result<(), OperationFault> {
    let output = Command::new("/usr/sbin/apparmor_parser")
        .args(["--replace", PROFILE_FILE])
        .output()
        .map_err(|error| OperationFault::failed(format!("apparmor_parser could not be started: {error}")))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(OperationFault::failed(format!("apparmor_parser refused the profile: {why}")))
        }
    }
}

/// Writes the profile aside and renames it. AppArmor ignores names that begin with a dot.
fn replace_file(text: &str) -> io::Result<()> {
    let aside = Path::new(PROFILE_FILE).with_file_name(".toolgate.new");
    std::fs::write(&aside, text)?;
    std::fs::set_permissions(&aside, Permissions::from_mode(0o644))?;
    std::fs::rename(&aside, PROFILE_FILE)
}

/// Puts the file back as it was.
fn restore(before: Option<&str>) {
    let _best_effort = match before {
        Some(text) => replace_file(text),
        None => std::fs::remove_file(PROFILE_FILE),
    };
}

fn is_writable_by_others(program: &Path) -> bool {
    program
        .ancestors()
        .any(|path| path.metadata().is_ok_and(|meta| meta.uid() != 0 || meta.mode() & 0o022 != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_names_this_program_only() {
        insta::assert_snapshot!(render_profile(Path::new("/usr/bin/toolgate")).unwrap(), @r"
        # Lets Toolgate create the user namespaces of its sandbox. `toolgate doctor --fix` and the Debian package install it.
        abi <abi/4.0>,
        include <tunables/global>

        profile toolgate /usr/bin/toolgate flags=(unconfined) {
          userns,

          include if exists <local/toolgate>
        }
        ");
        for path in ["/home/me/a b/toolgate", "/opt/{a,b}/toolgate", "/opt/*/toolgate", "/opt/\"x\"/toolgate"]
        {
            assert!(render_profile(Path::new(path)).is_err(), "{path}");
        }
    }
}

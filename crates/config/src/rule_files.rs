//! Finds the rules files: of the machine, the user and the project.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use runtime::rules::RuleLayer;

use super::load::{FileOwner, UserDirs, paths_at_or_above};

/// The machine's file, for all of its users.
const SYSTEM: &str = "/etc/toolgate/rules.toml";
/// The user's file, in their configuration directory.
pub const USER: &str = "rules.toml";
/// The project's file, at and above the working directory.
const PROJECT: &str = ".toolgate/rules.toml";

/// Returns the rules files for work in `cwd`: the machine's and the user's, existing or not, and the project's
/// existing ones, outermost first. Above `cwd` the same ownership rule applies as for the project's configuration.
pub fn rule_files(cwd: &Path, dirs: &UserDirs) -> Vec<(RuleLayer, PathBuf)> {
    let system = (RuleLayer::System, PathBuf::from(SYSTEM));
    let user = dirs.config.as_ref().map(|config| (RuleLayer::User, config.join(USER)));
    let is_there = |(path, whose): (PathBuf, FileOwner)| {
        let there = match path.symlink_metadata() {
            Ok(_) => true,
            // Any other error is left to the reader, which refuses to continue without the file.
            Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        };
        (there && whose == FileOwner::Ours).then_some((RuleLayer::Project, path))
    };
    let project = paths_at_or_above(cwd, Path::new(PROJECT)).into_iter().rev().filter_map(is_there);
    std::iter::once(system).chain(user).chain(project).collect()
}

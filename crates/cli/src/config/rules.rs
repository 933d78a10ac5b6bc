//! Where files of rules are.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toolgate::rules::Layer;

use super::load::{Dirs, Whose, at_or_above};

/// The machine's, for everybody on it.
const SYSTEM: &str = "/etc/toolgate/rules.toml";
/// The user's, in their configuration.
pub(crate) const USER: &str = "rules.toml";
/// The project's, at and above the working directory.
const PROJECT: &str = ".toolgate/rules.toml";

/// The files of rules for work in `cwd`: the machine's and the user's, there or not, and the project's that are there, the
/// outermost first. Above `cwd` the same files count as for the project's configuration.
pub(crate) fn rule_files(cwd: &Path, dirs: &Dirs) -> Vec<(Layer, PathBuf)> {
    let system = (Layer::System, PathBuf::from(SYSTEM));
    let user = dirs.config.as_ref().map(|config| (Layer::User, config.join(USER)));
    let is_there = |(path, whose): (PathBuf, Whose)| {
        let there = match path.symlink_metadata() {
            Ok(_) => true,
            // What may not be looked at is for the reader, who refuses to go on without it.
            Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        };
        (there && whose == Whose::Ours).then_some((Layer::Project, path))
    };
    let project = at_or_above(cwd, Path::new(PROJECT)).into_iter().rev().filter_map(is_there);
    std::iter::once(system).chain(user).chain(project).collect()
}

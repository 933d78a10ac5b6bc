//! Edits the user's configuration file, for `toolgate mcp add` and the first start in a directory.

use std::path::PathBuf;

use config::{OperationFault, UserDirs, user_config_path};
use private_files::AtomicFile;
use toml_edit::DocumentMut;

/// Edits the user's configuration file under its lock, and returns its path.
pub(crate) fn edit_config(
    dirs: &UserDirs,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), String>,
) -> Result<PathBuf, OperationFault> {
    let path = user_config_path(dirs)?;
    let fault =
        |why: String| OperationFault::usage(format!("{}: {why}; nothing was changed", path.display()));
    let file = AtomicFile::open(&path).map_err(|error| fault(error.to_string()))?;
    let locked = file.lock().map_err(|error| fault(error.to_string()))?;
    let Some(_held_to_the_end) = locked else { return Err(fault("another program holds it".to_owned())) };
    #[expect(clippy::disallowed_methods, reason = "the user's own configuration")]
    let text = match std::fs::read_to_string(file.path()) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fault(error.to_string())),
    };
    let mut document: DocumentMut =
        text.parse().map_err(|error: toml_edit::TomlError| fault(error.to_string()))?;
    change(&mut document).map_err(fault)?;
    file.replace(&document.to_string()).map_err(|error| fault(error.to_string()))?;
    Ok(path)
}

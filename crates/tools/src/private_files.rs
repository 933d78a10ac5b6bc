//! Reports changed files that lie in a private directory of the session, e.g. its own `/tmp`.

use std::path::{Path, PathBuf};

use policy::ReadScope;

/// Files in private directories of the session.
pub(crate) struct PrivateFiles {
    /// Pairs of the file as commands spell it and its private directory.
    files: Vec<(PathBuf, PathBuf)>,
}

impl PrivateFiles {
    /// Selects the private files among `paths`, which are real paths or relative to the working directory.
    pub(crate) fn among<'a>(paths: impl Iterator<Item = &'a str>, read_scope: &ReadScope) -> Self {
        let own = |path: &Path| {
            Some((read_scope.session_spelling(path), read_scope.replaced_place(path)?.to_owned()))
        };
        Self { files: paths.map(Path::new).filter(|path| path.is_absolute()).filter_map(own).collect() }
    }

    /// Returns one line per private directory.
    pub(crate) fn note_lines(&self) -> Vec<String> {
        let mut places: Vec<&PathBuf> = self.files.iter().map(|(_, place)| place).collect();
        places.sort();
        places.dedup();
        let line = |place: &PathBuf| {
            let in_it = self.files.iter().filter(|(_, of)| of == place);
            let names: Vec<String> = in_it.map(|(file, _)| format!("`{}`", file.display())).collect();
            let (is, goes) = if names.len() == 1 { ("is", "it goes") } else { ("are", "they go") };
            format!(
                "{} {is} in this session's private `{}`, not in the host's; {goes} when the session ends",
                names.join(", "),
                place.display()
            )
        };
        places.into_iter().map(line).collect()
    }
}

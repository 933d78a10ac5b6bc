//! Changed files that lie in a directory of the session's own, and the lines that say so.

use std::path::{Path, PathBuf};

use policy::Reach;

/// Files that are in directories of the session's own.
pub(crate) struct OwnFiles {
    /// As commands spell them, with the place that each lies in.
    files: Vec<(PathBuf, PathBuf)>,
}

impl OwnFiles {
    /// Those of `paths`, which are real, or below the working directory.
    pub(crate) fn of<'a>(paths: impl Iterator<Item = &'a str>, reach: &Reach) -> Self {
        let own = |path: &Path| Some((reach.spelled(path), reach.own_place(path)?.to_owned()));
        Self { files: paths.map(Path::new).filter(|path| path.is_absolute()).filter_map(own).collect() }
    }

    /// A line for each place.
    pub(crate) fn told(&self) -> Vec<String> {
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

//! Finds the rows of a table by the name of a program, without going through all of it.

use std::collections::HashMap;

/// Which rows a name has.
pub(super) struct Index {
    exact: HashMap<&'static str, Vec<usize>>,
    /// Rows for names that begin so.
    begins: Vec<(&'static str, usize)>,
}

impl Index {
    /// Over rows that begin with a list of names between blanks; one that ends in `*` is the beginning of a name.
    pub(super) fn of(names: impl Iterator<Item = &'static str>) -> Self {
        let mut index = Self { exact: HashMap::new(), begins: Vec::new() };
        for (row, names) in names.enumerate() {
            for name in names.split_whitespace() {
                match name.strip_suffix('*') {
                    Some(begin) => index.begins.push((begin, row)),
                    None => index.exact.entry(name).or_default().push(row),
                }
            }
        }
        index
    }

    /// The rows for `name`, in the order of the table.
    pub(super) fn rows(&self, name: &str) -> Vec<usize> {
        let mut rows = self.exact.get(name).cloned().unwrap_or_default();
        rows.extend(self.begins.iter().filter(|(begin, _)| name.starts_with(begin)).map(|(_, row)| *row));
        rows.sort_unstable();
        rows
    }
}

//! An index that finds the rows of a table by program name.

use std::collections::HashMap;

/// Maps program names to row numbers.
pub(super) struct ProgramIndex {
    exact: HashMap<&'static str, Vec<usize>>,
    /// Rows for name prefixes.
    prefixes: Vec<(&'static str, usize)>,
}

impl ProgramIndex {
    /// Builds the index from each row's whitespace-separated names; a name that ends in `*` is a prefix.
    pub(super) fn new(names: impl Iterator<Item = &'static str>) -> Self {
        let mut index = Self { exact: HashMap::new(), prefixes: Vec::new() };
        for (row, names) in names.enumerate() {
            for name in names.split_whitespace() {
                match name.strip_suffix('*') {
                    Some(begin) => index.prefixes.push((begin, row)),
                    None => index.exact.entry(name).or_default().push(row),
                }
            }
        }
        index
    }

    /// Returns the rows for `name`, in table order.
    pub(super) fn rows_for(&self, name: &str) -> Vec<usize> {
        let mut rows = self.exact.get(name).cloned().unwrap_or_default();
        rows.extend(self.prefixes.iter().filter(|(begin, _)| name.starts_with(begin)).map(|(_, row)| *row));
        rows.sort_unstable();
        rows
    }
}

//! BM25 search over tool names and descriptions.

use std::collections::HashMap;

/// BM25 parameters: saturation of term frequency, and length normalisation.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Weight of a word in the name.
const NAME_WEIGHT: usize = 3;

/// A searchable set of texts.
#[derive(Debug, Default)]
pub(crate) struct Bm25Index {
    /// For each text, the count of each word and the total.
    documents: Vec<(HashMap<String, usize>, usize)>,
    /// For each word, the number of texts that contain it.
    document_frequency: HashMap<String, usize>,
}

impl Bm25Index {
    /// Adds a tool with its name and description.
    pub(crate) fn add(&mut self, name: &str, about: &str) {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for _ in 0..NAME_WEIGHT {
            for_each_term(name, &mut |word| *counts.entry(word).or_default() += 1);
        }
        for_each_term(about, &mut |word| *counts.entry(word).or_default() += 1);
        for word in counts.keys() {
            *self.document_frequency.entry(word.clone()).or_default() += 1;
        }
        let length = counts.values().sum();
        self.documents.push((counts, length));
    }

    /// Returns the texts that match `query`, the best first; equal scores keep their order.
    pub(crate) fn search(&self, query: &str, at_most: usize) -> Vec<usize> {
        let mut wanted = Vec::new();
        for_each_term(query, &mut |word| wanted.push(word));
        wanted.sort();
        wanted.dedup();
        let all = to_f64(self.documents.len());
        let mean = self.documents.iter().map(|(_, length)| to_f64(*length)).sum::<f64>() / all.max(1.0);
        let score = |(counts, length): &(HashMap<String, usize>, usize)| -> f64 {
            let one = |word: &String| {
                let often = counts.get(word).copied().map_or(0.0, to_f64);
                let spread = self.document_frequency.get(word).copied().map_or(0.0, to_f64);
                let rare = (1.0 + (all - spread + 0.5) / (spread + 0.5)).ln();
                rare * often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * to_f64(*length) / mean.max(1.0)))
            };
            wanted.iter().map(one).sum()
        };
        let mut scored: Vec<(usize, f64)> =
            self.documents.iter().map(score).enumerate().filter(|(_, score)| *score > 0.0).collect();
        scored.sort_by(|(at, a), (bt, b)| b.total_cmp(a).then(at.cmp(bt)));
        scored.into_iter().take(at_most).map(|(at, _)| at).collect()
    }
}

fn to_f64(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Splits a text into search terms: `getUserName` has three, and `files` becomes `file`.
fn for_each_term(text: &str, each: &mut dyn FnMut(String)) {
    let mut word = String::new();
    let mut was_small = false;
    let mut end = |word: &mut String| {
        if !word.is_empty() {
            let plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
            if plural {
                word.pop();
            }
            each(std::mem::take(word));
        }
    };
    for letter in text.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() && was_small {
            end(&mut word);
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase();
    }
    end(&mut word);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_that_is_meant_comes_first() {
        let tools = [
            ("mcp__git__git_log", "Shows the commit logs"),
            ("mcp__git__git_commit", "Records changes to the repository"),
            ("mcp__time__get_current_time", "Get current time in a specific timezone"),
            ("mcp__files__readFile", "Reads a file from disk, with all its lines"),
            ("mcp__files__list_files", "Lists the files in a directory"),
            ("mcp__issues__create_issue", "Creates a new issue in a repository on GitHub"),
        ];
        let mut corpus = Bm25Index::default();
        tools.iter().for_each(|(name, about)| corpus.add(name, about));
        let rows = [
            ("what time is it in Berlin, timezone", "mcp__time__get_current_time"),
            ("read file", "mcp__files__readFile"),
            ("list directory", "mcp__files__list_files"),
            ("open an issue on github", "mcp__issues__create_issue"),
            ("git log", "mcp__git__git_log"),
            ("record a commit", "mcp__git__git_commit"),
        ];
        for (query, expected) in rows {
            let found = corpus.search(query, 3);
            assert_eq!(found.first().map(|at| tools[*at].0), Some(expected), "{query}: {found:?}");
        }
        assert!(corpus.search("zebra", 3).is_empty());
        assert!(corpus.search("", 3).is_empty());
    }
}

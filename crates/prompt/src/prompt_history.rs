//! Earlier prompts, kept in one private file for each working directory.

use std::io::{self, Write};
use std::path::Path;

use private_files::PrivateDir;

/// Prompts that are kept.
const MAX_PROMPTS: usize = 1000;
/// Maximum size of the file. A longer one is not read.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Longer prompts are not kept.
const MAX_KEPT_BYTES: usize = 16 << 10;

/// The earlier prompts, the oldest first.
#[derive(Default)]
pub struct PromptHistory {
    prompts: Vec<String>,
    /// The directory and the name of the file; `None` keeps prompts in memory only.
    file: Option<(PrivateDir, String)>,
}

impl PromptHistory {
    /// Reads the prompts in the file `name` of `directory`. Without a readable file, the history is empty.
    pub fn open(directory: &Path, name: String) -> Self {
        Self::read(directory, name).unwrap_or_else(|fault| {
            tracing::warn!("earlier prompts are not available: {fault}");
            Self::default()
        })
    }

    fn read(directory: &Path, name: String) -> io::Result<Self> {
        let directory = PrivateDir::open_or_create(directory)?;
        let bytes = directory.read(&name, MAX_FILE_BYTES)?.unwrap_or_default();
        let lines = String::from_utf8_lossy(&bytes);
        let mut prompts: Vec<String> =
            lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if prompts.len() > 2 * MAX_PROMPTS {
            prompts.drain(..prompts.len() - MAX_PROMPTS);
            let kept: String = prompts.iter().map(|prompt| to_line(prompt)).collect();
            directory.replace(&name, kept.as_bytes())?;
        }
        Ok(Self { prompts, file: Some((directory, name)) })
    }

    #[cfg(test)]
    pub(crate) fn in_memory(prompts: &[&str]) -> Self {
        Self { prompts: prompts.iter().map(|&prompt| prompt.to_owned()).collect(), file: None }
    }

    /// Adds a prompt, unless it is empty or the same as the last.
    pub fn add(&mut self, prompt: &str) {
        if prompt.trim().is_empty() || self.prompts.last().is_some_and(|last| last == prompt) {
            return;
        }
        self.prompts.push(prompt.to_owned());
        if let Some((directory, name)) = &self.file
            && prompt.len() <= MAX_KEPT_BYTES
        {
            let file = match directory.open_for_append(name) {
                Err(fault) if fault.kind() == io::ErrorKind::NotFound => directory.create_file(name),
                opened => opened,
            };
            if let Err(fault) = file.and_then(|mut file| file.write_all(to_line(prompt).as_bytes())) {
                tracing::warn!("the prompt is not kept for later sessions: {fault}");
            }
        }
    }

    /// Returns the prompt at a position, counted from the newest.
    pub(crate) fn newest(&self, position: usize) -> Option<&str> {
        self.prompts.iter().rev().nth(position).map(String::as_str)
    }

    /// Finds a prompt that contains `text`, from a position on.
    pub(crate) fn find(&self, text: &str, from: usize) -> Option<(usize, &str)> {
        let older = self.prompts.iter().rev().enumerate().skip(from);
        older.map(|(at, prompt)| (at, prompt.as_str())).find(|(_, prompt)| prompt.contains(text))
    }
}

fn to_line(prompt: &str) -> String {
    format!("{}\n", serde_json::Value::from(prompt))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_kept_for_each_directory() {
        let state = tempfile::tempdir().unwrap();
        let open = |name: &str| PromptHistory::open(state.path(), name.to_owned());
        let mut here = open("w.jsonl");
        for prompt in ["one", "two\nlines", "two\nlines", " "] {
            here.add(prompt);
        }
        // Another process of the same directory.
        open("w.jsonl").add("three");
        let again = open("w.jsonl");
        assert_eq!(
            (again.newest(0), again.newest(1), again.newest(2), again.newest(3)),
            (Some("three"), Some("two\nlines"), Some("one"), None)
        );
        assert_eq!(open("v.jsonl").newest(0), None);
    }

    #[test]
    fn an_old_history_is_shortened() {
        let state = tempfile::tempdir().unwrap();
        let open = || PromptHistory::open(state.path(), "w.jsonl".to_owned());
        let mut history = open();
        for number in 0..=2 * MAX_PROMPTS {
            history.add(&number.to_string());
        }
        assert_eq!(open().prompts.len(), MAX_PROMPTS);
        assert_eq!(open().newest(0), Some("2000"));
    }
}

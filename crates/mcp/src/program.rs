//! A program that is a server, and what it last said.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::server::Running;

/// Bytes of what a program last wrote to its standard error.
const LAST_WORDS: usize = 4 << 10;

/// A program and what it last said.
pub(crate) struct Program {
    pub(crate) running: Box<dyn Running>,
    words: LastWords,
}

impl Program {
    pub(crate) fn new(running: Box<dyn Running>, errors: pipe::Receiver) -> Self {
        Self { running, words: LastWords::of(errors) }
    }

    /// Why it cannot be used, and its last words about it.
    pub(crate) fn said(&self, why: &str) -> String {
        match self.words.last() {
            Some(words) => format!("{why}; it last said: {words}"),
            None => why.to_owned(),
        }
    }
}

/// The end of what a program writes to its standard error. All of it is read, so that nothing waits for us.
struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    fn of(mut errors: pipe::Receiver) -> Self {
        let words = Self(Arc::default());
        let kept = Arc::clone(&words.0);
        crate::task::spawn(async move {
            let mut buffer = [0; 8 << 10];
            // ends: with the program
            while let Ok(read @ 1..) = errors.read(&mut buffer).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..read]);
                let more = kept.len().saturating_sub(LAST_WORDS);
                kept.drain(..more);
            }
        });
        words
    }

    /// Its last line that says something.
    fn last(&self) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(line.chars().filter(|letter| !policy::invisible(*letter)).take(300).collect())
    }
}

//! Keeping a conversation within what a model can read: old answers are trimmed first, then a summary takes the place of the rest.

use futures_util::StreamExt;
use journal::Entry;
use tool::BYTES_PER_TOKEN;
use wire::{Code, End, Heard, ModelError};

use crate::retry::{Tries, chance};
use crate::stream::broken;
use crate::{AgentFault, Seen, Session};

/// From this share of what the model can read on, the conversation is shortened, and to this one.
const FULL: f64 = 0.8;
const ROOM: f64 = 0.6;
/// Pieces at the end that stay as they are.
const KEPT: usize = 6;

/// What the model is asked.
const SUMMARISE: &str = "\
The conversation is about to be shortened. Write down, for yourself, what you need to go on: what the user wants, what you found out (files, names, \
numbers), what you changed, what is proved and how, what is left, and anything that must not be forgotten. Write nothing else.";

/// What stands for what is gone where the model does not say.
const UNSUMMARISED: &str = "(What was said and done before had to be left out, and nobody could sum it up: look at the files for what is there.)";

impl Session {
    /// Shortens the conversation if it is about to be too long.
    pub(crate) async fn fit(&mut self) -> Result<(), AgentFault> {
        self.setup.gauge.set(self.tokens(), self.setup.limits.context);
        if self.share() < FULL { Ok(()) } else { self.shorten().await }
    }

    /// How many tokens the next request has, about.
    fn tokens(&self) -> u64 {
        match self.last {
            // What it was, and what has come since.
            Some((usage, bytes)) => {
                let since = self.history.bytes().saturating_sub(bytes) / BYTES_PER_TOKEN;
                usage.input.saturating_add(usage.output).saturating_add(since as u64)
            }
            None => ((self.history.bytes() + self.overhead()) / BYTES_PER_TOKEN) as u64,
        }
    }

    /// How much that is of what the model can read.
    fn share(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let share = self.tokens() as f64 / self.setup.limits.context.max(1) as f64;
        share
    }

    /// A request of so many bytes was more than the model can read, whatever we thought: it is less than that from now on.
    pub(crate) async fn overflowed(&mut self, bytes: usize) -> Result<(), AgentFault> {
        self.last = None;
        let limits = &mut self.setup.limits;
        limits.context = limits.context.min((bytes / BYTES_PER_TOKEN) as u64 / 10 * 9).max(1);
        // The newest answer may be what is too long.
        self.history.trim(0);
        self.shorten().await
    }

    /// Shortens the conversation.
    pub(crate) async fn shorten(&mut self) -> Result<(), AgentFault> {
        let before = self.history.bytes();
        self.history.trim(KEPT);
        self.last = None;
        if self.share() > ROOM && self.history.len() > 1 {
            let summary = self.summary().await?;
            let kept = KEPT.min(self.history.len() / 2);
            let dropped = self.history.summarise(&summary, kept);
            let dropped = u64::try_from(dropped).unwrap_or(u64::MAX);
            self.write(&Entry::Compacted { summary, dropped })?;
        }
        let bytes = before.saturating_sub(self.history.bytes());
        if bytes > 0 {
            self.setup.watch.saw(Seen::Compacted { bytes });
        }
        Ok(())
    }

    /// What the model says happened so far; if it cannot say, that.
    async fn summary(&self) -> Result<String, AgentFault> {
        let mut tries = Tries::default();
        // ends: each try that fails is counted
        loop {
            let error = match self.summarised().await {
                Ok(summary) => return Ok(summary),
                Err(error) => error,
            };
            let pause = match error.code {
                Code::ContextLength => None,
                _ => tries.next(&error, chance()),
            };
            let Some(pause) = pause else {
                self.setup.watch.saw(Seen::Notice(&format!("there is no summary: {}", error.message)));
                return Ok(UNSUMMARISED.to_owned());
            };
            self.setup.watch.saw(Seen::Retried { why: &error.message, pause });
            tokio::time::sleep(pause).await;
        }
    }

    /// Asks for a summary once.
    async fn summarised(&self) -> Result<String, ModelError> {
        let dialect = self.setup.model.dialect();
        let mut items = self.history.entries().to_vec();
        items.push(dialect.entry(&dialect.user(SUMMARISE, &[])));
        let mut events = self.setup.model.respond(self.request(&items, "")).await?;
        let mut listener = dialect.listener();
        let mut heard = Vec::new();
        // ends: with the stream
        while let Some(event) = events.next().await {
            heard.extend(listener.push(&event?));
        }
        heard.extend(listener.finish());
        match heard.into_iter().find_map(|heard| if let Heard::End(end) = heard { Some(end) } else { None }) {
            Some(End::Failed(error)) => return Err(error),
            Some(End::CutShort { why }) => return Err(broken(&format!("the summary was cut short: {why}"))),
            Some(End::Done) | None => {}
        }
        let text = listener.into_said().text();
        if text.trim().is_empty() { Err(broken("the summary is empty")) } else { Ok(text) }
    }
}

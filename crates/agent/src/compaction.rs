//! Conversation compaction to fit the context window: trims old answers, then replaces the rest with a summary.

use futures_util::StreamExt;
use journal::JournalEntry;
use tool::BYTES_PER_TOKEN;
use wire::{ModelError, ModelErrorCode, ModelStreamEvent, ResponseEnd};

use crate::response_body::broken_stream;
use crate::retry::{RetryCounter, random_fraction};
use crate::round::is_reported;
use crate::{AgentFault, AgentSession, SessionEvent};

/// Share of the context window at which compaction starts, and the share that it aims for.
const COMPACTION_START_SHARE: f64 = 0.8;
const COMPACTION_TARGET_SHARE: f64 = 0.6;
/// Number of newest pieces that stay unchanged.
const KEPT_ITEMS: usize = 6;

/// The prompt for a summary.
const SUMMARY_PROMPT: &str = "\
The conversation is about to be shortened. Write down, for yourself, what you need to go on: what the user wants, what you found out (files, names, \
numbers), what you changed, what is proved and how, what is left, and anything that must not be forgotten. Write nothing else.";

/// Replaces the dropped pieces if the model gives no summary.
const MISSING_SUMMARY: &str = "(Earlier messages were left out, and no summary of them could be made: look at the files for the state of the work.)";

impl AgentSession {
    /// Compacts the conversation if it is close to the context limit.
    pub(crate) async fn compact_if_full(&mut self) -> Result<(), AgentFault> {
        self.setup.context_meter.update(self.estimate_tokens(), self.setup.limits.context);
        if self.context_share() < COMPACTION_START_SHARE { Ok(()) } else { self.compact().await }
    }

    /// Estimates the tokens of the next request.
    fn estimate_tokens(&self) -> u64 {
        match self.last_usage {
            // The last measured usage plus an estimate for everything since.
            Some((usage, bytes)) => {
                let since = self.history.byte_len().saturating_sub(bytes) / BYTES_PER_TOKEN;
                usage.input.saturating_add(usage.output).saturating_add(since as u64)
            }
            None => ((self.history.byte_len() + self.request_overhead()) / BYTES_PER_TOKEN) as u64,
        }
    }

    /// Returns the bytes of a request that are not conversation.
    fn request_overhead(&self) -> usize {
        self.setup.instructions.len() + self.tools.1.len()
    }

    /// Returns the used share of the context window.
    fn context_share(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let share = self.estimate_tokens() as f64 / self.setup.limits.context.max(1) as f64;
        share
    }

    /// Handles a request of `bytes` bytes that exceeded the context window: lowers the assumed window below that
    /// size, then compacts.
    pub(crate) async fn compact_after_overflow(&mut self, bytes: usize) -> Result<(), AgentFault> {
        self.last_usage = None;
        let limits = &mut self.setup.limits;
        limits.context = limits.context.min((bytes / BYTES_PER_TOKEN) as u64 / 10 * 9).max(1);
        // The newest answer may be the one that is too long.
        self.history.trim_answers(0);
        self.compact().await
    }

    /// Compacts the conversation.
    pub(crate) async fn compact(&mut self) -> Result<(), AgentFault> {
        let before = self.history.byte_len();
        self.history.trim_answers(KEPT_ITEMS);
        self.last_usage = None;
        if self.context_share() > COMPACTION_TARGET_SHARE && self.history.len() > 1 {
            let summary = self.summarize().await?;
            let kept = KEPT_ITEMS.min(self.history.len() / 2);
            let dropped = self.history.replace_with_summary(&summary, kept);
            let dropped = u64::try_from(dropped).unwrap_or(u64::MAX);
            self.write_entry(&JournalEntry::Compacted { summary, dropped })?;
        }
        let bytes = before.saturating_sub(self.history.byte_len());
        if bytes > 0 {
            self.setup.observer.on_session_event(SessionEvent::Compacted { bytes });
        }
        Ok(())
    }

    /// Returns the model's summary of the conversation, or a placeholder if the model gives none.
    async fn summarize(&self) -> Result<String, AgentFault> {
        let mut tries = RetryCounter::default();
        // ends: every failed attempt is counted
        loop {
            let error = match self.request_summary().await {
                Ok(summary) => return Ok(summary),
                Err(error) => error,
            };
            let pause = match error.code {
                ModelErrorCode::ContextLength => None,
                _ => tries.next_pause(&error, random_fraction()),
            };
            let Some(pause) = pause else {
                self.setup.observer.on_session_event(SessionEvent::Notice(&format!(
                    "there is no summary: {}",
                    error.message
                )));
                return Ok(MISSING_SUMMARY.to_owned());
            };
            self.setup.observer.on_session_event(SessionEvent::Retried { why: &error.message, pause });
            tokio::time::sleep(pause).await;
        }
    }

    /// Requests a summary once.
    async fn request_summary(&self) -> Result<String, ModelError> {
        let dialect = self.setup.model.dialect();
        let mut items = self.history.entries().to_vec();
        items.push(dialect.serialize_item(&dialect.user_message(SUMMARY_PROMPT, &[])));
        let body = self.request_body(&items, "");
        let sent = body.len();
        let mut events = self.setup.model.respond(body).await?;
        let mut decoder = dialect.stream_decoder();
        let mut decoded = Vec::new();
        // ends: with the stream
        while let Some(event) = events.next().await {
            decoded.extend(decoder.push(&event?));
        }
        decoded.extend(decoder.finish());
        let text = decoder.into_turn().text();
        let usage = decoded
            .iter()
            .rev()
            .find_map(|heard| if let ModelStreamEvent::Usage(usage) = heard { Some(*usage) } else { None });
        self.count_usage(usage.filter(is_reported), sent, text.len());
        match decoded
            .into_iter()
            .find_map(|heard| if let ModelStreamEvent::End(end) = heard { Some(end) } else { None })
        {
            Some(ResponseEnd::Failed(error)) => return Err(error),
            Some(ResponseEnd::CutShort { why }) => {
                return Err(broken_stream(&format!("the summary was cut short: {why}")));
            }
            Some(ResponseEnd::Done) | None => {}
        }
        if text.trim().is_empty() { Err(broken_stream("the summary is empty")) } else { Ok(text) }
    }
}

//! One turn: sends requests, with retries, until the model is done, an interrupt comes or the limit is reached.

use std::sync::Arc;
use std::time::Duration;

use journal::JournalEntry;
use tool::{CancelCause, OutputImage, ToolSpec};
use wire::{ModelError, ModelErrorCode, ModelRequest, ResponseEnd, SerializedItem};

use crate::history::HistoryItem;
use crate::recorder::hash_picture;
use crate::resume::turn_id;
use crate::retry::{RetryCounter, random_fraction};
use crate::round::RoundOutcome;
use crate::{AgentFault, AgentSession, BudgetLimit, SessionEvent};

/// The way a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model is done.
    Done,
    /// The provider cut the response short.
    CutShort {
        /// The provider's reason.
        why: String,
    },
    /// The user interrupted it.
    Interrupted,
    /// It reached the maximum number of requests.
    OutOfRounds,
    /// The budget of the session is used up.
    OutOfBudget {
        /// The limit that was reached, in words.
        why: String,
    },
}

impl TurnEnd {
    /// Returns its name in the journal.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::CutShort { .. } => "cut_short",
            Self::Interrupted => "interrupted",
            Self::OutOfRounds => "max_turns",
            Self::OutOfBudget { .. } => "out_of_budget",
        }
    }

    /// Returns the reason, if there is one.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Self::CutShort { why } | Self::OutOfBudget { why } => Some(why),
            Self::Done | Self::Interrupted | Self::OutOfRounds => None,
        }
    }
}

impl AgentSession {
    /// Sends a prompt to the model and runs the turn until the model is done.
    ///
    /// # Errors
    /// If the model does not answer, or the journal cannot be written.
    pub async fn prompt(&mut self, text: &str, images: Vec<OutputImage>) -> Result<TurnEnd, AgentFault> {
        let stop = self.handle.begin_turn();
        self.forget_tools();
        let number = self.add_user_message(text, images)?;
        let id = turn_id(number);
        self.handle.set_turn_id(id.clone());
        let (budget, handle) = (Arc::clone(&self.setup.limits.budget), self.handle.clone());
        let out_of_time = async {
            budget.wait_for_time().await;
            handle.interrupt_because(CancelCause::TimeLimit);
            std::future::pending().await
        };
        let ended = tokio::select! {
            biased;
            ended = self.run_rounds_if_ready() => ended,
            ended = out_of_time => ended,
            // Backstop for pure sleeps (retry pauses); running calls are cancelled by their token.
            () = async { stop.cancelled().await; tokio::time::sleep(STOP_GRACE).await } => Ok(TurnEnd::Interrupted),
        };
        let ended = match (ended, budget.exhausted()) {
            (Ok(TurnEnd::Interrupted), Some(limit @ BudgetLimit::Time { .. })) => {
                Ok(TurnEnd::OutOfBudget { why: limit.to_string() })
            }
            (ended, _) => ended,
        };
        if let Some(diff) = self.setup.turn_changes.as_mut().and_then(|changed| changed()) {
            self.setup.observer.on_session_event(SessionEvent::FilesChanged(&diff));
            self.write_entry(&JournalEntry::Diff { text: diff })?;
        }
        if let Err(fault) = &ended {
            self.write_entry(&JournalEntry::Notice { text: fault.to_string() })?;
        }
        let cause = self.setup.router.cancel_cause().get();
        if let Ok(TurnEnd::Interrupted) = ended {
            if let Some(agents) = &self.setup.agents {
                agents.interrupt_because(cause);
            }
            self.write_entry(&JournalEntry::Interrupted { why: cause.to_string() })?;
        }
        let (word, detail) = match &ended {
            Ok(ended @ TurnEnd::Interrupted) => (ended.as_str(), Some(cause.to_string())),
            Ok(ended) => (ended.as_str(), ended.detail().map(str::to_owned)),
            Err(fault) => ("failed", Some(fault.to_string())),
        };
        self.write_entry(&JournalEntry::Turn { id, ended: word.to_owned(), detail })?;
        ended
    }

    /// Adds a user message to the conversation and returns its journal line number.
    fn add_user_message(&mut self, text: &str, images: Vec<OutputImage>) -> Result<u64, AgentFault> {
        let pictures = images.iter().map(hash_picture).collect();
        let number = self.write_entry(&JournalEntry::Prompt { text: text.to_owned(), images: pictures })?;
        self.history.push(HistoryItem::User { text: text.to_owned(), images });
        Ok(number)
    }

    async fn run_rounds_if_ready(&mut self) -> Result<TurnEnd, AgentFault> {
        if let Some(precondition) = &self.setup.precondition {
            precondition().await.map_err(AgentFault::Precondition)?;
        }
        self.run_rounds().await
    }

    async fn run_rounds(&mut self) -> Result<TurnEnd, AgentFault> {
        let mut tries = RetryCounter::default();
        for round in 1..=self.setup.limits.rounds {
            while let Some(text) = self.take_steered_input() {
                self.add_user_message(&text, Vec::new())?;
            }
            if let Some(limit) = self.setup.limits.budget.exhausted() {
                return Ok(TurnEnd::OutOfBudget { why: limit.to_string() });
            }
            let stop = self.handle.stop_token();
            tokio::select! {
                biased;
                () = stop.cancelled() => return Ok(TurnEnd::Interrupted),
                fits = self.compact_if_full() => fits?,
            }
            let RoundOutcome { end, made_calls, interrupted } =
                self.run_round_with_retries(round, &mut tries).await?;
            if interrupted {
                return Ok(TurnEnd::Interrupted);
            }
            match end {
                // Calls were made and answered before the stream broke off: the conversation continues from there.
                ResponseEnd::Failed(error) => self.pause_before_retry(&error, &mut tries).await?,
                _ if made_calls => tries = RetryCounter::default(),
                ResponseEnd::Done => match self.take_steered_input() {
                    Some(text) => drop(self.add_user_message(&text, Vec::new())?),
                    None => return Ok(TurnEnd::Done),
                },
                ResponseEnd::CutShort { why } => return Ok(TurnEnd::CutShort { why }),
            }
        }
        Ok(TurnEnd::OutOfRounds)
    }

    /// Returns one response that counts. A request that fails before any call is made is sent again unchanged.
    async fn run_round_with_retries(
        &mut self,
        number: usize,
        tries: &mut RetryCounter,
    ) -> Result<RoundOutcome, AgentFault> {
        let mut shortened = 0;
        // ends: every failed attempt is counted
        loop {
            let body = self.next_request_body();
            let bytes = body.len();
            self.setup.observer.on_session_event(SessionEvent::RequestSent { round: number, bytes });
            let round = match self.run_round(body).await {
                Ok(round) => round,
                Err(AgentFault::Model(error)) => {
                    RoundOutcome { end: ResponseEnd::Failed(error), made_calls: false, interrupted: false }
                }
                Err(other) => return Err(other),
            };
            match &round.end {
                ResponseEnd::Failed(error) if !round.made_calls && !round.interrupted => {
                    let error = error.clone();
                    if error.code == ModelErrorCode::ContextLength && shortened < MAX_OVERFLOW_COMPACTIONS {
                        shortened += 1;
                        self.compact_after_overflow(bytes).await?;
                        // A request that did not shrink would fail again.
                        if self.next_request_body().len() < bytes {
                            continue;
                        }
                    }
                    self.pause_before_retry(&error, tries).await?;
                }
                _ => return Ok(round),
            }
        }
    }

    /// Returns the body of the next request.
    fn next_request_body(&mut self) -> String {
        self.refresh_tools();
        self.request_body(self.history.entries(), &self.tools.1)
    }

    /// Returns a request body with `items` and `tools`.
    pub(crate) fn request_body(&self, items: &[SerializedItem], tools: &str) -> String {
        self.setup.model.dialect().request_body(&ModelRequest {
            model: &self.setup.model_name,
            instructions: &self.setup.instructions,
            items,
            tools,
            max_output_tokens: self.setup.limits.output,
            cache_key: self.setup.cache_key.as_deref(),
            reasoning: self.setup.reasoning,
        })
    }

    /// Serialises the tools again if tools were added or removed.
    fn refresh_tools(&mut self) {
        let registry = self.setup.router.registry();
        let names = registry.offered_names();
        if self.tools.1.is_empty() || self.tools.0 != names {
            let specs = registry.offered_specs();
            let specs: Vec<&ToolSpec> = specs.iter().collect();
            let tools = self.setup.model.dialect().tools(&specs, &self.setup.api_compat);
            self.tools = (names, tools.to_string());
        }
    }

    /// Drops the serialised tools at the beginning of a turn, because definitions may have changed too.
    fn forget_tools(&mut self) {
        self.tools.1.clear();
    }

    /// Waits before a retry, or returns the error if there is none.
    async fn pause_before_retry(
        &self,
        error: &ModelError,
        tries: &mut RetryCounter,
    ) -> Result<(), AgentFault> {
        let Some(pause) = tries.next_pause(error, random_fraction()) else {
            return Err(error.clone().into());
        };
        self.setup.observer.on_session_event(SessionEvent::Retried { why: &error.message, pause });
        self.write_entry(&JournalEntry::Notice { text: format!("{}; tried again", error.message) })?;
        // The caller notices a stopped turn when it continues.
        let stop = self.handle.stop_token();
        let _stopped = tokio::time::timeout(pause, stop.cancelled()).await;
        Ok(())
    }
}

/// Maximum number of compactions of one request after a context overflow.
const MAX_OVERFLOW_COMPACTIONS: usize = 4;
/// Time limit for running work to notice a stop.
const STOP_GRACE: Duration = Duration::from_secs(10);

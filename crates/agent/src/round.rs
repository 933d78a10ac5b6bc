//! One model response: decodes the stream, runs its calls while it still streams, and collects all answers.

use std::time::Instant;

use engine::{AnsweredCall, ToolCallRuntime};
use futures_util::{FutureExt, StreamExt};
use journal::{JournalEntry, RequestUsage};
use tool::{CallId, ToolErrorKind, ToolOutput};
use wire::{ModelStreamEvent, ResponseEnd, StreamDecoder, TokenUsage};

use crate::history::HistoryItem;
use crate::recorder::call_entry;
use crate::{AgentFault, AgentSession, ModelEventStream, SessionEvent};

/// The notice about a budget that depends on an estimate.
const ESTIMATE_NOTICE: &str =
    "the model's server reports no token usage: the budget counts an estimate, 4 bytes a token";

/// Outcome of one response.
pub(crate) struct RoundOutcome {
    pub(crate) end: ResponseEnd,
    /// The response made calls, which were answered: the conversation goes on from them.
    pub(crate) made_calls: bool,
    pub(crate) interrupted: bool,
}

/// State of a response that is being received.
struct ActiveRound {
    runtime: ToolCallRuntime,
    answers: Vec<(CallId, ToolOutput)>,
    usage: Option<TokenUsage>,
    end: Option<ResponseEnd>,
    stopped: bool,
}

impl AgentSession {
    /// Sends `body` and processes the response to its end. Adds the response to the conversation unless it failed
    /// without a call.
    pub(crate) async fn run_round(&mut self, body: String) -> Result<RoundOutcome, AgentFault> {
        let (began, bytes) = (Instant::now(), body.len());
        let stop = self.handle.stop_token();
        let runtime = ToolCallRuntime::new(self.setup.router.clone());
        let mut round = ActiveRound { runtime, answers: Vec::new(), usage: None, end: None, stopped: false };
        let mut decoder = self.setup.model.dialect().stream_decoder();
        let response = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            response = self.setup.model.respond(body) => Some(response),
        };
        let Some(response) = response else { return Ok(RoundOutcome::stopped()) };
        let mut events = response?;
        while round.end.is_none() && !round.stopped {
            tokio::select! {
                biased;
                () = stop.cancelled() => round.stopped = true,
                Some(answer) = round.runtime.next_answer(), if round.runtime.open_count() > 0 => {
                    self.handle_answer(answer, &mut round)?;
                }
                event = events.next() => self.handle_stream_item(event, &mut decoder, &mut round).await?,
            }
        }
        drain_stream(events);
        let took = began.elapsed();
        let turn = decoder.into_turn();
        let dialect = turn.dialect().as_str().to_owned();
        let end = round.end.take().unwrap_or(ResponseEnd::Done);
        let made_calls = turn.calls().next().is_some()
            || turn.unread_calls().next().is_some()
            || turn.lost_calls().next().is_some();
        if matches!(end, ResponseEnd::Failed(_)) && !made_calls {
            return Ok(RoundOutcome { end, made_calls, interrupted: false });
        }
        if !turn.is_empty() {
            self.write_entry(&JournalEntry::Said { wire: dialect, items: vec![turn.to_saved_json()] })?;
        }
        let usage = round.usage.filter(is_reported);
        self.count_usage(usage, bytes, turn.to_saved_json().to_string().len());
        self.record_usage(usage.unwrap_or_default(), bytes, took)?;
        let interrupted = self.finish_calls(&mut round, &stop).await?;
        if !turn.is_empty() {
            self.history.push(HistoryItem::Round { said: turn, answers: round.answers });
        }
        self.last_usage = usage.map(|usage| (usage, self.history.byte_len()));
        Ok(RoundOutcome { end, made_calls, interrupted })
    }

    /// Waits for the calls that still run, and cancels them if the turn is stopped. Returns whether it was stopped.
    async fn finish_calls(
        &mut self,
        round: &mut ActiveRound,
        stop: &tokio_util::sync::CancellationToken,
    ) -> Result<bool, AgentFault> {
        let mut cancelled = false;
        // ends: every call is answered
        while round.runtime.open_count() > 0 {
            if round.stopped && !cancelled {
                round.runtime.cancel_turn();
                cancelled = true;
            }
            tokio::select! {
                biased;
                () = stop.cancelled(), if !round.stopped => round.stopped = true,
                Some(answer) = round.runtime.next_answer() => self.handle_answer(answer, round)?,
            }
        }
        Ok(round.stopped)
    }

    async fn handle_stream_item(
        &mut self,
        event: Option<Result<serde_json::Value, wire::ModelError>>,
        decoder: &mut StreamDecoder,
        round: &mut ActiveRound,
    ) -> Result<(), AgentFault> {
        let events = match event {
            Some(Ok(json)) => decoder.push(&json),
            Some(Err(error)) => {
                // Everything complete before the break counts. This error names the cause better than the listener's
                // own end event.
                let mut events = decoder.finish();
                events.retain(|heard| !matches!(heard, ModelStreamEvent::End(_)));
                events.push(ModelStreamEvent::End(ResponseEnd::Failed(error)));
                events
            }
            None => decoder.finish(),
        };
        for stream_event in events {
            if matches!(stream_event, ModelStreamEvent::Call(_))
                && let Some(ready) = self.setup.baseline_ready.take()
            {
                ready.await;
            }
            self.handle_event(stream_event, round)?;
        }
        Ok(())
    }

    fn handle_event(&self, heard: ModelStreamEvent, round: &mut ActiveRound) -> Result<(), AgentFault> {
        let observer = &self.setup.observer;
        match heard {
            ModelStreamEvent::Text(text) => observer.on_session_event(SessionEvent::Text(&text)),
            ModelStreamEvent::Thought(text) => observer.on_session_event(SessionEvent::Thought(&text)),
            ModelStreamEvent::Call(call) => {
                self.write_entry(&call_entry(&call))?;
                observer.on_session_event(SessionEvent::Called(&call));
                if let Err(twice) = round.runtime.start(call) {
                    observer.on_session_event(SessionEvent::Notice(&twice.to_string()));
                }
            }
            ModelStreamEvent::Fault(fault) => {
                observer.on_session_event(SessionEvent::Notice(&fault.to_string()));
            }
            ModelStreamEvent::Hosted { kind, item } => {
                observer.on_session_event(SessionEvent::ProviderToolRan { kind: &kind, item: &item });
            }
            ModelStreamEvent::Usage(usage) => round.usage = Some(usage),
            ModelStreamEvent::End(end) => round.end = Some(end),
        }
        Ok(())
    }

    fn handle_answer(
        &self,
        AnsweredCall { call, output }: AnsweredCall,
        round: &mut ActiveRound,
    ) -> Result<(), AgentFault> {
        if let Some(recorder) = &self.setup.recorder {
            recorder.record_answer(&call, &output)?;
        }
        self.setup.observer.on_session_event(SessionEvent::Answered(&call, &output));
        // A user who answers a question with "stop" stops the whole turn.
        round.stopped |= output.facts.error == Some(ToolErrorKind::Stopped);
        round.answers.push((call.id, output));
        Ok(())
    }

    /// Adds the usage of a request to the budget, or an estimate if the server reported none.
    pub(crate) fn count_usage(&self, usage: Option<TokenUsage>, sent: usize, received: usize) {
        let budget = &self.setup.limits.budget;
        match usage {
            Some(usage) => budget.add(usage),
            None if budget.add_estimate(sent, received) => {
                self.setup.observer.on_session_event(SessionEvent::Notice(ESTIMATE_NOTICE));
            }
            None => {}
        }
    }

    fn record_usage(
        &self,
        usage: TokenUsage,
        bytes: usize,
        took: std::time::Duration,
    ) -> Result<(), AgentFault> {
        self.setup.observer.on_session_event(SessionEvent::Responded { usage, took });
        self.write_entry(&JournalEntry::Usage(RequestUsage {
            input_tokens: usage.input,
            cached_tokens: usage.cached,
            output_tokens: usage.output,
            request_bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            model_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }))?;
        Ok(())
    }
}

impl RoundOutcome {
    fn stopped() -> Self {
        Self { end: ResponseEnd::Done, made_calls: false, interrupted: true }
    }
}

/// Returns whether a server counted tokens; some report zeros.
pub(crate) fn is_reported(usage: &TokenUsage) -> bool {
    usage.input > 0 || usage.output > 0
}

/// Drains the rest of a finished stream: its connection is reusable only after that.
fn drain_stream(mut events: ModelEventStream) {
    for _ in 0..64 {
        match events.next().now_or_never() {
            Some(Some(Ok(_))) => {}
            Some(Some(Err(_)) | None) => return,
            None => break,
        }
    }
    #[expect(clippy::disallowed_methods, reason = "it is no call, and ends by itself")]
    tokio::spawn(async move {
        let rest = async { while let Some(Ok(_)) = events.next().await {} };
        let _late = tokio::time::timeout(std::time::Duration::from_secs(2), rest).await;
    });
}

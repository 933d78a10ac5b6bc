//! One model response: decodes the stream, runs its calls while it still streams, and collects all answers.

use std::time::Instant;

use engine::{AnsweredCall, ToolCallRuntime};
use futures_util::{FutureExt, StreamExt};
use journal::JournalEntry;
use tool::{CallId, ToolErrorKind, ToolOutput};
use wire::{ModelStreamEvent, ResponseEnd, StreamDecoder, TokenUsage};

use crate::history::HistoryItem;
use crate::recorder::{answer_entry, call_entry};
use crate::{AgentFault, AgentSession, ModelEventStream, SessionEvent};

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
        let mut hearing =
            ActiveRound { runtime, answers: Vec::new(), usage: None, end: None, stopped: false };
        let mut listener = self.setup.model.dialect().stream_decoder();
        let response = tokio::select! {
            biased;
            () = stop.cancelled() => None,
            response = self.setup.model.respond(body) => Some(response),
        };
        let Some(response) = response else { return Ok(RoundOutcome::stopped()) };
        let mut events = response?;
        while hearing.end.is_none() && !hearing.stopped {
            tokio::select! {
                biased;
                () = stop.cancelled() => hearing.stopped = true,
                Some(answer) = hearing.runtime.next_answer(), if hearing.runtime.open_count() > 0 => {
                    self.handle_answer(answer, &mut hearing)?;
                }
                event = events.next() => self.handle_stream_item(event, &mut listener, &mut hearing).await?,
            }
        }
        drain_stream(events);
        let took = began.elapsed();
        let said = listener.into_turn();
        let dialect = said.dialect().as_str().to_owned();
        let end = hearing.end.take().unwrap_or(ResponseEnd::Done);
        let acted = said.calls().next().is_some()
            || said.unread_calls().next().is_some()
            || said.lost_calls().next().is_some();
        if matches!(end, ResponseEnd::Failed(_)) && !acted {
            return Ok(RoundOutcome { end, made_calls: acted, interrupted: false });
        }
        if !said.is_empty() {
            self.write_entry(&JournalEntry::Said { wire: dialect, items: vec![said.to_saved_json()] })?;
        }
        self.record_usage(hearing.usage.unwrap_or_default(), bytes, took)?;
        let interrupted = self.finish_calls(&mut hearing, &stop).await?;
        if !said.is_empty() {
            self.history.push(HistoryItem::Round { said, answers: hearing.answers });
        }
        self.last_usage = hearing.usage.map(|usage| (usage, self.history.byte_len()));
        Ok(RoundOutcome { end, made_calls: acted, interrupted })
    }

    /// Waits for the calls that still run, and cancels them if the turn is stopped. Returns whether it was stopped.
    async fn finish_calls(
        &mut self,
        hearing: &mut ActiveRound,
        stop: &tokio_util::sync::CancellationToken,
    ) -> Result<bool, AgentFault> {
        let mut told = false;
        // ends: every call is answered
        while hearing.runtime.open_count() > 0 {
            if hearing.stopped && !told {
                hearing.runtime.cancel_turn();
                told = true;
            }
            tokio::select! {
                biased;
                () = stop.cancelled(), if !hearing.stopped => hearing.stopped = true,
                Some(answer) = hearing.runtime.next_answer() => self.handle_answer(answer, hearing)?,
            }
        }
        Ok(hearing.stopped)
    }

    async fn handle_stream_item(
        &mut self,
        event: Option<Result<serde_json::Value, wire::ModelError>>,
        listener: &mut StreamDecoder,
        hearing: &mut ActiveRound,
    ) -> Result<(), AgentFault> {
        let heard = match event {
            Some(Ok(json)) => listener.push(&json),
            Some(Err(error)) => {
                // Everything complete before the break counts. This error names the cause better than the listener's
                // own end event.
                let mut heard = listener.finish();
                heard.retain(|heard| !matches!(heard, ModelStreamEvent::End(_)));
                heard.push(ModelStreamEvent::End(ResponseEnd::Failed(error)));
                heard
            }
            None => listener.finish(),
        };
        for heard in heard {
            if matches!(heard, ModelStreamEvent::Call(_))
                && let Some(ready) = self.setup.baseline_ready.take()
            {
                ready.await;
            }
            self.handle_event(heard, hearing)?;
        }
        Ok(())
    }

    fn handle_event(&self, heard: ModelStreamEvent, hearing: &mut ActiveRound) -> Result<(), AgentFault> {
        let watch = &self.setup.observer;
        match heard {
            ModelStreamEvent::Text(text) => watch.on_session_event(SessionEvent::Text(&text)),
            ModelStreamEvent::Thought(text) => watch.on_session_event(SessionEvent::Thought(&text)),
            ModelStreamEvent::Call(call) => {
                self.write_entry(&call_entry(&call))?;
                watch.on_session_event(SessionEvent::Called(&call));
                if let Err(twice) = hearing.runtime.start(call) {
                    watch.on_session_event(SessionEvent::Notice(&twice.to_string()));
                }
            }
            ModelStreamEvent::Fault(fault) => watch.on_session_event(SessionEvent::Notice(&fault.to_string())),
            ModelStreamEvent::Hosted { kind, item } => {
                watch.on_session_event(SessionEvent::ProviderToolRan { kind: &kind, item: &item });
            }
            ModelStreamEvent::Usage(usage) => hearing.usage = Some(usage),
            ModelStreamEvent::End(end) => hearing.end = Some(end),
        }
        Ok(())
    }

    fn handle_answer(
        &self,
        AnsweredCall { call, output }: AnsweredCall,
        hearing: &mut ActiveRound,
    ) -> Result<(), AgentFault> {
        self.write_entry(&answer_entry(&call, &output))?;
        if let (Some(recorder), Some(kept)) = (&self.setup.recorder, &output.facts.output_file) {
            recorder.hash_kept_output(&call, kept);
        }
        self.setup.observer.on_session_event(SessionEvent::Answered(&call, &output));
        // A user who answers a question with "stop" stops the whole turn.
        hearing.stopped |= output.facts.error == Some(ToolErrorKind::Stopped);
        hearing.answers.push((call.id, output));
        Ok(())
    }

    fn record_usage(&self, usage: TokenUsage, bytes: usize, took: std::time::Duration) -> Result<(), AgentFault> {
        self.setup.observer.on_session_event(SessionEvent::Responded { usage, took });
        self.write_entry(&JournalEntry::Usage {
            input_tokens: usage.input,
            cached_tokens: usage.cached,
            output_tokens: usage.output,
            request_bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            model_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        })?;
        Ok(())
    }
}

impl RoundOutcome {
    fn stopped() -> Self {
        Self { end: ResponseEnd::Done, made_calls: false, interrupted: true }
    }
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

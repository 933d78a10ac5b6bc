//! One open session of the editor: runs its turns one after another, and closes it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent::{AgentSession, JournalRecorder, SessionHandle, TurnEnd};
use parking_lot::Mutex;
use rpc::{RpcErrorCode, RpcFault};
use runtime::mcp::McpServers;
use runtime::{CancellationToken, OutputImage, Toolgate};
use serde_json::Value;

use super::editor_updates::EditorUpdates;
use super::protocol::StopReason;
use super::session_mode::SessionModeHook;
use session::prune::JournalQuota;
use session::{self, AssembledSession};

/// Maximum time for an interrupted turn to end. The turn's own limit is ten seconds.
const INTERRUPTED_TURN_TIMEOUT: Duration = Duration::from_secs(12);

/// An open session.
pub(super) struct EditorSession {
    pub(super) toolgate: Toolgate,
    pub(super) recorder: Arc<JournalRecorder>,
    pub(super) servers: Option<Arc<McpServers>>,
    pub(super) handle: SessionHandle,
    /// Locked by the task that runs a turn.
    pub(super) session: tokio::sync::Mutex<AgentSession>,
    /// Cancelled and replaced when the editor cancels its requests so far.
    pub(super) stop: Mutex<CancellationToken>,
    pub(super) modes: Arc<SessionModeHook>,
    pub(super) updates: Arc<EditorUpdates>,
    pub(super) quota: JournalQuota,
}

impl EditorSession {
    /// Returns the session id.
    pub(super) fn id(&self) -> &str {
        self.updates.session_id()
    }

    /// Returns the path of the session's journal.
    pub(super) fn journal_path(&self) -> &Path {
        self.recorder.path()
    }

    pub(super) fn updates(&self) -> &EditorUpdates {
        &self.updates
    }

    /// Returns true while a turn runs.
    pub(super) fn is_busy(&self) -> bool {
        self.session.try_lock().is_err()
    }

    /// Returns the modes as JSON for the editor.
    pub(super) fn modes_json(&self) -> Value {
        self.modes.to_json()
    }

    pub(super) fn set_mode(&self, id: &str) -> Result<(), RpcFault> {
        self.modes
            .switch_to(id)
            .map_err(|why| RpcErrorCode::Params.fault(format!("the params do not fit at `modeId`: {why}")))
    }

    /// Cancels the running turn and the queued prompts.
    pub(super) fn cancel(&self) {
        std::mem::take(&mut *self.stop.lock()).cancel();
    }

    /// Runs a turn and returns its stop reason. A prompt that arrives during a turn waits for its end.
    pub(super) async fn prompt(
        &self,
        text: &str,
        images: Vec<OutputImage>,
        request_cancel: CancellationToken,
    ) -> Result<StopReason, RpcFault> {
        let stop = self.stop.lock().clone();
        let stopped = async {
            tokio::select! {
                () = stop.cancelled() => {}
                () = request_cancel.cancelled() => {}
            }
        };
        tokio::pin!(stopped);
        let mut session = tokio::select! {
            biased;
            () = &mut stopped => return Ok(StopReason::Cancelled),
            // Prompts run in order of arrival: the first poll of a request happens before the next request is
            // read.
            session = self.session.lock() => session,
        };
        // The code below needs a task that can be woken, and during the first poll of a request no task can
        // be.
        tokio::task::yield_now().await;
        let ended = {
            let turn = session.prompt(text, images);
            tokio::pin!(turn);
            tokio::select! {
                // The turn first: it has to begin before it can be interrupted.
                biased;
                ended = &mut turn => ended,
                () = &mut stopped => {
                    self.handle.interrupt();
                    turn.await
                }
            }
        };
        self.toolgate.end_turn();
        drop(session);
        match ended {
            Ok(ended) => Ok(stop_reason(&ended)),
            Err(fault) => Err(RpcErrorCode::Internal.fault(fault.to_string())),
        }
    }

    /// Closes the session and ends its processes. The journal stays on disk.
    pub(super) async fn close(&self, why: &str) {
        self.cancel();
        // An interrupted turn still writes to the journal that it was interrupted.
        let _turn = tokio::time::timeout(INTERRUPTED_TURN_TIMEOUT, self.session.lock()).await;
        AssembledSession::shut_down(&self.toolgate, self.servers.clone(), None).await;
        if let Err(fault) = session::close_journal(&self.recorder, why) {
            tracing::warn!(%fault, "the end of a session could not be written down");
        }
        self.quota.apply();
    }
}

fn stop_reason(ended: &TurnEnd) -> StopReason {
    match ended {
        TurnEnd::Done => StopReason::EndTurn,
        TurnEnd::Interrupted => StopReason::Cancelled,
        TurnEnd::OutOfRounds => StopReason::MaxTurnRequests,
        TurnEnd::OutOfBudget { .. } => StopReason::MaxTokens,
        // The words of three providers. Any other reason means that the response was cut off.
        TurnEnd::CutShort { why } => match why.as_str() {
            "refusal" | "content_filter" => StopReason::Refusal,
            "cancelled" => StopReason::Cancelled,
            _ => StopReason::MaxTokens,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_end_maps_to_a_stop_reason() {
        let cut = |why: &str| TurnEnd::CutShort { why: why.to_owned() };
        let rows = [
            (TurnEnd::Done, StopReason::EndTurn),
            (TurnEnd::Interrupted, StopReason::Cancelled),
            (TurnEnd::OutOfRounds, StopReason::MaxTurnRequests),
            (cut("max_output_tokens"), StopReason::MaxTokens),
            (cut("length"), StopReason::MaxTokens),
            (cut("content_filter"), StopReason::Refusal),
            (cut("refusal"), StopReason::Refusal),
        ];
        for (ended, expected) in rows {
            assert_eq!(stop_reason(&ended), expected, "{ended:?}");
        }
    }
}

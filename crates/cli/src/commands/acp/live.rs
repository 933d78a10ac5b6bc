//! One session of the editor's: its turns, one after another, and its end.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::{Ended, Handle, Recorder, Session};
use rpc::{Code, RpcFault};
use serde_json::Value;
use toolgate::mcp::Servers;
use toolgate::{CancellationToken, Image, Toolgate};

use super::modes::Modes;
use super::protocol::StopReason;
use super::updates::Updates;
use crate::session::{self, Made};

/// How long a turn that was stopped may take to end; it has ten seconds of its own.
const LAST: Duration = Duration::from_secs(12);

/// A session that runs.
pub(super) struct Live {
    pub(super) toolgate: Toolgate,
    pub(super) recorder: Arc<Recorder>,
    pub(super) servers: Option<Arc<Servers>>,
    pub(super) handle: Handle,
    /// Whoever has it runs a turn.
    pub(super) session: tokio::sync::Mutex<Session>,
    /// Cancelled, and made anew, when the editor stops what it asked for so far.
    pub(super) stop: Mutex<CancellationToken>,
    pub(super) modes: Arc<Modes>,
    pub(super) updates: Arc<Updates>,
}

impl Live {
    /// What it is called.
    pub(super) fn id(&self) -> &str {
        self.updates.session()
    }

    /// Where it is written down.
    pub(super) fn journal(&self) -> &Path {
        self.recorder.path()
    }

    pub(super) fn updates(&self) -> &Updates {
        &self.updates
    }

    /// Whether a turn runs.
    pub(super) fn is_busy(&self) -> bool {
        self.session.try_lock().is_err()
    }

    /// Its modes, for the editor.
    pub(super) fn modes(&self) -> Value {
        self.modes.described()
    }

    pub(super) fn set_mode(&self, id: &str) -> Result<(), RpcFault> {
        self.modes
            .set(id)
            .map_err(|why| Code::Params.fault(format!("the params do not fit at `modeId`: {why}")))
    }

    fn stop(&self) -> MutexGuard<'_, CancellationToken> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stops the turn that runs, and those that wait for it.
    pub(super) fn cancel(&self) {
        std::mem::take(&mut *self.stop()).cancel();
    }

    /// Has the model work. A prompt that comes while a turn runs waits for its end.
    pub(super) async fn prompt(
        &self,
        text: &str,
        images: Vec<Image>,
        taken_back: CancellationToken,
    ) -> Result<StopReason, RpcFault> {
        let stop = self.stop().clone();
        let stopped = async {
            tokio::select! {
                () = stop.cancelled() => {}
                () = taken_back.cancelled() => {}
            }
        };
        tokio::pin!(stopped);
        let mut session = tokio::select! {
            biased;
            () = &mut stopped => return Ok(StopReason::Cancelled),
            // In the order in which they came: the first step of a request is taken before the next is read.
            session = self.session.lock() => session,
        };
        // What comes next is for a task that can be woken, and in that first step none is.
        tokio::task::yield_now().await;
        let ended = {
            let turn = session.prompt(text, images);
            tokio::pin!(turn);
            tokio::select! {
                // The turn first: it begins before it can be stopped.
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
            Ok(ended) => Ok(reason(&ended)),
            Err(fault) => Err(Code::Internal.fault(fault.to_string())),
        }
    }

    /// Ends it, and what runs in it; its journal stays.
    pub(super) async fn close(&self, why: &str) {
        self.cancel();
        // A turn that is being stopped still writes down that it was.
        let _turn = tokio::time::timeout(LAST, self.session.lock()).await;
        Made::closed(&self.toolgate, self.servers.clone(), None).await;
        if let Err(fault) = session::close(&self.recorder, why) {
            tracing::warn!(%fault, "the end of a session could not be written down");
        }
    }
}

fn reason(ended: &Ended) -> StopReason {
    match ended {
        Ended::Done => StopReason::EndTurn,
        Ended::Interrupted => StopReason::Cancelled,
        Ended::OutOfRounds => StopReason::MaxTurnRequests,
        // The words of three providers; what else stops a response, stops it before its end.
        Ended::CutShort { why } => match why.as_str() {
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
    fn every_end_has_a_word_of_the_protocols() {
        let cut = |why: &str| Ended::CutShort { why: why.to_owned() };
        let rows = [
            (Ended::Done, StopReason::EndTurn),
            (Ended::Interrupted, StopReason::Cancelled),
            (Ended::OutOfRounds, StopReason::MaxTurnRequests),
            (cut("max_output_tokens"), StopReason::MaxTokens),
            (cut("length"), StopReason::MaxTokens),
            (cut("content_filter"), StopReason::Refusal),
            (cut("refusal"), StopReason::Refusal),
        ];
        for (ended, expected) in rows {
            assert_eq!(reason(&ended), expected, "{ended:?}");
        }
    }
}

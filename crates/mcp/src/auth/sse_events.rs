//! Reads the SSE events of an HTTP server, with size limits and reconnect backoff.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::stream::StreamExt;
use http_client::SseEvents;
use parking_lot::Mutex;
use reqwest::Response;
use rmcp::model::RequestId;
use sse_stream::{Error, Sse};

use super::http_post::unread_answer_error;
use crate::json_limits::{self, JsonExcess, MAX_MESSAGE_BYTES};

/// The shortest and the longest pause before a closed stream is reopened.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// A stream that lived this long resets the reconnect counter.
const LONG_LIVED: Duration = Duration::from_secs(30);
/// Maximum number of consecutive streams without an event.
const MAX_SILENT_STREAMS: u32 = 20;

/// Returns the events of an answer to the request `asked`. An error response to that request replaces an oversized
/// event.
pub(super) fn answer_events(answer: Response, asked: Option<RequestId>) -> SseEvents {
    let events = http_client::sse_events(answer, MAX_MESSAGE_BYTES);
    let read = move |event: Result<Sse, Error>| {
        let replacement = |excess| match &asked {
            Some(id) => Sse::default()
                .data(serde_json::to_string(&unread_answer_error(id.clone(), excess)).unwrap_or_default()),
            None => Sse::default(),
        };
        match event {
            Err(Error::Utf8Parse(_)) => Ok(replacement(JsonExcess::Bytes)),
            Err(error) if http_client::is_too_long(&error) => Ok(replacement(JsonExcess::Long)),
            Err(error) => Err(error),
            Ok(event) => Ok(check_event(event).unwrap_or_else(replacement)),
        }
    };
    events.map(read).boxed()
}

/// Checks the size of an event, and clamps its retry pause.
fn check_event(mut event: Sse) -> Result<Sse, JsonExcess> {
    event.retry =
        event.retry.map(|pause| Duration::from_millis(pause).clamp(MIN_PAUSE, MAX_PAUSE)).map(millis);
    json_limits::check_message(event.data.as_deref().unwrap_or_default().as_bytes())?;
    Ok(event)
}

fn millis(pause: Duration) -> u64 {
    u64::try_from(pause.as_millis()).unwrap_or(u64::MAX)
}

/// Counts the streams opened since the last event or long-lived stream, and holds the time of the last one.
#[derive(Clone, Default)]
pub(super) struct SseReconnects(Arc<Mutex<(u32, Option<Instant>)>>);

impl SseReconnects {
    /// Waits before the next stream is opened. Returns `false` if there were too many.
    pub(super) async fn wait_to_reconnect(&self) -> bool {
        let before = {
            let mut kept = self.0.lock();
            if kept.1.is_some_and(|opened| opened.elapsed() > LONG_LIVED) {
                kept.0 = 0;
            }
            kept.0 += 1;
            kept.0 - 1
        };
        if before > MAX_SILENT_STREAMS {
            return false;
        }
        let pause = Self::pause_after(before);
        // Even a zero sleep costs a timer tick, and events during it would be lost.
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        self.0.lock().1 = Some(Instant::now());
        true
    }

    /// The first two streams are a stream and its continuation, so neither waits.
    fn pause_after(before: u32) -> Duration {
        let doubled = before.checked_sub(2).map(|more| MIN_PAUSE * 2_u32.saturating_pow(more.min(16)));
        doubled.unwrap_or_default().min(MAX_PAUSE)
    }

    /// Returns the events of a stream without the oversized ones. An event resets the counter.
    pub(super) fn filter_events(&self, events: SseEvents) -> SseEvents {
        let reconnects = self.clone();
        let read = move |event: Result<Sse, Error>| {
            let event = event.map(|event| {
                check_event(event).unwrap_or_else(|excess| {
                    tracing::warn!(%excess, "an event of a server was left out");
                    Sse::default()
                })
            });
            if event.as_ref().is_ok_and(|event| event.data.as_ref().is_some_and(|data| !data.is_empty())) {
                reconnects.0.lock().0 = 0;
            }
            event
        };
        events.map(read).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconnect_pauses_are_clamped_and_grow() {
        let pause = |retry: u64| check_event(Sse::default().retry(retry)).unwrap().retry;
        assert_eq!([0, 999, 5_000, u64::MAX].map(pause), [1_000, 1_000, 5_000, 60_000].map(Some));
        let pauses: Vec<u64> = (0..10).map(|before| SseReconnects::pause_after(before).as_secs()).collect();
        assert_eq!(pauses, [0, 0, 1, 2, 4, 8, 16, 32, 60, 60]);
    }
}

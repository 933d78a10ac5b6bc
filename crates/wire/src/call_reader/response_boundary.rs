//! Detects response boundaries: within a response no call is reported twice; the next response may reuse its ids.

use serde_json::Value;

use super::chat::{finish_reason, first_choice, is_whole_response};
use super::local_shell;
use crate::Dialect;

/// The position of a piece of JSON within a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseFragment<'a> {
    /// The start of a response.
    Start(Option<&'a str>),
    /// A part of a streamed response.
    Part(Option<&'a str>),
    /// The end of a streamed response, which may repeat all of it.
    End(Option<&'a str>),
    /// A whole response or message.
    Whole(Option<&'a str>),
    /// A single call outside a response.
    Item,
    /// JSON that is irrelevant to response boundaries.
    Other,
}

impl<'a> ResponseFragment<'a> {
    /// Classifies a piece of JSON.
    pub(super) fn classify(dialect: Dialect, json: &'a Value) -> Self {
        match dialect {
            Dialect::Responses => Self::classify_responses(json),
            Dialect::Chat => Self::classify_chat(json),
            Dialect::Anthropic => Self::classify_anthropic(json),
        }
    }

    fn classify_responses(json: &'a Value) -> Self {
        let id = json["response"]["id"].as_str();
        match json["type"].as_str() {
            Some("response.created") => Self::Start(id),
            Some("response.completed" | "response.done") => Self::End(id),
            Some("response.incomplete" | "response.failed" | "response.cancelled") => Self::End(id),
            Some("function_call" | "custom_tool_call" | local_shell::ITEM_TYPE) => Self::Item,
            Some(event) if event.starts_with("response.") => Self::Part(id),
            Some(_) | None if json["output"].is_array() => Self::Whole(json["id"].as_str()),
            Some(_) | None => Self::Other,
        }
    }

    fn classify_chat(json: &'a Value) -> Self {
        let id = json["id"].as_str().filter(|id| !id.is_empty());
        if !json["choices"].is_array() {
            let is_message = json["tool_calls"].is_array() || json["function_call"].is_object();
            return if is_message { Self::Whole(None) } else { Self::Item };
        }
        match first_choice(json) {
            Some(choice) if is_whole_response(choice) => Self::Whole(id),
            // The delta may be absent.
            Some(choice) if finish_reason(choice).is_some() => Self::End(id),
            Some(choice) if choice["delta"].is_object() => Self::Part(id),
            // Usage, a keep-alive or an alternative choice marks no boundary.
            Some(_) | None => Self::Other,
        }
    }

    fn classify_anthropic(json: &'a Value) -> Self {
        match json["type"].as_str() {
            Some("message_start") => Self::Start(json["message"]["id"].as_str()),
            Some("message_stop") => Self::End(None),
            Some("tool_use") => Self::Item,
            Some(event) if event.starts_with("content_block_") => Self::Part(None),
            Some(_) | None if json["content"].is_array() => Self::Whole(json["id"].as_str()),
            Some(_) | None => Self::Other,
        }
    }
}

/// The response that the last piece belonged to.
#[derive(Debug, Default)]
pub(super) enum ResponseTracker {
    #[default]
    None,
    Streaming(Option<String>),
    Streamed(Option<String>),
    Whole,
}

impl ResponseTracker {
    /// Records `piece`, and returns whether it begins another response. `idle` means that no call is open. Some proxies
    /// give every chunk its own id, so an open call continues regardless of the id.
    pub(super) fn starts_new_response(&mut self, piece: ResponseFragment<'_>, idle: bool) -> bool {
        let owned = |id: Option<&str>| id.map(str::to_owned);
        let (another, next) = match (piece, &*self) {
            (ResponseFragment::Item | ResponseFragment::Other, _) => return false,
            (ResponseFragment::Start(id), _) => (true, Self::Streaming(owned(id))),
            (ResponseFragment::Part(id) | ResponseFragment::End(id), Self::Streaming(last)) => {
                let id = owned(id).or_else(|| last.clone());
                let renamed = matches!(piece, ResponseFragment::Part(_)) && last.is_some() && id != *last;
                (renamed && idle, Self::Streaming(id))
            }
            // Some servers close a stream more than once, and repeat a call in between.
            (
                ResponseFragment::Part(Some(id)) | ResponseFragment::End(Some(id)),
                Self::Streamed(Some(last)),
            ) if id == last => (false, Self::Streaming(owned(Some(id)))),
            (
                ResponseFragment::Part(id) | ResponseFragment::End(id),
                Self::None | Self::Streamed(_) | Self::Whole,
            ) => (true, Self::Streaming(owned(id))),
            // A whole message repeats the stream before it, if the ids are equal or the stream had no end.
            (ResponseFragment::Whole(_), Self::Streaming(last)) => (false, Self::Streamed(last.clone())),
            (ResponseFragment::Whole(Some(id)), Self::Streamed(Some(last))) if id == last => {
                (false, Self::Whole)
            }
            (ResponseFragment::Whole(_), Self::None | Self::Streamed(_) | Self::Whole) => (true, Self::Whole),
        };
        *self = match (piece, next) {
            (ResponseFragment::End(_), Self::Streaming(id)) => Self::Streamed(id),
            (_, next) => next,
        };
        another
    }
}

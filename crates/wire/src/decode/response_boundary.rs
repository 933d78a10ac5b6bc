//! Detects response boundaries: within a response no call is reported twice; the next response may reuse its ids.

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
    /// Records `piece`, and returns whether it begins another response. Some proxies
    /// give every chunk its own id, so an open call continues regardless of the id.
    pub(super) fn starts_new_response(&mut self, piece: ResponseFragment<'_>, has_open_call: bool) -> bool {
        let owned = |id: Option<&str>| id.map(str::to_owned);
        let (another, next) = match (piece, &*self) {
            (ResponseFragment::Item | ResponseFragment::Other, _) => return false,
            (ResponseFragment::Start(id), _) => (true, Self::Streaming(owned(id))),
            (ResponseFragment::Part(id) | ResponseFragment::End(id), Self::Streaming(last)) => {
                let id = owned(id).or_else(|| last.clone());
                let renamed = matches!(piece, ResponseFragment::Part(_)) && last.is_some() && id != *last;
                (renamed && !has_open_call, Self::Streaming(id))
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

//! The interface of a model: an API behind a URL, or a script.

use futures_util::stream::BoxStream;
use serde_json::Value;
use tool::BoxFuture;
use wire::{Dialect, ModelError};

/// The events of one response, in the API's own JSON. An error is always the last item.
pub type ModelEventStream = BoxStream<'static, Result<Value, ModelError>>;

/// Takes requests in one dialect and streams responses.
pub trait ModelBackend: Send + Sync {
    /// The dialect that it speaks.
    fn dialect(&self) -> Dialect;

    /// Sends a request that [`Dialect::request_body`] serialised. Dropping the stream abandons the response.
    fn respond(&self, body: String) -> BoxFuture<'_, Result<ModelEventStream, ModelError>>;
}

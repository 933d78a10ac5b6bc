//! Whoever is asked: a model behind a URL, or a script.

use futures_util::stream::BoxStream;
use serde_json::Value;
use tool::BoxFuture;
use wire::{Dialect, ModelError};

/// The events of one response, as its API has them; a fault is the last of them.
pub type Events = BoxStream<'static, Result<Value, ModelError>>;

/// Something that takes requests in one dialect and streams responses.
pub trait Model: Send + Sync {
    /// What it speaks.
    fn dialect(&self) -> Dialect;

    /// Sends a request that [`Dialect::request`] wrote. Dropping what comes back gives the response up.
    fn respond(&self, body: String) -> BoxFuture<'_, Result<Events, ModelError>>;
}

//! Wraps a model so that all agents share one limit on concurrent requests.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::Value;
use tokio::sync::Semaphore;
use tool::BoxFuture;
use wire::{Dialect, ModelError};

use crate::{ModelBackend, ModelEventStream};

/// Limits the concurrent requests of all agents. The root session is not counted, because it must not wait for its
/// agents.
#[derive(Clone)]
pub struct RequestLimit(Arc<Semaphore>);

impl RequestLimit {
    pub(super) fn new(requests: usize) -> Self {
        Self(Arc::new(Semaphore::new(requests.max(1))))
    }

    /// Returns `model` with its requests counted against the limit.
    pub fn wrap_model(&self, model: Arc<dyn ModelBackend>) -> Arc<dyn ModelBackend> {
        Arc::new(LimitedModel { model, requests: Arc::clone(&self.0) })
    }
}

struct LimitedModel {
    model: Arc<dyn ModelBackend>,
    requests: Arc<Semaphore>,
}

impl ModelBackend for LimitedModel {
    fn dialect(&self) -> Dialect {
        self.model.dialect()
    }

    fn respond(&self, body: String) -> BoxFuture<'_, Result<ModelEventStream, ModelError>> {
        Box::pin(async move {
            // `None` only if the semaphore is closed, and no code closes it.
            let permit = Arc::clone(&self.requests).acquire_owned().await.ok();
            let events = self.model.respond(body).await?;
            // The permit is held until the response ends or is dropped, so it is never held while waiting for
            // anything else.
            let held = move |event: Result<Value, ModelError>| {
                let _held = &permit;
                event
            };
            Ok(events.map(held).boxed())
        })
    }
}

//! A model of which only so many requests are under way at a time, of all agents together.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::Value;
use tokio::sync::Semaphore;
use tool::BoxFuture;
use wire::{Dialect, ModelError};

use crate::{Events, Model};

/// How many requests of agents may be under way at a time. The session that nobody started is not counted: it must not wait for them.
#[derive(Clone)]
pub struct Budget(Arc<Semaphore>);

impl Budget {
    pub(super) fn of(requests: usize) -> Self {
        Self(Arc::new(Semaphore::new(requests.max(1))))
    }

    /// `model`, whose requests count.
    pub fn share(&self, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(Budgeted { model, requests: Arc::clone(&self.0) })
    }
}

struct Budgeted {
    model: Arc<dyn Model>,
    requests: Arc<Semaphore>,
}

impl Model for Budgeted {
    fn dialect(&self) -> Dialect {
        self.model.dialect()
    }

    fn respond(&self, body: String) -> BoxFuture<'_, Result<Events, ModelError>> {
        Box::pin(async move {
            // Nobody closes it.
            let permit = Arc::clone(&self.requests).acquire_owned().await.ok();
            let events = self.model.respond(body).await?;
            // Held until the response is over, or given up: never while something else is waited for.
            let held = move |event: Result<Value, ModelError>| {
                let _held = &permit;
                event
            };
            Ok(events.map(held).boxed())
        })
    }
}

//! One file a command.

pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod pipe;
pub(crate) mod tools;

use std::future::Future;

use crate::fault::Fault;

/// Runs `work` with an async runtime around it.
fn block_on<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

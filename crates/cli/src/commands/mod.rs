//! One file a command.

pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod pipe;
pub(crate) mod sandbox;
pub(crate) mod tools;

use std::future::Future;

use crate::fault::Fault;

/// Runs `work` with an async runtime around it.
fn block_on<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(work);
    // Work that nobody waits for any more may sit in a read that does not come back; the process does not wait either.
    runtime.shutdown_background();
    done
}

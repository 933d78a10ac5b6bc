//! The subcommands of `toolgate`, one module each.

pub(crate) mod acp;
pub(crate) mod approve;
pub(crate) mod call;
pub(crate) mod changes;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod log;
mod log_prune;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod mcp_servers;
pub(crate) mod patch;
pub(crate) mod pipe;
pub(crate) mod policy;
pub(crate) mod replay;
pub(crate) mod run;
pub(crate) mod sandbox;
pub(crate) mod script_server;
pub(crate) mod serve;
pub(crate) mod stats;
pub(crate) mod tools;
pub(crate) mod try_command;

use std::future::Future;

use tokio::runtime::Builder;

use ::config::OperationFault;

/// Runs `work` on a multi-threaded async runtime.
pub(crate) fn block_on<T>(
    work: impl Future<Output = Result<T, OperationFault>>,
) -> Result<T, OperationFault> {
    block_in(Builder::new_multi_thread(), work)
}

/// Runs `work` on a single-threaded async runtime. For one task, this saves the start-up time of threads.
pub(crate) fn block_on_current_thread<T>(
    work: impl Future<Output = Result<T, OperationFault>>,
) -> Result<T, OperationFault> {
    block_in(Builder::new_current_thread(), work)
}

fn block_in<T>(
    mut builder: Builder,
    work: impl Future<Output = Result<T, OperationFault>>,
) -> Result<T, OperationFault> {
    let runtime = builder.enable_all().build()?;
    let done = runtime.block_on(work);
    // Abandoned work may hang in a blocking read; the process does not wait for it.
    runtime.shutdown_background();
    done
}

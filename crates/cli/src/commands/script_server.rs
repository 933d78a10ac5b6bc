//! `toolgate script-server`: serves a scripted model at a local URL.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use agent::{ScriptedBackend, ScriptedModelServer as Server};
use parking_lot::Mutex;
use runtime::wire::Dialect;
use serde_json::{Value, json};

use crate::args::ScriptServerArgs;
use config::OperationFault;

pub(crate) fn run(args: &ScriptServerArgs) -> Result<ExitCode, OperationFault> {
    let turns = session::choose_model::read_script(&args.file)?;
    let log = args.log.as_deref().map(open_for_append).transpose()?;
    let log = Arc::new(Mutex::new(log));
    super::block_on(async {
        let server = Server::bind(args.port, ScriptedBackend::new(Dialect::Responses, turns)).await?;
        terminal::print_text(&format!("http://{}/v1", server.local_addr()?))?;
        let log_request = move |path: &str, body: &str| {
            if let Some(file) = log.lock().as_mut() {
                let body: Value = serde_json::from_str(body).unwrap_or_default();
                let _nobody_reads = writeln!(file, "{}", json!({ "path": path, "body": body }));
            }
        };
        tokio::select! {
            served = server.serve(log_request) => served?,
            _ = tokio::signal::ctrl_c() => {}
        }
        Ok(ExitCode::SUCCESS)
    })
}

fn open_for_append(file: &Path) -> Result<std::fs::File, OperationFault> {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
    opened.map_err(|error| {
        OperationFault::usage(format!("the log `{}` cannot be written: {error}", file.display()))
    })
}

//! Starts server programs unconfined.
#![expect(clippy::disallowed_methods, reason = "tests start real programs")]

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::sync::oneshot;
use tool::BoxFuture;
use toolgate_mcp::{LaunchFault, LaunchedServer, McpServerConfig, ServerLauncher, ServerTransport};

/// Starts a program unconfined: these tests are not about confinement.
struct UnconfinedLauncher(Vec<OsString>);

impl ServerLauncher for UnconfinedLauncher {
    fn launch(&self, stdio: [OwnedFd; 3]) -> BoxFuture<'_, Result<Box<dyn LaunchedServer>, LaunchFault>> {
        let [stdin, stdout, stderr] = stdio;
        let mut command = Command::new(&self.0[0]);
        command.args(&self.0[1..]).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        let started =
            command.spawn().map_err(|error| LaunchFault { why: error.to_string(), retryable: false });
        Box::pin(std::future::ready(
            started.map(|child| Box::new(UnconfinedServer::wait_for(child)) as Box<dyn LaunchedServer>),
        ))
    }
}

struct UnconfinedServer {
    group: Pid,
    ended: Option<oneshot::Receiver<String>>,
}

impl UnconfinedServer {
    fn wait_for(mut child: Child) -> Self {
        let group = Pid::from_child(&child);
        let (sender, ended) = oneshot::channel();
        thread::spawn(move || sender.send(child.wait().unwrap().to_string()));
        Self { group, ended: Some(ended) }
    }
}

impl LaunchedServer for UnconfinedServer {
    fn wait_for_exit(&mut self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            match &mut self.ended {
                Some(ended) => {
                    let how = ended.await.unwrap_or_default();
                    self.ended = None;
                    how
                }
                None => std::future::pending().await,
            }
        })
    }
}

impl Drop for UnconfinedServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = kill_process_group(self.group, Signal::KILL);
    }
}

/// Returns the server `name` that runs `command`; `limit` is its time limit for starting and for a call.
pub(crate) fn program(name: &str, command: Vec<OsString>, limit: Duration) -> McpServerConfig {
    let mut server =
        McpServerConfig::new(name, ServerTransport::Program(Arc::new(UnconfinedLauncher(command))));
    (server.startup_timeout, server.tool_timeout) = (limit, limit);
    server
}

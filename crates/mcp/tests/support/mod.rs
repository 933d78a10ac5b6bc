//! Programs that are servers, and somebody who calls their tools as a model would.
#![expect(clippy::disallowed_methods, reason = "tests start real programs")]

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::{ToolRegistry, ToolRouter};
use policy::{DenyRead, Gate, Reach, ReviewDecision, Root, SandboxPolicy};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use testkit::Scripted;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tool::{BoxFuture, Item, Place, ToolCall, ToolOutput, ToolSource};
use toolgate_mcp::{Launch, LaunchFault, Running, Server, Servers, Transport};

/// Starts a program, unconfined: these tests are not about what it may do.
struct Program(Vec<OsString>);

impl Launch for Program {
    fn launch(&self, stdio: [OwnedFd; 3]) -> BoxFuture<'_, Result<Box<dyn Running>, LaunchFault>> {
        let [stdin, stdout, stderr] = stdio;
        let mut command = Command::new(&self.0[0]);
        command.args(&self.0[1..]).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        let started = command.spawn().map_err(|error| LaunchFault { why: error.to_string(), passing: false });
        Box::pin(std::future::ready(started.map(|child| Box::new(Started::of(child)) as Box<dyn Running>)))
    }
}

struct Started {
    group: Pid,
    ended: Option<oneshot::Receiver<String>>,
}

impl Started {
    fn of(mut child: Child) -> Self {
        let group = Pid::from_child(&child);
        let (sender, ended) = oneshot::channel();
        thread::spawn(move || sender.send(child.wait().unwrap().to_string()));
        Self { group, ended: Some(ended) }
    }
}

impl Running for Started {
    fn ended(&mut self) -> BoxFuture<'_, String> {
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

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = kill_process_group(self.group, Signal::KILL);
    }
}

/// The server that `command` is, as `name`, which may take so long to start and to answer a call.
pub(crate) fn program(name: &str, command: Vec<OsString>, limit: Duration) -> Server {
    let mut server = Server::new(name, Transport::Program(Arc::new(Program(command))));
    (server.startup_timeout, server.tool_timeout) = (limit, limit);
    server
}

/// Calls a tool by our name for it, with the yes of whoever is asked.
pub(crate) async fn call(servers: &Servers, name: &str, arguments: &Value) -> ToolOutput {
    servers.settled(None).await;
    let Some(tool) = servers.find(name) else {
        return ToolOutput::failure(format!("there is no `{name}`: {:?}", servers.health()));
    };
    let registry = ToolRegistry::builder().any(tool).build().unwrap();
    let root = std::env::temp_dir();
    let reach = Reach::new(vec![Root::new(&root)], DenyRead::new(&[] as &[&str], None).unwrap());
    let router = ToolRouter::new(registry, Gate::new(reach, SandboxPolicy::ReadOnly), Place { cwd: root })
        .with_approver(Scripted::new(|_| ReviewDecision::Approved));
    router.dispatch(ToolCall::function("1", name, arguments.to_string()), CancellationToken::new()).await
}

/// What a model reads of an answer.
pub(crate) fn read(output: &ToolOutput) -> String {
    let item = |item: &Item| match item {
        Item::Text(text) => text.clone(),
        Item::Image(image) => format!("<{} of {} bytes>", image.mime, image.bytes.len()),
    };
    output.items.iter().map(item).collect::<Vec<_>>().join("\n")
}

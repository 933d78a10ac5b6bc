//! The hostile server as a program that is started, and somebody who calls its tools as a model would.
#![expect(clippy::disallowed_methods, reason = "tests start real programs")]

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::{ToolRegistry, ToolRouter};
use policy::{DenyRead, Gate, Reach, Root, SandboxPolicy};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use testkit::Scripted;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tool::{BoxFuture, Item, Place, ToolCall, ToolOutput, ToolSource};
use toolgate_mcp::{Launch, LaunchFault, Means, Running, Server, Servers, Transport};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile/server.py");

/// Starts the server in one of its modes.
struct Hostile(&'static str);

impl Launch for Hostile {
    fn launch(&self, stdio: [OwnedFd; 3]) -> BoxFuture<'_, Result<Box<dyn Running>, LaunchFault>> {
        let [stdin, stdout, stderr] = stdio;
        let mut command = Command::new("python3");
        command.args([SCRIPT, self.0]).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
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

/// The server in a mode, as `h`, which may take so long to start and to answer a call.
pub(crate) fn started(mode: &'static str, limit: Duration, means: &Means) -> Arc<Servers> {
    let mut server = Server::new("h", Transport::Program(Arc::new(Hostile(mode))));
    (server.startup_timeout, server.tool_timeout) = (limit, limit);
    Servers::start(vec![server], means)
}

/// Has its tool `echo` say `hi`.
pub(crate) async fn echo(servers: &Servers) -> ToolOutput {
    servers.settled(None).await;
    let Some(tool) = servers.find("mcp__h__echo") else {
        return ToolOutput::failure(format!("there is no `echo`: {:?}", servers.health()));
    };
    let registry = ToolRegistry::builder().any(tool).build().unwrap();
    let deny = DenyRead::new(&[] as &[&str], None).unwrap();
    let root = std::env::temp_dir();
    let gate = Gate::new(Reach::new(vec![Root::new(&root)], deny), SandboxPolicy::ReadOnly);
    let router = ToolRouter::new(registry, gate, Place { cwd: root }).with_approver(Scripted::confined());
    let call = ToolCall::function("1", "mcp__h__echo", json!({"text": "hi"}).to_string());
    router.dispatch(call, CancellationToken::new()).await
}

/// What a model reads of an answer.
pub(crate) fn read(output: &ToolOutput) -> String {
    let item = |item: &Item| match item {
        Item::Text(text) => text.clone(),
        Item::Image(image) => format!("<{}>", image.mime),
    };
    output.items.iter().map(item).collect::<Vec<_>>().join("\n")
}

//! Calls tools as a model would.

use std::sync::Arc;

use engine::{ToolRegistry, ToolRouter};
use policy::{DenyRead, Gate, ReadRoot, ReadScope, ReviewDecision, SandboxPolicy};
use serde_json::Value;
use testkit::TestApprover;
use tokio_util::sync::CancellationToken;
use tool::{AnyTool, OutputItem, ToolCall, ToolOutput, ToolSource, WorkingDir};
use toolgate_mcp::McpServers;

/// Calls a tool by our name for it, and approves every question.
pub(crate) async fn call(servers: &McpServers, name: &str, arguments: &Value) -> ToolOutput {
    servers.wait_until_settled(None).await;
    let Some(tool) = servers.find(name) else {
        return ToolOutput::failure(format!("there is no `{name}`: {:?}", servers.health()));
    };
    call_tool(tool, arguments).await
}

/// Calls a tool, even an outdated one, and approves every question.
pub(crate) async fn call_tool(tool: Arc<dyn AnyTool>, arguments: &Value) -> ToolOutput {
    let name = tool.spec().name().to_owned();
    let registry = ToolRegistry::builder().erased(tool).build().unwrap();
    let root = std::env::temp_dir();
    let reach = ReadScope::new(vec![ReadRoot::new(&root)], DenyRead::new(&[] as &[&str], None).unwrap());
    let router =
        ToolRouter::new(registry, Gate::new(reach, SandboxPolicy::ReadOnly), WorkingDir { cwd: root })
            .with_approver(TestApprover::new(|_| ReviewDecision::Approved));
    router.dispatch(ToolCall::function("1", name, arguments.to_string()), CancellationToken::new()).await
}

/// Returns the text of an answer as the model reads it.
pub(crate) fn read(output: &ToolOutput) -> String {
    let item = |item: &OutputItem| match item {
        OutputItem::Text(text) => text.clone(),
        OutputItem::Image(image) => format!("<{} of {} bytes>", image.mime, image.bytes.len()),
    };
    output.items.iter().map(item).collect::<Vec<_>>().join("\n")
}

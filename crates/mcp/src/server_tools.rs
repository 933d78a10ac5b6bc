//! Offers the listed tools of a server to the engine: their trust, a check for changed definitions, and calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use policy::{Effect, ForeignToolCall as ForeignEffect, Intent, ToolTrust};
use serde_json::Value;
use tool::{
    AnyTool, Cx, ForeignBackend, ForeignToolSpec, Lane, OutputItem, ToolError, ToolNotice, ToolOutput,
    ToolOutputFuture,
};

use crate::alias;
use crate::connection::McpConnection;
use crate::deferred_tools::spec_size;
use crate::peer::{CallProgress, ListedTool, PeerError};
use crate::server_config::CallApproval;
use crate::tool_answer::into_tool_output;
use crate::tool_definition::{DefinitionPins, ToolDefinition};
use crate::tool_listing::ToolListing;

/// Maximum bytes of a definition.
const MAX_DEFINITION_BYTES: usize = 1 << 20;
/// Maximum number of tools of one server.
const MAX_TOOLS: usize = 10_000;

/// The usable tools of a server by name, and the reasons for those left out.
#[derive(Default)]
pub(crate) struct ToolOffer {
    pub(crate) tools: BTreeMap<String, Arc<dyn AnyTool>>,
    pub(crate) left_out: Vec<String>,
    /// The hashes of their definitions, by name.
    pub(crate) definitions: BTreeMap<String, String>,
    /// Bytes of JSON that the model would receive for all of them.
    pub(crate) bytes: usize,
}

impl ToolOffer {
    /// Builds the offer from the listed tools that are in use and valid.
    pub(crate) fn from_listing(connection: &Arc<McpConnection>, listing: ToolListing) -> Self {
        let ToolListing { tools: mut listed, parse_faults } = listing;
        let server = &connection.server;
        listed.retain(|tool| server.uses_tool(&tool.name));
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        let mut offer = Self { left_out: parse_faults, ..Self::default() };
        let more = listed.len().saturating_sub(MAX_TOOLS);
        if more > 0 {
            offer
                .left_out
                .push(format!("{more} tools beyond the first {MAX_TOOLS}; `enabled_tools` chooses"));
        }
        for tool in listed.into_iter().take(MAX_TOOLS) {
            let definition = ToolDefinition::from_listed(&tool);
            let name = alias(&server.name, &tool.name);
            let short: String = tool.name.chars().take(80).collect();
            if definition.text.len() > MAX_DEFINITION_BYTES {
                offer.left_out.push(format!("`{short}` is described at too great length"));
                continue;
            }
            if offer.tools.contains_key(&name) {
                offer.left_out.push(format!("`{short}` is there twice"));
                continue;
            }
            let about = if tool.description.trim().is_empty() { tool.title.clone() } else { None };
            let foreign = ForeignToolSpec {
                name: name.clone(),
                description: about.unwrap_or_else(|| tool.description.clone()),
                input_schema: tool.input_schema.clone(),
            };
            let backend = ServerTool {
                connection: Arc::clone(connection),
                name: name.clone(),
                definition: definition.clone(),
                tool,
            };
            match foreign.into_tool(Arc::new(backend)) {
                Ok(tool) => {
                    offer.bytes += spec_size(tool.spec());
                    offer.tools.insert(name.clone(), tool);
                    offer.definitions.insert(name, definition.hash);
                }
                Err(fault) => offer.left_out.push(format!("`{short}` cannot be called: {fault}")),
            }
        }
        offer
    }
}

struct ServerTool {
    connection: Arc<McpConnection>,
    /// Our name for it.
    name: String,
    definition: ToolDefinition,
    tool: ListedTool,
}

impl ServerTool {
    fn pins(&self) -> Option<&dyn DefinitionPins> {
        self.connection.pins.as_deref()
    }

    /// Returns the earlier definition, if it differed. An error of the pin store counts as a difference.
    fn earlier_definition(&self) -> Option<String> {
        match self.pins()?.pinned(&self.connection.server.name, &self.tool.name) {
            Ok(before) => before.filter(|before| *before != self.definition.text),
            Err(why) => Some(format!("(what it was is not known: {why})\n")),
        }
    }

    fn trust(&self) -> ToolTrust {
        match self.connection.server.approval_for(&self.tool.name) {
            _ if self.earlier_definition().is_some() => ToolTrust::Changed,
            CallApproval::Allow => ToolTrust::Trusted,
            CallApproval::Auto if self.tool.is_read_only() && self.connection.trusts_annotations() => {
                ToolTrust::ReadOnly
            }
            CallApproval::Auto | CallApproval::Ask => ToolTrust::Unknown,
        }
    }

    /// Returns an error unless the definition is still the one that was approved.
    fn check_unchanged(&self) -> Result<(), ToolError> {
        let server = &self.connection.server.name;
        let offer = self.connection.offered_tools();
        match offer.definitions.get(&self.name) {
            Some(hash) if *hash == self.definition.hash => Ok(()),
            Some(_) => Err(ToolError::io(format!(
                "the server `{server}` describes this tool differently by now, so it was not called; call it again"
            ))),
            None => Err(ToolError::io(format!("the server `{server}` does not have this tool any more"))),
        }
    }

    async fn run(&self, arguments: Value, cx: Cx) -> Result<ToolOutput, ToolError> {
        let server = &self.connection.server.name;
        let peer = self.connection.wait_until_ready().await;
        let peer = peer.map_err(|why| ToolError::io(format!("the server `{server}` {why}")))?;
        self.check_unchanged()?;
        if let Some(pins) = self.pins() {
            pins.pin(server, &self.tool.name, &self.definition.text);
        }
        let Value::Object(arguments) = arguments else {
            return Err(ToolError::bad_argument("arguments", "they must be an object"));
        };
        let progress = |step: CallProgress| cx.notify(progress_notice(&step));
        let call = peer.call(&self.tool.name, arguments, &progress);
        let limit = self.connection.server.tool_timeout;
        let answered = self.connection.with_timeout(limit, call).await;
        let unlanded = self.connection.land_changes(&cx).await;
        match answered {
            None => Err(ToolError::TimedOut { after: limit }),
            Some(Ok(answer)) => {
                let mut output = into_tool_output(answer);
                output.items.extend(unlanded.into_iter().map(OutputItem::Text));
                Ok(output)
            }
            Some(Err(PeerError::Refused { code, message })) => {
                Ok(ToolOutput::failure(format!("the server `{server}` refuses: {message} (code {code})")))
            }
            Some(Err(PeerError::Gone(why))) => Err(ToolError::io(format!(
                "the server `{server}` ended during the call ({why}); it is unknown whether it did what was asked"
            ))),
            Some(Err(error)) => Err(ToolError::io(format!("the server `{server}` did not answer: {error}"))),
        }
    }
}

/// Formats a progress step as one line.
fn progress_notice(step: &CallProgress) -> ToolNotice {
    let share = step.total.filter(|of| *of > 0.0).map(|of| (step.done / of * 100.0).clamp(0.0, 100.0));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 100")]
    let percent = share.map(|share| share as u8);
    let counted = match step.total {
        Some(of) => format!("{}/{of}", step.done),
        None => step.done.to_string(),
    };
    let message = step.message.as_deref().unwrap_or_default();
    let message: String = message.chars().filter(|letter| !policy::is_invisible(*letter)).take(200).collect();
    ToolNotice::Progress { text: format!("{counted} {message}").trim_end().to_owned(), percent }
}

impl ForeignBackend for ServerTool {
    fn lane(&self) -> Lane {
        if self.tool.is_read_only() { Lane::Shared } else { Lane::Exclusive }
    }

    fn intent(&self) -> Intent {
        Intent::from_effects(vec![Effect::Foreign(ForeignEffect {
            server: self.connection.server.name.clone(),
            tool: self.tool.name.clone(),
            definition: self.definition.hash.clone(),
            trust: self.trust(),
        })])
    }

    fn preview(&self, arguments: &Value) -> Option<String> {
        let mut shown = serde_json::to_string_pretty(arguments).unwrap_or_default();
        if let Some(before) = self.earlier_definition() {
            let diff = similar::TextDiff::from_lines(&before, &self.definition.text);
            shown = format!("{shown}\n{}", diff.unified_diff().header("as it was", "as it is"));
        }
        Some(shown)
    }

    fn answer(&self, arguments: Value, cx: Cx) -> ToolOutputFuture<'_> {
        Box::pin(self.run(arguments, cx))
    }
}

//! `wait`: waits until the first of several agents is done, or all of them, or a timeout.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, select_all};
use policy::Permit;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tool::{Cx, Lane, ToolError, ToolHandler, ToolOutput};

use super::list_agents::find_agent;
use crate::agents::{SessionAgents, Subagent, insert_changes};

/// Default, minimum and maximum timeout in milliseconds.
const DEFAULT_TIMEOUT_MS: u64 = 30_000;
const MIN_TIMEOUT_MS: u64 = 1_000;
const MAX_TIMEOUT_MS: u64 = 300_000;

/// The `wait` tool.
pub struct WaitForAgents(pub Arc<SessionAgents>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// From spawn_agent.
    ids: Vec<String>,
    /// 1000 to 300000 (default 30000).
    timeout_ms: Option<u64>,
    /// Wait for all, not only the first.
    all: Option<bool>,
}

impl ToolHandler for WaitForAgents {
    type Args = Args;
    const NAME: &'static str = "wait";
    const ABOUT: &'static str =
        "Waits until the first of these agents is done, or all; tells how far each is and what it said.";
    const LANE: Lane = Lane::Shared;
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[("targets", "ids")];

    async fn run(&self, args: &Args, _: &Permit, _: &Cx) -> Result<ToolOutput, ToolError> {
        let children = args.ids.iter().enumerate();
        let children = children.map(|(at, id)| find_agent(&self.0, &format!("ids[{at}]"), id));
        let children = children.collect::<Result<Vec<_>, _>>()?;
        if children.is_empty() {
            return Err(ToolError::bad_argument("ids", "it is empty; list_agents has those there are"));
        }
        let limit = args.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS).clamp(MIN_TIMEOUT_MS, MAX_TIMEOUT_MS);
        let settled = children.iter().map(|child| Box::pin(child.wait_until_idle()));
        let waiting = async {
            match args.all {
                Some(true) => drop(join_all(settled).await),
                Some(false) | None => drop(select_all(settled).await),
            }
        };
        let timed_out = tokio::time::timeout(Duration::from_millis(limit), waiting).await.is_err();
        let mut status = Map::new();
        for child in &children {
            status.insert(child.id().to_owned(), status_json(child).await);
        }
        let answer = json!({ "status": status, "timed_out": timed_out });
        Ok(ToolOutput::text(answer.to_string()).with_structured(answer))
    }
}

/// Returns the status of an agent and, if it is done and has a worktree, its changes.
async fn status_json(child: &Subagent) -> Value {
    let status = child.status();
    let changes = if status.is_final() { child.worktree_changes().await } else { None };
    let Some(changes) = changes else { return status.to_json() };
    let mut status_and_changes = Map::from_iter([("status".to_owned(), status.to_json())]);
    insert_changes(changes, &mut status_and_changes);
    Value::Object(status_and_changes)
}

//! File, patch and policy requests of clients, answered by tools.
//!
//! Some of these tools are the model's, others are hidden from models.

use std::sync::Arc;

use rpc::protocol as p;
use rpc::{Peer, RpcErrorCode, RpcFault};
use runtime::{CancellationToken, ToolCall};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::hosted_session::HostedSession;
use super::idempotent_calls::{fresh_call_id, refusal_fault};
use crate::content_conversion::joined_text;
use session::explain_verdict;

impl HostedSession {
    pub(super) async fn fs_read(
        &self,
        read: &p::FsReadParams,
        cancel: CancellationToken,
    ) -> Result<p::FsReadResult, RpcFault> {
        let arguments = json!({ "path": read.path, "offset": read.offset, "length": read.length });
        parse_result(self.call_program_tool("fs_read", without_nulls(arguments), cancel).await?)
    }

    pub(super) async fn fs_write(
        &self,
        write: &p::FsWriteParams,
        cancel: CancellationToken,
    ) -> Result<p::FsWriteResult, RpcFault> {
        let arguments =
            json!({ "path": write.path, "text": write.text, "base64": write.base64, "new": write.new });
        parse_result(self.call_program_tool("fs_write", without_nulls(arguments), cancel).await?)
    }

    pub(super) async fn fs_list(
        &self,
        list: &p::FsListParams,
        cancel: CancellationToken,
    ) -> Result<p::FsListResult, RpcFault> {
        let arguments = json!({ "path": list.path, "depth": list.depth, "limit": list.limit });
        parse_result(self.call_program_tool("fs_list", without_nulls(arguments), cancel).await?)
    }

    pub(super) async fn fs_search(
        &self,
        search: &p::FsSearchParams,
        cancel: CancellationToken,
    ) -> Result<p::FsSearchResult, RpcFault> {
        let arguments = without_nulls(json!({
            "pattern": search.pattern,
            "path": search.path,
            "file_pattern": search.glob,
            "case_sensitive": !search.ignore_case,
            "max_results": search.limit,
        }));
        let call = ToolCall::function(fresh_call_id(), "grep_files", arguments.to_string());
        let data = self.call_for_data(self.toolgate.router(), call, cancel).await?;
        let all = data["matches"].as_u64() == data["hits"].as_array().map(|hits| hits.len() as u64);
        let complete = data["complete"] == true && all;
        parse_result(json!({ "hits": data["hits"], "complete": complete }))
    }

    pub(super) async fn apply_patch(
        self: Arc<Self>,
        patch: p::PatchApplyParams,
        peer: &Peer,
        cancel: CancellationToken,
    ) -> Result<p::PatchApplyResult, RpcFault> {
        let call = p::ToolCallParams {
            session_id: patch.session_id,
            tool: "apply_patch".to_owned(),
            input: Some(patch.patch),
            key: patch.key,
            ..p::ToolCallParams::default()
        };
        let answer = self.call_tool(call, peer, cancel).await?;
        if !answer.success {
            return Err(refusal_fault(&answer));
        }
        let text = joined_text(&answer.content_items);
        let changes = answer.structured.map(|mut data| data["changes"].take()).unwrap_or_else(|| json!([]));
        parse_result(json!({ "changes": changes, "text": text, "repeated": answer.repeated }))
    }

    /// Returns the verdict on a call, without making or recording it.
    pub(super) fn explain_policy(
        &self,
        wanted: &p::PolicyExplainParams,
    ) -> Result<p::PolicyExplainResult, RpcFault> {
        let (tool, arguments) = match (&wanted.tool, &wanted.command) {
            (Some(tool), None) => (tool.as_str(), Value::Object(wanted.arguments.clone())),
            (None, Some(command)) => ("exec_command", json!({ "cmd": command })),
            _ => {
                return Err(RpcErrorCode::Params.fault("the params do not fit: give a `tool` or a `command`"));
            }
        };
        let explanation = explain_verdict::explain_call(&self.toolgate, tool, arguments.to_string())
            .map_err(|fault| RpcErrorCode::Params.fault(fault.to_string()))?;
        Ok(p::PolicyExplainResult { explanation })
    }
}

/// Removes members that are null.
fn without_nulls(mut arguments: Value) -> Value {
    if let Value::Object(members) = &mut arguments {
        members.retain(|_, value| !value.is_null());
    }
    arguments
}

fn parse_result<T: DeserializeOwned>(data: Value) -> Result<T, RpcFault> {
    serde_json::from_value(data)
        .map_err(|error| RpcErrorCode::Internal.fault(format!("an answer has an unexpected form: {error}")))
}

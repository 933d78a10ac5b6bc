//! Lists every RPC method with its types and answering side, parses client requests and encodes results.

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::{RpcErrorCode, RpcFault};
use crate::protocol as p;

/// A method as a type.
pub trait RpcMethod {
    /// The method name.
    const NAME: &'static str;
    /// The parameter type.
    type Params: DeserializeOwned + Serialize + JsonSchema;
    /// The result type.
    type Result: DeserializeOwned + Serialize + JsonSchema;
}

/// The side that answers a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnsweredBy {
    /// The server.
    Server,
    /// The client.
    Client,
    /// Neither: the method is a notification.
    Notification,
}

/// A row of the method catalogue.
pub(crate) struct MethodRow {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) side: AnsweredBy,
    pub(crate) params: fn(&mut SchemaGenerator) -> schemars::Schema,
    pub(crate) result: fn(&mut SchemaGenerator) -> schemars::Schema,
}

macro_rules! rows {
    ($($side:ident $name:literal $about:literal $variant:ident($params:ty) -> $result:ty;)*) => {
        /// One marker type for each method.
        pub mod method {
            use super::{RpcMethod, p};
            $(
                #[doc = concat!("`", $name, "`: ", $about)]
                #[derive(Debug, Clone, Copy)]
                pub struct $variant;

                impl RpcMethod for $variant {
                    const NAME: &'static str = $name;
                    type Params = $params;
                    type Result = $result;
                }
            )*
        }

        pub(crate) const METHODS: &[MethodRow] = &[$(
            MethodRow {
                name: $name,
                about: $about,
                side: AnsweredBy::$side,
                params: SchemaGenerator::subschema_for::<$params>,
                result: SchemaGenerator::subschema_for::<$result>,
            },
        )*];
    };
}

macro_rules! calls {
    ($($name:literal $about:literal $variant:ident($params:ty) -> $result:ty;)*) => {
        /// A parsed request of a client.
        #[derive(Debug, Clone, PartialEq)]
        pub enum ClientCall {
            $(#[doc = concat!("`", $name, "`")] $variant($params),)*
        }

        impl ClientCall {
            /// Parses a request.
            ///
            /// # Errors
            /// If the method does not exist, or the parameters do not match.
            pub fn parse(method: &str, params: Value) -> Result<Self, RpcFault> {
                match method {
                    $($name => parse_params(params).map(Self::$variant),)*
                    other => Err(unknown(other)),
                }
            }
        }

        rows! {
            $(Server $name $about $variant($params) -> $result;)*
            Client "approval/request" "Requests an approval." ApprovalRequest(p::ApprovalRequestParams) -> p::ApprovalRequestResult;
            Client "user/ask" "Passes a question of the model to the user." UserAsk(p::UserAskParams) -> p::UserAskResult;
            Client "tool/invoke" "Calls a tool of the client." ToolInvoke(p::ToolInvokeParams) -> p::ToolInvokeResult;
            Notification "session/event" "An event of a followed session." SessionEvent(p::SessionEventParams) -> p::EmptyResult;
            Notification "session/delta" "Partial output; the complete event follows." SessionDelta(p::SessionDeltaParams) -> p::EmptyResult;
            Notification "$/cancel" "The requester cancels a request." CancelRequest(p::CancelParams) -> p::EmptyResult;
        }
    };
}

calls! {
    "initialize" "Introduces the client; it is the first request." Initialize(p::InitializeParams) -> p::InitializeResult;
    "session/start" "Starts a session, which the client then follows." SessionStart(p::SessionStartParams) -> p::SessionDetails;
    "session/attach" "Follows a session from an event on; resumes it from its journal if no server has it." SessionAttach(p::SessionAttachParams) -> p::SessionAttachResult;
    "session/detach" "Stops following a session; the session continues." SessionDetach(p::SessionRef) -> p::EmptyResult;
    "session/prompt" "Sends a prompt to the model, and answers when the turn is over." SessionPrompt(p::SessionPromptParams) -> p::SessionPromptResult;
    "session/interrupt" "Stops the turn: its calls are answered as aborted." SessionInterrupt(p::SessionRef) -> p::EmptyResult;
    "session/list" "Lists the sessions, the newest first." SessionList(p::SessionListParams) -> p::SessionListResult;
    "session/close" "Ends a session, its processes and its agents; its journal stays." SessionClose(p::SessionRef) -> p::EmptyResult;
    "tool/list" "Lists the tools of a session." ToolList(p::SessionRef) -> p::ToolListResult;
    "tool/call" "Calls a tool without a model." ToolCall(p::ToolCallParams) -> p::ToolCallResult;
    "tool/register" "Registers tools of the client in a session." ToolRegister(p::ToolRegisterParams) -> p::ToolRegisterResult;
    "tool/unregister" "Removes tools of clients from a session." ToolUnregister(p::ToolUnregisterParams) -> p::ToolRegisterResult;
    "process/start" "Starts a process, with the policy and sandbox of the model's commands." ProcessStart(p::ProcessStartParams) -> p::ProcessStartResult;
    "process/read" "Reads the output of a process; nothing is lost." ProcessRead(p::ProcessReadParams) -> p::ProcessReadResult;
    "process/write" "Writes input to a process." ProcessWrite(p::ProcessWriteParams) -> p::EmptyResult;
    "process/resize" "Changes the size of a process's terminal." ProcessResize(p::ProcessResizeParams) -> p::EmptyResult;
    "process/signal" "Sends a signal to a process and its group." ProcessSignal(p::ProcessSignalParams) -> p::EmptyResult;
    "process/kill" "Ends a process and all its descendants." ProcessKill(p::ProcessRef) -> p::EmptyResult;
    "fs/read" "Reads a file." FsRead(p::FsReadParams) -> p::FsReadResult;
    "fs/write" "Writes a whole file atomically." FsWrite(p::FsWriteParams) -> p::FsWriteResult;
    "fs/list" "Lists a directory." FsList(p::FsListParams) -> p::FsListResult;
    "fs/search" "Searches files for a regular expression." FsSearch(p::FsSearchParams) -> p::FsSearchResult;
    "patch/apply" "Applies a patch, all or nothing." PatchApply(p::PatchApplyParams) -> p::PatchApplyResult;
    "policy/explain" "Explains what would be decided about a call." PolicyExplain(p::PolicyExplainParams) -> p::PolicyExplainResult;
}

/// Converts the result of method `M` to JSON.
///
/// # Errors
/// The error in `given`.
pub fn encode_result<M: RpcMethod>(given: Result<M::Result, RpcFault>) -> Result<Value, RpcFault> {
    serde_json::to_value(given?)
        .map_err(|error| RpcErrorCode::Internal.fault(format!("`{}`: {error}", M::NAME)))
}

/// Deserialises `params`.
///
/// # Errors
/// If they do not match; the error contains the path.
pub fn parse_params<T: DeserializeOwned>(params: Value) -> Result<T, RpcFault> {
    parse_value(params).map_err(|why| RpcErrorCode::Params.fault(format!("the params do not fit{why}")))
}

/// Deserialises `value`; the error text begins with the path.
pub(crate) fn parse_value<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let at = if path == "." { String::new() } else { format!(" at `{path}`") };
        format!("{at}: {}", error.inner())
    })
}

fn unknown(name: &str) -> RpcFault {
    const MIN_SIMILARITY: f64 = 0.8;
    let names = METHODS.iter().filter(|row| row.side == AnsweredBy::Server).map(|row| row.name);
    let mut near: Vec<(f64, &str)> = names
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(alike, _)| *alike >= MIN_SIMILARITY)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let near: Vec<&str> = near.into_iter().take(3).map(|(_, known)| known).collect();
    let hint = near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let shown: String = name.chars().filter(|char| !char.is_control()).take(64).collect();
    RpcErrorCode::Method
        .fault(format!("there is no method `{shown}`{hint}"))
        .with_data(serde_json::json!({ "nearest": near }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bad_request_is_refused_with_the_path() {
        let call = ClientCall::parse("session/interrupt", json!({"session_id": "a"})).unwrap();
        assert_eq!(call, ClientCall::SessionInterrupt(p::SessionRef { session_id: "a".to_owned() }));
        let rows = [
            (
                "session/interupt",
                json!({}),
                "there is no method `session/interupt`; did you mean `session/interrupt`?",
            ),
            ("session/interrupt", json!({}), "the params do not fit: missing field `session_id`"),
            (
                "tool/call",
                json!({"session_id": 1}),
                "the params do not fit at `session_id`: invalid type: integer `1`, expected a string",
            ),
            (
                "session/start",
                json!({"cwdd": "x"}),
                "the params do not fit at `cwdd`: unknown field `cwdd`, expected one of `cwd`, `sandbox`, `approval`, `model`, `mcp_servers`, `tools`, `instructions`, `only_tools`, `agents`",
            ),
        ];
        for (method, params, said) in rows {
            assert_eq!(ClientCall::parse(method, params).unwrap_err().message, said);
        }
    }
}

//! Answers a client's MCP requests (tools, prompts, resources, completions) by calling the `ToolHost`.
#![expect(deprecated, reason = "only the older era has logs, and it is served too")]

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse,
    InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call_driver::{CallDriver, ProtocolEra};
use super::client_roots::SessionHost;
use super::parked_calls::{CallDigest, ParkedCall};
use super::tool_host::{CallingClient, FeatureRequest, HostCall};
use super::{SharedServerState, client_requests, to_rmcp};

/// Cache lifetime of the tool list, which never changes while the server runs.
const TOOLS_CACHE_TTL_MS: u64 = 300_000;

/// Handles the requests of one session; in the stateless era, of one request.
pub(super) struct McpRequestHandler {
    server: Arc<SharedServerState>,
    session_host: SessionHost,
}

impl McpRequestHandler {
    pub(super) fn new(shared: &Arc<SharedServerState>) -> Self {
        Self { server: Arc::clone(shared), session_host: SessionHost::default() }
    }

    /// Asks the host about a feature other than tools, and parses its answer.
    fn request_feature<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<T, ErrorData> {
        to_rmcp::parse_host_json(self.ask_host(method, params)?)
    }

    fn ask_host(&self, method: &'static str, params: &impl Serialize) -> Result<Value, ErrorData> {
        let params = serde_json::to_value(params).unwrap_or_default();
        let answer = self.server.host.request_feature(FeatureRequest { method, params });
        let mut answer = answer.map_err(|fault| to_rmcp::feature_error(&fault, method))?;
        // The stateless era requires this field; it is removed again for the older era.
        if let Some(result) = answer.as_object_mut() {
            result.entry("resultType").or_insert_with(|| "complete".into());
        }
        Ok(answer)
    }
}

fn calling_client(context: &RequestContext<RoleServer>) -> CallingClient {
    CallingClient {
        name: context.client_info().map(|client| client.name),
        supports_forms: context
            .client_capabilities()
            .is_some_and(|capabilities| client_requests::supports_forms(&capabilities)),
        keeps_forms: ProtocolEra::from_context(context) == ProtocolEra::Stateless,
        wants_progress: context.meta.get_progress_token().is_some(),
    }
}

fn is_input_required(answer: &Value) -> bool {
    answer["resultType"] == "input_required"
}

impl ServerHandler for McpRequestHandler {
    fn get_info(&self) -> ServerConfig {
        to_rmcp::server_config(self.server.host.as_ref())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&ProtocolVersion::V_2026_07_28))
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let found = DiscoverResult::from_server_info(versions, self.get_info());
        Ok(found.with_ttl_ms(TOOLS_CACHE_TTL_MS).with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.server.host.tools().into_iter().map(to_rmcp::to_tool).collect();
        let mut list = ListToolsResult { tools, ..ListToolsResult::default() };
        if ProtocolEra::from_context(&context) == ProtocolEra::Stateless {
            (list.ttl_ms, list.cache_scope) = (Some(TOOLS_CACHE_TTL_MS), Some(CacheScope::Private));
        }
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, input_responses, request_state, .. } = request;
        let arguments = arguments.unwrap_or_default();
        let digest = CallDigest::new(&name, &arguments);
        let parked = match request_state {
            Some(state) => {
                let parked = self.server.parked.resume(&digest, &state);
                parked.map_err(|fault| ErrorData::invalid_params(fault.to_string(), None))?
            }
            None => {
                let host = self.session_host.resolve(&self.server.host, &context).await;
                let call = HostCall { tool: name.into_owned(), arguments, client: calling_client(&context) };
                ParkedCall { running: host.start(call), input_batch: None }
            }
        };
        let inputs = input_responses.unwrap_or_default();
        CallDriver { server: &self.server, context: &context, digest, inputs }.run(parked).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.server.host.features().resources.then(|| requested.clone())
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.session_host.invalidate();
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(to_rmcp::invalid_request(&request.method, request.params, ProtocolEra::from_context(&context)))
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.request_feature("completion/complete", &request)
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.ask_host("logging/setLevel", &request).map(drop)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.request_feature("prompts/list", &request)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let answer = self.ask_host("prompts/get", &request)?;
        if is_input_required(&answer) {
            return Ok(to_rmcp::parse_host_json::<InputRequiredResult>(answer)?.into());
        }
        Ok(GetPromptResponse::Complete(to_rmcp::parse_host_json(answer)?))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.request_feature("resources/list", &request)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.request_feature("resources/templates/list", &request)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(ReadResourceResponse::Complete(self.request_feature("resources/read", &request)?))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.ask_host("resources/subscribe", &request).map(drop)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.ask_host("resources/unsubscribe", &request).map(drop)
    }
}

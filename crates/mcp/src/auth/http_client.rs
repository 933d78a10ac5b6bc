//! HTTP client of a server: sends the token, renews it once on 401, and follows redirects only within the origin.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use http_client::SseEvents;
use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};

use super::TokenProvider;
use super::http_post::HttpPost;
use super::sse_events::SseReconnects;
use crate::json_limits::MAX_MESSAGE_BYTES;

pub(super) type McpHttpError = StreamableHttpError<reqwest::Error>;
pub(super) type RequestHeaders = HashMap<HeaderName, HeaderValue>;

/// Maximum number of redirects within the origin.
const MAX_REDIRECTS: usize = 10;

/// Sends requests to one server. Tokens never go to another origin, because redirects to one are not followed.
#[derive(Clone)]
pub(crate) struct AuthorizedHttpClient {
    http: reqwest::Client,
    token_provider: Option<Arc<TokenProvider>>,
    reconnects: SseReconnects,
}

impl AuthorizedHttpClient {
    /// Creates a client for the server at `url`.
    pub(crate) fn new(url: &str, token_provider: Option<TokenProvider>) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| error.to_string())?;
        let http = http_client::client_builder(&url).redirect(same_origin_policy());
        let http = http.build().map_err(|error| error.to_string())?;
        Ok(Self { http, token_provider: token_provider.map(Arc::new), reconnects: SseReconnects::default() })
    }

    /// Sends with the token `fixed` or the stored one. If the stored one is rejected, renews it and sends once more.
    async fn with_token<T, F>(
        &self,
        fixed: Option<String>,
        send: impl Fn(Option<String>) -> F,
    ) -> Result<T, McpHttpError>
    where
        F: Future<Output = Result<T, McpHttpError>>,
    {
        let Some(token_provider) = self.token_provider.as_ref().filter(|_| fixed.is_none()) else {
            return send(fixed).await;
        };
        let token = token_provider.access_token().await?;
        let outcome = match (send(token.clone()).await, token) {
            (Err(StreamableHttpError::AuthRequired(challenge)), Some(stale)) => {
                match token_provider.renew_token(&stale, Some(&challenge.www_authenticate_header)).await? {
                    Some(token) => send(Some(token)).await,
                    None => Err(StreamableHttpError::AuthRequired(challenge)),
                }
            }
            (outcome, _) => outcome,
        };
        if let Err(StreamableHttpError::InsufficientScope(missing)) = &outcome
            && let Some(scopes) = missing.get_required_scope()
        {
            token_provider.remember_missing_scopes(scopes).await?;
        }
        outcome
    }
}

/// Follows redirects only within the origin, and only those that keep the method and the body.
fn same_origin_policy() -> Policy {
    Policy::custom(|attempt| {
        let same = |a: &Url, b: &Url| a.origin() == b.origin();
        let kept =
            [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT].contains(&attempt.status());
        match attempt.previous().last() {
            Some(from) if kept && same(from, attempt.url()) && attempt.previous().len() <= MAX_REDIRECTS => {
                attempt.follow()
            }
            _ => attempt.stop(),
        }
    })
}

impl StreamableHttpClient for AuthorizedHttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: RequestHeaders,
    ) -> Result<StreamableHttpPostResponse, McpHttpError> {
        let post = HttpPost { uri, message, session, headers };
        self.with_token(token, |token| post.send(&self.http, token)).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: RequestHeaders,
        _: usize,
    ) -> Result<StreamableHttpPostResponse, McpHttpError> {
        // Our own limits include this one.
        self.post_message(uri, message, session, token, headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: RequestHeaders,
    ) -> Result<(), McpHttpError> {
        let send = |token| self.http.delete_session(uri.clone(), session.clone(), token, headers.clone());
        self.with_token(token, send).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: RequestHeaders,
    ) -> Result<SseEvents, McpHttpError> {
        self.get_stream_with_max_sse_event_size(uri, session, last, token, headers, MAX_MESSAGE_BYTES).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: RequestHeaders,
        longest: usize,
    ) -> Result<SseEvents, McpHttpError> {
        if !self.reconnects.wait_to_reconnect().await {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        let send = |token| {
            let (uri, session, last) = (uri.clone(), session.clone(), last.clone());
            self.http.get_stream_with_max_sse_event_size(uri, session, last, token, headers.clone(), longest)
        };
        Ok(self.reconnects.filter_events(self.with_token(token, send).await?))
    }
}

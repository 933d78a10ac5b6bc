//! Requests to a server, with what it is shown.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse};

use super::Keys;

type Failure = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;
type Headers = HashMap<HeaderName, HeaderValue>;

/// How often a server may say that it is elsewhere at the same origin.
const HOPS: usize = 10;

/// Sends requests. What is shown to the server goes to no other: nothing is sent on to another origin.
#[derive(Clone)]
pub(crate) struct Sent {
    http: reqwest::Client,
    keys: Option<Arc<Keys>>,
}

impl Sent {
    pub(crate) fn new(keys: Option<Keys>) -> Result<Self, String> {
        crate::tls::install();
        let http = reqwest::Client::builder().redirect(at_home()).build();
        Ok(Self { http: http.map_err(|error| error.to_string())?, keys: keys.map(Arc::new) })
    }

    /// Sends with `fixed` or with what is kept; if that is not taken, once more with what is new.
    async fn with<T, F>(
        &self,
        fixed: Option<String>,
        send: impl Fn(Option<String>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let Some(keys) = self.keys.as_ref().filter(|_| fixed.is_none()) else { return send(fixed).await };
        let token = keys.token().await?;
        let outcome = match (send(token.clone()).await, token) {
            (Err(StreamableHttpError::AuthRequired(challenge)), Some(stale)) => {
                match keys.renewed(&stale, Some(&challenge.www_authenticate_header)).await? {
                    Some(token) => send(Some(token)).await,
                    None => Err(StreamableHttpError::AuthRequired(challenge)),
                }
            }
            (outcome, _) => outcome,
        };
        if let Err(StreamableHttpError::InsufficientScope(missing)) = &outcome
            && let Some(scopes) = missing.get_required_scope()
        {
            keys.misses(scopes).await?;
        }
        outcome
    }
}

/// Follows a server within its own origin, and only where the request stays what it is.
fn at_home() -> Policy {
    Policy::custom(|attempt| {
        let same = |a: &Url, b: &Url| a.origin() == b.origin();
        let kept =
            [StatusCode::TEMPORARY_REDIRECT, StatusCode::PERMANENT_REDIRECT].contains(&attempt.status());
        match attempt.previous().last() {
            Some(from) if kept && same(from, attempt.url()) && attempt.previous().len() <= HOPS => {
                attempt.follow()
            }
            _ => attempt.stop(),
        }
    })
}

impl StreamableHttpClient for Sent {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let send = |token| {
            self.http.post_message(uri.clone(), message.clone(), session.clone(), token, headers.clone())
        };
        self.with(token, send).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        longest: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let send = |token| {
            let (uri, message) = (uri.clone(), message.clone());
            let (session, headers) = (session.clone(), headers.clone());
            self.http.post_message_with_max_sse_event_size(uri, message, session, token, headers, longest)
        };
        self.with(token, send).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        let send = |token| self.http.delete_session(uri.clone(), session.clone(), token, headers.clone());
        self.with(token, send).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<Events, Failure> {
        let send =
            |token| self.http.get_stream(uri.clone(), session.clone(), last.clone(), token, headers.clone());
        self.with(token, send).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        token: Option<String>,
        headers: Headers,
        longest: usize,
    ) -> Result<Events, Failure> {
        let send = |token| {
            let (uri, session, last) = (uri.clone(), session.clone(), last.clone());
            self.http.get_stream_with_max_sse_event_size(uri, session, last, token, headers.clone(), longest)
        };
        self.with(token, send).await
    }
}

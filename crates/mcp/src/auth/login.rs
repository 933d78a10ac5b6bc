//! OAuth login to a server in the user's browser.

use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataSource, CredentialStore,
    InMemoryCredentialStore, OAuthClientConfig,
};
use tokio::time::timeout;
use tool::BoxFuture;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use super::redirect_listener::RedirectListener;
use super::token_provider::{TokenProvider, resource_parameter};
use super::token_store::{StoredClient, StoredLogin, TokenStoreFault};
use super::{OAuthClientId, OAuthConfig, credential_store};
use crate::link::RmcpLink;
use crate::server_config::{HttpTransport, McpServerConfig, ServerTransport};
use crate::url_policy;

/// Time limit for the user in the browser.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(600);
/// Our client name at registration.
const CLIENT_NAME: &str = "Toolgate";
/// The scope for refresh tokens.
const OFFLINE_SCOPE: &str = "offline_access";
/// Maximum characters of a remote message that are shown.
const MAX_MESSAGE_CHARS: usize = 300;

/// Shows the login page to the user.
pub trait BrowserOpener: Send + Sync {
    /// Shows this URL, or opens it in a browser: as one argument of a program, never through a shell. The URL is
    /// `https` or loopback, and has no invisible characters. An error ends the login.
    fn open<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<(), String>>;
}

/// The result of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginOutcome {
    /// The authorization server.
    pub issuer: String,
    /// The granted scopes, as far as the server reports them.
    pub scopes: Vec<String>,
}

/// The reason why a login failed.
#[derive(Debug, thiserror::Error)]
pub enum LoginFault {
    /// This server has no login.
    #[error("`{0}` has no login: {1}")]
    NoLogin(String, String),
    /// The server does not name a usable authorization server.
    #[error("it names no usable authorization server: {0}")]
    Discovery(String),
    /// The authorization server or the callback does not match; the login was aborted.
    #[error("the login is not safe and was aborted: {0}")]
    Unsafe(String),
    /// The authorization server does not know this client and does not register it.
    #[error(
        "the authorization server does not know this program, and does not register it ({0}); ask its operator for a client id"
    )]
    Unknown(String),
    /// The login page could not be shown.
    #[error("{0}")]
    Opener(String),
    /// The browser did not return in time.
    #[error("the browser did not return in time")]
    BrowserTimedOut,
    /// The authorization server refused.
    #[error("the authorization server refused the login: {0}")]
    Refused(String),
    /// The token cannot be saved.
    #[error(transparent)]
    Tokens(#[from] TokenStoreFault),
}

/// Logs a user in to a server and saves the token. Also requests the scopes that the server found missing earlier.
pub async fn login(server: &McpServerConfig, opener: &dyn BrowserOpener) -> Result<LoginOutcome, LoginFault> {
    let (http, auth) = oauth_transport(server)?;
    let nothing = |why| LoginFault::NoLogin(server.name.clone(), why);
    let token_provider = TokenProvider::for_server(&server.name, &http.url, auth).map_err(nothing)?;
    http_client::install_tls();
    let open = |error: std::io::Error| LoginFault::Opener(format!("no port can be opened: {error}"));
    let redirect = RedirectListener::bind().await.map_err(open)?;
    let challenge = timeout(server.startup_timeout, RmcpLink::auth_challenge(http)).await.ok().flatten();
    let flow = LoginFlow::begin(&token_provider, auth, challenge, redirect.redirect_uri()).await?;
    let visit = timeout(BROWSER_TIMEOUT, redirect.wait_for_visit());
    let mut visit = std::pin::pin!(visit);
    let visited = tokio::select! {
        biased;
        visited = &mut visit => visited,
        opened = opener.open(flow.page.as_str()) => {
            opened.map_err(LoginFault::Opener)?;
            visit.await
        }
    };
    let visited = visited.ok().flatten().ok_or(LoginFault::BrowserTimedOut)?;
    flow.finish(&token_provider, auth, &visited).await
}

/// Deletes the saved token of a server.
pub async fn logout(server: &McpServerConfig) -> Result<(), LoginFault> {
    let (http, auth) = oauth_transport(server)?;
    let nothing = |why| LoginFault::NoLogin(server.name.clone(), why);
    let token_provider = TokenProvider::for_server(&server.name, &http.url, auth).map_err(nothing)?;
    let _held = auth.tokens.lock(&token_provider.key).await?;
    Ok(auth.tokens.remove(&token_provider.key)?)
}

fn oauth_transport(server: &McpServerConfig) -> Result<(&HttpTransport, &OAuthConfig), LoginFault> {
    let nothing = |why: &str| LoginFault::NoLogin(server.name.clone(), why.to_owned());
    let ServerTransport::Http(http) = &server.transport else { return Err(nothing("it is a program")) };
    if http.bearer.is_some() {
        return Err(nothing("a bearer token is configured for it"));
    }
    let auth = http.auth.as_ref().ok_or_else(|| nothing("there is no token store"))?;
    Ok((http, auth))
}

/// A login in progress.
struct LoginFlow {
    manager: AuthorizationManager,
    received_credentials: InMemoryCredentialStore,
    issuer: Option<String>,
    client: StoredClient,
    /// The login page.
    page: Url,
    /// The `state` value that must come back.
    state: String,
    resource: String,
    challenge: Option<String>,
}

impl LoginFlow {
    async fn begin(
        token_provider: &TokenProvider,
        auth: &OAuthConfig,
        challenge: Option<String>,
        redirect: String,
    ) -> Result<Self, LoginFault> {
        let mut manager = token_provider.authorization_manager().await.map_err(discovery_error)?;
        let received_credentials = InMemoryCredentialStore::new();
        manager.set_credential_store(received_credentials.clone());
        let found =
            manager.resolve_metadata_from_challenge(challenge.as_deref()).await.map_err(discovery_error)?;
        if found.source == AuthorizationMetadataSource::LegacyEndpointFallback {
            return Err(LoginFault::Discovery("it describes none".to_owned()));
        }
        let metadata = found.metadata;
        check_metadata(&metadata, &token_provider.server)?;
        manager.set_metadata(metadata.clone());
        let scopes = scopes_to_request(token_provider, auth, &manager, &metadata).await?;
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let client = client_identity(auth, &mut manager, &metadata, (&redirect, &scopes)).await?;
        manager.configure_client(client.clone()).map_err(discovery_error)?;
        let page = manager.get_authorization_url(&scopes).await.map_err(discovery_error)?;
        let resource = resource_parameter(&page).unwrap_or_default();
        let page = url_policy::parse_endpoint_url(&page, &token_provider.server)
            .map_err(|fault| LoginFault::Unsafe(format!("the page where users log in {fault}")))?;
        let state = single_parameter(&page, "state")?.unwrap_or_default();
        let client = StoredClient { id: client.client_id, secret: client.client_secret, redirect };
        Ok(Self {
            manager,
            received_credentials,
            issuer: metadata.issuer,
            client,
            page,
            state,
            resource,
            challenge,
        })
    }

    /// Exchanges the authorization code from the callback for a token.
    async fn finish(
        self,
        token_provider: &TokenProvider,
        auth: &OAuthConfig,
        visited: &Url,
    ) -> Result<LoginOutcome, LoginFault> {
        let [state, issuer, code, error] =
            ["state", "iss", "code", "error"].map(|name| single_parameter(visited, name));
        if state?.is_none_or(|state| state != self.state) {
            let why = "the browser returned with another `state` than it was sent with";
            return Err(LoginFault::Unsafe(why.to_owned()));
        }
        let issuer = issuer?;
        if let Some(error) = error? {
            // Only the authorization server may explain a refusal.
            let known = issuer.is_none() || issuer == self.issuer;
            return Err(LoginFault::Refused(if known {
                visible_text(&error)
            } else {
                "by an unknown issuer".to_owned()
            }));
        }
        let code = code?.unwrap_or_default();
        let exchanged =
            self.manager.exchange_code_for_token_with_issuer(&code, &self.state, issuer.as_deref());
        // `rmcp` would log the code and the token response.
        exchanged.with_subscriber(NoSubscriber::default()).await.map_err(|error| match error {
            AuthError::AuthorizationServerMismatch { .. }
            | AuthError::AuthorizationServerMissingIssuer { .. }
            | AuthError::AuthorizationFailed(_) => LoginFault::Unsafe(visible_text(&error.to_string())),
            other => LoginFault::Refused(visible_text(&other.to_string())),
        })?;
        let caught = self.received_credentials.load().await.ok().flatten();
        let token =
            caught.and_then(|caught| credential_store::token_from_credentials(&caught).ok().flatten());
        let token = token.ok_or_else(|| LoginFault::Refused("no token was given".to_owned()))?;
        let scopes = token.scopes.clone();
        let entry = StoredLogin {
            server: token_provider.key.server.clone(),
            url: token_provider.key.url.clone(),
            issuer: self.issuer.clone(),
            resource: self.resource,
            client: self.client,
            token: Some(token),
            challenge: self.challenge,
            wanted: Vec::new(),
        };
        let _held = auth.tokens.lock(&token_provider.key).await?;
        auth.tokens.save(&entry)?;
        Ok(LoginOutcome { issuer: self.issuer.unwrap_or_default(), scopes })
    }
}

/// Checks that the metadata of the authorization server is safe: allowed URLs, and PKCE with S256.
fn check_metadata(metadata: &AuthorizationMetadata, server: &Url) -> Result<(), LoginFault> {
    let endpoints = [
        ("the page where users log in", Some(&metadata.authorization_endpoint)),
        ("where tokens are given", Some(&metadata.token_endpoint)),
        ("where programs register", metadata.registration_endpoint.as_ref()),
    ];
    for (what, endpoint) in endpoints {
        let fit = endpoint.map(|endpoint| url_policy::parse_endpoint_url(endpoint, server)).transpose();
        fit.map_err(|fault| LoginFault::Unsafe(format!("the address of {what} {fault}")))?;
    }
    let methods = metadata.code_challenge_methods_supported.as_deref().unwrap_or_default();
    if !methods.iter().any(|method| method == "S256") {
        let why = "the authorization server does not protect codes in transit (PKCE with S256)";
        return Err(LoginFault::Unsafe(why.to_owned()));
    }
    Ok(())
}

/// Returns the scopes to request: the configured ones or the server's, plus earlier granted and missing ones.
async fn scopes_to_request(
    token_provider: &TokenProvider,
    auth: &OAuthConfig,
    manager: &AuthorizationManager,
    metadata: &AuthorizationMetadata,
) -> Result<Vec<String>, LoginFault> {
    let before = auth.tokens.load(&token_provider.key).ok().flatten();
    let wanted = before.as_ref().map(|entry| entry.wanted.clone()).unwrap_or_default();
    let mut scopes = auth.scopes.clone();
    if !wanted.is_empty() {
        scopes.extend(before.and_then(|entry| entry.token).map(|token| token.scopes).unwrap_or_default());
        scopes.extend(wanted);
    }
    if scopes.is_empty() {
        return Ok(manager.select_initial_scopes(&[]).await);
    }
    let offline =
        metadata.scopes_supported.as_ref().is_some_and(|known| known.iter().any(|one| one == OFFLINE_SCOPE));
    scopes.extend(offline.then(|| OFFLINE_SCOPE.to_owned()));
    let mut seen = std::collections::HashSet::new();
    scopes.retain(|scope| seen.insert(scope.clone()));
    Ok(scopes)
}

/// Returns our client identity there: configured, by metadata document, or newly registered.
async fn client_identity(
    auth: &OAuthConfig,
    manager: &mut AuthorizationManager,
    metadata: &AuthorizationMetadata,
    (redirect, scopes): (&str, &[&str]),
) -> Result<OAuthClientConfig, LoginFault> {
    let reads = metadata.additional_fields.get("client_id_metadata_document_supported");
    match &auth.client {
        OAuthClientId::Registered { id, secret } => {
            let mut client = OAuthClientConfig::new(id, redirect);
            client.client_secret = secret.clone();
            Ok(client)
        }
        OAuthClientId::Document(url) if reads.and_then(serde_json::Value::as_bool) == Some(true) => {
            Ok(OAuthClientConfig::new(url, redirect))
        }
        OAuthClientId::Any | OAuthClientId::Document(_) => {
            let registered = manager.register_client(CLIENT_NAME, redirect, scopes).await;
            registered.map_err(|error| LoginFault::Unknown(visible_text(&error.to_string())))
        }
    }
}

/// Returns the value of a query parameter; an error if it occurs twice.
fn single_parameter(url: &Url, name: &str) -> Result<Option<String>, LoginFault> {
    let mut values = url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let value = values.next();
    match values.next() {
        None => Ok(value),
        Some(_) => Err(LoginFault::Unsafe(format!("the browser returned with two values for `{name}`"))),
    }
}

fn discovery_error(error: AuthError) -> LoginFault {
    match error {
        AuthError::AuthorizationServerMismatch { .. }
        | AuthError::AuthorizationServerMissingIssuer { .. }
        | AuthError::PkceUnsupported => LoginFault::Unsafe(visible_text(&error.to_string())),
        other => LoginFault::Discovery(visible_text(&other.to_string())),
    }
}

/// Returns a remote message without invisible characters, truncated.
fn visible_text(text: &str) -> String {
    text.chars().filter(|letter| !policy::is_invisible(*letter)).take(MAX_MESSAGE_CHARS).collect()
}

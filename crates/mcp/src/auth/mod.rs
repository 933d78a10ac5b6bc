//! OAuth 2.1 authorization for HTTP servers: login, stored and renewed tokens, and the HTTP client that sends them.

mod auth_fault;
mod credential_store;
mod http_client;
mod http_post;
mod login;
mod redirect_listener;
mod sse_events;
mod token_provider;
mod token_store;

use std::fmt;
use std::sync::Arc;

pub(crate) use auth_fault::ServerAuth;
pub use auth_fault::{AuthFault, AuthRejection};
pub(crate) use http_client::AuthorizedHttpClient;
pub use login::{BrowserOpener, LoginFault, LoginOutcome, login, logout};
pub(crate) use token_provider::TokenProvider;
pub use token_store::{TokenStore, TokenStoreFault};

/// OAuth configuration of a server.
#[derive(Debug, Clone)]
pub struct OAuthConfig {
    /// The store of its tokens.
    pub tokens: Arc<TokenStore>,
    /// Our identity at the authorization server.
    pub client: OAuthClientId,
    /// The scopes to request; those that the server requires if empty.
    pub scopes: Vec<String>,
    /// The network in which the authorization server may be.
    pub network: AuthServerNetwork,
}

/// The network in which the authorization server may be. Loopback addresses are allowed only for servers on loopback,
/// and cloud metadata addresses never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuthServerNetwork {
    /// A public network. A server at a private address may name others in its private network.
    #[default]
    Public,
    /// A private network, too.
    Private,
}

impl OAuthConfig {
    /// Default configuration: dynamic client registration, and the scopes that the server requires.
    pub fn new(tokens: Arc<TokenStore>) -> Self {
        Self { tokens, client: OAuthClientId::Any, scopes: Vec::new(), network: AuthServerNetwork::default() }
    }
}

/// Our identity at the authorization server.
#[derive(Clone, PartialEq, Eq)]
pub enum OAuthClientId {
    /// None: we register ourselves.
    Any,
    /// A client that is registered there already.
    Registered {
        /// The client id.
        id: String,
        /// The client secret, if there is one.
        secret: Option<String>,
    },
    /// A client metadata document at this `https` URL, if the authorization server supports it; otherwise we register
    /// ourselves.
    Document(String),
}

impl fmt::Debug for OAuthClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("Any"),
            Self::Registered { id, .. } => f.debug_tuple("Registered").field(id).finish(),
            Self::Document(url) => f.debug_tuple("Document").field(url).finish(),
        }
    }
}

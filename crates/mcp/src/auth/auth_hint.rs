//! Hints for a user whom a server rejects as unauthorized.

use std::error::Error;

use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};

use super::TokenProvider;
use crate::server_config::HttpTransport;

/// The authentication method of a server, for hints.
#[derive(Default)]
pub(crate) struct AuthHint {
    server: String,
    method: AuthMethod,
}

#[derive(Default)]
enum AuthMethod {
    /// Not configured.
    #[default]
    Unknown,
    /// A configured token.
    Token,
    /// OAuth login.
    Login,
}

impl AuthHint {
    pub(crate) fn for_server(server: &str, http: &HttpTransport) -> Self {
        let method = match (&http.bearer, &http.auth) {
            (Some(_), _) => AuthMethod::Token,
            (None, Some(_)) => AuthMethod::Login,
            (None, None) => AuthMethod::Unknown,
        };
        Self { server: server.to_owned(), method }
    }

    /// Returns the token provider, if the server uses OAuth login.
    pub(crate) fn token_provider(&self, http: &HttpTransport) -> Result<Option<TokenProvider>, String> {
        match (&self.method, &http.auth) {
            (AuthMethod::Login, Some(auth)) => {
                let provider = TokenProvider::for_server(&self.server, &http.url, auth);
                provider.map(Some).map_err(|why| format!("nobody can log in to it: {why}"))
            }
            _ => Ok(None),
        }
    }

    /// Returns a hint for the user, if `error` is an authorization failure.
    pub(crate) fn hint_for(&self, error: &(dyn Error + 'static)) -> Option<String> {
        let lacks = match auth_rejection(error)? {
            AuthRejection::Unauthenticated => "wants to know who you are",
            AuthRejection::MissingScope => "wants more rights than it was given",
        };
        let server = &self.server;
        Some(match self.method {
            AuthMethod::Unknown => format!("it {lacks}, and nothing is configured that it could be shown"),
            AuthMethod::Token => format!("it {lacks}: it does not take the token that is configured for it"),
            AuthMethod::Login => format!("it {lacks}: run `toolgate mcp login {server}`"),
        })
    }
}

enum AuthRejection {
    Unauthenticated,
    MissingScope,
}

fn auth_rejection(error: &(dyn Error + 'static)) -> Option<AuthRejection> {
    let mut source = Some(error);
    // ends: an error has a finite chain of sources
    while let Some(cause) = source {
        if cause.is::<InsufficientScopeError>() {
            return Some(AuthRejection::MissingScope);
        }
        let required = matches!(cause.downcast_ref(), Some(AuthError::AuthorizationRequired));
        if required || cause.is::<AuthRequiredError>() {
            return Some(AuthRejection::Unauthenticated);
        }
        source = cause.source();
    }
    None
}

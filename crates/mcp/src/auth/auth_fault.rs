//! Explains why a server rejects our authorization, by its authentication method: none, a token, or OAuth login.

use std::error::Error;

use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
use tool::ErrorHints;

use super::TokenProvider;
use crate::server_config::HttpTransport;

/// The reason why a server does not accept our authorization.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthFault {
    /// No token and no login is configured.
    #[error("it {}, and no token or login is configured for it", rejection.describe())]
    NotConfigured {
        /// The missing authorization.
        rejection: AuthRejection,
    },
    /// A token is configured.
    #[error("it {}: it rejects the configured token", rejection.describe())]
    TokenRejected {
        /// The missing authorization.
        rejection: AuthRejection,
    },
    /// The user must log in.
    #[error("it {}: the user must log in", rejection.describe())]
    LoginRequired {
        /// The server's name.
        server: String,
        /// The missing authorization.
        rejection: AuthRejection,
    },
}

/// The authorization that a server misses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthRejection {
    /// It does not know the user.
    Unauthenticated,
    /// The token lacks a scope.
    MissingScope,
}

impl AuthRejection {
    fn describe(self) -> &'static str {
        match self {
            Self::Unauthenticated => "requires authentication",
            Self::MissingScope => "requires more rights than it was given",
        }
    }
}

/// The authentication method of a server, to explain its rejections.
#[derive(Default)]
pub(crate) struct ServerAuth {
    server: String,
    method: AuthMethod,
    hints: ErrorHints,
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

impl ServerAuth {
    pub(crate) fn for_server(server: &str, http: &HttpTransport, hints: ErrorHints) -> Self {
        let method = match (&http.bearer, &http.auth) {
            (Some(_), _) => AuthMethod::Token,
            (None, Some(_)) => AuthMethod::Login,
            (None, None) => AuthMethod::Unknown,
        };
        Self { server: server.to_owned(), method, hints }
    }

    /// Returns the token provider, if the server uses OAuth login.
    pub(crate) fn token_provider(&self, http: &HttpTransport) -> Result<Option<TokenProvider>, String> {
        match (&self.method, &http.auth) {
            (AuthMethod::Login, Some(auth)) => {
                let provider = TokenProvider::for_server(&self.server, &http.url, auth);
                provider.map(Some).map_err(|why| format!("a login to it is not possible: {why}"))
            }
            _ => Ok(None),
        }
    }

    /// Explains `error` with its hint, if it is an authorization failure.
    pub(crate) fn explain(&self, error: &(dyn Error + 'static)) -> Option<String> {
        let rejection = auth_rejection(error)?;
        let fault = match self.method {
            AuthMethod::Unknown => AuthFault::NotConfigured { rejection },
            AuthMethod::Token => AuthFault::TokenRejected { rejection },
            AuthMethod::Login => AuthFault::LoginRequired { server: self.server.clone(), rejection },
        };
        Some(self.hints.explain(&fault))
    }
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

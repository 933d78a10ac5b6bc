//! Hints for a user whom a server rejects as unauthorized.

use std::error::Error;

use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};

use super::Keys;
use crate::server::Http;

/// The authentication method of a server, for hints.
#[derive(Default)]
pub(crate) struct Door {
    server: String,
    way: Way,
}

#[derive(Default)]
enum Way {
    /// Not configured.
    #[default]
    Unknown,
    /// A configured token.
    Token,
    /// OAuth login.
    Login,
}

impl Door {
    pub(crate) fn of(server: &str, http: &Http) -> Self {
        let way = match (&http.bearer, &http.auth) {
            (Some(_), _) => Way::Token,
            (None, Some(_)) => Way::Login,
            (None, None) => Way::Unknown,
        };
        Self { server: server.to_owned(), way }
    }

    /// Returns the token provider, if the server uses OAuth login.
    pub(crate) fn keys(&self, http: &Http) -> Result<Option<Keys>, String> {
        match (&self.way, &http.auth) {
            (Way::Login, Some(auth)) => {
                let keys = Keys::of(&self.server, &http.url, auth);
                keys.map(Some).map_err(|why| format!("nobody can log in to it: {why}"))
            }
            _ => Ok(None),
        }
    }

    /// Returns a hint for the user, if `error` is an authorization failure.
    pub(crate) fn shut(&self, error: &(dyn Error + 'static)) -> Option<String> {
        let lacks = match turned_away(error)? {
            Away::Unknown => "wants to know who you are",
            Away::Rights => "wants more rights than it was given",
        };
        let server = &self.server;
        Some(match self.way {
            Way::Unknown => format!("it {lacks}, and nothing is configured that it could be shown"),
            Way::Token => format!("it {lacks}: it does not take the token that is configured for it"),
            Way::Login => format!("it {lacks}: run `toolgate mcp login {server}`"),
        })
    }
}

enum Away {
    Unknown,
    Rights,
}

fn turned_away(error: &(dyn Error + 'static)) -> Option<Away> {
    let mut source = Some(error);
    // ends: an error has a finite chain of sources
    while let Some(cause) = source {
        if cause.is::<InsufficientScopeError>() {
            return Some(Away::Rights);
        }
        let required = matches!(cause.downcast_ref(), Some(AuthError::AuthorizationRequired));
        if required || cause.is::<AuthRequiredError>() {
            return Some(Away::Unknown);
        }
        source = cause.source();
    }
    None
}

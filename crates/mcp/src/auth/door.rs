//! What a user is told whom a server does not let in.

use std::error::Error;

use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};

use super::Keys;
use crate::server::Http;

/// How one gets in at a server.
#[derive(Default)]
pub(crate) struct Door {
    server: String,
    way: Way,
}

#[derive(Default)]
enum Way {
    /// Nobody said.
    #[default]
    Unknown,
    /// With a token that is written down.
    Token,
    /// By logging in.
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

    /// What is shown there, if one logs in.
    pub(crate) fn keys(&self, http: &Http) -> Result<Option<Keys>, String> {
        match (&self.way, &http.auth) {
            (Way::Login, Some(auth)) => {
                let keys = Keys::of(&self.server, &http.url, auth);
                keys.map(Some).map_err(|why| format!("nobody can log in to it: {why}"))
            }
            _ => Ok(None),
        }
    }

    /// What the user can do, if `error` says that they were not let in.
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
    // ends: an error has so many sources
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

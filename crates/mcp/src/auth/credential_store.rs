//! Adapts the token store to the credential store interface of `rmcp`.

use std::sync::Arc;

use rmcp::transport::auth::{AuthError, CredentialStore, OAuthTokenResponse, StoredCredentials};
use serde_json::{Value, json};

use super::token_store::{OAuthToken, StoredLogin, TokenKey, TokenStore, TokenStoreFault, unix_now};

/// The tokens of one server. The caller of a refresh holds the lock already.
pub(super) struct TokenCredentialStore {
    pub(super) tokens: Arc<TokenStore>,
    pub(super) key: TokenKey,
}

#[async_trait::async_trait]
impl CredentialStore for TokenCredentialStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let entry = self.tokens.load(&self.key).map_err(store_error)?;
        entry.map(to_credentials).transpose()
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let token = token_from_credentials(&credentials)?;
        self.tokens.update(&self.key, |entry| entry.token = token).map_err(store_error)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.tokens.remove(&self.key).map_err(store_error)
    }

    /// Removes a rejected refresh token, so it is not sent again.
    async fn on_refresh_token_rejected(&self, credentials: &StoredCredentials) -> Result<(), AuthError> {
        let refused = token_from_credentials(credentials)?.and_then(|token| token.refresh);
        let forget = |entry: &mut StoredLogin| {
            entry.token.take_if(|token| token.refresh == refused);
        };
        self.tokens.update(&self.key, forget).map_err(store_error)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
pub(super) fn store_error(fault: TokenStoreFault) -> AuthError {
    AuthError::CredentialStoreError(fault.to_string())
}

/// Converts the credentials of `rmcp` to a token, through their JSON form.
pub(super) fn token_from_credentials(
    credentials: &StoredCredentials,
) -> Result<Option<OAuthToken>, AuthError> {
    let Some(response) = &credentials.token_response else { return Ok(None) };
    let json = serde_json::to_value(response).map_err(|error| AuthError::InternalError(error.to_string()))?;
    let text = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
    Ok(Some(OAuthToken {
        access: text("access_token").unwrap_or_default(),
        refresh: text("refresh_token"),
        received: credentials.token_received_at.unwrap_or_else(unix_now),
        lasts: json.get("expires_in").and_then(Value::as_u64),
        scopes: credentials.granted_scopes.clone(),
    }))
}

fn to_credentials(entry: StoredLogin) -> Result<StoredCredentials, AuthError> {
    let response = |token: &OAuthToken| {
        serde_json::from_value::<OAuthTokenResponse>(json!({
            "access_token": token.access,
            "token_type": "bearer",
            "refresh_token": token.refresh,
            "expires_in": token.lasts,
        }))
    };
    let failed = |error: serde_json::Error| AuthError::InternalError(error.to_string());
    let token = entry.token.as_ref().map(response).transpose().map_err(failed)?;
    let (scopes, received) =
        entry.token.map(|token| (token.scopes, Some(token.received))).unwrap_or_default();
    let credentials = StoredCredentials::new(entry.client.id, token, scopes, received);
    Ok(credentials.with_issuer(entry.issuer))
}

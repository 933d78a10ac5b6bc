//! Provides the access token of one server, and renews it when it expires.

use reqwest::Url;
use rmcp::transport::auth::{AuthError, AuthorizationManager, OAuthClientConfig};
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use super::credential_store::{TokenCredentialStore, store_error};
use super::token_store::{OAuthToken, StoredLogin, TokenKey};
use super::{AuthServerNetwork, OAuthConfig};
use crate::url_policy;

/// Provides the access token of one server.
pub(crate) struct TokenProvider {
    auth: OAuthConfig,
    pub(super) key: TokenKey,
    pub(super) server: Url,
}

impl TokenProvider {
    /// Creates the provider for the server with this name and URL. The error says why no token may be sent there.
    pub(crate) fn for_server(name: &str, url: &str, auth: &OAuthConfig) -> Result<Self, String> {
        let server = url_policy::parse_server_url(url).map_err(|fault| format!("its address {fault}"))?;
        let key = TokenKey { server: name.to_owned(), url: url.to_owned() };
        Ok(Self { auth: auth.clone(), key, server })
    }

    /// Returns the access token, renewed if it has expired; `None` if the user has none.
    pub(super) async fn access_token(&self) -> Result<Option<String>, AuthError> {
        let Some(token) = self.stored_token()? else { return Ok(None) };
        if token.is_fresh() {
            return Ok(Some(token.access));
        }
        self.renew_token(&token.access, None).await
    }

    /// Returns a token other than `stale`, which the server rejected with `challenge`. Renews at most once, whatever
    /// the reason.
    pub(super) async fn renew_token(
        &self,
        stale: &str,
        challenge: Option<&str>,
    ) -> Result<Option<String>, AuthError> {
        let tokens = &self.auth.tokens;
        let _held = tokens.lock(&self.key).await.map_err(store_error)?;
        let Some(entry) = tokens.load(&self.key).map_err(store_error)? else { return Ok(None) };
        let Some(token) = &entry.token else { return Ok(None) };
        // Another process has renewed it already.
        if token.access != stale && token.is_fresh() {
            return Ok(Some(token.access.clone()));
        }
        if token.refresh.is_none() {
            return Ok(None);
        }
        match self.refresh(&entry, challenge.or(entry.challenge.as_deref())).await {
            Ok(()) => Ok(self.stored_token()?.map(|token| token.access)),
            Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Stores scopes that the server found missing, so the next login requests them.
    pub(super) async fn remember_missing_scopes(&self, scopes: &str) -> Result<(), AuthError> {
        let scopes: Vec<String> = scopes.split_whitespace().map(str::to_owned).collect();
        let want = |entry: &mut StoredLogin| {
            for scope in scopes {
                if !entry.wanted.contains(&scope) {
                    entry.wanted.push(scope);
                }
            }
        };
        let _held = self.auth.tokens.lock(&self.key).await.map_err(store_error)?;
        self.auth.tokens.update(&self.key, want).map_err(store_error)
    }

    fn stored_token(&self) -> Result<Option<OAuthToken>, AuthError> {
        Ok(self.auth.tokens.load(&self.key).map_err(store_error)?.and_then(|entry| entry.token))
    }

    /// Creates the client of the authorization server.
    pub(super) async fn authorization_manager(&self) -> Result<AuthorizationManager, AuthError> {
        let server = self.server.as_str();
        match self.auth.network {
            AuthServerNetwork::Public => AuthorizationManager::new(server).await,
            AuthServerNetwork::Private => AuthorizationManager::new_allowing_private_addresses(server).await,
        }
    }

    /// Requests a new token from the issuer of the old one, if it is still the authorization server here.
    async fn refresh(&self, entry: &StoredLogin, challenge: Option<&str>) -> Result<(), AuthError> {
        let mut manager = self.authorization_manager().await?;
        let metadata = manager.resolve_metadata_from_challenge(challenge).await?.metadata;
        let token_endpoint = url_policy::parse_endpoint_url(&metadata.token_endpoint, &self.server);
        if metadata.issuer != entry.issuer || token_endpoint.is_err() {
            return Err(AuthError::AuthorizationRequired);
        }
        manager.set_metadata(metadata);
        let mut client = OAuthClientConfig::new(&entry.client.id, &entry.client.redirect);
        client.client_secret = entry.client.secret.clone();
        manager.configure_client(client)?;
        if resource_parameter(&manager.get_authorization_url(&[]).await?).as_ref() != Some(&entry.resource) {
            return Err(AuthError::AuthorizationRequired);
        }
        let (tokens, key) = (self.auth.tokens.clone(), self.key.clone());
        manager.set_credential_store(TokenCredentialStore { tokens, key });
        // `rmcp` would log token details.
        manager.refresh_token().with_subscriber(NoSubscriber::default()).await.map(|_| ())
    }
}

/// Returns the `resource` parameter of an authorization URL: the resource that the token is for.
pub(super) fn resource_parameter(authorization: &str) -> Option<String> {
    let url = Url::parse(authorization).ok()?;
    url.query_pairs().find(|(name, _)| name == "resource").map(|(_, value)| value.into_owned())
}

//! Tests OAuth login and token renewal: unsafe metadata is rejected, and tokens go to no other server.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

#[path = "../support/call.rs"]
mod call;
mod oauth_server;
mod secret_logging;
mod token_files;

use std::sync::atomic::Ordering;

use toolgate_mcp::{HttpTransport, LoginFault, McpServerConfig, ServerTransport, login, logout};

use oauth_server::{LoggedInBrowser, OAuthTestServer, call_echo, token_file};

#[tokio::test]
async fn a_user_logs_in_once() {
    let place = OAuthTestServer::new("honest");
    let why = call_echo(place.config()).await;
    assert_eq!(why, "cannot be used: it requires authentication: the user must log in");
    let logged_in = login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    assert_eq!(
        (logged_in.issuer.as_str(), &*logged_in.scopes),
        (&*place.base, &["tools", "offline_access"].map(String::from)[..])
    );
    assert_eq!(call_echo(place.config()).await, "hi");
    assert_eq!(call_echo(place.config()).await, "hi");
    let [page, token] = [&place.requests_to("/authorize").await[..], &place.requests_to("/token").await[..]]
        .map(|one| one[0].clone());
    let resource = format!("{}/mcp", place.base);
    assert_eq!(
        (page["form"]["resource"].as_str(), token["form"]["resource"].as_str()),
        (Some(&*resource), Some(&*resource))
    );
    assert_eq!(page["form"]["code_challenge_method"], "S256");
    // A configured header goes to the server only.
    assert!(place.requests_to("/mcp").await.iter().any(|one| one["headers"]["x-api-key"] == "hush"));
    for path in ["/authorize", "/token", "/register", "/.well-known/oauth-authorization-server"] {
        for one in place.requests_to(path).await {
            assert!(one["headers"]["x-api-key"].is_null(), "{one}");
        }
    }
    logout(&place.config()).await.unwrap();
    assert!(call_echo(place.config()).await.contains("the user must log in"));
}

#[tokio::test]
async fn an_expired_token_is_renewed_without_the_user() {
    for (mode, resource) in [("short", "/mcp"), ("revoked", "/mcp"), ("odd-metadata", "/")] {
        let place = OAuthTestServer::new(mode);
        login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
        assert_eq!(call_echo(place.config()).await, "hi", "{mode}");
        assert_eq!(call_echo(place.config()).await, "hi", "{mode}");
        assert_eq!(place.refresh_count().await, 1, "{mode}");
        let asked = place.requests_to("/token").await;
        assert_eq!(asked.last().unwrap()["form"]["resource"], format!("{}{resource}", place.base), "{mode}");
    }
}

#[tokio::test]
async fn concurrent_renewals_happen_once() {
    let place = OAuthTestServer::new("slow-refresh");
    login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    let calls = (0..8).map(|_| call_echo(place.config()));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer == "hi"), "{answers:?}");
    assert_eq!(place.refresh_count().await, 1);
}

#[tokio::test]
async fn a_rejected_refresh_token_is_not_sent_again() {
    let place = OAuthTestServer::new("invalid-grant");
    login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    for _ in 0..3 {
        assert!(call_echo(place.config()).await.contains("the user must log in"));
    }
    assert_eq!(place.refresh_count().await, 1);
}

#[tokio::test]
async fn tokens_survive_a_failed_renewal() {
    let place = OAuthTestServer::new("refresh-down");
    login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    let why = call_echo(place.config()).await;
    assert!(!why.contains("must log in") && why.starts_with("cannot be used"), "{why}");
    assert!(place.refresh_count().await <= 8, "{}", place.refresh_count().await);
    assert!(std::fs::exists(token_file(&place.token_dir())).unwrap());
}

#[tokio::test]
async fn missing_scopes_are_requested_at_the_next_login() {
    let place = OAuthTestServer::new("step-up");
    let browser = LoggedInBrowser::default();
    login(&place.config(), &browser).await.unwrap();
    let said = call_echo(place.config()).await;
    assert!(said.contains("requires more rights than it was given: the user must log in"), "{said}");
    login(&place.config(), &browser).await.unwrap();
    let pages = place.requests_to("/authorize").await;
    assert_eq!(pages[1]["form"]["scope"], "tools offline_access admin");
    assert_eq!(call_echo(place.config()).await, "hi");
}

#[tokio::test]
async fn unsafe_authorization_metadata_is_rejected() {
    let modes =
        ["no-pkce", "plain-pkce", "file-page", "script-page", "open-page", "named-page", "open-token"];
    for mode in modes {
        let place = OAuthTestServer::new(mode);
        let browser = LoggedInBrowser::default();
        let fault = login(&place.config(), &browser).await.unwrap_err();
        assert!(matches!(fault, LoginFault::Unsafe(_)), "{mode}: {fault}");
        assert_eq!(browser.opened.load(Ordering::Relaxed), 0, "{mode}");
    }
}

#[tokio::test]
async fn a_mismatched_callback_is_rejected() {
    for mode in ["wrong-state", "no-state", "two-codes", "wrong-iss"] {
        let place = OAuthTestServer::new(mode);
        let fault = login(&place.config(), &LoggedInBrowser::default()).await.unwrap_err();
        assert!(matches!(fault, LoginFault::Unsafe(_)), "{mode}: {fault}");
        assert_eq!(place.requests_to("/token").await.len(), 0, "{mode}");
    }
}

#[tokio::test]
async fn a_refusal_is_shown_without_control_characters() {
    let place = OAuthTestServer::new("denied");
    let fault = login(&place.config(), &LoggedInBrowser::default()).await.unwrap_err();
    assert_eq!(fault.to_string(), "the authorization server refused the login: access_denied[2J");
}

#[tokio::test]
async fn unsafe_metadata_locations_are_not_fetched() {
    for mode in ["metadata-ip", "metadata-elsewhere", "metadata-big", "other-resource"] {
        let place = OAuthTestServer::new(mode);
        let browser = LoggedInBrowser::default();
        let fault = login(&place.config(), &browser).await.unwrap_err();
        assert!(matches!(fault, LoginFault::Discovery(_)), "{mode}: {fault}");
        assert_eq!(browser.opened.load(Ordering::Relaxed), 0, "{mode}");
        assert_eq!(place.requests_to("/stolen").await.len(), 0, "{mode}");
    }
}

#[tokio::test]
async fn a_failed_registration_suggests_a_client_id() {
    let place = OAuthTestServer::new("no-registration");
    let fault = login(&place.config(), &LoggedInBrowser::default()).await.unwrap_err();
    assert!(matches!(fault, LoginFault::Unknown(_)) && fault.to_string().contains("client id"), "{fault}");
}

#[tokio::test]
async fn redirects_to_another_origin_are_not_followed() {
    let place = OAuthTestServer::new("moved");
    let why = call_echo(place.config()).await;
    assert!(why.starts_with("cannot be used"), "{why}");
    assert_eq!(place.requests_to("/stolen").await.len(), 0);
}

#[tokio::test]
async fn tokens_are_bound_to_the_server_url() {
    let place = OAuthTestServer::new("honest");
    login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    let elsewhere = OAuthTestServer::new("honest");
    let ServerTransport::Http(http) = place.config().transport else { panic!() };
    let http = HttpTransport { url: format!("{}/mcp", elsewhere.base), ..http };
    let why = call_echo(McpServerConfig::new("o", ServerTransport::Http(http))).await;
    assert!(why.contains("the user must log in"), "{why}");
    let shown = elsewhere.requests_to("/mcp").await;
    assert!(!shown.is_empty() && shown.iter().all(|one| one["headers"]["authorization"].is_null()));
}

#[tokio::test]
async fn login_over_plain_http_is_refused() {
    let place = OAuthTestServer::new("honest");
    let ServerTransport::Http(http) = place.config().transport else { panic!() };
    let server = McpServerConfig::new(
        "o",
        ServerTransport::Http(HttpTransport { url: "http://192.0.2.1/mcp".to_owned(), ..http }),
    );
    let fault = login(&server, &LoggedInBrowser::default()).await.unwrap_err();
    assert_eq!(fault.to_string(), "`o` has no login: its address is neither `https` nor on this machine");
}

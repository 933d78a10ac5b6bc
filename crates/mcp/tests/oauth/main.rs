//! OAuth login to a server: failures are detected, and tokens go to no other server.
#![expect(clippy::unwrap_used, reason = "tests may unwrap")]

#[path = "../support/call.rs"]
mod call;
mod files;
mod logs;
mod place;

use std::sync::atomic::Ordering;

use toolgate_mcp::{HttpTransport, LoginFault, McpServerConfig, ServerTransport, login, logout};

use place::{LoggedInBrowser, OAuthTestServer, called, kept};

#[tokio::test]
async fn a_user_logs_in_once() {
    let place = OAuthTestServer::new("honest");
    let why = called(place.server()).await;
    assert_eq!(why, "cannot be used: it wants to know who you are: run `toolgate mcp login o`");
    let logged_in = login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
    assert_eq!(
        (logged_in.issuer.as_str(), &*logged_in.scopes),
        (&*place.base, &["tools", "offline_access"].map(String::from)[..])
    );
    assert_eq!(called(place.server()).await, "hi");
    assert_eq!(called(place.server()).await, "hi");
    let [page, token] =
        [&place.asked("/authorize").await[..], &place.asked("/token").await[..]].map(|one| one[0].clone());
    let resource = format!("{}/mcp", place.base);
    assert_eq!(
        (page["form"]["resource"].as_str(), token["form"]["resource"].as_str()),
        (Some(&*resource), Some(&*resource))
    );
    assert_eq!(page["form"]["code_challenge_method"], "S256");
    // A configured header goes to the server only.
    assert!(place.asked("/mcp").await.iter().any(|one| one["headers"]["x-api-key"] == "hush"));
    for path in ["/authorize", "/token", "/register", "/.well-known/oauth-authorization-server"] {
        for one in place.asked(path).await {
            assert!(one["headers"]["x-api-key"].is_null(), "{one}");
        }
    }
    logout(&place.server()).await.unwrap();
    assert!(called(place.server()).await.contains("toolgate mcp login o"));
}

#[tokio::test]
async fn what_does_not_last_is_renewed_without_the_user() {
    for (mode, resource) in [("short", "/mcp"), ("revoked", "/mcp"), ("odd-metadata", "/")] {
        let place = OAuthTestServer::new(mode);
        login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
        assert_eq!(called(place.server()).await, "hi", "{mode}");
        assert_eq!(called(place.server()).await, "hi", "{mode}");
        assert_eq!(place.renewals().await, 1, "{mode}");
        let asked = place.asked("/token").await;
        assert_eq!(asked.last().unwrap()["form"]["resource"], format!("{}{resource}", place.base), "{mode}");
    }
}

#[tokio::test]
async fn many_who_renew_at_once_renew_once() {
    let place = OAuthTestServer::new("slow-refresh");
    login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
    let calls = (0..8).map(|_| called(place.server()));
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer == "hi"), "{answers:?}");
    assert_eq!(place.renewals().await, 1);
}

#[tokio::test]
async fn what_was_refused_once_is_not_shown_again() {
    let place = OAuthTestServer::new("invalid-grant");
    login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
    for _ in 0..3 {
        assert!(called(place.server()).await.contains("toolgate mcp login o"));
    }
    assert_eq!(place.renewals().await, 1);
}

#[tokio::test]
async fn what_cannot_be_renewed_now_is_kept_for_later() {
    let place = OAuthTestServer::new("refresh-down");
    login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
    let why = called(place.server()).await;
    assert!(!why.contains("toolgate mcp login") && why.starts_with("cannot be used"), "{why}");
    assert!(place.renewals().await <= 8, "{}", place.renewals().await);
    assert!(std::fs::exists(kept(&place.directory())).unwrap());
}

#[tokio::test]
async fn rights_that_are_missed_are_asked_for() {
    let place = OAuthTestServer::new("step-up");
    let browser = LoggedInBrowser::default();
    login(&place.server(), &browser).await.unwrap();
    let said = called(place.server()).await;
    assert!(said.contains("wants more rights than it was given: run `toolgate mcp login o`"), "{said}");
    login(&place.server(), &browser).await.unwrap();
    let pages = place.asked("/authorize").await;
    assert_eq!(pages[1]["form"]["scope"], "tools offline_access admin");
    assert_eq!(called(place.server()).await, "hi");
}

#[tokio::test]
async fn nobody_is_sent_where_it_is_not_safe() {
    let modes =
        ["no-pkce", "plain-pkce", "file-page", "script-page", "open-page", "named-page", "open-token"];
    for mode in modes {
        let place = OAuthTestServer::new(mode);
        let browser = LoggedInBrowser::default();
        let fault = login(&place.server(), &browser).await.unwrap_err();
        assert!(matches!(fault, LoginFault::Unsafe(_)), "{mode}: {fault}");
        assert_eq!(browser.opened.load(Ordering::Relaxed), 0, "{mode}");
    }
}

#[tokio::test]
async fn whoever_comes_back_is_who_was_sent() {
    for mode in ["wrong-state", "no-state", "two-codes", "wrong-iss"] {
        let place = OAuthTestServer::new(mode);
        let fault = login(&place.server(), &LoggedInBrowser::default()).await.unwrap_err();
        assert!(matches!(fault, LoginFault::Unsafe(_)), "{mode}: {fault}");
        assert_eq!(place.asked("/token").await.len(), 0, "{mode}");
    }
}

#[tokio::test]
async fn a_no_is_told_without_what_a_terminal_obeys() {
    let place = OAuthTestServer::new("denied");
    let fault = login(&place.server(), &LoggedInBrowser::default()).await.unwrap_err();
    assert_eq!(fault.to_string(), "it was refused: access_denied[2J");
}

#[tokio::test]
async fn nobody_looks_for_who_lets_users_in_at_odd_places() {
    for mode in ["metadata-ip", "metadata-elsewhere", "metadata-big", "other-resource"] {
        let place = OAuthTestServer::new(mode);
        let browser = LoggedInBrowser::default();
        let fault = login(&place.server(), &browser).await.unwrap_err();
        assert!(matches!(fault, LoginFault::Discovery(_)), "{mode}: {fault}");
        assert_eq!(browser.opened.load(Ordering::Relaxed), 0, "{mode}");
        assert_eq!(place.asked("/stolen").await.len(), 0, "{mode}");
    }
}

#[tokio::test]
async fn whoever_cannot_register_is_told_what_to_do() {
    let place = OAuthTestServer::new("no-registration");
    let fault = login(&place.server(), &LoggedInBrowser::default()).await.unwrap_err();
    assert!(matches!(fault, LoginFault::Unknown(_)) && fault.to_string().contains("client id"), "{fault}");
}

#[tokio::test]
async fn nothing_is_sent_on_to_another_origin() {
    let place = OAuthTestServer::new("moved");
    let why = called(place.server()).await;
    assert!(why.starts_with("cannot be used"), "{why}");
    assert_eq!(place.asked("/stolen").await.len(), 0);
}

#[tokio::test]
async fn a_server_of_the_same_name_elsewhere_is_shown_nothing() {
    let place = OAuthTestServer::new("honest");
    login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
    let elsewhere = OAuthTestServer::new("honest");
    let ServerTransport::Http(http) = place.server().transport else { panic!() };
    let http = HttpTransport { url: format!("{}/mcp", elsewhere.base), ..http };
    let why = called(McpServerConfig::new("o", ServerTransport::Http(http))).await;
    assert!(why.contains("toolgate mcp login o"), "{why}");
    let shown = elsewhere.asked("/mcp").await;
    assert!(!shown.is_empty() && shown.iter().all(|one| one["headers"]["authorization"].is_null()));
}

#[tokio::test]
async fn nobody_logs_in_over_an_open_line() {
    let place = OAuthTestServer::new("honest");
    let ServerTransport::Http(http) = place.server().transport else { panic!() };
    let server = McpServerConfig::new("o", ServerTransport::Http(HttpTransport { url: "http://192.0.2.1/mcp".to_owned(), ..http }));
    let fault = login(&server, &LoggedInBrowser::default()).await.unwrap_err();
    assert_eq!(
        fault.to_string(),
        "nobody logs in to `o`: its address is neither `https` nor on this machine"
    );
}

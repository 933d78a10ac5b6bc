//! Token files: private to the user, and anything else in their place is rejected.
#![expect(clippy::disallowed_methods, reason = "tests look at files")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use toolgate_mcp::login;

use crate::oauth_server::{LoggedInBrowser, OAuthTestServer, call_echo, token_file};

#[tokio::test]
async fn token_files_are_private() {
    let place = OAuthTestServer::new("honest");
    login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.token_dir()), 0o700);
    for entry in fs::read_dir(place.token_dir()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    let file = token_file(&place.token_dir());
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let why = call_echo(place.config()).await;
    assert!(why.contains("others may read it"), "{why}");
}

#[tokio::test]
async fn a_link_is_not_followed() {
    let place = OAuthTestServer::new("honest");
    login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    let file = token_file(&place.token_dir());
    let aside = place.state.path().join("aside.json");
    fs::rename(&file, &aside).unwrap();
    symlink(&aside, &file).unwrap();
    let why = call_echo(place.config()).await;
    assert!(why.contains("it is a symbolic link"), "{why}");
    // A new login replaces the symlink and does not touch its target.
    let before = fs::read(&aside).unwrap();
    login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    assert_eq!(fs::read(&aside).unwrap(), before);
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
    assert_eq!(call_echo(place.config()).await, "hi");
}

#[tokio::test]
async fn a_pipe_or_a_directory_is_no_token_file() {
    let place = OAuthTestServer::new("honest");
    login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    let file = token_file(&place.token_dir());
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let why = call_echo(place.config()).await;
    assert!(why.contains("it is not a regular file"), "{why}");
    fs::remove_dir(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let why = call_echo(place.config()).await;
    assert!(why.contains("it is not a regular file"), "{why}");
}

#[tokio::test]
async fn a_corrupt_token_file_requires_a_new_login() {
    let place = OAuthTestServer::new("honest");
    login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    fs::write(token_file(&place.token_dir()), "{\"half\":").unwrap();
    let why = call_echo(place.config()).await;
    assert!(why.contains("the user must log in"), "{why}");
}

#[tokio::test]
async fn a_directory_that_others_write_to_is_not_used() {
    let place = OAuthTestServer::new("honest");
    login(&place.config(), &LoggedInBrowser::default()).await.unwrap();
    fs::set_permissions(place.token_dir(), Permissions::from_mode(0o777)).unwrap();
    let why = call_echo(place.config()).await;
    assert!(why.contains("others may write into the directory"), "{why}");
}

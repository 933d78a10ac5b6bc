//! Token files: private to the user, and anything else in their place is rejected.
#![expect(clippy::disallowed_methods, reason = "tests look at files")]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use toolgate_mcp::login;

use crate::place::{LoggedInBrowser, OAuthTestServer, called, kept};

#[tokio::test]
async fn nobody_else_reads_them() {
    let place = OAuthTestServer::new("honest");
    login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.directory()), 0o700);
    for entry in fs::read_dir(place.directory()).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    let file = kept(&place.directory());
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let why = called(place.server()).await;
    assert!(why.contains("others may read it"), "{why}");
}

#[tokio::test]
async fn a_link_is_not_followed() {
    let place = OAuthTestServer::new("honest");
    login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
    let file = kept(&place.directory());
    let aside = place.state.path().join("aside.json");
    fs::rename(&file, &aside).unwrap();
    symlink(&aside, &file).unwrap();
    let why = called(place.server()).await;
    assert!(why.contains("it is a symbolic link"), "{why}");
    // A new login replaces the symlink and does not touch its target.
    let before = fs::read(&aside).unwrap();
    login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
    assert_eq!(fs::read(&aside).unwrap(), before);
    assert!(fs::symlink_metadata(&file).unwrap().is_file());
    assert_eq!(called(place.server()).await, "hi");
}

#[tokio::test]
async fn a_pipe_or_a_directory_is_none_of_them() {
    let place = OAuthTestServer::new("honest");
    login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
    let file = kept(&place.directory());
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let why = called(place.server()).await;
    assert!(why.contains("it is no regular file"), "{why}");
    fs::remove_dir(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let why = called(place.server()).await;
    assert!(why.contains("it is no regular file"), "{why}");
}

#[tokio::test]
async fn what_cannot_be_read_is_as_good_as_gone() {
    let place = OAuthTestServer::new("honest");
    login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
    fs::write(kept(&place.directory()), "{\"half\":").unwrap();
    let why = called(place.server()).await;
    assert!(why.contains("toolgate mcp login o"), "{why}");
}

#[tokio::test]
async fn a_directory_that_others_write_to_is_not_used() {
    let place = OAuthTestServer::new("honest");
    login(&place.server(), &LoggedInBrowser::default()).await.unwrap();
    fs::set_permissions(place.directory(), Permissions::from_mode(0o777)).unwrap();
    let why = called(place.server()).await;
    assert!(why.contains("others may write into the directory"), "{why}");
}

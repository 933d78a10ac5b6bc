//! The current user, as whom all commands run: compares names and numbers with it, and finds its home directory.

use std::path::PathBuf;

use rustix::process::geteuid;

/// The file of user accounts.
const PASSWD_FILE: &str = "/etc/passwd";

/// Returns true if `user`, a name or a number, is the user that commands run as.
pub fn is_own_user(user: &str) -> bool {
    let own = geteuid().as_raw();
    if user.parse() == Ok(own) {
        return true;
    }
    // Directory services are not queried: the user's own session states the name that they know.
    let matches_environment =
        ["USER", "LOGNAME"].iter().any(|name| std::env::var(name).is_ok_and(|said| said == user));
    #[expect(clippy::disallowed_methods, reason = "the machine's own list, whose path no model names")]
    let users = std::fs::read_to_string(PASSWD_FILE).unwrap_or_default();
    match users.lines().find_map(|line| uid_of_name(line, user)) {
        Some(number) => number == own,
        None => matches_environment,
    }
}

/// Returns the home directory of this user's account, independent of the environment.
pub fn account_home() -> Option<PathBuf> {
    let own = geteuid().as_raw();
    #[expect(clippy::disallowed_methods, reason = "the machine's own list, whose path no model names")]
    let users = std::fs::read_to_string(PASSWD_FILE).ok()?;
    users.lines().find_map(|line| home_of_uid(line, own))
}

/// Returns the home directory if `line` is the account with the number `own`.
fn home_of_uid(line: &str, own: u32) -> Option<PathBuf> {
    let mut fields = line.split(':');
    let is_theirs = fields.nth(2)?.parse() == Ok(own);
    let home = fields.nth(2).filter(|home| is_theirs && home.starts_with('/') && *home != "/")?;
    Some(home.into())
}

/// Returns the user id if `line` is the account named `user`.
fn uid_of_name(line: &str, user: &str) -> Option<u32> {
    let mut fields = line.split(':');
    let is_theirs = fields.next()? == user && !user.is_empty();
    fields.nth(1).filter(|_| is_theirs)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_known_by_number_and_by_name() {
        let own = geteuid().as_raw();
        assert!(is_own_user(&own.to_string()));
        assert!(!is_own_user(&(own + 1).to_string()));
        assert_eq!(is_own_user("root"), own == 0);
        assert!(!is_own_user("no-such-user"));
        assert_eq!(uid_of_name("me:x:1000:1000::/home/me:/bin/sh", "me"), Some(1000));
        assert_eq!(uid_of_name("me:x:1000:1000::/home/me:/bin/sh", "m"), None);
        assert_eq!(home_of_uid("me:x:1000:1000::/home/me:/bin/sh", 1000), Some("/home/me".into()));
        assert_eq!(home_of_uid("me:x:1000:1000::/home/me:/bin/sh", 100), None);
        assert_eq!(home_of_uid("user:x:1000:1000::/:/bin/sh", 1000), None);
    }
}

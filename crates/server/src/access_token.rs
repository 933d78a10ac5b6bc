//! The bearer token for HTTP clients: from a private file, or from an environment variable.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use ::mcp::serve::{AccessRequirement, BearerToken};
use rustix::fs::{FileType, Mode, OFlags};

use config::UserDirs;
use config::private_dirs;
use config::{OperationFault, STATE_HINT};

/// Maximum bytes of a token file.
const MAX_FILE_BYTES: u64 = 4096;

/// The location of the token: a description for people, and a shell expression.
pub(crate) struct TokenLocation {
    pub description: String,
    pub shell: String,
}

/// Loads the token, and returns it with its location.
pub(crate) fn load_entry(
    variable: Option<&str>,
    dirs: &UserDirs,
) -> Result<(AccessRequirement, TokenLocation), OperationFault> {
    let (text, location, hint) = match variable {
        Some(name) => {
            let text = std::env::var(name)
                .map_err(|_| OperationFault::usage(format!("there is no token in the variable `{name}`")))?;
            let location =
                TokenLocation { description: format!("in the variable {name}"), shell: format!("${name}") };
            (text, location, "it takes 32 letters or more without blanks, e.g. of `openssl rand -hex 32`")
        }
        None => {
            let directory = private_dirs::token_dir(dirs).ok_or_else(|| {
                OperationFault::usage("there is no state directory for the token")
                    .with_hint("set HOME, or use --token-env")
            })?;
            let file = directory.join("token");
            let text = load_or_create_token(&file).map_err(|error| {
                OperationFault::usage(format!("the token in `{}` cannot be used: {error}", file.display()))
                    .with_hint(format!("{STATE_HINT}, or use --token-env"))
            })?;
            let path = file.display().to_string();
            let location =
                TokenLocation { shell: format!("$(cat '{path}')"), description: format!("in {path}") };
            (text, location, "remove it, and it is made anew")
        }
    };
    let token = BearerToken::parse(&text).ok_or_else(|| {
        let wrong = if text.is_empty() { "is empty" } else { "could be guessed" };
        OperationFault::usage(format!("the token {} {wrong}", location.description)).with_hint(hint)
    })?;
    Ok((AccessRequirement::Token(token), location))
}

/// Reads the token in `file`, or creates it. Clients are configured once, so the token must stay the same.
fn load_or_create_token(file: &Path) -> io::Result<String> {
    if let Some(directory) = file.parent() {
        private_files::ensure_private_dir(directory)?;
    }
    match read_token(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match create_token(file) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read_token(file),
            made => made,
        },
        found => found,
    }
}

/// Creates the token file atomically, so that a server starting at the same time reads a complete token.
fn create_token(file: &Path) -> io::Result<String> {
    let text = BearerToken::generate()?;
    let begun = file.with_extension(format!("{}.new", std::process::id()));
    // The process that had this process ID before us was killed.
    let _not_there = rustix::fs::unlink(&begun);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut new = File::from(rustix::fs::open(&begun, flags, Mode::RUSR | Mode::WUSR)?);
    let written = new.write_all(text.as_bytes()).and_then(|()| new.sync_all());
    let linked = written.and_then(|()| Ok(rustix::fs::link(&begun, file)?));
    let _gone = rustix::fs::unlink(&begun);
    linked.map(|()| text)
}

fn read_token(file: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(file, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    let ours = stat.st_uid == rustix::process::geteuid().as_raw();
    let private = stat.st_mode & 0o077 == 0;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !ours || !private {
        return Err(io::Error::other(
            "it is not a file that only you can read; remove it, and a new one is created",
        ));
    }
    let mut text = String::new();
    File::from(file).take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_made_once_and_kept_from_others() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("mcp/token");
        let first = load_or_create_token(&file).unwrap();
        assert_eq!((first.len(), load_or_create_token(&file).unwrap()), (64, first));
        let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(load_or_create_token(&file).is_err());
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
        assert!(load_or_create_token(&file).is_err());
    }

    #[test]
    fn servers_that_start_at_once_have_one_token() {
        let home = tempfile::tempdir().unwrap();
        private_files::ensure_private_dir(&home.path().join("mcp")).unwrap();
        let file = home.path().join("mcp/token");
        // Simulates a race: the second server looked before the first created the file.
        let first = create_token(&file).unwrap();
        assert_eq!(create_token(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(load_or_create_token(&file).unwrap(), first);
        assert_eq!(file.parent().unwrap().read_dir().unwrap().count(), 1);
    }
}

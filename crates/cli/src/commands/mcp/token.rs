//! The token that clients bring over HTTP: in a file that only its user reads, or in a variable.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use ::mcp::serve::{Entry, Token};
use rustix::fs::{FileType, Mode, OFlags};

use crate::config::Dirs;
use crate::fault::Fault;
use crate::private;

/// Bytes of a file that may hold a token.
const MOST: u64 = 4096;

/// How somebody finds the token: for people, and as a word for a shell.
pub(super) struct Bring {
    pub(super) place: String,
    pub(super) shell: String,
}

/// What lets a client in, and where whoever sets it up finds that.
pub(super) fn entry(variable: Option<&str>, dirs: &Dirs) -> Result<(Entry, Bring), Fault> {
    let (text, bring) = match variable {
        Some(name) => {
            let text = std::env::var(name)
                .map_err(|_| Fault::usage(format!("there is no token in the variable `{name}`")))?;
            (text, Bring { place: format!("in the variable {name}"), shell: format!("${name}") })
        }
        None => {
            let directory = private::tokens(dirs).ok_or_else(|| {
                Fault::usage("there is no state directory for the token").hint("set HOME, or use --token-env")
            })?;
            let file = directory.join("token");
            let text = kept(&file).map_err(|error| {
                Fault::usage(format!("the token in `{}` cannot be used: {error}", file.display()))
            })?;
            let path = file.display().to_string();
            (text, Bring { shell: format!("$(cat '{path}')"), place: format!("in {path}") })
        }
    };
    let token = Token::of(&text).ok_or_else(|| {
        Fault::usage(format!("the token {} could be guessed", bring.place))
            .hint("it takes 32 letters or more without blanks, e.g. of `openssl rand -hex 32`")
    })?;
    Ok((Entry::Token(token), bring))
}

/// The token in `file`, which is made if it is not there: clients are set up once, and find it the same the next time.
fn kept(file: &Path) -> io::Result<String> {
    if let Some(directory) = file.parent() {
        private::directory(directory)?;
    }
    match made(file) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => found(file),
        made => made,
    }
}

fn made(file: &Path) -> io::Result<String> {
    let text = Token::fresh()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(file, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    Ok(text)
}

fn found(file: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(file, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    let ours = stat.st_uid == rustix::process::geteuid().as_raw();
    let private = stat.st_mode & 0o077 == 0;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !ours || !private {
        return Err(io::Error::other("it is no file that only you can read; remove it, and it is made anew"));
    }
    let mut text = String::new();
    File::from(file).take(MOST).read_to_string(&mut text)?;
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
        let first = kept(&file).unwrap();
        assert_eq!((first.len(), kept(&file).unwrap()), (64, first));
        let mode = |path: &Path| std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(kept(&file).is_err());
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &file).unwrap();
        assert!(kept(&file).is_err());
    }
}

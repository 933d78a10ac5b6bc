//! Where a session works: where the server was started, or where its client says that it does.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::OnceCell;

use super::asking;
use super::course::Era;
use super::host::{Host, Request};

/// How long a client may take to say where it works.
const PATIENCE: Duration = Duration::from_secs(5);

type Found = Arc<OnceCell<Arc<dyn Host>>>;

/// The host of one session, once it is known which.
#[derive(Default)]
pub(super) struct Site(Mutex<Found>);

impl Site {
    /// The host for a call. The first one asks the client where it works, if it is one that says so.
    pub(super) async fn host(
        &self,
        base: &Arc<dyn Host>,
        context: &RequestContext<RoleServer>,
    ) -> Arc<dyn Host> {
        let capabilities = context.client_capabilities().unwrap_or_default();
        if Era::of(context) == Era::Stateless || capabilities.roots.is_none() {
            return Arc::clone(base);
        }
        let found = Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let looked = found.get_or_init(|| async {
            let roots = roots(context).await;
            if roots.is_empty() { None } else { base.at(&roots) }.unwrap_or_else(|| Arc::clone(base))
        });
        Arc::clone(looked.await)
    }

    /// The next call asks again.
    pub(super) fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Found::default();
    }
}

/// The directories that a client says it works in.
async fn roots(context: &RequestContext<RoleServer>) -> Vec<PathBuf> {
    let asked = asking::one(&context.peer, &Request::Roots);
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(said)) => {
            let roots = said["roots"].as_array().into_iter().flatten();
            roots.filter_map(|root| path(root["uri"].as_str()?)).collect()
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "the client does not say where it works");
            Vec::new()
        }
        Err(_) => {
            tracing::warn!("the client did not say in time where it works");
            Vec::new()
        }
    }
}

/// The path in a `file:` URI of this machine.
fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(rest.len());
    let mut letters = rest.bytes();
    // ends: each round takes a letter
    while let Some(letter) = letters.next() {
        bytes.push(match letter {
            b'%' => {
                let digit = |letter: Option<u8>| char::from(letter?).to_digit(16);
                let value = digit(letters.next())? * 16 + digit(letters.next())?;
                u8::try_from(value).ok()?
            }
            b'?' | b'#' => break,
            letter => letter,
        });
    }
    let plain = !bytes.contains(&0);
    plain.then(|| PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_this_machine_have_a_path() {
        for (uri, expected) in [
            ("file:///home/me", Some("/home/me")),
            ("file://localhost/home/me", Some("/home/me")),
            ("file:///home/a%20b/%C3%A9", Some("/home/a b/é")),
            ("file:///home?x#y", Some("/home")),
            ("file://elsewhere/home", None),
            ("file:home", None),
            ("https://example.org/", None),
            ("file:///a%0", None),
            ("file:///a%00b", None),
        ] {
            assert_eq!(path(uri), expected.map(PathBuf::from), "{uri}");
        }
    }
}

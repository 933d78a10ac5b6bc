//! Chooses the host of a session: in the server's directory, or in the directories (roots) of its client.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use policy::LOCALHOST;
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::OnceCell;

use super::call_driver::ProtocolEra;
use super::client_requests;
use super::tool_host::{ClientInput, ToolHost};

/// Time limit for a client to list its roots.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(5);

type SessionHostCell = Arc<OnceCell<Arc<dyn ToolHost>>>;
type LastRoots = (Vec<PathBuf>, Arc<dyn ToolHost>);

/// The host of one session, resolved at the first call.
#[derive(Default)]
pub(super) struct SessionHost {
    host_cell: Mutex<SessionHostCell>,
    /// The last roots and their host. If the roots are unchanged, the host stays and its work continues.
    last_roots: Mutex<Option<LastRoots>>,
}

impl SessionHost {
    /// Returns the host for a call. The first call requests the client's roots, if the client supports that.
    pub(super) async fn resolve(
        &self,
        base: &Arc<dyn ToolHost>,
        context: &RequestContext<RoleServer>,
    ) -> Arc<dyn ToolHost> {
        let capabilities = context.client_capabilities().unwrap_or_default();
        if ProtocolEra::from_context(context) == ProtocolEra::Stateless || capabilities.roots.is_none() {
            return Arc::clone(base);
        }
        let found = Arc::clone(&self.host_cell.lock());
        let looked = found.get_or_init(|| async { self.host_for_roots(base, request_roots(context).await) });
        Arc::clone(looked.await)
    }

    /// Returns the host for `roots`; the last host if the client gives none.
    fn host_for_roots(&self, base: &Arc<dyn ToolHost>, roots: Option<Vec<PathBuf>>) -> Arc<dyn ToolHost> {
        let mut last = self.last_roots.lock();
        match (&*last, roots) {
            (Some((_, host)), None) => Arc::clone(host),
            (Some((before, host)), Some(roots)) if *before == roots => Arc::clone(host),
            (_, roots) => {
                let roots = roots.unwrap_or_default();
                let there = if roots.is_empty() { None } else { base.for_roots(&roots) };
                let host = there.unwrap_or_else(|| Arc::clone(base));
                *last = Some((roots, Arc::clone(&host)));
                host
            }
        }
    }

    /// Forgets the host, so that the next call requests the roots again.
    pub(super) fn invalidate(&self) {
        *self.host_cell.lock() = SessionHostCell::default();
    }
}

/// Requests the roots of a client; `None` if it does not answer.
async fn request_roots(context: &RequestContext<RoleServer>) -> Option<Vec<PathBuf>> {
    let asked = client_requests::ask_one(&context.peer, &ClientInput::Roots);
    match tokio::time::timeout(ROOTS_TIMEOUT, asked).await {
        Ok(Ok(said)) => {
            let roots = said["roots"].as_array().into_iter().flatten();
            Some(roots.filter_map(|root| path_of_file_uri(root["uri"].as_str()?)).collect())
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "the client does not say where it works");
            None
        }
        Err(_) => {
            tracing::warn!("the client did not say in time where it works");
            None
        }
    }
}

/// Returns the path of a `file:` URI on this machine.
fn path_of_file_uri(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix(LOCALHOST).unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(rest.len());
    let mut letters = rest.bytes();
    // ends: each round takes a byte
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
    use super::super::test_host::EmptyHost;
    use super::*;

    #[test]
    fn unchanged_roots_keep_the_same_host() {
        let (site, base) = (SessionHost::default(), Arc::new(EmptyHost(0)) as Arc<dyn ToolHost>);
        let at = |path: Option<&str>| site.host_for_roots(&base, path.map(|path| vec![PathBuf::from(path)]));
        let first = at(Some("/a"));
        site.invalidate();
        assert!(Arc::ptr_eq(&first, &at(Some("/a"))));
        assert!(Arc::ptr_eq(&first, &at(None)));
        let second = at(Some("/b"));
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&site.host_for_roots(&base, Some(Vec::new())), &base));
    }

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
            assert_eq!(path_of_file_uri(uri), expected.map(PathBuf::from), "{uri}");
        }
    }
}

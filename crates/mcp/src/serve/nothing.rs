//! A host for tests: it has no tools, and a different instance for each set of roots.

use std::path::PathBuf;
use std::sync::Arc;

use super::host::{Call, Host, Identity, Offer, Running};

/// The number of roots; zero for the host that was started.
pub(super) struct Nothing(pub(super) usize);

impl Host for Nothing {
    fn identity(&self) -> Identity {
        let name = format!("nothing {}", self.0);
        Identity { name: name.clone(), title: name, version: "1".to_owned(), instructions: None }
    }

    fn tools(&self) -> Vec<Offer> {
        Vec::new()
    }

    fn start(&self, _: Call) -> Box<dyn Running> {
        unreachable!("it has no tools")
    }

    fn at(&self, roots: &[PathBuf]) -> Option<Arc<dyn Host>> {
        Some(Arc::new(Self(roots.len())))
    }
}

//! A host for tests: it has no tools, and a different instance for each set of roots.

use std::path::PathBuf;
use std::sync::Arc;

use super::tool_host::{HostCall, HostIdentity, HostTool, RunningCall, ToolHost};

/// The number of roots; zero for the host that was started.
pub(super) struct EmptyHost(pub(super) usize);

impl ToolHost for EmptyHost {
    fn identity(&self) -> HostIdentity {
        let name = format!("nothing {}", self.0);
        HostIdentity { name: name.clone(), title: name, version: "1".to_owned(), instructions: None }
    }

    fn tools(&self) -> Vec<HostTool> {
        Vec::new()
    }

    fn start(&self, _: HostCall) -> Box<dyn RunningCall> {
        unreachable!("it has no tools")
    }

    fn for_roots(&self, roots: &[PathBuf]) -> Option<Arc<dyn ToolHost>> {
        Some(Arc::new(Self(roots.len())))
    }
}

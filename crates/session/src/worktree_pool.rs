//! The worktrees of a session's agents. A worktree outlives its agent, so that a resumed agent finds its work again.
//! It is removed when the agent's parent is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;

use crate::worktree::Worktree;

/// Worktrees that are kept; beyond that, the oldest one of a closed agent is removed.
const MAX_WORKTREES: usize = 12;

/// Worktrees by the paths of their agents, oldest first.
#[derive(Default)]
pub struct WorktreePool(Mutex<Vec<(Vec<String>, Arc<Worktree>)>>);

impl WorktreePool {
    /// Returns the worktree of the agent at `path`.
    pub fn find(&self, path: &[String]) -> Option<Arc<Worktree>> {
        self.0
            .lock()
            .iter()
            .find(|(agent_path, _)| agent_path == path)
            .map(|(_, worktree)| Arc::clone(worktree))
    }

    /// Adds a worktree, and removes the oldest unused one beyond the limit.
    pub async fn insert(&self, path: Vec<String>, worktree: Arc<Worktree>) {
        let oldest = {
            let mut all = self.0.lock();
            all.push((path, worktree));
            let closed = |(_, one): &(Vec<String>, Arc<Worktree>)| !one.is_open.load(Ordering::Relaxed);
            let oldest = all.iter().position(closed).filter(|_| all.len() > MAX_WORKTREES);
            oldest.map(|at| all.remove(at))
        };
        if let Some((_, worktree)) = oldest {
            worktree.remove().await;
        }
    }

    /// Removes the worktrees of all agents below `path`.
    pub(crate) async fn remove_below(&self, path: &[String]) {
        let below = |(agent_path, _): &mut (Vec<String>, Arc<Worktree>)| {
            agent_path.len() > path.len() && agent_path.starts_with(path)
        };
        let gone: Vec<_> = self.0.lock().extract_if(.., below).collect();
        for (_, worktree) in gone {
            worktree.remove().await;
        }
    }
}

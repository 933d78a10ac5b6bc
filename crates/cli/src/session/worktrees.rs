//! The worktrees of one session's agents. Each stays when its agent is closed, which finds its work again when it is opened, and goes
//! when whoever started it is gone.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::worktree::Worktree;

/// How many are kept; beyond that the oldest one goes whose agent is closed.
const KEPT: usize = 12;

/// By the paths of their agents, the oldest first.
#[derive(Default)]
pub(crate) struct Worktrees(Mutex<Vec<(Vec<String>, Arc<Worktree>)>>);

impl Worktrees {
    fn lock(&self) -> MutexGuard<'_, Vec<(Vec<String>, Arc<Worktree>)>> {
        // A list is whole between any two statements.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// That of the agent at `path`.
    pub(super) fn of(&self, path: &[String]) -> Option<Arc<Worktree>> {
        self.lock().iter().find(|(whose, _)| whose == path).map(|(_, worktree)| Arc::clone(worktree))
    }

    /// Keeps one.
    pub(super) async fn keep(&self, path: Vec<String>, worktree: Arc<Worktree>) {
        let oldest = {
            let mut all = self.lock();
            all.push((path, worktree));
            let closed = |(_, one): &(Vec<String>, Arc<Worktree>)| !one.is_open.load(Ordering::Relaxed);
            let oldest = all.iter().position(closed).filter(|_| all.len() > KEPT);
            oldest.map(|at| all.remove(at))
        };
        if let Some((_, worktree)) = oldest {
            worktree.remove().await;
        }
    }

    /// Takes all away that belong to agents below `path`.
    pub(super) async fn forget(&self, path: &[String]) {
        let below = |(whose, _): &mut (Vec<String>, Arc<Worktree>)| {
            whose.len() > path.len() && whose.starts_with(path)
        };
        let gone: Vec<_> = self.lock().extract_if(.., below).collect();
        for (_, worktree) in gone {
            worktree.remove().await;
        }
    }
}

//! The key to `exec`: what one attempt of one call may touch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Denial, Reach};

/// Lets its holder read what the call stated and the policy allows, and nothing else.
///
/// Only a [`Gate`](crate::Gate) makes one. It promises that the paths were judged by their spelling; what a path
/// leads to is judged by `exec` when it is opened.
#[derive(Debug, Clone)]
pub struct Permit {
    reads: Vec<PathBuf>,
    reach: Arc<Reach>,
}

impl Permit {
    pub(crate) fn new(reads: Vec<PathBuf>, reach: Arc<Reach>) -> Self {
        Self { reads, reach }
    }

    /// How far reading may go at all.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Says whether this call may read `path`: it was stated, it lies below a root, no rule denies it.
    pub fn may_read(&self, path: &Path) -> Result<(), Denial> {
        if !self.reads.iter().any(|stated| path.starts_with(stated)) {
            return Err(Denial::NotStated { path: path.to_owned() });
        }
        self.reach.judge(path)
    }
}

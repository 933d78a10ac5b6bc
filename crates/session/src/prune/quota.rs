//! The quota of stored sessions, which the user's configuration sets. It is applied when a session ends.

use std::time::{Duration, SystemTime};

use config::{Config, UserDirs};

use crate::compose::ComposedTools;

use super::{PrunePlan, PruneRule, SessionFamily, SessionRemoval, SessionStore};

const SECONDS_A_DAY: u64 = 86_400;
const BYTES_A_MEGABYTE: u64 = 1 << 20;

/// The quota, and the sessions that it limits. Without limits it does nothing.
#[derive(Debug, Clone, Default)]
pub struct JournalQuota {
    dirs: UserDirs,
    rule: PruneRule,
}

impl ComposedTools {
    /// Returns the quota of stored sessions.
    pub fn journal_quota(&self) -> JournalQuota {
        JournalQuota::new(self.config(), self.dirs())
    }
}

impl JournalQuota {
    /// Returns the quota in the configuration.
    fn new(config: &Config, dirs: &UserDirs) -> Self {
        let days = config.journal.keep_days.value;
        let rule = PruneRule {
            older_than: days.map(|days| Duration::from_secs(days * SECONDS_A_DAY)),
            keep: None,
            max_bytes: config.journal.max_mb.value.map(|megabytes| megabytes * BYTES_A_MEGABYTE),
        };
        Self { dirs: dirs.clone(), rule }
    }

    /// Removes the sessions that exceed the quota. Running ones stay, and a fault is logged.
    pub fn apply(&self) {
        let now = SystemTime::now();
        if self.rule == PruneRule::default() || !self.is_exceeded(now) {
            return;
        }
        let chosen = SessionStore::new(&self.dirs)
            .and_then(|store| store.plan(&self.rule, now).map(|plan| (store, plan)));
        match chosen {
            Ok((store, plan)) => remove_and_log(&store, &plan),
            Err(fault) => tracing::warn!("the quota of sessions was not applied: {}", fault.message()),
        }
    }

    /// Decides without reading a journal whether the quota may be exceeded.
    fn is_exceeded(&self, now: SystemTime) -> bool {
        let Some(files) = self.dirs.sessions.as_deref().and_then(|path| journal::journal_files(path).ok())
        else {
            return false;
        };
        let is_old = |modified: SystemTime| {
            let age = now.duration_since(modified).unwrap_or_default();
            self.rule.older_than.is_some_and(|limit| age > limit)
        };
        let journals: u64 = files.iter().map(|file| file.bytes).sum();
        let outputs =
            || self.dirs.state.as_deref().map_or(0, |state| exec::spill::kept_bytes(&state.join("outputs")));
        files.iter().any(|file| is_old(file.modified))
            || self.rule.max_bytes.is_some_and(|limit| journals + outputs() > limit)
    }
}

fn remove_and_log(store: &SessionStore, plan: &PrunePlan) {
    let others: Vec<&SessionFamily> = plan.others().collect();
    let (mut removed, mut bytes) = (0_u64, 0);
    for family in &plan.remove {
        match store.remove(family, &others) {
            SessionRemoval::Removed => (removed, bytes) = (removed + 1, bytes + family.bytes),
            SessionRemoval::Running => {}
            SessionRemoval::Failed(why) => tracing::warn!("an old session stays: {why}"),
        }
    }
    if removed > 0 {
        tracing::info!("the quota removed {removed} old sessions with {bytes} bytes");
    }
}

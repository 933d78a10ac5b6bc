//! Confinement of a session: its enforcement, its refusals, and its changes to git directories.

use std::path::PathBuf;
use std::sync::Arc;

use policy::{Confinement, Denial, Enforcement, EnforcementGap, ReadScope, UnreachableHost};

use super::ProcessSession;
use crate::process::RunningProcess;
use crate::sandbox::SandboxRefusal;
use crate::sandbox::git::{GitLayer, LandedChanges};
use crate::sandbox::host_watch::HostFileWatch;

/// The confinement state of a session.
#[derive(Debug)]
pub(super) struct SessionConfinement {
    enforcement: Enforcement,
    confinement: Option<Arc<Confinement>>,
    read_scope: Option<Arc<ReadScope>>,
    refusals: Vec<SandboxRefusal>,
    /// The number of refusals that observers know.
    announced: usize,
    read_only_repositories: Arc<[PathBuf]>,
    layers: Vec<GitLayer>,
    landed: LandedChanges,
    watch: Option<HostFileWatch>,
    host_file_notes: Vec<String>,
}

impl SessionConfinement {
    /// Takes the layers and the watch of `process`, but keeps no reference to its cell: the pool counts them.
    pub(super) fn from_process(process: &mut RunningProcess, enforcement: Enforcement) -> Self {
        let cell = process.cell.as_deref();
        let read_only = cell.map(|cell| Arc::clone(&cell.planned.read_only_repositories));
        Self {
            enforcement,
            confinement: cell.map(|cell| Arc::clone(&cell.confinement)),
            read_scope: cell.map(|cell| Arc::clone(&cell.read_scope)),
            refusals: Vec::new(),
            announced: 0,
            read_only_repositories: read_only.unwrap_or_default(),
            layers: std::mem::take(&mut process.layers),
            landed: LandedChanges::default(),
            watch: process.watch.take(),
            host_file_notes: Vec::new(),
        }
    }

    pub(super) fn record_refusal(&mut self, refusals: Vec<SandboxRefusal>) {
        self.refusals.extend(refusals);
    }

    /// Returns the denials, without the first refusals.
    fn denials_from(&self, skipped: usize) -> Vec<Denial> {
        let denial = |refusal: &SandboxRefusal| refusal.to_denial(self.confinement.as_deref()?);
        self.refusals.iter().skip(skipped).filter_map(denial).collect()
    }

    /// Records that a git directory is read-only.
    pub(super) fn record_missing_layer(&mut self) {
        self.enforcement = match std::mem::replace(&mut self.enforcement, Enforcement::Full) {
            Enforcement::Full => Enforcement::Partial(vec![EnforcementGap::GitReadOnly]),
            Enforcement::Partial(mut gaps) if !gaps.contains(&EnforcementGap::GitReadOnly) => {
                gaps.push(EnforcementGap::GitReadOnly);
                Enforcement::Partial(gaps)
            }
            other => other,
        };
    }

    /// Finishes the run: lands the allowed changes if any layer was `touched`, and therefore unmounted.
    pub(super) fn finish(&mut self, touched: bool) {
        for layer in std::mem::take(&mut self.layers).into_iter().filter(|_| touched) {
            self.landed.add(layer.finish());
            tracing::debug!("landed the safe changes of a git directory");
        }
        // Ends with the run: the next run may treat existing files as the user's.
        let notes = self.watch.take().map(|mut watch| watch.finish(touched));
        self.host_file_notes.extend(notes.unwrap_or_default());
    }

    /// Returns true if the run is watched for files that take effect on the user's machine.
    pub(super) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Sets aside files planted by now, while the run continues or after its supervisor is gone.
    pub(super) fn set_aside_new(&mut self) {
        let notes = self.watch.as_ref().map(HostFileWatch::set_aside_new);
        self.host_file_notes.extend(notes.unwrap_or_default());
    }
}

impl ProcessSession {
    /// Returns the enforcement.
    pub fn enforcement(&self) -> Enforcement {
        self.state.lock().confined.enforcement.clone()
    }

    /// Returns the denials that the kernel reported.
    pub fn denials(&self) -> Vec<Denial> {
        self.state.lock().confined.denials_from(0)
    }

    /// Returns the denials that no call of this method has returned before.
    pub fn take_new_denials(&self) -> Vec<Denial> {
        let confined = &mut self.state.lock().confined;
        let known = std::mem::replace(&mut confined.announced, confined.refusals.len());
        confined.denials_from(known)
    }

    /// Returns the allowed hosts that could not be reached.
    pub fn unreachable_hosts(&self) -> Vec<UnreachableHost> {
        let state = self.state.lock();
        state.confined.refusals.iter().filter_map(SandboxRefusal::to_unreachable_host).collect()
    }

    /// Returns the confinement, if the session is confined.
    pub fn confinement(&self) -> Option<Arc<Confinement>> {
        self.state.lock().confined.confinement.clone()
    }

    /// Returns the git directories that are read-only because the roots hold too many for a layer each.
    pub fn read_only_repositories(&self) -> Arc<[PathBuf]> {
        Arc::clone(&self.state.lock().confined.read_only_repositories)
    }

    /// Returns the readable paths, if the session is confined.
    pub fn read_scope(&self) -> Option<Arc<ReadScope>> {
        self.state.lock().confined.read_scope.clone()
    }

    /// Returns true if there are changes to land, or notes to report.
    pub fn has_pending_changes(&self) -> bool {
        let mut state = self.state.lock();
        let SessionConfinement { layers, landed, host_file_notes, .. } = &mut state.confined;
        !host_file_notes.is_empty()
            || *landed != LandedChanges::default()
            || layers.iter_mut().any(GitLayer::has_pending_changes)
    }

    /// Lands the allowed changes to git directories so far. Returns notes about the rest.
    pub fn land(&self) -> Vec<String> {
        let mut state = self.state.lock();
        let confined = &mut state.confined;
        for layer in &mut confined.layers {
            confined.landed.add(layer.land());
        }
        confined.set_aside_new();
        let changed = confined.watch.as_mut().map(HostFileWatch::changed_files).unwrap_or_default();
        let mut notes = confined.landed.notes();
        notes.append(&mut confined.host_file_notes);
        notes.extend(changed);
        notes
    }
}

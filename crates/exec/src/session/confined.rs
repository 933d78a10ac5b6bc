//! How a session is confined, what was refused to it, and what it changed in git directories.

use std::path::PathBuf;
use std::sync::Arc;

use policy::{Confinement, Denial, Enforcement, Gap, Reach};

use super::Session;
use crate::process::Process;
use crate::sandbox::Refusal;
use crate::sandbox::git::Landed;
use crate::sandbox::host::Borrowed;
use crate::sandbox::watch::HostWatch;

/// What is known about a session's confinement.
#[derive(Debug)]
pub(super) struct Confined {
    enforcement: Enforcement,
    confinement: Option<Arc<Confinement>>,
    reach: Option<Arc<Reach>>,
    refusals: Vec<Refusal>,
    read_only_repositories: Arc<[PathBuf]>,
    layers: Vec<Borrowed>,
    landed: Landed,
    watch: Option<HostWatch>,
    told: Vec<String>,
}

impl Confined {
    pub(super) fn of(process: &mut Process) -> Self {
        Self {
            enforcement: process.enforcement.clone(),
            confinement: process.confinement(),
            reach: process.reach(),
            refusals: Vec::new(),
            read_only_repositories: process.read_only_repositories(),
            layers: std::mem::take(&mut process.layers),
            landed: Landed::default(),
            watch: process.watch.take(),
            told: Vec::new(),
        }
    }

    pub(super) fn refused(&mut self, refusals: Vec<Refusal>) {
        self.refusals.extend(refusals);
    }

    /// A git directory can be read only.
    pub(super) fn no_layer(&mut self) {
        self.enforcement = match std::mem::replace(&mut self.enforcement, Enforcement::Full) {
            Enforcement::Full => Enforcement::Partial(vec![Gap::GitReadOnly]),
            Enforcement::Partial(mut gaps) if !gaps.contains(&Gap::GitReadOnly) => {
                gaps.push(Gap::GitReadOnly);
                Enforcement::Partial(gaps)
            }
            other => other,
        };
    }

    /// The run is over: what may land lands, if anything was `touched`.
    pub(super) fn finish(&mut self, touched: bool) {
        for layer in std::mem::take(&mut self.layers) {
            self.landed.add(layer.finish(touched));
        }
        // Gone with the run: the next one may take what is there for the user's.
        let told = self.watch.take().map(|mut watch| watch.finish(touched));
        self.told.extend(told.unwrap_or_default());
    }

    /// Whether it is watched for files that take effect on the user's machine.
    pub(super) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// The run goes on, or its keeper is gone: sets aside what it has made by now.
    pub(super) fn look(&mut self) {
        let told = self.watch.as_ref().map(HostWatch::look);
        self.told.extend(told.unwrap_or_default());
    }
}

impl Session {
    /// What holds for it.
    pub fn enforcement(&self) -> Enforcement {
        self.lock().confined.enforcement.clone()
    }

    /// What was refused to it, as far as the kernel told.
    pub fn denials(&self) -> Vec<Denial> {
        let state = self.lock();
        let Confined { refusals, confinement, .. } = &state.confined;
        let denial = |refusal: &Refusal| Some(refusal.denial(confinement.as_deref()?));
        refusals.iter().filter_map(denial).collect()
    }

    /// What it is confined to, if it is.
    pub fn confinement(&self) -> Option<Arc<Confinement>> {
        self.lock().confined.confinement.clone()
    }

    /// Git directories that it cannot write, since the roots hold more than can have a layer each.
    pub fn read_only_repositories(&self) -> Arc<[PathBuf]> {
        Arc::clone(&self.lock().confined.read_only_repositories)
    }

    /// What it may read, if it is confined.
    pub fn reach(&self) -> Option<Arc<Reach>> {
        self.lock().confined.reach.clone()
    }

    /// Whether there is anything to land, or to say about it.
    pub fn has_to_land(&self) -> bool {
        let mut state = self.lock();
        let Confined { layers, landed, told, .. } = &mut state.confined;
        !told.is_empty() || *landed != Landed::default() || layers.iter_mut().any(Borrowed::has_to_land)
    }

    /// Lands in git directories what may be landed of what it wrote so far. What did not land, in words.
    pub fn land(&self) -> Vec<String> {
        let mut state = self.lock();
        let confined = &mut state.confined;
        for layer in &mut confined.layers {
            confined.landed.add(layer.land());
        }
        confined.look();
        let changed = confined.watch.as_mut().map(HostWatch::changed_files).unwrap_or_default();
        let mut notes = confined.landed.notes();
        notes.append(&mut confined.told);
        notes.extend(changed);
        notes
    }
}

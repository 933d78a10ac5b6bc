//! Staged changes of a session: mounts the layers, and ends a step after each call that wrote something.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use engine::{CallEvent, CallObserver};
use exec::process::Spawner;
use exec::sandbox::{StageMount, StageMountFault, StagedView};
use exec::session::SessionStage;
use parking_lot::Mutex;
use policy::WorkspaceView;
use staging::{LayerMount, NewStage, Stage, StageFault, StageStore, StageUse, StepLabel};
use tool::CallId;
use tools::CommandRunner;

/// The maximum length of a step's label.
const MAX_LABEL_CHARS: usize = 120;

/// The place and the name of the staged changes of a session.
#[derive(Debug, Clone)]
pub struct StagedSetup {
    /// The directory with all stages.
    pub store: StageStore,
    /// The id of the session.
    pub id: String,
    /// What the session does: a prompt or a command.
    pub title: String,
    /// The directory of the records of commits.
    pub records: PathBuf,
}

/// The reason why changes cannot be staged.
#[derive(Debug, thiserror::Error)]
pub enum StagedFault {
    /// The directory of the stage cannot be used.
    #[error(transparent)]
    Stage(#[from] StageFault),
    /// The layers cannot be mounted here.
    #[error("changes cannot be staged here: {0}")]
    Mount(#[from] StageMountFault),
    /// Commands are not confined, so they would write to the user's tree.
    #[error(
        "changes cannot be staged: commands are not confined, so they would write to your files directly"
    )]
    NotConfined,
    /// The layers would lie in a directory that they cover.
    #[error("changes cannot be staged in `{}`: Toolgate's own state lies in it, in `{}`", root.display(), state.display())]
    StateInside {
        /// The writable directory.
        root: PathBuf,
        /// The directory of the stages.
        state: PathBuf,
    },
    /// No directory is writable, so there is nothing to stage.
    #[error("changes cannot be staged: no directory is writable")]
    NothingWritable,
}

/// The staged changes of a running session.
#[derive(Debug)]
pub struct StagedWorkspace {
    stage: Mutex<Stage>,
    view: Arc<StagedView>,
    records: PathBuf,
    activity: Mutex<Activity>,
    /// The calls that wait for their turn, with their tool.
    queued: Mutex<Vec<(CallId, String)>>,
    /// The processes that may write after their call has ended.
    commands: Mutex<Weak<CommandRunner>>,
}

/// The calls that may write now.
#[derive(Debug, Default)]
struct Activity {
    /// Agents may use the same id.
    running: Vec<(CallId, String)>,
    /// The label of the step, from the calls that ended since it began.
    label: StepLabel,
    /// Held while calls or processes may write.
    used: Option<StageUse>,
}

impl StagedWorkspace {
    /// Opens or creates the stage of `setup` over `roots`, and mounts its layers.
    pub(crate) fn open(
        setup: &StagedSetup,
        directory: &Path,
        roots: &[PathBuf],
        spawner: &Spawner,
    ) -> Result<Self, StagedFault> {
        let is_inner = |root: &&PathBuf| roots.iter().any(|other| other != *root && root.starts_with(other));
        let roots: Vec<PathBuf> = roots.iter().filter(|root| !is_inner(root)).cloned().collect();
        if roots.is_empty() {
            return Err(StagedFault::NothingWritable);
        }
        if let Some(root) = roots.iter().find(|root| setup.store.directory().starts_with(root)) {
            let state = setup.store.directory().to_owned();
            return Err(StagedFault::StateInside { root: root.clone(), state });
        }
        let mut stage = match setup.store.contains(&setup.id) {
            true => setup.store.open(&setup.id, &setup.records)?,
            false => {
                let new = NewStage { title: setup.title.clone(), directory: directory.to_owned(), roots };
                setup.store.create(&setup.id, new)?
            }
        };
        let view = StagedView::mount(spawner, mounts(&stage))?;
        stage.note_mounted();
        Ok(Self {
            stage: Mutex::new(stage),
            view: Arc::new(view),
            records: setup.records.clone(),
            activity: Mutex::default(),
            queued: Mutex::default(),
            commands: Mutex::default(),
        })
    }

    /// Sets the commands whose processes may write after their call has ended.
    pub(crate) fn watch_processes(&self, commands: &Arc<CommandRunner>) {
        *self.commands.lock() = Arc::downgrade(commands);
    }

    /// Returns the directories that the session sees.
    pub(crate) fn view(&self) -> Arc<dyn WorkspaceView> {
        Arc::clone(&self.view) as Arc<dyn WorkspaceView>
    }

    /// Returns the directory of the records of commits.
    pub fn records(&self) -> &Path {
        &self.records
    }

    /// Returns the stage, to list, apply, discard or undo changes. Call [`StagedWorkspace::remount`] afterwards.
    pub fn stage(&self) -> parking_lot::MutexGuard<'_, Stage> {
        self.stage.lock()
    }

    /// Marks the workspace as used by a command that is no call.
    pub fn begin_command(&self, label: &str) -> Result<(), StagedFault> {
        self.begin(&CallId::from(label), label)
    }

    /// Ends the use by a command that is no call, as a step of its own.
    pub fn end_command(&self, label: &str) -> Result<(), StagedFault> {
        self.end(&CallId::from(label))
    }

    /// Mounts the layers that are in effect now, if they are others than before.
    pub fn remount(&self) -> Result<(), StagedFault> {
        let mut stage = self.stage.lock();
        self.view.remount(mounts(&stage))?;
        stage.note_mounted();
        Ok(())
    }

    fn begin(&self, call: &CallId, label: &str) -> Result<(), StagedFault> {
        let mut activity = self.activity.lock();
        if activity.used.is_none() {
            let mut stage = self.stage.lock();
            activity.used = Some(stage.begin_use()?);
            if stage.refresh()? {
                self.view.remount(mounts(&stage))?;
                stage.note_mounted();
            } else if stage.is_untouched()? {
                // The user may have changed files since the last call.
                self.view.refresh()?;
                stage.note_mounted();
            }
        }
        activity.running.push((call.clone(), label.to_owned()));
        Ok(())
    }

    fn end(&self, call: &CallId) -> Result<(), StagedFault> {
        let mut activity = self.activity.lock();
        if let Some(at) = activity.running.iter().position(|(running, _)| running == call) {
            let (_, label) = activity.running.remove(at);
            let step = &mut activity.label;
            step.text = match step.text.is_empty() {
                true => label,
                false => format!("{}, {label}", step.text).chars().take(MAX_LABEL_CHARS).collect(),
            };
            step.calls.push(call.to_string());
        }
        if !activity.running.is_empty() || activity.used.is_none() {
            return Ok(());
        }
        let mut stage = self.stage.lock();
        if self.has_processes() {
            // They write to the open layer; the step ends with them. What is known now need not be guessed later.
            return Ok(stage.record_bases()?);
        }
        let label = std::mem::take(&mut activity.label);
        if stage.end_step(&label)? {
            self.view.remount(mounts(&stage))?;
            stage.note_mounted();
        }
        activity.used = None;
        Ok(())
    }

    fn take_queued(&self, call: &CallId) -> Option<String> {
        let mut queued = self.queued.lock();
        let at = queued.iter().position(|(waiting, _)| waiting == call)?;
        Some(queued.swap_remove(at).1)
    }

    fn has_processes(&self) -> bool {
        let is_alive = |session: &Arc<exec::session::ProcessSession>| match session.stage() {
            SessionStage::Running | SessionStage::LeaderExited { .. } => true,
            SessionStage::Over { .. } | SessionStage::Lost => false,
        };
        let commands = self.commands.lock().upgrade();
        commands.is_some_and(|commands| commands.sessions.all().iter().any(is_alive))
    }
}

fn mounts(stage: &Stage) -> Vec<StageMount> {
    let convert = |LayerMount { root, layers, upper, work }| StageMount { root, layers, upper, work };
    stage.mounts().into_iter().map(convert).collect()
}

impl CallObserver for StagedWorkspace {
    fn on_event(&self, call: &CallId, event: &CallEvent) {
        let done = match event {
            CallEvent::Queued { tool } => {
                self.queued.lock().push((call.clone(), tool.clone()));
                Ok(())
            }
            // Calls that may write run alone, so each is a step of its own.
            CallEvent::Started => {
                let label = self.take_queued(call);
                self.begin(call, &label.unwrap_or_default())
            }
            CallEvent::Finished { .. } => {
                self.take_queued(call);
                self.end(call)
            }
            CallEvent::Judged { .. }
            | CallEvent::Attempted { .. }
            | CallEvent::Asked { .. }
            | CallEvent::Decided { .. }
            | CallEvent::Notice(_) => Ok(()),
        };
        if let Err(fault) = done {
            tracing::error!(%call, %fault, "the staged changes were not recorded as a step");
        }
    }

    fn wants_output(&self) -> bool {
        false
    }
}

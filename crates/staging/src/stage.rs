//! A stage: the staged changes of one session, in a directory that several processes may use.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use patch::RecordedPath;
use private_files::PrivateDir;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

use crate::base_state::{BaseDepth, BaseEntry, BaseState, LayerBases, MAX_MERGED_BYTES};
use crate::entry_kind::{EntryKind, status_of};
use crate::layer_entries::{LayerEntry, LayerState, for_each_entry, is_untouched};
use crate::open_files::{open_directory, open_parent, peek_below, read_limited, split};
use crate::stage_fault::StageFault;
use crate::stage_record::{EventKind, StageEvent, StageRecord, TakenLayers, VERSION};

/// The file with the record.
pub(crate) const RECORD_FILE: &str = "stage.json";
/// The file that is locked while the record is read and changed.
const LOCK_FILE: &str = "lock";
/// The file that is locked, shared, while commands of the session may write.
const USE_FILE: &str = "in-use";
/// The maximum size of a record.
const MAX_RECORD_BYTES: u64 = 64 << 20;
/// Times of files have the granularity of the kernel's clock tick.
const CLOCK_TICK_NANOS: i128 = 10_000_000;

/// The facts about a new stage.
#[derive(Debug, Clone)]
pub struct NewStage {
    /// What the session does: a prompt or a command.
    pub title: String,
    /// The working directory of the session.
    pub directory: PathBuf,
    /// The directories whose changes are staged: real paths.
    pub roots: Vec<PathBuf>,
}

/// What a step did, for the list of checkpoints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepLabel {
    /// A command, a tool or a prompt.
    pub text: String,
    /// The ids of the calls.
    pub calls: Vec<String>,
}

/// The directories to mount over one root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerMount {
    /// The directory of the user.
    pub root: PathBuf,
    /// The layers beneath, the topmost first. The root itself lies below them.
    pub layers: Vec<PathBuf>,
    /// The layer that receives the writes.
    pub upper: PathBuf,
    /// The overlay's private directory.
    pub work: PathBuf,
}

/// The staged changes of one session.
#[derive(Debug)]
pub struct Stage {
    pub(crate) directory: PathBuf,
    pub(crate) record: StageRecord,
    /// When the open layer was mounted or last seen empty, in nanoseconds since 1970.
    open_since: i128,
}

/// Proof that commands may write: until it is dropped, nothing is applied, discarded or undone.
#[derive(Debug)]
pub struct StageUse {
    _lock: File,
}

/// The exclusive lock on the record.
pub(crate) struct StageLock {
    _lock: File,
}

impl Stage {
    /// Creates a stage in the directory `directory`, which must not exist.
    pub fn create(directory: &Path, new: NewStage) -> Result<Self, StageFault> {
        let mut roots = new.roots;
        roots.sort();
        roots.dedup();
        let record = StageRecord {
            version: VERSION,
            title: new.title,
            created: seconds_now(),
            directory: RecordedPath::from_path(&new.directory),
            roots: roots.iter().map(|root| RecordedPath::from_path(root)).collect(),
            events: Vec::new(),
            in_effect: 0,
            open_layer: 0,
            next_number: 1,
            generation: 0,
            open_since: nanos_now(),
            pending: None,
        };
        let stage = Self { directory: directory.to_owned(), open_since: record.open_since, record };
        stage.at_directory(private_files::create_private_dir(directory))?;
        stage.create_layer()?;
        stage.at_directory(stage.make_directory("work"))?;
        for root in 0..roots.len() {
            stage.at_directory(stage.make_directory(&format!("work/{root}")))?;
        }
        stage.save()?;
        Ok(stage)
    }

    /// Opens the stage in `directory`, and completes what a crash interrupted.
    pub fn open(directory: &Path, records: &Path) -> Result<Self, StageFault> {
        let record = read_record(directory)?;
        let mut stage = Self { directory: directory.to_owned(), record, open_since: nanos_now() };
        if stage.record.pending.is_some() {
            // A process that still works on it holds the lock, and finishes it itself.
            match stage.lock_unused() {
                Ok(_locks) => stage.finish_pending(records)?,
                Err(StageFault::Busy { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        stage.open_since = stage.record.open_since;
        Ok(stage)
    }

    /// Returns its id: the name of its directory.
    pub fn id(&self) -> String {
        self.directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Returns its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns what the session does.
    pub fn title(&self) -> &str {
        &self.record.title
    }

    /// Returns the working directory of the session.
    pub fn working_directory(&self) -> PathBuf {
        self.record.directory.to_path_buf()
    }

    /// Returns the directories whose changes are staged.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.record.roots.iter().map(RecordedPath::to_path_buf).collect()
    }

    /// Returns a number that grows whenever other layers have to be mounted.
    pub fn generation(&self) -> u64 {
        self.record.generation
    }

    /// Returns the directories to mount, outer roots first.
    pub fn mounts(&self) -> Vec<LayerMount> {
        let layers = self.layers_in_effect();
        let mount = |(at, root): (usize, PathBuf)| LayerMount {
            root,
            layers: layers.iter().rev().map(|layer| self.layer_root(*layer, at)).collect(),
            upper: self.layer_root(self.record.open_layer, at),
            work: self.directory.join("work").join(at.to_string()),
        };
        self.roots().into_iter().enumerate().map(mount).collect()
    }

    /// Marks the stage as used by commands. Waits for an apply of another process.
    pub fn begin_use(&self) -> Result<StageUse, StageFault> {
        let file = self.at_directory(self.open_lock(USE_FILE))?;
        self.at_directory(flock(&file, FlockOperation::LockShared).map_err(io::Error::from))?;
        Ok(StageUse { _lock: file })
    }

    /// Reads the record again, which another process may have changed. Returns true if other layers have to be
    /// mounted.
    pub fn refresh(&mut self) -> Result<bool, StageFault> {
        let before = self.record.generation;
        self.record = read_record(&self.directory)?;
        Ok(self.record.generation != before)
    }

    /// Notes that the open layer is mounted now, and that what it has cached of the user's tree is current.
    pub fn note_mounted(&mut self) {
        self.open_since = nanos_now();
    }

    /// Returns true if nothing was written since the last step.
    pub fn is_untouched(&self) -> Result<bool, StageFault> {
        for root in 0..self.record.roots.len() {
            let upper = self.layer_root(self.record.open_layer, root);
            if !self.at_directory(is_untouched(&upper).map_err(io::Error::from))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes what was written since the last step a step of its own, and opens a new layer. Returns false if nothing
    /// was written. No process may have the open layer mounted for writing.
    pub fn end_step(&mut self, label: &StepLabel) -> Result<bool, StageFault> {
        let _lock = self.lock()?;
        self.end_step_locked(label)
    }

    pub(crate) fn end_step_locked(&mut self, label: &StepLabel) -> Result<bool, StageFault> {
        if self.is_untouched()? {
            return Ok(false);
        }
        self.record_bases()?;
        let what = EventKind::Step { label: label.text.clone(), calls: label.calls.clone() };
        let number = self.record.open_layer;
        self.push_event(StageEvent { number, at: seconds_now(), began: self.open_since, what });
        self.record.open_layer = self.take_number();
        self.record.generation += 1;
        self.create_layer()?;
        self.open_since = nanos_now();
        self.record.open_since = self.open_since;
        self.save()?;
        Ok(true)
    }

    /// Appends an event. Those that were undone can no longer be redone.
    pub(crate) fn push_event(&mut self, event: StageEvent) {
        let undone = self.record.events.split_off(self.record.in_effect);
        for event in undone {
            // What cannot be removed is removed with the stage.
            let _left = self.remove_event_files(&event);
        }
        self.record.events.push(event);
        self.record.in_effect = self.record.events.len();
    }

    fn remove_event_files(&self, event: &StageEvent) -> io::Result<()> {
        let name = match &event.what {
            EventKind::Step { .. } => self.layer_directory(event.number),
            EventKind::Apply { .. } | EventKind::Discard { .. } => self.event_directory(event.number),
        };
        patch::remove_tree(&name)
    }

    /// Records the state of the user's tree at each path that the open layer changes first.
    pub fn record_bases(&mut self) -> Result<(), StageFault> {
        let open = self.record.open_layer;
        let mut bases = self.read_bases(open)?;
        let mut added = Vec::new();
        for (at, root) in self.roots().into_iter().enumerate() {
            let tree = match open_directory(&root) {
                Ok(tree) => tree,
                Err(errno) => return Err(self.fault(errno.into())),
            };
            let lower: Vec<OwnedFd> = self
                .layers_in_effect()
                .iter()
                .filter_map(|layer| open_directory(&self.layer_root(*layer, at)).ok())
                .collect();
            let upper = self.layer_root(open, at);
            let recorder = BaseRecorder { tree: &tree, lower: &lower, upper: &upper, since: self.open_since };
            let mut skipped: Option<PathBuf> = None;
            let walked = for_each_entry(&upper, |entry| {
                if skipped.as_ref().is_some_and(|above| entry.path.starts_with(above)) {
                    return Ok(());
                }
                if bases.get(at, &entry.path).is_some() || recorder.is_known(&entry.path) {
                    return Ok(());
                }
                let Some(base) = recorder.base_of(&entry)? else { return Ok(()) };
                if entry.status.kind == EntryKind::Directory && base == BaseState::Absent {
                    // Nothing below it existed.
                    skipped = Some(entry.path.clone());
                }
                added.push((at, entry.path, base));
                Ok(())
            });
            self.at_directory(walked)?;
        }
        if added.is_empty() {
            return Ok(());
        }
        let file = self.at_directory(self.open_bases_for_append(open))?;
        let mut file = file;
        self.at_directory(bases.extend(&mut file, added))
    }

    fn open_bases_for_append(&self, layer: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = self.layer_directory(layer).join("bases.jsonl");
        Ok(File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?))
    }

    pub(crate) fn read_bases(&self, layer: u32) -> Result<LayerBases, StageFault> {
        self.at_directory(LayerBases::read(&self.layer_directory(layer).join("bases.jsonl")))
    }

    /// Returns the layers whose changes are pending, the lowest first, without the open one.
    pub(crate) fn layers_in_effect(&self) -> Vec<u32> {
        let mut layers = Vec::new();
        for event in &self.record.events[..self.record.in_effect] {
            match &event.what {
                EventKind::Step { .. } => layers.push(event.number),
                EventKind::Apply { taken: TakenLayers::Whole(taken) }
                | EventKind::Discard { taken: TakenLayers::Whole(taken) } => {
                    layers.retain(|layer| !taken.contains(layer));
                }
                EventKind::Apply { .. } | EventKind::Discard { .. } => {}
            }
        }
        layers
    }

    /// Returns the directory of a layer's entries of one root.
    pub(crate) fn layer_root(&self, layer: u32, root: usize) -> PathBuf {
        self.layer_directory(layer).join(root.to_string())
    }

    pub(crate) fn layer_directory(&self, layer: u32) -> PathBuf {
        self.directory.join(format!("layer-{layer}"))
    }

    /// Returns the directory of an apply or a discard.
    pub(crate) fn event_directory(&self, number: u32) -> PathBuf {
        self.directory.join(format!("event-{number}"))
    }

    pub(crate) fn take_number(&mut self) -> u32 {
        let number = self.record.next_number;
        self.record.next_number += 1;
        number
    }

    /// Creates the directories of the open layer. Each looks like the root that it covers.
    fn create_layer(&self) -> Result<(), StageFault> {
        let layer = format!("layer-{}", self.record.open_layer);
        self.at_directory(self.make_directory(&layer))?;
        for (at, root) in self.roots().iter().enumerate() {
            self.at_directory(self.make_directory(&format!("{layer}/{at}")))?;
            // The directory of the topmost layer has the permissions of the root.
            let mode = status_of(CWD, root).ok().flatten().map_or(0o755, |status| status.mode);
            let place = self.directory.join(&layer).join(at.to_string());
            self.at_directory(rustix::fs::chmod(place, Mode::from_raw_mode(mode)).map_err(Into::into))?;
        }
        Ok(())
    }

    pub(crate) fn make_directory(&self, name: &str) -> io::Result<()> {
        match rustix::fs::mkdir(self.directory.join(name), Mode::RWXU) {
            Err(Errno::EXIST) | Ok(()) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    pub(crate) fn lock(&self) -> Result<StageLock, StageFault> {
        let file = self.at_directory(self.open_lock(LOCK_FILE))?;
        self.at_directory(flock(&file, FlockOperation::LockExclusive).map_err(io::Error::from))?;
        Ok(StageLock { _lock: file })
    }

    /// Locks the record, and checks that no command of the session runs.
    pub(crate) fn lock_unused(&mut self) -> Result<(StageLock, StageUse), StageFault> {
        let file = self.at_directory(self.open_lock(USE_FILE))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(StageFault::Busy { id: self.id() }),
            Err(errno) => return Err(self.fault(errno.into())),
        }
        let lock = self.lock()?;
        self.refresh()?;
        Ok((lock, StageUse { _lock: file }))
    }

    fn open_lock(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::open(self.directory.join(name), flags, Mode::RUSR | Mode::WUSR)?))
    }

    pub(crate) fn save(&self) -> Result<(), StageFault> {
        let bytes = self.at_directory(serde_json::to_vec(&self.record).map_err(Into::into))?;
        let directory = self.at_directory(PrivateDir::open(&self.directory))?;
        self.at_directory(directory.replace(RECORD_FILE, &bytes))
    }

    pub(crate) fn fault(&self, source: io::Error) -> StageFault {
        StageFault::Io { directory: self.directory.clone(), source }
    }

    pub(crate) fn at_directory<T>(&self, result: io::Result<T>) -> Result<T, StageFault> {
        result.map_err(|source| self.fault(source))
    }
}

/// Finds the base of each entry that a layer changes.
struct BaseRecorder<'a> {
    tree: &'a OwnedFd,
    /// The layers beneath.
    lower: &'a [OwnedFd],
    upper: &'a Path,
    /// The layer cannot have copied what changed before this moment in a later state.
    since: i128,
}

impl BaseRecorder<'_> {
    /// Returns true if a lower layer has the path: it has the base too.
    fn is_known(&self, path: &Path) -> bool {
        let (parent, name) = split(path);
        self.lower.iter().any(|layer| {
            let found = peek_below(layer.as_fd(), parent).map(|parent| status_of(parent.as_fd(), name));
            match found {
                Ok(Ok(Some(status))) => status.kind != EntryKind::Directory,
                _ => false,
            }
        })
    }

    fn base_of(&self, entry: &LayerEntry) -> io::Result<Option<BaseState>> {
        let depth = match entry.state {
            LayerState::Removed | LayerState::Opaque => BaseDepth::Tree,
            // A directory beneath an entry of another kind is gone.
            LayerState::Replaced => BaseDepth::Tree,
            LayerState::Merged => BaseDepth::Entry,
        };
        let Some(mut base) = BaseEntry::read(self.tree, &entry.path, depth)? else {
            return Ok(Some(BaseState::Absent));
        };
        if entry.state == LayerState::Merged {
            return Ok(Some(BaseState::Present(base)));
        }
        if base.changed_after(self.since - CLOCK_TICK_NANOS) {
            return Ok(Some(BaseState::Unknown));
        }
        if entry.state == LayerState::Replaced && entry.status.kind == EntryKind::File {
            self.keep_text(&entry.path, &mut base)?;
        }
        Ok(Some(BaseState::Present(base)))
    }

    /// Keeps the text of the user's file, for a merge.
    fn keep_text(&self, path: &Path, base: &mut BaseEntry) -> io::Result<()> {
        let name = split(path).1;
        let Some(parent) = open_parent(self.tree, path)? else { return Ok(()) };
        let Ok(Some(text)) = read_limited(parent.as_fd(), name, MAX_MERGED_BYTES) else { return Ok(()) };
        let staged = read_limited(CWD, &self.upper.join(path), MAX_MERGED_BYTES);
        if let Ok(Some(staged)) = staged {
            base.keep_text(&text, &staged);
        }
        Ok(())
    }
}

pub(crate) fn read_record(directory: &Path) -> Result<StageRecord, StageFault> {
    let io_fault = |source| StageFault::Io { directory: directory.to_owned(), source };
    let unreadable = |why: String| StageFault::Unreadable { directory: directory.to_owned(), why };
    let opened = PrivateDir::open(directory).map_err(io_fault)?;
    let bytes = opened.read(RECORD_FILE, MAX_RECORD_BYTES).map_err(io_fault)?;
    let bytes = bytes.ok_or_else(|| unreadable("it has no record".to_owned()))?;
    let record: StageRecord =
        serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    let is_sound = record.version == VERSION && record.in_effect <= record.events.len();
    if is_sound { Ok(record) } else { Err(unreadable(format!("version {}", record.version))) }
}

pub(crate) fn seconds_now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

fn nanos_now() -> i128 {
    // The clock of file times, which a finer clock may be ahead of.
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

//! The record of a stage on disk: its roots, and the history of its steps, applies and discards.

use patch::RecordedPath;
use serde::{Deserialize, Serialize};

use crate::base_state::BaseEntry;

/// The version of the format.
pub(crate) const VERSION: u32 = 1;

/// The record of a stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StageRecord {
    pub(crate) version: u32,
    /// What the session does: a prompt or a command.
    pub(crate) title: String,
    /// The seconds from 1970 to its creation.
    pub(crate) created: u64,
    /// The working directory of the session.
    pub(crate) directory: RecordedPath,
    /// The directories whose changes are staged, outer ones first.
    pub(crate) roots: Vec<RecordedPath>,
    /// What happened, in order.
    pub(crate) events: Vec<StageEvent>,
    /// The number of events in effect. Those behind it were undone.
    pub(crate) in_effect: usize,
    /// The layer that receives writes.
    pub(crate) open_layer: u32,
    /// The next unused number, of a layer or of an apply.
    pub(crate) next_number: u32,
    /// Grows whenever other layers have to be mounted.
    pub(crate) generation: u64,
    /// When the open layer was opened, in nanoseconds since 1970.
    #[serde(default)]
    pub(crate) open_since: i128,
    /// The event that is being carried out. After a crash, the tree shows if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) pending: Option<PendingEvent>,
}

/// One event in the history of a stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StageEvent {
    /// The number of its layer, or of its directory.
    pub(crate) number: u32,
    /// The seconds from 1970.
    pub(crate) at: u64,
    /// For a step: when its layer was opened, in nanoseconds since 1970.
    #[serde(default)]
    pub(crate) began: i128,
    pub(crate) what: EventKind,
}

/// The kinds of events.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EventKind {
    /// A step that wrote a layer.
    Step {
        label: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<String>,
    },
    /// Changes went to the user's tree.
    Apply { taken: TakenLayers },
    /// Changes were given up.
    Discard { taken: TakenLayers },
}

/// The layers that an apply or a discard took.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TakenLayers {
    /// These layers as a whole.
    Whole(Vec<u32>),
    /// The entries of these paths, as root and path, moved out of these layers.
    Entries { layers: Vec<u32>, paths: Vec<(usize, RecordedPath)> },
}

/// An event that is being carried out.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PendingEvent {
    /// The tree is being changed; the entries of `taken` still lie in their layers.
    Apply(StageEvent),
    /// Entries are being moved out of their layers.
    Discard(StageEvent),
    /// The last event in effect is being taken back.
    Undo,
}

/// What an apply did to one name of the tree, for taking it back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AppliedName {
    /// The absolute path.
    pub(crate) path: RecordedPath,
    /// The inode that was replaced, `None` if there was nothing.
    pub(crate) replaced: Option<u64>,
    /// The entry afterwards, `None` if it was removed. Not known before the commit.
    pub(crate) after: Option<BaseEntry>,
    /// True if an entry is there afterwards.
    pub(crate) puts: bool,
}

/// The permissions that an apply changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AppliedMode {
    pub(crate) path: RecordedPath,
    pub(crate) old: u32,
    pub(crate) new: u32,
}

/// What an apply did.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct AppliedNames {
    pub(crate) names: Vec<AppliedName>,
    pub(crate) modes: Vec<AppliedMode>,
}

//! Staged changes: the layers of a session on disk, their review, apply, discard, undo and redo.
//!
//! A session writes to overlay layers, one for each step that changed something. This crate reads the layers as plain
//! directories: nothing has to be mounted to list, apply or take back changes. `exec` mounts them.

mod apply;
mod apply_plan;
mod base_state;
mod change_list;
mod entry_kind;
mod git_layer_dir;
mod history;
mod layer_entries;
mod merge_texts;
mod merged_entries;
mod open_files;
mod root_layers;
mod stage;
mod stage_fault;
mod stage_record;
mod stage_store;

pub use apply::{ApplyReport, GitLayerDir, GitRules};
pub use apply_plan::{HeldBack, MergedText, PathConflict, Selection};
pub use change_list::{Change, ChangeList, FoldedDirectory, StagedChangeKind};
pub use entry_kind::EntryKind;
pub use history::{Checkpoint, CheckpointKind, HistoryMove, LeftPath};
pub use stage::{LayerMount, NewStage, Stage, StageUse, StepLabel};
pub use stage_fault::StageFault;
pub use stage_store::{StageStore, StageSummary};

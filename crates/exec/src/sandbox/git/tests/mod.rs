//! Tests of git directories: discovery, planted files, and landing from handmade upper directories and overlays.

mod allowlist;
mod attack;
mod config_rewrite;
mod discover;
mod handmade_upper;
mod index;
mod index_landing;
mod objects;
mod overlay;
mod planted_files;
mod ref_conflicts;
mod reflog;
mod support;
mod unfinished_operations;

//! Tests of landing: hand-made upper directories, and real overlays with the real git.

mod attack;
mod config;
mod discover;
mod hand;
mod names;
mod overlay;
mod support;

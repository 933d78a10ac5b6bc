//! Tests of landing: handmade upper directories, and real overlays with the real git.

mod attack;
mod config;
mod discover;
mod forward;
mod gitlink;
mod hand;
mod history;
mod index;
mod names;
mod objects;
mod operation;
mod overlay;
mod steps;
mod stray;
mod support;

//! Edits that land, or say exactly why not.

pub mod edit;
pub mod tree;

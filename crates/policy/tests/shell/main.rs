//! Tests the shell analysis: tables, property tests over hostile text, and a corpus of regression scripts.

mod analysis_table;
mod argv;
mod corpus;
mod patch_command;
mod properties;
#[expect(dead_code, reason = "the other list is for scripts that are run")]
mod seed_scripts;

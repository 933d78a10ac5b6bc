//! Tests the shell analysis: tables, property tests over hostile text, and a corpus of regression scripts.

mod argv;
mod corpus;
mod laws;
mod patch;
#[expect(dead_code, reason = "the other list is for scripts that are run")]
mod seeds;
mod table;

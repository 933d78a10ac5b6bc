//! What is made of scripts: tables, laws over hostile text, and a corpus of scripts that once surprised.

mod argv;
mod corpus;
mod laws;
mod patch;
#[expect(dead_code, reason = "the other list is for scripts that are run")]
mod seeds;
mod table;

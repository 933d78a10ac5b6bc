//! Fuzzes the JSON parser: any bytes are parsed or rejected, and no edit has an empty path.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_patch::{PatchTextFormat, parse, parse_as};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for read in [parse_as(PatchTextFormat::Replace, &text), parse_as(PatchTextFormat::Files, &text), parse(&text)] {
        match read {
            Ok(patch) => assert!(patch.edits.iter().all(|edit| !edit.path.is_empty())),
            Err(syntax) => assert!(!syntax.to_string().is_empty()),
        }
    }
});

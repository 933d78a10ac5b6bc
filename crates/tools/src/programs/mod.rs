//! Tools that programs call and models are not told of: one file each, one line each in [`for_programs`].
//!
//! They are judged, asked about and written down as all tools are; what they answer is data.

mod fs_list;
mod fs_read;
mod fs_write;
mod process_start;
mod process_write;

use std::sync::Arc;

use base64::Engine;
use serde_json::{Value, json};
use tool::{AnyTool, StrictFault, ToolError, ToolOutput, erase};

use crate::{Commands, Edits};

/// Every one of them.
pub fn for_programs(
    commands: &Arc<Commands>,
    edits: &Arc<Edits>,
) -> Result<Vec<Arc<dyn AnyTool>>, StrictFault> {
    Ok(vec![
        erase(fs_list::FsList)?,
        erase(fs_read::FsRead)?,
        erase(fs_write::FsWrite(Arc::clone(edits)))?,
        erase(process_start::ProcessStart(Arc::clone(commands)))?,
        erase(process_write::ProcessWrite(Arc::clone(commands)))?,
    ])
}

/// An answer that is data, with a line about it.
fn answer(about: impl Into<String>, data: Value) -> ToolOutput {
    ToolOutput::text(about).with_structured(data)
}

/// Bytes as text if all of them are, else in base64: members of an answer.
fn spelled(bytes: Vec<u8>) -> Value {
    // Spelled in JSON, some bytes take six: then it is longer than in base64, and than a message may be.
    let odd = bytes.iter().filter(|byte| byte.is_ascii_control() || matches!(byte, b'"' | b'\\')).count();
    let is_long = odd > bytes.len() / 4 && bytes.len() > SHORT;
    match String::from_utf8(bytes) {
        Ok(text) if !is_long => json!({ "text": text }),
        other => {
            let bytes = other.map_or_else(std::string::FromUtf8Error::into_bytes, String::into_bytes);
            json!({ "base64": base64::engine::general_purpose::STANDARD.encode(bytes) })
        }
    }
}

/// Bytes that are text however they are spelled.
const SHORT: usize = 1 << 20;

/// The bytes that a call has as text or in base64.
fn given(text: Option<&str>, base64: Option<&str>) -> Result<Vec<u8>, ToolError> {
    match (text, base64) {
        (Some(text), None) => Ok(text.as_bytes().to_vec()),
        (None, Some(base64)) => base64::engine::general_purpose::STANDARD
            .decode(base64)
            .map_err(|fault| ToolError::argument("base64", format!("it is none: {fault}"))),
        (None, None) => Err(ToolError::argument("text", "there is neither `text` nor `base64`")),
        (Some(_), Some(_)) => {
            Err(ToolError::argument("text", "there is `text` and `base64`; give one of them"))
        }
    }
}

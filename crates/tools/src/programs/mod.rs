//! Tools for client programs (JSON-RPC) that models are not offered, one file each; [`program_tools`] lists them.
//!
//! Policy, approval and journal treat them like all tools; their answers are structured data.

mod fs_list;
mod fs_read;
mod fs_write;
mod process_start;
mod process_write;

use std::sync::Arc;

use base64::Engine;
use serde_json::{Value, json};
use tool::{AnyTool, StrictFault, ToolError, ToolOutput, erase};

use crate::{CommandRunner, EditTracker};

/// Returns every tool for programs.
pub fn program_tools(
    commands: &Arc<CommandRunner>,
    edit_tracker: &Arc<EditTracker>,
) -> Result<Vec<Arc<dyn AnyTool>>, StrictFault> {
    Ok(vec![
        erase(fs_list::FsListTool)?,
        erase(fs_read::FsReadTool)?,
        erase(fs_write::FsWriteTool(Arc::clone(edit_tracker)))?,
        erase(process_start::ProcessStartTool(Arc::clone(commands)))?,
        erase(process_write::ProcessWriteTool(Arc::clone(commands)))?,
    ])
}

/// Creates an answer of structured data with a line about it.
fn data_output(about: impl Into<String>, data: Value) -> ToolOutput {
    ToolOutput::text(about).with_structured(data)
}

/// Encodes bytes as text if they are UTF-8, else as base64.
fn encode_bytes(bytes: Vec<u8>) -> Value {
    // In JSON some bytes take six: such text would be longer than base64, and than a message may be.
    let odd = bytes.iter().filter(|byte| byte.is_ascii_control() || matches!(byte, b'"' | b'\\')).count();
    let is_long = odd > bytes.len() / 4 && bytes.len() > ALWAYS_TEXT_BYTES;
    match String::from_utf8(bytes) {
        Ok(text) if !is_long => json!({ "text": text }),
        other => {
            let bytes = other.map_or_else(std::string::FromUtf8Error::into_bytes, String::into_bytes);
            json!({ "base64": base64::engine::general_purpose::STANDARD.encode(bytes) })
        }
    }
}

/// Up to this size, UTF-8 bytes are always encoded as text.
const ALWAYS_TEXT_BYTES: usize = 1 << 20;

/// Returns the bytes that a call gives as text or as base64.
fn decode_content(text: Option<&str>, base64: Option<&str>) -> Result<Vec<u8>, ToolError> {
    match (text, base64) {
        (Some(text), None) => Ok(text.as_bytes().to_vec()),
        (None, Some(base64)) => base64::engine::general_purpose::STANDARD
            .decode(base64)
            .map_err(|fault| ToolError::bad_argument("base64", format!("it is not base64: {fault}"))),
        (None, None) => Err(ToolError::bad_argument("text", "there is neither `text` nor `base64`")),
        (Some(_), Some(_)) => {
            Err(ToolError::bad_argument("text", "there is `text` and `base64`; give one of them"))
        }
    }
}

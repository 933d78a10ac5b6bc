//! Argument checks and wording of `apply_patch` when a model calls it as `write_file`, with a path and content.

use patch::PatchPlan;
use serde_json::{Map, Value};
use tool::{BadArguments, ToolPayload};

/// The alias.
pub(crate) const WRITE_FILE: &str = "write_file";

/// The arguments that hold a patch or a list of edits instead of one file.
const PATCH_ARGUMENTS: [&str; 4] = ["input", "patch", "files", "edits"];

/// The name under which `apply_patch` was called; it decides the wording of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CalledAs {
    ApplyPatch,
    WriteFile,
}

impl CalledAs {
    pub(crate) fn from_name(name: &str) -> Self {
        if name == WRITE_FILE { Self::WriteFile } else { Self::ApplyPatch }
    }

    /// Rejects a file without a path or content.
    pub(crate) fn check_arguments(self, payload: &ToolPayload) -> Result<(), BadArguments> {
        let ToolPayload::Function { arguments } = payload else { return Ok(()) };
        let is_written = self == Self::WriteFile;
        let sent: Map<String, Value> = match serde_json::from_str(arguments) {
            Ok(Value::Object(sent)) if is_written => sent,
            Err(_) if is_written && arguments.trim().is_empty() => Map::new(),
            Ok(_) | Err(_) => return Ok(()),
        };
        let has =
            |names: &[&str]| names.iter().any(|name| sent.get(*name).is_some_and(|value| !value.is_null()));
        let missing = |name: &str| BadArguments::Value {
            path: name.to_owned(),
            why: format!("`{name}` is missing: give `path`, and `content` for all of the file"),
        };
        match (has(&["path", "file_path"]), has(&["content"])) {
            _ if has(&PATCH_ARGUMENTS) => Ok(()),
            (false, _) => Err(missing("path")),
            (true, false) => Err(missing("content")),
            (true, true) => Ok(()),
        }
    }

    /// Returns the first line of a refusal.
    pub(crate) fn refusal_text(self) -> &'static str {
        match self {
            Self::ApplyPatch => "The patch was not applied, and nothing was changed.",
            Self::WriteFile => "The file was not written, and nothing was changed.",
        }
    }

    /// Describes the changes of `plan`, and the files that already have the wanted content.
    pub(crate) fn summarize(self, mut plan: PatchPlan) -> String {
        match self {
            Self::ApplyPatch => plan.to_string(),
            Self::WriteFile => {
                let already = std::mem::take(&mut plan.already_applied);
                let already =
                    already.iter().map(|path| format!("  {} has this content already", path.escape_debug()));
                let changes = Some(plan.to_string()).filter(|changes| !changes.is_empty());
                changes.into_iter().chain(already).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

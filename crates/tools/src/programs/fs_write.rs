//! `fs_write`: writes a whole file atomically.

use std::sync::Arc;

use patch::{CommitStep, NewFile};
use policy::{Effect, Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tool::{Cx, ToolError, ToolHandler, ToolOutput, WorkingDir};

use super::{data_output, decode_content};
use crate::apply_patch::{git_layout_refusal, open_writable_tree};
use crate::edit_tracker::EditTracker;
use crate::private_files::PrivateFiles;

/// The `fs_write` tool.
pub(super) struct FsWriteTool(pub(super) Arc<EditTracker>);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    path: String,
    text: Option<String>,
    base64: Option<String>,
    /// Fail if the file exists.
    #[serde(default)]
    new: bool,
}

impl ToolHandler for FsWriteTool {
    type Args = Args;
    const NAME: &'static str = "fs_write";
    const ABOUT: &'static str = "Writes a whole file.";

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        decode_content(args.text.as_deref(), args.base64.as_deref())?;
        Ok(Intent::from_effects(vec![Effect::Write(working_dir.resolve_path("path", &args.path)?)]))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let path = cx.working_dir().resolve_path("path", &args.path)?;
        permit.may_write(&path).map_err(ToolError::Forbidden)?;
        let bytes = decode_content(args.text.as_deref(), args.base64.as_deref())?;
        let (args, edit_tracker, permit, working_dir) =
            (args.clone(), Arc::clone(&self.0), permit.clone(), cx.working_dir().clone());
        cx.run_blocking(move |_| {
            let real = permit.read_scope().real_path(&path).to_string_lossy().into_owned();
            let (disk, denied) = open_writable_tree(&working_dir, &permit)?;
            let found = disk.file_version(&real).map(|(_, stamp)| stamp);
            if args.new && found.is_some() {
                return Ok(ToolOutput::failure(format!("`{}` is there already", args.path)));
            }
            let size = bytes.len();
            let put = Some(NewFile { bytes: Arc::new(bytes), executable: None, attributes_from: None });
            let step = CommitStep { path: real.clone(), found_version: found, new_file: put };
            if let Some(why) = git_layout_refusal(std::slice::from_ref(&step), &permit, &working_dir.cwd) {
                return Ok(ToolOutput::failure(why));
            }
            if let Err(refusal) = disk.commit(&[step], &edit_tracker.records_dir) {
                return match crate::apply_patch::take_denial(&denied) {
                    Some(denial) => Err(ToolError::Blocked(denial)),
                    None => Ok(ToolOutput::failure(refusal.what.replace(&real, &args.path))),
                };
            }
            let data = json!({ "created": found.is_none(), "size": size });
            let mut text = format!("{size} bytes written to `{}`", args.path);
            for line in PrivateFiles::among(std::iter::once(real.as_str()), permit.read_scope()).note_lines()
            {
                text = format!("{text}\n{line}");
            }
            Ok(data_output(text, data))
        })
        .await
    }
}

//! `view_image`: shows an image to a model that accepts images.

use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Lane, RequiredCapability, ToolError, ToolHandler, ToolOutput, WorkingDir};

use crate::file_access::look_up;
use crate::image_file::{self, ImageSettings};

/// The `view_image` tool.
pub(crate) struct ViewImage {
    image_settings: ImageSettings,
}

impl ViewImage {
    pub(crate) fn new(image_settings: ImageSettings) -> Self {
        Self { image_settings }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    path: String,
    /// Accepted, but without effect.
    #[expect(dead_code, reason = "other agents' tools take it; the picture that is sent is the same")]
    detail: Option<ImageDetail>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ImageDetail {
    Auto,
    Low,
    High,
    Original,
}

impl ToolHandler for ViewImage {
    type Args = Args;
    const NAME: &'static str = "view_image";
    const ABOUT: &'static str = "Shows a picture (PNG, JPEG, GIF or WebP), scaled down if it is large.";
    const ARG_ALIASES: &'static [(&'static str, &'static str)] = &[("file_path", "path")];
    const HIDDEN_ARGS: &'static [&'static str] = &["detail"];
    const LANE: Lane = Lane::Shared;
    const NEEDS: RequiredCapability = RequiredCapability::ImageInput;

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::read(working_dir.resolve_path("path", &args.path)?))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let path = cx.working_dir().resolve_path("path", &args.path)?;
        let (permit, image_settings) = (permit.clone(), self.image_settings);
        cx.run_blocking(move |_| {
            let (_, found) = look_up(&permit, &path)?;
            image_file::load_image(&path, &found, image_settings)
        })
        .await
    }
}

//! Custom tools read files through the same checks as built-in ones; denied files stay denied behind symlinks.
#![expect(clippy::disallowed_methods, reason = "tests set up real files")]

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use testkit::TestWorkspace;
use toolgate::fs::ConfinedFs;
use toolgate::tool::{Cx, Intent, Permit, ToolHandler, WorkingDir};
use toolgate::{ToolError, ToolOutput, Toolgate, json};

#[derive(Deserialize, JsonSchema)]
struct Args {
    /// The file.
    path: String,
}

struct FileSizeTool;

impl ToolHandler for FileSizeTool {
    type Args = Args;
    const NAME: &'static str = "size";
    const ABOUT: &'static str = "Says how large a file is.";

    fn intent(&self, args: &Args, place: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::read(place.resolve_path("path", &args.path)?))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let path = cx.working_dir().resolve_path("path", &args.path)?;
        let found =
            ConfinedFs::new(permit).lookup(&path).map_err(|fault| ToolError::io(fault.to_string()))?;
        Ok(ToolOutput::text(found.size().to_string()))
    }
}

#[tokio::test]
async fn a_tool_of_your_own_opens_what_it_stated() {
    let w = TestWorkspace::new();
    w.write_file("a", "12345").symlink("out", w.outside_dir());
    let toolgate = Toolgate::at(w.path()).tool(FileSizeTool).build().unwrap();
    let size = async |path: &str| toolgate.call("size", json!({ "path": path })).await.joined_text();
    assert_eq!(size("a").await, "5");
    assert!(size("out/secret.txt").await.contains("leads outside"));
    assert!(size("/etc/passwd").await.contains("outside the readable roots"));
}

#[tokio::test]
async fn a_denied_path_behind_a_link_is_denied_at_its_target() {
    let w = TestWorkspace::new();
    w.write_file("real/key", "SECRET").symlink("spelled", w.path().join("real"));
    let denied = w.path().join("spelled/key");
    let toolgate =
        Toolgate::at(w.path()).with_tools().deny_read(denied.to_str().unwrap().to_owned()).build().unwrap();
    for path in ["spelled/key", "real/key"] {
        let answer = toolgate.call("read_file", json!({ "path": path })).await;
        assert!(!answer.success && !answer.joined_text().contains("SECRET"), "{path}");
    }
}

#[tokio::test]
async fn spilled_output_can_be_read_back() {
    let w = TestWorkspace::new();
    let spill = std::sync::Arc::new(toolgate::call::Spill::new(w.outside_dir().join("outputs"), &w.path()));
    let toolgate = Toolgate::at(w.path()).with_tools().spill(std::sync::Arc::clone(&spill)).build().unwrap();
    let kept = spill.keep("call", b"whole\n").unwrap();
    let answer = toolgate.call("read_file", json!({ "path": kept })).await;
    assert_eq!(answer.joined_text(), "1| whole");
}

#[tokio::test]
async fn kept_output_behind_a_link_can_be_read_back() {
    let w = TestWorkspace::new();
    w.symlink("state", w.outside_dir());
    let kept = w.path().join("state/kept");
    let toolgate = Toolgate::at(w.path()).with_tools().read_kept_in(&kept).build().unwrap();
    std::fs::create_dir(w.outside_dir().join("kept")).unwrap();
    std::fs::write(kept.join("a.txt"), "whole\n").unwrap();
    let read = async |path: &Path| toolgate.call("read_file", json!({ "path": path })).await.joined_text();
    assert_eq!(read(&kept.join("a.txt")).await, "1| whole");
    assert!(read(&w.path().join("state/secret.txt")).await.contains("leads outside"));
}

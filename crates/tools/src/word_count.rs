//! `word_count`: counts the words of a file.

use std::io::Read;

use policy::{Intent, Permit};
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Cx, Lane, ToolError, ToolHandler, ToolOutput, WorkingDir};

use crate::file_access::{fs_error, look_up, read_error};

/// A longer file is not counted.
const MAX_BYTES: u64 = 64 << 20;

pub(crate) struct WordCount;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File to count, absolute or relative to the working directory, e.g. `README.md`.
    path: String,
}

impl ToolHandler for WordCount {
    type Args = Args;
    const NAME: &'static str = "word_count";
    const ABOUT: &'static str = "Counts the words of a text file.";
    const LANE: Lane = Lane::Shared;

    fn intent(&self, args: &Args, working_dir: &WorkingDir) -> Result<Intent, ToolError> {
        Ok(Intent::read(working_dir.resolve_path("path", &args.path)?))
    }

    async fn run(&self, args: &Args, permit: &Permit, cx: &Cx) -> Result<ToolOutput, ToolError> {
        let path = cx.working_dir().resolve_path("path", &args.path)?;
        let permit = permit.clone();
        cx.run_blocking(move |_| {
            let (_, found) = look_up(&permit, &path)?;
            if found.size() > MAX_BYTES {
                return Err(ToolError::io(format!("`{}` is too long to count", path.display())));
            }
            let mut text = Vec::new();
            let file = found.open().map_err(fs_error)?;
            file.take(MAX_BYTES).read_to_end(&mut text).map_err(|fault| read_error(&path, &fault))?;
            let words = String::from_utf8_lossy(&text).split_whitespace().count();
            Ok(ToolOutput::text(format!("{words} words")))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use testkit::{TestWorkspace, ToolTestSession};

    use super::*;

    #[test]
    fn words_are_counted_as_a_model_asks_for_it() {
        let w = TestWorkspace::new();
        w.write_file("a.txt", "one two\nthree\n");
        let session = ToolTestSession::new(&w, vec![tool::erase(WordCount).unwrap()]);
        assert_eq!(session.call("word_count", &json!({"path": "a.txt"})).joined_text(), "3 words");
    }
}

//! The built-in tools: one file each, one line each in [`builtin_tools`].
//!
//! The tools read files only through `exec::fs`, which opens nothing outside their permit.

mod apply_patch;
mod code_block;
mod commands;
mod edit_tracker;
mod encoding;
mod exec_command;
mod file_access;
mod git_layout;
mod grep_files;
mod grep_hits;
mod grep_worker;
mod image_file;
mod kill_session;
mod line_window;
mod list_dir;
mod list_sessions;
mod numbered_lines;
mod private_files;
mod programs;
mod read_file;
mod shell;
mod shell_command;
mod terminal_screen;
mod terminal_text;
mod text_format;
mod update_plan;
mod view_image;
#[cfg(test)]
mod word_count;
mod write_file;
mod write_stdin;

use std::sync::Arc;

pub use commands::{COMMANDS_REFUSED, CommandRunner, DEFAULT_SESSIONS};
pub use edit_tracker::EditTracker;
pub use image_file::ImageSettings;
pub use programs::program_tools;
use tool::{AnyTool, StrictFault, erase};

/// Returns every built-in tool, sorted by name.
pub fn builtin_tools(
    pictures: ImageSettings,
    commands: &Arc<CommandRunner>,
    edits: &Arc<EditTracker>,
) -> Result<Vec<Arc<dyn AnyTool>>, StrictFault> {
    Ok(vec![
        erase(apply_patch::ApplyPatch(Arc::clone(edits)))?,
        erase(exec_command::ExecCommand(Arc::clone(commands)))?,
        erase(grep_files::GrepFiles)?,
        erase(kill_session::KillSession(Arc::clone(commands)))?,
        erase(list_dir::ListDir)?,
        erase(list_sessions::ListSessionsTool(Arc::clone(commands)))?,
        erase(read_file::ReadFile::new(pictures, Arc::clone(edits)))?,
        erase(shell::ShellTool(Arc::clone(commands)))?,
        erase(shell_command::ShellCommand(Arc::clone(commands)))?,
        erase(update_plan::UpdatePlan)?,
        erase(view_image::ViewImage::new(pictures))?,
        erase(write_stdin::WriteStdin(Arc::clone(commands)))?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An alias that rules did not know would bypass them.
    #[test]
    fn rules_know_every_other_name_of_a_tool() {
        for tool in builtin_tools(ImageSettings::default(), &Arc::default(), &Arc::default()).unwrap() {
            for alias in tool.aliases() {
                let name = tool.spec().name();
                assert!(policy::rules::concerns_tool(&alias, name), "{alias} is another name of {name}");
            }
        }
    }

    /// The page on adding a tool shows code that is compiled and tested.
    #[test]
    fn the_page_about_adding_a_tool_shows_a_real_one() {
        let page = include_str!("../../../docs/adding-a-tool.md");
        assert!(page.contains(&format!("```rust\n{}```", include_str!("word_count.rs"))));
    }
}

//! Command-line arguments of `toolgate acp`.

use clap::Args;

use super::{ModelArgs, WorkspaceArgs};

/// Run as the agent of an editor, over the Agent Client Protocol
///
/// Zed and other editors start this command and talk to it over standard input and output. You type
/// prompts in the editor. It shows the model's messages, the changes to files, the output of
/// commands and the approval questions. docs/acp.md describes the setup.
///
/// The editor chooses the working directory. The model is the one in your configuration unless
/// --model names another, and the key comes from your environment. Every session has a journal:
/// `toolgate log` shows it, and the editor can resume it.
///
/// Exit status: 0 the editor has disconnected; 2 the command line is wrong; 129 after SIGHUP; 130
/// after Ctrl-C; 143 after SIGTERM.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate acp
  toolgate acp --model claude-sonnet-4-5 --sandbox workspace-write
  toolgate acp --base-url http://127.0.0.1:8080/v1 --wire chat --model local

In Zed's settings.json:
  \"agent_servers\": {
    \"Toolgate\": {\"type\": \"custom\", \"command\": \"toolgate\", \"args\": [\"acp\"], \"env\": {}}
  }")]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

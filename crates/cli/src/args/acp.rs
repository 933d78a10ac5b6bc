//! Command-line arguments of `toolgate acp`.

use clap::Args;

use super::{ModelArgs, WorkspaceArgs};

/// Be the agent of an editor, over the Agent Client Protocol
///
/// Zed and other editors start this command and talk to it at standard input and output: you type in the editor, see there what the model
/// says, which files it changes and what its commands print, and are asked there. docs/acp.md says how to set it up.
///
/// The editor says where to work. The model is the one of your configuration, with the key from your environment, unless the flags say
/// otherwise. Every session has a journal, which `toolgate log` shows and the editor goes on from.
///
/// Exit status: 0 when the editor has left; 2 the command line is wrong; 130 after Ctrl-C, 143 after SIGTERM.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate acp
  toolgate acp --model claude-sonnet-4-5 --sandbox workspace-write
  toolgate acp --base-url http://127.0.0.1:8080/v1 --wire chat --model local

In Zed's settings.json:
  \"agent_servers\": {\"Toolgate\": {\"type\": \"custom\", \"command\": \"toolgate\", \"args\": [\"acp\"], \"env\": {}}}")]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) place: WorkspaceArgs,
}

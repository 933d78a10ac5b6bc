//! The first prompt of `toolgate run`, its pictures, and whether the session stays open after it.

use std::io::IsTerminal;
use std::path::Path;

use config::OperationFault;
use runtime::OutputImage;
use server::content_conversion::image_mime_type;

use super::line_editor::is_foreground;
use crate::args::RunArgs;

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunLength {
    /// The run ends with the turn of its first prompt.
    OneTurn,
    /// The user types further prompts, and leaves.
    UntilQuit,
}

/// The prompt and the pictures that a run begins with.
pub(super) struct FirstPrompt {
    /// `None` if the user is to type it.
    pub(super) text: Option<String>,
    pub(super) images: Vec<OutputImage>,
    pub(super) length: RunLength,
}

impl FirstPrompt {
    /// Reads the prompt. The session stays open after it if `can_type`, and the user sees the output too.
    pub(super) fn read(args: &RunArgs, can_type: bool) -> Result<Self, OperationFault> {
        let text = read_prompt(args)?;
        // A job in the background must end by itself.
        let is_watched = || can_type && std::io::stdout().is_terminal() && is_foreground();
        let length = match &text {
            None => RunLength::UntilQuit,
            Some(_) if !args.once && !args.json && is_watched() => RunLength::UntilQuit,
            Some(_) => RunLength::OneTurn,
        };
        let images = args.image.iter().map(|file| read_picture(file)).collect::<Result<_, _>>()?;
        Ok(Self { text, images, length })
    }
}

fn read_prompt(args: &RunArgs) -> Result<Option<String>, OperationFault> {
    match args.prompt.as_deref() {
        Some("-") => check_prompt(session::read_file_or_stdin(Path::new("-"))?),
        Some(prompt) => check_prompt(prompt.to_owned()),
        None if std::io::stdin().is_terminal() && !args.json => Ok(None),
        None => Err(OperationFault::usage("what should be done? there is no prompt")
            .with_hint("toolgate run 'fix the failing test'; or `-` to read it from standard input")),
    }
}

fn check_prompt(prompt: String) -> Result<Option<String>, OperationFault> {
    if prompt.trim().is_empty() {
        return Err(
            OperationFault::usage("the prompt is empty").with_hint("toolgate run 'fix the failing test'")
        );
    }
    Ok(Some(prompt))
}

#[expect(clippy::disallowed_methods, reason = "the user named this file, not a model")]
fn read_picture(file: &Path) -> Result<OutputImage, OperationFault> {
    let wrong = |why: &str| OperationFault::usage(format!("the picture `{}` {why}", file.display()));
    let bytes = std::fs::read(file).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    let mime = image_mime_type(&bytes)
        .ok_or_else(|| wrong("has a format that models do not read; they read png, jpeg, gif and webp"))?;
    Ok(OutputImage { mime, bytes })
}

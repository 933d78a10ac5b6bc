//! Questions about staged changes on a terminal.

use std::io::{BufRead, IsTerminal, Write};

use config::OperationFault;

/// The choice after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterTry {
    /// Apply all changes.
    Apply,
    /// Choose some.
    Pick,
    /// Give all up.
    Discard,
    /// Leave them pending.
    Keep,
    /// Show them as a diff, then ask again.
    Diff,
}

/// Returns true if a person can answer.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question; only `y` is a yes.
pub(crate) fn confirm(question: &str) -> Result<bool, OperationFault> {
    Ok(matches!(ask(&format!("{question} [y/N] "))?.as_str(), "y" | "yes"))
}

/// Asks what happens to the changes of a command. Without an answer, they stay pending.
pub(crate) fn ask_after_try() -> Result<AfterTry, OperationFault> {
    if !is_interactive() {
        return Ok(AfterTry::Keep);
    }
    // ends: with an answer, or at the end of the input
    loop {
        let answer = ask(
            "Apply these changes? [y] yes  [p] pick  [v] view the diff  [d] discard  [k] keep for later: ",
        )?;
        return Ok(match answer.as_str() {
            "y" | "yes" => AfterTry::Apply,
            "p" | "pick" => AfterTry::Pick,
            "v" | "view" => AfterTry::Diff,
            "d" | "discard" => AfterTry::Discard,
            "k" | "keep" | "" => AfterTry::Keep,
            _ => continue,
        });
    }
}

/// Prints `question`, and returns the answer in lower case. At the end of the input it is empty.
pub(super) fn ask(question: &str) -> Result<String, OperationFault> {
    let mut err = std::io::stderr();
    write!(err, "{question}")?;
    err.flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim().to_lowercase())
}

//! Hints for errors. An error states what happened; the program that embeds this crate knows what its user can try.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Finds the hints for errors: what the user can try, in the words of the embedding program. Empty by default.
#[derive(Clone, Default)]
pub struct ErrorHints(Option<Arc<HintFunction>>);

type HintFunction = dyn Fn(&(dyn Error + 'static)) -> Option<String> + Send + Sync;

impl ErrorHints {
    /// Uses `find` to find a hint. A hint is a clause without a capital or a full stop. Further lines are further hints,
    /// for [`ErrorHints::explain_in_lines`].
    pub fn new(find: impl Fn(&(dyn Error + 'static)) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    /// Returns the message of `error`, with its first hint if there is one.
    ///
    /// ```
    /// use toolgate_tool::{ErrorHints, ToolError};
    /// let hints = ErrorHints::new(|_| Some("turn it off and on again".to_owned()));
    /// assert_eq!(hints.explain(&ToolError::io("no disk")), "no disk; turn it off and on again");
    /// assert_eq!(ErrorHints::default().explain(&ToolError::io("no disk")), "no disk");
    /// ```
    pub fn explain(&self, error: &(dyn Error + 'static)) -> String {
        match self.0.as_ref().and_then(|find| find(error)) {
            Some(hint) => format!("{error}; {}", hint.lines().next().unwrap_or_default()),
            None => error.to_string(),
        }
    }

    /// Returns `summary` and all hints for `error`, each on a line of its own.
    ///
    /// ```
    /// use toolgate_tool::{ErrorHints, ToolError};
    /// let hints = ErrorHints::new(|_| Some("free some space\nname another disk".to_owned()));
    /// let text = hints.explain_in_lines("nothing is saved", &ToolError::io("the disk is full"));
    /// assert_eq!(text, "nothing is saved\nfree some space\nname another disk");
    /// ```
    pub fn explain_in_lines(&self, summary: &str, error: &(dyn Error + 'static)) -> String {
        match self.0.as_ref().and_then(|find| find(error)) {
            Some(hints) => format!("{summary}\n{hints}"),
            None => format!("{summary}: {error}"),
        }
    }
}

impl fmt::Debug for ErrorHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ErrorHints").field(&self.0.is_some()).finish()
    }
}

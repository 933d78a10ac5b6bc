//! Hints for errors. An error states what happened; the program that embeds this crate knows what its user can try.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Finds the hints for errors: what the user can try, in the words of the embedding program. Empty by default.
#[derive(Clone, Default)]
pub struct ErrorHints(Option<Arc<HintFunction>>);

type HintFunction = dyn Fn(&(dyn Error + 'static)) -> Option<String> + Send + Sync;

impl ErrorHints {
    /// Uses `find` to find a hint. A hint is a clause without a capital or a full stop.
    pub fn new(find: impl Fn(&(dyn Error + 'static)) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(find)))
    }

    /// Returns the message of `error`, with its hint if there is one.
    ///
    /// ```
    /// use toolgate_tool::{ErrorHints, ToolError};
    /// let hints = ErrorHints::new(|_| Some("turn it off and on again".to_owned()));
    /// assert_eq!(hints.explain(&ToolError::io("no disk")), "no disk; turn it off and on again");
    /// assert_eq!(ErrorHints::default().explain(&ToolError::io("no disk")), "no disk");
    /// ```
    pub fn explain(&self, error: &(dyn Error + 'static)) -> String {
        match self.0.as_ref().and_then(|find| find(error)) {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        }
    }
}

impl fmt::Debug for ErrorHints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ErrorHints").field(&self.0.is_some()).finish()
    }
}

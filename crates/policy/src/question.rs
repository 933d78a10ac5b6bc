//! What somebody is asked, and what they can answer.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::rules::{NewRule, Rule};
use crate::store::Key;
use crate::{Account, Confinement, Denial, Effect, Grants, Intent, Permit, SandboxPolicy, host_file_by_name};

/// A question about one call. Whoever answers it sees all that the call would do; only [`Gate`](crate::Gate) makes one.
#[derive(Debug, Clone)]
pub struct Question {
    /// The tool that is called.
    pub tool: String,
    /// What it would do.
    pub intent: Intent,
    /// What its command would run, if it is one.
    pub account: Option<Account>,
    /// Why it is asked; never empty.
    pub why: Vec<Cause>,
    /// What a yes gives it beyond the policy.
    pub grants: Grants,
    /// What it would be confined to; `None` if nothing confines it.
    pub confinement: Option<Arc<Confinement>>,
    /// Which agent asks, from the session's own down; empty for the session's own.
    pub agents: Vec<String>,
    /// It was tried, and would be run again from its beginning.
    pub again: bool,
    /// What could be saved so that this is not asked again.
    pub proposal: Option<Proposal>,
    pub(crate) keys: Vec<Key>,
    pub(crate) permit: Permit,
}

impl Question {
    /// Sentences about the files it would change that take effect on the user's machine by themselves. For a command they are
    /// read from its words, as [`touches`](Self::touches) is.
    pub fn takes_effect(&self) -> Vec<String> {
        let by_name = |path: &String| Some((host_file_by_name(Path::new(path))?, path.clone()));
        let written = self.intent.effects.iter().filter_map(|effect| match effect {
            Effect::Write(path) => Some((self.permit.host_file(path)?, path.display().to_string())),
            _ => None,
        });
        let stated = written.collect::<Vec<_>>();
        let touched = if stated.is_empty() { self.touches().writes } else { Vec::new() };
        let named = touched.iter().filter_map(by_name);
        stated.iter().cloned().chain(named).map(|(file, path)| file.sentence(&path)).collect()
    }

    /// The policy that it would run under after a yes.
    pub fn sandbox(&self) -> SandboxPolicy {
        self.permit.sandbox()
    }
}

/// A rule that somebody could save.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The rule.
    pub rule: NewRule,
    /// What else it would allow.
    pub allows: Vec<String>,
    /// Whether the model chose its words.
    pub of_model: bool,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewDecision {
    /// Yes, this time.
    Approved,
    /// Yes, and exactly this again for as long as the session lasts.
    ApprovedForSession,
    /// Yes, and all that this rule allows from now on.
    ApprovedWithRule(NewRule),
    /// No.
    Denied {
        /// What the model should know.
        note: Option<String>,
    },
    /// No, and stop all that goes on.
    Abort,
}

impl ReviewDecision {
    /// Its name, as programs spell it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::ApprovedForSession => "approved_for_session",
            Self::ApprovedWithRule(_) => "approved_with_rule",
            Self::Denied { .. } => "denied",
            Self::Abort => "abort",
        }
    }
}

/// Why somebody is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// The policy asks before anything that does more than read.
    Untrusted {
        /// The command or the effect.
        what: String,
    },
    /// It is known to be dangerous.
    Dangerous {
        /// The command or the effect.
        what: String,
        /// Why it is.
        why: String,
    },
    /// Part of it was not understood.
    NotUnderstood {
        /// The part.
        what: String,
        /// Why not.
        why: String,
    },
    /// A rule asks.
    Rule {
        /// What the rule is about.
        what: String,
        /// The rule.
        rule: Box<Rule>,
        /// Whether it is certain that the rule is about this.
        certain: bool,
    },
    /// A hook asks.
    Hook {
        /// Which one.
        hook: String,
        /// What it says.
        reason: String,
    },
    /// It needs something that the sandbox does not give.
    Beyond(Denial),
    /// It asks to leave the sandbox.
    Leaves,
    /// It was tried, and this was refused.
    Refused {
        /// What.
        denial: Denial,
        /// Whether nobody but its own output says so.
        guessed: bool,
    },
    /// Somebody else's code would run, and nobody knows what it does.
    Foreign {
        /// Whose.
        server: String,
        /// What they call it.
        tool: String,
    },
    /// Later sessions would read a text.
    Remembers {
        /// What it is called.
        name: String,
        /// Which sessions.
        scope: String,
    },
    /// Somebody else's tool is not what it was when it was last used.
    Redefined {
        /// Whose.
        server: String,
        /// What they call it.
        tool: String,
    },
}

impl fmt::Display for Cause {
    /// For whoever made the call.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence(ToString::to_string))
    }
}

impl Cause {
    /// The same for the person who is asked.
    pub fn for_user(&self) -> String {
        self.sentence(Denial::for_user)
    }

    fn sentence(&self, denied: impl Fn(&Denial) -> String) -> String {
        match self {
            Self::Untrusted { what } => {
                format!("{what} may change something, and the approval policy is untrusted")
            }
            Self::Dangerous { what, why } => format!("{what} {why}"),
            Self::NotUnderstood { what, why } => format!("{what} cannot be understood: {why}"),
            Self::Rule { what, rule, certain } => {
                let place = format!("{}:{}", rule.file.display(), rule.line);
                let reason = rule.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
                let (is, says) = match (rule.decision, certain) {
                    (crate::rules::Decision::Forbid, _) => ("may be", "forbids"),
                    (_, true) => ("is", "asks about"),
                    (_, false) => ("may be", "asks about"),
                };
                format!("{what} {is} what the rule at {place} {says}{reason}")
            }
            Self::Hook { hook, reason } => format!("the hook `{hook}` asks: {reason}"),
            Self::Beyond(denial) => denied(denial),
            Self::Leaves => "it asks to run without the sandbox".to_owned(),
            Self::Refused { denial, guessed: false } => format!("it was refused: {}", denied(denial)),
            Self::Refused { denial, guessed: true } => {
                format!("it failed, and its output suggests that it was refused: {}", denied(denial))
            }
            Self::Foreign { server, tool } => {
                format!("`{tool}` is a tool of `{server}`, and nobody here knows what it does")
            }
            Self::Remembers { name, scope } => {
                format!("every later session in {scope} would read what is remembered as `{name}`")
            }
            Self::Redefined { server, tool } => {
                format!("`{server}` has changed what it says about its tool `{tool}` since it was last used")
            }
        }
    }
}

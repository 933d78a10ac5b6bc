//! User-written rules: commands, paths, tools and hosts that are allowed, asked about or forbidden.
//!
//! This module handles rule files as text; `exec` finds, reads and saves them. Rules of all layers are combined, and
//! the strictest match wins: no order of rules or files can loosen another rule.
//!
//! ```
//! use std::path::Path;
//! use toolgate_policy::rules::{RuleDecision, RuleLayer, RuleSet, strictest};
//! use toolgate_policy::shell::ScriptWord;
//!
//! let text = r#"
//! [[rule]]
//! pattern = ["git", ["push", "fetch"]]
//! decision = "ask"
//! match = ["git push origin main"]
//! "#;
//! let rules = RuleSet::parse(text, Path::new("rules.toml"), RuleLayer::User).unwrap();
//! let words = ["git", "fetch"].map(|word| ScriptWord::Literal(word.to_owned()));
//! let found = rules.rules_for_command(&words, false);
//! assert_eq!(strictest(&found.certain).unwrap().rule.decision, RuleDecision::Ask);
//! ```

mod command;
pub mod import;
mod loose_match;
mod parse;
mod rule_examples;
mod rule_fault;
mod rule_fields;
mod rule_path;
mod rule_subject;
mod rule_warnings;
mod rule_writer;
mod tool_pattern;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

pub use command::{MatchedRule, MatchedRules, strictest};
pub use rule_examples::ExampleResult;
pub use rule_fault::RuleFault;
pub use rule_path::RulePath;
pub use rule_warnings::RuleWarning;
pub use rule_writer::{NewRule, RuleAddition, add_rule};
pub use tool_pattern::{
    matches_tool_pattern as fits_tool, pattern_concerns_tool as concerns_tool,
    tool_pattern_fault as check_tool,
};

use crate::HostPattern;
use crate::shell::ScriptWord;

/// Maximum size of a rule file in bytes.
pub const MAX_RULE_FILE_BYTES: usize = 1 << 20;
/// Maximum number of words of a pattern.
pub const MAX_PATTERN_WORDS: usize = 100;

/// The decision of a rule. The stricter decision is the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleDecision {
    /// The action is performed without a question; a command runs confined unless its rule says otherwise.
    Allow,
    /// A person is asked.
    Ask,
    /// The action is denied without a question.
    Forbid,
}

impl RuleDecision {
    /// Returns the name used in rule files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Forbid => "forbid",
        }
    }
}

/// The origin of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleLayer {
    /// The machine's rules, for all its users.
    System,
    /// The user's own rules.
    User,
    /// The rules of the project's authors, which may only tighten.
    Project,
}

impl RuleLayer {
    /// Returns the name of the layer.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// The kind of access that a path rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathAccess {
    /// Reading and listing.
    Read,
    /// Writing.
    Write,
}

impl PathAccess {
    /// Returns the name used in rule files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// The subject of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleSubject {
    /// Commands that begin with these words.
    Command {
        /// The alternatives at each position.
        pattern: Vec<Vec<String>>,
        /// No further words may follow.
        exact: bool,
    },
    /// These paths, and everything below them.
    Path {
        /// One or more paths.
        paths: Vec<RulePath>,
        /// The kind of access.
        access: PathAccess,
    },
    /// Tools with these names; `*` matches any characters.
    Tool {
        /// One or more names.
        names: Vec<String>,
    },
    /// These hosts.
    Host {
        /// One or more hosts.
        hosts: Vec<HostPattern>,
    },
}

/// One rule and its position in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyRule {
    /// The origin of the rule.
    pub layer: RuleLayer,
    /// The file of the rule.
    pub file: Arc<Path>,
    /// The line in the file, from 1.
    pub line: usize,
    /// The subject of the rule.
    pub subject: RuleSubject,
    /// The decision of the rule.
    pub decision: RuleDecision,
    /// The reason, shown in denials and questions.
    pub reason: Option<String>,
    /// Allowed commands run without confinement. Only with [`RuleDecision::Allow`] and [`RuleSubject::Command`].
    pub unsandboxed: bool,
}

/// All rules in force.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    rules: Vec<PolicyRule>,
    /// Command rules by the possible first words.
    by_first_word: HashMap<String, Vec<usize>>,
}

impl RuleSet {
    /// Parses the rules in `text`. `file` is used in faults, and defines the base of a project's relative paths: the
    /// directory of the file, or its parent if the directory is called `.toolgate`.
    pub fn parse(text: &str, file: &Path, layer: RuleLayer) -> Result<Self, RuleFault> {
        let parsed = parse::parse_rules(text, file, layer)?;
        match parsed.example_results.iter().find_map(|tried| Some((tried, tried.fault.as_ref()?))) {
            Some((tried, why)) => Err(RuleFault::at(file, (tried.line, tried.column), why.clone())),
            None => Ok(parsed.rules.into_iter().collect()),
        }
    }

    /// Runs every `match` and `not_match` example of `text` against its own rule.
    pub fn run_examples(text: &str, file: &Path, layer: RuleLayer) -> Result<Vec<ExampleResult>, RuleFault> {
        Ok(parse::parse_rules(text, file, layer)?.example_results)
    }

    /// Returns these rules together with `others`.
    #[must_use]
    pub fn merge(mut self, others: Self) -> Self {
        self.extend(others.rules);
        self
    }

    /// Returns these rules without the permission to leave the sandbox.
    #[must_use]
    pub fn without_sandbox_exits(mut self) -> Self {
        self.rules.iter_mut().for_each(|rule| rule.unsandboxed = false);
        self
    }

    /// Returns the rules that only restrict.
    #[must_use]
    pub fn without_permissions(self) -> Self {
        self.rules.into_iter().filter(|rule| rule.decision != RuleDecision::Allow).collect()
    }

    /// Returns these rules, with the ask- and forbid-rules for paths below `from` also applied below `to`.
    #[must_use]
    pub fn mirror_paths(mut self, from: &Path, to: &Path) -> Self {
        let there = |place: &RulePath| match place {
            RulePath::Absolute(path) => {
                path.strip_prefix(from).ok().map(|below| RulePath::Absolute(to.join(below)))
            }
            RulePath::Home(_) | RulePath::Glob(_) => None,
        };
        for rule in self.rules.iter_mut().filter(|rule| rule.decision != RuleDecision::Allow) {
            if let RuleSubject::Path { paths, .. } = &mut rule.subject {
                let more: Vec<RulePath> = paths.iter().filter_map(there).collect();
                paths.extend(more);
            }
        }
        self
    }

    /// Iterates over the rules in the order they were read.
    pub fn iter(&self) -> impl Iterator<Item = &PolicyRule> {
        self.rules.iter()
    }

    /// Returns the number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns true if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the ask- and forbid-rules that may be about the command `words` although they do not match it literally:
    /// options stand between its words, or its program is given by another path.
    pub(crate) fn likely_rules(&self, words: &[ScriptWord]) -> Vec<&PolicyRule> {
        loose_match::likely_rules(self, words)
    }

    /// Returns the rules for a command with these words, which `more` unknown words may follow.
    pub fn rules_for_command(&self, words: &[ScriptWord], more: bool) -> MatchedRules<'_> {
        command::find_matches(self, words, more)
    }

    /// Returns the rules for the tool `name`. Allow-rules match only the tool's own name. Ask- and forbid-rules match
    /// every name of the tool. Such a rule for one shell tool matches all shell tools, since a model can call any of
    /// them.
    pub fn rules_for_tool(&self, name: &str) -> Vec<&PolicyRule> {
        let about = |rule: &&PolicyRule| {
            let RuleSubject::Tool { names } = &rule.subject else { return false };
            names.iter().any(|pattern| match rule.decision {
                RuleDecision::Allow => tool_pattern::matches_tool_pattern(pattern, name),
                RuleDecision::Ask | RuleDecision::Forbid => {
                    tool_pattern::pattern_concerns_tool(pattern, name)
                }
            })
        };
        self.rules.iter().filter(about).collect()
    }

    /// Applies every ask- and forbid-rule about the tool `name` to the tool `other` too, which acts on its behalf.
    pub fn extend_to_tool(&mut self, name: &str, other: &str) {
        for rule in &mut self.rules {
            let is_narrowing = matches!(rule.decision, RuleDecision::Ask | RuleDecision::Forbid);
            if let RuleSubject::Tool { names } = &mut rule.subject
                && is_narrowing
                && names.iter().any(|pattern| tool_pattern::pattern_concerns_tool(pattern, name))
            {
                names.push(other.to_owned());
            }
        }
    }

    /// Returns the rules for connecting to `name`, a name or an address, on `port`.
    pub fn rules_for_host(&self, name: &str, port: u16) -> Vec<&PolicyRule> {
        self.rules_about(|on| matches!(on, RuleSubject::Host { hosts } if hosts.iter().any(|host| host.covers(name, port))))
    }

    /// Returns the rules for paths.
    pub fn path_rules(&self) -> impl Iterator<Item = &PolicyRule> {
        self.rules.iter().filter(|rule| matches!(rule.subject, RuleSubject::Path { .. }))
    }

    /// Returns warnings about rules that allow more than they seem to.
    pub fn warnings(&self) -> Vec<RuleWarning<'_>> {
        rule_warnings::find_warnings(self)
    }

    fn rules_about(&self, is: impl Fn(&RuleSubject) -> bool) -> Vec<&PolicyRule> {
        self.rules.iter().filter(|rule| is(&rule.subject)).collect()
    }
}

impl Extend<PolicyRule> for RuleSet {
    fn extend<I: IntoIterator<Item = PolicyRule>>(&mut self, rules: I) {
        for rule in rules {
            let at = self.rules.len();
            if let RuleSubject::Command { pattern, .. } = &rule.subject {
                for first in pattern.first().into_iter().flatten() {
                    self.by_first_word.entry(first.clone()).or_default().push(at);
                }
            }
            self.rules.push(rule);
        }
    }
}

impl FromIterator<PolicyRule> for RuleSet {
    fn from_iter<I: IntoIterator<Item = PolicyRule>>(rules: I) -> Self {
        let mut all = Self::default();
        all.extend(rules);
        all
    }
}

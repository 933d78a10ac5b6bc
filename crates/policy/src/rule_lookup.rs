//! Finds the rules about a path or a host.

use std::path::Path;

use crate::HostPattern;
use crate::rules::{PathAccess, PolicyRule, RuleDecision, RuleSet, RuleSubject};

/// Returns the rules about this access to `path`, for a user with this home directory.
pub(crate) fn rules_for_path<'a>(
    rules: &'a RuleSet,
    path: &Path,
    access: PathAccess,
    home: Option<&Path>,
) -> impl Iterator<Item = &'a PolicyRule> {
    let about = move |rule: &&PolicyRule| match &rule.subject {
        RuleSubject::Path { paths, access: of } if *of == access => {
            paths.iter().filter_map(|at| at.path(home)).any(|at| path.starts_with(at))
        }
        _ => false,
    };
    rules.path_rules().filter(about)
}

/// Returns the rules about `host`.
pub(crate) fn rules_for_host<'a>(rules: &'a RuleSet, host: &HostPattern) -> Vec<&'a PolicyRule> {
    let (name, port) = split_host_port(host);
    rules.rules_for_host(&name, port)
}

/// Splits a host into its name or address and its port, 0 if it has none.
pub(crate) fn split_host_port(host: &HostPattern) -> (String, u16) {
    let text = host.to_string();
    match text.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            (name.to_owned(), port.parse().unwrap_or(0))
        }
        _ => (text, 0),
    }
}

/// Returns true if a rule forbids writing `path`.
pub(crate) fn forbids_writing(rules: &RuleSet, path: &Path, home: Option<&Path>) -> bool {
    rules_for_path(rules, path, PathAccess::Write, home).any(|rule| rule.decision == RuleDecision::Forbid)
}

/// Returns true if a rule forbids `host`.
pub(crate) fn forbids_host(rules: &RuleSet, host: &HostPattern) -> bool {
    rules_for_host(rules, host).iter().any(|rule| rule.decision == RuleDecision::Forbid)
}

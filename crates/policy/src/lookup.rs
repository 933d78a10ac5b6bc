//! Finds the rules about a path or a host.

use std::path::Path;

use crate::Host;
use crate::rules::{Access, Decision, On, Rule, Rules};

/// Returns the rules about this access to `path`, for a user with this home directory.
pub(crate) fn on_path<'a>(
    rules: &'a Rules,
    path: &Path,
    access: Access,
    home: Option<&Path>,
) -> impl Iterator<Item = &'a Rule> {
    let about = move |rule: &&Rule| match &rule.on {
        On::Path { paths, access: of } if *of == access => {
            paths.iter().filter_map(|at| at.path(home)).any(|at| path.starts_with(at))
        }
        _ => false,
    };
    rules.paths().filter(about)
}

/// Returns the rules about `host`.
pub(crate) fn on_host<'a>(rules: &'a Rules, host: &Host) -> Vec<&'a Rule> {
    let (name, port) = apart(host);
    rules.host(&name, port)
}

/// Splits a host into its name or address and its port, 0 if it has none.
pub(crate) fn apart(host: &Host) -> (String, u16) {
    let text = host.to_string();
    match text.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            (name.to_owned(), port.parse().unwrap_or(0))
        }
        _ => (text, 0),
    }
}

/// Returns true if a rule forbids writing `path`.
pub(crate) fn forbids_writing(rules: &Rules, path: &Path, home: Option<&Path>) -> bool {
    on_path(rules, path, Access::Write, home).any(|rule| rule.decision == Decision::Forbid)
}

/// Returns true if a rule forbids `host`.
pub(crate) fn forbids_host(rules: &Rules, host: &Host) -> bool {
    on_host(rules, host).iter().any(|rule| rule.decision == Decision::Forbid)
}

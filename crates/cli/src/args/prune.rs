//! Command-line arguments of `toolgate log prune`.

use std::time::Duration;

use clap::Args;

/// Remove old sessions, with their kept outputs and diffs
///
/// Removes the sessions that are older than --older-than, and the oldest sessions until the others
/// fit into --max-size. --keep protects the newest sessions; alone, it removes all others. Agents
/// are removed with the session that started them. A running session is never removed.
///
/// Without --yes, asks first. `[journal]` in your configuration removes old sessions
/// automatically.
///
/// Exit status: 0 done; 1 a session could not be removed, or you said no; 2 the command line is
/// wrong.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  toolgate log prune --older-than 30d --dry-run
  toolgate log prune --older-than 30d --keep 20
  toolgate log prune --max-size 2GB --yes
  toolgate log prune --keep 100 --yes --json | jq -r .id")]
#[command(group(clap::ArgGroup::new("rule").required(true).multiple(true).args(["older_than", "keep", "max_size"])))]
pub(crate) struct LogPruneArgs {
    /// Remove sessions whose last entry is older, e.g. `12h`, `30d`, `8w`
    #[arg(long, value_name = "AGE", value_parser = parse_age, allow_hyphen_values = true)]
    pub(crate) older_than: Option<Duration>,
    /// Keep the newest N sessions in any case
    #[arg(long, value_name = "N", value_parser = parse_kept, allow_hyphen_values = true)]
    pub(crate) keep: Option<usize>,
    /// Remove the oldest sessions until the others fit into this size, e.g. `500MB`, `2GB`
    #[arg(long, value_name = "SIZE", value_parser = parse_size, allow_hyphen_values = true)]
    pub(crate) max_size: Option<u64>,
    /// List the sessions, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove without asking
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,
    /// Print JSON, one object for each session
    #[arg(long)]
    pub(crate) json: bool,
}

/// The units of an age, in seconds.
const AGE_UNITS: &[(&str, u64)] = &[("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800)];
/// The units of a size, in bytes.
const SIZE_UNITS: &[(&str, u64)] = &[
    ("b", 1),
    ("kb", 1000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

/// Parses the number of sessions that stay.
fn parse_kept(text: &str) -> Result<usize, String> {
    let number = super::budget::parse_number_from(text, 0)?;
    usize::try_from(number).map_err(|_| format!("expected at most {}", usize::MAX))
}

fn parse_age(text: &str) -> Result<Duration, String> {
    let seconds = parse_amount(text, AGE_UNITS);
    seconds.map(Duration::from_secs).ok_or_else(|| "expected an age such as `12h`, `30d` or `8w`".to_owned())
}

fn parse_size(text: &str) -> Result<u64, String> {
    parse_amount(text, SIZE_UNITS).ok_or_else(|| "expected a size such as `500MB` or `2GB`".to_owned())
}

/// Parses a whole number with one of `units`.
fn parse_amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = (text[..digits].parse::<u64>().ok()?, text[digits..].trim().to_ascii_lowercase());
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(*factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes_have_units() {
        for (text, seconds) in
            [("30d", Some(2_592_000)), ("12h", Some(43_200)), ("2w", Some(1_209_600)), ("0s", Some(0))]
        {
            assert_eq!(parse_age(text).ok().map(|age| age.as_secs()), seconds, "{text}");
        }
        for (text, bytes) in [("2GB", 2_000_000_000), ("500 mb", 500_000_000), ("1GiB", 1 << 30), ("0b", 0)] {
            assert_eq!(parse_size(text).ok(), Some(bytes), "{text}");
        }
        for text in
            ["", "30", "d", "-1d", "1.5d", "30 days", "99999999999999999999d", "99999999999999999d", "1é"]
        {
            assert!(parse_age(text).is_err(), "{text}");
        }
        for text in ["", "2", "GB", "-1GB", "2G", "99999999999TB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}

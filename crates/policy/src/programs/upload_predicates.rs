//! Predicates about `curl` and similar programs: the data they send, its destination, and their output files.

use super::danger_matcher::option_values;
use super::option_scanner::scan_options;
use super::{MaybeWord, list_contains};
use crate::host_locality::HostLocality;

/// Evaluates the predicate `name` if it is one of these.
pub(super) fn matches_predicate(name: &str, program: &str, words: &[MaybeWord<'_>]) -> bool {
    let has_value = |names: &'static str, fits: fn(&str) -> bool| {
        option_values(program, names, words).into_iter().any(fits)
    };
    match name {
        "{method}" => has_value("-X --request --method", |method| {
            !list_contains("GET HEAD OPTIONS", &method.to_ascii_uppercase())
        }),
        "{sent-file}" => {
            has_value("-H --header --proxy-header", |header| header.starts_with('@'))
                || has_value("-b --cookie", |cookie| !cookie.contains('='))
                || has_value("--url-query", |query| query.contains('@'))
        }
        "{away}" => !targets_this_machine(words),
        "{file}" => {
            let names =
                "-o -O -P --output --output-dir --output-document --directory-prefix -D --dump-header";
            let of_curl =
                "-c --cookie-jar --trace --trace-ascii --stderr --libcurl --hsts --alt-svc --etag-save";
            has_value(names, |path| !is_sink(path))
                || program == "curl" && has_value(of_curl, |path| !is_sink(path))
        }
        _ => false,
    }
}

/// Options of `curl` that only affect the request or the displayed output.
const CURL: &str = "
    -sSfkivgGN -XdHFuAmbwrTo= --silent --show-error --fail --fail-with-body --insecure --include --verbose --get
    --no-buffer --compressed --globoff --request= --data= --data-raw= --data-binary= --data-urlencode= --data-ascii=
    --json= --header= --form= --form-string= --user= --user-agent= --max-time= --connect-timeout= --cookie=
    --write-out= --upload-file= --output= --retry= --retry-delay= --retry-connrefused --http1.1 --http2 --url-query=";

/// Returns true if every URL given to `curl` certainly is this machine.
fn targets_this_machine(words: &[MaybeWord<'_>]) -> bool {
    let here = |word: &MaybeWord<'_>| word.is_some_and(is_local_url);
    scan_options(CURL, words)
        .is_some_and(|parsed| !parsed.operands.is_empty() && parsed.operands.iter().all(here))
}

/// Returns true if `address` is on this machine.
fn is_local_url(address: &str) -> bool {
    let rest =
        address.strip_prefix("http://").or_else(|| address.strip_prefix("https://")).unwrap_or(address);
    let host = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let (name, port) = host.rsplit_once(':').filter(|_| !host.ends_with(']')).unwrap_or((host, "1"));
    // Only the spellings on which `curl` and every resolver agree: a wrong yes would skip the question.
    HostLocality::of(name) == HostLocality::Localhost && port.chars().all(|digit| digit.is_ascii_digit())
}

/// Returns true if data written to `path` is not stored, or only in `/tmp`.
fn is_sink(path: &str) -> bool {
    list_contains("- /dev/null /dev/stdout /dev/stderr", path)
        || (path.starts_with("/tmp/") && !path.contains(".."))
}

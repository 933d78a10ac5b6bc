//! Finds the hosts that a command connects to, in its arguments and redirections.

use crate::shell::{ScriptRedirect, ScriptWord};

/// Commands whose first operand is a host.
const HOST_COMMANDS: &str =
    "ssh mosh sftp telnet nc ncat netcat ping ping6 traceroute dig host nslookup whois ftp";
/// Commands that take `host:path`.
const REMOTE_PATH_COMMANDS: &str = "scp rsync git";
/// Commands whose operands are URLs, with or without a scheme.
const URL_COMMANDS: &str = "curl wget http https xh";
/// Git sub-commands that connect to a remote, by default the usual one.
const GIT_REMOTE_COMMANDS: &str = "push pull fetch clone ls-remote";
/// Options with a value, for most of these commands.
const VALUE_OPTIONS: &str = "-p -i -o -l -F -J -L -R -D -b -c -m -w -X -H -d -A -e -u -T -K -O -P -C --data --header \
    --request --user --output --data-raw --url-query --proxy";

/// Returns the hosts in the arguments of the command `name`.
pub(super) fn hosts_named_by(name: &str, words: &[ScriptWord]) -> Vec<String> {
    let mut hosts: Vec<String> = words.iter().filter_map(host_in_word).collect();
    let operands = operands(words);
    if list_contains(HOST_COMMANDS, name) {
        let host = operands.first().filter(|_| hosts.is_empty());
        hosts.extend(host.map(|word| without_user(word)));
    }
    if list_contains(REMOTE_PATH_COMMANDS, name) {
        let paths = operands.iter().filter_map(|word| literal(word));
        hosts.extend(paths.filter_map(host_of_path).map(str::to_owned));
    }
    if list_contains(URL_COMMANDS, name) {
        let bare = operands.iter().filter(|word| host_in_word(word).is_none());
        hosts.extend(bare.map(|word| format_host(word, url_host(text(word)))));
    }
    if name == "git" && hosts.is_empty() {
        hosts.extend(git_remote(&operands));
    }
    hosts
}

/// Returns the host of a URL in a word.
pub(super) fn host_in_word(word: &ScriptWord) -> Option<String> {
    let (scheme, rest) = text(word).split_once("://")?;
    let scheme = scheme.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or(scheme);
    let host_text = url_host(rest);
    let none = scheme.eq_ignore_ascii_case("file") || host_text.is_empty();
    (!none).then(|| format_host(word, host_text))
}

/// Formats a host found in a word, and marks it if it is unknown.
fn format_host(word: &ScriptWord, host: &str) -> String {
    let known = matches!(word, ScriptWord::Literal(_)) || !host.contains(['$', '`', '*', '?', '{', '[']);
    let host =
        if known { ScriptWord::Literal(host.to_owned()) } else { ScriptWord::Unknown(host.to_owned()) };
    host.to_string()
}

/// Returns the host of a redirection that bash turns into a connection.
pub(super) fn host_in_redirect(redirect: &ScriptRedirect) -> Option<String> {
    let (ScriptRedirect::Read(to)
    | ScriptRedirect::Write(to)
    | ScriptRedirect::Append(to)
    | ScriptRedirect::ReadWrite(to)) = redirect
    else {
        return None;
    };
    let text = text(to);
    let target = text.strip_prefix("/dev/tcp/").or_else(|| text.strip_prefix("/dev/udp/"))?;
    Some(target.replacen('/', ":", 1))
}

/// Returns the host of `host:path` and `user@host:path`.
pub(super) fn host_of_path(text: &str) -> Option<&str> {
    let (host, _) = text.split_once(':')?;
    let host = host.rsplit('@').next().unwrap_or(host);
    let named = !host.is_empty() && !host.contains('/') && !text.contains("://");
    named.then_some(host)
}

/// Returns the host of a URL without its scheme. Text before an `@` is always a user name.
fn url_host(rest: &str) -> &str {
    let end = rest.find(['/', '?', '#', '\\', '"', '\'', ' ']).unwrap_or(rest.len());
    rest[..end].rsplit('@').next().unwrap_or_default()
}

/// Returns the git remote that is connected to.
fn git_remote(operands: &[&ScriptWord]) -> Option<String> {
    let at = operands
        .iter()
        .position(|word| literal(word).is_some_and(|word| list_contains(GIT_REMOTE_COMMANDS, word)))?;
    Some(match operands.get(at + 1) {
        Some(name) => format!("{name} (a remote of git)"),
        None => "the usual remote of git".to_owned(),
    })
}

fn operands(words: &[ScriptWord]) -> Vec<&ScriptWord> {
    let mut operands = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match literal(word) {
            Some(text) if list_contains(VALUE_OPTIONS, text) => drop(words.next()),
            Some(text) if text.starts_with('-') => {}
            Some(_) | None => operands.push(word),
        }
    }
    operands
}

fn without_user(word: &ScriptWord) -> String {
    match literal(word) {
        Some(text) => ScriptWord::Literal(text.rsplit('@').next().unwrap_or(text).to_owned()).to_string(),
        None => word.to_string(),
    }
}

fn text(word: &ScriptWord) -> &str {
    match word {
        ScriptWord::Literal(text) | ScriptWord::Unknown(text) => text,
    }
}

fn literal(word: &ScriptWord) -> Option<&str> {
    match word {
        ScriptWord::Literal(text) => Some(text),
        ScriptWord::Unknown(_) => None,
    }
}

fn list_contains(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|listed| listed == name)
}

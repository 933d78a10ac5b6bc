//! Parses the output of `strace`: the programs that each script executed or tried to.

use std::collections::{HashMap, HashSet};

/// A program that was executed, or was tried to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecEvent {
    pub(crate) path: String,
    pub(crate) argv: Vec<String>,
}

/// System calls that create a process.
const FORKS: [&str; 4] = ["clone(", "clone3(", "fork(", "vfork("];
const RESUMED: [&str; 4] =
    ["<... clone resumed", "<... clone3 resumed", "<... fork resumed", "<... vfork resumed"];

/// Returns the programs executed below each child of the first process, in that order. Leaves out children of a shell
/// that reads a file or its input, because the analysis claims nothing about them.
pub(crate) fn parse_trace(trace: &str) -> Vec<Vec<ExecEvent>> {
    let lines = || trace.lines().map(line);
    let born: HashSet<&str> = lines().filter_map(|(_, call)| born(call)).collect();
    // The first process has no parent in the trace; while it is alone, its pid is not written.
    let first = lines().map(|(pid, _)| pid).find(|pid| !pid.is_empty() && !born.contains(pid));
    let mut tree = ProcessTree::default();
    for (pid, call) in lines() {
        let pid = if Some(pid) == first { "" } else { pid };
        if let Some(news) = news(call) {
            tree.take(pid, news);
        }
    }
    tree.seen
}

/// The content of a line.
#[derive(Debug)]
enum TraceNews<'a> {
    Born(&'a str),
    Executed(ExecEvent),
    Ended,
}

fn news(call: &str) -> Option<TraceNews<'_>> {
    if call.starts_with("+++ ") {
        return Some(TraceNews::Ended);
    }
    born(call).map(TraceNews::Born).or_else(|| executed(call).map(TraceNews::Executed))
}

/// The live processes. The first one has no pid.
#[derive(Default)]
struct ProcessTree<'a> {
    seen: Vec<Vec<ExecEvent>>,
    /// For each process the child of the first one that it descends from, and whether its shell reads other input.
    live: HashMap<&'a str, (usize, bool)>,
    /// Lines of a process before the call that created it returned.
    early: HashMap<&'a str, Vec<TraceNews<'a>>>,
}

impl<'a> ProcessTree<'a> {
    fn take(&mut self, pid: &'a str, news: TraceNews<'a>) {
        let parent = self.live.get(pid).copied();
        match (news, parent) {
            (TraceNews::Born(child), _) if pid.is_empty() => {
                self.seen.push(Vec::new());
                self.born(child, (self.seen.len() - 1, false));
            }
            (_, None) if pid.is_empty() => {}
            (news, None) => self.early.entry(pid).or_default().push(news),
            (TraceNews::Born(child), Some(parent)) => self.born(child, parent),
            (TraceNews::Ended, Some(_)) => {
                self.live.remove(pid);
            }
            (TraceNews::Executed(event), Some((root, blind))) => {
                self.live.insert(pid, (root, blind || is_blind_shell(&event)));
                if !blind {
                    self.seen[root].push(event);
                }
            }
        }
    }

    fn born(&mut self, pid: &'a str, of: (usize, bool)) {
        self.live.insert(pid, of);
        for news in self.early.remove(pid).unwrap_or_default() {
            self.take(pid, news);
        }
    }
}

/// Splits a line into the pid, if it is written, and the call.
fn line(line: &str) -> (&str, &str) {
    let numbered = line.strip_prefix("[pid ").and_then(|line| line.split_once("] "));
    numbered.map_or(("", line), |(pid, call)| (pid.trim_start(), call))
}

/// Returns the pid of the process that this call created.
fn born(call: &str) -> Option<&str> {
    let forks = FORKS.iter().chain(&RESUMED).any(|fork| call.starts_with(fork));
    let (_, result) = call.rsplit_once(" = ").filter(|_| forks)?;
    let result = result.trim();
    result.bytes().all(|byte| byte.is_ascii_digit()).then_some(result)
}

/// Returns whether it is a shell that runs anything but one of its arguments.
fn is_blind_shell(event: &ExecEvent) -> bool {
    let name = event.path.rsplit('/').next().unwrap_or_default();
    let mut options = event.argv.iter().skip(1);
    match name {
        "bash" | "dash" | "sh" => {
            let letters: Vec<&String> = options.take_while(|word| word.starts_with(['-', '+'])).collect();
            let has = |letter: char| letters.iter().any(|word| word.contains(letter));
            // A login shell runs the user's profile files.
            has('l') || !has('c') && !event.argv.iter().any(|word| word == "-o")
        }
        "busybox" => {
            matches!(options.next().map(String::as_str), Some("sh" | "ash"))
                && !options.any(|word| word.starts_with('-') && word.contains('c'))
        }
        _ => false,
    }
}

fn executed(call: &str) -> Option<ExecEvent> {
    let text = match call.strip_prefix("execve(") {
        Some(text) => text,
        None => call.strip_prefix("execveat(")?.split_once(", ")?.1,
    };
    let (path, rest) = string(text)?;
    let mut rest = rest.strip_prefix(", [")?;
    let mut argv = Vec::new();
    // ends: each round takes a word
    while let Some((word, after)) = string(rest) {
        argv.push(word);
        rest = after.strip_prefix(", ").unwrap_or(after);
    }
    // Busybox executes itself for its many programs.
    let own = path == "/proc/self/exe";
    Some(ExecEvent { path: if own { argv.first()?.clone() } else { path }, argv })
}

/// Parses a string of `\x..` escapes, and returns the rest.
fn string(text: &str) -> Option<(String, &str)> {
    let (inside, rest) = text.strip_prefix('"')?.split_once('"')?;
    let bytes =
        inside.split("\\x").skip(1).filter_map(|hex| u8::from_str_radix(hex, 16).ok()).collect::<Vec<u8>>();
    Some((String::from_utf8_lossy(&bytes).into_owned(), rest))
}

//! Measures journal write latency: `cargo run --release -p toolgate-journal --example speed [DIRECTORY]`.
#![expect(clippy::print_stdout, reason = "it is there to print")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use toolgate_journal::{
    Journal, JournalEntry, JournalFault, RecordedAnswer, Redactor, SessionId, verify_journal,
};

const WRITES: usize = 20_000;

fn main() -> Result<(), JournalFault> {
    let directory =
        std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("journal-speed"), PathBuf::from);
    let values = (0..20).map(|number| (format!("SECRET_{number}"), format!("a-secret-value-{number:08}")));
    let journal = Journal::create(&directory, &SessionId::new(), Redactor::new(values)?)?;
    let text = "    let token = lexer.next_token(); // a line of code, as results hold them\n".repeat(14);
    for (what, text) in [("1 kB", text.clone()), ("100 kB", text.repeat(100))] {
        let entry = answer(text);
        let count = if what == "1 kB" { WRITES } else { WRITES / 100 };
        let mut times: Vec<Duration> = Vec::with_capacity(count);
        for _ in 0..count {
            let start = Instant::now();
            journal.write(&entry)?;
            times.push(start.elapsed());
        }
        times.sort_unstable();
        let at = |share: usize| times[(times.len() - 1) * share / 1000];
        println!("{what}: p50 {:?}, p90 {:?}, p99 {:?}, p99.9 {:?}", at(500), at(900), at(990), at(999));
    }
    let start = Instant::now();
    journal.flush()?;
    println!("flush: {:?}", start.elapsed());
    let start = Instant::now();
    let verified = verify_journal(journal.path())?;
    println!("verify: {} records in {:?}", verified.records, start.elapsed());
    Ok(())
}

fn answer(text: String) -> JournalEntry {
    JournalEntry::Answered(RecordedAnswer {
        call: "call_1".to_owned(),
        success: true,
        error: None,
        took_ms: 7,
        text,
        pictures: Vec::new(),
        spilled: None,
        refused: Vec::new(),
    })
}

//! Restarts this test binary as a child process that writes a journal.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use toolgate_journal::{Journal, JournalFault, SessionId, read_journal, verify_journal};

use crate::support::{create_journal, empty_redactor, notice};

const PART: &str = "JOURNAL_CHILD";
const PLACE: &str = "JOURNAL_PLACE";
const MARK: &str = "wrote ";
/// Short entries to cover many moments, long ones that a kill can interrupt.
const LENGTHS: [usize; 6] = [10, 300, 5_000, 40, 60_000, 200_000];

/// A child process to start.
pub(crate) struct WriterProcess(Command);

impl WriterProcess {
    /// Prepares a child that plays `part`.
    pub(crate) fn with_role(part: &str) -> Self {
        Self::within(Command::new(std::env::current_exe().unwrap()), part)
    }

    /// Starts the child through a shell that runs `setup` first; `$0` is this program.
    pub(crate) fn from_shell(program: &[&str], setup: &str, part: &str) -> Self {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).args(["-c", &format!("{setup}\nexec \"$0\" \"$@\"")]);
        command.arg(std::env::current_exe().unwrap());
        Self::within(command, part)
    }

    fn within(mut command: Command, part: &str) -> Self {
        command.args(["child::play", "--exact", "--nocapture"]).env(PART, part);
        Self(command)
    }

    /// Runs a copy of the program in `directory` as the unprivileged uid 65534.
    pub(crate) fn run_as_nobody(self, directory: &Path) -> Self {
        let copy = directory.join("program");
        // `cp` copies the file. If this process did, a child of another test could hold it open for writing, and exec
        // would fail.
        let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&copy).status().unwrap();
        assert!(copied.success());
        let part = self.0.get_envs().find(|(name, _)| *name == PART).unwrap().1.unwrap().to_owned();
        let mut child = Self::within(Command::new(copy), part.to_str().unwrap());
        child.0.uid(65_534).gid(65_534).current_dir("/");
        child
    }

    /// Runs the child to its end, and prints its output.
    pub(crate) fn run(mut self, directory: &Path) -> ExitStatus {
        // The output goes through a pipe: the file size limit would apply to an output file too.
        let output = self.0.env(PLACE, directory).output().unwrap();
        println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        output.status
    }

    /// Kills the child after it has reported this many writes, and returns the last entry number that it reported.
    pub(crate) fn kill_after_writes(mut self, directory: &Path, writes: u64) -> u64 {
        let mut child = self.0.env(PLACE, directory).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut said = lines.filter_map(|line| line.strip_prefix(MARK)?.parse::<u64>().ok());
        let mut last = 0;
        for _ in 0..writes {
            last = said.next().expect("it writes on and on");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        said.last().unwrap_or(last)
    }
}

/// The entry point of the child; does nothing in an ordinary test run.
#[test]
fn play() {
    let (Ok(part), Some(place)) = (std::env::var(PART), std::env::var_os(PLACE)) else { return };
    match part.as_str() {
        "ordinary" => ordinary(Path::new(&place)),
        "writer" => writer(Path::new(&place)),
        "crowded" => crowded(Path::new(&place)),
        other => panic!("{other}"),
    }
}

/// Returns the only session in a directory.
pub(crate) fn only_session(directory: &Path) -> SessionId {
    toolgate_journal::find_session(directory, "2").unwrap()
}

fn ordinary(directory: &Path) {
    let (journal, id) = create_journal(directory);
    journal.write(&notice("by anybody")).unwrap();
    journal.flush().unwrap();
    drop(journal);
    let reopened = Journal::reopen(directory, &id, empty_redactor()).unwrap();
    assert_eq!(reopened.records.len(), 1);
    if !rustix::process::geteuid().is_root() {
        let fault = Journal::create(Path::new("/journals"), &id, empty_redactor()).unwrap_err();
        assert_eq!(fault.to_string(), "`/journals` cannot be used: Permission denied (os error 13)");
    }
}

fn writer(directory: &Path) {
    let journal = Journal::reopen(directory, &only_session(directory), empty_redactor()).unwrap().journal;
    println!();
    // ends: the child is killed, or after some gigabytes
    for length in LENGTHS.iter().cycle().take(10_000) {
        let seq = journal.write(&notice("x".repeat(*length))).unwrap();
        println!("{MARK}{seq}");
    }
}

/// Writes until the disk is full, keeps trying, and then frees space.
fn crowded(directory: &Path) {
    let filler = directory.join("filler");
    std::fs::write(&filler, vec![0; 16 << 10]).unwrap();
    let (journal, id) = create_journal(&directory.join("sessions"));
    let mut refused = 0;
    let mut written = 0;
    for length in [3_000, 700, 20_000, 150, 9_000].iter().cycle().take(200) {
        match journal.write(&notice("y".repeat(*length))) {
            Ok(seq) => written = seq,
            Err(JournalFault::Unwritten { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
        let verified = verify_journal(journal.path()).unwrap();
        assert_eq!((verified.records, verified.torn), (written, None));
    }
    assert!(refused > 100 && written > 3, "{written} written, {refused} refused");
    std::fs::remove_file(filler).unwrap();
    let after = journal.write(&notice("z".repeat(4_000)));
    let has_room = std::env::var_os("JOURNAL_ROOM_COMES_BACK").is_some();
    assert_eq!(after.is_ok(), has_room, "{after:?}");
    drop(journal);
    let reopened = Journal::reopen(&directory.join("sessions"), &id, empty_redactor()).unwrap();
    assert_eq!(reopened.records.len() as u64, written + u64::from(has_room));
    assert_eq!(read_journal(reopened.journal.path()).unwrap().torn, None);
}

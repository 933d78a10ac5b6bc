//! Runs a program to its end or to a time limit.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use rustix::fs::{Gid, Uid, fchown};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, kill_process_group};

/// A program counts as hung after this time. Its speed does not matter.
const HUNG: Duration = Duration::from_secs(60);
/// Time limit for the output of a program that has ended.
const DRAIN: Duration = Duration::from_secs(10);

/// The user that runs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ProgramUser {
    /// The user who runs the tests.
    Oneself,
    /// The user 65534.
    Unprivileged,
}

/// The user id and group id of `nobody`.
pub(crate) const UNPRIVILEGED_ID: u32 = 65534;

impl ProgramUser {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Unprivileged => "nobody".to_owned(),
            Self::Oneself if is_root() => "root".to_owned(),
            Self::Oneself => "user".to_owned(),
        }
    }

    pub(crate) fn is_root(self) -> bool {
        self == Self::Oneself && is_root()
    }

    pub(crate) fn uid(self) -> u32 {
        match self {
            Self::Unprivileged => UNPRIVILEGED_ID,
            Self::Oneself => rustix::process::getuid().as_raw(),
        }
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// A program to run.
pub(crate) struct TestProgram {
    pub(crate) argv: Vec<String>,
    pub(crate) directory: PathBuf,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) user: ProgramUser,
    pub(crate) input: &'static str,
    /// The file for standard output; `None` means a pipe.
    pub(crate) output: Option<PathBuf>,
}

/// The exit status and output of a program.
pub(crate) struct ProgramResult {
    /// The status as a shell reports it: 128 plus the signal for a killed program.
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A running program.
pub(crate) struct RunningProgram {
    child: Child,
    began: Instant,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
    output: Option<PathBuf>,
}

impl TestProgram {
    pub(crate) fn run(&self) -> Result<ProgramResult, String> {
        self.start()?.wait_to_end()
    }

    pub(crate) fn start(&self) -> Result<RunningProgram, String> {
        let mut command = Command::new(&self.argv[0]);
        command.args(&self.argv[1..]).current_dir(&self.directory);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        let (stdout, to_stdout) = self.pipe();
        let (stderr, to_stderr) = self.pipe();
        command.stdin(Stdio::piped()).stdout(to_stdout).stderr(to_stderr).process_group(0);
        if let Some(output) = &self.output {
            let file = File::create(output).map_err(|error| format!("{}: {error}", output.display()))?;
            command.stdout(self.given(file.into()));
        }
        if self.user == ProgramUser::Unprivileged {
            // Drops the supplementary groups, too.
            command.uid(UNPRIVILEGED_ID).gid(UNPRIVILEGED_ID);
        }
        let mut child = command.spawn().map_err(|error| format!("`{}`: {error}", self.argv[0]))?;
        let mut input = child.stdin.take().unwrap();
        let bytes = self.input.as_bytes();
        // A program need not read all of its input.
        thread::spawn(move || input.write_all(bytes).is_ok());
        // The command holds the other ends of the pipes.
        drop(command);
        let (stdout, stderr) = (Some(gather(stdout)), Some(gather(stderr)));
        Ok(RunningProgram { child, began: Instant::now(), stdout, stderr, output: self.output.clone() })
    }

    /// Creates a pipe whose other end belongs to the user, so that it can be reopened by name.
    fn pipe(&self) -> (File, OwnedFd) {
        let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).unwrap();
        (reader.into(), self.given(writer))
    }

    /// Gives the descriptor to the user.
    fn given(&self, descriptor: OwnedFd) -> OwnedFd {
        if self.user == ProgramUser::Unprivileged {
            fchown(&descriptor, Some(Uid::from_raw(UNPRIVILEGED_ID)), Some(Gid::from_raw(UNPRIVILEGED_ID)))
                .unwrap();
        }
        descriptor
    }

    /// Returns the shell command that runs it again.
    pub(crate) fn to_shell_line(&self) -> String {
        let mut words =
            vec!["cd".to_owned(), shell_quote(&self.directory.to_string_lossy()), "&&".to_owned()];
        if self.user == ProgramUser::Unprivileged {
            words.push("setpriv --reuid 65534 --regid 65534 --clear-groups --".to_owned());
        }
        words.extend(["env".to_owned(), "-i".to_owned()]);
        words.extend(self.environment.iter().map(|(name, value)| format!("{name}={}", shell_quote(value))));
        words.extend(self.argv.iter().map(|word| shell_quote(word)));
        words.join(" ")
    }
}

impl RunningProgram {
    pub(crate) fn wait_to_end(mut self) -> Result<ProgramResult, String> {
        let status = self.wait()?;
        let stdout = self.pipe_output(|running| &mut running.stdout)?;
        let stderr = self.pipe_output(|running| &mut running.stderr)?;
        let stdout = self.output.take().map_or(Ok(stdout), |path| read(&path))?;
        let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        Ok(ProgramResult { status, stdout, stderr })
    }

    fn wait(&mut self) -> Result<ExitStatus, String> {
        // ends: with the program, or when it hangs
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Ok(status);
            }
            if self.began.elapsed() > HUNG {
                self.kill();
                let status = self.child.wait().unwrap();
                let said = self.pipe_output(|running| &mut running.stderr).unwrap_or_default();
                return Err(format!("it hangs: killed after {HUNG:?} ({status})\nstderr:\n{said}"));
            }
            sleep(Duration::from_millis(5));
        }
    }

    fn kill(&self) {
        let group = Pid::from_raw(self.child.id().cast_signed()).unwrap();
        let _gone_already = kill_process_group(group, Signal::KILL);
    }

    /// Returns the output of one of the pipes.
    fn pipe_output(
        &mut self,
        pipe: fn(&mut Self) -> &mut Option<JoinHandle<String>>,
    ) -> Result<String, String> {
        let Some(thread) = pipe(self).take() else { return Ok(String::new()) };
        let began = Instant::now();
        while !thread.is_finished() {
            if began.elapsed() > DRAIN {
                self.kill();
                return Err("it has ended, but something holds its output open".to_owned());
            }
            sleep(Duration::from_millis(1));
        }
        Ok(thread.join().unwrap())
    }
}

fn gather(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _what_came = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Quotes a word for a shell.
pub(crate) fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

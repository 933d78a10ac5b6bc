//! Runs a program of the user's to completion, with bounded output and run time, and leaves no process behind.
//!
//! All of its input is available when it starts.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use policy::{CommandLine, Denial, Enforcement, Permit};
use rustix::fs::{Access, FileType, access, stat};

use crate::capture::{Capture, CapturedStream, StreamPortion};
use crate::fs::{ConfinedFs, FsError};
use crate::process::{ProcessCommand, SpawnFault, Spawner, Stdio, sealed_memfd};
use crate::session::{ProcessExit, ProcessSession, SessionOrigin, SessionStage};

/// The search path if PATH is not set; the launcher uses the same one.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns the path of the program `name`: `name` itself if it contains a slash, else the first match along `path`.
pub fn find_program(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        let is_file =
            stat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
        is_file && access(path, Access::EXEC_OK).is_ok()
    };
    if name.is_empty() || name.contains('/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    // Relative directories are skipped: they may lead into the workspace.
    let places = std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH)));
    places.filter(|place| place.is_absolute()).map(|place| place.join(name)).find(runs)
}

/// A program to run to completion, with its limits.
#[derive(Debug)]
pub struct OneShotCommand<'a> {
    /// The command.
    pub line: &'a CommandLine,
    /// The complete environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// The working directory.
    pub directory: &'a Path,
    /// The complete content of its standard input.
    pub input: &'a [u8],
    /// The time limit. The program is killed after it.
    pub time_limit: Duration,
    /// The maximum number of bytes of standard output. The program is killed if it writes more.
    pub max_output_bytes: u64,
}

/// The result of a program that ran to completion.
#[derive(Debug, Clone, PartialEq)]
pub struct OneShotOutput {
    /// The exit status.
    pub exit: ProcessExit,
    /// The complete standard output.
    pub stdout: Vec<u8>,
    /// Head and tail of the standard error.
    pub stderr: Vec<u8>,
    /// The enforcement of the sandbox while it ran.
    pub enforcement: Enforcement,
    /// The accesses that the kernel refused to it.
    pub denials: Vec<Denial>,
    /// Sentences about its changes to git directories that did not land on the host.
    pub notes: Vec<String>,
}

/// The reason why a program has no result.
#[derive(Debug, thiserror::Error)]
pub enum OneShotFault {
    /// The program could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnFault),
    /// The working directory cannot be used.
    #[error(transparent)]
    Directory(#[from] FsError),
    /// The program exceeded its time limit.
    #[error("it took longer than {} ms, and was ended", .0.as_millis())]
    TimedOut(Duration),
    /// The program exceeded its output limit.
    #[error("it wrote more than {0} bytes, and was ended")]
    TooMuch(u64),
    /// The supervisor of the program was killed.
    #[error("it was killed")]
    Lost,
}

impl From<io::Error> for OneShotFault {
    fn from(error: io::Error) -> Self {
        Self::Spawn(error.into())
    }
}

impl OneShotCommand<'_> {
    /// Runs the program and kills all processes that it leaves. Dropping the future kills them too.
    pub async fn run(&self, spawner: &Spawner, permit: &Permit) -> Result<OneShotOutput, OneShotFault> {
        let timed = tokio::time::timeout(self.time_limit, self.run_untimed(spawner, permit));
        timed.await.unwrap_or(Err(OneShotFault::TimedOut(self.time_limit)))
    }

    async fn run_untimed(&self, spawner: &Spawner, permit: &Permit) -> Result<OneShotOutput, OneShotFault> {
        let directory = Arc::new(ConfinedFs::new(permit).lookup(self.directory)?);
        let input = Arc::new(sealed_memfd(c"toolgate-stdin", self.input)?);
        let command =
            ProcessCommand::new(self.line.clone(), self.env.clone(), directory, Stdio::FileInput(input));
        let capture = Capture::new(None, String::new()).with_stream_limit(self.max_output_bytes);
        let allowed = spawner.find_cell(permit).await?;
        let (session, mut pump) =
            ProcessSession::begin(0, command, SessionOrigin::default(), capture, spawner, &allowed).await?;
        let writes_too_much =
            |session: &ProcessSession| session.bytes_written(CapturedStream::Stdout) > self.max_output_bytes;
        // Processes that the program leaves running are not awaited; they die with the pump.
        tokio::select! {
            () = &mut pump => {}
            () = session.wait_until(|session| has_ended(session) || writes_too_much(session)) => {}
        }
        if let Some(fault) = session.take_fault() {
            return Err(fault.into());
        }
        if writes_too_much(&session) {
            return Err(OneShotFault::TooMuch(self.max_output_bytes));
        }
        let taken = session.take_output();
        let exit = taken.stage.exit().ok_or(OneShotFault::Lost)?;
        let all = |StreamPortion { head, tail, .. }: StreamPortion| [head, tail].concat();
        Ok(OneShotOutput {
            exit,
            stdout: all(taken.output.stdout),
            stderr: all(taken.output.stderr),
            enforcement: session.enforcement(),
            denials: session.denials(),
            notes: session.land(),
        })
    }
}

fn has_ended(session: &ProcessSession) -> bool {
    matches!(
        session.stage(),
        SessionStage::Over { .. } | SessionStage::LeaderExited { settled: true, .. } | SessionStage::Lost
    )
}

//! A program of the user's own that is run to its end: all that it reads is there when it starts; how much it writes and
//! how long it takes is bounded; nothing of it is left.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use policy::Permit;
use rustix::fs::{Access, FileType, access, stat};

use crate::capture::{Capture, Portion, Stream};
use crate::fs::{Door, FsError};
use crate::process::{Command, SpawnFault, Spawner, Stdio, memory};
use crate::session::{About, Exit, Session, Stage};

/// Where programs are looked for if there is no PATH; what starts them does so too.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Where the program `name` is: at its path if it is one, else in the first directory of `path` that has it.
pub fn find(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        let is_file =
            stat(path).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
        is_file && access(path, Access::EXEC_OK).is_ok()
    };
    if name.is_empty() || name.contains('/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    // Not along a relative one, which may lead into the workspace.
    let places = std::env::split_paths(path.unwrap_or(OsStr::new(DEFAULT_PATH)));
    places.filter(|place| place.is_absolute()).map(|place| place.join(name)).find(runs)
}

/// What to run, and how long.
#[derive(Debug)]
pub struct Errand<'a> {
    /// The program and its arguments.
    pub argv: &'a [String],
    /// All variables that it gets.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Where it runs.
    pub directory: &'a Path,
    /// What it finds at its standard input, before the end of that.
    pub input: &'a [u8],
    /// When it is ended.
    pub at_most: Duration,
    /// Bytes of standard output that are taken; with more, it is ended.
    pub output: u64,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub exit: Exit,
    /// What it wrote to its standard output, all of it.
    pub stdout: Vec<u8>,
    /// The beginning and the end of what it wrote to its standard error.
    pub stderr: Vec<u8>,
}

/// Why nothing did.
#[derive(Debug, thiserror::Error)]
pub enum ErrandFault {
    /// It could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnFault),
    /// It cannot be run where it should.
    #[error(transparent)]
    Directory(#[from] FsError),
    /// It took too long.
    #[error("it took longer than {} ms, and was ended", .0.as_millis())]
    TimedOut(Duration),
    /// It wrote too much.
    #[error("it wrote more than {0} bytes, and was ended")]
    TooMuch(u64),
    /// Somebody killed what keeps it.
    #[error("it was killed")]
    Lost,
}

impl From<io::Error> for ErrandFault {
    fn from(error: io::Error) -> Self {
        Self::Spawn(error.into())
    }
}

impl Errand<'_> {
    /// Runs it. Whatever it has started is ended with it; dropping this ends it too.
    pub async fn run(&self, spawner: &Spawner, permit: &Permit) -> Result<Ran, ErrandFault> {
        let timed = tokio::time::timeout(self.at_most, self.done(spawner, permit));
        timed.await.unwrap_or(Err(ErrandFault::TimedOut(self.at_most)))
    }

    async fn done(&self, spawner: &Spawner, permit: &Permit) -> Result<Ran, ErrandFault> {
        let directory = Arc::new(Door::new(permit).look(self.directory)?);
        let input = Arc::new(memory(c"toolgate-errand", self.input)?);
        let command = Command::new(self.argv.to_vec(), self.env.clone(), directory, Stdio::Reading(input));
        let capture = Capture::new(None, String::new()).holding(self.output);
        let (session, mut pump) =
            Session::begin(0, command, About::default(), capture, spawner, permit).await?;
        let writes_too_much = |session: &Session| session.written(Stream::Stdout) > self.output;
        // What it leaves running is not waited for, and goes with the pump.
        tokio::select! {
            () = &mut pump => {}
            () = session.until(|session| has_ended(session) || writes_too_much(session)) => {}
        }
        if let Some(fault) = session.fault() {
            return Err(fault.into());
        }
        if writes_too_much(&session) {
            return Err(ErrandFault::TooMuch(self.output));
        }
        let taken = session.take();
        let exit = taken.stage.exit().ok_or(ErrandFault::Lost)?;
        let all = |Portion { head, tail, .. }: Portion| [head, tail].concat();
        Ok(Ran { exit, stdout: all(taken.output.stdout), stderr: all(taken.output.stderr) })
    }
}

fn has_ended(session: &Session) -> bool {
    matches!(session.stage(), Stage::Over { .. } | Stage::Leaving { settled: true, .. } | Stage::Lost)
}

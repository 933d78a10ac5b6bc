//! The definition of a workload: a script, its preparation, and a check of its result.

/// Work that must succeed in the sandbox as it does outside.
#[derive(Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// Prepares the runs: unconfined, in the workspace.
    pub(crate) before: &'static str,
    /// Run one after the other, each in its own sandbox.
    pub(crate) runs: &'static [&'static str],
    /// Runs concurrently with the first run.
    pub(crate) beside: ConcurrentRun,
    /// Checks the result of the runs: unconfined, in the workspace.
    pub(crate) after: &'static str,
    pub(crate) setting: WorkloadSetting,
    pub(crate) needs: WorkloadNeeds,
}

/// A program that runs concurrently.
#[derive(Clone, Copy)]
pub(crate) enum ConcurrentRun {
    Nothing,
    /// Another confined run.
    Run(&'static str),
    /// An unconfined script.
    Person(&'static str),
}

/// The location of a run, and its streams.
#[derive(Clone, Copy)]
pub(crate) struct WorkloadSetting {
    pub(crate) place: WorkspaceLocation,
    /// More arguments of `toolgate sandbox`; `$BASE` in them is replaced.
    pub(crate) flags: &'static [&'static str],
    pub(crate) streams: StandardStreams,
    /// Starts the run: `toolgate`, or the script if unconfined.
    pub(crate) wrapper: &'static [&'static str],
    pub(crate) home: WorkloadHome,
    /// The exit status of the last run; the others end with 0.
    pub(crate) status: i32,
    /// The check of the output against the unconfined run.
    pub(crate) output: OutputCheck,
}

/// The home directory and variables of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkloadHome {
    /// A new, almost empty home.
    New,
    /// The tester's own home.
    Real,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputCheck {
    Any,
    Same,
}

/// The location of the workspace.
#[derive(Clone, Copy)]
pub(crate) enum WorkspaceLocation {
    /// In a directory of its own below `/home` or the user's home.
    At(&'static str),
    /// Below `/tmp`.
    Tmp,
}

/// The standard input and output of a run.
#[derive(Clone, Copy)]
pub(crate) enum StandardStreams {
    /// No input; output goes to pipes.
    Pipes,
    /// This input, through a pipe.
    Input(&'static str),
    /// Standard output goes to a file outside the workspace.
    File,
    /// A terminal of 33 rows and 101 columns; each text is awaited, and then answered.
    Terminal(&'static [(&'static str, &'static str)]),
}

/// Requirements without which a workload is skipped.
#[derive(Clone, Copy)]
pub(crate) struct WorkloadNeeds {
    /// Programs that a developer does not always have.
    pub(crate) programs: &'static [&'static str],
    /// Fixtures that had to be fetched.
    pub(crate) shelf: &'static [&'static str],
    /// The reason why it is not expected to work without namespaces.
    pub(crate) namespaces: Option<&'static str>,
    /// The users that run it.
    pub(crate) who: WorkloadUsers,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkloadUsers {
    Everybody,
    /// The user who runs the tests.
    Oneself,
    /// For programs that refuse to run as root.
    NotRoot,
}

pub(crate) const NO_INTERNET: &str = "no sockets of the internet families without namespaces";
pub(crate) const SHARED_TMP: &str = "no /tmp of its own without namespaces";
pub(crate) const NO_TERMINALS: &str = "no terminals can be made without namespaces";
pub(crate) const NO_CACHES: &str = "the caches of the user are not used without namespaces";
pub(crate) const NO_SYSV: &str = "no System V memory without namespaces";

impl Workload {
    pub(crate) const fn new(name: &'static str, runs: &'static [&'static str]) -> Self {
        Self {
            name,
            before: "",
            runs,
            beside: ConcurrentRun::Nothing,
            after: "",
            setting: WorkloadSetting {
                place: WorkspaceLocation::At("ws"),
                flags: &[],
                streams: StandardStreams::Pipes,
                wrapper: &[],
                home: WorkloadHome::New,
                status: 0,
                output: OutputCheck::Any,
            },
            needs: WorkloadNeeds {
                programs: &[],
                shelf: &[],
                namespaces: None,
                who: WorkloadUsers::Everybody,
            },
        }
    }

    pub(crate) const fn before(mut self, script: &'static str) -> Self {
        self.before = script;
        self
    }

    pub(crate) const fn after(mut self, script: &'static str) -> Self {
        self.after = script;
        self
    }

    pub(crate) const fn beside(mut self, script: &'static str) -> Self {
        self.beside = ConcurrentRun::Run(script);
        self
    }

    pub(crate) const fn beside_a_person(mut self, script: &'static str) -> Self {
        self.beside = ConcurrentRun::Person(script);
        self
    }

    /// Uses a directory with this path below the base.
    pub(crate) const fn at(mut self, path: &'static str) -> Self {
        self.setting.place = WorkspaceLocation::At(path);
        self
    }

    pub(crate) const fn below_tmp(mut self) -> Self {
        self.setting.place = WorkspaceLocation::Tmp;
        self
    }

    pub(crate) const fn flags(mut self, flags: &'static [&'static str]) -> Self {
        self.setting.flags = flags;
        self
    }

    pub(crate) const fn streams(mut self, streams: StandardStreams) -> Self {
        self.setting.streams = streams;
        self
    }

    pub(crate) const fn wrapped(mut self, wrapper: &'static [&'static str]) -> Self {
        self.setting.wrapper = wrapper;
        self
    }

    /// Uses the tester's own home and variables.
    pub(crate) const fn real_home(mut self) -> Self {
        self.setting.home = WorkloadHome::Real;
        self.needs.who = WorkloadUsers::Oneself;
        self
    }

    pub(crate) const fn ends_with(mut self, status: i32) -> Self {
        self.setting.status = status;
        self
    }

    /// Requires the output of the unconfined run.
    pub(crate) const fn same_output(mut self) -> Self {
        self.setting.output = OutputCheck::Same;
        self
    }

    pub(crate) const fn programs(mut self, programs: &'static [&'static str]) -> Self {
        self.needs.programs = programs;
        self
    }

    pub(crate) const fn shelf(mut self, items: &'static [&'static str]) -> Self {
        self.needs.shelf = items;
        self
    }

    pub(crate) const fn namespaces(mut self, why: &'static str) -> Self {
        self.needs.namespaces = Some(why);
        self
    }

    pub(crate) const fn who(mut self, who: WorkloadUsers) -> Self {
        self.needs.who = who;
        self
    }
}

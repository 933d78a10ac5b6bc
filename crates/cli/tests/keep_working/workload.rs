//! What people and agents do all day: a script, what is there before it, and what must be there after it.

/// Something that must work in the sandbox as it does outside.
#[derive(Clone, Copy)]
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// Makes what the runs need: not confined, in the workspace.
    pub(crate) before: &'static str,
    /// Run one after the other, each confined by itself.
    pub(crate) runs: &'static [&'static str],
    /// Runs at the same time as the first run.
    pub(crate) beside: Beside,
    /// Looks at what the runs left: not confined, in the workspace.
    pub(crate) after: &'static str,
    pub(crate) setting: Setting,
    pub(crate) needs: Needs,
}

/// What runs at the same time.
#[derive(Clone, Copy)]
pub(crate) enum Beside {
    Nothing,
    /// Another confined run.
    Run(&'static str),
    /// Somebody who is not confined.
    Person(&'static str),
}

/// Where a run is, and what it is connected to.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) place: Place,
    /// More arguments of `toolgate sandbox`; `$BASE` in them is replaced.
    pub(crate) flags: &'static [&'static str],
    pub(crate) streams: Streams,
    /// Starts what is run: `toolgate`, or what it would run.
    pub(crate) wrapper: &'static [&'static str],
    pub(crate) home: Home,
    /// How the last run ends; the others end with 0.
    pub(crate) status: i32,
    /// Whether the confined runs print what the others print.
    pub(crate) output: Output,
}

/// Whose home and variables there are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    /// A new one with next to nothing in it.
    New,
    /// That of whoever runs the tests.
    Real,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Any,
    Same,
}

/// Where the workspace is.
#[derive(Clone, Copy)]
pub(crate) enum Place {
    /// Below a directory of its own, which is below `/home` or the user's home.
    At(&'static str),
    /// Below `/tmp`.
    Tmp,
}

/// What standard input and output are.
#[derive(Clone, Copy)]
pub(crate) enum Streams {
    /// No input; output goes to pipes.
    Pipes,
    /// This input, through a pipe.
    Input(&'static str),
    /// Standard output goes to a file that is not in the workspace.
    File,
    /// A terminal of 33 rows and 101 columns; each is waited for, and then answered.
    Terminal(&'static [(&'static str, &'static str)]),
}

/// Without what a workload is not tried.
#[derive(Clone, Copy)]
pub(crate) struct Needs {
    /// Programs that a developer does not always have.
    pub(crate) programs: &'static [&'static str],
    /// Things that had to be fetched.
    pub(crate) shelf: &'static [&'static str],
    /// Why it is not expected to work without namespaces.
    pub(crate) namespaces: Option<&'static str>,
    /// Who it is about.
    pub(crate) who: Who,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Everybody,
    /// Whoever runs the tests.
    Oneself,
    /// What refuses to run as root.
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
            beside: Beside::Nothing,
            after: "",
            setting: Setting {
                place: Place::At("ws"),
                flags: &[],
                streams: Streams::Pipes,
                wrapper: &[],
                home: Home::New,
                status: 0,
                output: Output::Any,
            },
            needs: Needs { programs: &[], shelf: &[], namespaces: None, who: Who::Everybody },
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
        self.beside = Beside::Run(script);
        self
    }

    pub(crate) const fn beside_a_person(mut self, script: &'static str) -> Self {
        self.beside = Beside::Person(script);
        self
    }

    /// In a directory with this name, seen from the base of the bench.
    pub(crate) const fn at(mut self, path: &'static str) -> Self {
        self.setting.place = Place::At(path);
        self
    }

    pub(crate) const fn below_tmp(mut self) -> Self {
        self.setting.place = Place::Tmp;
        self
    }

    pub(crate) const fn flags(mut self, flags: &'static [&'static str]) -> Self {
        self.setting.flags = flags;
        self
    }

    pub(crate) const fn streams(mut self, streams: Streams) -> Self {
        self.setting.streams = streams;
        self
    }

    pub(crate) const fn wrapped(mut self, wrapper: &'static [&'static str]) -> Self {
        self.setting.wrapper = wrapper;
        self
    }

    /// In the home of whoever runs the tests, with their variables.
    pub(crate) const fn real_home(mut self) -> Self {
        self.setting.home = Home::Real;
        self.needs.who = Who::Oneself;
        self
    }

    pub(crate) const fn ends_with(mut self, status: i32) -> Self {
        self.setting.status = status;
        self
    }

    /// What it prints must be what it prints outside.
    pub(crate) const fn same_output(mut self) -> Self {
        self.setting.output = Output::Same;
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

    pub(crate) const fn who(mut self, who: Who) -> Self {
        self.needs.who = who;
        self
    }
}

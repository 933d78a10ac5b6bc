//! Defines a containment case: an attack as a shell script, its sign of success, and the expected result per tier.

/// One attack, or one operation that must keep working.
#[derive(Clone, Copy)]
pub(crate) struct AttackCase {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    /// Runs on the host, as the user, before the case.
    pub(crate) setup: &'static str,
    /// Bash around the run, on the host: it ends in `exec "$@"`, and its open descriptors are inherited.
    pub(crate) wrap: &'static str,
    pub(crate) flags: &'static [&'static str],
    /// Runs in the sandbox.
    pub(crate) run: &'static str,
    /// Runs unconfined, if `run` itself would do harm there.
    pub(crate) control: Option<&'static str>,
    pub(crate) sees: BreachSign,
    /// Text that the output must contain, confined or not.
    pub(crate) works: &'static str,
    pub(crate) code: Option<i32>,
    /// A command that must succeed on the host afterwards.
    pub(crate) lands: &'static str,
    pub(crate) ends: RunEnd,
    /// For namespaces, landlock, seccomp.
    pub(crate) expect: [ExpectedOutcome; 3],
    /// The expectations for root, if they differ.
    pub(crate) as_root: Option<[ExpectedOutcome; 3]>,
}

/// The sign that an attack succeeded. In addition, any change of the host's state is a breach.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BreachSign {
    /// The host's state has changed: a file outside, a hit on a socket, the victim.
    Host,
    /// The output contains this text.
    Text(&'static str),
    /// This path exists on the host afterwards. It is removed.
    Made(&'static str),
    /// This file exists, and is setuid or setgid.
    Setuid(&'static str),
    /// The user's next `git` runs the attack's payload.
    Git,
    /// The user's git shows another commit than the existing one.
    Replaced,
    /// The user's repository is damaged.
    Fsck,
    /// A process of the run still holds `$WS/lock`.
    Held,
    /// None: only `works` and `code` count.
    Nothing,
}

/// The end of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunEnd {
    ByItself,
    /// `toolgate` gets this signal once `$WS/lock` is held.
    Signal(i32),
}

/// The expected result.
#[derive(Clone, Copy)]
pub(crate) enum ExpectedOutcome {
    Holds,
    /// The tier cannot prevent it, for this reason.
    Gap(&'static str),
    /// `toolgate` refuses before anything runs.
    Refuses,
    /// It is not run, for this reason.
    Not(&'static str),
}

pub(crate) const LET: BreachSign = BreachSign::Text("LET");

const BASE: AttackCase = AttackCase {
    id: "",
    title: "",
    setup: "",
    wrap: "",
    flags: &[],
    run: "",
    control: None,
    sees: BreachSign::Host,
    works: "",
    code: None,
    lands: "",
    ends: RunEnd::ByItself,
    expect: [ExpectedOutcome::Holds; 3],
    as_root: None,
};

/// An attack that must not change the host.
pub(crate) const fn host(id: &'static str, title: &'static str, run: &'static str) -> AttackCase {
    AttackCase { id, title, run, ..BASE }
}

/// An attack after which the output must not contain `text`.
pub(crate) const fn text(
    id: &'static str,
    title: &'static str,
    text: &'static str,
    run: &'static str,
) -> AttackCase {
    AttackCase { id, title, run, sees: BreachSign::Text(text), ..BASE }
}

/// An attack by a probe: the kernel must refuse it.
pub(crate) const fn call(id: &'static str, title: &'static str, run: &'static str) -> AttackCase {
    AttackCase { id, title, run, sees: LET, ..BASE }
}

/// An operation that must keep working: the output contains `works`.
pub(crate) const fn good(
    id: &'static str,
    title: &'static str,
    works: &'static str,
    run: &'static str,
) -> AttackCase {
    AttackCase { id, title, run, works, sees: BreachSign::Nothing, ..BASE }
}

impl AttackCase {
    pub(crate) const fn setup(self, setup: &'static str) -> Self {
        Self { setup, ..self }
    }

    pub(crate) const fn wrap(self, wrap: &'static str) -> Self {
        Self { wrap, ..self }
    }

    pub(crate) const fn flags(self, flags: &'static [&'static str]) -> Self {
        Self { flags, ..self }
    }

    pub(crate) const fn control(self, control: &'static str) -> Self {
        Self { control: Some(control), ..self }
    }

    pub(crate) const fn sees(self, sees: BreachSign) -> Self {
        Self { sees, ..self }
    }

    pub(crate) const fn works(self, works: &'static str) -> Self {
        Self { works, ..self }
    }

    pub(crate) const fn code(self, code: i32) -> Self {
        Self { code: Some(code), ..self }
    }

    pub(crate) const fn lands(self, lands: &'static str) -> Self {
        Self { lands, ..self }
    }

    pub(crate) const fn signal(self, signal: i32) -> Self {
        Self { ends: RunEnd::Signal(signal), ..self }
    }

    pub(crate) const fn expect(self, expect: [ExpectedOutcome; 3]) -> Self {
        Self { expect, ..self }
    }

    pub(crate) const fn as_root(self, expect: [ExpectedOutcome; 3]) -> Self {
        Self { as_root: Some(expect), ..self }
    }

    /// Reports whether any script of the case mentions the variable.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        [self.setup, self.wrap, self.run, self.control.unwrap_or("")].iter().any(|text| text.contains(name))
            || self.flags.iter().any(|flag| flag.contains(name))
    }
}

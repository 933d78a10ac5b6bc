//! Intent → verdict. The strictest effect wins.

use std::sync::Arc;

use crate::{Confinement, Denial, Effect, Intent, Network, Permit, Reach, SandboxPolicy};

/// What the policy says about an intent.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// It may be done, with this key.
    Allow(Permit),
    /// It may not be done, and nobody is asked.
    Forbid(Denial),
}

/// Judges intents, and is the only maker of permits.
#[derive(Debug, Clone)]
pub struct Gate {
    reach: Arc<Reach>,
    sandbox: SandboxPolicy,
    confinement: Arc<Confinement>,
}

impl Gate {
    /// A gate that lets calls read within `reach`, and do what else `sandbox` allows.
    pub fn new(reach: Reach, sandbox: SandboxPolicy) -> Self {
        Self { reach: Arc::new(reach), sandbox, confinement: Arc::default() }
    }

    /// Confines commands to `confinement`, if the policy confines them at all.
    #[must_use]
    pub fn confined_to(mut self, confinement: Confinement) -> Self {
        self.confinement = Arc::new(confinement);
        self
    }

    /// A gate that lets calls read within `reach` and change nothing.
    pub fn read_only(reach: Reach) -> Self {
        Self::new(reach, SandboxPolicy::ReadOnly)
    }

    /// Judges `intent`.
    ///
    /// ```
    /// use toolgate_policy::{DenyRead, Gate, Intent, Reach, Root, Verdict};
    /// let deny = DenyRead::new(["**/.env"], None).unwrap();
    /// let gate = Gate::read_only(Reach::new(vec![Root::new("/work")], deny));
    /// assert!(matches!(gate.decide(&Intent::read("/work/src/main.rs")), Verdict::Allow(_)));
    /// assert!(matches!(gate.decide(&Intent::read("/work/.env")), Verdict::Forbid(_)));
    /// assert!(matches!(gate.decide(&Intent::read("/etc/passwd")), Verdict::Forbid(_)));
    /// ```
    pub fn decide(&self, intent: &Intent) -> Verdict {
        match intent.effects.iter().try_for_each(|effect| self.judge(effect)) {
            Ok(()) => Verdict::Allow(self.permit(intent)),
            Err(denial) => Verdict::Forbid(denial),
        }
    }

    fn judge(&self, effect: &Effect) -> Result<(), Denial> {
        use SandboxPolicy::{External, FullAccess, ReadOnly, WorkspaceWrite};
        let read_only = |what: String| Err(Denial::ReadOnly { what });
        match (effect, self.sandbox) {
            (Effect::Read(path), _) => self.reach.judge(path),
            (Effect::Write(_) | Effect::Exec(_) | Effect::Network(_), FullAccess | External) => Ok(()),
            // What it may touch is for its confinement to say.
            (Effect::Exec(_), ReadOnly | WorkspaceWrite) => Ok(()),
            (Effect::Write(path), ReadOnly) => read_only(format!("writing `{}`", path.display())),
            (Effect::Write(path), WorkspaceWrite) if self.confinement.may_write(path) => Ok(()),
            (Effect::Write(path), WorkspaceWrite) => {
                let roots = self.confinement.writable.clone();
                Err(Denial::MayNotWrite { path: path.clone(), roots })
            }
            (Effect::Network(_), ReadOnly | WorkspaceWrite) if self.confinement.network == Network::On => {
                Ok(())
            }
            (Effect::Network(host), ReadOnly | WorkspaceWrite) => {
                Err(Denial::MayNotConnect { target: host.clone(), network: self.confinement.network })
            }
        }
    }

    /// The key to all of `intent`, which was judged.
    fn permit(&self, intent: &Intent) -> Permit {
        let (mut reads, mut runs) = (Vec::new(), Vec::new());
        for effect in &intent.effects {
            match effect {
                Effect::Read(path) => reads.push(path.clone()),
                Effect::Exec(argv) => runs.push(argv.clone()),
                Effect::Write(_) | Effect::Network(_) => {}
            }
        }
        let (reach, confinement) = (Arc::clone(&self.reach), Arc::clone(&self.confinement));
        Permit::new(reads, runs, reach, self.sandbox, confinement)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::{DenyRead, Escalation, Root};

    fn gate(sandbox: SandboxPolicy) -> Gate {
        let roots = vec![Root::new("/real/w").spelled("/w"), Root::new("/real/w/inner"), Root::new("/lib")];
        let confinement = Confinement { writable: vec!["/w".into()], ..Confinement::default() };
        Gate::new(Reach::new(roots, DenyRead::new(["**/.env"], None).unwrap()), sandbox)
            .confined_to(confinement)
    }

    const DENIED: &str = "`/w/.env` may not be read: the deny-read rule `**/.env` covers it";
    const BELOW_DENIED: &str = "`/w/.env/x` may not be read: the deny-read rule `**/.env` covers it";
    const OUTSIDE: &str = "`/wx/a` is outside the readable roots (`/real/w`, `/real/w/inner`, `/lib`); only the user can add one, with `files.read_roots` in their own configuration or `--read-root`";
    const WRITING: &str = "writing `/w/a` is not allowed: the policy in force is read-only";
    const CONNECTING: &str = "connecting to `example.org:443` is not allowed: the network is loopback; only the user can change that, with `confinement.network` in their own configuration or `--network on`";
    const ELSEWHERE: &str = "`/etc/a` may not be changed: it lies outside the writable roots (`/w`) or is protected there; only the user can change that, with `confinement.writable` in their own configuration or `--writable`";

    #[test]
    fn the_table_of_verdicts() {
        let read = |path: &str| Effect::Read(path.into());
        let write = |path: &str| Effect::Write(path.into());
        let exec = || Effect::Exec(vec!["rm".into(), "a".into()]);
        let network = || Effect::Network("example.org:443".into());
        let elsewhere = "writing `/etc/a` is not allowed: the policy in force is read-only";
        // What is stated, what is said under read-only, under workspace-write, and under full access.
        for (effects, expected) in [
            (vec![], ["allow"; 3]),
            (vec![read("/w/a")], ["allow"; 3]),
            (vec![read("/real/w/a")], ["allow"; 3]),
            (vec![read("/w")], ["allow"; 3]),
            (vec![read("/lib/x"), read("/w/y")], ["allow"; 3]),
            (vec![read("/wx/a")], [OUTSIDE; 3]),
            (vec![read("/w/a"), read("/w/.env")], [DENIED; 3]),
            (vec![read("/w/.env"), read("/w/a")], [DENIED; 3]),
            (vec![read("/w/.env/x")], [BELOW_DENIED; 3]),
            (vec![write("/w/a")], [WRITING, "allow", "allow"]),
            (vec![write("/etc/a")], [elsewhere, ELSEWHERE, "allow"]),
            (vec![exec()], ["allow"; 3]),
            (vec![network()], [CONNECTING, CONNECTING, "allow"]),
            (vec![read("/w"), exec()], ["allow"; 3]),
            (vec![read("/wx/a"), exec()], [OUTSIDE; 3]),
            (vec![exec(), read("/w/.env")], [DENIED; 3]),
            (vec![write("/w/a"), exec(), network()], [WRITING, CONNECTING, "allow"]),
        ] {
            let policies =
                [SandboxPolicy::ReadOnly, SandboxPolicy::WorkspaceWrite, SandboxPolicy::FullAccess];
            let [_, _, full] = expected;
            let all = policies.into_iter().zip(expected).chain([(SandboxPolicy::External, full)]);
            for (sandbox, expected) in all {
                for escalation in [Escalation::None, Escalation::Required] {
                    let intent = Intent { effects: effects.clone(), ..Intent::default() };
                    let intent = intent.escalated(escalation, Some("it is needed".into()));
                    let said = match gate(sandbox).decide(&intent) {
                        Verdict::Allow(_) => "allow".to_owned(),
                        Verdict::Forbid(denial) => denial.to_string(),
                    };
                    assert_eq!(said, expected, "{sandbox:?} {intent:?}");
                }
            }
        }
    }

    #[test]
    fn who_is_confined() {
        let confined = |sandbox| match gate(sandbox).decide(&Intent::nothing()) {
            Verdict::Allow(permit) => permit.confinement().is_some(),
            Verdict::Forbid(denial) => panic!("{denial}"),
        };
        assert!(confined(SandboxPolicy::ReadOnly) && confined(SandboxPolicy::WorkspaceWrite));
        assert!(!confined(SandboxPolicy::FullAccess) && !confined(SandboxPolicy::External));
    }

    fn permit(intent: &Intent) -> Permit {
        match gate(SandboxPolicy::FullAccess).decide(intent) {
            Verdict::Allow(permit) => permit,
            Verdict::Forbid(denial) => panic!("{denial}"),
        }
    }

    #[test]
    fn a_permit_opens_only_what_was_stated() {
        let permit = permit(&Intent::read("/w/src"));
        assert!(permit.may_read(Path::new("/w/src/a.rs")).is_ok());
        assert!(matches!(permit.may_read(Path::new("/w/other")), Err(Denial::NotStated { .. })));
        assert!(matches!(permit.may_read(Path::new("/w/src/.env")), Err(Denial::DenyRead { .. })));
    }

    #[test]
    fn a_permit_runs_only_what_was_stated() {
        let argv = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let run = permit(&Intent::run(argv("git status -s"), Path::new("/w")));
        assert_eq!(run.sandbox(), SandboxPolicy::FullAccess);
        assert!(run.may_read(Path::new("/w/a")).is_ok());
        let said = |permit: &Permit, line: &str| match permit.may_run(&argv(line)) {
            Ok(()) => "ok".to_owned(),
            Err(denial) => denial.to_string(),
        };
        let long = format!("git {}", "x".repeat(200));
        let cut = format!("`git {}…` is not what this call was permitted to run", "x".repeat(96));
        for (line, expected) in [
            ("git status -s", "ok"),
            ("git status", "`git status` is not what this call was permitted to run"),
            ("git status -s -s", "`git status -s -s` is not what this call was permitted to run"),
            ("", "`` is not what this call was permitted to run"),
            (&long, &cut),
        ] {
            assert_eq!(said(&run, line), expected, "{line}");
        }
        assert!(run.may_run(&argv("git status -s")[..2]).is_err());
        assert!(permit(&Intent::read("/w")).may_run(&[]).is_err());
    }

    #[test]
    fn the_innermost_root_is_found() {
        let reach = &gate(SandboxPolicy::ReadOnly).reach;
        let (root, below) = reach.locate(Path::new("/real/w/inner/a")).unwrap();
        assert_eq!((root.path(), below), (Path::new("/real/w/inner"), Path::new("a")));
    }

    fn effect() -> impl Strategy<Value = Effect> {
        prop_oneof![
            "/(w|lib|etc)/(a|\\.env|b/c)".prop_map(|path| Effect::Read(path.into())),
            "/(w|etc)/a".prop_map(|path| Effect::Write(path.into())),
            "(ls|rm)".prop_map(|program| Effect::Exec(vec![program])),
            "a\\.org:(80|443)".prop_map(Effect::Network),
        ]
    }

    proptest! {
        /// Law: one more effect never loosens a verdict, and neither does a tighter policy.
        #[test]
        fn adding_an_effect_never_loosens(effects in prop::collection::vec(effect(), 0..5), more in effect()) {
            let forbidden = |sandbox, effects: &[Effect]| {
                let intent = Intent { effects: effects.to_vec(), ..Intent::default() };
                matches!(gate(sandbox).decide(&intent), Verdict::Forbid(_))
            };
            let larger: Vec<Effect> = effects.iter().cloned().chain([more]).collect();
            let tightest_first = [SandboxPolicy::ReadOnly, SandboxPolicy::WorkspaceWrite, SandboxPolicy::FullAccess];
            for sandbox in tightest_first {
                prop_assert!(!forbidden(sandbox, &effects) || forbidden(sandbox, &larger));
            }
            for (tighter, looser) in tightest_first.into_iter().zip(tightest_first.into_iter().skip(1)) {
                prop_assert!(!forbidden(looser, &effects) || forbidden(tighter, &effects));
            }
        }
    }
}

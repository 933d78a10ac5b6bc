//! Intent → verdict. The strictest effect wins.

use std::sync::Arc;

use crate::{Denial, Effect, Intent, Permit, Reach, SandboxPolicy};

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
}

impl Gate {
    /// A gate that lets calls read within `reach`, and do what else `sandbox` allows.
    pub fn new(reach: Reach, sandbox: SandboxPolicy) -> Self {
        Self { reach: Arc::new(reach), sandbox }
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
        let read_only = |what: String| Err(Denial::ReadOnly { what });
        match (effect, self.sandbox) {
            (Effect::Read(path), SandboxPolicy::ReadOnly | SandboxPolicy::FullAccess) => {
                self.reach.judge(path)
            }
            (Effect::Write(_) | Effect::Exec(_) | Effect::Network(_), SandboxPolicy::FullAccess) => Ok(()),
            (Effect::Write(path), SandboxPolicy::ReadOnly) => {
                read_only(format!("writing `{}`", path.display()))
            }
            (Effect::Exec(argv), SandboxPolicy::ReadOnly) => {
                Err(Denial::MayNotRun { program: argv.first().cloned().unwrap_or_default() })
            }
            (Effect::Network(host), SandboxPolicy::ReadOnly) => read_only(format!("connecting to `{host}`")),
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
        Permit::new(reads, runs, Arc::clone(&self.reach), self.sandbox)
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
        Gate::new(Reach::new(roots, DenyRead::new(["**/.env"], None).unwrap()), sandbox)
    }

    const DENIED: &str = "`/w/.env` may not be read: the deny-read rule `**/.env` covers it";
    const BELOW_DENIED: &str = "`/w/.env/x` may not be read: the deny-read rule `**/.env` covers it";
    const OUTSIDE: &str = "`/wx/a` is outside the readable roots (`/real/w`, `/real/w/inner`, `/lib`); only the user can add one, with `files.read_roots` in their own configuration or `--read-root`";
    const WRITING: &str = "writing `/w/a` is not allowed: the policy in force is read-only";
    const RUNNING: &str = "running `rm` is not allowed: the policy in force is read-only; only the user can change that, with `sandbox = \"danger-full-access\"` in their own configuration or `--sandbox danger-full-access`";
    const CONNECTING: &str =
        "connecting to `example.org:443` is not allowed: the policy in force is read-only";

    #[test]
    fn the_table_of_verdicts() {
        let read = |path: &str| Effect::Read(path.into());
        let write = || Effect::Write("/w/a".into());
        let exec = || Effect::Exec(vec!["rm".into(), "a".into()]);
        let network = || Effect::Network("example.org:443".into());
        // What is stated, what is said under read-only, and under full access.
        for (effects, read_only, full_access) in [
            (vec![], "allow", "allow"),
            (vec![read("/w/a")], "allow", "allow"),
            (vec![read("/real/w/a")], "allow", "allow"),
            (vec![read("/w")], "allow", "allow"),
            (vec![read("/lib/x"), read("/w/y")], "allow", "allow"),
            (vec![read("/wx/a")], OUTSIDE, OUTSIDE),
            (vec![read("/w/a"), read("/w/.env")], DENIED, DENIED),
            (vec![read("/w/.env"), read("/w/a")], DENIED, DENIED),
            (vec![read("/w/.env/x")], BELOW_DENIED, BELOW_DENIED),
            (vec![write()], WRITING, "allow"),
            (vec![exec()], RUNNING, "allow"),
            (vec![network()], CONNECTING, "allow"),
            (vec![read("/w"), exec()], RUNNING, "allow"),
            (vec![read("/wx/a"), exec()], OUTSIDE, OUTSIDE),
            (vec![exec(), read("/w/.env")], RUNNING, DENIED),
            (vec![write(), exec(), network()], WRITING, "allow"),
        ] {
            for (sandbox, expected) in
                [(SandboxPolicy::ReadOnly, read_only), (SandboxPolicy::FullAccess, full_access)]
            {
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
            for sandbox in [SandboxPolicy::ReadOnly, SandboxPolicy::FullAccess] {
                prop_assert!(!forbidden(sandbox, &effects) || forbidden(sandbox, &larger));
            }
            prop_assert!(!forbidden(SandboxPolicy::FullAccess, &effects) || forbidden(SandboxPolicy::ReadOnly, &effects));
        }
    }
}

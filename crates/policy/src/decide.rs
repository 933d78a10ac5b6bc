//! Intent → verdict. The strictest effect wins.

use std::sync::Arc;

use crate::{Denial, Effect, Intent, Permit, Reach};

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
}

impl Gate {
    /// A gate that lets calls read within `reach` and change nothing.
    pub fn read_only(reach: Reach) -> Self {
        Self { reach: Arc::new(reach) }
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
        let mut reads = Vec::new();
        for effect in &intent.effects {
            match effect {
                Effect::Read(path) => match self.reach.judge(path) {
                    Ok(()) => reads.push(path.clone()),
                    Err(denial) => return Verdict::Forbid(denial),
                },
                Effect::Write(path) => return read_only(format!("writing `{}`", path.display())),
                Effect::Exec(argv) => {
                    return read_only(format!("running `{}`", argv.first().map_or("", String::as_str)));
                }
                Effect::Network(host) => return read_only(format!("connecting to `{host}`")),
            }
        }
        Verdict::Allow(Permit::new(reads, Arc::clone(&self.reach)))
    }
}

fn read_only(what: String) -> Verdict {
    Verdict::Forbid(Denial::ReadOnly { what })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;

    use super::*;
    use crate::{DenyRead, Root};

    fn gate() -> Gate {
        let roots = vec![Root::new("/real/w").spelled("/w"), Root::new("/real/w/inner"), Root::new("/lib")];
        Gate::read_only(Reach::new(roots, DenyRead::new(["**/.env"], None).unwrap()))
    }

    #[test]
    fn the_table_of_verdicts() {
        let say = |effects: Vec<Effect>| match gate().decide(&Intent { effects }) {
            Verdict::Allow(_) => "allow".to_owned(),
            Verdict::Forbid(denial) => denial.to_string(),
        };
        let read = |path: &str| Effect::Read(path.into());
        for (effects, expected) in [
            (vec![], "allow"),
            (vec![read("/w/a")], "allow"),
            (vec![read("/real/w/a")], "allow"),
            (vec![read("/w")], "allow"),
            (vec![read("/lib/x"), read("/w/y")], "allow"),
            (
                vec![read("/wx/a")],
                "`/wx/a` is outside the readable roots (`/real/w`, `/real/w/inner`, `/lib`); only the user can add one, with `files.read_roots` in their own configuration or `--read-root`",
            ),
            (
                vec![read("/w/a"), read("/w/.env")],
                "`/w/.env` may not be read: the deny-read rule `**/.env` covers it",
            ),
            (vec![read("/w/.env/x")], "`/w/.env/x` may not be read: the deny-read rule `**/.env` covers it"),
            (
                vec![Effect::Write(PathBuf::from("/w/a"))],
                "writing `/w/a` is not allowed: the policy in force is read-only",
            ),
            (
                vec![Effect::Exec(vec!["rm".into()])],
                "running `rm` is not allowed: the policy in force is read-only",
            ),
            (
                vec![Effect::Network("example.org:443".into())],
                "connecting to `example.org:443` is not allowed: the policy in force is read-only",
            ),
        ] {
            assert_eq!(say(effects.clone()), expected, "{effects:?}");
        }
    }

    #[test]
    fn a_permit_opens_only_what_was_stated() {
        let Verdict::Allow(permit) = gate().decide(&Intent::read("/w/src")) else { panic!("allowed") };
        assert!(permit.may_read(Path::new("/w/src/a.rs")).is_ok());
        assert!(matches!(permit.may_read(Path::new("/w/other")), Err(Denial::NotStated { .. })));
        assert!(matches!(permit.may_read(Path::new("/w/src/.env")), Err(Denial::DenyRead { .. })));
    }

    #[test]
    fn the_innermost_root_is_found() {
        let reach = &gate().reach;
        let (root, below) = reach.locate(Path::new("/real/w/inner/a")).unwrap();
        assert_eq!((root.path(), below), (Path::new("/real/w/inner"), Path::new("a")));
    }

    proptest! {
        /// Law: one more effect never loosens a verdict.
        #[test]
        fn adding_an_effect_never_loosens(paths in prop::collection::vec("/(w|lib|etc)/(a|\\.env|b/c)", 0..5), more in "/(w|lib|etc)/(a|\\.env)") {
            let effects: Vec<Effect> = paths.iter().map(|p| Effect::Read(p.into())).collect();
            let before = gate().decide(&Intent { effects: effects.clone() });
            let mut larger = effects;
            larger.push(Effect::Read(more.into()));
            let after = gate().decide(&Intent { effects: larger });
            if matches!(before, Verdict::Forbid(_)) {
                prop_assert!(matches!(after, Verdict::Forbid(_)));
            }
        }
    }
}

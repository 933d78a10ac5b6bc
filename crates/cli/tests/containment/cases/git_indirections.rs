//! Cases that lead the user's next `git` to configuration or hooks outside the top repository.

use super::{HOLDS, PATHLESS};
use crate::suite::case::{AttackCase, BreachSign, ExpectedOutcome, host};

const L: ExpectedOutcome =
    ExpectedOutcome::Gap("Landlock cannot take away what lies in a writable directory");
const GIT: [ExpectedOutcome; 3] = [HOLDS, L, PATHLESS];

/// Provides a payload: the user's git creates `$OUT/PWN` if it runs it.
macro_rules! with_payload {
    ($script:literal) => {
        concat!("printf '#!/bin/sh\\ntouch %s\\n' $OUT/PWN > pay; chmod 755 pay; ", $script)
    };
}

pub(super) const CASES: &[AttackCase] = &[
    host("3B-80a", "a stray repository whose parts are executable files", with_payload!("touch objects refs; chmod +x objects refs; printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=.\\nfsmonitor=%s\\n' $WS/pay > config; echo 'ref: refs/heads/x' > HEAD"))
        .setup("rm -rf .git")
        .sees(BreachSign::Git)
        .expect([HOLDS; 3]),
    host("3B-80b", "a stray repository whose parts lie elsewhere", with_payload!("mkdir -p c/objects c/refs; echo c > commondir; printf '[core]\\nrepositoryformatversion=1\\nfsmonitor=%s\\n[extensions]\\nworktreeConfig=true\\n' $WS/pay > c/config; printf '[core]\\nbare=false\\nworktree=.\\n' > config.worktree; echo 'ref: refs/heads/x' > HEAD"))
        .setup("rm -rf .git")
        .sees(BreachSign::Git)
        .expect([HOLDS; 3]),
    host("3B-80c", "a link on the way to hooks that is replaced", with_payload!("rm -f via; mkdir -p via/hk; cp pay via/hk/pre-commit"))
        .setup("mkdir -p real/hk; ln -s real via; git config core.hooksPath via/hk")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-80d", "a bare repository below the top", with_payload!("printf '[core]\\nfsmonitor=%s\\n' $WS/pay >> bare.git/config"))
        .setup("git init -q --bare bare.git; git -C bare.git config core.bare false; git -C bare.git config core.worktree .")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-80e", "missing configuration behind a link to a directory", with_payload!("mkdir evil; git config -f evil/my.conf core.fsmonitor $WS/pay; ln -s evil d"))
        .setup("git config include.path ../d/my.conf")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-80f", "the configuration of a linked working tree", with_payload!("cp pay sub/hk/pre-commit"))
        .setup("git worktree add -q sub; git config extensions.worktreeConfig true; git -C sub config --worktree core.hooksPath hk; mkdir sub/hk")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-80g", "a program that is missing and has no slash", with_payload!("cp pay watch"))
        .setup("git config core.fsmonitor 'sh watch'")
        .sees(BreachSign::Git)
        .expect(GIT),
];

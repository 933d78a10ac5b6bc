//! Cases against repositories: code or configuration that the user's next `git` would run or trust.

use super::{HOLDS, INNER, PATHLESS, PATHS};
use crate::suite::case::{AttackCase, BreachSign, ExpectedOutcome, good, host};

const UNKNOWN: ExpectedOutcome =
    ExpectedOutcome::Gap("a repository that is new is not known when the mounts are made");
const NEW: [ExpectedOutcome; 3] = [UNKNOWN, UNKNOWN, UNKNOWN];
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
    host("3B-49", "a hook", with_payload!("cp pay .git/hooks/pre-commit")).sees(BreachSign::Git).expect(INNER),
    host("3B-50", "the configuration appended to", "printf '[core]\\n\\tpager = x\\n' >> .git/config")
        .expect(INNER),
    host("3B-50b", "core.fsmonitor by git config", with_payload!("git config core.fsmonitor $WS/pay"))
        .sees(BreachSign::Git)
        .expect(INNER),
    host(
        "3B-50c",
        "core.hooksPath by git config",
        with_payload!("mkdir h; cp pay h/pre-commit; git config core.hooksPath $WS/h"),
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-50d",
        "config.worktree",
        with_payload!(
            "git config extensions.worktreeConfig true; printf '[core]\\nfsmonitor=%s\\n' $WS/pay \
        > .git/config.worktree"
        ),
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-51",
        ".git moved and copied back",
        with_payload!(
            "mv .git old; cp -r old .git; git config core.fsmonitor $WS/pay; cp pay \
        .git/hooks/pre-commit"
        ),
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-51b",
        ".git removed and made again",
        with_payload!("rm -rf .git; git init -q .; git config core.fsmonitor $WS/pay"),
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-51c",
        ".git exchanged",
        with_payload!("cp -r .git e; GIT_DIR=e git config core.fsmonitor $WS/pay; $P exchange e .git"),
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-52",
        "commondir",
        with_payload!(
            "cp -r .git evil; GIT_DIR=evil git config core.fsmonitor $WS/pay; echo ../evil > \
        .git/commondir"
        ),
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-53",
        ".git replaced by a pointer",
        with_payload!(
            "cp -r .git evil; GIT_DIR=evil git config core.fsmonitor $WS/pay; rm -rf .git; echo \
        'gitdir: evil' > .git"
        ),
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-53b",
        "a worktree's pointer replaced",
        with_payload!(
            "cp -r $OUT/repo/.git evil; GIT_DIR=evil git config core.fsmonitor $WS/pay; \
        GIT_DIR=evil git config core.bare false; rm -f .git; echo 'gitdir: evil' > .git"
        ),
    )
    .setup(
        "rm -rf .git sub; git -C $OUT/repo worktree add -f --detach $WS/t; mv t/.git .git; \
        echo $WS/.git > $OUT/repo/.git/worktrees/t/gitdir",
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-53c",
        "a worktree's own repository, its configuration",
        with_payload!("git config core.fsmonitor $WS/pay"),
    )
    .setup(
        "rm -rf .git sub; git -C $OUT/repo worktree add -f --detach $WS/t; mv t/.git .git; \
        echo $WS/.git > $OUT/repo/.git/worktrees/t/gitdir",
    )
    .sees(BreachSign::Git)
    .expect(PATHS),
    host("3B-54", "no .git: one made", with_payload!("git init -q .; git config core.fsmonitor $WS/pay"))
        .setup("rm -rf .git")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-55", "a nested repository's hook", with_payload!("cp pay sub/.git/hooks/pre-commit"))
        .sees(BreachSign::Git)
        .expect(INNER),
    host(
        "3B-55b",
        "a nested repository's parent moved",
        with_payload!("mv sub s; mkdir sub; cp -r s/.git sub/; git -C sub config core.fsmonitor $WS/pay"),
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-55c",
        "a nested repository's configuration",
        with_payload!("git -C sub config core.fsmonitor $WS/pay"),
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-56",
        "a repository in a new directory",
        with_payload!("git init -q new; git -C new config core.fsmonitor $WS/pay"),
    )
    .sees(BreachSign::Git)
    .expect(NEW),
    host(
        "3B-56b",
        "a bare repository in a new directory",
        with_payload!(
            "git init -q --bare bare.git; cd bare.git; git config core.bare false; git config \
        core.worktree $WS; git config core.fsmonitor $WS/pay"
        ),
    )
    .sees(BreachSign::Git)
    .expect(NEW),
    host(
        "3B-58",
        "a submodule's repository",
        with_payload!(
            "git init -q m; mkdir -p .git/modules; mv m/.git .git/modules/m; echo 'gitdir: \
        ../.git/modules/m' > m/.git; cd .git/modules/m; git config core.worktree ../../../m; \
        git config core.fsmonitor $WS/pay; mkdir -p hooks; cp $WS/pay hooks/pre-commit"
        ),
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-55d",
        "a nested repository six levels down",
        with_payload!("git -C a/b/c/d/e/f config core.fsmonitor $WS/pay"),
    )
    .setup("git init -q a/b/c/d/e/f")
    .sees(BreachSign::Git)
    .expect(GIT),
    host("3B-76", "a git directory apart from its tree", with_payload!("git -C sub config core.fsmonitor $WS/pay"))
        .setup("git init -q --separate-git-dir=data sub")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-76b", "a git directory that is a link", with_payload!("git -C sub config core.fsmonitor $WS/pay"))
        .setup("git init -q sub; mv sub/.git data; ln -s ../data sub/.git")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-76c", "a bare one that a file leads to", with_payload!("git -C sub config core.fsmonitor $WS/pay"))
        .setup("mkdir sub; git init -q --bare sub/.bare; echo 'gitdir: ./.bare' > sub/.git")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-76d", "hooks that are a link into the tree", with_payload!("cp pay tools/pre-commit"))
        .setup("mkdir tools; rm -rf .git/hooks; ln -s ../tools .git/hooks")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-76e", "a hook that is a link into the tree", with_payload!("cp pay tools/check"))
        .setup("mkdir tools .git/hooks; echo '#!/bin/sh' > tools/check; chmod 755 tools/check; ln -s ../../tools/check .git/hooks/pre-commit")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-76f", "hooks that the configuration has in the tree", with_payload!("mkdir -p .husky; cp pay .husky/pre-commit"))
        .setup("git config core.hooksPath .husky")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-76g", "more configuration in the tree", with_payload!("git config -f more core.fsmonitor $WS/pay"))
        .setup("git config include.path ../more; echo > more")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-76h", "a submodule's place that is empty", with_payload!("git init -q sub; git -C sub config core.fsmonitor $WS/pay"))
        .setup("git init -q x; git -C x commit -q --allow-empty -m x; git add x; git mv -k x sub || true; git update-index --force-remove x; git update-index --add --cacheinfo 160000,$(git -C x rev-parse HEAD),sub; rm -rf x; mkdir sub; git commit -qm sub")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-77a", "a stray repository in a directory that is made read-only", with_payload!("mkdir objects refs; printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=.\\nfsmonitor=%s\\n' $WS/pay > config; echo 'ref: refs/heads/x' > HEAD; chmod 555 ."))
        .setup("rm -rf .git")
        .sees(BreachSign::Git)
        .expect([HOLDS; 3]),
    host("3B-77b", "a stray repository, and every name for it is taken", with_payload!("mkdir objects refs; printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=.\\nfsmonitor=%s\\n' $WS/pay > config; echo 'ref: refs/heads/x' > HEAD; touch HEAD.untrusted; for i in $(seq 99); do touch HEAD.untrusted-$i; done"))
        .setup("rm -rf .git")
        .sees(BreachSign::Git)
        .expect([HOLDS; 3]),
    host("3B-77c", "a submodule's place that is made read-only", with_payload!("cp -r .git sub/.git; git config -f sub/.git/config core.fsmonitor $WS/pay; chmod 555 sub"))
        .setup("git init -q x; git -C x commit -q --allow-empty -m x; git add x; git mv -k x sub || true; git update-index --force-remove x; git update-index --add --cacheinfo 160000,$(git -C x rev-parse HEAD),sub; rm -rf x; mkdir sub; git commit -qm sub")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-77d", "a stray repository in a directory that cannot be listed", with_payload!("mkdir objects refs; printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=.\\nfsmonitor=%s\\n' $WS/pay > config; echo 'ref: refs/heads/x' > HEAD; chmod 111 ."))
        .setup("rm -rf .git")
        .sees(BreachSign::Git)
        .expect([HOLDS; 3]),
    host("3B-78a", "hooksPath that is a plain name", with_payload!("cp pay githooks/pre-commit"))
        .setup("mkdir githooks; git config core.hooksPath githooks")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-78b", "hooksPath on the line of its header", with_payload!("mkdir -p hk; cp pay hk/pre-commit"))
        .setup("printf '[core] hooksPath = hk\\n' >> .git/config")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-78c", "hooksPath on a continued line", with_payload!("mkdir -p hk; cp pay hk/pre-commit"))
        .setup("printf '[core]\\n\\thooksPath = \\\\\\nhk\\n' >> .git/config")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-78d", "hooksPath of several missing parts", with_payload!("mkdir -p q/r/s; cp pay q/r/s/pre-commit"))
        .setup("git config core.hooksPath q/r/s")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-78e", "hooksPath through a link", with_payload!("mkdir -p real/hk; cp pay real/hk/pre-commit"))
        .setup("mkdir real; ln -s real via; git config core.hooksPath via/hk")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-78f", "hooksPath of the user's own configuration", with_payload!("mkdir -p hk; cp pay hk/pre-commit"))
        .setup("git config -f $HOME/.gitconfig core.hooksPath hk")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-78g", "included configuration that is missing", with_payload!("git config -f none core.fsmonitor $WS/pay"))
        .setup("git config include.path ../none")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-78h", "what included configuration includes", with_payload!("git config -f 'two words' core.fsmonitor $WS/pay"))
        .setup("git config include.path ../one; git config -f one include.path 'two words'; echo > 'two words'")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-78i", "the user's own configuration includes some of the tree", with_payload!("git config -f inc core.fsmonitor $WS/pay"))
        .setup("echo > inc; git config -f $HOME/.gitconfig includeIf.gitdir:$WS/.path $WS/inc")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-78j", "a program without a slash", with_payload!("cp pay watch"))
        .setup("echo 'exit 1' > watch; git config core.fsmonitor 'sh watch'")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-78k", "a program that is missing", with_payload!("mkdir -p t; cp pay t/watch"))
        .setup("git config core.fsmonitor ./t/watch")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-78l", "a program that a submodule's configuration names", with_payload!("cp pay sub/x"))
        .setup("git init -q sub; echo 'exit 1' > sub/x; chmod 755 sub/x; git -C sub config core.fsmonitor ./x")
        .sees(BreachSign::Git)
        .expect(GIT),
    host("3B-79a", "more repositories than can be written to", with_payload!("printf '[core]\\nfsmonitor=%s\\n' $WS/pay >> sub/.git/config"))
        .setup("git init -q sub; for i in $(seq 60); do mkdir -p .j$i/.git; git init -q .k$i; done")
        .sees(BreachSign::Git)
        .expect(GIT),
    host(
        "3B-58b",
        "a worktree's entry",
        "mkdir -p .git/worktrees/x; echo ../../../evil > .git/worktrees/x/commondir",
    )
    .expect(INNER),
    host("3B-59", "info/attributes", "echo '* filter=x' > .git/info/attributes").expect(INNER),
    host(
        "3B-59b",
        "a rebase that runs something",
        with_payload!(
            "mkdir .git/rebase-merge; cd .git/rebase-merge; echo \"exec $WS/pay\" > \
        git-rebase-todo; echo main > head-name; git rev-parse HEAD > onto; cp onto orig-head; \
        touch interactive; : > done"
        ),
    )
    .sees(BreachSign::Git)
    .expect(INNER),
    host(
        "3B-59c",
        "objects/info/alternates",
        "mkdir -p .git/objects/info; echo $OUT/repo/.git/objects > .git/objects/info/alternates",
    )
    .expect(INNER),
    host("3B-59d", "info/exclude", "echo x >> .git/info/exclude").expect(INNER),
    host("3B-59e", "info/grafts", "git rev-parse HEAD > .git/info/grafts").expect(INNER),
    host("3B-59f", "a new file, a new directory", "echo x > .git/new; mkdir .git/newdir").expect(INNER),
    host("3B-59g", "shallow", "git rev-parse HEAD > .git/shallow").expect([
        ExpectedOutcome::Gap("where history ends lands too: a fetch of less than all of it is work of the sandbox"),
        L,
        PATHLESS,
    ]),
    host(
        "3B-70",
        "objects is a link to outside",
        "mv .git/objects o; ln -s $OUT/d .git/objects; mkdir -p .git/objects/aa; echo x > \
        .git/objects/aa/bb",
    )
    .expect(PATHS_L),
    host(
        "3B-70b",
        "refs is a link to outside",
        "mv .git/refs r; ln -s $OUT/d .git/refs; echo x > .git/refs/new",
    )
    .expect(PATHS_L),
    host("3B-70c", "the index is a link to outside", "rm .git/index; ln -s $OUT/v .git/index")
        .expect(PATHS_L),
    host("3B-70d", "HEAD is a link to outside", "rm .git/HEAD; ln -s $OUT/v .git/HEAD").expect(PATHS_L),
    host(
        "3B-70e",
        "logs is a link to outside",
        "rm -rf .git/logs; ln -s $OUT/d .git/logs; echo x > .git/logs/HEAD; git commit \
        --allow-empty -qm x",
    )
    .expect(PATHS_L),
    host(
        "3B-70f",
        "a directory of refs is a link to outside",
        "mkdir $WS/t; rm -rf .git/refs/heads; ln -s $OUT/d .git/refs/heads; git rev-parse \
        HEAD; echo x > .git/refs/heads/new",
    )
    .expect([HOLDS, HOLDS, PATHLESS]),
    host(
        "3B-70g",
        "a hard link to outside in refs",
        "ln $OUT/v .git/refs/heads/v; ln hard .git/refs/heads/t; echo x > .git/refs/heads/t",
    )
    .expect([HOLDS, TWIN, TWIN]),
    good(
        "3B-71",
        "a pipe in objects does not stop the call",
        "made",
        "mkdir -p .git/objects/aa; mkfifo .git/objects/aa/$(printf %038d 1) && echo made",
    ),
    good(
        "3B-71b",
        "a pipe as the index does not stop the call",
        "made",
        "rm .git/index; mkfifo .git/index; echo made",
    ),
    host(
        "3B-71c",
        "a setuid file in objects",
        "mkdir -p .git/objects/aa; f=.git/objects/aa/$(printf %038d 1); cp pay $f 2>/dev/null \
        || cp /bin/true $f; chmod 4755 $f",
    )
    .sees(BreachSign::Setuid("$WS/.git/objects/aa/00000000000000000000000000000000000001"))
    .as_root([HOLDS; 3])
    .expect([HOLDS, OWN, OWN]),
    host(
        "3B-72",
        "an object that was there overwritten",
        "f=$(find .git/objects/?? -type f | head -1); chmod u+w $f; echo x > $f",
    )
    .sees(BreachSign::Fsck)
    .expect(GIT),
    host("3B-72b", "every object removed", "rm -rf .git/objects/*").sees(BreachSign::Fsck).expect(GIT),
    host(
        "3B-75",
        "a commit replaced by another, in packed-refs",
        "h=$(git rev-parse HEAD); e=$(git commit-tree -m evil HEAD^{tree}); echo \"$e \
        refs/replace/$h\" >> .git/packed-refs; mkdir -p .git/refs/replace; echo $e > \
        .git/refs/replace/$h; git log -1 --format=%s > /dev/null",
    )
    .sees(BreachSign::Replaced)
    .expect(GIT),
    host(
        "3B-73",
        "a ref whose name climbs",
        "echo \"$(git rev-parse HEAD) refs/heads/../../hooks/pre-commit\" > .git/packed-refs; \
        git pack-refs --all",
    )
    .control("echo x > .git/hooks/pre-commit"),
    good(
        "3B-74",
        "a commit lands",
        "two",
        "echo two > two; git add two && git commit -qm two && git log -1 --format=%s",
    )
    .lands("git log -1 --format=%s | grep -q two && git fsck && git diff --cached --quiet"),
    good("3B-74b", "a branch and a tag", "b1", "git branch b1 && git tag t1 && git branch --list b1")
        .lands("git rev-parse -q --verify b1 && git rev-parse -q --verify t1"),
    good("3B-74c", "status, diff and log", "one", "git status --short; git diff --stat; git log --oneline"),
];

/// A path that is created inside may be a symlink; landing must not follow it.
const PATHS_L: [ExpectedOutcome; 3] = [HOLDS, L, PATHLESS];
const TWIN: ExpectedOutcome =
    ExpectedOutcome::Gap("a link that was there before is the same file, and its path is inside");
const OWN: ExpectedOutcome =
    ExpectedOutcome::Gap("a setuid file of an unprivileged user lends that user's rights only");

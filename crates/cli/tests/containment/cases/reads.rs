//! Cases that try to read secrets in every way.

use super::{HIDDEN, HOLDS, PATHLESS};
use crate::suite::case::{AttackCase, ExpectedOutcome, call, good, host, text};

const HOME: &[&str] = &["--writable", "$H"];
const TWIN: ExpectedOutcome =
    ExpectedOutcome::Gap("a link that was there before is the same file by another name");
const TWINS: [ExpectedOutcome; 3] = [TWIN, TWIN, TWIN];
const GLOB: ExpectedOutcome = ExpectedOutcome::Gap("patterns are matched when the mounts are made");

pub(super) const CASES: &[AttackCase] = &[
    text(
        "3F-137f",
        "a secret whose directory is renamed",
        "ssh-secret",
        "mv $WS/keys $WS/k2; cat $WS/k2/id_rsa; mv $WS/k2 $WS/keys",
    )
    .setup("mkdir keys; cp $H/.ssh/id_rsa keys/")
    .expect(HIDDEN),
    text("3F-137", "~/.ssh/id_rsa", "ssh-secret", "cat $H/.ssh/id_rsa").expect(HIDDEN),
    text("3F-137b", "the names in ~/.ssh", "authorized_keys", "ls -a $H/.ssh").expect(HIDDEN),
    text("3F-137c", "~/.ssh/id_rsa by /proc/self/root", "ssh-secret", "cat /proc/self/root$H/.ssh/id_rsa")
        .expect(HIDDEN),
    text("3F-137d", "~/.ssh/id_rsa by ..", "ssh-secret", "cat ../home/.ssh/id_rsa").expect(HIDDEN),
    text(
        "3F-137e",
        "~/.ssh/id_rsa by any process",
        "ssh-secret",
        in_sight!("for p; do cat $p/root$H/.ssh/id_rsa && break; done"),
    )
    .expect(HIDDEN),
    call("3F-139", "the hashes of passwords", "cat /etc/shadow > /dev/null && echo LET").expect(HIDDEN),
    call("3F-139b", "the hashes that were there before", "cat /etc/shadow- > /dev/null && echo LET")
        .expect(HIDDEN),
    call("3F-139c", "the hashes of groups", "cat /etc/gshadow > /dev/null && echo LET").expect(HIDDEN),
    call("3F-139d", "who may become root", "cat /etc/sudoers > /dev/null && echo LET").expect(HIDDEN),
    call("3F-139e", "the machine's keys", "cat /etc/ssh/ssh_host_*_key > /dev/null && echo LET")
        .expect(HIDDEN),
    text("3F-138", "~/.aws/credentials", "aws-secret", "cat $H/.aws/credentials").expect(HIDDEN),
    text("3F-140", "a hard link to ~/.ssh/id_rsa", "ssh-secret", "ln $H/.ssh/id_rsa h; cat h")
        .expect([HOLDS, HOLDS, PATHLESS]),
    text("3F-140b", "a hard link that was there", "ssh-secret", "cat twin")
        .setup("ln $H/.ssh/id_rsa twin")
        .expect(TWINS),
    text("3F-141", "a symbolic link to ~/.ssh/id_rsa", "ssh-secret", "ln -s $H/.ssh/id_rsa l; cat l")
        .expect(HIDDEN),
    text("3F-141b", "~/.ssh is a link to elsewhere", "ssh-secret", "cat $H/real/id_rsa $H/.ssh/id_rsa")
        .setup("mv $H/.ssh $H/real; ln -s real $H/.ssh")
        .expect(HIDDEN),
    text("3F-141c", "~/.aws/credentials is a link to elsewhere", "aws-secret", "cat $H/creds")
        .setup("mv $H/.aws/credentials $H/creds; ln -s ../creds $H/.aws/credentials")
        .expect([
            ExpectedOutcome::Gap("what a link below a hidden directory leads to is not hidden itself"),
            HIDDEN[1],
            PATHLESS,
        ]),
    text("3F-143", "writable home: ~/.ssh moved", "ssh-secret", "mv $H/.ssh $H/x; cat $H/x/id_rsa")
        .flags(HOME)
        .expect(HIDDEN),
    text(
        "3F-143b",
        "writable home: a parent moved",
        "gh-secret",
        "mv $H/.config $H/c; cat $H/c/gh/hosts.yml",
    )
    .flags(HOME)
    .expect(HIDDEN),
    text(
        "3F-143c",
        "writable home: exchanged",
        "ssh-secret",
        "mkdir $H/e; $P exchange $H/e $H/.ssh; cat $H/e/id_rsa",
    )
    .flags(HOME)
    .expect(HIDDEN),
    host("3F-143d", "writable home: ~/.ssh written", "echo x >> $H/.ssh/authorized_keys; rm -rf $H/.ssh")
        .flags(HOME)
        .expect(HIDDEN_WRITE),
    text("3F-144", "~/.netrc", "netrc-secret", "cat $H/.netrc").expect(HIDDEN),
    text("3F-144b", "~/.npmrc", "npmrc-secret", "cat $H/.npmrc").expect(HIDDEN),
    text("3F-144c", "~/.docker/config.json", "docker-secret", "cat $H/.docker/config.json").expect(HIDDEN),
    text("3F-144d", "~/.kube", "kube-secret", "cat $H/.kube/config").expect(HIDDEN),
    text("3F-144e", "~/.config/gh", "gh-secret", "cat $H/.config/gh/hosts.yml").expect(HIDDEN),
    text("3F-144f", "~/.gnupg", "gnupg-secret", "cat $H/.gnupg/key").expect(HIDDEN),
    text("3F-144g", "~/.git-credentials", "gitcred-secret", "cat $H/.git-credentials").expect(HIDDEN),
    text("3F-144h", "~/.cargo/credentials.toml", "cargo-secret", "cat $H/.cargo/credentials.toml")
        .expect(HIDDEN),
    text("3F-144i", "~/.pypirc", "pypi-secret", "cat $H/.pypirc").expect(HIDDEN),
    text("3F-144j", "~/.azure", "azure-secret", "cat $H/.azure/t").expect(HIDDEN),
    text("3F-144k", "everything at home", "-secret", "grep -rhs -e -secret $H --exclude=.bash_history")
        .expect(HIDDEN),
    text("3F-142", ".env in the workspace", "env-secret", "cat .env").expect(HIDDEN),
    text("3F-142b", ".env deeper in the workspace", "deep-secret", "cat deep/er/.env").expect(HIDDEN),
    text("3F-142c", ".env, its parent moved", "deep-secret", "mv deep d2; cat d2/er/.env").expect(HIDDEN),
    text("3F-142d", ".env moved", "env-secret", "mv .env e; cat e").expect(HIDDEN),
    text("3F-142e", ".env by a hard link", "env-secret", "ln .env e; cat e").expect(HIDDEN),
    text("3F-142f", ".env exchanged", "env-secret", "echo > e; $P exchange e .env; cat e").expect(HIDDEN),
    text(
        "3F-142g",
        ".env by git",
        "env-secret",
        "git add -f .env; git diff --cached; git stash -u; git show --stat -p stash@{0}^3",
    )
    .expect(HIDDEN),
    text(
        "3F-142h",
        ".env by tar, rsync and cp",
        "env-secret",
        "cp -al . ../x; cp -r . /tmp/$N; cat /tmp/$N/.env; rm -rf /tmp/$N; tar -cf - . | tr -d \
        '\\0' | grep -a env-secret",
    )
    .expect(HIDDEN),
    text("3F-142i", ".env is a link to another file inside", "linked-secret", "cat plain .env")
        .setup("rm .env; echo linked-secret > plain; ln -s plain .env")
        .expect([HIDDEN[0], HIDDEN[1], PATHLESS]),
    text(
        "3F-142j",
        ".env in a directory that is moved in later",
        "late-secret",
        "mkdir n; mv other n/.env 2>/dev/null; cat n/.env other",
    )
    .setup("echo late-secret > other")
    .expect([GLOB, GLOB, GLOB]),
    text("3F-142k", ".env in a nested repository", "sub-secret", "cat sub/.env")
        .setup("echo sub-secret > sub/.env")
        .expect(HIDDEN),
    text("3F-142l", ".env in an ignored directory", "dist-secret", "cat dist/x/.env")
        .setup("mkdir -p dist/x; echo dist-secret > dist/x/.env; echo dist > .gitignore")
        .expect(HIDDEN),
    text("3F-142m", ".env in a hidden directory", "hid-secret", "cat .hid/.env")
        .setup("mkdir .hid; echo hid-secret > .hid/.env")
        .expect(HIDDEN),
    text("3F-142n", ".env that is a directory", "dir-secret", "cat .env/key")
        .setup("rm .env; mkdir .env; echo dir-secret > .env/key")
        .expect(HIDDEN),
    text("3F-142o", ".env outside the workspace", "out-secret", "cat $OUT/.env")
        .setup("echo out-secret > $OUT/.env")
        .expect([
            ExpectedOutcome::Gap("patterns are searched for in the roots and at home"),
            HIDDEN[1],
            PATHLESS,
        ]),
    host("3F-142p", ".env changed", "echo x > .env").expect(HIDDEN),
    host("3F-142q", ".env removed", "rm -f .env").expect(HIDDEN),
    host("3F-142r", ".env replaced", "mv -f w .env").expect(HIDDEN),
    text("3F-145", "--deny-read of a file", "victim", "cat $OUT/v")
        .flags(&["--deny-read", "$OUT/v"])
        .expect(HIDDEN),
    text("3F-145b", "--deny-read of a directory", "victim", "cat $OUT/d/v2")
        .flags(&["--deny-read", "$OUT/d"])
        .expect(HIDDEN),
    text("3F-145c", "--deny-read of a glob", "int main", "cat src/main.c")
        .flags(&["--deny-read", "**/*.c"])
        .expect(HIDDEN),
    text("3F-145d", "--deny-read of a path by a link", "victim", "cat $OUT/d/v2")
        .flags(&["--deny-read", "$WS/dlnk/v2"])
        .expect(HIDDEN),
    text("3F-145e", "--deny-read in the workspace, its parent moved", "deny-secret", "mv a z; cat z/b/f")
        .setup("echo deny-secret > a/b/f")
        .flags(&["--deny-read", "$WS/a/b/f"])
        .expect(HIDDEN),
    text("3F-145f", "--deny-read in read-only mode", "victim", "cat $OUT/v")
        .flags(&["--deny-read", "$OUT/v", "--mode", "read-only"])
        .expect(HIDDEN),
    text("3F-145g", "--deny-read of a name with spaces", "space-secret", "cat 'a b/c d'")
        .setup("mkdir 'a b'; echo space-secret > 'a b/c d'")
        .flags(&["--deny-read", "$WS/a b/c d"])
        .expect(HIDDEN),
    text("3F-145h", "a default in read-only mode", "ssh-secret", "cat $H/.ssh/id_rsa")
        .flags(&["--mode", "read-only"])
        .expect(HIDDEN),
    good("3F-146", "what is not hidden is read", "rc", "cat $H/.config/app/rc").expect([HOLDS; 3]),
    good("3F-146b", "a new .env of its own", "mine", "mkdir q; echo mine > q/.env; cat q/.env")
        .expect([HOLDS; 3]),
];

const HIDDEN_WRITE: [ExpectedOutcome; 3] = HIDDEN;

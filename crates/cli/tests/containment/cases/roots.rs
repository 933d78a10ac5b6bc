//! Cases with read-only paths inside a writable root, further roots, and the read-only mode.

use super::{HIDDEN, HOLDS, INNER, META, PATHLESS, PATHS, PRIVATE};
use crate::suite::case::{AttackCase, BreachSign, ExpectedOutcome, good, host, text};

const READ_ONLY: &[&str] = &["--mode", "read-only"];
const KEPT: &[&str] = &["--read-only", "$WS/a/b"];
const TWO: &[&str] = &["--writable", "$OUT/repo"];
/// The workspace is the home.
const AT_HOME: &str = "export HOME=$PWD; exec \"$@\"";

pub(super) const CASES: &[AttackCase] = &[
    host("3B-60", "a missing .claude made", "mkdir .claude; echo x > .claude/settings.json").expect(INNER),
    host("3B-60b", "a missing .agents made as a file", "echo x > .agents").expect(INNER),
    host("3B-60c", "a missing .claude linked to elsewhere", "ln -s a .claude").expect(INNER),
    host("3B-60d", "something moved to a missing .claude", "mv a/b .claude || mv src .claude").expect(INNER),
    host(
        "3B-60e",
        "something exchanged with a missing .claude",
        "$P exchange src .claude || $P rename src .claude",
    )
    .expect(INNER),
    host("3B-65a", "configuration of editors and agents changed", "for f in .cursor/mcp.json .vscode/tasks.json .zed/x .idea/x .devcontainer/x .gemini/x .husky/x .mcp.json AGENTS.md CLAUDE.md; do echo evil >> $f; rm -f $f; mv $f moved; done; mv .vscode v; grep -rqs evil .cursor .vscode .zed .idea .devcontainer .gemini .husky .mcp.json AGENTS.md CLAUDE.md && echo TOOK")
        .setup("for d in .cursor .vscode .zed .idea .devcontainer .gemini .husky; do mkdir $d; echo mine > $d/x; done; echo mine > .cursor/mcp.json; echo mine > .vscode/tasks.json; for f in .mcp.json AGENTS.md CLAUDE.md; do echo mine > $f; done")
        .sees(BreachSign::Text("TOOK"))
        .expect(INNER),
    host("3B-65b", "a missing .mcp.json made", "echo evil > .mcp.json").sees(BreachSign::Made("$WS/.mcp.json")).expect(INNER),
    host("3B-65c", "a missing AGENTS.md made", "echo evil > x; mv x AGENTS.md").sees(BreachSign::Made("$WS/AGENTS.md")).expect(INNER),
    host("3B-65d", "a missing .vscode made", "mkdir -p .vscode; echo evil > .vscode/tasks.json").sees(BreachSign::Made("$WS/.vscode/tasks.json")).expect(INNER),
    host("3B-65e", "a missing .envrc made", "ln -s a/b .envrc || echo evil > .envrc").sees(BreachSign::Made("$WS/.envrc")).expect(INNER),
    host("3B-61", "a file of .toolgate changed", "echo x >> .toolgate/config.toml").expect(INNER),
    host("3B-61b", "a new file in .codex", "echo x > .codex/new").expect(INNER),
    host("3B-61c", "a mode in .codex", "chmod 777 .codex/config.toml").expect(INNER),
    host("3B-62", "a file of .toolgate removed", "rm -f .toolgate/config.toml").expect(INNER),
    host("3B-62b", ".toolgate moved away", "mv .toolgate t; mkdir .toolgate; echo x > .toolgate/config.toml")
        .expect(INNER),
    host("3B-62c", ".toolgate removed", "rm -rf .toolgate").expect(INNER),
    host("3B-63", ".claude is a link to elsewhere inside", "echo x > .claude/x; echo x > real/x")
        .setup("mkdir real; ln -s real .claude")
        .sees(BreachSign::Made("$WS/.claude/x"))
        .expect([
            ExpectedOutcome::Holds,
            ExpectedOutcome::Gap("Landlock cannot take away what lies in a writable directory"),
            PATHLESS,
        ]),
    host(
        "3B-63b",
        ".claude is a link to what is not there",
        "mkdir real; echo x > real/x; echo x > .claude/x",
    )
    .setup("ln -s real .claude")
    .sees(BreachSign::Made("$WS/.claude/x"))
    .expect([
        ExpectedOutcome::Holds,
        ExpectedOutcome::Gap("Landlock cannot take away what lies in a writable directory"),
        PATHLESS,
    ]),
    host(
        "3B-64",
        ".toolgate exchanged",
        "cp -r .toolgate e; echo x > e/config.toml; $P exchange e .toolgate",
    )
    .expect(INNER),
    host("3B-64b", "a hard link to a protected file", "ln .toolgate/config.toml l; echo x >> l")
        .expect(INNER),
    host("3B-64c", "a file moved over a protected one", "mv -f w .toolgate/config.toml").expect(INNER),
    host(
        "3B-64d",
        "the workspace itself moved",
        "cd ..; mv ws ws2 && mkdir -p ws/.toolgate && echo x > ws/.toolgate/config.toml",
    )
    .expect(PATHS),
    host("3B-68a", "a missing start-up file of a home that is the workspace", "echo evil > .zshenv").wrap(AT_HOME).sees(BreachSign::Made("$WS/.zshenv")).expect(INNER),
    host("3B-68b", "a program in ~/.local/bin", "echo evil > .local/bin/ls").setup("mkdir -p .local/bin").wrap(AT_HOME).sees(BreachSign::Made("$WS/.local/bin/ls")).expect(INNER),
    host("3B-68c", "a unit of systemd", "mkdir -p .config/systemd/user; echo evil > .config/systemd/user/e.service").wrap(AT_HOME).sees(BreachSign::Made("$WS/.config/systemd/user/e.service")).expect(INNER),
    host("3B-68d", "start-up files that are there", "for f in .bashrc .gitconfig .cargo/config.toml; do echo evil >> $f && echo TOOK; mv -f $f moved && echo TOOK; done").setup("mkdir .cargo; for f in .bashrc .gitconfig .cargo/config.toml; do echo mine > $f; done").wrap(AT_HOME).sees(BreachSign::Text("TOOK")).expect(INNER),
    good("3B-68e", "ordinary files of a home that is the workspace", "IN", "mkdir -p notes .config/app && echo x > notes/a && echo IN").wrap(AT_HOME).lands("test -e notes/a"),
    text("3B-68f", "a secret among more decoys than were once hidden", "SECRETX", "cat app/conf/.env").setup("mkdir -p app/conf; for i in $(seq 600); do mkdir d$i; echo x > d$i/.env; done; echo SECRETX > app/conf/.env").expect(HIDDEN),
    host("3B-66", ".toolgate through a link in the workspace", "ln -s .toolgate t; echo x >> t/config.toml")
        .expect(INNER),
    host("3B-66b", ".toolgate through /proc/self/cwd", "echo x >> /proc/self/cwd/.toolgate/config.toml")
        .expect(INNER),
    host(
        "3B-66c",
        ".toolgate by a directory opened before",
        "exec 5<.; echo x >> /proc/self/fd/5/.toolgate/config.toml",
    )
    .expect(INNER),
    host("3B-67", "hooks of a second root", "echo x > $OUT/repo/.git/hooks/pre-commit")
        .flags(TWO)
        .expect(INNER),
    host("3B-67b", ".toolgate of a second root", "mkdir $OUT/repo/.toolgate; echo x > $OUT/repo/.toolgate/x")
        .flags(TWO)
        .expect(INNER),
    host("3B-67c", "what lies beside a second root", "echo x > $OUT/new; echo x > $OUT/repo/../v")
        .flags(TWO)
        .expect(PATHS),
    host("3B-69", "a --read-only path written", "echo x > a/b/f").flags(KEPT).expect(INNER),
    host("3B-69b", "a --read-only path, new file", "echo x > a/b/new").flags(KEPT).expect(INNER),
    host("3B-69c", "the parent of a --read-only path moved", "mv a a2; mkdir -p a/b; echo evil > a/b/f")
        .flags(KEPT)
        .expect(INNER),
    host(
        "3B-69d",
        "the parent of a --read-only path exchanged",
        "mkdir -p e/b; echo evil > e/b/f; $P exchange e a",
    )
    .flags(KEPT)
    .expect(INNER),
    host("3B-69e", "a --read-only path removed", "rm -rf a").flags(KEPT).expect(INNER),
    host("3B-69f", "a --read-only path below a --writable one", "echo x > $OUT/d/new")
        .flags(&["--writable", "$OUT", "--read-only", "$OUT/d"])
        .expect(INNER),
    host("3B-69g", "a --read-only path that is not there yet", "mkdir kept; echo x > kept/x")
        .flags(&["--read-only", "$WS/kept"])
        .sees(BreachSign::Made("$WS/kept/x"))
        .expect(INNER),
    host("3B-69h", "a --read-only path by a link", "echo x > a/b/f && echo written")
        .setup("ln -s a/b kept")
        .flags(&["--read-only", "$WS/kept"])
        .sees(BreachSign::Text("written"))
        .control("echo written")
        .expect(INNER),
    host(
        "3B-69i",
        "a --read-only path around a --writable one",
        "echo x > a/b/new; echo x > a/x; mv a z; rm -rf a/f",
    )
    .flags(&["--read-only", "$WS/a", "--writable", "$WS/a/b"])
    .control("echo x > a/x")
    .expect(INNER),
    host("3A-47", "read-only mode: a new file", "echo x > new").flags(READ_ONLY).expect(PATHS),
    host("3A-47b", "read-only mode: a file changed", "echo x >> w").flags(READ_ONLY).expect(PATHS),
    host("3A-47c", "read-only mode: a directory", "mkdir new").flags(READ_ONLY).expect(PATHS),
    host("3A-47d", "read-only mode: a pipe", "mkfifo new").flags(READ_ONLY).expect(PATHS),
    host("3A-47e", "read-only mode: a link", "ln -s x new").flags(READ_ONLY).expect(PATHS),
    host("3A-47f", "read-only mode: a rename", "mv w w2").flags(READ_ONLY).expect(PATHS),
    host("3A-47g", "read-only mode: a mode", "$P chmod w 511").flags(READ_ONLY).expect(META),
    host("3A-47h", "read-only mode: times", "$P utime w").flags(READ_ONLY).expect(META),
    host("3A-47i", "read-only mode: removal", "rm -f w").flags(READ_ONLY).expect(PATHS),
    host("3A-47j", "read-only mode: the index of git", "echo x > .git/index; git commit --allow-empty -qm x")
        .flags(READ_ONLY)
        .expect(PATHS),
    host("3A-47k", "read-only mode: a file outside", "echo x > $OUT/new").flags(READ_ONLY).expect(PATHS),
    host("3A-47l", "read-only mode with a --writable root: the workspace", "echo x > new")
        .flags(&["--mode", "read-only", "--writable", "$OUT/d"])
        .expect(PATHS),
    good(
        "3A-48",
        "two roots: a file moved from one to the other",
        "moved",
        "mv w $OUT/repo/w2 && [ -f $OUT/repo/w2 ] && echo moved",
    )
    .flags(&["--writable", "$D"])
    .sees(BreachSign::Nothing),
    good("3A-47z", "read-only mode: reading", "int main", "cat src/main.c")
        .flags(READ_ONLY)
        .expect([HOLDS; 3]),
    good("3A-47y", "read-only mode: a private /tmp", "kept", "echo kept > /tmp/$N; cat /tmp/$N; rm /tmp/$N")
        .flags(READ_ONLY)
        .expect([HOLDS, PRIVATE[1], HOLDS]),
];

//! Workloads in unusual workspaces: odd paths, links, many files, two writable directories, read-only and full access.

use crate::workload::Workload;

/// The work that is done in every place.
const WORK: &str = r#"repo .; echo 2 >>a.txt; git commit -qam second
mkdir -p d; echo x >d/x; mv d/x y; ln y z; ln -s y s
python3 -c 'import os, sqlite3; sqlite3.connect("t.db").execute("create table t(x)"); os.getcwd()'
printf '#!/bin/sh\necho ran\n' >run; chmod +x run; ./run; "$PWD/run"; is "$(pwd -P)" "$(cd "$WS"; pwd -P)"
t=$(mktemp -p .); rm "$t"; f=$(mktemp); cp y "$f"; rm "$f""#;
const LEFT: &str = r#"is "$(cat y z s)" $'x\nx\nx'; is "$(subjects)" $'second\nfirst'; sound; ./run"#;

pub(crate) const ALL: &[Workload] = &[
    Workload::new("workspace_below_tmp", &[WORK]).below_tmp().after(LEFT),
    Workload::new("workspace_below_home", &[WORK]).at("home/project").after(LEFT),
    Workload::new("workspace_is_home", &[WORK]).at("home").after(LEFT),
    Workload::new("workspace_with_spaces_and_unicode", &[WORK]).at("a dir/with 'ü' 日本 & $x").after(LEFT),
    Workload::new("workspace_with_odd_bytes", &[WORK]).at("new\nline \"and\" back\\slash\ttab").after(LEFT),
    Workload::new("workspace_far_below", &[WORK]).at("a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t").after(LEFT),
    Workload::new("workspace_named", &[r#"cd /; cd "$WS"; echo x >x"#, r#"echo y >y; basename "$PWD""#])
        .flags(&["--cwd", "$BASE/ws"])
        .after("test -e x; test -e y")
        .same_output(),
    Workload::new("workspace_through_a_link", &["echo x >x; repo .; cat link/../ws/x"])
        .flags(&["--cwd", "$BASE/link"])
        .before(r#"ln -s ws "$BASE/link"; ln -s . link"#)
        .after("test -e x; sound"),
    Workload::new(
        "two_writable_directories",
        &[r#"echo x >x; mv x "$BASE/second/x"; cp "$BASE/second/x" y; mkdir "$BASE/second/e"
          mv "$BASE/second/e" "$BASE/second/f" .; mkdir d; echo x >d/x; mv d "$BASE/second/"
          python3 -c 'import shutil, sys; shutil.move("g", sys.argv[1])' "$BASE/second/g"
          cd "$BASE/second"; repo r; ln x z"#],
    )
    .flags(&["--writable", "$BASE/second"])
    .before(r#"mkdir "$BASE/second" g; echo f >"$BASE/second/f"; echo g >g/g"#)
    .after(
        r#"test -d e; test -e y; test -e f; cd "$BASE/second"; test -e x; test -e d/x; test -e g/g
        clean r"#,
    ),
    Workload::new(
        "reading_outside",
        &[r#"cat "$BASE/outside/f"; ls "$BASE/outside"; "$BASE/outside/run"; cp "$BASE/outside/f" .
          grep -r f "$BASE/outside" | wc -l; cat ~/.gitconfig | wc -l"#],
    )
    .before(
        r#"mkdir "$BASE/outside"; cd "$BASE/outside"; echo f >f
        printf '#!/bin/sh\necho ran\n' >run; chmod +x run"#,
    )
    .same_output(),
    Workload::new(
        "read_only_mode",
        &[r#"cat f; grep -r x . | sort; find . -type f | sort; wc -l <f; python3 -c 'print(open("f").read())'
          f=$(mktemp); echo t >"$f"; cat "$f"; rm "$f"; echo x >/dev/null; diff f f; cat <<<here
          node -p 1+1; sort f | tee /dev/null"#],
    )
    .flags(&["--mode", "read-only"])
    .before("printf 'x\\ny\\n' >f; mkdir d; echo x >d/g")
    .same_output(),
    Workload::new("full_access", &[r#"echo x >"$BASE/x"; echo y >y; cat "$BASE/x"; id -u"#])
        .flags(&["--mode", "danger-full-access"])
        .after(r#"test -e "$BASE/x"; rm "$BASE/x""#)
        .same_output(),
    Workload::new(
        "many_files",
        &[r#"for i in {1..10}; do mkdir -p d$i/a/b; for j in {1..20}; do echo $i >d$i/a/b/$j; done; done
          find . -type f | wc -l; rm -r d*"#],
    )
    .same_output(),
    Workload::new(
        "links_that_lead_nowhere_or_out",
        &[r#"ls -l >/dev/null; cat out; rm out; ln -s /etc/os-release release; cat release >/dev/null
          fails cat nowhere 2>/dev/null; rm nowhere; ln -s ../outside2 o2"#],
    )
    .before(r#"echo outside >"$BASE/o"; ln -s "$BASE/o" out; ln -s /nowhere nowhere"#)
    .same_output(),
    Workload::new("the_users_own_home", &[EVERYTHING])
        .shelf(&["npm"])
        .real_home()
        .after(r#"is "$(hello/target/debug/hello)" 'Hello, world!'
            clean hello; node -e 'require("keep-tiny")'"#),
];

/// Uses the contents of a developer's home: a toolchain behind `rustup`, caches, settings.
const EVERYTHING: &str = r#"cargo new -q --vcs git hello; cd hello; is "$(cargo run -q --offline)" 'Hello, world!'
git add -A; git -c user.name=Keep -c user.email=keep@example.org commit -qm hello; cd ..
echo '{}' >package.json; npm install --offline --silent --no-audit --no-fund "$SHELF/npm/keep-tiny-1.0.0.tgz"
is "$(python3 -c 'print(1 + 1)')" 2"#;

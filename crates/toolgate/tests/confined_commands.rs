//! Tests commands in the sandbox, called as a model would: git, network, `/tmp`, secrets, limits and cleanup.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and make and look at what others would"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use policy::{
    Confinement, Denial, Enforcement, EnforcementGap, HostRules, NetworkPolicy, ResourceLimits, SandboxPolicy,
};
use serde_json::{Value, json};
use testkit::trials;
use tokio::runtime::Runtime;
use toolgate::{ToolOutput, Toolgate};

trials![
    a_command_is_confined_and_says_so,
    file_tools_find_what_commands_wrote_to_their_tmp,
    what_git_does_lands_and_what_it_must_not_does_not,
    a_rebase_lands_when_it_is_finished_in_one_call,
    the_user_s_own_commits_are_seen_between_calls,
    a_commit_in_a_session_lands_when_it_yields,
    a_server_of_one_call_is_reached_by_the_next,
    a_connection_that_is_refused_has_a_name,
    a_host_is_reached_by_who_was_given_it,
    a_socket_is_reached_by_name_only,
    secrets_are_hidden_from_commands_too,
    what_the_host_replaces_stays_closed,
    a_root_does_not_become_a_repository_of_the_command,
    a_submodule_does_not_become_a_repository_of_the_command,
    a_terminal_has_a_name_in_there,
    many_at_a_time,
    limits_hold,
    nothing_is_left_in_the_workspace,
    what_cannot_be_enforced_is_refused,
    an_escalation_changes_nothing,
    a_thousand_repositories_need_no_higher_limit_of_open_files,
];

/// A tool system over a directory that is not below `/tmp`.
struct ConfinedBench {
    toolgate: Toolgate,
    directory: tempfile::TempDir,
    runtime: Runtime,
}

impl ConfinedBench {
    fn new() -> Self {
        Self::with(Confinement::default())
    }

    fn with(confinement: Confinement) -> Self {
        let directory = testkit::visible_tempdir();
        let toolgate = Toolgate::at(directory.path())
            .with_tools()
            .sandbox(SandboxPolicy::WorkspaceWrite)
            .confinement(confinement)
            .approver(testkit::TestApprover::approving_confined())
            .build()
            .unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        Self { toolgate, directory, runtime }
    }

    /// Returns whether the workspace has a name with this prefix.
    fn has(&self, begin: &str) -> bool {
        let path = self.path(begin);
        let begin = path.file_name().unwrap().to_str().unwrap();
        let mut names = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
        names.any(|name| name.to_str().unwrap().starts_with(begin))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.runtime.block_on(self.toolgate.call(tool, arguments))
    }

    fn sh(&self, script: &str) -> String {
        let answer = self.call(
            "exec_command",
            json!({ "cmd": script, "shell": "bash", "login": false, "yield_time_ms": 30_000 }),
        );
        let text = answer.joined_text();
        assert!(answer.success, "{script}: {text}");
        text.split_once("Output:\n").unwrap().1.to_owned()
    }

    /// Runs the user's own git, outside the sandbox.
    fn git(&self, arguments: &str) -> String {
        let out = Command::new("sh")
            .args(["-c", &format!("git {arguments}")])
            .current_dir(self.directory.path())
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
            .output()
            .unwrap();
        assert!(out.status.success(), "git {arguments}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    fn repository(&self) {
        self.git("init -q -b main .");
        self.git("config user.email a@b.c");
        self.git("config user.name me");
        fs::write(self.path("f"), "1\n").unwrap();
        self.git("add f");
        self.git("commit -q -m one");
    }
}

fn a_command_is_confined_and_says_so() {
    let bench = ConfinedBench::new();
    let outside = bench.directory.path().parent().unwrap().join(format!("outside-{}", std::process::id()));
    let script = format!("echo in > in; echo out > {}", outside.display());
    let answer = bench.call("shell", json!({ "command": ["sh", "-c", script] }));
    assert!(!answer.success && !outside.exists());
    assert_eq!(fs::read_to_string(bench.path("in")).unwrap(), "in\n");
    assert_eq!(answer.facts.enforcement, Some(Enforcement::Full));
    let structured = answer.structured.unwrap();
    assert_eq!(structured["sandbox"]["enforcement"], "full");
    let perhaps = structured["sandbox"]["perhaps_refused"][0].as_str().unwrap().to_owned();
    assert!(perhaps.starts_with(&format!("`{}` may not be changed", outside.display())), "{perhaps}");
}

fn file_tools_find_what_commands_wrote_to_their_tmp() {
    let bench = ConfinedBench::new();
    let name = format!("toolgate-{}", std::process::id());
    bench.sh(&format!(
        "echo hello > /tmp/{name}; echo there > /var/tmp/{name}; mkdir /tmp/d; echo $TMPDIR > /tmp/d/t"
    ));
    let read = |path: String| bench.call("read_file", json!({ "path": path })).joined_text();
    assert_eq!(read(format!("/tmp/{name}")), "1| hello");
    assert_eq!(read(format!("/var/tmp/{name}")), "1| there");
    assert_eq!(read("/tmp/d/t".to_owned()), "1| /tmp");
    assert!(!Path::new("/tmp").join(&name).exists());
    let listed = bench.call("list_dir", json!({ "path": "/tmp" })).joined_text();
    assert!(listed.contains(&name), "{listed}");
    let found = bench.call("grep_files", json!({ "pattern": "hel+o", "path": "/tmp" })).joined_text();
    assert!(found.contains("hello"), "{found}");
    assert_eq!(
        bench.call("exec_command", json!({ "cmd": "pwd", "workdir": "/tmp/d" })).joined_text().lines().last(),
        Some("/tmp/d")
    );
}

fn what_git_does_lands_and_what_it_must_not_does_not() {
    let bench = ConfinedBench::new();
    bench.repository();
    let config = fs::read_to_string(bench.path(".git/config")).unwrap();
    bench.sh("echo 2 >> f; git commit -qam two; git branch side; git stash list; echo 3 >> f; git stash -q; git tag v1");
    assert_eq!(bench.git("log --format=%s"), "two\none\n");
    assert_eq!(bench.git("branch --format='%(refname:short)'"), "main\nside\n");
    assert_eq!(bench.git("stash list").lines().count(), 1);
    bench.sh("git stash pop -q; test $(wc -l < f) = 3");
    let told = bench.call(
        "shell",
        json!({ "command": ["sh", "-c", "git config user.name other; git config core.fsmonitor 'touch /pwned'; echo x > .git/hooks/pre-commit; cp -r .git evil; echo ../evil > .git/commondir"] }),
    );
    assert!(told.joined_text().contains("Changed in the sandbox only"), "{}", told.joined_text());
    // The session keeps its changes without reporting them again. The sleep covers a coarse file-system clock.
    std::thread::sleep(std::time::Duration::from_millis(100));
    let again =
        bench.call("shell", json!({ "command": ["git", "config", "--file", ".git/config", "user.name"] }));
    assert!(again.joined_text().ends_with("other\n"), "{}", again.joined_text());
    assert!(!again.joined_text().contains("sandbox only"), "{}", again.joined_text());
    assert_eq!(fs::read_to_string(bench.path(".git/config")).unwrap(), config);
    for name in ["commondir", "hooks/pre-commit"] {
        assert!(!bench.path(".git").join(name).exists(), "{name}");
    }
    assert_eq!(bench.git("fsck --no-progress --no-dangling"), "");
}

fn a_rebase_lands_when_it_is_finished_in_one_call() {
    let bench = ConfinedBench::new();
    bench.repository();
    bench.git("checkout -q -b topic");
    fs::write(bench.path("f"), "topic\n").unwrap();
    bench.git("commit -q -a -m topic");
    bench.git("checkout -q main");
    fs::write(bench.path("f"), "main\n").unwrap();
    bench.git("commit -q -a -m main");
    bench.git("checkout -q topic");
    let stopped = bench.call("shell", json!({ "command": ["git", "rebase", "main"] }));
    assert!(!stopped.success);
    let note = "Unfinished, so not landed in .git: a rebase (rebase-merge). HEAD, index and branch are as before the command, \
        the working tree is not. Finish it in one command, or run it outside the sandbox";
    assert!(stopped.joined_text().contains(note), "{}", stopped.joined_text());
    assert_eq!(bench.git("log --format=%s"), "topic\none\n");
    assert_eq!(bench.git("symbolic-ref HEAD"), "refs/heads/topic\n");
    let seen = bench.sh("test ! -e .git/rebase-merge; git status --porcelain");
    assert_eq!(seen, bench.git("status --porcelain"));
    bench.sh("git checkout -q -f; git rebase main; echo both > f; git add f; GIT_EDITOR=true git rebase --continue");
    assert_eq!(bench.git("log --format=%s"), "topic\nmain\none\n");
    assert_eq!(bench.git("status --porcelain"), "");
}

fn the_user_s_own_commits_are_seen_between_calls() {
    let bench = ConfinedBench::new();
    bench.repository();
    for round in 0..4 {
        assert_eq!(bench.sh("git log --format=%s | wc -l").trim(), (2 * round + 1).to_string());
        fs::write(bench.path("f"), format!("user {round}\n")).unwrap();
        bench.git(&format!("commit -q -a -m user{round}"));
        assert_eq!(bench.sh("git status --porcelain; git log --format=%s -1"), format!("user{round}\n"));
        bench.sh(&format!("echo model {round} > f; git commit -q -a -m model{round}"));
        assert_eq!(bench.git("log --format=%s -1"), format!("model{round}\n"));
    }
    // Commands that only read, so that one layer serves them all.
    for round in 0..3 {
        assert_eq!(
            bench.sh("cat .git/refs/heads/side 2>&1 | tail -c 10; ls .git/refs/heads"),
            "directory\nmain\n"
        );
        bench.git("branch side");
        assert_eq!(
            bench.sh("ls .git/refs/heads; git rev-parse side"),
            format!("main\nside\n{}", bench.git("rev-parse main"))
        );
        bench.git("branch -D side");
        fs::write(bench.path(&format!("ignored{round}")), "").unwrap();
        assert_eq!(bench.sh("git status --porcelain"), format!("?? ignored{round}\n"));
        let mut exclude = fs::read_to_string(bench.path(".git/info/exclude")).unwrap();
        exclude.push_str(&format!("/ignored{round}\n"));
        fs::write(bench.path(".git/info/exclude"), exclude).unwrap();
        assert_eq!(bench.sh("git status --porcelain"), "");
    }
}

fn a_commit_in_a_session_lands_when_it_yields() {
    let bench = ConfinedBench::new();
    bench.repository();
    let begun =
        bench.call("exec_command", json!({ "cmd": "bash --norc", "tty": true, "yield_time_ms": 500 }));
    let id = begun.structured.unwrap()["session_id"].as_u64().unwrap();
    let chars = "echo 2 >> f; git commit -qam 'from a session'; echo do''ne\n";
    // ends: when the answer contains the word that the shell writes last
    let mut seen = bench
        .call("write_stdin", json!({ "session_id": id, "chars": chars, "yield_time_ms": 500 }))
        .joined_text();
    while !seen.contains("done") {
        seen = bench
            .call("write_stdin", json!({ "session_id": id, "chars": "", "yield_time_ms": 500 }))
            .joined_text();
    }
    bench.call("write_stdin", json!({ "session_id": id, "chars": "\n", "yield_time_ms": 300 }));
    assert_eq!(bench.git("log --format=%s -1"), "from a session\n");
    assert_eq!(bench.sh("git log --format=%s -1"), "from a session\n");
    assert!(bench.call("kill_session", json!({ "session_id": id })).success);
    assert_eq!(bench.git("fsck --no-progress --no-dangling"), "");
}

fn a_server_of_one_call_is_reached_by_the_next() {
    let bench = ConfinedBench::new();
    let script = "import http.server, functools\ns = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\nopen('port','w').write(str(s.server_port))\ns.serve_forever()";
    fs::write(bench.path("serve.py"), script).unwrap();
    let begun = bench.call("exec_command", json!({ "cmd": "python3 serve.py", "yield_time_ms": 250 }));
    assert!(begun.success, "{}", begun.joined_text());
    bench.sh("until [ -s port ]; do sleep 0.05; done; python3 -c \"import urllib.request as u; print(u.urlopen('http://localhost:' + open('port').read() + '/serve.py').status)\" | grep 200");
    // The server is not reachable from outside.
    let port: u16 = fs::read_to_string(bench.path("port")).unwrap().parse().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

fn a_connection_that_is_refused_has_a_name() {
    let bench = ConfinedBench::new();
    let script = "import socket; socket.create_connection(('192.0.2.7', 443), 5)";
    let answer = bench.call("shell", json!({ "command": ["python3", "-c", script] }));
    assert!(!answer.success);
    let denial =
        Denial::MayNotConnect { target: "192.0.2.7:443".to_owned(), network: NetworkPolicy::Loopback };
    assert_eq!(answer.facts.denials, std::slice::from_ref(&denial));
    assert!(
        answer.joined_text().contains(&format!("Refused by the sandbox: {denial}\n")),
        "{}",
        answer.joined_text()
    );
    // A host name is reported as requested; the requests of the previous command are not reported again.
    for host in ["registry.example.org", "other.example.com"] {
        let script = format!("import socket; socket.create_connection(('{host}', 443), 5)");
        let answer = bench.call("shell", json!({ "command": ["python3", "-c", script] }));
        let denial = Denial::MayNotConnect { target: host.to_owned(), network: NetworkPolicy::Loopback };
        assert_eq!(answer.facts.denials, [denial], "{}", answer.joined_text());
    }
}

fn a_host_is_reached_by_who_was_given_it() {
    let [first, second] = [0, 1].map(|_| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // Ends with the tests.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let _hung_up = std::io::Write::write_all(&mut stream.unwrap(), b"hello");
            }
        });
        port
    });
    let hosts = HostRules {
        allow: vec!["127.0.0.1".parse().unwrap()],
        forbid: vec![format!("127.0.0.1:{second}").parse().unwrap()],
    };
    let ask = |bench: &ConfinedBench, port: u16| {
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && cat <&3");
        bench.call("shell", json!({ "command": ["bash", "-c", script] }))
    };
    let given = ConfinedBench::with(Confinement { hosts: hosts.clone(), ..Confinement::default() });
    let off = ConfinedBench::with(Confinement {
        hosts: hosts.clone(),
        network: NetworkPolicy::Off,
        ..Confinement::default()
    });
    for bench in [&given, &off] {
        assert!(ask(bench, first).joined_text().contains("hello"));
        assert!(!ask(bench, second).joined_text().contains("hello"), "it is forbidden");
    }
    let denial = Denial::MayNotConnect { target: format!("127.0.0.1:{second}"), network: NetworkPolicy::Off };
    assert_eq!(ask(&off, second).facts.denials, [denial]);
    assert!(!ask(&ConfinedBench::new(), first).joined_text().contains("hello"), "that host is not allowed");
    // With the network on, single hosts cannot be blocked, and the gap is reported.
    let on = ConfinedBench::with(Confinement { hosts, network: NetworkPolicy::On, ..Confinement::default() });
    let answer = ask(&on, second);
    assert!(answer.joined_text().contains("hello"));
    assert_eq!(answer.facts.enforcement, Some(Enforcement::Partial(vec![EnforcementGap::ForbiddenHosts])));
}

fn a_socket_is_reached_by_name_only() {
    // A short path: the address of a unix socket is limited to about a hundred bytes.
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let (named, unnamed) = (outside.path().join("n"), outside.path().join("u"));
    let listeners = [&named, &unnamed].map(|path| std::os::unix::net::UnixListener::bind(path).unwrap());
    let sockets = vec![named.to_string_lossy().into_owned()];
    let bench = ConfinedBench::with(Confinement { sockets, writable: vec![], ..Confinement::default() });
    let connect = |path: &Path| {
        let script =
            format!("import socket; s = socket.socket(socket.AF_UNIX); s.connect('{}')", path.display());
        bench.call("shell", json!({ "command": ["python3", "-c", script] }))
    };
    let answer = connect(&named);
    assert!(answer.success, "{}", answer.joined_text());
    assert!(!connect(&unnamed).success);
    drop(listeners);
    bench.sh("python3 -c \"import socket,threading; s=socket.socket(socket.AF_UNIX); s.bind('own'); s.listen(); c=socket.socket(socket.AF_UNIX); c.connect('own'); a,_=s.accept(); c.send(b'x'); assert a.recv(1)==b'x'\"");
}

fn secrets_are_hidden_from_commands_too() {
    let bench = ConfinedBench::new();
    fs::write(bench.path(".env"), "TOKEN=1\n").unwrap();
    fs::create_dir_all(bench.path("sub")).unwrap();
    fs::write(bench.path("sub/.env.local"), "TOKEN=2\n").unwrap();
    for script in [
        "cat .env", "cat sub/.env.local", "mv sub x; cat x/.env.local", "ln .env h; cat h",
        "cp .env c; cat c",
    ] {
        let answer = bench.call("shell", json!({ "command": ["sh", "-c", script] }));
        assert!(!answer.joined_text().contains("TOKEN"), "{script}: {}", answer.joined_text());
    }
    assert_eq!(fs::read_to_string(bench.path(".env")).unwrap(), "TOKEN=1\n");
    assert!(!bench.call("read_file", json!({ "path": ".env" })).success);
}

fn what_the_host_replaces_stays_closed() {
    let bench = ConfinedBench::new();
    bench.repository();
    for (path, text) in [(".env", "old"), (".claude/settings", "{}"), ("conf/id_rsa", "key")] {
        fs::create_dir_all(bench.path(path).parent().unwrap()).unwrap();
        fs::write(bench.path(path), text).unwrap();
    }
    let fails = |script: &str| {
        let answer = bench.call("shell", json!({ "command": ["sh", "-c", script] }));
        assert!(!answer.success, "{script}: {}", answer.joined_text());
    };
    fails("cat .env");
    // Renaming a parent directory would expose it under another name.
    fails("mv conf conf2");
    // As an editor saves: write a new file, then rename it.
    fs::write(bench.path(".env.new"), "new").unwrap();
    fs::rename(bench.path(".env.new"), bench.path(".env")).unwrap();
    fails("cat .env");
    // As `git checkout` and `git clean` do.
    fs::remove_dir_all(bench.path(".claude")).unwrap();
    fails("mkdir .claude/x");
    fs::create_dir_all(bench.path(".claude")).unwrap();
    fs::write(bench.path(".claude/settings"), "{}").unwrap();
    fails("echo x > .claude/settings");
    fs::remove_dir(bench.path(".codex")).unwrap();
    fails("mkdir .codex/x");
    fails("rmdir .codex");
    // A re-created repository.
    fs::remove_dir_all(bench.path(".git")).unwrap();
    bench.repository();
    fails("git config core.fsmonitor x; grep fsmonitor .git/config && exit 1");
    assert!(!fs::read_to_string(bench.path(".git/config")).unwrap().contains("fsmonitor"));
    bench.sh("echo 2 >> f; git commit -qam two");
    assert_eq!(bench.git("log --format=%s"), "two\none\n");
    let ConfinedBench { directory, toolgate, runtime } = bench;
    runtime.block_on(toolgate.close());
    drop((toolgate, runtime));
    assert!(!directory.path().join(".codex").exists(), "what held a place is gone with the session");
}

fn a_root_does_not_become_a_repository_of_the_command() {
    let bench = ConfinedBench::new();
    let script = "mkdir objects refs; echo ref: refs/heads/main > HEAD; printf '[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = touch pwned; false\n' > config";
    let answer = bench.call("shell", json!({ "command": ["sh", "-c", script] }));
    assert!(answer.joined_text().contains("was renamed"), "{}", answer.joined_text());
    let status = Command::new("git").arg("status").current_dir(bench.directory.path()).output().unwrap();
    assert!(!bench.path("pwned").exists(), "{}", String::from_utf8_lossy(&status.stdout));
    assert!(bench.has("HEAD.untrusted-"));
}

fn a_submodule_does_not_become_a_repository_of_the_command() {
    let bench = ConfinedBench::new();
    bench.repository();
    // The gitlink in one command; a repository in its place in the next.
    bench.sh("git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub");
    assert!(bench.git("ls-files -s sub").starts_with("160000"));
    bench.sh("git init -q sub; git -C sub commit -q --allow-empty -m x; git -C sub config core.fsmonitor 'touch ../pwned; false'");
    bench.git("status");
    assert!(!bench.path("pwned").exists() && bench.has("sub/.git.untrusted-"));
}

fn a_terminal_has_a_name_in_there() {
    let bench = ConfinedBench::new();
    let answer = bench.call(
        "exec_command",
        json!({ "cmd": "tty; stty size; echo x > /dev/tty", "tty": true, "rows": 30, "cols": 90 }),
    );
    let text = answer.joined_text();
    assert!(text.contains("/dev/pts/") && text.contains("30 90") && text.ends_with("x\n"), "{text}");
}

fn many_at_a_time() {
    let bench = ConfinedBench::new();
    bench.repository();
    let answers = bench.runtime.block_on(async {
        let call = |n: usize| {
            let script = format!("git log --format=%s; echo {n} > out{n}; sleep 0.0{}; cat out{n}", n % 10);
            bench.toolgate.call("exec_command", json!({ "cmd": script, "yield_time_ms": 30_000 }))
        };
        let mut all = Vec::new();
        for n in 0..24 {
            all.push(call(n));
        }
        let mut answers = Vec::new();
        for call in all {
            answers.push(call.await.joined_text());
        }
        answers
    });
    for (n, answer) in answers.iter().enumerate() {
        assert!(answer.ends_with(&format!("one\n{n}\n")), "{answer}");
    }
}

fn limits_hold() {
    let limits = ResourceLimits {
        processes: Some(60),
        file_size: Some(1 << 20),
        open_files: Some(32),
        memory: Some(256 << 20),
        ..ResourceLimits::default()
    };
    let bench = ConfinedBench::with(Confinement { limits, ..Confinement::default() });
    let fails = |script: &str| {
        let answer = bench.call("shell", json!({ "command": ["bash", "-c", script], "timeout_ms": 30_000 }));
        assert!(!answer.success, "{script}: {}", answer.joined_text());
    };
    fails("head -c 2000000 /dev/zero > big");
    assert!(fs::metadata(bench.path("big")).unwrap().len() <= 1 << 20);
    fails("python3 -c 'l=[open(\"/dev/null\") for _ in range(100)]'");
    fails("python3 -c 'x = bytearray(1 << 30)'");
    // Pids below 300 are given out only once, so that many more processes can exist. Kernels before 6.14 have no
    // limit per namespace; then this is a gap, and it is reported.
    let forked = bench.call("shell", json!({ "command": ["bash", "-c", "for i in $(seq 500); do sleep 5 & done; wait"], "timeout_ms": 20_000 }));
    let gaps = match forked.facts.enforcement.clone() {
        Some(Enforcement::Partial(gaps)) => gaps,
        Some(Enforcement::Full) => Vec::new(),
        other => panic!("{other:?}"),
    };
    if !gaps.contains(&policy::EnforcementGap::ProcessLimit) {
        let text = forked.joined_text();
        assert!(text.contains("Resource temporarily unavailable"), "{text}");
    }
}

fn nothing_is_left_in_the_workspace() {
    let bench = ConfinedBench::new();
    bench.sh(
        "ls -a | grep -q '^.codex$'; ! mkdir .codex/x; ! touch .agents/x; ! mv .claude y; ! rmdir .toolgate",
    );
    let directory = bench.directory.path().to_owned();
    assert!(directory.join(".codex").exists());
    let ConfinedBench { toolgate, directory: held, runtime } = bench;
    runtime.block_on(toolgate.close());
    drop(toolgate);
    drop(runtime);
    let left: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    drop(held);
}

fn what_cannot_be_enforced_is_refused() {
    let confinement = Confinement {
        strongest_tier: policy::Tier::Seccomp,
        weakest_tier: policy::MinimumTier(policy::Tier::Namespaces),
        ..Confinement::default()
    };
    let answer = ConfinedBench::with(confinement).call("shell", json!({ "command": ["true"] }));
    assert!(!answer.success);
    let text = answer.joined_text();
    assert!(text.contains("nothing is run: the policy demands at least namespaces"), "{text}");
    // Unless the policy accepts no enforcement; the answer says so.
    let confinement = Confinement {
        strongest_tier: policy::Tier::Nothing,
        weakest_tier: policy::MinimumTier(policy::Tier::Nothing),
        ..Confinement::default()
    };
    let answer = ConfinedBench::with(confinement).call("shell", json!({ "command": ["true"] }));
    assert_eq!(
        answer.facts.enforcement,
        Some(Enforcement::None { why: policy::UnenforcedReason::Unsupported })
    );
}

fn an_escalation_changes_nothing() {
    let bench = ConfinedBench::new();
    let answer = bench.call(
        "shell",
        json!({ "command": ["touch", "/etc/toolgate-was-here"], "sandbox_permissions": "require_escalated", "justification": "please" }),
    );
    assert!(!answer.success && !Path::new("/etc/toolgate-was-here").exists());
}

fn a_thousand_repositories_need_no_higher_limit_of_open_files() {
    let bench = ConfinedBench::new();
    for number in 0..1100 {
        let git = bench.path(&format!("r{number}/.git"));
        for name in ["objects", "refs"] {
            fs::create_dir_all(git.join(name)).unwrap();
        }
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }
    let limit = Command::new("sh").args(["-c", "ulimit -n"]).output().unwrap().stdout;
    assert_eq!(bench.sh("ulimit -n"), String::from_utf8(limit).unwrap());
}

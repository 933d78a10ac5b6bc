//! Tests the resource usage that is reported for a command.

use std::time::Duration;

use serde_json::json;
use tool::ProcessUsage;

use crate::harness::{CommandHarness, python_path};

fn usage(bench: &CommandHarness, script: &str) -> ProcessUsage {
    let answer =
        bench.call("shell", &json!({"command": [python_path(), "-c", script], "timeout_ms": 60_000}));
    assert!(answer.success, "{}", answer.joined_text());
    answer.facts.usage.unwrap()
}

const BUSY: &str = "import time\nwhile time.process_time() < 0.5: sum(range(100000))\n";

pub(crate) fn cpu_time_is_measured() {
    let bench = CommandHarness::new();
    let busy = usage(&bench, BUSY);
    assert!(
        busy.user + busy.system >= Duration::from_millis(500) && busy.user >= Duration::from_millis(250),
        "{busy:?}"
    );
    assert!(busy.wall >= Duration::from_millis(400) && busy.wall < Duration::from_secs(30), "{busy:?}");
    let idle = usage(&bench, "import time; time.sleep(0.6)");
    assert!(idle.wall >= Duration::from_millis(600) && idle.user < Duration::from_millis(300), "{idle:?}");
    // CPU time of child processes counts too, and of orphans.
    let child = format!("import subprocess, sys; subprocess.run([sys.executable, '-c', '''{BUSY}'''])");
    assert!(usage(&bench, &child).user >= Duration::from_millis(250));
    let orphan = format!("({{ {} -c '{BUSY}'; touch done; }} & )", python_path());
    let waited = "while [ ! -e done ]; do sleep 0.1; done";
    let answer = bench.start_script(&format!("{orphan}; {waited}"), &json!({"yield_time_ms": 60_000}));
    assert!(answer.facts.usage.unwrap().user >= Duration::from_millis(250), "{:?}", answer.facts.usage);
}

pub(crate) fn peak_memory_is_measured() {
    let bench = CommandHarness::new();
    const MB: u64 = 1 << 20;
    let large = usage(&bench, "x = b'x' * (150 << 20); del x");
    assert!(large.peak_memory >= 150 * MB && large.peak_memory < 300 * MB, "{large:?}");
    let small = usage(&bench, "pass");
    assert!(small.peak_memory > MB && small.peak_memory < 50 * MB, "{small:?}");
    let piped = bench.run_script("head -c 50M /dev/zero | tail -c 1 | wc -c");
    assert!(piped.facts.usage.unwrap().peak_memory > MB);
}

pub(crate) fn output_bytes_are_counted() {
    let bench = CommandHarness::new();
    let of = |script: &str| {
        let usage = bench.run_script(script).facts.usage.unwrap();
        (usage.stdout, usage.stderr)
    };
    assert_eq!(of("true"), (0, 0));
    assert_eq!(of("printf abc; printf de >&2"), (3, 2));
    assert_eq!(of("head -c 3000000 /dev/zero; head -c 2000000 /dev/zero >&2"), (3_000_000, 2_000_000));
    let answer = bench.start_script("echo abc", &json!({"tty": true, "yield_time_ms": 30_000}));
    assert_eq!(answer.facts.usage.map(|usage| (usage.stdout, usage.stderr)), Some((5, 0)));
    // The counts cover all calls together when a session is read piece by piece.
    let id = bench.start_background("echo abc; read x; echo de; read x", &json!({"stdin": true}));
    let answer = bench.type_in(id, "\n");
    assert_eq!(answer.facts.usage.unwrap().stdout, 7);
}

pub(crate) fn ended_run_reports_its_usage() {
    let bench = CommandHarness::new();
    let arguments = json!({"command": [python_path(), "-c", "while True: pass"], "timeout_ms": 1500});
    let usage = bench.call("shell", &arguments).facts.usage.unwrap();
    assert!(
        usage.user >= Duration::from_millis(100) && usage.wall >= Duration::from_millis(1500),
        "{usage:?}"
    );
    let id = bench.start_background(
        &format!("exec {} -c 'while True: pass'", python_path()),
        &json!({"yield_time_ms": 1500}),
    );
    let usage = bench.call("kill_session", &json!({"session_id": id})).facts.usage.unwrap();
    assert!(
        usage.user >= Duration::from_millis(100) && usage.wall >= Duration::from_millis(1500),
        "{usage:?}"
    );
}

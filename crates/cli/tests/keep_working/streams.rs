//! Workloads that check that input, output, terminals, signals and exit codes pass through the sandbox unchanged.

use crate::workload::{StandardStreams, Workload};

pub(crate) const ALL: &[Workload] = &[
    Workload::new("exit_code", &["exit 37"]).ends_with(37),
    Workload::new("exit_code_of_a_killed_program", &["kill -TERM $$; sleep 10"]).ends_with(143),
    Workload::new("exit_code_of_a_crash", &["ulimit -c 0; kill -SEGV $$; sleep 10"]).ends_with(139),
    Workload::new("exit_code_of_a_missing_program", &["exec no-such-program 2>/dev/null"]).ends_with(127),
    Workload::new("input_passes_through", &[r#"read -r first; echo "first: $first"; cat"#])
        .streams(StandardStreams::Input("one\ntwo\nthree\n"))
        .same_output(),
    Workload::new(
        "no_input_is_an_end",
        &["cat; wc -c; python3 -c 'import sys; print(repr(sys.stdin.read()))'"],
    )
    .same_output(),
    Workload::new("much_output", &["head -c 3000000 /dev/zero | tr '\\0' x; echo; echo err >&2; seq 20000"])
        .same_output(),
    Workload::new("a_reader_that_stops", &["set +o pipefail; yes | head -n 1; seq 100000 | head -n 1"])
        .same_output(),
    Workload::new(
        "output_to_a_file",
        &["echo one; sh -c 'echo two'; printf 'three\\n' | cat; python3 -c 'print(4)'"],
    )
    .streams(StandardStreams::File)
    .same_output(),
    Workload::new(
        "output_to_a_file_is_opened_again",
        &["echo one; echo two | tee -a /dev/stdout >/dev/null; echo three >>/dev/stdout; echo 4 >>/dev/fd/1"],
    )
    .streams(StandardStreams::File)
    .same_output(),
    Workload::new("signals_pass_through", &["exec python3 t.py"])
        .before(TOLD)
        .wrapped(&["bash", "-c", TELL, "--"])
        .ends_with(3)
        .same_output(),
    Workload::new(
        "terminal",
        &[r#"test -t 0; test -t 1; test -t 2; stty size; echo to the terminal >/dev/tty; tput cols
          python3 -c 'import os; print(os.get_terminal_size()); os.tcgetpgrp(0)'; stty -echo; stty echo"#],
    )
    .streams(StandardStreams::Terminal(&[]))
    .same_output(),
    Workload::new(
        "terminal_has_a_name",
        &[r#"tty >/dev/null; test -c "$(tty)"; echo through its name >"$(tty)"; echo again >/dev/stdout
          echo more >/dev/stderr; python3 -c 'import os; os.ttyname(0)'"#],
    )
    .streams(StandardStreams::Terminal(&[]))
    .same_output(),
    Workload::new(
        "terminal_asks",
        &[r#"read -rp 'name? ' name; echo "hello $name"
          python3 -c 'import getpass; print(len(getpass.getpass("secret? ")))'"#],
    )
    .streams(StandardStreams::Terminal(&[("name?", "keep\\n"), ("secret?", "abc\\n")]))
    .same_output(),
    Workload::new("terminal_control_c", &["exec python3 c.py"])
        .before(INTERRUPTED)
        .streams(StandardStreams::Terminal(&[("ready", "\\x03")]))
        .ends_with(5),
    Workload::new("terminal_job_control", &["export PS1='keep: '; bash --norc --noprofile -i; echo back"])
        .streams(StandardStreams::Terminal(&[
            ("keep: ", "python3 -c 'import time; print(2 * \\\"run\\\", flush=True); time.sleep(100)'\\n"),
            ("runrun", "\\x1a"),
            ("Stopped", "jobs\\n"),
            ("keep: ", "bg\\n"),
            (" &", "kill %1\\n"),
            ("keep: ", "exit\\n"),
            ("back", ""),
        ])),
    Workload::new(
        "terminal_of_git",
        &[r#"git -c core.pager=cat log --format=%s; git -c core.pager=cat diff
          GIT_PAGER='sed s/^/p:/' git log --format=%s"#],
    )
    .before("repo .; echo x >>a.txt")
    .streams(StandardStreams::Terminal(&[]))
    .same_output(),
];

const INTERRUPTED: &str = r#"cat >c.py <<'END'
import time
try:
    print("ready", flush=True)
    time.sleep(100)
except KeyboardInterrupt:
    exit(5)
END"#;

const TOLD: &str = r#"cat >t.py <<'END'
import signal, sys
def told(*_):
    print("told")
    sys.exit(3)
signal.signal(signal.SIGTERM, told)
open("up", "w").close()
while True: signal.pause()
END"#;
const TELL: &str = r#""$@" & p=$!; until [ -e up ]; do sleep 0.05; done; kill -TERM $p; wait $p"#;

//! Shell workloads: files, pipes, jobs and terminals.

use crate::workload::{NO_TERMINALS, SHARED_TMP, Workload};

pub(crate) const ALL: &[Workload] = &[
    Workload::new(
        "shell_substitution_and_here_documents",
        &[r#"diff <(printf 'a\nb\n') <(printf 'a\nb\n'); cat <<END
here $((1 + 1))
END
          cat <<<word; exec 3<<<three; cat <&3
          echo x | tee >(tr x y >y.txt) z.txt >/dev/null; wait_for test -s y.txt; cat y.txt z.txt
          coproc cat; echo through >&${COPROC[1]}; read -r it <&${COPROC[0]}; echo "$it"
          x=$({ yes || true; } 2>/dev/null | head -n 3 | wc -l); echo $x
          mapfile -t a < <(seq 3); echo ${#a[@]}"#],
    )
    .same_output(),
    Workload::new(
        "shell_descriptors",
        &[r#"echo a | cat /dev/stdin; echo b >/dev/stdout; echo c 2>&1 >/dev/fd/1; cat /dev/fd/3 3<<<d
          echo e | cat /proc/self/fd/0; echo f >/dev/stderr; echo g | tee /dev/stderr
          echo h | tee /dev/fd/1 | sort; ls /dev/fd | head -n 1; ls -l /dev/fd/ >/dev/null
          exec 9>out.txt; echo i >&9; exec 9>&-; cat out.txt"#],
    )
    .same_output(),
    Workload::new(
        "shell_job_control",
        &[r#"set -m; sleep 100 & kill -STOP %1; wait_for eval 'jobs %1 | has Stopped'; bg %1 >/dev/null
          kill %1; wait %1 || echo ended $?; sleep 0.1 & wait %1; (sleep 100 & kill $!; wait)
          (exec sleep 100) & p=$!; kill -KILL $p; wait $p || echo killed $?
          trap 'echo trapped' USR1; kill -USR1 $$; timeout 0.1 sleep 100 || echo timed $?
          nohup sh -c 'echo nohup' 2>/dev/null; setsid sh -c 'echo setsid' | cat"#],
    )
    .same_output(),
    Workload::new(
        "shell_named_pipes_and_locks",
        &[r#"mkfifo f; echo through >f & cat f; wait; exec 8>lock; flock 8; fails flock -n lock true
          flock -u 8; flock -n lock echo locked
          for i in 1 2 3 4; do (flock 7; n=$(cat n); echo $((n + 1)) >n) 7>lock & done; wait; cat n
          xargs -P 4 -I{} sh -c 'echo {} >p{}' <<<$'1\n2\n3'; cat p1 p2 p3"#],
    )
    .before("echo 0 >n")
    .after("test -p f; is \"$(cat n)\" 4")
    .same_output(),
    Workload::new(
        "files_are_linked_and_moved",
        &[r#"mkdir -p a/b c; echo x >a/b/f; mv a/b/f c/g; ln c/g h; ln -s c/g s; cat s h
          is "$(stat -c %h h)" 2; mv c d; fails cat s; mv d c; cat s; mv -T a e; rmdir e/b; cp -a c k
          cp --reflink=auto h h2; chmod 600 h2; touch -d @1000 h2; stat -c '%a %Y' h2
          truncate -s 1M big; dd if=/dev/zero of=big bs=4k count=2 conv=notrunc,fsync status=none
          stat -c %s big; rm big; find . -name g | sort; ln -sfn k s; readlink s; sync -f .
          tar cf t.tar c k; tar tf t.tar | sort; rm -r k; tar xf t.tar k; cat k/g; chmod +x k/g; ls k"#],
    )
    .after(r#"is "$(cat c/g)" x; test -L s; is "$(stat -c %h c/g)" 2"#)
    .same_output(),
    Workload::new(
        "temporary_files",
        &[r#"f=$(mktemp); d=$(mktemp -d); echo x >"$f"; mv "$f" "$d/y"; cp "$d/y" here; rm -r "$d"
          seq 1000 | sort -S 32k -R | wc -l; cat <<<"$(cat here)"; cd "$(mktemp -d)"; git init -q; mkfifo p
          printf '#!/bin/sh\necho executed\n' >run; chmod +x run; ./run
          python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'; test -S s"#],
    )
    .same_output(),
    Workload::new(
        "tmp_is_there",
        &[r#"for d in /tmp /var/tmp; do
          echo x >$d/keep-$$; cat $d/keep-$$; rm $d/keep-$$; stat -c %a $d; df $d >/dev/null; done"#],
    )
    .same_output()
    .namespaces(SHARED_TMP),
    Workload::new(
        "devices",
        &[r#"echo x >/dev/null; cat /dev/null; head -c 4 /dev/zero | od -An -tx1
          fails sh -c 'echo x >/dev/full' 2>/dev/null; head -c 8 /dev/urandom | wc -c
          head -c 8 /dev/random | wc -c; test -c /dev/tty; test -c /dev/ptmx; test -d /dev/pts
          ls -d /dev/fd /dev/stdin /dev/stdout /dev/stderr"#],
    )
    .same_output(),
    Workload::new(
        "shared_memory_directory",
        &["echo x >/dev/shm/keep-$$; cat /dev/shm/keep-$$; mkdir /dev/shm/keep-d$$; rm -r /dev/shm/keep-*$$"],
    )
    .same_output(),
    Workload::new(
        "script_program",
        &[r#"does='test -t 0 && test -t 1 && echo to the terminal >/dev/tty && echo done'
          script -qec "$does" log.txt </dev/null | tr -d '\r'; grep -q done log.txt"#],
    )
    .programs(&["script"])
    .same_output()
    .namespaces(NO_TERMINALS),
    Workload::new(
        "tmux",
        &[r#"t="tmux -S ./t.sock -f /dev/null"; $t new-session -d -s keep "echo in tmux >said; sleep 100"
          wait_for test -s said; $t list-sessions | has keep; $t kill-server; rm -f t.sock"#],
    )
    .programs(&["tmux"])
    .after(r#"is "$(cat said)" 'in tmux'"#)
    .namespaces(NO_TERMINALS),
    Workload::new(
        "tmux_with_its_usual_socket",
        &[r#"tmux -f /dev/null new-session -d -s keep "echo in tmux >said; sleep 100"
          wait_for test -s said; tmux kill-server"#],
    )
    .programs(&["tmux"])
    .namespaces(SHARED_TMP),
    Workload::new("bashrc_is_not_read", &["echo plain; sh -c 'echo sh'; bash -c 'echo bash'"]).same_output(),
    Workload::new("login_shell", &["bash -lc 'echo login'; bash -ic 'echo inside' 2>/dev/null | tail -n 1"])
        .same_output(),
    Workload::new(
        "many_processes",
        &["for i in {1..300}; do sleep 0.5 & done; wait; echo all; seq 100 | xargs -P 50 -n 1 true"],
    )
    .same_output(),
    Workload::new(
        "many_open_files",
        &[r#"python3 -c 'f = [open("/dev/null") for _ in range(900)]; print(len(f))'"#],
    )
    .same_output(),
    Workload::new(
        "orphans_are_collected",
        &[r#"[ $TIER = none ] && exit; for i in {1..50}; do (setsid true &) ; done
          wait_for eval '! ps -eo stat= | has ^Z'"#],
    )
    .programs(&["ps"])
    .namespaces("other processes are seen without namespaces"),
    Workload::new(
        "what_is_left_running_is_no_hang",
        &[r#"echo away
          [ $TIER = none ] || { setsid sleep 1000 >/dev/null 2>&1 & sleep 1000 & disown -a; }"#],
    )
    .same_output(),
];

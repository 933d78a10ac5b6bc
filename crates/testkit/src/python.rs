//! A Python environment with real client packages, made once for all tests.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::thread;

use crate::install::{must, once, program};

const REQUIREMENTS: &str = include_str!("../python-requirements.txt");
const REQUIREMENTS_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python-requirements.txt");

/// What a machine without the means is told.
const NEEDED: &str = "tests with real clients need `python3` (3.10 or newer) with `venv` and `pip`, and a package index \
    or wheels that `pip` finds: install e.g. `apt install python3 python3-venv python3-pip`";

/// The interpreter of an environment in the target folder that has the packages of `python-requirements.txt`.
///
/// The first test to ask makes the environment; it is kept until the requirements change.
///
/// # Panics
/// If Python is missing or the packages cannot be installed; the message says what to install.
pub fn interpreter() -> PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(environment).join("bin/python")
}

/// Runs a script with `stdin` and gives its standard output.
///
/// # Panics
/// If it exits with anything but 0; the message has what it wrote to standard error.
pub fn run(script: &Path, stdin: &str) -> String {
    let mut child = program(interpreter())
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the interpreter was just made");
    let mut pipe = child.stdin.take().expect("stdin is piped");
    let output = thread::scope(|scope| {
        // A script that stops early does not read all of it; its exit status says why.
        scope.spawn(move || pipe.write_all(stdin.as_bytes()).is_ok());
        child.wait_with_output().expect("the child was started")
    });
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} ended with {}:\n{said}", script.display(), output.status);
    String::from_utf8(output.stdout).expect("a script writes UTF-8")
}

fn environment() -> PathBuf {
    once("test-venv", REQUIREMENTS, |making| {
        must(NEEDED, program("python3").args(["-m", "venv"]).arg(making));
        let python = making.join("bin/python");
        must(
            NEEDED,
            program(python)
                .args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r"])
                .arg(REQUIREMENTS_FILE),
        );
    })
}

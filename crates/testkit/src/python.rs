//! A Python environment with real client packages, created once for all tests.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::thread;

use crate::install::{install_once, new_command, run_or_panic};

const REQUIREMENTS: &str = include_str!("../python-requirements.txt");
const REQUIREMENTS_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python-requirements.txt");

/// The message for a machine without Python.
const PYTHON_REQUIREMENT: &str = "tests with real clients need `python3` (3.10 or newer) with `venv` and `pip`, and a package index \
    or wheels that `pip` finds: install e.g. `apt install python3 python3-venv python3-pip`";

/// Returns the interpreter of an environment in the target directory with the packages of `python-requirements.txt`.
///
/// The first test creates the environment, which is kept until the requirements change.
///
/// # Panics
/// If Python is missing or the packages cannot be installed; the message names the missing software.
pub fn interpreter() -> PathBuf {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(create_environment).join("bin/python")
}

/// Runs a script with `stdin` and returns its standard output.
///
/// # Panics
/// If the exit status is not 0; the message contains the standard error.
pub fn run_script(script: &Path, stdin: &str) -> String {
    let mut child = new_command(interpreter())
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the interpreter was just made");
    let mut pipe = child.stdin.take().expect("stdin is piped");
    let output = thread::scope(|scope| {
        // A script that stops early does not read all of its input; its exit status tells why.
        scope.spawn(move || pipe.write_all(stdin.as_bytes()).is_ok());
        child.wait_with_output().expect("the child was started")
    });
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} ended with {}:\n{stderr}", script.display(), output.status);
    String::from_utf8(output.stdout).expect("a script writes UTF-8")
}

fn create_environment() -> PathBuf {
    install_once("test-venv", REQUIREMENTS, |making| {
        run_or_panic(PYTHON_REQUIREMENT, new_command("python3").args(["-m", "venv"]).arg(making));
        let python = making.join("bin/python");
        run_or_panic(
            PYTHON_REQUIREMENT,
            new_command(python)
                .args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r"])
                .arg(REQUIREMENTS_FILE),
        );
    })
}

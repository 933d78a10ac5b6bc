//! Installs Node and npm packages for tests, once for all tests.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::install::{install_once, new_command, run_or_panic};

const PACKAGES: &str = include_str!("../node-packages.json");
const CODEX: &str = r#"{"private": true, "dependencies": {"@openai/codex": "0.169.0"}}"#;
const CLAUDE_CODE: &str = r#"{"private": true, "dependencies": {"@anthropic-ai/claude-code": "2.1.327"}}"#;

/// The message for a machine without npm.
const NPM_REQUIREMENT: &str = "tests with real MCP programs need `npm` (10 or newer) and a package registry that it finds: \
    install e.g. `apt install npm`";

/// Returns the installed Node; the system's own may be too old.
///
/// # Panics
/// If npm is missing or the packages cannot be installed; the message names the missing software.
pub fn node_binary() -> PathBuf {
    node_modules_dir().join("node/bin/node")
}

/// Returns the path of a package file that [`node_binary`] runs, e.g. `@modelcontextprotocol/conformance/dist/index.js`.
///
/// # Panics
/// If the package cannot be installed, or has no such file.
pub fn package_script(name: &str) -> PathBuf {
    let script = node_modules_dir().join(name);
    assert!(script.exists(), "there is no `{}`: see node-packages.json", script.display());
    script
}

/// Returns the `node_modules` directory, for scripts that import packages.
///
/// # Panics
/// If the packages cannot be installed.
pub fn node_modules_dir() -> PathBuf {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(install_packages).join("node_modules")
}

fn install_packages() -> PathBuf {
    npm_install("test-node", PACKAGES)
}

/// Returns the script of the Codex command line. It has its own directory, because it is large and only one test runs
/// it.
///
/// # Panics
/// If it cannot be installed.
pub fn codex_script() -> PathBuf {
    npm_install("test-codex", CODEX).join("node_modules/@openai/codex/bin/codex.js")
}

/// Returns the program of Claude Code, which is large too.
///
/// # Panics
/// If it cannot be installed.
pub fn claude_code_program() -> PathBuf {
    npm_install("test-claude-code", CLAUDE_CODE).join("node_modules/.bin/claude")
}

#[expect(clippy::disallowed_methods, reason = "tests install below the target folder")]
fn npm_install(name: &str, packages: &str) -> PathBuf {
    install_once(name, packages, |making| {
        fs::create_dir(making).expect("a folder can be made in the target folder");
        fs::write(making.join("package.json"), packages).expect("a file can be made there");
        run_or_panic(
            NPM_REQUIREMENT,
            new_command("npm")
                .args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"])
                .current_dir(making),
        );
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_node_is_new_enough_and_has_its_packages() {
        let version = new_command(node_binary()).arg("--version").output().unwrap();
        assert!(version.stdout.starts_with(b"v22."), "{version:?}");
        for name in ["conformance/dist/index.js", "server-everything/dist/index.js", "inspector/package.json"]
        {
            package_script(&format!("@modelcontextprotocol/{name}"));
        }
    }
}

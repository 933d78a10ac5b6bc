//! Cache of test fixtures for workloads: packages, a filled package cache, and a toolchain for every user.
//!
//! It is created once, in the target folder, by the usual clients.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, id};

use crate::process::{ProgramUser, is_root};

/// Talks to a program at a terminal.
const TERMINAL: &str = include_str!("terminal.py");
/// A package registry for `npm` with one package.
const REGISTRY: &str = include_str!("registry.py");

/// Fixtures and the scripts that create them. Each script has its own directory.
const ITEMS: &[(&str, &str)] = &[("npm", NPM), ("wheel", WHEEL), ("pytest", PYTEST), ("crates", CRATES)];

/// A package as a file, and the cache after its installation from a registry.
const NPM: &str = r#"mkdir package && cd package
cat >package.json <<'END'
{"name": "keep-tiny", "version": "1.0.0", "main": "index.js", "bin": {"keep-tiny": "cli.js"}}
END
echo 'module.exports = () => "tiny";' >index.js
printf '#!/usr/bin/env node\nconsole.log(require("./index.js")());\n' >cli.js
npm pack --silent --pack-destination .. && cd ..
mkdir user && cd user && echo '{}' >package.json
export npm_config_cache="$PWD/../cache"
python3 "$REGISTRY" ../keep-tiny-1.0.0.tgz ../url &
server=$!
trap 'kill $server' EXIT
for _ in {1..200}; do [ -s ../url ] && break; sleep 0.05; done
env -u http_proxy -u HTTP_PROXY npm install --silent --no-audit --no-fund --registry "$(cat ../url)" keep-tiny@1.0.0
rm -rf ../cache/_logs ../cache/_update-notifier-last-checked
"#;

/// A minimal wheel as a file.
const WHEEL: &str = r#"python3 - <<'END'
import zipfile
with zipfile.ZipFile("keep_tiny-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("keep_tiny.py", "def main():\n    print('tiny')\n")
    about = "keep_tiny-1.0.dist-info/"
    wheel.writestr(about + "METADATA", "Metadata-Version: 2.1\nName: keep-tiny\nVersion: 1.0\n")
    wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\nGenerator: keep\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(about + "entry_points.txt", "[console_scripts]\nkeep-tiny = keep_tiny:main\n")
    wheel.writestr(about + "RECORD", "keep_tiny.py,,\n")
END
"#;

const PYTEST: &str = "python3 -m pip install -q --disable-pip-version-check --target . pytest";

/// The cache of a `cargo` user who has used `cfg-if`.
const CRATES: &str = r#"mkdir -p project/src && cd project
printf '[package]\nname = "user"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\ncfg-if = "1"\n[workspace]\n' >Cargo.toml
echo 'cfg_if::cfg_if! { if #[cfg(unix)] { fn main() { println!("unix"); } } }' >src/main.rs
CARGO_HOME="$PWD/../home" cargo fetch -q
"#;

/// The part of a toolchain that a build needs, hard-linked where possible.
const TOOLCHAIN: &str = r#"host=$(rustc -vV | sed -n 's/^host: //p')
mkdir -p bin lib/rustlib
cp -l "$SYSROOT"/bin/{cargo,rustc,rustdoc} bin || cp "$SYSROOT"/bin/{cargo,rustc,rustdoc} bin
cp -rl "$SYSROOT"/lib/*.so* lib || cp -r "$SYSROOT"/lib/*.so* lib
cp -rl "$SYSROOT/lib/rustlib/$host" lib/rustlib || cp -r "$SYSROOT/lib/rustlib/$host" lib/rustlib
"#;

/// The cache of fixtures.
pub(crate) struct FixtureCache {
    path: PathBuf,
    /// Missing fixtures and the reasons.
    lacks: BTreeMap<&'static str, String>,
    /// The directory of `cargo` for the tester, and for the user 65534.
    own: Option<PathBuf>,
    everybodys: Option<PathBuf>,
}

impl FixtureCache {
    /// Creates the missing fixtures.
    pub(crate) fn open() -> Self {
        let path = testkit::visible_base_dir().join("keep-working");
        fs::create_dir_all(&path).unwrap();
        for (name, text) in [("terminal.py", TERMINAL), ("registry.py", REGISTRY)] {
            write_if_changed(&path.join(name), text);
        }
        let mut lacks = BTreeMap::new();
        for (name, script) in ITEMS {
            if let Err(why) = make(&path, name, script, &[]) {
                lacks.insert(*name, why);
            }
        }
        let own = sysroot();
        let everybodys = own.as_deref().filter(|_| is_root()).and_then(|own| shared(&path, own));
        Self { path, lacks, own: own.map(|root| root.join("bin")), everybodys }
    }

    /// Returns the path of a fixture.
    pub(crate) fn path_of(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// Returns the reason why `item` is missing.
    pub(crate) fn missing_reason(&self, item: &str) -> Option<String> {
        self.lacks.get(item).cloned()
    }

    /// Returns the directory of `cargo` for `user`.
    pub(crate) fn toolchain_bin(&self, user: ProgramUser) -> Option<&Path> {
        match user {
            ProgramUser::Oneself => self.own.as_deref(),
            ProgramUser::Unprivileged => self.everybodys.as_deref(),
        }
    }
}

/// Writes a file if its content differs: another process may be reading it.
fn write_if_changed(path: &Path, text: &str) {
    if fs::read_to_string(path).is_ok_and(|is| is == text) {
        return;
    }
    let making = path.with_extension(format!("making-{}", id()));
    fs::write(&making, text).unwrap();
    fs::rename(&making, path).unwrap();
}

/// Returns the toolchain that `cargo` uses, without `rustup`, which needs the user's home.
fn sysroot() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    Some(PathBuf::from(path.trim()))
}

/// Copies the toolchain so that the user 65534 can use it: it is often in root's home.
fn shared(shelf: &Path, own: &Path) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    let made = fs::metadata(own.join("bin/rustc")).and_then(|rustc| rustc.modified()).ok()?;
    (own, made).hash(&mut hasher);
    let name = format!("toolchain-{:016x}", hasher.finish());
    let root = own.to_str()?;
    make(shelf, &name, TOOLCHAIN, &[("SYSROOT", root)]).ok()?;
    Some(shelf.join(name).join("bin"))
}

/// Runs `script` in a temporary directory that is renamed afterwards, so that the fixture is complete or absent.
fn make(shelf: &Path, name: &str, script: &str, names: &[(&str, &str)]) -> Result<(), String> {
    let made = shelf.join(name);
    let stamp = made.join(".made-by");
    if fs::read_to_string(&stamp).is_ok_and(|by| by == script) {
        return Ok(());
    }
    let making = shelf.join(format!("making-{name}-{}", id()));
    let _none = fs::remove_dir_all(&making);
    fs::create_dir_all(&making).unwrap();
    let script_of = format!("set -euo pipefail; umask 022\n{script}");
    let output = Command::new("bash")
        .args(["-c", &script_of])
        .current_dir(&making)
        .envs(names.iter().copied())
        .env("REGISTRY", shelf.join("registry.py"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`bash`: {error}"))?;
    if !output.status.success() {
        let _ = fs::remove_dir_all(&making);
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        return Err(format!("`{name}` cannot be made here ({}): {last}", output.status));
    }
    fs::write(making.join(".made-by"), script).unwrap();
    let _old = fs::remove_dir_all(&made);
    if fs::rename(&making, &made).is_err() {
        // Another process was faster.
        let _ = fs::remove_dir_all(&making);
    }
    Ok(())
}

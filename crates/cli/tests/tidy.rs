//! Checks the source tree: file and function sizes, unsafe code, type names, crate dependencies and documentation.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests may unwrap, and this one reads the checkout"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 60;
/// Conventions: each tool and each command has a type of this name.
const SHARED_TYPE_NAMES: &[&str] = &["Args"];

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns every Rust file of the workspace with its text.
fn sources() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut directories = vec![root().join("crates")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                // Build output of fuzzing is not source.
                directories.extend(Some(path).filter(|path| !path.ends_with("target")));
            } else if path.extension().is_some_and(|kind| kind == "rs")
                && !path.ends_with("workspace/src/main.rs")
            {
                let text = fs::read_to_string(&path).unwrap();
                files.push((path.strip_prefix(root()).unwrap().to_owned(), text));
            }
        }
    }
    assert!(files.len() > 60, "found {} files", files.len());
    files
}

fn is_production(path: &Path) -> bool {
    let parts: Vec<_> =
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    parts.iter().any(|part| part == "src")
        && !path.ends_with("tests.rs")
        && !parts.iter().any(|part| part == "tests")
}

/// Returns the file up to its inline tests.
fn production(text: &str) -> &str {
    text.split("\n#[cfg(test)]\n").next().unwrap_or(text)
}

#[track_caller]
fn none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

#[test]
fn files_have_one_idea_and_say_which() {
    let sources = sources();
    let silent = sources.iter().filter(|(_, text)| !text.starts_with("//! "));
    let silent: Vec<String> = silent.map(|(path, _)| path.display().to_string()).collect();
    none("files whose first line does not say what they are for", &silent);
    let long = sources.iter().filter(|(path, _)| is_production(path)).filter_map(|(path, text)| {
        let lines = production(text).lines().count();
        (lines > FILE_LINES).then(|| format!("{}: {lines} lines", path.display()))
    });
    none("files that are too long", &long.collect::<Vec<_>>());
}

#[test]
fn functions_fit_a_screen() {
    let mut long = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| is_production(path)) {
        let mut open: Option<(usize, String)> = None;
        for (number, line) in production(text).lines().enumerate() {
            let code = line.trim_start();
            let indent = line[..line.len() - code.len()].to_owned();
            let words: Vec<&str> = code.split(['(', ' ', '<']).collect();
            if words.contains(&"fn") && !code.starts_with("//") && !code.ends_with(';') {
                open = Some((number, indent));
            } else if let Some((start, begun)) = &open
                && line == format!("{begun}}}")
            {
                if number - start > FUNCTION_LINES {
                    long.push(format!("{}:{}: {} lines", path.display(), start + 1, number - start));
                }
                open = None;
            }
        }
    }
    none("functions that are too long", &long);
}

#[test]
fn no_debug_leftovers_or_forbidden_attributes() {
    let mut found = Vec::new();
    // Split, so that this file does not match itself.
    let leftovers = [
        concat!("#[al", "low("),
        concat!("tod", "o!("),
        concat!("unimpl", "emented!("),
        concat!("db", "g!("),
        concat!("#[ign", "ore"),
    ];
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let unowned = line.contains(concat!("// TO", "DO")) && !line.contains(concat!("TO", "DO(#"));
            if unowned || leftovers.iter().any(|leftover| line.contains(leftover)) {
                found.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    none("leftovers", &found);
}

#[test]
fn unsafe_blocks_are_in_listed_files() {
    let is_unsafe =
        |text: &str| text.contains(concat!("unsafe", " {")) || text.contains(concat!("unsafe", "_code"));
    let found = sources().into_iter().filter(|(_, text)| is_unsafe(text)).map(|(path, _)| path);
    let mut found: Vec<String> = found.map(|path| path.display().to_string()).collect();
    found.sort();
    let probe = "crates/cli/tests/containment/probe.rs";
    let entry = "crates/exec/src/process/spawner_entry.rs";
    let tracer = "crates/patch/tests/crash/trace.rs";
    assert_eq!(
        found,
        [probe, entry, "crates/exec/src/process/sys.rs", "crates/exec/src/sandbox/sys.rs", tracer]
    );
}

#[test]
fn type_names_are_unique() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let Some(name) = defined_type(line) else { continue };
            places.entry(name.to_owned()).or_default().push(format!("{}:{}", path.display(), number + 1));
        }
    }
    assert!(places.len() > 1000, "found {} types", places.len());
    let shared =
        places.iter().filter(|(name, at)| at.len() > 1 && !SHARED_TYPE_NAMES.contains(&name.as_str()));
    let shared: Vec<String> = shared.map(|(name, at)| format!("{name}: {}", at.join(", "))).collect();
    none("type names that are used twice", &shared);
}

/// Returns the name of the type that `line` defines. An associated type is none of its own.
fn defined_type(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let code = code.strip_prefix("pub ").unwrap_or(code);
    let code = match code.strip_prefix("pub(") {
        Some(scoped) => scoped.split_once(") ")?.1,
        None => code,
    };
    let (kind, rest) = code.split_once(' ')?;
    let is_type = ["struct", "enum", "trait", "union"].contains(&kind) || kind == "type" && code == line;
    let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    (is_type && name.starts_with(char::is_uppercase)).then_some(name)
}

/// Returns the crates in the row of `name`, and true if the row includes the dependencies of those crates.
fn allowed_dependencies<'a>(map: &'a str, name: &str) -> (BTreeSet<&'a str>, bool) {
    let row = map.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
    let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for `{name}`"));
    let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
    let named: BTreeSet<&str> = cell.split('`').skip(1).step_by(2).collect();
    let with_theirs = cell.contains("and theirs");
    let theirs = named.iter().filter(|_| with_theirs).flat_map(|other| allowed_dependencies(map, other).0);
    (named.iter().copied().chain(theirs).collect(), with_theirs)
}

#[test]
fn crates_depend_only_on_what_the_map_allows() {
    let map = read("ARCHITECTURE.md");
    let ours: Vec<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    for name in &ours {
        let (allowed, with_theirs) = allowed_dependencies(&map, name);
        let manifest = read(format!("crates/{name}/Cargo.toml"));
        let section = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let section = section.split("\n[").next().unwrap_or_default();
        let used: BTreeSet<&str> = section
            .lines()
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .filter(|word| ours.iter().any(|known| known == word))
            .collect();
        if with_theirs {
            assert!(used.is_subset(&allowed), "`{name}` depends on more than ARCHITECTURE.md says: {used:?}");
        } else {
            assert_eq!(used, allowed, "what `{name}` depends on, and what ARCHITECTURE.md says");
        }
    }
}

#[test]
fn pages_name_only_what_exists() {
    let mut missing = Vec::new();
    for page in [
        "ARCHITECTURE.md", "docs/follow-a-call.md", "docs/adding-a-tool.md", "docs/embedding.md",
        "README.md", "SECURITY.md", "CONTRIBUTING.md",
    ] {
        let text = read(page);
        for word in text.split('`').skip(1).step_by(2) {
            let is_path = word.starts_with("crates/") && !word.contains(' ') && !word.contains("word_count");
            if is_path && !root().join(word).exists() {
                missing.push(format!("{page}: {word}"));
            }
        }
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let target = root().join(page).parent().unwrap().join(file);
            if !link.starts_with("http") && !target.exists() {
                missing.push(format!("{page}: {link}"));
            }
        }
    }
    none("pages name what is not there", &missing);
}

#[test]
fn follow_a_call_names_what_is_in_the_files() {
    let page = read("docs/follow-a-call.md");
    let all: String = sources().into_iter().map(|(_, text)| text).collect();
    let defines = |text: &str, name: &str| {
        let kinds = ["fn", "struct", "trait", "enum", "mod"];
        kinds.iter().any(|kind| {
            let definition = format!("{kind} {name}");
            let mut found = text.split(&definition).skip(1);
            found.any(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
        })
    };
    let (mut wrong, mut rows) = (Vec::new(), 0);
    for line in page.lines() {
        let words: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
        let file = words.first().filter(|word| line.starts_with('|') && word.starts_with("crates/"));
        let text = file.map_or_else(|| all.clone(), read);
        rows += usize::from(file.is_some());
        // In a row with a file, the names of the next cell are defined in that file. Elsewhere a name is a type or has
        // an underscore, and is defined anywhere.
        let cell = file.and_then(|_| line.split('|').find(|cell| cell.contains("crates/")));
        let own_cell = cell.and_then(|cell| line.split(cell).nth(1)?.split('|').nth(1)).unwrap_or_default();
        for word in words.iter().filter(|word| Some(*word) != file) {
            let is_own = own_cell.contains(&format!("`{word}`"));
            let is_function = word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            if !is_own && !is_type_name(word) && !is_function {
                continue;
            }
            for name in word.split("::") {
                // Names of tools and of errors are texts.
                let is_text = is_function && all.contains(&format!("\"{name}\""));
                if !is_text && !defines(if is_own { &text } else { &all }, name) {
                    wrong.push(format!("{}: no `{name}`", file.unwrap_or(&"sources")));
                }
            }
        }
    }
    none("follow-a-call.md names what is not in the file", &wrong);
    assert!(rows > 30, "{rows} rows with files");
}

/// Returns true for `Type` and `Type::function`.
fn is_type_name(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
        && word.chars().any(char::is_lowercase)
        && word.chars().all(|letter| letter.is_alphanumeric() || letter == ':' || letter == '_')
}

#[test]
fn architecture_has_the_first_line_of_every_module() {
    const WIDTH: usize = 110;
    let mut rows = Vec::new();
    let sources = sources();
    for (path, text) in sources.iter().filter(|(path, _)| is_production(path)) {
        let folder =
            if path.ends_with("mod.rs") { path.parent().unwrap() } else { &*path.with_extension("") };
        // A module whose folder has one file, mostly its tests, is as easy to find as a file.
        let files = sources.iter().filter(|(other, _)| other.starts_with(folder) && other != path).count();
        if files < 2 || path.ends_with("src/lib.rs") || path.ends_with("src/main.rs") {
            continue;
        }
        let module = folder.strip_prefix("crates").unwrap().display().to_string().replacen("/src/", "` `", 1);
        let first = text.lines().next().unwrap().trim_start_matches("//! ");
        let sentence = first.split(". ").next().unwrap().trim_end_matches('.');
        let room = WIDTH - format!("| `{module}` |  |").chars().count();
        rows.push(format!("| `{module}` | {} |", cut_at_comma(sentence, room)));
    }
    rows.sort();
    let table = format!("| module | first line |\n|---|---|\n{}\n", rows.join("\n"));
    let page = read("ARCHITECTURE.md");
    let (before, rest) = page.split_once("<!-- modules -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- end of modules -->").unwrap();
    if std::env::var_os("TOOLGATE_BLESS").is_some() {
        let page = format!("{before}<!-- modules -->\n{table}<!-- end of modules -->{after}");
        fs::write(root().join("ARCHITECTURE.md"), page).unwrap();
    } else {
        assert_eq!(shown, table, "TOOLGATE_BLESS=1 cargo test --test tidy writes it");
    }
    let wide: Vec<String> =
        page.lines().filter(|line| line.chars().count() > WIDTH).map(str::to_owned).collect();
    none("lines of ARCHITECTURE.md over 110 columns", &wide);
    assert!(page.lines().count() <= 150, "ARCHITECTURE.md has {} lines", page.lines().count());
}

/// Cuts a sentence at the last comma, colon or semicolon that fits `room`.
fn cut_at_comma(sentence: &str, room: usize) -> &str {
    let mut ends = sentence.match_indices([',', ':', ';']).map(|(at, _)| at).chain([sentence.len()]);
    let fits = ends.by_ref().filter(|end| sentence[..*end].chars().count() <= room).last();
    &sentence[..fits.unwrap_or_else(|| panic!("a shorter first line, please: {sentence}"))]
}

/// Returns an example as pages show it: without its first paragraph and the lints of this workspace.
fn shown_example(name: &str) -> String {
    let text = read(format!("crates/toolgate/examples/{name}.rs"));
    let shown = text.lines().skip_while(|line| {
        line.is_empty() || line.starts_with("//!") || line.starts_with("#![expect(clippy::")
    });
    let shown: Vec<&str> = shown.collect();
    assert!(shown.len() <= 62, "the example `{name}` has {} lines", shown.len());
    shown.into_iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_readme_shows_the_example_that_compiles() {
    let example = shown_example("my_first_tool");
    assert!(example.lines().count() < 40);
    assert!(read("README.md").contains(&example), "README.md does not hold examples/my_first_tool.rs");
}

#[test]
fn the_embedding_guide_shows_every_example() {
    let page = read("docs/embedding.md");
    let mut wanted = page.clone();
    for entry in fs::read_dir(root().join("crates/toolgate/examples")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let mark = format!("<!-- example {name} -->\n```rust\n");
        let (before, rest) = wanted
            .split_once(&mark)
            .unwrap_or_else(|| panic!("docs/embedding.md has no block after `{}`", mark.trim()));
        let (_, after) = rest.split_once("```\n").unwrap();
        wanted = format!("{before}{mark}{}```\n{after}", shown_example(name));
    }
    if std::env::var_os("TOOLGATE_BLESS").is_some() {
        fs::write(root().join("docs/embedding.md"), wanted).unwrap();
    } else {
        assert_eq!(page, wanted, "TOOLGATE_BLESS=1 cargo test --test tidy writes it");
    }
}

#[test]
fn the_configuration_page_shows_the_example_that_the_help_shows() {
    assert!(read("docs/configuration.md").contains(&read("crates/config/src/example.toml")));
}

#[test]
fn the_readme_names_the_command_that_ci_runs() {
    assert!(read(".ci/run").contains("exec scripts/check"));
    assert!(read("README.md").contains("\nscripts/check\n"));
}

#[test]
fn every_package_has_the_version_of_the_workspace() {
    let version = env!("CARGO_PKG_VERSION");
    let line = |text: &str, line: &str| text.lines().filter(|found| found.trim() == line).count();
    assert_eq!(line(&read("clients/python/pyproject.toml"), &format!("version = \"{version}\"")), 1);
    let json = format!("\"version\": \"{version}\",");
    assert_eq!(line(&read("clients/node/package.json"), &json), 1);
    // The lock file has it for the file and for the package; dependencies may happen to have it too.
    assert!(line(&read("clients/node/package-lock.json"), &json) >= 2);
    let manifest = read("Cargo.toml");
    let ours =
        manifest.lines().filter(|line| line.contains("package = \"toolgate-") && line.contains("version"));
    let other: Vec<String> = ours.filter(|line| !line.contains(version)).map(str::to_owned).collect();
    none("crates that are depended on in another version", &other);
}

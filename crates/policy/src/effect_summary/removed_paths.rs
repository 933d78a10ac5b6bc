//! Finds the files that a command line removes or renames by name: the sandbox must let it change their directory.

use std::path::{Path, PathBuf};

use super::file_operands::files_used_by;
use crate::programs::program_name;
use crate::shell::ScriptWord;
use crate::{CommandAnalysis, resolve_path};

/// Programs that remove or rename what they are given.
const REMOVING_PROGRAMS: &[&str] = &["rm", "rmdir", "unlink", "mv"];

/// Returns the paths that a line started in `cwd` removes or renames; none after a `cd`, and none that a variable or a
/// pattern names.
pub(crate) fn removed_paths(analysis: &CommandAnalysis, cwd: &Path) -> Vec<PathBuf> {
    let names = |part: &crate::ClassifiedCommand| part.name().map(|name| program_name(name).to_owned());
    if analysis.commands.iter().filter_map(names).any(|name| matches!(&*name, "cd" | "pushd" | "popd")) {
        return Vec::new();
    }
    let mut removed = Vec::new();
    for part in analysis.commands.iter().filter(|part| !part.is_wrapper) {
        let Some(name) = names(part).filter(|name| REMOVING_PROGRAMS.contains(&name.as_str())) else {
            continue;
        };
        for word in files_used_by(&name, &part.command.words[1..]).writes {
            let ScriptWord::Literal(text) = word else { continue };
            removed.extend(resolve_path(cwd, &text).ok().filter(|path| path.starts_with(cwd) && path != cwd));
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ExecEffect;

    #[test]
    fn removed_and_renamed_files_are_found_by_name() {
        for (script, expected) in [
            ("rm old.txt", "/w/old.txt"),
            ("rm -rf -- src ./docs/x", "/w/src /w/docs/x"),
            ("/bin/rm -f a; rmdir b", "/w/a /w/b"),
            ("mv a sub/b", "/w/a /w/sub/b"),
            ("sudo rm a", "/w/a"),
            // Outside of the working directory, the sandbox names the path.
            ("rm ../a /etc/b .", ""),
            ("rm $x *.o", ""),
            ("cd sub && rm a", ""),
            ("cat a; touch b; cp a c", ""),
        ] {
            let argv = ["bash", "-c", script].map(str::to_owned).to_vec();
            let exec = ExecEffect::new(argv, Path::new("/w"));
            let removed: Vec<String> = removed_paths(exec.analysis(), Path::new("/w"))
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            assert_eq!(removed.join(" "), expected, "{script}");
        }
    }
}

//! Compares the walk with ripgrep's own walker, on random trees with random ignore files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::{FsTestTree, options, walk};

/// A small random generator, so that a failing tree can be rebuilt from its seed.
struct TreeRng(u64);

impl TreeRng {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

const NAMES: &[&str] = &["a", "b", "c.o", "d.log", "e", "build", ".hid", "x y", "é", "[f]"];
const RULES: &[&str] = &[
    "a", "/a", "b/", "*.o", "!c.o", "*.log", "!d.log", "build/", "/build/", "!build", "a/b", "a/*", "**/e",
    "e/**", "!a", ".hid", "!.hid", "*", "!*/", "x y", "x\\ y", "é", "\\[f\\]", "[a-c]", "[!a]", "?",
    "a/**/b", "# no", "", "/", "!/", "[", "{a,b}", "a\\", "\\!a", " a", "a ", "b/e", "/*/a", "!/*/a",
];

fn grow(dice: &mut TreeRng, dir: &Path, depth: usize) {
    for file in [".gitignore", ".ignore"] {
        if dice.roll(3) == 0 {
            let rules: Vec<&str> = (0..1 + dice.roll(4)).map(|_| dice.pick(RULES)).collect();
            fs::write(dir.join(file), rules.join("\n")).unwrap();
        }
    }
    for _ in 0..dice.roll(6) + 1 {
        let path = dir.join(dice.pick(NAMES));
        if path.exists() {
            continue;
        }
        if depth < 4 && dice.roll(2) == 0 {
            fs::create_dir(&path).unwrap();
            grow(dice, &path, depth + 1);
        } else {
            fs::write(&path, "").unwrap();
        }
    }
}

fn theirs(start: &Path) -> BTreeSet<PathBuf> {
    WalkBuilder::new(start)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .parents(true)
        .build()
        // Ripgrep reports an invalid glob; both skip it.
        .filter_map(Result::ok)
        .map(|entry| entry.path().strip_prefix(start).unwrap().to_owned())
        .filter(|path| {
            !path.as_os_str().is_empty() && !path.starts_with(".git/info") && !path.ends_with(".git/info")
        })
        .collect()
}

#[test]
fn the_walk_sees_what_ripgrep_sees() {
    for seed in 1..=100_u64 {
        let mut dice = TreeRng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let ground = FsTestTree::new("");
        grow(&mut dice, &ground.root(), 0);
        if dice.roll(3) == 0 {
            fs::create_dir_all(ground.path(".git/info")).unwrap();
            fs::write(ground.path(".git/info/exclude"), dice.pick(RULES)).unwrap();
        }
        let mut starts = vec![ground.root()];
        starts.extend(NAMES.iter().map(|name| ground.path(name)).filter(|path| path.is_dir()));
        for start in starts {
            let expected = theirs(&start);
            for threads in [1, 2] {
                let (seen, _) = walk(&ground.confined_fs(), &start, &options(threads));
                let count = seen.len();
                let seen: BTreeSet<PathBuf> = seen.into_iter().map(PathBuf::from).collect();
                assert_eq!(seen.len(), count, "nothing is visited twice");
                assert_eq!(seen, expected, "seed {seed}, start {}", start.display());
            }
        }
    }
}

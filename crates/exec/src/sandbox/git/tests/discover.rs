//! Tests of discovering git directories, and of trusting pointers.

use std::os::unix::fs::symlink;
use std::path::Path;

use super::support::GitOverlayLab;
use crate::sandbox::git::{
    DiscoveredRepositories, Repository, find_repositories, is_git, outer_repositories,
};
use crate::sandbox::root_scan::scan_roots;

fn found(lab: &GitOverlayLab, tree: &Path) -> (Vec<String>, Vec<String>) {
    let name = |path: &Path| path.strip_prefix(&lab.base).unwrap().display().to_string();
    let found = discovered(tree);
    assert!(!found.truncated);
    let both = |Repository { at, root }: &Repository| format!("{} of {}", name(at), name(root));
    (found.repositories.iter().map(both).collect(), found.pointers.iter().map(|path| name(path)).collect())
}

/// Discovers repositories as a survey does.
fn discovered(root: &Path) -> DiscoveredRepositories {
    let deny = policy::DenyRead::new(std::iter::empty::<&str>(), None).unwrap();
    let seen = scan_roots([root.to_owned()], &[], &deny);
    let mut found = find_repositories(&seen.trees, &[root.to_owned()]);
    found.truncated |= seen.truncated;
    found
}

fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

#[test]
fn repositories_worktrees_and_submodules_are_found() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(
        "git init -q a/b/nested; git init -q 1/2/3/4; git init -q 1/2/3/4/5; git clone -q . ../other
        git submodule add -q ../other lib/sub; git commit -qm sub; git worktree add -q wt; git worktree add -q ../out
        git -C ../out submodule update -q --init; git init -q node_modules/x",
    );
    let (repositories, mut pointers) = found(&lab, &lab.tree);
    pointers.sort();
    let expected = [
        "tree/.git of tree",
        "tree/a/b/nested/.git of tree/a/b/nested",
        "tree/1/2/3/4/.git of tree/1/2/3/4",
        "tree/1/2/3/4/5/.git of tree/1/2/3/4/5",
    ];
    let mut all = strings(expected);
    all.push("tree/node_modules/x/.git of tree/node_modules/x".into());
    let mut sorted = repositories;
    sorted.sort();
    all.sort();
    assert_eq!(sorted, all);
    assert_eq!(pointers, ["tree/lib/sub/.git", "tree/wt/.git"]);
    assert_eq!(
        found(&lab, &lab.tree.join("lib/sub")),
        (strings(["tree/.git/modules/lib/sub of tree/lib/sub"]), strings(["tree/lib/sub/.git"]))
    );
    assert_eq!(found(&lab, &lab.tree.join("wt")).0, ["tree/.git of tree/wt"]);
    assert_eq!(found(&lab, &lab.base.join("out")).0, ["tree/.git of out"]);
    assert_eq!(
        found(&lab, &lab.base.join("out/lib/sub")).0,
        ["tree/.git/worktrees/out/modules/lib/sub of out/lib/sub"]
    );
}

#[test]
fn a_relative_way_back_is_understood() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("git worktree add -q ../out; echo ../../../../out/.git > .git/worktrees/out/gitdir; echo gitdir: ../tree/.git/worktrees/out > ../out/.git");
    assert_eq!(found(&lab, &lab.base.join("out")).0, ["tree/.git of out"]);
}

#[test]
fn a_pointer_that_lies_is_only_a_pointer() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host(
        "git worktree add -q ../out; git clone -q . ../mine; rm -rf ../mine/.git; mkdir ../mine/fake",
    );
    let mine = lab.base.join("mine");
    let believed = |pointer: &str| {
        std::fs::write(mine.join(".git"), pointer).unwrap();
        found(&lab, &mine)
    };
    let none = (vec![], strings(["mine/.git"]));
    assert_eq!(believed("gitdir: ../tree/.git\n"), none, "the repository of another tree");
    assert_eq!(believed("gitdir: ../tree/.git/worktrees/out\n"), none, "the worktree of another tree");
    // A directory of the workspace that names another repository.
    std::fs::write(mine.join("fake/gitdir"), mine.join(".git").to_str().unwrap()).unwrap();
    std::fs::write(mine.join("fake/commondir"), "../../tree/.git\n").unwrap();
    assert_eq!(believed("gitdir: fake\n"), none);
    assert_eq!(believed("nonsense"), none);
    assert_eq!(believed(""), none);
    assert_eq!(believed("gitdir: /proc/self/root\n"), none);
    std::fs::remove_file(mine.join(".git")).unwrap();
    symlink("../tree/.git", mine.join(".git")).unwrap();
    assert_eq!(found(&lab, &mine), none);
    let linked = lab.base.join("linked");
    std::fs::create_dir(&linked).unwrap();
    symlink("../tree", linked.join("dir")).unwrap();
    assert_eq!(found(&lab, &linked), (vec![], vec![]), "no link is followed");
}

#[test]
fn a_git_directory_in_the_root_needs_no_proof() {
    let lab = GitOverlayLab::with_commit();
    for make in [
        "git init -q --separate-git-dir=data one",
        "git init -q one; mv one/.git data; ln -s ../data one/.git",
        "git clone -q --bare . data; mkdir one; echo 'gitdir: ../data' > one/.git",
    ] {
        lab.run_on_host(&format!("rm -rf one data; {make}"));
        let (repositories, pointers) = found(&lab, &lab.tree);
        assert_eq!(repositories, ["tree/.git of tree", "tree/data of tree/one"], "{make}");
        assert_eq!(pointers, ["tree/one/.git"]);
    }
    // A directory that is not a git directory is not protected as one, even if a pointer names it.
    lab.run_on_host("rm -rf one data; mkdir one src; echo 'gitdir: ../src' > one/.git");
    assert_eq!(found(&lab, &lab.tree).0, ["tree/.git of tree"]);
}

#[test]
fn a_repository_too_many_is_closed_and_what_is_none_takes_no_place() {
    let lab = GitOverlayLab::new();
    lab.run_on_host("i=0; while [ $i -lt 40 ]; do mkdir -p a$i/.git; git init -q d$i; i=$((i+1)); done");
    let found = discovered(&lab.tree);
    // 40 that are no repositories, and 8 of the 40 that are: the tree itself has no repository here.
    assert_eq!((found.repositories.len(), found.read_only.len(), found.truncated), (32, 48, false));
    assert!(discovered(Path::new("/nowhere")).repositories.is_empty());
}

#[test]
fn a_git_directory_without_a_working_tree_here_is_found() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("git init -q --bare a/remote.git; git init -q --separate-git-dir=gd ../elsewhere; mkdir c; touch c/HEAD");
    let mut bare = discovered(&lab.tree).bare;
    bare.sort();
    assert_eq!(bare, [lab.tree.join("a/remote.git"), lab.tree.join("gd")]);
    // A repository that has a layer needs nothing else.
    lab.run_on_host("git clone -q --bare . .bare; git -C .bare worktree add -q ../wt -b wt");
    assert_eq!(discovered(&lab.tree).bare.len(), 2);
}

#[test]
fn repositories_above_are_found() {
    let lab = GitOverlayLab::with_commit();
    lab.run_on_host("mkdir -p sub/deep; git worktree add -q ../out; mkdir ../out/sub");
    let above = |root: &str| outer_repositories(&lab.base.join(root), |above| above.starts_with(&lab.base));
    let of = |root: &str| vec![Repository { at: lab.git(), root: lab.base.join(root) }];
    assert_eq!(above("tree/sub/deep"), of("tree"));
    assert_eq!(above("out/sub"), of("out"));
    assert_eq!(above("tree"), []);
}

#[test]
fn whatever_git_could_take_for_a_repository_is_one() {
    let lab = GitOverlayLab::new();
    for (make, expected) in [
        ("mkdir objects refs; touch HEAD", true),
        ("touch objects refs HEAD; chmod +x objects refs", true),
        ("mkfifo objects refs; touch HEAD", true),
        ("mkdir -p c/objects c/refs; echo c > commondir; touch HEAD", true),
        ("ln -s /nowhere HEAD; ln -s c objects; ln -s c refs", true),
        ("mkdir objects refs", false),
        ("mkdir HEAD objects refs", false),
        ("touch HEAD; mkdir objects", false),
    ] {
        lab.run_on_host(&format!("rm -rf d; mkdir d; cd d; {make}"));
        assert_eq!(is_git(&lab.tree.join("d")), expected, "{make}");
    }
}

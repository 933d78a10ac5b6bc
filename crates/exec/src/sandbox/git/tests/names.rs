//! Tests of the allow-list of names.

use proptest::prelude::*;

use crate::sandbox::git::allowed::{Form, Removal, Verdict, in_store, judge, repository, wanted};
use crate::sandbox::git::content::{is_packed, is_reference};
use crate::sandbox::git::paths::parts;

fn verdict(path: &str) -> Verdict {
    judge(&parts(path.as_ref()))
}

const ID: &str = "0123456789abcdef0123456789abcdef01234567";

#[test]
fn every_name_has_its_verdict() {
    use Form::*;
    let never = |form| Verdict::Land(form, Removal::Never);
    let file = |form| Verdict::Land(form, Removal::File);
    let tree = |form| Verdict::Land(form, Removal::Tree);
    for (path, expected) in [
        (format!("objects/ab/{}", &ID[2..]), never(Loose)),
        (format!("objects/AB/{}", &ID[2..]), Verdict::Unknown),
        (format!("objects/pack/pack-{ID}.pack"), never(Pack)),
        (format!("objects/pack/pack-{ID}.rev"), Verdict::Junk),
        (format!("objects/pack/pack-{ID}.promisor"), never(Promisor)),
        (format!("objects/pack/pack-{ID}.idx"), never(PackIndex)),
        (format!("objects/pack/pack-{ID}.sh"), Verdict::Unknown),
        (format!("objects/pack/tmp_pack_{ID}"), Verdict::Junk),
        ("objects/ab/tmp_obj_xyz".into(), Verdict::Junk),
        ("objects/incoming-x/ab".into(), Verdict::Junk),
        ("objects/info/alternates".into(), Verdict::Keep),
        ("objects/info/commit-graph".into(), Verdict::Junk),
        ("objects/info/commit-graphs".into(), Verdict::Unknown),
        ("objects/info/commit-graphs/commit-graph-chain".into(), Verdict::Junk),
        ("objects/info/commit-graphs/x/y".into(), Verdict::Junk),
        ("objects/pack/multi-pack-index".into(), Verdict::Junk),
        (format!("objects/pack/multi-pack-index-{ID}.bitmap"), Verdict::Junk),
        ("objects/pack/multi-pack-index.d".into(), Verdict::Unknown),
        ("objects/pack/multi-pack-index.d/chain".into(), Verdict::Junk),
        ("refs/heads/a".into(), tree(Ref)),
        ("refs/heads/a/b".into(), tree(Ref)),
        ("refs/stash".into(), file(Ref)),
        ("refs/heads".into(), Verdict::Unknown),
        ("refs/heads/a.lock".into(), Verdict::Junk),
        ("refs/heads/a..b".into(), Verdict::Keep),
        ("refs/replace/x".into(), Verdict::Keep),
        ("logs/HEAD".into(), file(Log)),
        ("logs/refs/heads/a".into(), tree(Log)),
        ("HEAD".into(), never(Head)),
        ("index".into(), never(Index)),
        ("index.lock".into(), Verdict::Junk),
        ("packed-refs".into(), never(PackedRefs)),
        ("MERGE_MSG".into(), file(Text)),
        ("MERGE_HEAD".into(), file(Ids)),
        ("config".into(), never(Config)),
        ("hooks/pre-commit".into(), Verdict::Keep),
        ("hooks/pre-commit.sample".into(), Verdict::Template),
        ("info/exclude".into(), Verdict::Private),
        ("info/attributes".into(), Verdict::Keep),
        ("commondir".into(), Verdict::Keep),
        ("gitdir".into(), Verdict::Keep),
        ("rebase-merge/git-rebase-todo".into(), Verdict::State),
        ("worktrees/w".into(), Verdict::Worktree),
        ("worktrees/w/HEAD".into(), never(Head)),
        ("worktrees/w/gitdir".into(), never(Gitdir)),
        ("worktrees/w/packed-refs".into(), Verdict::Unknown),
        ("worktrees/w/config".into(), Verdict::Unknown),
        ("worktrees/w/config.worktree".into(), Verdict::Keep),
        ("worktrees/w/hooks/x".into(), Verdict::Unknown),
        ("worktrees/w/modules/s/HEAD".into(), never(Head)),
        ("modules/s/HEAD".into(), never(Head)),
        ("modules/a/b/HEAD".into(), never(Head)),
        ("modules/a/b/modules/c/refs/heads/x".into(), tree(Ref)),
        ("modules/a/b/hooks/pre-commit".into(), Verdict::Keep),
        ("modules/a/hooks/HEAD".into(), Verdict::Keep),
        ("modules/a/config".into(), never(Config)),
        ("modules/HEAD".into(), Verdict::Unknown),
        ("modules/a/commondir".into(), Verdict::Keep),
        (".".into(), Verdict::Unknown),
        ("reftable/tables.list".into(), Verdict::Unknown),
    ] {
        assert_eq!(verdict(&path), expected, "{path}");
    }
}

#[test]
fn the_place_of_objects_is_known() {
    let store = |path: &str| in_store(&parts(path.as_ref()));
    assert!(
        store("objects/ab") && store("modules/a/b/objects") && store("worktrees/w/modules/a/objects/pack")
    );
    assert!(!store("refs/heads/objects/x") && !store("modules/objects/refs/heads/x"));
    assert!(wanted(&parts("refs/heads".as_ref())) && !wanted(&parts("refs/heads/x".as_ref())));
}

#[test]
fn contents_are_what_git_writes() {
    for good in [format!("{ID}\n"), ID.to_owned(), "ref: refs/heads/main\n".to_owned()] {
        assert!(is_reference(good.as_bytes()), "{good}");
    }
    for bad in ["", "x", "ref: HEAD\n", "ref: refs/../x\n", "ref: refs/heads/a\nb\n", "ref: refs/heads/a b\n"]
    {
        assert!(!is_reference(bad.as_bytes()), "{bad}");
    }
    assert!(is_packed(
        format!("# pack-refs with: peeled fully-peeled sorted \n{ID} refs/tags/t\n^{ID}\n").as_bytes()
    ));
    assert!(is_packed(b"") && !is_packed(format!("{ID} HEAD\n").as_bytes()) && !is_packed(b"\n\n"));
}

/// A name with many possible readings is judged quickly.
#[test]
fn forty_submodules_take_no_time() {
    for name in ["modules/".repeat(60), "modules/worktrees/".repeat(30), "worktrees/w/modules/".repeat(20)] {
        assert!(matches!(verdict(&name), Verdict::Unknown | Verdict::Worktree));
        assert!(!wanted(&parts(name.as_ref())) && !in_store(&parts(name.as_ref())));
        assert_eq!(verdict(&format!("{name}x/HEAD")), Verdict::Land(Form::Head, Removal::Never));
    }
}

#[test]
fn the_repository_of_a_name_is_known() {
    for (path, git) in [
        ("objects/ab/x", 0),
        ("worktrees/w/index", 0),
        ("modules/s/index", 2),
        ("modules/a/b/refs/heads/x", 3),
        ("modules/a/modules/b/index", 4),
        ("modules/a/worktrees/w/index", 2),
        ("worktrees/w/modules/s/index", 4),
        ("modules/a/worktrees/w", 2),
        ("modules/a/logs/refs/heads/config", 2),
    ] {
        assert_eq!(repository(&parts(path.as_ref())), git, "{path}");
    }
}

proptest! {
    /// Law: no dangerous name lands, however it is nested in submodules.
    #[test]
    fn dangerous_names_never_land(before in "((modules|worktrees|a|b|refs|objects)/){0,6}", name in prop::sample::select(vec![
        "hooks/pre-commit", "hooks/post-checkout", "config.worktree", "info/attributes", "info/grafts",
        "objects/info/alternates", "rebase-merge/git-rebase-todo", "rebase-apply/x", "sequencer/todo",
    ])) {
        let path = format!("{before}{name}");
        let is_reference = matches!(verdict(&path), Verdict::Land(Form::Ref | Form::Log, _));
        prop_assert!(is_reference || !matches!(verdict(&path), Verdict::Land(..)), "{} {:?}", path, verdict(&path));
    }

    /// Law: for any submodule name, a file that git would take for configuration is judged as such, or is an id or a
    /// reflog.
    #[test]
    fn a_configuration_is_judged_as_one(before in "((modules|worktrees|logs|refs|heads|objects|hooks|info|pack|x|HEAD)/){0,8}", name in prop::sample::select(vec![
        "config", "config.worktree", "commondir", "gitdir", "hooks/pre-commit", "info/attributes", "info/sparse-checkout",
    ])) {
        use Form::{Commondir, Config, Gitdir, Log, Ref};
        let path = format!("{before}{name}");
        let is_worktree = path.contains("worktrees/");
        match verdict(&path) {
            Verdict::Land(Config, _) => prop_assert_eq!(name, "config"),
            Verdict::Land(Commondir, _) => prop_assert!(is_worktree && name == "commondir"),
            Verdict::Land(Gitdir, _) => prop_assert!(is_worktree && name == "gitdir"),
            Verdict::Land(form, _) => prop_assert!(matches!(form, Ref | Log), "{} {:?}", path, form),
            _ => {}
        }
    }
}

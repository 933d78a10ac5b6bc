//! Tests of the allow-list of names.

use proptest::prelude::*;

use crate::sandbox::git::allowlist::{
    ContentForm, LandingVerdict, RemovalScope, is_in_object_store, is_required_directory, judge,
    repository_depth,
};
use crate::sandbox::git::content_checks::{is_packed_refs, is_reference};
use crate::sandbox::git::path_text::parts;

fn verdict(path: &str) -> LandingVerdict {
    judge(&parts(path.as_ref()))
}

const ID: &str = "0123456789abcdef0123456789abcdef01234567";

#[test]
fn every_name_has_its_verdict() {
    use ContentForm::*;
    let never = |form| LandingVerdict::Land(form, RemovalScope::Never);
    let file = |form| LandingVerdict::Land(form, RemovalScope::File);
    let tree = |form| LandingVerdict::Land(form, RemovalScope::Tree);
    for (path, expected) in [
        (format!("objects/ab/{}", &ID[2..]), never(LooseObject)),
        (format!("objects/AB/{}", &ID[2..]), LandingVerdict::Unknown),
        (format!("objects/pack/pack-{ID}.pack"), never(Pack)),
        (format!("objects/pack/pack-{ID}.rev"), LandingVerdict::Junk),
        (format!("objects/pack/pack-{ID}.promisor"), never(Promisor)),
        (format!("objects/pack/pack-{ID}.idx"), never(PackIndex)),
        (format!("objects/pack/pack-{ID}.sh"), LandingVerdict::Unknown),
        (format!("objects/pack/tmp_pack_{ID}"), LandingVerdict::Junk),
        ("objects/ab/tmp_obj_xyz".into(), LandingVerdict::Junk),
        ("objects/incoming-x/ab".into(), LandingVerdict::Junk),
        ("objects/info/alternates".into(), LandingVerdict::Keep),
        ("objects/info/commit-graph".into(), LandingVerdict::Junk),
        ("objects/info/commit-graphs".into(), LandingVerdict::Unknown),
        ("objects/info/commit-graphs/commit-graph-chain".into(), LandingVerdict::Junk),
        ("objects/info/commit-graphs/x/y".into(), LandingVerdict::Junk),
        ("objects/pack/multi-pack-index".into(), LandingVerdict::Junk),
        (format!("objects/pack/multi-pack-index-{ID}.bitmap"), LandingVerdict::Junk),
        ("objects/pack/multi-pack-index.d".into(), LandingVerdict::Unknown),
        ("objects/pack/multi-pack-index.d/chain".into(), LandingVerdict::Junk),
        ("refs/heads/a".into(), tree(Ref)),
        ("refs/heads/a/b".into(), tree(Ref)),
        ("refs/stash".into(), file(Ref)),
        ("refs/heads".into(), LandingVerdict::Unknown),
        ("refs/heads/a.lock".into(), LandingVerdict::Junk),
        ("refs/heads/a..b".into(), LandingVerdict::Keep),
        ("refs/replace/x".into(), LandingVerdict::Keep),
        ("logs/HEAD".into(), file(Reflog)),
        ("logs/refs/heads/a".into(), tree(Reflog)),
        ("HEAD".into(), never(Head)),
        ("index".into(), never(Index)),
        ("index.lock".into(), LandingVerdict::Junk),
        ("packed-refs".into(), never(PackedRefs)),
        ("MERGE_MSG".into(), file(Text)),
        ("MERGE_HEAD".into(), file(ObjectIds)),
        ("config".into(), never(Config)),
        ("hooks/pre-commit".into(), LandingVerdict::Keep),
        ("hooks/pre-commit.sample".into(), LandingVerdict::Template),
        ("info/exclude".into(), LandingVerdict::Private),
        ("info/attributes".into(), LandingVerdict::Keep),
        ("commondir".into(), LandingVerdict::Keep),
        ("gitdir".into(), LandingVerdict::Keep),
        ("rebase-merge/git-rebase-todo".into(), LandingVerdict::Operation),
        ("worktrees/w".into(), LandingVerdict::Worktree),
        ("worktrees/w/HEAD".into(), never(Head)),
        ("worktrees/w/gitdir".into(), never(Gitdir)),
        ("worktrees/w/packed-refs".into(), LandingVerdict::Unknown),
        ("worktrees/w/config".into(), LandingVerdict::Unknown),
        ("worktrees/w/config.worktree".into(), LandingVerdict::Keep),
        ("worktrees/w/hooks/x".into(), LandingVerdict::Unknown),
        ("worktrees/w/modules/s/HEAD".into(), never(Head)),
        ("modules/s/HEAD".into(), never(Head)),
        ("modules/a/b/HEAD".into(), never(Head)),
        ("modules/a/b/modules/c/refs/heads/x".into(), tree(Ref)),
        ("modules/a/b/hooks/pre-commit".into(), LandingVerdict::Keep),
        ("modules/a/hooks/HEAD".into(), LandingVerdict::Keep),
        ("modules/a/config".into(), never(Config)),
        ("modules/HEAD".into(), LandingVerdict::Unknown),
        ("modules/a/commondir".into(), LandingVerdict::Keep),
        (".".into(), LandingVerdict::Unknown),
        ("reftable/tables.list".into(), LandingVerdict::Unknown),
    ] {
        assert_eq!(verdict(&path), expected, "{path}");
    }
}

#[test]
fn the_place_of_objects_is_known() {
    let store = |path: &str| is_in_object_store(&parts(path.as_ref()));
    assert!(
        store("objects/ab") && store("modules/a/b/objects") && store("worktrees/w/modules/a/objects/pack")
    );
    assert!(!store("refs/heads/objects/x") && !store("modules/objects/refs/heads/x"));
    assert!(
        is_required_directory(&parts("refs/heads".as_ref()))
            && !is_required_directory(&parts("refs/heads/x".as_ref()))
    );
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
    assert!(is_packed_refs(
        format!("# pack-refs with: peeled fully-peeled sorted \n{ID} refs/tags/t\n^{ID}\n").as_bytes()
    ));
    assert!(
        is_packed_refs(b"") && !is_packed_refs(format!("{ID} HEAD\n").as_bytes()) && !is_packed_refs(b"\n\n")
    );
}

/// A name with many possible readings is judged quickly.
#[test]
fn forty_submodules_take_no_time() {
    for name in ["modules/".repeat(60), "modules/worktrees/".repeat(30), "worktrees/w/modules/".repeat(20)] {
        assert!(matches!(verdict(&name), LandingVerdict::Unknown | LandingVerdict::Worktree));
        assert!(!is_required_directory(&parts(name.as_ref())) && !is_in_object_store(&parts(name.as_ref())));
        assert_eq!(
            verdict(&format!("{name}x/HEAD")),
            LandingVerdict::Land(ContentForm::Head, RemovalScope::Never)
        );
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
        assert_eq!(repository_depth(&parts(path.as_ref())), git, "{path}");
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
        let is_reference = matches!(verdict(&path), LandingVerdict::Land(ContentForm::Ref | ContentForm::Reflog, _));
        prop_assert!(is_reference || !matches!(verdict(&path), LandingVerdict::Land(..)), "{} {:?}", path, verdict(&path));
    }

    /// Law: for any submodule name, a file that git would take for configuration is judged as such, or is an id or a
    /// reflog.
    #[test]
    fn a_configuration_is_judged_as_one(before in "((modules|worktrees|logs|refs|heads|objects|hooks|info|pack|x|HEAD)/){0,8}", name in prop::sample::select(vec![
        "config", "config.worktree", "commondir", "gitdir", "hooks/pre-commit", "info/attributes", "info/sparse-checkout",
    ])) {
        use ContentForm::{Commondir, Config, Gitdir, Reflog, Ref};
        let path = format!("{before}{name}");
        let is_worktree = path.contains("worktrees/");
        match verdict(&path) {
            LandingVerdict::Land(Config, _) => prop_assert_eq!(name, "config"),
            LandingVerdict::Land(Commondir, _) => prop_assert!(is_worktree && name == "commondir"),
            LandingVerdict::Land(Gitdir, _) => prop_assert!(is_worktree && name == "gitdir"),
            LandingVerdict::Land(form, _) => prop_assert!(matches!(form, Ref | Reflog), "{} {:?}", path, form),
            _ => {}
        }
    }
}

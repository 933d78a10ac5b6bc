//! `git` workloads with several repositories or worktrees, and with a workspace that is only part of one.

use crate::workload::Workload;

const OUTSIDE: &str = "a git directory outside the workspace cannot be guarded without namespaces";

pub(crate) const ALL: &[Workload] = &[
    Workload::new(
        "git_init_where_no_repository_is",
        &[
            "git init -q .; git config keep.er yes; echo one >a.txt; git add a.txt; git commit -qm first",
            "echo two >>a.txt; git commit -qam second; git status >/dev/null",
        ],
    )
    .after(r#"is "$(subjects)" $'second\nfirst'; clean"#),
    Workload::new(
        "git_init_below_the_workspace",
        &[
            "repo new; cd new; git config keep.er yes; echo 2 >>a.txt; git commit -qam second",
            "cd new; echo 3 >>a.txt; git commit -qam third",
        ],
    )
    .after(r#"cd new; is "$(subjects)" $'third\nsecond\nfirst'; clean"#),
    Workload::new(
        "git_hooks_of_a_repository_made_inside",
        &[r#"git init -q r; cd r; printf '#!/bin/sh\necho ran >../hook-ran\n' >.git/hooks/post-commit
          chmod +x .git/hooks/post-commit; echo x >x; git add x; git commit -qm one
          is "$(cat ../hook-ran)" ran"#],
    )
    .after(r#"is "$(cat hook-ran)" ran; clean r"#),
    Workload::new(
        "git_clone_into_the_workspace",
        &[r#"git clone -q "$BASE/origin" c; git clone -q "file://$BASE/origin" d
          git clone -q --bare "$BASE/origin" bare.git; git clone -q --depth 1 "file://$BASE/origin" e
          cd c; git remote add own ../bare.git; echo 2 >>a.txt; git commit -qam second; git push -q own main
          cd ../d; git pull -q --ff-only ../bare.git main; is "$(subjects -1)" second"#],
    )
    .before(r#"repo "$BASE/origin""#)
    .after(
        r#"for r in c d e; do clean $r; done; git -C bare.git fsck --strict
        is "$(git -C bare.git log --format=%s)" $'second\nfirst'"#,
    ),
    Workload::new(
        "git_fetch_from_outside",
        &[
            "git fetch -q --tags; git merge -q --ff-only origin/main; git log origin/feature >/dev/null",
            "git pull -q --rebase",
        ],
    )
    .before(ORIGIN)
    .after(r#"is "$(subjects)" $'later\nfirst'; is "$(git tag)" v1; clean"#),
    Workload::new(
        "git_switch_to_a_remote_branch",
        &[r#"git fetch -q; git switch -q feature; echo x >x; git add x; git commit -qm mine
          git switch -q main; git switch -qc own --track origin/main; git branch -D -q main"#],
    )
    .before(ORIGIN)
    .after(r#"is "$(subjects feature)" $'mine\nfeature\nfirst'; sound"#),
    Workload::new(
        "git_push_to_a_remote_in_the_workspace",
        &[r#"cd work; echo 2 >>a.txt; git commit -qam second; git push -q
          git push -q origin main:other; git push -q origin :other"#],
    )
    .before("repo work; git clone -q --bare work remote.git; rm -rf work; git clone -q remote.git work")
    .after(
        r#"is "$(git -C remote.git log --format=%s)" $'second\nfirst'
        is "$(git -C remote.git branch | xargs)" '* main'; clean work"#,
    ),
    Workload::new(
        "git_worktree_inside",
        &[
            "git worktree add -q wt -b side; cd wt; echo x >x; git add x; git commit -qm 'on side'",
            "cd wt; echo y >y; git add y; git commit -qm 'again on side'; git status >/dev/null",
        ],
    )
    .before("repo .; echo wt >.gitignore; git add .gitignore; git commit -qm ignore")
    .after(
        r#"is "$(subjects -2 side)" $'again on side\non side'; is "$(git worktree list | wc -l)" 2
        clean; clean wt"#,
    ),
    Workload::new(
        "git_worktree_added_and_removed",
        &[r#"git worktree add -q wt -b side; (cd wt; echo x >x; git add x; git commit -qm side)
          git worktree remove wt; git worktree prune"#],
    )
    .before("repo .")
    .after(r#"is "$(subjects -1 side)" side; is "$(git worktree list | wc -l)" 1; clean"#),
    Workload::new(
        "git_submodule_add",
        &[
            r#"git -c protocol.file.allow=always submodule --quiet add "$BASE/origin" sub
            git commit -qm 'with a part'; is "$(cat sub/a.txt)" one"#,
            r#"cd sub; git checkout -qb more; echo 2 >>a.txt; git commit -qam 'in the part'
            cd ..; git add sub; git commit -qm 'newer part'"#,
        ],
    )
    .before(r#"repo "$BASE/origin"; repo ."#)
    .after(
        r#"is "$(subjects -1)" 'newer part'; is "$(git ls-tree HEAD sub | cut -d ' ' -f 2)" commit
        is "$(cd sub; subjects -1)" 'in the part'; clean; clean sub"#,
    ),
    Workload::new(
        "git_submodule_commit",
        &[r#"cd sub; git checkout -qb more; echo 2 >>a.txt; git commit -qam 'in the part'
          cd ..; git commit -qam 'newer part'; git submodule status >/dev/null"#],
    )
    .before(
        r#"repo "$BASE/origin"; repo .
        git -c protocol.file.allow=always submodule --quiet add "$BASE/origin" sub; git commit -qm part"#,
    )
    .after(
        r#"is "$(subjects -1)" 'newer part'; is "$(cd sub; subjects -1)" 'in the part'
        clean; clean sub"#,
    ),
    Workload::new(
        "git_clone_with_submodules",
        &[r#"git -c protocol.file.allow=always clone -q --recurse-submodules "$BASE/whole" c
          is "$(cat c/sub/a.txt)" one"#],
    )
    .before(
        r#"repo "$BASE/origin"; repo "$BASE/whole"; cd "$BASE/whole"
        git -c protocol.file.allow=always submodule --quiet add "$BASE/origin" sub; git commit -qm part"#,
    )
    .after("clean c; clean c/sub"),
    Workload::new(
        "git_in_a_subdirectory_of_a_repository",
        &[
            r#"echo x >x; git add x; git commit -qm below; git status >/dev/null
            git log --format=%s -- . | has -x below"#,
            "echo y >>x; git commit -qam 'below again'",
        ],
    )
    .at("repo/some/part")
    .before(r#"repo "$BASE/repo""#)
    .after(r#"is "$(subjects)" $'below again\nbelow\nfirst'; clean "$BASE/repo""#)
    .namespaces(OUTSIDE),
    Workload::new(
        "git_in_a_linked_worktree",
        &[
            "echo x >x; git add x; git commit -qm linked; git status >/dev/null",
            r#"git stash list; echo y >>x; git stash -q; git stash pop -q
            git commit -qam 'linked again'; git tag here"#,
        ],
    )
    .at("linked")
    .before(r#"repo "$BASE/main"; git -C "$BASE/main" worktree add -q "$WS" -b side"#)
    .after(
        r#"is "$(git -C "$BASE/main" log --format=%s here)" $'linked again\nlinked\nfirst'
        clean; clean "$BASE/main""#,
    )
    .namespaces(OUTSIDE),
    Workload::new("git_looks_in_a_part_of_a_repository", &[PART])
        .at("repo/some/part")
        .before(r#"repo "$BASE/repo"; echo f >f; git add f; git commit -qm f; echo g >>f"#)
        .same_output(),
    Workload::new("git_looks_in_a_linked_worktree", &[PART])
        .at("linked")
        .before(
            r#"repo "$BASE/main"; git -C "$BASE/main" worktree add -q "$WS" -b side
            echo f >f; git add f; git commit -qm f; echo g >>f"#,
        )
        .same_output(),
    Workload::new("git_looks_with_a_separate_git_directory", &[PART])
        .before(
            r#"git init -q --separate-git-dir "$BASE/elsewhere.git"
            echo f >f; git add f; git commit -qm f; echo g >>f"#,
        )
        .same_output(),
    Workload::new(
        "git_bare_repository_as_the_workspace",
        &["git branch other; git log --format=%s >/dev/null"],
    )
    .before(r#"git init -q --bare .; repo "$BASE/r"; git -C "$BASE/r" push -q "$WS" main"#)
    .after("git fsck --strict; git rev-parse other"),
];

const PART: &str = r#"git status -s; git log --format=%s; git diff; git show --format=%s; git ls-files
git branch; git blame -s --abbrev=1 f | cut -c 10-; git grep -n f"#;

/// The workspace is a clone of an outside repository that has newer commits.
const ORIGIN: &str = r#"repo "$BASE/origin"; git clone -q "$BASE/origin" .
cd "$BASE/origin"; git checkout -qb feature; echo f >f; git add f; git commit -qm feature
git checkout -q main; echo 2 >>a.txt; git commit -qam later; git tag v1"#;

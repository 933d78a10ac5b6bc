//! `git` workloads in the workspace's own repository: changes appear outside, and the repository is valid.

use crate::workload::Workload;

pub(crate) const ALL: &[Workload] = &[
    Workload::new(
        "git_commit",
        &[r#"echo two >>a.txt; mkdir d; echo x >d/b; git add -A; git commit -qm second
          git commit -q --amend -m 'second, better'; git tag v1; git tag -am note v2
          git checkout -qb topic; git commit -q --allow-empty -m 'on topic'
          git checkout -q main; git branch gone; git branch -D -q gone"#],
    )
    .before("repo .; git branch old")
    .after(
        r#"is "$(subjects)" $'second, better\nfirst'; is "$(subjects -1 topic)" 'on topic'
        is "$(git cat-file -t v2)" tag; is "$(git rev-parse v1)" "$(git rev-parse main)"
        fails git rev-parse -q --verify gone; git rev-parse -q --verify old; clean"#,
    ),
    Workload::new(
        "git_commit_with_an_editor",
        &[r#"echo two >>a.txt; GIT_EDITOR='f() { echo edited >"$1"; }; f' git commit -aqv"#],
    )
    .before("repo .")
    .after(r#"is "$(subjects -1)" edited; clean"#),
    Workload::new(
        "git_commits_in_many_runs",
        &[
            "echo 2 >>a.txt; git commit -qam two",
            "echo 3 >>a.txt; git commit -qam three",
            "git reset -q --hard HEAD~1; echo 4 >b; git add b; git commit -qm four",
        ],
    )
    .before("repo .")
    .after(r#"is "$(subjects)" $'four\ntwo\nfirst'; is "$(git reflog | wc -l)" 5; clean"#),
    Workload::new(
        "git_add_without_commit",
        &["echo two >>a.txt; echo n >new; git add a.txt; git add -N new"],
    )
    .before("repo .")
    .after(r#"is "$(git status --porcelain)" $'M  a.txt\n A new'; sound"#),
    Workload::new(
        "git_delete_refs",
        &["git branch -Dq old; git tag -d v1 >/dev/null; git branch -m main trunk"],
    )
    .before("repo .; git branch old; git tag v1; git pack-refs --all; git branch fresh")
    .after(
        r#"is "$(git for-each-ref --format='%(refname)' | xargs)" 'refs/heads/fresh refs/heads/trunk'
            is "$(git symbolic-ref HEAD)" refs/heads/trunk; clean"#,
    ),
    Workload::new("git_looks", &[LOOKS])
        .before(TWO_AND_A_CHANGE)
        .after(r#"sound; is "$(git status --porcelain)" ' M a.txt'"#)
        .same_output(),
    Workload::new("git_looks_when_nothing_may_be_written", &[LOOKS])
        .before(TWO_AND_A_CHANGE)
        .flags(&["--mode", "read-only"])
        .after(r#"sound; is "$(git status --porcelain)" ' M a.txt'"#)
        .same_output(),
    Workload::new(
        "git_stash_push_and_pop",
        &[
            r#"echo two >a.txt; echo n >new; git stash push -qu; is "$(cat a.txt)" one; fails test -e new"#,
            r#"is "$(git stash list | wc -l)" 1; git stash pop -q; is "$(cat a.txt)" two; test -e new"#,
        ],
    )
    .before("repo .")
    .after(
        r#"is "$(git status --porcelain)" $' M a.txt\n?? new'
        fails git rev-parse -q --verify refs/stash; sound"#,
    ),
    Workload::new(
        "git_stash_is_kept",
        &["echo two >a.txt; git stash push -qm mine; echo 3 >a.txt; git stash push -qm more"],
    )
    .before("repo .")
    .after(
        r#"is "$(git stash list | wc -l)" 2; git stash show -p stash@{1} | has -x +two
        clean; git stash drop -q; is "$(git stash list | wc -l)" 1"#,
    ),
    Workload::new(
        "git_merge_conflict_continued_in_another_run",
        &[
            r#"fails git merge -q side; git status --porcelain | has -x 'UU a.txt'"#,
            "test -e .git/MERGE_HEAD; echo both >a.txt; git add a.txt; GIT_EDITOR=true git merge --continue",
        ],
    )
    .before(TWO_SIDES)
    .after(
        r#"is "$(git log --merges --oneline | wc -l)" 1; fails test -e .git/MERGE_HEAD
        is "$(git show main:a.txt)" both; clean"#,
    ),
    Workload::new("git_merge_conflict_is_there_outside", &["fails git merge -q side"])
        .before(TWO_SIDES)
        .after(
            r#"is "$(git ls-files -u | wc -l)" 3; echo both >a.txt; git commit -qam merged
        is "$(git log --merges --oneline | wc -l)" 1; clean"#,
        ),
    Workload::new("git_merge_conflict_given_up", &["fails git merge -q side", "git merge --abort"])
        .before(TWO_SIDES)
        .after(r#"is "$(subjects -1)" ours; fails test -e .git/MERGE_HEAD; clean"#),
    Workload::new(
        "git_rebase_interactive",
        &[r#"export GIT_SEQUENCE_EDITOR="sed -i -e '2s/^pick/fixup/' -e '3s/^pick/drop/'"
          GIT_EDITOR=true git rebase -q -i HEAD~3"#],
    )
    .before("repo .; for i in 2 3 4; do echo $i >f$i; git add f$i; git commit -qm $i; done")
    .after(
        r#"is "$(subjects)" $'2\nfirst'; is "$(git ls-files | xargs)" 'a.txt f2 f3'
        fails test -e .git/rebase-merge; clean"#,
    ),
    Workload::new(
        "git_rebase_conflict_solved_in_one_run",
        &["fails git rebase -q side; test -d .git/rebase-merge
          echo both >a.txt; git add a.txt; GIT_EDITOR=true git rebase --continue"],
    )
    .before(TWO_SIDES)
    .after(
        r#"is "$(subjects)" $'ours\ntheirs\nfirst'; is "$(git symbolic-ref HEAD)" refs/heads/main
        fails test -e .git/rebase-merge; clean"#,
    ),
    Workload::new(
        "git_cherry_pick_conflict_continued_in_another_run",
        &["fails git cherry-pick side", "echo both >a.txt; git add a.txt; git cherry-pick --continue"],
    )
    .before(TWO_SIDES)
    .after(r#"is "$(subjects)" $'theirs\nours\nfirst'; fails test -e .git/CHERRY_PICK_HEAD; clean"#),
    Workload::new(
        "git_cherry_pick_revert_reset_clean",
        &[r#"git checkout -q -b more main~1; git cherry-pick side >/dev/null
          git revert --no-edit HEAD >/dev/null; echo junk >junk; mkdir e; git clean -qfd
          fails test -e junk; fails test -e e; echo bad >a.txt; git restore a.txt
          git reset -q --soft HEAD~1; git reset -q --hard"#],
    )
    .before(TWO_SIDES)
    .after(r#"is "$(subjects)" $'theirs\nfirst'; clean"#),
    Workload::new(
        "git_bisect",
        &[r#"git bisect start main good >/dev/null
          git bisect run sh -c 'test ! -e f3' | has 'is the first bad commit'
          is "$(subjects -1 refs/bisect/bad)" 3; git bisect reset >/dev/null 2>&1"#],
    )
    .before("repo .; git tag good; for i in 2 3 4; do echo $i >f$i; git add f$i; git commit -qm $i; done")
    .after(
        r#"is "$(git symbolic-ref HEAD)" refs/heads/main; is "$(git for-each-ref refs/bisect)" ''; clean"#,
    ),
    Workload::new(
        "git_bisect_in_many_runs",
        &[
            "git bisect start main good >/dev/null",
            "test -e f3 && git bisect bad >/dev/null || git bisect good >/dev/null",
            "git bisect log | has good; git bisect reset >/dev/null 2>&1",
        ],
    )
    .before("repo .; git tag good; for i in 2 3 4; do echo $i >f$i; git add f$i; git commit -qm $i; done")
    .after(r#"is "$(git symbolic-ref HEAD)" refs/heads/main; fails test -e .git/BISECT_LOG; clean"#),
    Workload::new(
        "git_patches",
        &[r#"git format-patch -q -1 side -o p; fails git am -q p/*.patch 2>/dev/null >&2; git am --abort
          git reset -q --hard main~1; git am -q p/*.patch; rm -r p
          echo x >x; git add -N x; git diff >d.patch; rm x; git reset -q
          git apply d.patch; is "$(cat x)" x; rm x d.patch"#],
    )
    .before(TWO_SIDES)
    .after(r#"is "$(subjects)" $'theirs\nfirst'; fails test -e .git/rebase-apply; clean"#),
    Workload::new(
        "git_gc",
        &[
            "git gc -q --prune=now; git pack-refs --all; git repack -adq",
            "echo x >x; git add x; git commit -qm packed",
        ],
    )
    .before("repo .; for i in 2 3 4 5; do echo $i >a.txt; git commit -qam $i; git tag t$i; done")
    .after(
        r#"is "$(subjects | xargs)" 'packed 5 4 3 2 first'; is "$(git tag | xargs)" 't2 t3 t4 t5'
        is "$(git show t3:a.txt)" 3; clean"#,
    ),
    Workload::new("git_hook_of_the_user_runs", &["echo 2 >>a.txt; git commit -qam second"])
        .before(
            r#"repo .; printf '#!/bin/sh\necho ran >hook-ran\n' >.git/hooks/pre-commit
            chmod +x .git/hooks/pre-commit"#,
        )
        .after(r#"is "$(cat hook-ran)" ran; is "$(subjects -1)" second; sound"#),
    Workload::new("git_commit_while_another_run_goes_on", &["touch up; wait_for test -e stop; rm up stop"])
        .before("repo .")
        .beside("wait_for test -e up; echo 2 >>a.txt; git commit -qam second; touch stop")
        .after(r#"is "$(subjects -1)" second; clean"#),
    Workload::new(
        "git_commits_of_two_runs_at_once",
        &["echo x >x; git add x; git commit -qm x; touch first; wait_for test -e second; rm first second"],
    )
    .before("repo .")
    .beside("wait_for test -e first; echo y >y; git add y; git commit -qm y; touch second")
    // The runs need not see each other, but nothing may be lost.
    .after(
        r#"subjects | has '[xy]'; sound
        is "$(git cat-file --batch-all-objects --batch-check | grep -c ' commit ')" 3"#,
    ),
    Workload::new(
        "git_commit_while_the_user_commits",
        &["touch ready; wait_for test -e done; rm ready done; echo x >x; git add x; git commit -qm inside"],
    )
    .before("repo .")
    .beside_a_person("wait_for test -e ready; echo y >y; git add y; git commit -qm outside; touch done")
    .after(r#"is "$(subjects)" $'inside\noutside\nfirst'; clean"#),
];

const LOOKS: &str = r#"git status --porcelain; git status >/dev/null; git diff; git diff --stat HEAD
git log --format=%s -p; git show --format=%s HEAD; git log --graph --oneline --format=%s
git blame -s --abbrev=1 a.txt | cut -c 10-; git grep -n two; git ls-files; git shortlog HEAD
git rev-parse --is-inside-work-tree --git-dir; git archive HEAD | tar t; git describe --all
git branch; git stash list; git config user.name; git remote -v; git cat-file -t HEAD"#;

const TWO_AND_A_CHANGE: &str = "repo .; echo two >>a.txt; git commit -qam second; echo three >>a.txt";

const TWO_SIDES: &str = r#"repo .; git checkout -qb side; echo theirs >a.txt; git commit -qam theirs
git checkout -q main; echo ours >a.txt; git commit -qam ours"#;

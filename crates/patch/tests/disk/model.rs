//! Property tests: after random steps the disk equals the tree in memory; with a stale version it is unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use toolgate_patch::{CommitStep, FileTree, FileVersion, MemoryTree, NewFile};

use super::DiskFixture;

/// No name is a directory of another.
const NAMES: [&str; 7] = ["a", "b", "c.txt", "d/x", "d/y", "e/f/x", "e/g"];

/// An edit to a file; `None` deletes it.
type ModelEdit = Option<(Vec<u8>, Option<bool>, Option<usize>)>;

fn deeds() -> impl Strategy<Value = BTreeMap<usize, ModelEdit>> {
    let put = (any::<[u8; 3]>().prop_map(Vec::from), any::<Option<bool>>(), prop::option::of(0..NAMES.len()));
    prop::collection::btree_map(0..NAMES.len(), prop::option::weighted(0.7, put), 1..NAMES.len())
}

fn tree() -> impl Strategy<Value = MemoryTree> {
    let file = (prop::collection::vec(any::<u8>(), 0..20), any::<bool>());
    prop::collection::btree_map(0..NAMES.len(), file, 0..NAMES.len()).prop_map(|files| MemoryTree {
        files: files.into_iter().map(|(at, file)| (NAMES[at].to_owned(), (file.0.into(), file.1))).collect(),
    })
}

fn lay(ground: &DiskFixture, memory: &MemoryTree) {
    for (name, (bytes, executable)) in &memory.files {
        let path = ground.write(name, "");
        fs::write(&path, &**bytes).unwrap();
        let mode = if *executable { 0o755 } else { 0o644 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn found(ground: &DiskFixture) -> MemoryTree {
    let disk = ground.disk();
    let files = NAMES.iter().filter_map(|name| {
        let file = disk.look_up(name).unwrap().file?;
        Some(((*name).to_owned(), (file.bytes, file.executable)))
    });
    MemoryTree { files: files.collect() }
}

fn steps(ground: &DiskFixture, deeds: &BTreeMap<usize, ModelEdit>) -> Vec<CommitStep> {
    let step = |(at, deed): (&usize, &ModelEdit)| CommitStep {
        path: NAMES[*at].to_owned(),
        found_version: ground.stamp(NAMES[*at]),
        new_file: deed.clone().map(|(bytes, executable, like)| {
            let like = like.map(|like| NAMES[like].to_owned());
            NewFile { bytes: bytes.into(), executable, attributes_from: like }
        }),
    };
    deeds.iter().map(step).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_commit_does_what_it_does_in_memory(memory in tree(), deeds in deeds()) {
        let ground = DiskFixture::quick();
        lay(&ground, &memory);
        let steps = steps(&ground, &deeds);
        let mut model = memory;
        model.commit(&steps);
        ground.commit(&steps).unwrap();
        prop_assert_eq!(found(&ground), model);
        ground.names();
    }

    #[test]
    fn a_stale_stamp_changes_nothing(memory in tree(), deeds in deeds(), stale in any::<prop::sample::Index>()) {
        let ground = DiskFixture::quick();
        lay(&ground, &memory);
        let mut steps = steps(&ground, &deeds);
        let stale = stale.index(steps.len());
        steps[stale].found_version = match steps[stale].found_version {
            Some(stamp) => Some(FileVersion { ctime: stamp.ctime + 1, ..stamp }),
            None => Some(FileVersion::default()),
        };
        let before = ground.names();
        prop_assert!(ground.commit(&steps).is_err());
        prop_assert_eq!(found(&ground), memory);
        // Only the records are new.
        prop_assert_eq!(ground.names(), before);
    }
}

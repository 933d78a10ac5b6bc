//! Tests of landing loose objects and packs: wrong content, size limits, and the object format of a repository.

use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;

use proptest::prelude::*;

use super::support::{GitOverlayLab, deflated, loose_blob};
use crate::sandbox::git::object_format::ObjectFormat;
use crate::sandbox::git::{loose_object, pack_check};

/// Asserts that the planted file stays, with the reference that may need it.
fn stays(lab: &GitOverlayLab, path: &str, content: &[u8]) {
    let (before, layer) = (lab.host_git_state(), lab.layer());
    lab.plant(path, content);
    lab.plant("refs/heads/new", lab.id());
    let landed = layer.finish();
    assert_eq!((landed.landed, landed.kept_back), (0, vec![path.to_owned()]));
    assert_eq!(landed.faults, ["not all objects landed, so references, index and HEAD stay too"]);
    assert_eq!(lab.host_git_state(), before);
}

#[test]
fn other_content_does_not_land_under_the_name_of_a_file() {
    let lab = GitOverlayLab::with_commit();
    let (path, good) = loose_blob(b"what the user wrote\n");
    let (_, other) = loose_blob(b"the work of another process");
    stays(&lab, &path, &other);
    lab.run_on_host("echo what the user wrote > g; git add g; git commit -qm two");
    assert_eq!(lab.run_on_host("git show HEAD:g"), "what the user wrote\n");
    std::fs::remove_file(lab.upper.join("refs/heads/new")).unwrap();
    let (path, _) = loose_blob(b"x");
    for bad in [
        [good.as_slice(), b"x"].concat(),
        good[..good.len() - 1].to_vec(),
        deflated(b"blob 2\0x"),
        deflated(b"blob 01\0x"),
        deflated(b"blob +1\0x"),
        deflated(b"blub 1\0x"),
        deflated(b"blob 1\0xx"),
        deflated(b"x"),
        deflated(&[b"blob 1\0x".as_slice(), &[0; 1 << 20]].concat()),
    ] {
        stays(&lab, &path, &bad);
    }
}

#[test]
fn an_object_is_read_only_as_far_as_it_is_long() {
    let (path, content) = loose_blob(&[0; 100_000]);
    let id = crate::sandbox::git::object_format::parse_id(
        path.replace('/', "").trim_start_matches("objects").as_bytes(),
    )
    .unwrap();
    let copied = |mut room: u64| {
        let mut to = Vec::new();
        let done =
            loose_object::copy_object(content.as_slice(), &mut to, (&id, ObjectFormat::Sha1), &mut room);
        (done.is_ok() && to == content, room)
    };
    assert_eq!((copied(200_000), copied(1000)), ((true, 99_988), (false, 0)));
    let (mut bomb, mut room) = (deflated(&[b"blob 9\0".as_slice(), &[0; 1 << 22]].concat()), 1 << 30);
    assert!(
        loose_object::copy_object(bomb.as_slice(), &mut Vec::new(), (&id, ObjectFormat::Sha1), &mut room)
            .is_err()
    );
    assert!(room > (1 << 30) - (1 << 16), "it stops where it should end");
    bomb.truncate(3);
    assert!(
        loose_object::copy_object(bomb.as_slice(), &mut Vec::new(), (&id, ObjectFormat::Sha1), &mut room)
            .is_err()
    );
}

#[test]
fn a_format_that_cannot_be_told_lands_nothing() {
    for config in ["[extensions]\n\tobjectformat = \"sha256\"\n", "[extensions]\n\tobjectFormat = sha9\n"] {
        let lab = GitOverlayLab::with_commit();
        let (path, content) = loose_blob(b"x");
        std::fs::write(lab.git().join("config"), config).unwrap();
        let layer = lab.layer();
        lab.plant(&path, content);
        lab.plant("index", std::fs::read(lab.git().join("index")).unwrap());
        assert_eq!((layer.finish().landed, lab.leftover_files().len()), (0, 2));
    }
    let of = |text: &str| ObjectFormat::from_config(text.as_bytes());
    assert_eq!(
        (of(""), of("[core]\n\tbare = false # x\n")),
        (Some(ObjectFormat::Sha1), Some(ObjectFormat::Sha1))
    );
    assert_eq!(of("[extensions]\nobjectFormat = sha256\n"), Some(ObjectFormat::Sha256));
    assert_eq!((of("[a]\nobjectformat = sha256"), of("# objectformat")), (None, None));
}

#[test]
fn the_format_of_a_repository_stays() {
    let lab = GitOverlayLab::new();
    std::fs::create_dir(lab.git()).unwrap();
    let mut layer = lab.layer();
    lab.plant("config", "[core]\n\tbare = false\n");
    assert_eq!(layer.land().landed, 1);
    lab.plant("config", "[core]\n\tbare = false\n[extensions]\n\tobjectformat = sha256\n");
    assert_eq!(layer.finish().kept_back, ["config"]);
}

/// Returns a pack with deltas of deltas, and its index.
fn packed() -> &'static (Vec<u8>, Vec<u8>) {
    static PACKED: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    PACKED.get_or_init(|| {
        let lab = GitOverlayLab::with_commit();
        lab.run_on_host("seq 1 300 > f; for i in 1 2 3 4 5 6 7 8; do sed -i \"${i}0s/$/some more words $i/\" f; git add f; git commit -qm $i; done; git tag -am x t; git repack -adfq");
        assert!(lab.run_on_host("git verify-pack -v .git/objects/pack/*.idx").contains("chain length = 2"));
        let read = |kind: &str| {
            let path = lab.run_on_host(&format!("ls .git/objects/pack/*.{kind}"));
            std::fs::read(lab.tree.join(path.trim())).unwrap()
        };
        (read("pack"), read("idx"))
    })
}

fn fits(pack: &[u8], index: &[u8], mut room: u64) -> bool {
    let mut file: File = tempfile::tempfile().unwrap();
    file.write_all(pack).unwrap();
    pack_check::check_pack(&file, pack.len() as u64, index, ObjectFormat::Sha1, &mut room).is_ok()
}

/// Recomputes the checksums of pack and index.
fn sealed(pack: &[u8], index: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let sum = |bytes: &[u8]| ObjectFormat::Sha1.hash_bytes(bytes);
    let body = &pack[..pack.len() - 20];
    let index = [&index[..index.len() - 40], &sum(body)].concat();
    ([body, &sum(body)].concat(), [index.as_slice(), &sum(&index)].concat())
}

#[test]
fn a_pack_is_what_its_index_says() {
    let (pack, index) = packed();
    assert!(fits(pack, index, 1 << 30) && !fits(pack, index, 2000) && !fits(&pack[1..], index, 1 << 30));
    assert!(!fits(pack, &index[..index.len() - 1], 1 << 30) && !fits(b"", b"", 1 << 30));
    let long = [&pack[..pack.len() - 20], b"x", &pack[pack.len() - 20..]].concat();
    let (long, longer) = sealed(&long, index);
    assert!(!fits(&long, &longer, 1 << 30), "something follows");
}

#[test]
fn a_pack_with_other_content_stays() {
    for (kind, fit) in [("--delta-base-offset", true), ("--no-reuse-delta", true), ("", false)] {
        let lab = GitOverlayLab::with_commit();
        lab.run_on_host("seq 1 200 > f; git commit -qam two; seq 2 200 > f; git commit -qam three");
        let layer = lab.layer();
        let name = lab.run_on_host(&format!(
            "(git rev-list --all --objects; echo x | git hash-object -w --stdin) | git pack-objects -q {kind} ../upper/pack"
        ));
        std::fs::create_dir_all(lab.upper.join("objects/pack")).unwrap();
        for ending in ["pack", "idx"] {
            let (from, to) = (
                format!("pack-{}.{ending}", name.trim()),
                format!("objects/pack/pack-{}.{ending}", name.trim()),
            );
            std::fs::rename(lab.upper.join(from), lab.upper.join(to)).unwrap();
        }
        if !fit {
            // The ids of two objects are swapped.
            let path = lab.upper.join(format!("objects/pack/pack-{}.idx", name.trim()));
            let mut index = std::fs::read(&path).unwrap();
            let count = (index.len() - 8 - 1024 - 40) / 28;
            let places = 8 + 1024 + count * 24;
            for byte in 0..4 {
                index.swap(places + byte, places + 4 + byte);
            }
            let end = index.len() - 20;
            let sum = ObjectFormat::Sha1.hash_bytes(&index[..end]);
            index[end..].copy_from_slice(&sum);
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, index).unwrap();
        }
        lab.run_on_host("rm -f ../upper/*.rev");
        lab.plant("refs/heads/new", lab.id());
        let landed = layer.finish();
        assert_eq!(
            (landed.landed, lab.git().join("refs/heads/new").exists()),
            if fit { (2, true) } else { (0, false) }
        );
        lab.assert_repository_sound();
    }
}

proptest! {
    /// Law: every change is detected, or is irrelevant.
    #[test]
    fn a_changed_pack_is_found(at in any::<prop::sample::Index>(), bit in 0u8..8, in_index in any::<bool>()) {
        let (mut pack, mut index) = packed().clone();
        let count = (index.len() - 8 - 1024 - 40) / 28;
        let sums = 8 + 1024 + count * 20;
        let changed = if in_index { &mut index } else { &mut pack };
        let place = at.index(changed.len() - 40);
        changed[place] ^= 1 << bit;
        let (pack, index) = sealed(&pack, &index);
        let of_no_account = in_index && (sums..sums + count * 4).contains(&place);
        prop_assert!(of_no_account || !in_index || !fits(&pack, &index, 1 << 30));
        let _ = fits(&pack, &index, 1 << 30);
    }

    #[test]
    fn no_pack_stops_us(bytes in prop::collection::vec(any::<u8>(), 0..300), count in 0u8..3) {
        let (_, index) = packed();
        let pack = [b"PACK\0\0\0\x02\0\0\0".as_slice(), &[count], &bytes, &[0; 20]].concat();
        let (pack, index) = sealed(&pack, index);
        prop_assert!(!fits(&pack, &index, 1 << 30));
    }
}

//! `cargo` workloads: new, build, test, with and without dependencies.

use crate::workload::Workload;

pub(crate) const ALL: &[Workload] = &[
    Workload::new(
        "cargo_new_build_test_run",
        &[
            r#"cargo new -q hello; cd hello; test -d .git; is "$(cargo run -q --offline)" 'Hello, world!'"#,
            "cd hello; cargo test -q --offline; cargo build -q --offline; git add -A; git commit -qm hello",
        ],
    )
    .after(r#"is "$(hello/target/debug/hello)" 'Hello, world!'; clean hello"#),
    Workload::new(
        "cargo_build_script_library_and_tests",
        &["cargo build -q --offline; cargo test -q --offline"],
    )
    .before(
        r#"mkdir src tests
        printf '[package]\nname = "part"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
        printf '[lib]\ntest = false\ndoctest = false\n[[bin]]\nname = "part"\ntest = false\n' >>Cargo.toml
        cat >build.rs <<'END'
fn main() {
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR").unwrap());
    std::fs::write(out.join("made.rs"), "pub const MADE: u32 = 42;").unwrap();
    let said = std::process::Command::new("sh").args(["-c", "echo ran"]).output().unwrap();
    assert_eq!(said.stdout, b"ran\n");
}
END
        echo 'include!(concat!(env!("OUT_DIR"), "/made.rs"));' >src/lib.rs
        echo 'fn main() { println!("{}", part::MADE); }' >src/main.rs
        cat >tests/it.rs <<'END'
#[test]
fn it() {
    let said = std::process::Command::new(env!("CARGO_BIN_EXE_part")).output().unwrap();
    assert_eq!(said.stdout, b"42\n");
    let dir = std::env::temp_dir().join(format!("part-{}", std::process::id()));
    std::fs::create_dir(&dir).unwrap();
    std::fs::remove_dir(&dir).unwrap();
    assert!(std::thread::spawn(|| 1).join().is_ok());
}
END"#,
    )
    .after(r#"is "$(target/debug/part)" 42; cargo build -q --offline"#),
    Workload::new(
        "cargo_dependency_from_the_users_cache",
        &[r#"is "$(cargo run -q --offline)" unix; cargo tree --offline | has cfg-if"#],
    )
    .shelf(&["crates"])
    .before(r#"cp -r "$SHELF/crates/home" ~/.cargo; cp -r "$SHELF/crates/project/." ."#)
    .after(r#"is "$(target/debug/user)" unix"#),
];

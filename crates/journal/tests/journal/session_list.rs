//! Tests of listing sessions and finding them by id prefix.

use toolgate_journal::{Journal, JournalFault, SessionId, SessionSummary, find_session, list_sessions};

use crate::support::{empty_redactor, every_entry_kind, notice, write_entries};

fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

#[test]
fn the_newest_come_first_with_what_they_are_about() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["20261116-213602-4f9a1c", "20261117-080000-000001", "20261117-080000-abcdef"];
    let [old, new, newest] =
        names.map(|name| Journal::create(directory.path(), &id(name), empty_redactor()).unwrap());
    write_entries(&old, &every_entry_kind());
    new.write(&notice("nothing was said")).unwrap();
    std::fs::write(directory.path().join("notes.jsonl"), "{}").unwrap();
    let listed = list_sessions(directory.path(), 10).unwrap();
    assert_eq!(
        listed.iter().map(|one| one.id.to_string()).collect::<Vec<_>>(),
        [names[2], names[1], names[0]]
    );
    let SessionSummary {
        path,
        started,
        last,
        cwd,
        prompts,
        first_prompt,
        calls,
        ended,
        interrupted,
        is_open,
        ..
    } = &listed[2];
    assert_eq!((path.as_path(), *prompts, *calls), (old.path(), 1, 1));
    assert_eq!((first_prompt.as_str(), ended.as_deref()), ("fix the tests", Some("done")));
    assert_eq!((cwd.as_str(), interrupted.as_deref(), *is_open), ("/work", Some("ctrl-c"), true));
    assert!(started <= last && started.len() == "2026-11-16T21:36:02.123Z".len());
    assert_eq!((listed[1].prompts, &listed[1].ended), (0, &None));
    assert_eq!((listed[0].started.as_str(), newest.path().exists()), ("", true));
    assert_eq!(list_sessions(directory.path(), 1).unwrap().len(), 1);
    drop(old);
    assert!(!list_sessions(directory.path(), 3).unwrap()[2].is_open);
    assert_eq!(toolgate_journal::session_ids(directory.path()).unwrap()[2], id(names[0]));
    assert_eq!(list_sessions(&directory.path().join("absent"), 9).unwrap(), []);
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_name() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["20261116-213602-4f9a1c", "20261117-080000-000001", "20261117-080000-abcdef"] {
        Journal::create(directory.path(), &id(name), empty_redactor()).unwrap();
    }
    assert_eq!(find_session(directory.path(), "20261116").unwrap(), id("20261116-213602-4f9a1c"));
    assert_eq!(find_session(directory.path(), "20261117-080000-a").unwrap(), id("20261117-080000-abcdef"));
    let told = |prefix: &str| find_session(directory.path(), prefix).unwrap_err().to_string();
    insta::assert_snapshot!(told("20261117"), @"the names of several sessions begin with `20261117`: 20261117-080000-abcdef, 20261117-080000-000001");
    insta::assert_snapshot!(told("../x"), @"no session's name begins with `../x`");
    assert!(matches!(find_session(directory.path(), ""), Err(JournalFault::NoSession { .. })));
}

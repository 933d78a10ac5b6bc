//! Tests a corpus of regression scripts, each with the expected analysis.

use std::path::Path;

/// The variable that makes the test write the current output, for review.
const BLESS: &str = "TOOLGATE_BLESS";

#[test]
#[expect(clippy::disallowed_methods, reason = "the scripts are files")]
fn the_corpus_is_understood_as_before() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shell/corpus");
    let mut seen = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sh") {
            continue;
        }
        let shown =
            format!("{}\n", toolgate_policy::shell::analyse_script(&std::fs::read_to_string(&path).unwrap()));
        let expected = path.with_extension("txt");
        if std::env::var_os(BLESS).is_some() {
            std::fs::write(&expected, &shown).unwrap();
        }
        assert_eq!(shown, std::fs::read_to_string(&expected).unwrap(), "{}", path.display());
        seen += 1;
    }
    assert!(seen > 20);
}

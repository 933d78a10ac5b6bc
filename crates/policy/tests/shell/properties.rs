//! Property tests over arbitrary text: no panics, limits hold, and quotes have the meaning of bash.

use crate::seed_scripts;
use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};
use toolgate_policy::shell::{
    ScriptAnalysis, ScriptRedirect, ScriptWord, analyse_argv, analyse_line, analyse_script,
};

/// Generates script fragments in any order.
fn soup() -> impl Strategy<Value = String> {
    let piece = (0..seed_scripts::NASTY.len()).prop_map(|at| seed_scripts::NASTY[at].to_owned());
    let other = "[ -~\\n]{0,6}";
    prop::collection::vec(proptest::prop_oneof![piece, other.prop_map(|text: String| text)], 0..40)
        .prop_map(|pieces| pieces.concat())
}

fn only(script: &str) -> Vec<ScriptWord> {
    let analysis = analyse_script(script);
    assert!(analysis.undecided.is_empty(), "{script:?}: {analysis}");
    assert_eq!(analysis.commands.len(), 1, "{script:?}: {analysis}");
    analysis.commands[0].words.clone()
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let _shown = analyse_script(&text).to_string();
        let argv = vec!["bash".to_owned(), "-lc".to_owned(), text];
        let shown = analyse_argv(&argv).to_string();
        prop_assert_eq!(analyse_line(&argv.into()).to_string(), shown);
    }

    #[test]
    fn no_pieces_make_it_panic(script in soup()) {
        let analysis = analyse_script(&script);
        prop_assert!(analysis.commands.iter().all(|command| !command.words.is_empty()));
        prop_assert!(analysis.commands.len() <= 256);
        let _shown = analysis.to_string();
        for shell in ["bash", "/bin/sh", "zsh"] {
            let argv = vec![shell.to_owned(), "-c".to_owned(), script.clone()];
            let nested = analyse_argv(&argv);
            let line = analyse_line(&argv.into());
            prop_assert_eq!(&ScriptAnalysis { patch: None, ..line }, &nested);
        }
    }

    #[test]
    fn no_arguments_make_it_panic(argv in prop::collection::vec(proptest::prop_oneof![
        proptest::sample::select(vec!["env", "xargs", "find", "-exec", "{}", ";", "+", "bash", "-c", "-lc", "sudo", "git", "-x", "rebase",
            "timeout", "5", "--", "-", "-I{}", "su", "script", "flock", "watch", "busybox", "sh", "A=1", "-S", "bisect", "run", "=", ""]).prop_map(str::to_owned),
        "[ -~]{0,8}".prop_map(|text: String| text),
    ], 0..8)) {
        let analysis = analyse_argv(&argv);
        let _shown = analysis.to_string();
        if let Some(first) = argv.first() {
            prop_assert_eq!(&analysis.commands[0].words[0], &ScriptWord::Literal(first.clone()));
        }
    }

    #[test]
    fn what_is_quoted_is_literal(text in "[^\\x00\\x01\\x7f]{0,40}") {
        let single = format!("alpha '{}'", text.replace('\'', "'\\''"));
        prop_assert_eq!(&only(&single)[1], &ScriptWord::Literal(text.clone()));
        let escaped: String = text.chars().flat_map(|c| if "\"\\$`".contains(c) { vec!['\\', c] } else { vec![c] }).collect();
        let double = format!("alpha \"{escaped}\"");
        prop_assert_eq!(&only(&double)[1], &ScriptWord::Literal(text.clone()));
        let body = format!("alpha <<'END of it'\n{text}\nEND of it\n");
        if !text.lines().any(|line| line == "END of it") {
            let commands = analyse_script(&body).commands;
            prop_assert_eq!(&commands[0].redirects, &vec![ScriptRedirect::Text(ScriptWord::Literal(format!("{text}\n")))]);
        }
    }

    #[test]
    fn what_follows_is_never_lost(script in soup()) {
        // After any script, a command on its own line is listed, or a part is undecided.
        let analysis = analyse_script(&format!("{script}\nomega"));
        let listed = analysis.commands.iter().any(|command| command.words[0] == ScriptWord::Literal("omega".to_owned()));
        let as_text = script.contains("<<") || script.contains(['\'', '"', '#', '\\']);
        prop_assert!(listed || as_text || !analysis.undecided.is_empty(), "{analysis}");
    }
}

#[test]
fn limits_are_kept() {
    let undecided = |script: &str| !analyse_script(script).undecided.is_empty();
    assert!(undecided(&"a;".repeat(257)));
    assert!(!undecided(&"a;".repeat(256)));
    assert!(undecided(&format!("a {}", "x".repeat(64 * 1024))));
    assert!(undecided(&format!("{}a{}", "(".repeat(40), ")".repeat(40))));
    assert!(undecided(&format!("{}a{}", "$(".repeat(40), ")".repeat(40))));
    assert!(undecided(&format!("{}a", "env ".repeat(40))));
    assert!(undecided(&format!("{}a", "eval ".repeat(40))));
    assert!(undecided(&format!("{}{}", "if a; then ".repeat(5000), "b; fi; ".repeat(5000))));
    assert!(undecided("a\0b") && undecided("a \u{1}") && undecided("'\u{7f}'"));
}

#[test]
fn nothing_takes_long() {
    let long = 60_000;
    for piece in [
        "(", "$(", "`", "\"", "'", "{", "a ", "a;", "a|", "<<E\n", "\\\n", "$((", "${", "[[ ", "if ", "env ",
        "a=b ", ">f ", "x", "#\n", "a&",
    ] {
        let start = std::time::Instant::now();
        let _analysis = analyse_script(&piece.repeat(long / piece.len()));
        assert!(start.elapsed().as_secs() < 5, "{piece:?} took {:?}", start.elapsed());
    }
}

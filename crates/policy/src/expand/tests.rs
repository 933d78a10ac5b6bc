//! Tests the expansion of words and its bounds.

use proptest::prelude::{prop_assert, proptest};

use super::{ScriptVariables, UnknownExpansion, expand_word};
use crate::shell::analyse_script;

/// Returns the likely forms of the last command of `script` other than `echo` and `printf`.
fn forms(script: &str) -> Vec<String> {
    let analysis = analyse_script(script);
    let values = ScriptVariables::from_script(&analysis.commands, &analysis.defined, &analysis.assigned);
    let last = analysis.commands.iter().rfind(|command| {
        let name = crate::shell::word_text(&command.words[0]);
        name != "echo" && name != "printf"
    });
    let last = last.unwrap();
    super::likely_forms(last, &values)
        .iter()
        .map(|form| form.words.iter().map(crate::shell::word_text).collect::<Vec<_>>().join("|"))
        .collect()
}

#[test]
fn words_become_what_the_script_sets() {
    for (script, expected) in [
        ("X=-rf; rm $X x", "rm|-rf|x"),
        ("X='a b'; ls $X", "ls|a|b"),
        ("X='a b'; ls \"$X\"", "ls|a b"),
        ("X='a b'; ls -$X-", "ls|-a|b-"),
        ("ls${IFS}-l${IFS}x", "ls|-l|x"),
        ("X=a; X+=b; ls $X", "ls|ab"),
        ("A=(a 'b c'); ls \"${A[@]}\"", "ls|a|b c"),
        ("A=(a b); ls ${A[1]}", "ls|b"),
        ("ls ${X:-a}", "ls|a"),
        ("ls ${X:+a}", "ls|a"),
        ("X=abc; ls ${X%c} ${X#a} ${X:1:1} ${X/b/d} ${X^^}", "ls|ab|bc|b|adc|ABC"),
        ("X=a.b.c; ls ${X%%.*} ${X##*.}", "ls|a|c"),
        ("ls $(echo a b)", "ls|a|b"),
        ("ls \"$(printf '%s-%s' a b)\"", "ls|a-b"),
        ("ls {a,b}{c,d}", "ls|ac|ad|bc|bd"),
        ("ls r$@m", "ls|rm"),
        ("set -- a b; ls \"$@\" $2", "ls|a|b|b"),
        ("ls \"${X}y\"", "ls|${X}y"),
        ("ls \"$X\"", "ls|$X"),
    ] {
        assert!(forms(script).contains(&expected.to_owned()), "{script}: {:?}", forms(script));
    }
}

/// Values built from values stay bounded.
#[test]
fn doubling_comes_to_an_end() {
    let mut script = "a0=xxxxxxxxxxxxxxxx".to_owned();
    for at in 1..200 {
        script += &format!("; a{at}=$a{}$a{}", at - 1, at - 1);
    }
    let _ = forms(&format!("{script}; ls $a199 {}", "$a9".repeat(1000)));
    let _ = forms(&format!("ls {}", "{a,b}".repeat(2000)));
    let _ = forms(&format!("X={}; ls ${{X%{}}}", "a".repeat(20_000), "*".repeat(10_000)));
}

proptest! {
    /// Law: no word panics, and each has at least one expansion.
    #[test]
    fn any_word(raw in "[$(){}\"'`\\\\a@*:%#/,\\[\\] é\n-]{0,24}") {
        let values = ScriptVariables::from_script(&[], &[], &[]);
        for missing in [UnknownExpansion::Kept, UnknownExpansion::Empty] {
            prop_assert!(!expand_word(&raw, &values, missing).is_empty());
        }
    }
}

//! Tests the analysis of a program with its arguments.

use toolgate_policy::shell::{analyse_argv, analyse_line};

#[test]
fn arguments_are_looked_through_as_they_are() {
    for (argv, expected) in [
        (&["ls", "-la"][..], "ls -la"),
        (&["ls", "$x", "a b", "*"], "ls '$x' 'a b' '*'"),
        (
            &["bash", "-lc", "cd src && ls | head"],
            "bash -lc 'cd src && ls | head' ¶ cd src  [through bash -lc] ¶ ls  [through bash -lc] ¶ head  [through bash -lc; fed]",
        ),
        (
            &["env", "A=1", "sh", "-c", "ls; date"],
            "env A=1 sh -c 'ls; date' ¶ A=1 sh -c 'ls; date'  [through env] ¶ A=1 ls  [through env, sh -c] ¶ A=1 date  [through env, sh -c]",
        ),
        (&["sh", "x.sh"], "sh x.sh"),
        // Without a shell these are not built-ins.
        (&["eval", "ls"], "eval ls"),
        (&["[", "-v", "a[$(x)]", "]"], "[ -v 'a[$(x)]' ]"),
        (&["xargs", "-0", "rm"], "xargs -0 rm ¶ rm ‹more›  [through xargs]"),
        (&["bash", "-lc"], "bash -lc ¶ undecided: what this starts is not known: bash -lc"),
        (&[], "undecided: it is not a command: "),
        (&["a\0b"], "undecided: it is not a command: "),
    ] {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        for analysis in [analyse_argv(&argv), analyse_line(&argv.clone().into())] {
            assert_eq!(analysis.to_string().replace('\n', " ¶ "), expected, "{argv:?}");
        }
    }
}

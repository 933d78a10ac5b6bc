//! Generates random shell words with quotes, expansions and substitutions, and random redirections.

use crate::grammar::{WordStyle, command_list, simple_command};
use crate::random::ScriptRng;

const PLAIN: &[&str] = &[
    "foo", "-l", "--flag=x", "src/main.rs", "'single quoted; evil'", "\"double $x\"", "$x", "\"$x\"",
    "${x:-default}", "\"${x}\"", "*.txt", "a\\ b", "$((1 + 2))", "{a,b}", "~/x", "HEAD~1", "'it'\\''s'",
    "\"say \\\"hi\\\"\"", "a=b", "\"\"", "''", "x#y", "$'tab\\there'", "[ab]*", "é", "\"a\\$b\\`c\"", "%s",
    "@", "^x", "1", "2", "-n1", "{}", "\"$1\"", "\"$@\"", "$#", "$?", "\"line one\nline two\"", "a,b", "+x",
    "--", ".", "..", "/dev/null", "\"$x$y\"", "$x.txt", "\"${x%.txt}\"", "${x##*/}", "${#x}", "\"${x/a/b}\"",
    "$'a\\'b'", "\"it's\"", "'say \"x\"'", "a\\\"b", "\\$x", "\\\\", "a'b'\"c\"d", "$x'y'\"$z\"", "!", "a!b",
    "file.txt", "sub", "-", "%", "=", "a:b",
];
const SNEAKY: &[&str] = &[
    "'a[$(evil)]'",
    "\"\\$(evil)\"",
    "'$(evil)'",
    "\\`evil\\`",
    "$'$(evil)\\''",
    "\"`echo 'x'`\"",
    "\"$(echo \")\")\"",
    "${x:-'}'}",
    "${x:-\\}}",
    "\"${x:-}\"",
    "${x#*$(evil)}",
    "\"${x:-$(alpha)}\"",
    "${x:-`alpha`}",
    "${x:+'$(evil)'}",
    "${x:-\"$(alpha '}')\"}",
    "${x//a/$(alpha)}",
    "${x:-{a,b}}",
    "$\"$(alpha)\"",
    "\"$(alpha \"$(beta \"x\")\")\"",
    "'\\'alpha",
    "\"\\\\\"",
    "\"\\\\$(alpha)\"",
    "\"\\\\\\$(evil)\"",
    "$'\\\\'$(alpha)",
    "''\"\"''",
    "\"'$(alpha)'\"",
    "'\"$(evil)\"'",
    "\"a\"'b'\\c$'d'",
    "\\\n",
    "x\\\ny",
    "\"x\\\ny\"",
    "'x\\\ny'",
    "#",
    "a#",
    "\\#",
    "$#",
    "${#}",
    "$$",
    "$!",
    "$-",
    "${x@Q}",
    "${x^^}",
    "${x:0:1}",
    "${x: -1}",
    "\"${a[@]}\"",
    "${a[0]}",
    "\"${x:-a b}\"",
    "$'\\x24(evil)'",
    "\"$'x'\"",
    "\"$\"",
    "$",
    "a$",
    "\"a$\"",
    "$%",
    "<(alpha)",
    ">(cat)",
    "\"<(evil)\"",
    "\\<\\(evil\\)",
    "\"`alpha`\"",
    "`alpha`",
    "`alpha x`\"`beta`\"",
    "`echo \\`alpha\\``",
    "`echo '\\`'`",
    "`echo \"a b\"`",
    "`alpha # x`",
];
const BRACES: &[&str] = &[
    "{$,x}", "\\{a,b\\}", "{a,\"b,c\"}", "{1..3}", "{a..c}{x,y}", "a{b", "{x,", "{}", "{a,{b,c}}", "$x{a,b}",
    "{'a',b}$(alpha)", "{a,$(alpha)}", "{a,b}c{d", "{,}", "{a}", "}", "{a,b\\}", "{\"a\",}", "${x}{a,b}",
    "{a,b}'c d'",
];
const SUBSTITUTIONS: &[&str] = &[
    "\"$(cat <<X\n$(alpha)\nX\n)\"",
    "$(alpha # comment )\n)",
    "$(case x in x) alpha;; esac)",
    "$(echo ')')",
    "$(echo \"(\")",
    "$( (alpha) )",
    "$((x))",
    "$(<file.txt)",
    "$(alpha; beta\n)",
    "$(alpha\n# it's a comment\n)",
    "$(case x in (x) alpha;; esac)",
    "$(if alpha; then beta; fi)",
    "$(f() { alpha; }; f)",
    "$(echo \\))",
    "$(\nalpha\n)",
    "$(alpha $(beta) `gamma`)",
    "\"$(alpha '\"')\"",
    "$(alpha '`')",
    "$(echo $'\\')')",
    "$(! alpha)",
    "$(time alpha)",
    "$(alpha |beta&&gamma)",
    "$(alpha\\\n beta)",
    "$((1+(2)))",
    "$( ( ( alpha ) ) )",
    "$(alpha &)",
    "$(: ${x:-)})",
];

/// Generates a word.
pub(crate) fn random_word(dice: &mut ScriptRng, depth: usize, mood: WordStyle) -> String {
    if mood == WordStyle::Hostile && dice.chance(35) {
        return match dice.number_below(6) {
            0 => disguise_name(dice, "evil"),
            1 => dice.pick(BRACES).to_owned(),
            2 => dice.pick(SUBSTITUTIONS).to_owned(),
            3 => {
                let text = dice.pick(&[
                    "alpha; evil", "$(evil)", "a b", "it's", "`evil`", "a\nb", "\\", "\"", "é*?[x]", "",
                ]);
                quote_randomly(dice, text)
            }
            _ => dice.pick(SNEAKY).to_owned(),
        };
    }
    if depth > 0 && dice.chance(20) {
        let inner = command_list(dice, depth - 1, mood);
        return match dice.number_below(5) {
            0 => format!("$({inner}\n)"),
            1 => format!("\"$({inner}\n)\""),
            2 => format!("`{}`", simple_command(dice, 0, WordStyle::Ordinary)),
            3 => format!("`{}`", escape_for_backticks(&inner)),
            _ => format!("<({inner}\n)"),
        };
    }
    dice.pick(PLAIN).to_owned()
}

/// Escapes `script` for use between backticks.
pub(crate) fn escape_for_backticks(script: &str) -> String {
    script.replace('\\', "\\\\").replace('`', "\\`").replace('$', "\\$")
}

/// Quotes `text` as one word, in a random way.
pub(crate) fn quote_randomly(dice: &mut ScriptRng, text: &str) -> String {
    let single = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    let escaped = |text: &str, what: &str| -> String {
        text.chars().flat_map(|c| what.contains(c).then_some('\\').into_iter().chain([c])).collect()
    };
    match dice.number_below(6) {
        0 => format!("\"{}\"", escaped(text, "\"\\$`")),
        1 => format!("$'{}'", escaped(text, "'\\").replace('\n', "\\n")),
        2 if !text.contains('\n') && !text.is_empty() => {
            text.chars().flat_map(|c| (!c.is_alphanumeric()).then_some('\\').into_iter().chain([c])).collect()
        }
        3 => {
            let middle = text.char_indices().map(|(at, _)| at).nth(text.chars().count() / 2).unwrap_or(0);
            format!("{}\"{}\"", single(&text[..middle]), escaped(&text[middle..], "\"\\$`"))
        }
        _ => single(text),
    }
}

/// Spells a name in a random way that means the same.
pub(crate) fn disguise_name(dice: &mut ScriptRng, name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        match dice.number_below(14) {
            0 => out.push_str(&format!("'{c}'")),
            1 => out.push_str(&format!("\"{c}\"")),
            2 => out.push_str(&format!("\\{c}")),
            3 => out.push_str(&format!("$'\\x{:x}'", u32::from(c))),
            4 => out.push_str(&format!("\\\n{c}")),
            5 => out.push_str(&format!("''{c}\"\"")),
            6 => out.push_str(&format!("$'{c}'")),
            7 if dice.chance(10) => out.push_str(&format!("{{{c},}}")),
            8 => out.push_str(&format!("\"\\\n{c}\"")),
            _ => out.push(c),
        }
    }
    out
}

const REDIRECTIONS: &[&str] = &[
    " > out", " >> out", " 2>&1", " 2>/dev/null", " < file.txt", " &> out", " >| out", " <<< \"$x\"",
    " 3<&0", " 2> >(cat)", " >\"$o\"", " >out 2>&1 </dev/null", " 2>&-", " <&-", " >&2", " <> out",
    " &>> out", " <<<$(alpha)", " <<<'$(evil)'", " 1>out", " 3>out >&3", " < <(alpha)", " >'out file'",
    " {fd}>out", " >out$((1+1))", " <<< `alpha`",
];

/// Returns a redirection or an empty text.
pub(crate) fn random_redirect(dice: &mut ScriptRng) -> String {
    if dice.chance(75) { String::new() } else { dice.pick(REDIRECTIONS).to_owned() }
}

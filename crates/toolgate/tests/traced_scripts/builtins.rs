//! Generates random scripts of shell builtins and variable expansions.

use crate::grammar::WordStyle;
use crate::random::ScriptRng;
use crate::random_words::random_word;

/// Templates: `%` is a word, `#` is a name.
const SHAPES: &[&str] = &[
    "declare #=%",
    "declare -a #=%",
    "declare -x #=% #",
    "typeset #=% #=%",
    "readonly #=%",
    "readonly -a #=%",
    "export #=% #",
    "export -n #",
    "f() { local #=% #; alpha \"$#\"; }; f %",
    "f() { local -a #; local #=%; }; f %",
    "f() { declare -g #=%; alpha; return %; }; f %",
    "read # <<< %",
    "read -r # # < file.txt",
    "IFS= read -ra # <<< %",
    "read -p % -t 1 -n 1 #",
    "printf -v # %",
    "printf % %",
    "printf '%s %d %q' % % %",
    "printf -- % %",
    "printf '%b' %",
    "unset # #",
    "unset -v #; unset -f #",
    "[ % = % ]",
    "[ % -eq % ]",
    "[ -n % ]",
    "[ % ]",
    "[ ! -f % -a % = % ]",
    "[ -f % -o -d % ]",
    "test % -gt 1",
    "test % %",
    "test -z %",
    "[[ % == % ]]",
    "[[ -n % && ! -f % ]]",
    "[[ % < % || % > % ]]",
    "[[ ${#} -gt 1 ]]",
    "[[ $# -eq 1 ]]",
    "[[ # -eq 1 ]]",
    "[[ % =~ ^$#$ ]]",
    "#=1; [[ $# -lt 2 ]] && alpha",
    "#=1; ((# += 2)); alpha $((#))",
    "#=%; echo $((1 + 1)) ${#} \"$#\"",
    "#=1; alpha ${x:#} ${x:$#:1}",
    "for # in 1 2; do alpha $((#)); done",
    "for # in % %; do alpha \"$#\"; done",
    "for ((#=0; #<2; #++)); do alpha %; done",
    "let #=1+1",
    "let '#++' '# = 2'",
    "shift; shift 1; set -- % %; shift",
    "set -- % %; alpha \"$1\" \"$@\"",
    "set -e -- %",
    "set %",
    "getopts ab #",
    "getopts % #",
    "mapfile -t # < file.txt",
    "readarray # <<< %",
    "wait %",
    "wait; jobs; kill -0 %",
    "cd %",
    "pushd %; popd; dirs",
    "(exit %)",
    "umask %; ulimit -n %",
    "type %; hash; times",
    "command -v %; command -V %",
    "builtin echo %; builtin cd %",
    "#=(% %); alpha \"${#[@]}\" ${#[0]}",
    "#+=(%); echo ${##} ${#[1]}",
    "#[0]=%; #[1]=%; alpha \"${#[@]:0}\"",
    "#=(1 2); declare #=%",
    "#+=%; alpha $#",
    "echo ${#:-%} ${#:=%} ${#:+%}",
    "echo \"${#-%}\" ${#%%}",
    "echo ${#/%/%} ${#^^} ${#@Q} ${##}",
    "echo ${#:1} ${#: -1} ${#:0:1}",
    "echo \"${#[@]}\" \"${#[*]}\" ${#[$#]}",
    ": ${#:?%}",
    "case % in %) alpha;; *) beta;; esac",
    "case $# in (%|%) alpha;& *) beta;; esac",
    "alpha > %",
    "alpha <<< %",
    "alpha >& out; alpha 2>&1 >&2",
    "alpha <&0 >%",
    "exec {#}> out; alpha >&2",
    "alpha {#[#]}> out",
    "exec 3> out; alpha >&3; exec 3>&-",
    "trap 'alpha %' EXIT",
    "trap - EXIT; trap '' INT; trap",
    "(trap 'alpha \"$#\"' EXIT; exit %)",
    "eval 'alpha %'",
    "eval alpha '%' \\; beta",
    "# () { alpha \"$@\"; }; # %",
    "f() { alpha $1; shift; beta \"$*\"; }; f % %",
    "f() { alpha; }; unset -f f; f %",
    "find % -name %",
    "find . -name % -exec alpha {} \\;",
    "find . -exec alpha % {} +",
    "find $# -type f",
    "#=sub; find $# -exec alpha {} \\;",
    "echo % | xargs alpha %",
    "echo % | xargs -I{} alpha % {}",
    "env #=% alpha %",
    "env #=1 bash -c 'alpha \"$#\"' %",
    "export #=%; bash -c 'alpha $((1)) \"$#\"'",
    "bash -c 'alpha \"$1\"' _ %",
    "sh -c 'beta \"$@\"' % %",
    "#=% sh -c 'alpha $#'",
    "timeout 1 alpha %",
    "while read -r #; do alpha \"$#\"; done < file.txt",
    "until [ -n \"$#\" ]; do #=%; done",
    "select # in %; do alpha; break; done",
    "shopt -s nullglob; alpha *.none",
    "shopt -s lastpipe; echo % | read #; alpha \"$#\"",
    "set -o pipefail; alpha | beta %",
    "set -u; alpha \"${#-}\"",
    "set -x; alpha %; set +x",
    "coproc alpha %",
    "alpha % & wait $!",
    "alpha %; [ $? -eq 0 ] && beta $?",
    "(( # )) && alpha",
    "(( # = 1, # > 0 )) && alpha $#",
    "echo $(( # + 1 )) $((${#}))",
    "echo {a,%} % ~ *",
];

/// Generates a script from one or more templates.
pub(crate) fn builtin_script(dice: &mut ScriptRng) -> String {
    let mut script = filled(dice);
    for _ in 0..dice.number_below(3) {
        script = format!("{script}{}{}", dice.pick(&["; ", "\n", " && ", "\n"]), filled(dice));
    }
    script
}

fn filled(dice: &mut ScriptRng) -> String {
    let mut out = String::new();
    // Mostly the same name throughout.
    let name = dice.pick(&["x", "y", "a", "i", "n"]);
    let mut letters = dice.pick(SHAPES).chars().peekable();
    // ends: each round takes a character
    while let Some(letter) = letters.next() {
        match letter {
            // A literal `%` of `printf` and `${…%…}`.
            '%' if letters.peek().is_some_and(|next| next.is_alphabetic()) => out.push('%'),
            '%' => {
                let mood = if dice.chance(60) { WordStyle::Ordinary } else { WordStyle::Hostile };
                let word = if dice.chance(35) { format!("\"${name}\"") } else { random_word(dice, 0, mood) };
                out.push_str(&word);
            }
            '#' if out.ends_with("${") && letters.peek() == Some(&'#') => out.push('#'),
            '#' => out.push_str(if dice.chance(85) { name } else { dice.pick(&["x", "y", "a", "i", "n"]) }),
            _ => out.push(letter),
        }
    }
    out
}

//! The table of read-only programs and the options with which they only read.
//!
//! Programs that write or run something are excluded. Also excluded are endless reads (`tail -f`), large input in
//! temporary files (`sort -m`, `sort -S`, `tac` of a pipe), and DNS lookups (`hostname -f`). So are file names read
//! from a file (`--files0-from`). `egrep` and `fgrep` are scripts that look for `grep` in the `PATH`. The repository of
//! `git` decides which programs it runs. An option is listed only if it means the same on all systems: `date -d` does
//! not.

use std::sync::LazyLock;

use super::option_scanner::{ParsedOptions, scan_options};
use super::program_index::ProgramIndex;
use super::readable_paths::{is_safe_directory, may_be_read, may_be_searched};
use super::{MaybeWord, arg_grammars, awk, exact_commands, find_expression, sed};

/// The accepted arguments of a program.
enum OperandRule {
    /// Any options and any words.
    Anything,
    /// The listed options, and operands whose files are not read.
    Names,
    /// The listed options, and operands that are read.
    Files,
    /// Like `Files`, with at most this many operands, all after the options: another one would be written to.
    AtMost(usize),
    /// Like `Files`, with at least one operand.
    SomeFiles,
    /// The listed options, and operands. The first operand is a pattern unless an option gives one; the others are read
    /// recursively.
    Pattern,
    /// The listed options, if this condition holds.
    If(fn(&ParsedOptions<'_>) -> bool),
    /// Words with a grammar of their own.
    Grammar(fn(&[MaybeWord<'_>]) -> bool),
}

/// Programs, their options in the format of [`scan_options`], and the rule for their operands.
const READ_ONLY_PROGRAMS: &[(&str, &str, OperandRule)] = &[
    ("echo true false : expr", "", OperandRule::Anything),
    ("pwd", "-LP", OperandRule::AtMost(0)),
    ("cd", "-LP", OperandRule::If(|parsed| parsed.operands.len() <= 1 && !parsed.option_after_operand && all_operands(parsed, is_safe_directory))),
    ("printf", "", OperandRule::Grammar(arg_grammars::printf_only_prints)),
    ("test", "", OperandRule::Grammar(arg_grammars::test_is_pure)),
    ("[", "", OperandRule::Grammar(arg_grammars::bracket_is_pure)),
    ("type", "-aftpP", OperandRule::Names),
    ("command", "", OperandRule::Grammar(arg_grammars::command_only_looks_up)),
    ("which", "-as", OperandRule::Names),
    ("whoami arch", "--help --version", OperandRule::AtMost(0)),
    ("id", "-aGZgnruz --context --group --groups --name --real --user --zero --help --version", OperandRule::Names),
    ("groups", "--help --version", OperandRule::Names),
    (
        "uname",
        "-amnrspvio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor
         --hardware-platform --operating-system --help --version",
        OperandRule::AtMost(0),
    ),
    ("hostname", "-s --short", OperandRule::AtMost(0)),
    ("nproc", "--all --ignore= --help --version", OperandRule::AtMost(0)),
    ("uptime", "-ps --pretty --since --version", OperandRule::AtMost(0)),
    (
        "date",
        "-uR -r= -I=? --utc --universal --rfc-email --rfc-3339= --iso-8601=? --reference= --help
         --version",
        OperandRule::If(|parsed| !parsed.option_after_operand && parsed.operands.len() <= 1 && all_operands(parsed, |word| word.starts_with('+'))),
    ),
    (
        "seq",
        "-NUM -fs= -w --format= --separator= --equal-width --help --version",
        OperandRule::If(|parsed| all_operands(parsed, |word| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b'-'))),
    ),
    ("basename", "-az -s= --multiple --zero --suffix= --help --version", OperandRule::Names),
    ("dirname", "-z --zero --help --version", OperandRule::Names),
    (
        "realpath",
        "-emLPqsz --canonicalize-existing --canonicalize-missing --logical --physical --quiet --relative-to=
         --relative-base= --strip --no-symlinks --zero --help --version",
        OperandRule::Names,
    ),
    (
        "readlink",
        "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet
         --silent --verbose --zero --help --version",
        OperandRule::Names,
    ),
    (
        "ls dir vdir",
        "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -ITw= --all --almost-all --author --escape --block-size=
         --ignore-backups --color=? --directory --classify=? --file-type --format= --full-time
         --group-directories-first --no-group --human-readable --si --dereference-command-line
         --dereference-command-line-symlink-to-dir --hide= --indicator-style= --inode --ignore= --kibibytes
         --dereference --numeric-uid-gid --literal --hide-control-chars --show-control-chars --quote-name
         --quoting-style= --reverse --recursive --size --sort= --time= --time-style= --tabsize= --width=
         --context --zero --help --version",
        OperandRule::Names,
    ),
    (
        "stat",
        "-Lft -c= --dereference --file-system --format= --printf= --terse --help --version",
        OperandRule::Names,
    ),
    (
        "du",
        "-aAbcDHhklLmPSsx0 -BdtX= --all --apparent-size --block-size= --bytes --total --dereference-args
         --max-depth= --human-readable --inodes --dereference --count-links --no-dereference --separate-dirs
         --si --summarize --threshold= --time=? --time-style= --exclude-from= --exclude= --one-file-system
         --null --help --version",
        OperandRule::Names,
    ),
    (
        "df",
        "-ahHiklPT -Btx= --all --block-size= --human-readable --si --inodes --local --portability
         --print-type --output=? --total --type= --exclude-type= --help --version",
        OperandRule::Names,
    ),
    (
        "tree",
        "-aACdDfFghilnNpqQrsStuUvxX -J -PI: -L= --dirsfirst --filesfirst --noreport --prune --du --si --inodes
         --device --gitignore --matchdirs --ignore-case --metafirst --version --help",
        OperandRule::If(|parsed| parsed.values_of(&["L"]).all(|level| level.chars().all(|c| c.is_ascii_digit()))),
    ),
    (
        "file",
        "-bEhikLNr0 -F= --brief --mime --mime-type --mime-encoding --keep-going --dereference
         --no-dereference --no-pad --print0 --raw --separator= --extension --apple --version",
        OperandRule::Names,
    ),
    (
        "cat",
        "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs
         --show-nonprinting --help --version",
        OperandRule::Files,
    ),
    (
        "head",
        "-NUM -qvz -nc= --lines= --bytes= --quiet --silent --verbose --zero-terminated --help --version",
        OperandRule::Files,
    ),
    (
        "tail",
        "-NUM -qvz -nc= --lines= --bytes= --quiet --silent --verbose --zero-terminated --help --version",
        OperandRule::If(|parsed| all_operands(parsed, |word| !word.starts_with('+') && may_be_read(word))),
    ),
    (
        "nl",
        "-p -bdfhilnsvw= --body-numbering= --section-delimiter= --footer-numbering= --header-numbering=
         --line-increment= --join-blank-lines= --number-format= --no-renumber --number-separator=
         --starting-line-number= --number-width= --help --version",
        OperandRule::Files,
    ),
    ("wc", "-clLmw --bytes --chars --lines --max-line-length --words --help --version", OperandRule::Files),
    ("rev", "-0 --zero --help --version", OperandRule::Files),
    ("tac", "-br -s= --before --regex --separator= --help --version", OperandRule::SomeFiles),
    ("tsort", "--help --version", OperandRule::AtMost(1)),
    (
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum",
        "-btwz -l= --binary --text --tag --zero --length=
         --warn --help --version",
        OperandRule::Files,
    ),
    ("cksum", "-a= --algorithm= --length= --tag --untagged --help --version", OperandRule::Files),
    ("sum", "-rs --sysv --help --version", OperandRule::Files),
    ("base64 base32", "-d -w= --decode --ignore-garbage --wrap= --help --version", OperandRule::AtMost(1)),
    (
        "strings",
        "-NUM -afow -nteUs= --all --print-file-name --bytes= --radix= --encoding= --unicode= --help --version",
        OperandRule::Files,
    ),
    (
        "od",
        "-abcdfilosxv -AjNt= -Sw=? --address-radix= --skip-bytes= --read-bytes= --format= --output-duplicates
         --width=? --endian= --help --version",
        OperandRule::Files,
    ),
    (
        "hexdump hd",
        "-bcCdovx -ens= --canonical --length= --skip= --no-squeezing --help --version",
        OperandRule::Files,
    ),
    ("xxd", "exact -abCeEipu -cgl= -s: -o:", OperandRule::AtMost(1)),
    (
        "comm",
        "-123iz --check-order --nocheck-order --output-delimiter= --total --zero-terminated --help --version",
        OperandRule::Files,
    ),
    (
        "join",
        "-iz -aeotvj12= --ignore-case --check-order --nocheck-order --header --zero-terminated --help
         --version",
        OperandRule::Files,
    ),
    ("paste", "-sz -d= --delimiters= --serial --zero-terminated --help --version", OperandRule::Files),
    ("fold", "-bs -w= --bytes --spaces --width= --help --version", OperandRule::Files),
    (
        "fmt",
        "-NUM -cstu -gpw= --crown-margin --prefix= --split-only --tagged-paragraph --uniform-spacing --width=
         --goal= --help --version",
        OperandRule::Files,
    ),
    (
        "column",
        "-dtJexL -NoEHROTWsclnri= --table --json --table-name= --table-columns= --table-right=
         --table-truncate= --table-noextreme= --table-hide= --table-order= --table-wrap= --separator=
         --output-separator= --output-width= --fillrows --keep-empty-lines --help --version",
        OperandRule::Files,
    ),
    ("expand", "-NUM -i -t= --initial --tabs= --help --version", OperandRule::Files),
    ("unexpand", "-a -t= --all --first-only --tabs= --help --version", OperandRule::Files),
    (
        "cut",
        "-nsz -bcdf= --bytes= --characters= --delimiter= --fields= --complement --only-delimited
         --output-delimiter= --zero-terminated --help --version",
        OperandRule::Files,
    ),
    ("tr", "-cCdst --complement --delete --squeeze-repeats --truncate-set1 --help --version", OperandRule::Names),
    (
        "sort",
        "-bdfghiMnrRVcCsuz -kt= --ignore-leading-blanks --dictionary-order --ignore-case
         --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort
         --random-sort --reverse --sort= --version-sort --check=? --key= --stable --field-separator= --unique
         --zero-terminated --debug --help --version",
        OperandRule::Files,
    ),
    (
        "uniq",
        "-cdDiuz -fsw= --count --repeated --all-repeated=? --skip-fields= --group=? --ignore-case
         --skip-chars= --unique --zero-terminated --check-chars= --help --version",
        OperandRule::AtMost(1),
    ),
    (
        "diff",
        "-abBcdeEfiNnpPqrstTuwyZ -CFILUWxX= --normal --brief --report-identical-files --context=? --unified=?
         --ed --rcs --side-by-side --width= --left-column --suppress-common-lines --show-c-function
         --show-function-line= --label= --expand-tabs --initial-tab --tabsize= --recursive --no-dereference
         --new-file --unidirectional-new-file --ignore-file-name-case --exclude= --exclude-from=
         --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change
         --ignore-all-space --ignore-blank-lines --ignore-matching-lines= --text --strip-trailing-cr
         --minimal --speed-large-files --color=? --palette= --help --version",
        OperandRule::If(|parsed| all_operands(parsed, |word| may_read_or_search(parsed, "r --recursive", word))),
    ),
    (
        "cmp",
        "-bls -in= --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent --help --version",
        OperandRule::Files,
    ),
    (
        "grep",
        "-NUM -EFGPivwxyclLoqsbHhnTZaIrRUuz -efmABCd= --extended-regexp --fixed-strings --basic-regexp
         --perl-regexp --regexp= --file= --ignore-case --no-ignore-case --invert-match --word-regexp
         --line-regexp --count --color=? --colour=? --files-without-match --files-with-matches --max-count=
         --only-matching --quiet --silent --no-messages --byte-offset --with-filename --no-filename --label=
         --line-number --initial-tab --null --after-context= --before-context= --context= --group-separator=
         --no-group-separator --text --binary-files= --directories= --exclude= --exclude-from=
         --exclude-dir= --include= --recursive --dereference-recursive --line-buffered --binary --null-data
         --help --version",
        OperandRule::If(|parsed| files_after_pattern(parsed, |word| may_read_or_search(parsed, GREP_SEARCHES, word))),
    ),
    (
        "rg",
        "-.0acFhHiIlLnNoPpqsSuUvVwx -ABCMTefgjmrtE= --after-context= --before-context= --context= --color=
         --colors= --column --no-column --context-separator= --no-context-separator --count --count-matches
         --crlf --debug --engine= --encoding= --field-context-separator= --field-match-separator= --file=
         --files --files-with-matches --files-without-match --fixed-strings --follow --no-follow --glob=
         --glob-case-insensitive --heading --no-heading --hidden --no-hidden --iglob= --ignore-case
         --ignore-file= --ignore-file-case-insensitive --include-zero --invert-match --json --line-buffered
         --line-number --no-line-number --line-regexp --max-columns= --max-columns-preview --max-count=
         --max-depth= --max-filesize= --mmap --no-mmap --multiline --multiline-dotall --no-config
         --no-filename --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global
         --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-messages --no-require-git --no-unicode
         --null --null-data --one-file-system --only-matching --passthru --path-separator= --pcre2 --pretty
         --quiet --regexp= --replace= --smart-case --case-sensitive --sort= --sortr= --stats
         --stop-on-nonmatch --text --threads= --trim --type= --type-not= --type-add= --type-clear=
         --type-list --unrestricted --vimgrep --with-filename --word-regexp --auto-hybrid-regex --help
         --version",
        OperandRule::Pattern,
    ),
    ("find", "", OperandRule::Grammar(find_expression::only_prints)),
    (
        "sed",
        "-nErsuz -e= --quiet --silent --expression= --regexp-extended --separate --unbuffered --null-data
         --posix --sandbox --help --version",
        OperandRule::If(sed::only_prints),
    ),
    (
        "jq",
        "-acCehjMnrRsSV --ascii-output --compact-output --color-output --exit-status --join-output
         --monochrome-output --null-input --raw-output --raw-input --slurp --sort-keys --tab --indent=
         --unbuffered --stream --seq --arg== --argjson== --help --version",
        OperandRule::If(arg_grammars::jq_only_filters),
    ),
    ("exit", "", OperandRule::Grammar(arg_grammars::exit_is_number)),
    ("sleep", "", OperandRule::Grammar(arg_grammars::sleep_is_short)),
    ("wait umask lscpu who", "", OperandRule::AtMost(0)),
    (
        "free",
        "-bkmghtwl --bytes --kibi --mebi --gibi --human --si --total --wide --lohi --help --version",
        OperandRule::AtMost(0),
    ),
    ("locale", "-a --all-locales --help --version", OperandRule::AtMost(0)),
    ("getconf", "", OperandRule::If(|parsed| parsed.operands.len() == 1 && all_operands(parsed, is_setting))),
    (
        "numfmt",
        "-z -d= --to= --from= --suffix= --padding= --format= --to-unit= --from-unit= --round= --field=
         --delimiter= --header=? --grouping --invalid= --zero-terminated --help --version",
        OperandRule::Names,
    ),
    (
        "nm",
        "-aADgnoprSuC --debug-syms --print-file-name --dynamic --extern-only --numeric-sort --no-sort
         --reverse-sort --print-size --size-sort --undefined-only --defined-only --demangle --help --version",
        OperandRule::If(|parsed| all_operands(parsed, is_object)),
    ),
    (
        "readelf",
        "-hlSsdnVW --file-header --program-headers --segments --section-headers --sections --symbols --syms
         --dynamic --notes --version-info --wide --help --version",
        OperandRule::If(|parsed| all_operands(parsed, is_object)),
    ),
    ("size", "-ABdoxt --totals --help --version", OperandRule::If(|parsed| all_operands(parsed, is_object))),
    ("awk mawk gawk nawk", "-Fv=", OperandRule::If(awk::only_prints)),
];

/// Returns the options and the rule of the program `name`.
fn find_row(name: &str) -> Option<(&'static str, &'static OperandRule)> {
    static PROGRAM_INDEX: LazyLock<ProgramIndex> =
        LazyLock::new(|| ProgramIndex::new(READ_ONLY_PROGRAMS.iter().map(|(names, ..)| *names)));
    PROGRAM_INDEX.rows_for(name).first().map(|row| (READ_ONLY_PROGRAMS[*row].1, &READ_ONLY_PROGRAMS[*row].2))
}

/// Parses the words of the program `name`, if all of its options are listed.
pub(super) fn parse_options<'a>(name: &str, words: &[MaybeWord<'a>]) -> Option<ParsedOptions<'a>> {
    scan_options(find_row(name)?.0, words)
}

/// Returns true if the table contains the program `name`.
pub(super) fn lists_program(name: &str) -> bool {
    find_row(name).is_some()
}

/// Returns true if the program `name` with `words` only reads and prints.
pub(super) fn is_read_only(name: &str, words: &[MaybeWord<'_>]) -> bool {
    if exact_commands::is_exact_command(name, words) {
        return true;
    }
    let Some((options, rule)) = find_row(name) else { return false };
    match rule {
        OperandRule::Anything => return true,
        OperandRule::Grammar(holds) => return holds(words),
        OperandRule::Names
        | OperandRule::Files
        | OperandRule::AtMost(_)
        | OperandRule::SomeFiles
        | OperandRule::Pattern
        | OperandRule::If(_) => {}
    }
    let Some(parsed) = scan_options(options, words) else { return false };
    parsed.values.iter().all(|(_, value)| may_be_read(value)) && operands_allowed(rule, &parsed)
}

fn operands_allowed(rule: &OperandRule, parsed: &ParsedOptions<'_>) -> bool {
    match rule {
        OperandRule::Anything | OperandRule::Grammar(_) => false,
        OperandRule::Names => true,
        OperandRule::Files => all_operands(parsed, may_be_read),
        OperandRule::AtMost(most) => {
            parsed.operands.len() <= *most
                && !parsed.option_after_operand
                && all_operands(parsed, may_be_read)
        }
        OperandRule::SomeFiles => {
            !parsed.operands.is_empty() && all_operands(parsed, |word| word != "-" && may_be_read(word))
        }
        OperandRule::Pattern => files_after_pattern(parsed, may_be_searched),
        OperandRule::If(holds) => holds(parsed),
    }
}

/// Options with which `grep` searches directories; some values of them disable that.
const GREP_SEARCHES: &str = "r R --recursive --dereference-recursive d --directories";

/// Returns true if the operand `path` may be read, and searched if one of `options` is present.
fn may_read_or_search(parsed: &ParsedOptions<'_>, options: &'static str, path: &str) -> bool {
    if parsed.has_any(options) { may_be_searched(path) } else { may_be_read(path) }
}

/// Returns true if all operands except the pattern are known and `fits`. The pattern is the first, unless an option
/// gives one.
fn files_after_pattern(parsed: &ParsedOptions<'_>, fits: impl Fn(&str) -> bool) -> bool {
    let given = parsed.values_of(&["e", "f", "--regexp", "--file"]).next().is_some();
    let mut files = parsed.operands.iter().skip(usize::from(!given));
    files.all(|word| word.is_some_and(&fits))
}

/// Returns true if every operand is known and `fits`.
pub(super) fn all_operands(parsed: &ParsedOptions<'_>, fits: impl Fn(&str) -> bool) -> bool {
    parsed.operands.iter().all(|word| word.is_some_and(&fits))
}

/// Returns true if `name` may be a system setting: not an option or a path.
fn is_setting(name: &str) -> bool {
    name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Returns true if `path` may be read and is not a file with more options.
fn is_object(path: &str) -> bool {
    may_be_read(path) && !path.starts_with('@')
}

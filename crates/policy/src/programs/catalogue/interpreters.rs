//! The interpreters: programs that run text as a program.

use super::{ShellFamily, list_contains, program_name, without_version};

/// Languages other than shells whose scripts are often named in configuration: the first operand is the script.
const SCRIPT_LANGUAGES: &str =
    "awk bun busybox deno java lua node perl php python Rscript ruby tclsh ts-node tsx";
/// Other interpreters.
const INTERPRETERS: &str = "
    cmd toybox pypy ipython bpython jython micropython raku irb jruby nodejs luajit R julia wish expect guile
    racket sbcl clisp ecl scheme chicken csi emacs clojure clj bb ghci runghc runhaskell ocaml utop erl
    escript elixir iex scala groovy groovysh kotlin jshell swift osascript gawk mawk nawk gdb lldb sqlite psql
    mysql mariadb mongo mongosh redis-cli ed ex vi vim nvim m4 octave nix-shell javaw jjs jwebserver rhino
    nashorn d8 qjs quickjs txiki tjs coffee esno babel-node vite-node swc-node bunx graaljs graalpy
    python-config ptpython bython hy coconut sage maxima gp gnuplot dc bc octave-cli matlab scilab swipl
    gprolog prolog gforth forth pike rexx regina newlisp picolisp chez chezscheme petite mit-scheme gosh kawa
    janet fennel crystal nim rdmd tcc cling root factor mono csharp fsharpi fsi wine wine64 wasmtime wasmer
    wasm3 bpftrace stap dtrace ghc kotlinc scala-cli amm duckdb clickhouse clickhouse-client clickhouse-local
    cqlsh sqlcmd sqlplus isql usql pgcli mycli litecli influx php-cgi phpdbg hhvm zx jupyter";

/// Programs, and their options that are followed by a file to run or obey.
const SCRIPT_FILE_OPTIONS: &[(&str, &[&str])] = &[
    ("make gmake", &["-f", "--file", "--makefile"]),
    ("sed gsed awk gawk mawk nawk", &["-f", "--file"]),
    ("bun deno", &["run", "-r", "--require", "--import", "--loader"]),
    ("node ruby tsx ts-node", &["-r", "--require", "--import", "--loader"]),
    ("go", &["run"]),
    ("java", &["-jar"]),
    ("vi vim nvim", &["-S", "-u"]),
    ("ssh scp sftp autossh", &["-F"]),
];
/// Options of shells that are followed by a file to run.
const STARTUP_FILE_OPTIONS: &[&str] = &["--rcfile", "--init-file"];

/// Returns the options of the program `name` that are followed by a file to run or obey.
pub fn script_file_options(name: &str) -> &'static [&'static str] {
    if ShellFamily::of(name).is_some() {
        return STARTUP_FILE_OPTIONS;
    }
    let row = SCRIPT_FILE_OPTIONS.iter().find(|(names, _)| lists_program(names, name));
    row.map_or(&[], |(_, options)| *options)
}

/// Returns true if the program `name` runs its input: a shell, a language, a debugger or a database prompt. The name
/// may end in a version.
pub fn is_interpreter(name: &str) -> bool {
    let name = program_name(name);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    runs_script_file(name) || lists_program(INTERPRETERS, name)
}

/// Returns true if the program `name` is a shell or a language that runs the file in its first operand.
pub fn runs_script_file(name: &str) -> bool {
    let name = program_name(name);
    ShellFamily::of(name).is_some() || lists_program(SCRIPT_LANGUAGES, name)
}

/// Returns true if `list` contains the program `name`, in any version.
fn lists_program(list: &'static str, name: &str) -> bool {
    list_contains(list, name) || list_contains(list, without_version(name))
}

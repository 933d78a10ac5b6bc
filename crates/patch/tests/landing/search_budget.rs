//! Patches that exceed the search budget are refused early. Each of these once took minutes, or gigabytes.

use super::{replace, unified, update};

const MANY: usize = 3_000;

/// Returns the first line of a report.
fn in_short(told: &str) -> &str {
    told.lines().next().unwrap_or_default()
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

#[test]
fn many_lines_that_are_alike_are_not_all_kept() {
    let told = update("x\n".repeat(20_000), &(" x\n".repeat(1000) + "-x\n+y\n"));
    assert!(in_short(&told).contains("would take too long"), "{}", in_short(&told));
}

#[test]
fn what_is_nowhere_is_found_to_be_so() {
    let rows = [
        ("x\n".repeat(MANY), " x\n".repeat(MANY / 10) + "-z\n+y\n"),
        ("a\nb\n".repeat(MANY), " a\n b\n".repeat(MANY / 10) + "-c\n+y\n"),
        ("\n".repeat(MANY), " \n".repeat(MANY / 2) + "-x\n+y\n"),
        (
            lines(MANY, |nth| format!("line {nth} foo\n")),
            lines(MANY / 2, |nth| format!("-line {nth} bar\n+l\n")),
        ),
        ("a\n".repeat(MANY), lines(MANY / 2, |nth| format!(" {}\ta\n", nth + 1)) + "-9\tq\n+y\n"),
        ("a\nb\n".repeat(MANY), "a\nb\n".repeat(MANY / 2) + "-q\n+y\n"),
        ("a < b\n".repeat(MANY), " a &lt; b\n".repeat(MANY / 2) + "-q &lt;\n+y\n"),
    ];
    for (file, body) in rows {
        let told = update(file, &body);
        assert!(in_short(&told).starts_with("`f` is unchanged"), "{}", in_short(&told));
    }
}

#[test]
fn a_long_diff_of_lines_that_are_alike_is_answered() {
    let body = format!("@@ -1,{MANY} +1,{MANY} @@\n{}-x\n+y\n", " x\n".repeat(MANY - 1));
    let told = unified(&"x\n".repeat(MANY), &body);
    assert!(in_short(&told).starts_with("M f"), "{}", in_short(&told));
}

#[test]
fn long_texts_are_compared_without_taking_for_ever() {
    let old = lines(3000, |nth| format!("old {nth}\n"));
    let new = lines(3000, |nth| format!("new {nth}\n"));
    let told = replace(lines(3000, |nth| format!("  old {nth}\n")), &old, &new);
    assert!(told.starts_with("M f") || told.starts_with("`f` is unchanged"), "{}", in_short(&told));
}

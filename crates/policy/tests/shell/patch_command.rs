//! Tests which commands only apply a patch.

use toolgate_policy::shell::{PatchCommand, analyse_line};

fn patch_text(argv: &[&str]) -> Option<PatchCommand> {
    analyse_line(&argv.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>().into()).patch
}

fn found(directory: Option<&str>, text: &str) -> Option<PatchCommand> {
    Some(PatchCommand { directory: directory.map(str::to_owned), text: text.to_owned() })
}

const TEXT: &str = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n";

#[test]
fn a_patch_and_nothing_else_is_found() {
    assert_eq!(patch_text(&["apply_patch", TEXT]), found(None, TEXT));
    assert_eq!(patch_text(&["applypatch", TEXT]), found(None, TEXT));
    for (script, directory) in [
        (format!("apply_patch <<'EOF'\n{TEXT}EOF\n"), None),
        (format!("apply_patch <<'EOF'\n{TEXT}EOF"), None),
        (format!("apply_patch <<\"EOF\"\n{TEXT}EOF"), None),
        (format!("apply_patch <<\\EOF\n{TEXT}EOF\n\n"), None),
        (format!("apply_patch <<EOF\n{TEXT}EOF\n"), None),
        (format!("  applypatch << 'END'\n{TEXT}END\n"), None),
        (format!("apply_patch '{TEXT}'"), None),
        (format!("cd sub && apply_patch <<'EOF'\n{TEXT}EOF\n"), Some("sub")),
        (format!("cd 'a b/c' && apply_patch <<'EOF'\n{TEXT}EOF\n"), Some("a b/c")),
    ] {
        for shell in [["bash", "-lc"], ["/bin/bash", "-c"], ["sh", "-c"], ["zsh", "-lc"]] {
            assert_eq!(patch_text(&[shell[0], shell[1], &script]), found(directory, TEXT), "{script}");
        }
    }
    let odd = "+$(x) `y` \\z\n";
    assert_eq!(patch_text(&["bash", "-c", &format!("apply_patch <<'E'\n{odd}E")]), found(None, odd));
}

#[test]
fn anything_besides_makes_it_a_command() {
    for script in [
        format!("apply_patch <<'EOF'\n{TEXT}EOF\nls"),
        format!("ls; apply_patch <<'EOF'\n{TEXT}EOF"),
        format!("cd sub; apply_patch <<'EOF'\n{TEXT}EOF"),
        format!("cd sub || apply_patch <<'EOF'\n{TEXT}EOF"),
        format!("cd $x && apply_patch <<'EOF'\n{TEXT}EOF"),
        format!("cd && apply_patch <<'EOF'\n{TEXT}EOF"),
        format!("cd - && apply_patch <<'EOF'\n{TEXT}EOF"),
        format!("cd a b && apply_patch <<'EOF'\n{TEXT}EOF"),
        format!("cd a && cd b && apply_patch <<'EOF'\n{TEXT}EOF"),
        format!("A=1 apply_patch <<'EOF'\n{TEXT}EOF"),
        format!("apply_patch <<'EOF' > out\n{TEXT}EOF"),
        format!("apply_patch <<'EOF' | cat\n{TEXT}EOF"),
        format!("apply_patch <<'EOF' &\n{TEXT}EOF"),
        format!("apply_patch <<'EOF' && ls\n{TEXT}EOF"),
        format!("! apply_patch <<'EOF'\n{TEXT}EOF"),
        format!("apply_patch x <<'EOF'\n{TEXT}EOF"),
        format!("apply_patch <<EOF\n{TEXT}$x\nEOF"),
        format!("apply_patch <<EOF\n{TEXT}`x`\nEOF"),
        format!("apply_patch <<EOF\n{TEXT}\\\\\nEOF"),
        format!("(apply_patch <<'EOF'\n{TEXT}EOF\n)"),
        format!("apply_patch 3<<'EOF'\n{TEXT}EOF"),
        format!("apply_patch <<'EOF'\n{TEXT}"),
        "apply_patch < file".to_owned(),
        "apply_patch \"$x\"".to_owned(),
        "apply_patch".to_owned(),
    ] {
        assert_eq!(patch_text(&["bash", "-lc", &script]), None, "{script}");
    }
    for argv in [
        &["apply_patch"][..],
        &["apply_patch", "a", "b"],
        &["bash", "-lc", "apply_patch x", "y"],
        &["python3", "-c", "apply_patch x"],
        &[],
    ] {
        assert_eq!(patch_text(argv), None, "{argv:?}");
    }
}

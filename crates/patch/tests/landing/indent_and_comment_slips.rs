//! Regressions of an independent benchmark: slips in indentation, comments, elisions and escapes must not land wrong.

use super::{apply, replace, unified, update};

const CLASS: &str = "class A:\n    def one(self):\n        return 1\n\n    def three(self):\n        x = 2\n        return 3\n";

/// One removed line is one blank too deep. Lines added elsewhere are as deep as the lines around them.
#[test]
fn a_blank_too_many_in_one_hunk_does_not_move_another() {
    let body = "@@\n class A:\n     def one(self):\n+        print(\"one\")\n         return 1\n@@\n     def three(self):\n-         x = 2\n         return 3\n";
    insta::assert_snapshot!(update(CLASS, body), @r#"
    `f` is unchanged: hunk 1 of 2 (line 3 of the patch) almost fits at line 1, but the indentation of `print("one")` is unclear; write it as the file has it
         1 class A:
         2     def one(self):
         3         return 1
         4·
         5     def three(self):
    "#);
}

#[test]
fn a_blank_too_many_in_what_goes_does_not_move_what_comes() {
    let file = "fn f() {\n    let y = 2;\n    /* end */\n}\n";
    insta::assert_snapshot!(update(file, "@@\n-     let y = 2;\n+    let y = 3;\n     /* end */\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 2, but the indentation of `let y = 3;` is unclear; write it as the file has it
         1 fn f() {
         2     let y = 2;
         3     /* end */
         4 }
    ");
}

/// Every signed line has an extra blank after its sign.
#[test]
fn a_blank_too_many_after_all_signs_is_taken_off() {
    let file = "fn f() {\n    let y = 2;\n    /* end */\n}\n";
    insta::assert_snapshot!(update(file, "@@\n-     let y = 2;\n+     let y = 3;\n     /* end */\n"), @"
    M f
      at line 2, overlooking indentation
    |fn f() {
    |    let y = 3;
    |    /* end */
    |}
    ");
}

/// Lines at the margin match and prove nothing about the others.
#[test]
fn lines_at_the_margin_do_not_decide_how_deep_others_are() {
    let file =
        "repos:\n            - id: t\n#    rev: 1\n#    hooks:\n#      - id: fmt\nci:\n    auto: quarterly\n";
    let body = "@@ -2,6 +2,4 @@\n       - id: t\n-#    rev: 1\n-#    hooks:\n-#      - id: fmt\n+  - repo: a\n ci:\n   auto: quarterly\n";
    insta::assert_snapshot!(unified(file, body), @"
    M f
      at line 3, overlooking indentation
    |repos:
    |            - id: t
    |    - repo: a
    |ci:
    |    auto: quarterly
    ");
}

/// Context lines lack their leading space, and one of them is reworded. Added lines have their sign and the right
/// depth.
#[test]
fn what_comes_is_not_moved_with_what_lacks_its_blank() {
    let file = "class A {\n        /**\n         * Sets it.\n         */\n        set(name): void;\n        /**\n         * Sort all existing pairs.\n         * This method can be used.\n         */\n        sort(): void;\n}\n";
    let body = "@@ -3,6 +3,11 @@\n         * Sets them.\n         */\n        set(name): void;\n        /**\n+         * The total number.\n+         */\n+        readonly size: number;\n+        /**\n         * Sort all existing pairs.\n         * This method can be used.\n         */\n";
    insta::assert_snapshot!(unified(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch almost fits at line 3, but the indentation of `* The total number.` is unclear; write it as the file has it
         1 class A {
         2         /**
         3          * Sets it.
         4          */
         5         set(name): void;
         6         /**
         7          * Sort all existing pairs.
         8          * This method can be used.
         9          */
        10         sort(): void;
        11 }
    ");
}

/// A comment that the patch does not contain stands above a removed line.
#[test]
fn a_remark_above_what_goes_is_not_left_alone() {
    let file = "import re\n\nfrom a import Lexer, RegexLexer\nfrom b import Text, Error\nfrom c import KEYWORD_LIST\n\n# compatibility import\nfrom d import Modula2Lexer\n\n__all__ = ['AdaLexer']\n";
    let body = "@@ -2,7 +2,6 @@\n \n-from a import Lexer, RegexLexer\n+from a import RegexLexer\n from b import Text, Error\n from c import KEYWORD_LIST\n-from d import Modula2Lexer\n \n";
    insta::assert_snapshot!(unified(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 2-9. Lines with `-` are what the patch expects, with `+` what is there
         2··
         3  from a import Lexer, RegexLexer
         4  from b import Text, Error
         5  from c import KEYWORD_LIST
         6 +
         7 +# compatibility import
         8  from d import Modula2Lexer
         9··
    ");
}

#[test]
fn a_remark_among_what_changes_is_not_left_in_another_statement() {
    let file = "class F:\n    def check(self, fileobj):\n        headers = {}\n\n        if \"b\" not in fileobj.mode:\n            raise TypeError(\n                # keep me\n                \"binary mode, not text mode.\"\n            )\n        if isinstance(fileobj, io.StringIO):\n            raise TypeError(\n                \"require 'io.BytesIO'.\"\n            )\n\n        self.filename = filename\n";
    let old = "        headers = {}\n\n        if \"b\" not in fileobj.mode:\n            raise TypeError(\n                \"binary mode, not text mode.\"\n            )\n        if isinstance(fileobj, io.StringIO):\n            raise TypeError(\n                \"require 'io.BytesIO'.\"\n            )\n\n        self.filename = filename\n";
    let new = "        headers = {}\n\n        if isinstance(fileobj, io.StringIO):\n            raise TypeError(\n                \"require 'io.BytesIO'.\"\n            )\n        if isinstance(fileobj, io.TextIOBase):\n            raise TypeError(\n                \"binary mode, not text mode.\"\n            )\n\n        self.filename = filename\n";
    insta::assert_snapshot!(replace(file, old, new), @r#"
    `f` is unchanged: the text to replace does not match; the closest place is lines 3-15. Lines with `-` are what the patch expects, with `+` what is there
         3          headers = {}
         4··
         5          if "b" not in fileobj.mode:
         6              raise TypeError(
         7 +                # keep me
         8                  "binary mode, not text mode."
         9              )
        10          if isinstance(fileobj, io.StringIO):
        11              raise TypeError(
        12                  "require 'io.BytesIO'."
        13              )
        14··
        15          self.filename = filename
    "#);
}

/// The attribute above the added line may belong to the old or the new item, since the file words it differently.
#[test]
fn what_comes_does_not_take_the_attribute_of_another() {
    let file = "pub mod iter;\n#[cfg(feature = \"txt\")]\npub mod udiff;\n#[cfg(feature = \"text\")]\npub mod utils;\npub mod zip;\n";
    let old = file.replace("txt", "text");
    let new = old.replace("pub mod iter;\n", "pub mod iter;\n#[cfg(feature = \"text\")]\npub mod merge;\n");
    insta::assert_snapshot!(replace(file, &old, &new), @r#"
    `f` is unchanged: the text to replace does not match; the closest place is lines 1-6. Lines with `-` are what the patch expects, with `+` what is there
         1  pub mod iter;
           -#[cfg(feature = "text")]
         2 +#[cfg(feature = "txt")]
         3  pub mod udiff;
         4  #[cfg(feature = "text")]
         5  pub mod utils;
         6  pub mod zip;
    "#);
}

#[test]
fn what_stands_for_the_rest_of_a_file_does_not_become_all_of_it() {
    let file: String = (0..9).map(|number| format!("def f{number}():\n    return {number}\n\n\n")).collect();
    for rest in ["# ...", "// rest of the code remains the same", "# (unchanged)"] {
        let content = format!("def f0():\n    return 0\n\n\n{rest}\n");
        let call = serde_json::json!({"files": [{"path": "m.py", "content": content}]});
        let told = apply([("m.py", &file)], &call.to_string());
        assert!(told.contains("would lose the lines"), "{told}");
    }
}

#[test]
fn what_one_edit_proves_to_be_escaped_is_not_written_raw_by_another() {
    let files = [
        ("a.py", "def a():\n    print(\"a\")\n    return 1\n"),
        ("b.py", "def b():\n    x = 1\n    return 2\n"),
    ];
    let patch = "*** Begin Patch\n*** Update File: a.py\n@@\n def a():\n-    print(\\\"a\\\")\n+    print(\\\"aa\\\")\n     return 1\n*** Update File: b.py\n@@\n def b():\n     x = 1\n+    print(\\\"b\\\")\n     return 2\n*** End Patch\n";
    let told = apply(files, patch);
    assert!(told.starts_with("`b.py` would get") && told.contains("proves"), "{told}");
    let file = "fn a() -> Option<u8> {\n    None\n}\n\nfn b() {\n    let r = one();\n}\n";
    let edit = |old: &str, new: &str| serde_json::json!({"file_path": "e.rs", "original_content": old, "updated_content": new});
    let first =
        edit("fn a() -&gt; Option&lt;u8&gt; {\n    None", "fn a() -&gt; Option&lt;u8&gt; {\n    Some(1)");
    let second = edit("    let r = one();", "    let r = two::&lt;u8&gt;();");
    let told = apply([("e.rs", file)], &serde_json::json!({"edits": [first, second]}).to_string());
    assert!(told.starts_with("`e.rs` would get") && told.contains("proves"), "{told}");
}

//! A completely applied patch is not applied again, although one hunk alone would fit elsewhere.

use super::{apply, envelope, replace, unified, update};
use toolgate_patch::{MemoryTree, PatchPlan, parse};

const DONE: &str = "  f is as the patch wants it already";

const READER: &str = "class Writer:\n    def close(self):\n        self.flush()\n        return True\n\n\nclass Reader:\n    def close(self):\n        self.flush()\n        self.fd = None\n        return True\n";
const REMOVES: &str =
    "     def close(self):\n         self.flush()\n-        self.fd = None\n         return True\n";

#[test]
fn what_was_removed_where_the_header_says_is_not_removed_from_a_twin() {
    assert_eq!(update(READER, &format!("@@ class Writer:\n{REMOVES}")), DONE);
}

#[test]
fn what_was_removed_where_the_number_says_is_not_removed_from_a_twin() {
    assert_eq!(unified(READER, &format!("@@ -2,4 +2,3 @@\n{REMOVES}")), DONE);
}

#[test]
fn what_was_removed_between_many_lines_may_be_removed_from_a_twin_or_not() {
    let file = "a = 1\nb = 2\nd = 4\ne = 5\n\na = 1\nb = 2\nc = 3\nd = 4\ne = 5\n";
    insta::assert_snapshot!(update(file, " a = 1\n b = 2\n-c = 3\n d = 4\n e = 5\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 1-5
    lines 6-10
    ");
    insta::assert_snapshot!(update(file, " b = 2\n-c = 3\n d = 4\n"), @"
    M f
    |a = 1
    |b = 2
    |d = 4
    |e = 5
    |
    |a = 1
    |b = 2
    |d = 4
    |e = 5
    ");
}

#[test]
fn hunks_that_stand_where_their_numbers_say_are_done() {
    let file = "import typing as t\nfrom http import HTTPStatus\n\nfrom flask import Flask\nfrom flask import jsonify\n\nclass StatusJSON(t.TypedDict):\n    status: str\n\nimport typing as t\nfrom http import HTTPStatus\n\nimport typing_extensions as te\n\nfrom flask import Flask\nfrom flask import jsonify\n";
    let body = "@@ -1,7 +1,5 @@\n import typing as t\n from http import HTTPStatus\n-\n-import typing_extensions as te\n \n from flask import Flask\n from flask import jsonify\n@@ -9,2 +7,2 @@\n-class StatusJSON(te.TypedDict):\n+class StatusJSON(t.TypedDict):\n     status: str\n";
    assert_eq!(unified(file, body), DONE);
    assert_eq!(unified(&file.replace('\n', "\r\n"), body), DONE);
}

/// The appended lines end like the file did before.
#[test]
fn what_was_appended_is_not_appended_to_itself() {
    let file = "fn a() {\n    x(1);\n}\n\nfn b() {\n    x(2);\n}\n";
    let body = "@@ -1,2 +1,3 @@\n fn a() {\n+    y();\n     x(1);\n@@ -7 +8,5 @@\n }\n+\n+fn c() {\n+    x(3);\n+}\n";
    insta::assert_snapshot!(unified(file, body), @"
    M f
    |fn a() {
    |    y();
    |    x(1);
    |}
    |
    |fn b() {
    |    x(2);
    |}
    |
    |fn c() {
    |    x(3);
    |}
    ");
}

/// Lines that one hunk adds are not the lines that another removes.
#[test]
fn what_moves_is_not_taken_from_where_it_came_to() {
    let file = "class A:\n    def __init__(\n        self,\n    ):\n        \"\"\"One.\n\n        Two.\n        \"\"\"\n        self.x = 1\n";
    let body = "@@\n class A:\n+    \"\"\"One.\n+\n+    Two.\n+    \"\"\"\n+\n     def __init__(\n@@\n-        \"\"\"One.\n-\n-        Two.\n-        \"\"\"\n";
    insta::assert_snapshot!(update(file, body), @r#"
    M f
    |class A:
    |    """One.
    |
    |    Two.
    |    """
    |
    |    def __init__(
    |        self,
    |    ):
    |        self.x = 1
    "#);
}

#[test]
fn what_moves_is_not_changed_where_it_came_to() {
    let file = "one {\n    find: 1\n}\ntwo {\n    join: 2\n    keys: 3\n}\n";
    let body = "@@\n     find: 1\n+    join: 2\n+    keys: 3\n@@\n two {\n-    join: 2\n-    keys: 3\n+    merge: 4\n";
    let told = update(file, body);
    assert!(told.starts_with("M f\n") && !told.contains("WRONG"), "{told}");
    let bare =
        "@@\n     find: 1\n+    join: 2\n+    keys: 3\n@@ two {\n-    join: 2\n-    keys: 3\n+    merge: 4\n";
    let told = update(file, bare);
    assert!(told.starts_with("M f\n") && !told.contains("WRONG"), "{told}");
}

#[test]
fn a_hunk_whose_neighbours_are_done_is_done_between_them() {
    let file = "def a():\n    print(\"a\")\n\ndef b():\n    print(\"b\")\n\ndef c():\n    print(\"c\")\n\ndef d():\n    print \"b\"\n";
    let hunk = |name: &str| format!("@@\n-    print \"{name}\"\n+    print(\"{name}\")\n");
    assert_eq!(update(file, &(hunk("a") + &hunk("b") + &hunk("c"))), DONE);
    insta::assert_snapshot!(update(file, &(hunk("a") + &hunk("b"))), @"`f` is unchanged: hunk 1 of 2 (line 3 of the patch) does not match: none of its lines is in the file; read the file again; its new lines stand at line 2: perhaps it is applied already");
}

/// A hunk that removes lines at its end leaves lines that stand there before and after.
#[test]
fn what_is_left_of_a_hunk_says_nothing_where_lines_follow() {
    let body = "@@ -1,4 +1,2 @@\n one = 1\n two = 2\n-three = 3\n-four = 4\n";
    insta::assert_snapshot!(unified("one = 1\ntwo = 2\nthree = 3.0\nfour = 4\n", body), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-4. Lines with `-` are what the patch expects, with `+` what is there; its new lines stand at line 1: perhaps it is applied already
         1  one = 1
         2  two = 2
           -three = 3
         3 +three = 3.0
         4  four = 4
    ");
    assert_eq!(unified("one = 1\ntwo = 2\n", body), DONE);
}

#[test]
fn blanks_at_the_ends_of_lines_do_not_hide_that_it_is_done() {
    let file = "one = 1  \ntwo = 22\t\nthree = 3\n\none = 1\ntwo = 2\nthree = 3\n";
    assert_eq!(unified(file, "@@ -1,3 +1,3 @@\n one = 1\n-two = 2\n+two = 22\n three = 3\n"), DONE);
    // The indentation of a line may be the whole change.
    let deeper = "if a:\n    one(1, 2)\n    two = 2\n";
    insta::assert_snapshot!(unified(deeper, "@@ -1,3 +1,3 @@\n if a:\n-    one(1)\n+        one(1, 2)\n     two = 2\n"), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-3. Lines with `-` are what the patch expects, with `+` what is there
         1  if a:
           -    one(1)
         2 +    one(1, 2)
         3      two = 2
    ");
}

/// The hunk was applied while ignoring empty lines. A twin with an inserted line is another place.
#[test]
fn an_applied_twin_with_empty_lines_stops_the_hunk() {
    let file = "struct A {\n    /// One.\n    one: u8,\n    /// Two.\n    two: u8,\n    three: u8,\n}\n\nstruct B {\n    /// One.\n    one: u16,\n\n    /// Two.\n    two: u16,\n}\nfn f() {}\n";
    let body = "     /// One.\n-    one: u8,\n+    one: u16,\n     /// Two.\n-    two: u8,\n+    two: u16,\n }\n+fn f() {}\n";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch seems to be applied already, at line 10: its old lines are only almost those at line 2; if it belongs there, write them as the file has them
         1 struct A {
         2     /// One.
         3     one: u8,
         4     /// Two.
         5     two: u8,
         6     three: u8,
         7 }
         8·
    ");
}

/// Applies a patch to a file. Returns the result, and the report of applying the patch once more.
fn twice(file: &str, patch: &str) -> (String, String) {
    let tree = MemoryTree::from_files([("f", file)]);
    let plan = PatchPlan::build(&parse(patch).unwrap(), &tree).unwrap();
    let [change] = plan.changes.as_slice() else { panic!("{} changes", plan.changes.len()) };
    let made = String::from_utf8(change.after.as_ref().unwrap().bytes.to_vec()).unwrap();
    let told = apply([("f", made.as_str())], patch);
    (made, told)
}

/// Differences that were ignored when the patch was applied are ignored when it is recognised.
#[test]
fn what_was_overlooked_does_not_hide_that_it_is_done() {
    let greet = "def greet(name):\n    text = \"Hi \" + name\n    print(text)\n    return text\n";
    let rows = [
        (
            "indentation, one line below a header",
            greet,
            "@@ def greet(name):\n-  text = \"Hi \" + name\n+  text = f\"Hello, {name}!\"\n",
        ),
        (
            "indentation",
            greet,
            " def greet(name):\n-  text = \"Hi \" + name\n+  text = f\"Hello, {name}!\"\n+  log(text)\n   print(text)\n",
        ),
        (
            "quotes",
            greet,
            " def greet(name):\n-    text = “Hi ” + name\n+    text = “Hello ” + name\n     print(text)\n",
        ),
        (
            "blanks at the ends of lines",
            greet,
            " def greet(name):  \n-    text = \"Hi \" + name\t\n+    text = name\n     print(text)\n",
        ),
        (
            "an empty line",
            "def a():\n    one()\n\n    two()\n    three()\n",
            "     one()\n-    two()\n+    two(2)\n     three()\n",
        ),
        (
            "a line nearby",
            "def a():\n    zero()\n    one(1)\n    two()\n    three()\n    four()\n",
            " def a():\n     zero()\n     one()\n-    two()\n+    second()\n     three()\n     four()\n",
        ),
    ];
    for (what, file, body) in rows {
        let (made, told) = twice(file, &envelope(&format!("*** Update File: f\n{body}")));
        assert_eq!(told, DONE, "{what}:\n{made}");
    }
}

#[test]
fn a_text_that_was_replaced_in_other_indentation_is_done() {
    let file = "fn f() {\n        let text = 2;\n        print(text);\n}\n";
    assert_eq!(replace(file, "let text = 1;\nprint(text);\n", "let text = 2;\nprint(text);\n"), DONE);
}

/// Appended text is recognised in a file with and without a last newline.
#[test]
fn what_was_appended_is_known_with_and_without_a_newline() {
    for end in ["", "\n"] {
        let file = format!("one line\ntwo line\nthree line{end}");
        let body = "--- a/f\n+++ b/f\n@@ -1,3 +1,5 @@\n one line\n two line\n three line\n+\n+four line\n";
        assert_eq!(twice(&file, body).1, DONE, "{end:?}");
        let call = r#"{"file_path": "f", "original_content": "two line\nthree line\n", "updated_content": "two line\nthree line\n\nfour line\n"}"#;
        assert_eq!(twice(&file, call).1, DONE, "{end:?}");
    }
}

/// The new lines stand in one place, and all old lines but one in another. It is unclear whether that place remains to
/// be changed.
#[test]
fn what_may_be_left_to_do_elsewhere_is_not_done() {
    let bounds = |read: &str, body: &str| {
        format!(
            "where\n    S: Service<Body>,\n    S::Error: Into<Error>,\n    I: {read},\n{body}    B::Error: Into<Error>,\n    E: Exec<S>,\n{{}}\n"
        )
    };
    let file = bounds("Read + Write", "    B: Body,\n") + "\n" + &bounds("Read + Write + 'static", "");
    let body = " where\n     S: Service<Body>,\n     S::Error: Into<Error>,\n-    I: Read + Write + 'static,\n+    I: Read + Write,\n     B: Body,\n     B::Error: Into<Error>,\n     E: Exec<S>,\n";
    let told = update(&file, body);
    assert!(told.starts_with("`f` is unchanged"), "{told}");
}

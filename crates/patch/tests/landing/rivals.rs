//! A number or a header that points one way, and lines that point another: nobody can tell which of them is wrong.

use super::{replace, unified, update};

/// The lines of the hunk stand exactly in the first, and but for one in the second.
const FILE: &str = "class Reader:\n    def close(self):\n        self.flush()\n        self.fd = None\n        return True\n\n\nclass Writer:\n    mode = 1\n\n    def close(self):\n        self.flush(force=True)\n        self.fd = None\n        return True\n";
const HUNK: &str = "     def close(self):\n         self.flush()\n         self.fd = None\n-        return True\n+        return self.ok\n";

#[test]
fn a_number_speaks_for_a_place_that_reads_almost_so() {
    insta::assert_snapshot!(unified(FILE, &format!("@@ -11,4 +11,4 @@\n{HUNK}")), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 11-14, below `class Writer:` (line 8)
    lines 2-5, below `class Reader:` (line 1)
    ");
    // It need not be just that line.
    insta::assert_snapshot!(unified(FILE, &format!("@@ -13,4 +13,4 @@\n{HUNK}")), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 11-14, below `class Writer:` (line 8)
    lines 2-5, below `class Reader:` (line 1)
    ");
}

#[test]
fn a_number_near_an_exact_place_is_no_doubt() {
    insta::assert_snapshot!(unified(FILE, &format!("@@ -3,4 +3,4 @@\n{HUNK}")), @"
    M f
    |class Reader:
    |    def close(self):
    |        self.flush()
    |        self.fd = None
    |        return self.ok
    |
    |
    |class Writer:
    |    mode = 1
    |
    |    def close(self):
    |        self.flush(force=True)
    |        self.fd = None
    |        return True
    ");
}

#[test]
fn a_header_speaks_for_a_place_somewhere_after_it() {
    let file = FILE.replace("class Writer:\n    mode = 1\n", "class Mode:\n    mode = 1\n\n\nclass Writer:");
    insta::assert_snapshot!(update(&file, &format!("@@ class Mode:\n{HUNK}")), @"
    `f` is unchanged: the hunk at line 3 of the patch fits at line 2 alone, which is not below its header `class Mode:` (line 8); write the lines as they stand below that, or give the header of the place that is meant
         1 class Reader:
         2     def close(self):
         3         self.flush()
         4         self.fd = None
         5         return True
         6·
         7·
    ");
}

/// The first is found by its exact lines below the second, which has blanks at the ends of lines.
#[test]
fn hunks_that_lie_otherwise_than_their_numbers_say_must_be_exact() {
    let file = "one = 1 \ntwo = 2\n\nthree = 3 \nfour = 4\n\none = 1\ntwo = 2\n";
    let body = "@@ -1,2 +1,2 @@\n one = 1\n-two = 2\n+two = 22\n@@ -4,2 +4,2 @@\n three = 3\n-four = 4\n+four = 44\n";
    insta::assert_snapshot!(unified(file, body), @"
    `f` is unchanged: hunk 1 of 2 (line 3 of the patch) fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 1-2
    lines 7-8, below `four = 4` (line 5)
    ");
}

/// Which lines of two texts go is a guess of ours, unless each is only reworded.
#[test]
fn lines_that_are_reworded_leave_the_empty_lines_around_them() {
    let file =
        "struct Test {\n    doc: Document,\n}\n\nfn given() {\n    parse::<Document>();\n\n    end();\n}\n";
    let (old, new) =
        (file.replace("\n\n", "\n"), file.replace("\n\n", "\n").replace("Document", "DocumentMut"));
    insta::assert_snapshot!(replace(file, &old, &new), @"
    M f
      at line 2, overlooking empty lines
    |struct Test {
    |    doc: DocumentMut,
    |}
    |
    |fn given() {
    |    parse::<DocumentMut>();
    |
    |    end();
    |}
    ");
    insta::assert_snapshot!(replace(file, &old, &new.replace("fn given", "fn other() {}\nfn given")), @"
    `f` is unchanged: the text to replace almost fits at line 1, but the empty lines among what changes are not those of the file; write it as the file has it
         1 struct Test {
         2     doc: Document,
         3 }
         4·
         5 fn given() {
         6     parse::<Document>();
         7·
         8     end();
         9 }
    ");
}

//! Tests line numbers, headers or context that contradict the matched lines: refused unless the place is clear.

use super::{replace, unified, update};

/// The lines of the hunk stand exactly in the first class, and except for one in the second.
const FILE: &str = "class Reader:\n    def close(self):\n        self.flush()\n        self.fd = None\n        return True\n\n\nclass Writer:\n    mode = 1\n\n    def close(self):\n        self.flush(force=True)\n        self.fd = None\n        return True\n";
const HUNK: &str = "     def close(self):\n         self.flush()\n         self.fd = None\n-        return True\n+        return self.ok\n";

#[test]
fn a_number_speaks_for_a_place_that_reads_almost_so() {
    insta::assert_snapshot!(unified(FILE, &format!("@@ -11,4 +11,4 @@\n{HUNK}")), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 11-14, below `class Writer:` (line 8)
    lines 2-5, below `class Reader:` (line 1)
    ");
    // The number need not be exact.
    insta::assert_snapshot!(unified(FILE, &format!("@@ -13,4 +13,4 @@\n{HUNK}")), @"
    `f` is unchanged: the hunk at line 3 of the patch fits in 2 places; add lines around it that only one of them has, or an `@@` header that stands above it
    lines 11-14, below `class Writer:` (line 8)
    lines 2-5, below `class Reader:` (line 1)
    ");
}

/// A model that does not know the line number writes 1.
#[test]
fn the_number_one_says_nothing() {
    let file = format!("{}{}", FILE.split_once("\n\n\n").unwrap().1, FILE.split_once("\n\n\n").unwrap().0);
    assert!(unified(&file, &format!("@@ -1,4 +1,4 @@\n{HUNK}")).starts_with("M f\n"));
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
fn a_place_that_is_unique_lands_although_its_header_is_elsewhere() {
    let file = FILE.replace("class Writer:\n    mode = 1\n", "class Mode:\n    mode = 1\n\n\nclass Writer:");
    let told = update(&file, &format!("@@ class Mode:\n{HUNK}"));
    insta::assert_snapshot!(told.lines().take(2).collect::<Vec<_>>().join("\n"), @"
    M f
      at line 5, overlooking its `@@` header
    ");
}

#[test]
fn a_header_above_both_speaks_for_neither() {
    let file = format!("mode = 1\n\n{FILE}");
    assert!(update(&file, &format!("@@ mode = 1\n{HUNK}")).starts_with("M f\n"));
}

/// The first hunk matches exactly only below the second, which has trailing whitespace.
#[test]
fn hunks_that_lie_otherwise_than_their_numbers_say_must_be_exact() {
    let file = "one = 1 \ntwo = 2\n\nthree = 3 \nfour = 4\n\none = 1\ntwo = 2\n";
    let body = "@@ -1,2 +1,2 @@\n one = 1\n-two = 2\n+two = 22\n@@ -4,2 +4,2 @@\n three = 3\n-four = 4\n+four = 44\n";
    insta::assert_snapshot!(unified(file, body), @"
    `f` is unchanged: hunk 2 of 2 (line 7 of the patch) almost fits at line 4, which is before the hunk before it; give the hunks in the file's order, or write it as the file has it
         2 two = 2
         3·
         4 three = 3·
         5 four = 4
         6·
         7 one = 1
    ");
}

/// For two texts, the removed lines are our own guess, unless each line is only reworded.
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

/// Both places have the removed line. The line above it, which only one has, is not reworded in the other.
#[test]
fn a_line_that_stands_elsewhere_is_not_reworded_here() {
    let file = "@app.teardown\ndef teardown1(exc):\n    assert type(exc) == Error\n    called.append(1)\n\n@app.teardown\ndef teardown2(exc):\n    assert isinstance(exc, Error)\n    called.append(1)\n";
    let body = " @app.teardown\n def teardown2(exc):\n-    assert type(exc) == Error\n+    assert type(exc) is Error\n     called.append(1)\n";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-4. Lines with `-` are what the patch expects, with `+` what is there
         1  @app.teardown
           -def teardown2(exc):
         2 +def teardown1(exc):
         3      assert type(exc) == Error
         4      called.append(1)
    ");
}

/// The position of lines added among elided lines is unclear.
#[test]
fn dots_beside_what_comes_are_not_overlooked() {
    let file = "def copy(self):\n    rv = new(self)\n    rv.extend(self.items)\n\n    return check(rv)\n\ndef lexer(self):\n    return self.lex\n";
    let body = " def copy(self):\n     rv = new(self)\n     rv.extend(self.items)\n \n+    rv.more = more\n+\n     # ...\n def lexer(self):\n     return self.lex\n";
    insta::assert_snapshot!(update(file, body), @"
    `f` is unchanged: the hunk at line 3 of the patch does not match; the closest place is lines 1-8. Lines with `-` are what the patch expects, with `+` what is there
         1  def copy(self):
         2      rv = new(self)
         3      rv.extend(self.items)
         4··
           -    # ...
         5 +    return check(rv)
         6 +
         7  def lexer(self):
         8      return self.lex
    ");
}

/// A line that continues in the file is another line.
#[test]
fn a_text_of_several_lines_does_not_end_within_a_word() {
    let file = ".hero\n  grow: 1\n  padding: $pad_old\n";
    insta::assert_snapshot!(replace(file, ".hero\n  grow: 1\n  padding: $pad", ".hero\n  grow: 1\n  padding: $pad\n  margin: 0"), @"
    `f` is unchanged: the text to replace almost fits at line 1, but `padding: $pad` ends in the middle of a word there; write it as the file has it
         1 .hero
         2   grow: 1
         3   padding: $pad_old
    ");
    insta::assert_snapshot!(replace(file, "$pad", "$pads"), @"
    M f
    |.hero
    |  grow: 1
    |  padding: $pads_old
    ");
}

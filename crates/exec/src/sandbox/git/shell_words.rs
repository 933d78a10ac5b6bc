//! Splits the text of a command into words as a shell does, and expands the variables that it sets.

/// The maximum number of variable values.
const MAX_VALUES: usize = 200;
/// The maximum number of expansions of one word.
const MAX_SPELLINGS: usize = 64;
/// The maximum number of nested variables.
const MAX_VARIABLE_NESTING: usize = 4;

/// One word; an expansion stays as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct UnexpandedWord {
    pub(super) text: Vec<u8>,
    /// True if the word begins a simple command.
    pub(super) starts_command: bool,
    /// True if the word follows a substitution without a blank: `$(pwd)/x`.
    pub(super) follows_substitution: bool,
}

/// Splits a text into words. Comments and the `#!` of a first line are left out.
pub(super) fn split_words(text: &[u8]) -> Vec<UnexpandedWord> {
    let text = text.strip_prefix(b"#!").unwrap_or(text);
    let (mut words, mut quote, mut escaped, mut is_comment) = (Vec::new(), None, false, false);
    let mut word = UnexpandedWord { starts_command: true, ..UnexpandedWord::default() };
    for &byte in text {
        match (byte, quote) {
            (b'\n', _) if is_comment => is_comment = false,
            _ if is_comment => {}
            _ if escaped => {
                // An escaped newline continues the line.
                word.text.extend(Some(byte).filter(|&byte| byte != b'\n'));
                escaped = false;
            }
            (b'\\', None | Some(b'"')) => escaped = true,
            (b'#', None) if word.text.is_empty() && !word.follows_substitution => is_comment = true,
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            (byte, None) if byte.is_ascii_whitespace() || b";|&<>()`".contains(&byte) => {
                let starts_command =
                    word.starts_command && word.text.is_empty() || b";|&()`\n".contains(&byte);
                let next = UnexpandedWord {
                    text: Vec::new(),
                    starts_command,
                    follows_substitution: b")`".contains(&byte),
                };
                words.push(std::mem::replace(&mut word, next));
            }
            (byte, _) => word.text.push(byte),
        }
    }
    words.push(word);
    words.retain(|word| !word.text.is_empty());
    words
}

/// Returns the name and the value of an assignment: `NAME=value`.
pub(super) fn assignment(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = word.iter().position(|&byte| byte == b'=')?;
    let (name, value) = (&word[..equals], &word[equals + 1..]);
    (!name.is_empty() && name_length(name) == name.len()).then_some((name, value))
}

/// Returns the length of the variable name that `text` begins with.
fn name_length(text: &[u8]) -> usize {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if text.first().is_some_and(u8::is_ascii_digit) {
        return 0;
    }
    text.iter().position(|byte| !is_name(byte)).unwrap_or(text.len())
}

/// The variables that a text sets, each with every possible value.
#[derive(Debug, Clone, Default)]
pub(super) struct ShellVariables(Vec<(Vec<u8>, Vec<u8>)>);

impl ShellVariables {
    /// Records the assignments and the loops (`for NAME in …`) of `words`.
    pub(super) fn record_assignments(&mut self, words: &[UnexpandedWord]) {
        for (at, UnexpandedWord { text, .. }) in words.iter().enumerate() {
            if let Some((name, value)) = assignment(text) {
                self.0.push((name.to_vec(), value.to_vec()));
            }
            let loops = text == b"for" && words.get(at + 2).is_some_and(|word| word.text == b"in");
            if let Some(name) = words.get(at + 1).filter(|_| loops) {
                let values = words[at + 3..].iter().take_while(|word| !word.starts_command);
                self.0.extend(values.map(|value| (name.text.clone(), value.text.clone())));
            }
        }
        self.0.truncate(MAX_VALUES);
    }

    /// Returns the word as it is written, and with the values of its variables.
    pub(super) fn expansions(&self, word: &[u8]) -> Vec<Vec<u8>> {
        let mut all = vec![word.to_vec()];
        let mut from = 0;
        for _ in 0..MAX_VARIABLE_NESTING {
            let new: Vec<Vec<u8>> =
                all[from..].iter().flat_map(|text| self.expand_first_variable(text)).collect();
            from = all.len();
            all.extend(new.into_iter().take(MAX_SPELLINGS.saturating_sub(from)));
        }
        all
    }

    /// Returns `text` with its first known variable replaced by each of its values.
    fn expand_first_variable(&self, text: &[u8]) -> Vec<Vec<u8>> {
        for (at, _) in text.iter().enumerate().filter(|&(_, &byte)| byte == b'$') {
            let rest = &text[at + 1..];
            let inner = rest.strip_prefix(b"{").unwrap_or(rest);
            let (name, tail) = inner.split_at(name_length(inner));
            let tail = match tail.iter().position(|&byte| byte == b'}') {
                Some(close) if rest.len() > inner.len() => &tail[close + 1..],
                _ => tail,
            };
            let values = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value);
            let found: Vec<Vec<u8>> = values.map(|value| [&text[..at], value, tail].concat()).collect();
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }
}

/// A part of a word that may be a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordPiece<'a> {
    pub(super) text: &'a [u8],
    /// True if it follows a substitution: `{top}/x`.
    pub(super) follows_substitution: bool,
    /// True if it follows a `=`.
    pub(super) is_value: bool,
}

/// Splits a word at the punctuation of shells and of other languages.
pub(super) fn split_pieces(word: &[u8]) -> Vec<WordPiece<'_>> {
    let is_mark = |byte: &u8| b"=,:'\"`()[]{};|&<>".contains(byte) || byte.is_ascii_whitespace();
    let mut at = 0_usize;
    let piece = |text| {
        let mark = word.get(at.wrapping_sub(1)).copied().unwrap_or_default();
        at += <[u8]>::len(text) + 1;
        WordPiece { text, follows_substitution: b")}`".contains(&mark), is_value: mark == b'=' }
    };
    word.split(is_mark).map(piece).filter(|piece| !piece.text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        let show = |word: UnexpandedWord| {
            let marks = if word.starts_command { "^" } else { "" }.to_owned();
            marks + if word.follows_substitution { ")" } else { "" } + &String::from_utf8_lossy(&word.text)
        };
        split_words(text.as_bytes()).into_iter().map(show).collect()
    }

    #[test]
    fn a_text_is_split_as_a_shell_does() {
        for (text, expected) in [
            ("sh 'a b' c\\ d", vec!["^sh", "a b", "c d"]),
            ("a;  b|c >d", vec!["^a", "^b", "^c", "d"]),
            ("$(pwd)/x y", vec!["^$", "^pwd", "^)/x", "y"]),
            ("#!./i -x\n# don't\nsh \\\n w", vec!["^./i", "-x", "^sh", "w"]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn a_word_has_the_values_of_its_variables() {
        let mut variables = ShellVariables::default();
        variables.record_assignments(&split_words(b"S=a T=$S/b; for f in x/*.sh y; do . $f; done"));
        let spelled = |word: &str| {
            let all = variables.expansions(word.as_bytes());
            all.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(spelled("${T}.sh"), ["${T}.sh", "$S/b.sh", "a/b.sh"]);
        assert_eq!(spelled("$f"), ["$f", "x/*.sh", "y"]);
        assert_eq!(spelled("$unknown"), ["$unknown"]);
    }
}

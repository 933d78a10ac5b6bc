//! Texts of a journal, as long as anybody reads: what is cut says how much.

/// Bytes that are kept of a text at the most.
const TEXT: usize = 16 << 10;
/// Bytes that are kept of all texts of a session.
const ALL: usize = 32 << 20;
/// The part of what is left that one text gets: of a long session, the last text is shown too, only less of it.
const SHARE: usize = 1024;
/// Bytes that are kept of a name.
const NAME: usize = 200;
/// How many sentences of a list are kept.
const LIST: usize = 10;

/// The beginning of a text, and how many bytes come after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub(crate) text: String,
    pub(crate) left_out: usize,
}

/// Cuts texts, so that all together are not too many.
#[derive(Debug)]
pub(crate) struct Shears {
    left: usize,
}

impl Shears {
    /// For those who read texts.
    pub(crate) fn reading() -> Self {
        Self { left: ALL }
    }

    /// For those who only count: no text is kept, but for names.
    pub(crate) fn counting() -> Self {
        Self { left: 0 }
    }

    /// The beginning of a text.
    pub(crate) fn cut(&mut self, text: &str) -> Excerpt {
        let kept = &text[..text.floor_char_boundary(TEXT.min(self.left / SHARE))];
        self.left -= kept.len();
        Excerpt { text: kept.to_owned(), left_out: text.len() - kept.len() }
    }

    /// The beginnings of the first texts; the last says how many there are more.
    pub(crate) fn list(&mut self, texts: &[String]) -> Vec<Excerpt> {
        let mut list: Vec<Excerpt> = texts.iter().take(LIST).map(|text| self.cut(text)).collect();
        if texts.len() > LIST {
            list.push(Excerpt { text: format!("… and {} more", texts.len() - LIST), left_out: 0 });
        }
        list
    }
}

/// A name, which is short unless somebody means no good.
pub(crate) fn name(text: &str) -> String {
    let kept = &text[..text.floor_char_boundary(NAME)];
    if kept.len() == text.len() { kept.to_owned() } else { format!("{kept}…") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_letters_and_altogether() {
        let cut = Shears::reading().cut(&"é".repeat(TEXT));
        assert_eq!((cut.text.len(), cut.left_out), (TEXT, TEXT));
        let mut shears = Shears { left: 4 * SHARE };
        assert_eq!(shears.cut("aéé"), Excerpt { text: "aé".to_owned(), left_out: 2 });
        assert_eq!(shears.cut("four"), Excerpt { text: "fou".to_owned(), left_out: 1 });
        assert_eq!(Shears::counting().cut("b"), Excerpt { text: String::new(), left_out: 1 });
        let mut shears = Shears::reading();
        let huge = "x".repeat(1 << 20);
        let last = (0..10_000).map(|_| shears.cut(&huge).text.len()).last();
        assert!(last.is_some_and(|last| (1..100).contains(&last)), "{last:?}");
        assert_eq!(name(&"x".repeat(500)), format!("{}…", "x".repeat(200)));
        let list = Shears::reading().list(&vec!["x".to_owned(); 60]);
        assert_eq!((list.len(), list[10].text.as_str()), (11, "… and 50 more"));
    }
}

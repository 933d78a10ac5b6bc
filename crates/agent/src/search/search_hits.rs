//! Parses search provider output into results. All text is untrusted: truncated, cleaned and put on one line.

use reqwest::Url;
use serde_json::Value;

/// Maximum characters of a title and of a snippet, and bytes of a URL.
const MAX_TITLE_CHARS: usize = 200;
const MAX_SNIPPET_CHARS: usize = 500;
const MAX_URL_BYTES: usize = 2000;
/// JSON pointers to the result list, in the output of known search engines.
const RESULT_POINTERS: &[&str] = &[
    "/results", "/items", "/organic", "/organic_results", "/web/results", "/webPages/value", "/data", "/hits",
];

/// One search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// Title of the page; its URL if it has none.
    pub title: String,
    /// An `http` or `https` URL.
    pub url: String,
    /// The excerpt that the engine shows.
    pub snippet: String,
}

/// Parses the first `most` results: from a list of objects, or from an object that contains one.
///
/// # Errors
/// One sentence, if there is no such list.
pub fn parse_search_hits(printed: &[u8], most: usize) -> Result<Vec<SearchHit>, String> {
    let value: Value =
        serde_json::from_slice(printed).map_err(|error| format!("it did not print JSON ({error})"))?;
    let list = value
        .as_array()
        .or_else(|| RESULT_POINTERS.iter().find_map(|place| value.pointer(place)?.as_array()));
    let list = list.ok_or("it printed JSON without a list of `results`")?;
    Ok(list.iter().filter_map(parse_hit).take(most).collect())
}

fn parse_hit(value: &Value) -> Option<SearchHit> {
    let text = |names: &[&str]| names.iter().find_map(|name| value.get(name)?.as_str()).unwrap_or_default();
    let url = Url::parse(text(&["url", "link", "href"]).trim()).ok()?;
    let url = matches!(url.scheme(), "http" | "https").then(|| url.to_string())?;
    if url.len() > MAX_URL_BYTES {
        return None;
    }
    let title = clean_line(text(&["title", "name"]), MAX_TITLE_CHARS);
    let snippet = clean_line(
        text(&["snippet", "content", "description", "body", "summary", "text"]),
        MAX_SNIPPET_CHARS,
    );
    Some(SearchHit { title: if title.is_empty() { url.clone() } else { title }, url, snippet })
}

/// Returns a text on one line, without invisible characters.
fn clean_line(text: &str, most: usize) -> String {
    let visible = text.chars().take(most * 8).map(|letter| if letter.is_whitespace() { ' ' } else { letter });
    let visible: String = visible.filter(|letter| !policy::is_invisible(*letter)).collect();
    let words = visible.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", words[..end].trim_end()),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn format_hits(printed: &Value, most: usize) -> String {
        match parse_search_hits(printed.to_string().as_bytes(), most) {
            Ok(hits) => {
                let one = |hit: &SearchHit| format!("{} | {} | {}", hit.title, hit.url, hit.snippet);
                hits.iter().map(one).collect::<Vec<_>>().join("\n")
            }
            Err(why) => why,
        }
    }

    #[test]
    fn results_of_many_engines_are_read() {
        let searx = json!({"results": [{"title": "A", "url": "https://a.org/x", "content": "about a"}]});
        let brave =
            json!({"web": {"results": [{"title": "A", "url": "https://a.org/x", "description": "about a"}]}});
        let serper = json!({"organic": [{"title": "A", "link": "https://a.org/x", "snippet": "about a"}]});
        let list = json!([{"name": "A", "href": "https://a.org/x", "body": "about a"}]);
        for printed in [searx, brave, serper, list] {
            assert_eq!(format_hits(&printed, 5), "A | https://a.org/x | about a", "{printed}");
        }
    }

    #[test]
    fn hostile_text_is_cleaned_and_non_results_are_skipped() {
        let results = json!([
            {"title": "\u{1b}[2J\u{202e}evil\n\n2. Fake\r", "url": "https://a.org", "snippet": "x".repeat(600)},
            {"title": "script", "url": "javascript:alert(1)"},
            {"title": "file", "url": "file:///etc/passwd"},
            {"title": "none"},
            7,
            {"url": "http://b.org"},
            {"url": "http://c.org"},
        ]);
        let cut = "x".repeat(500);
        let expected = format!("[2Jevil 2. Fake | https://a.org/ | {cut}…\nhttp://b.org/ | http://b.org/ | ");
        assert_eq!(format_hits(&results, 2), expected);
    }

    #[test]
    fn output_without_results_is_an_error() {
        assert_eq!(format_hits(&json!({"error": "x"}), 5), "it printed JSON without a list of `results`");
        assert!(parse_search_hits(b"<html>", 5).unwrap_err().starts_with("it did not print JSON ("));
    }
}

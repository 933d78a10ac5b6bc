//! What a server wants to know from the user.

use serde_json::Value;
use tool::BoxFuture;

/// A question of a server. Whoever is asked is told whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// The server, by its user's name for it.
    pub server: String,
    /// What it says.
    pub message: String,
    /// What it wants.
    pub wants: Wants,
}

/// What a server wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Wants {
    /// Values for the properties of this schema, which is flat.
    Form(Value),
    /// That the user goes there.
    Visit(String),
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// With these values, if it was a form.
    Accepted(Option<Value>),
    /// The user says no.
    Declined,
    /// The user says nothing.
    Cancelled,
}

/// Asks the user what a server wants to know.
pub trait Elicit: Send + Sync {
    /// Asks, and waits for the answer.
    fn elicit<'a>(&'a self, elicitation: &'a Elicitation) -> BoxFuture<'a, Elicited>;
}

/// Words in the name of what nobody should type into a form of somebody else's.
const SECRET: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "credential",
    "privatekey",
    "pin",
    "otp",
    "cvv",
    "cvc",
    "pwd",
    "passcode",
    "2fa",
    "mfa",
    "seedphrase",
    "recoveryphrase",
    "creditcard",
    "cardnumber",
    "ssn",
];

/// The property of a form that asks for a secret, if one does: the protocol forbids it. What is said with a form of a
/// single text is said about that text.
pub(crate) fn secret<'a>(message: &str, schema: &'a Value) -> Option<&'a str> {
    let properties = schema.get("properties")?.as_object()?;
    let named = |(name, property): (&String, &Value)| {
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        let typed = text("type").is_none_or(|kind| kind == "string");
        let free = typed && property.get("enum").is_none() && property.get("oneOf").is_none();
        let about = Some(message).filter(|_| free && properties.len() == 1);
        let said = [Some(name.as_str()), text("title"), text("description"), about];
        typed && (said.into_iter().flatten().any(asks) || text("format") == Some("password"))
    };
    properties.iter().find(|property| named(*property)).map(|(name, _)| name.as_str())
}

/// Whether a text speaks of a secret.
fn asks(text: &str) -> bool {
    let words = words(text);
    let pairs = words.windows(2).map(|pair| pair.concat());
    words
        .iter()
        .cloned()
        .chain(pairs)
        .any(|word| SECRET.iter().any(|secret| word == *secret || word.strip_suffix('s') == Some(secret)))
}

/// Its words, in small letters: those of `apiKey` are `api` and `key`.
fn words(text: &str) -> Vec<String> {
    let (mut spaced, mut was_small) = (String::new(), false);
    for letter in text.chars() {
        if letter.is_uppercase() && was_small {
            spaced.push(' ');
        }
        was_small = letter.is_lowercase();
        spaced.extend(letter.to_lowercase());
    }
    let words = spaced.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// An address that a user may be sent to, as a browser reads it; `None`: it leads to no page that is safe to open.
pub(crate) fn address(url: &str) -> Option<String> {
    let parsed = reqwest::Url::parse(url).ok()?;
    let here = matches!(parsed.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let plain = parsed.username().is_empty() && parsed.password().is_none();
    (plain && (parsed.scheme() == "https" || parsed.scheme() == "http" && here)).then(|| parsed.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_do_not_ask_for_secrets() {
        let rows = [
            (json!({"name": {"type": "string"}}), None),
            (json!({"apiKey": {"type": "string"}}), Some("apiKey")),
            (json!({"x": {"title": "Your GitHub token"}}), Some("x")),
            (json!({"x": {"description": "API key of the account"}}), Some("x")),
            (json!({"tokens_per_page": {"type": "integer"}}), None),
            (json!({"tokenizer": {"type": "string"}, "pinned": {"type": "boolean"}}), None),
            (json!({"x": {"format": "password"}}), Some("x")),
            (json!({"userPwd": {"type": "string"}}), Some("userPwd")),
            (json!({"x": {"title": "Seed phrase"}}), Some("x")),
            (json!({"x": {"title": "2FA code"}}), Some("x")),
            (json!({"x": {"description": "Credit-card number"}}), Some("x")),
            (json!({"card_number": {"type": "string"}}), Some("card_number")),
            (json!({"SSN": {}}), Some("SSN")),
        ];
        for (properties, expected) in rows {
            let schema = json!({"type": "object", "properties": properties});
            assert_eq!(secret("Please", &schema), expected, "{schema}");
        }
    }

    #[test]
    fn what_is_said_with_a_single_text_is_said_about_it() {
        let asked = |properties: Value| {
            let schema = json!({"type": "object", "properties": properties});
            secret("Enter your password to go on", &schema).map(str::to_owned)
        };
        assert_eq!(asked(json!({"value": {"type": "string"}})).as_deref(), Some("value"));
        assert_eq!(asked(json!({"value": {"type": "string", "enum": ["yes", "no"]}})), None);
        assert_eq!(asked(json!({"value": {"type": "boolean"}})), None);
        assert_eq!(asked(json!({"name": {"type": "string"}, "city": {"type": "string"}})), None);
    }

    #[test]
    fn addresses_are_what_a_browser_makes_of_them() {
        let rows = [
            ("https://example.org/x", Some("https://example.org/x")),
            ("https://evil.example\\@github.com/login", Some("https://evil.example/@github.com/login")),
            ("https:/evil.example://github.com/login", Some("https://evil.example//github.com/login")),
            ("javascript:alert(1)//://github.com/", None),
            ("http://example.org", None),
            ("http://localhost:3000/", Some("http://localhost:3000/")),
            ("https://user:pass@example.org/", None),
            ("https://gіthub.com/", Some("https://xn--gthub-n2e.com/")),
        ];
        for (url, expected) in rows {
            assert_eq!(address(url).as_deref(), expected, "{url}");
        }
    }
}

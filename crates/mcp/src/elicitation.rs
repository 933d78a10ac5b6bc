//! Elicitation: questions of a server to the user, and checks for secrets.

use serde_json::Value;
use tool::BoxFuture;

/// A question of a server. The user sees which server asks.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// The user's name for the server.
    pub server: String,
    /// The server's message.
    pub message: String,
    /// The requested input.
    pub kind: ElicitationKind,
}

/// The requested input.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationKind {
    /// A form: values for the properties of this flat schema.
    Form(Value),
    /// A visit to this URL.
    Visit(String),
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ElicitationAnswer {
    /// Accepted, with the values of a form.
    Accepted(Option<Value>),
    /// Declined.
    Declined,
    /// Dismissed without an answer.
    Cancelled,
}

/// Asks the user on behalf of servers.
pub trait Elicitor: Send + Sync {
    /// Asks and waits for the answer.
    fn elicit<'a>(&'a self, elicitation: &'a Elicitation) -> BoxFuture<'a, ElicitationAnswer>;
}

/// Words in field names that indicate a secret.
const SECRET_WORDS: &[&str] = &[
    "password", "passwd", "passphrase", "secret", "token", "apikey", "credential", "privatekey", "pin",
    "otp", "cvv", "cvc", "pwd", "passcode", "2fa", "mfa", "seedphrase", "recoveryphrase", "creditcard",
    "cardnumber", "ssn",
];

/// Returns the property of a form that asks for a secret, which the protocol forbids. If a form has a single text
/// field, its message counts as a description of that field.
pub(crate) fn find_secret_field<'a>(message: &str, schema: &'a Value) -> Option<&'a str> {
    let properties = schema.get("properties")?.as_object()?;
    let named = |(name, property): (&String, &Value)| {
        let text = |key: &str| property.get(key).and_then(Value::as_str);
        let typed = text("type").is_none_or(|kind| kind == "string");
        let free = typed && property.get("enum").is_none() && property.get("oneOf").is_none();
        let about = Some(message).filter(|_| free && properties.len() == 1);
        let said = [Some(name.as_str()), text("title"), text("description"), about];
        typed && (said.into_iter().flatten().any(mentions_secret) || text("format") == Some("password"))
    };
    properties.iter().find(|property| named(*property)).map(|(name, _)| name.as_str())
}

/// Returns whether a text mentions a secret.
fn mentions_secret(text: &str) -> bool {
    let words = split_words(text);
    let pairs = words.windows(2).map(|pair| pair.concat());
    words.iter().cloned().chain(pairs).any(|word| {
        SECRET_WORDS.iter().any(|secret| word == *secret || word.strip_suffix('s') == Some(secret))
    })
}

/// Returns the lower-case words of a text: `apiKey` has the words `api` and `key`.
fn split_words(text: &str) -> Vec<String> {
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
            assert_eq!(find_secret_field("Please", &schema), expected, "{schema}");
        }
    }

    #[test]
    fn the_message_describes_a_single_text_field() {
        let asked = |properties: Value| {
            let schema = json!({"type": "object", "properties": properties});
            find_secret_field("Enter your password to go on", &schema).map(str::to_owned)
        };
        assert_eq!(asked(json!({"value": {"type": "string"}})).as_deref(), Some("value"));
        assert_eq!(asked(json!({"value": {"type": "string", "enum": ["yes", "no"]}})), None);
        assert_eq!(asked(json!({"value": {"type": "boolean"}})), None);
        assert_eq!(asked(json!({"name": {"type": "string"}, "city": {"type": "string"}})), None);
    }
}

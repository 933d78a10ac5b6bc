//! Tests of the redactor: tables of text that is redacted and text that is not, and properties of known values.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::entry::RecordedAnswer;

fn pattern_redactor() -> Redactor {
    Redactor::new([]).unwrap()
}

fn redactor_for(value: &str) -> Redactor {
    Redactor::new([("KEY".to_owned(), value.to_owned())]).unwrap()
}

const PEM: &str = "-----BEGIN RSA PRIVATE KEY-----\n\
    MIIEowIBAAKCAQEAwJ0vTz7rC1v2l0JmJ8c8mWqg1yq0k3p2Zb1V0q9XkT7d3m5n\n\
    a8F2c1Qe0b6Yl4s9Tz7rC1v2l0JmJ8c8mWqg1yq0k3p2Zb1V0q9XkT7d3m5na8F2\n\
    -----END RSA PRIVATE KEY-----";

/// Texts, each with the part that must be redacted.
const SECRET: &[(&str, &str)] = &[
    ("sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz1", "Ab3dEf6hIj9lMn2pQr5tUv8xYz1"),
    ("key=sk-ant-api03-Zx9_kLmN0pQrStUvWxYz-1234567890abcdefgh", "1234567890abcdefgh"),
    ("\"sk-or-v1-0123456789abcdef0123456789abcdef0123456789abcdef\"", "0123456789abcdef"),
    ("git clone https://ghp_abcdefghijklmnopqrstuvwxyz0123456789@github.com/a/b", "ghp_"),
    ("gho_abcdefghijklmnopqrstuvwxyz0123456789", "0123456789"),
    ("(ghs_abcdefghijklmnopqrstuvwxyz0123456789)", "0123456789"),
    ("github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz0123456789ABCDEFGHIJ", "11ABCDEFG0"),
    ("glpat-abcdefghij0123456789", "abcdefghij"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "1234567890"),
    ("SLACK xoxb-123456789012-abcdefghijkl", "abcdefghijkl"),
    ("xoxp-1234567890-abc", "1234567890"),
    ("xoxa-2-1234567890", "1234567890"),
    ("id AKIAIOSFODNN7EXAMPLE.", "IOSFODNN7"),
    ("AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("AKIAIOSFODNN7EXAMPLE\naws: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n", "CYEXAMPLEKEY"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r", "dBjftJeZ4CVP"),
    ("cookie: a=eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0In0.", "eyJzdWIi"),
    ("Authorization: Bearer abcdefgh12345678", "abcdefgh12345678"),
    ("authorization: basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
    ("-H 'Authorization: token 0123456789abcdef'", "0123456789abcdef"),
    (r#"{"Authorization": "Bearer abc.def-ghi_jkl"}"#, "abc.def-ghi_jkl"),
    (r#"{\"Authorization\": \"Bearer abc.def-ghi_jkl\"}"#, "abc.def-ghi_jkl"),
    ("Proxy-Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
    ("postgres://app:s3cr3t@db:5432/x", "s3cr3t"),
    ("redis://:hunter2@cache", "hunter2"),
    ("https://me:p@ss@host/", "p@ss"),
    ("https://me:p%40ss@host/", "p%40ss"),
    ("PASSWORD=correcthorse", "correcthorse"),
    ("export DB_PASSWORD=hunter2", "hunter2"),
    ("PGPASSWORD='hunter two2'; PGPASSWORD='hunter2' psql", "'hunter2'"),
    ("password=hunter2&user=me", "hunter2"),
    ("mysql --password=hunter2 db", "hunter2"),
    ("password: hunter2\n", "hunter2"),
    ("  password: hunter2 # for now\n", "hunter2"),
    ("password = hunter2\n", "hunter2"),
    ("password = \"hunter2\"", "hunter2"),
    ("password: 'swordfish'", "swordfish"),
    ("const passwd = `swordfish`;", "swordfish"),
    ("'password' => 'swordfish',", "swordfish"),
    (r#"{"password":"swordfish"}"#, "swordfish"),
    (r#"{\"password\":\"swordfish\"}"#, "swordfish"),
    (r#"{\\\"password\\\":\\\"swordfish\\\"}"#, "swordfish"),
    ("?password%3Dhunter2%26x", "hunter2"),
    ("API_KEY=abcdef123456", "abcdef123456"),
    ("api-key: abcdef123456\r\n", "abcdef123456"),
    ("X-Api-Key: 0a1b2c3d4e5f", "0a1b2c3d4e5f"),
    ("apiKey: \"0a1b2c3d4e5f\",", "0a1b2c3d4e5f"),
    ("?access_token=0a1b2c3d4e5f&a=b", "0a1b2c3d4e5f"),
    ("GITHUB_TOKEN=0a1b2c3d4e5f", "0a1b2c3d4e5f"),
    ("client_secret = \"0a1b2c3d4e5f\"", "0a1b2c3d4e5f"),
    ("SECRET_KEY = 'django-insecure-0a1b2c3d4e5f'", "0a1b2c3d4e5f"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("//registry.npmjs.org/:_authToken=0a1b2c3d-4e5f-6071", "0a1b2c3d"),
    ("token: \"0a1b2c3d4e5f\"", "0a1b2c3d4e5f"),
    ("{\"token\": \"0a1b2c3d4e5f\"}", "0a1b2c3d4e5f"),
    (PEM, "MIIEow"),
    (
        "-----BEGIN PRIVATE KEY-----\\nMIIEowIBAAKCAQEAwJ0vTz7rC1v2l0JmJ8c8mWqg1yq0k3p2\\n-----END PRIVATE KEY-----",
        "MIIE",
    ),
    (
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAAB\nb3Bl",
        "b3BlbnNz",
    ),
    (
        "1| -----BEGIN EC PRIVATE KEY-----\n2| MHcCAQEEIIYw0vTz7rC1v2l0JmJ8c8mWqg1yq0k3p2Zb\n3| -----END EC PRIVATE KEY-----",
        "MHcC",
    ),
    (
        "+-----BEGIN PGP PRIVATE KEY BLOCK-----\n+\n+lQOYBGRr0vTz7rC1v2l0JmJ8c8mWqg1yq0k3p2Zb\n+-----END PGP PRIVATE KEY BLOCK-----",
        "lQOY",
    ),
];

/// Texts that must stay unchanged.
const PLAIN: &[&str] = &[
    "fn next(token: &str) -> Token {",
    "token: String,",
    "token: Uint8Array",
    "let token = lexer.next_token();",
    "let token = tokens[0];",
    "let token = token2;",
    "password = input()",
    "password = getpass.getpass(\"Password: \")",
    "password: Option<String>,",
    "pub password: [u8; 32],",
    "password: str = None",
    "self.password = password",
    "if password == \"hunter2\" {",
    "password != stored_password2",
    "password_hash = \"argon2id$v19\"",
    "tokens = 5",
    "tokens: 128000,",
    "max_tokens=4096",
    "MAX_TOKENS=4096",
    "\"input_tokens\": 123456789",
    "token=token",
    "login(token=token, password=password)",
    "connect(password=args.password2)",
    "TOKEN=$1",
    "TOKEN=$(cat file1)",
    "TOKEN=\"${GITHUB_TOKEN1}\"",
    "token: ${{ secrets.GITHUB_TOKEN1 }}",
    "password = \"\"",
    "password: \"{password}\"",
    "password=%s",
    "password={}",
    "\"password\": {\"type\": \"string\"}",
    "\"password\": \"string\"",
    "\"token\": \"identifier\"",
    "expected token: \"while\"",
    "password: \"Enter your password\"",
    "api_key = os.environ[\"API_KEY1\"]",
    "api_key: YOUR_API_KEY1",
    "API_KEY=<your key 1>",
    "secret: Argon2Hash",
    "secret = sha256_digest",
    "use std::token::Token2;",
    "secrets: inherit",
    "The password: it is long.",
    "token::Kind2",
    "http://localhost:8080/@scope/x1",
    "postgres://{user}:{password}@host",
    "postgres://$USER:$PASSWORD1@host",
    "https://user@host:443/path",
    "Authorization: Bearer {token}",
    "Authorization: Bearer $TOKEN1234",
    "\"Authorization\": f\"Bearer {token}\"",
    "the authorization: see below",
    "task-management-system-with-a-long-name-2",
    "class=\"sk-spinner-double-bounce-1-and-more\"",
    "from sk-learn-contrib import x",
    "AKIAIOSFODNN7EXAMPLES",
    "MAKIAIOSFODNN7EXAMPLE",
    "eyJ is how base64 of {\" begins",
    "eyJhbGciOiJIUzI1NiJ9 alone",
    "9b74c9897bac770ffc029102a200c5de9b74c989",
    "-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEAwJ0vTz7rC1v2l0JmJ8c8mWqg1yq0k3p2\n-----END CERTIFICATE-----",
    "if line == \"-----BEGIN PRIVATE KEY-----\" { key = true }",
    "from -----BEGIN PRIVATE KEY----- to -----END PRIVATE KEY-----",
    "ghp_short1",
    "xoxb-none",
    "password = [redacted: password]",
    "password = \"[redacted: password]\"",
    "https://me:[redacted: password]@host/",
    "100% of \\d+ are \\u00zz and %zz",
];

#[test]
fn text_that_looks_like_a_secret_is_redacted() {
    let left: Vec<String> = SECRET
        .iter()
        .map(|(text, secret)| (pattern_redactor().redact_text(text).into_owned(), secret))
        .filter(|(clean, secret)| clean.contains(**secret) || !clean.contains("[redacted: "))
        .map(|(clean, secret)| format!("{secret} in {clean}"))
        .collect();
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn ordinary_text_is_not_redacted() {
    let hurt: Vec<String> = PLAIN
        .iter()
        .map(|text| (text, pattern_redactor().redact_text(text).into_owned()))
        .filter(|(text, clean)| clean != *text)
        .map(|(text, clean)| format!("{text} became {clean}"))
        .collect();
    assert!(hurt.is_empty(), "{hurt:#?}");
}

#[test]
fn text_around_a_secret_stays() {
    for (text, clean) in [
        ("export DB_PASSWORD=hunter2 && run", "export DB_PASSWORD=[redacted: password] && run"),
        ("postgres://app:s3cr3t@db:5432/x", "postgres://app:[redacted: password]@db:5432/x"),
        ("-H 'Authorization: Bearer abcdefgh12'", "-H 'Authorization: Bearer [redacted: Authorization]'"),
        ("(ghs_abcdefghijklmnopqrstuvwxyz0123456789)", "([redacted: GitHub token])"),
        (r#"{"a":"{\"password\":\"sword\\fish\"}"}"#, r#"{"a":"{\"password\":\"[redacted: password]\"}"}"#),
    ] {
        assert_eq!(pattern_redactor().redact_text(text), clean);
    }
    assert_eq!(pattern_redactor().redact_text(&format!("a\n{PEM}\nb")), "a\n[redacted: private key]\nb");
}

#[test]
fn known_values_are_taken_out_in_every_form() {
    let value = "pä\"ss/wörd ?1";
    let redactor = redactor_for(value);
    let escaped = |value: &str| serde_json::to_string(value).unwrap();
    let percent = |value: &str| value.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let units = |value: &str| value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
    for (text, clean) in [
        (format!("<{value}>"), "<[redacted: KEY]>"),
        (format!("x{value}{value}y"), "x[redacted: KEY][redacted: KEY]y"),
        (escaped(value), "\"[redacted: KEY]\""),
        (escaped(&escaped(value)), r#""\"[redacted: KEY]\"""#),
        (escaped(&escaped(&escaped(value))), r#""\"\\\"[redacted: KEY]\\\"\"""#),
        (format!("a{}b", percent(value)), "a[redacted: KEY]b"),
        (format!("a{}b", percent(&percent(value))), "a[redacted: KEY]b"),
        ("p%c3%a4%22ss%2fw%c3%b6rd+%3f1".to_owned(), "[redacted: KEY]"),
        (format!("a{}b", units(value)), "a[redacted: KEY]b"),
        (format!("a {} b", STANDARD.encode(value)), "a [redacted: KEY] b"),
        (format!("a {} b", STANDARD.encode(format!("me:{value}"))), "a bWU6[redacted: KEY] b"),
    ] {
        assert_eq!(redactor.redact_text(&text), clean, "{text}");
    }
    let key = redactor_for("-----BEGIN KEY-----\\nabc\\n-----END KEY-----");
    assert_eq!(key.redact_text("a -----BEGIN KEY-----\nabc\n-----END KEY-----"), "a [redacted: KEY]");
}

#[test]
fn values_that_are_no_secrets_are_left() {
    assert_eq!(redactor_for("short77").redact_text("a short77 b"), "a short77 b");
    assert_eq!(redactor_for("  padded-8  \n").redact_text("a padded-8 b"), "a [redacted: KEY] b");
    // A value that occurs in its own replacement clears the whole text.
    assert_eq!(redactor_for("redacted").redact_text("a redacted b"), "");
    // A session would be unreadable without these words.
    assert_eq!(redactor_for("responses").redact_text("a responses b"), "a responses b");
    let strange = Redactor::new([("A \"B\"\n".to_owned(), "12345678".to_owned())]).unwrap();
    assert_eq!(strange.redact_text("12345678"), "[redacted: AB]");
}

#[test]
fn json_is_cleaned_with_its_keys_and_numbers() {
    let redactor = redactor_for("12345678");
    let mut value = json!({"a": [12345678, 1.5, true, null], "x12345678": 1, "y12345678": {"z": "12345678"}, "password": "swordfish",
        "token": "word", "schema": {"password": {"type": "string"}}});
    redactor.redact_value(&mut value, 0);
    assert_eq!(
        value,
        json!({"a": ["[redacted: KEY]", 1.5, true, null], "x[redacted: KEY]": 1, "y[redacted: KEY]": {"z": "[redacted: KEY]"},
            "password": "[redacted: secret]", "token": "word", "schema": {"password": {"type": "string"}}})
    );
    let mut same = json!({"12345678": 1, "%31%32345678": 2, "[redacted: KEY] (2)": 3});
    redactor.redact_value(&mut same, 0);
    assert_eq!(same, json!({"[redacted: KEY]": 2, "[redacted: KEY] (3)": 1, "[redacted: KEY] (2)": 3}));
}

/// A call and its answer are paired by id, whatever the id looks like.
#[test]
fn ids_that_look_like_secrets_are_taken_out_and_stay_apart() {
    let redactor = pattern_redactor();
    let ids = ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_9876543210abcdefghijABCDEFGHIJ012345"];
    let told = |id: &str| {
        let mut item = json!({"type": "function_call", "call_id": id, "arguments": id});
        redactor.redact_value(&mut item, 0);
        let answered = JournalEntry::Answered(RecordedAnswer {
            call: id.to_owned(),
            success: true,
            error: None,
            took_ms: 0,
            text: String::new(),
            pictures: Vec::new(),
            spilled: None,
            refused: Vec::new(),
        });
        let JournalEntry::Answered(RecordedAnswer { call, .. }) = redactor.redact_entry(&answered) else {
            panic!("it is an answer")
        };
        assert_eq!(item["call_id"], call);
        assert!(!call.contains("ghp_") && !item.to_string().contains("ghp_"), "{item}");
        call
    };
    assert_ne!(told(ids[0]), told(ids[1]));
    assert_eq!(told(ids[0]), told(ids[0]));
}

/// Hostile input for the detectors: none may take long.
#[test]
fn no_text_takes_long() {
    let pieces = [
        "sk-", "ghp_", "eyJ", "eyJ.", "AKIA", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "token=",
        "password=\"", "://", "://a:", "\\u0061", "%41", "%25", "\\\\", "authorization:", "token = a1",
        "aaaaaaaa",
    ];
    let redactor = redactor_for("aaaaaaaa");
    for piece in pieces {
        let text = piece.repeat((1 << 16) / piece.len());
        let start = std::time::Instant::now();
        let _clean = redactor.redact_text(&text);
        assert!(start.elapsed().as_secs() < 10, "{piece} took {:?}", start.elapsed());
    }
}

/// Escapes a value in the given layers.
fn disguise(value: &str, layers: &[u8]) -> String {
    let mut text = value.to_owned();
    for layer in layers.iter().take(3) {
        text = match layer % 4 {
            0 => serde_json::to_string(&text)
                .unwrap()
                .strip_prefix('"')
                .unwrap()
                .strip_suffix('"')
                .unwrap()
                .to_owned(),
            1 => text.bytes().map(|byte| format!("%{byte:02x}")).collect(),
            2 => text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect(),
            _ => text.replace('/', "\\/"),
        };
    }
    text
}

/// The backslash before the value makes an escape of its first letter.
#[test]
fn a_value_is_found_after_a_backslash() {
    let redactor = redactor_for("f /Aa12345");
    for text in [r"\f \/Aa12345", r"\\f \/Aa12345", r"x\f /Aa12345", r"\f %2fAa12345"] {
        assert!(redactor.redact_text(text).contains("[redacted: KEY]"), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_known_value_is_left(
        value in "[^\\\\\\s][^\\\\]{6,30}[^\\\\\\s]",
        (before, after) in (".{0,12}", ".{0,12}"),
        layers in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let hidden = disguise(&value, &layers);
        let clean = redactor_for(&value).redact_text(&format!("{before}{hidden}{after}")).into_owned();
        prop_assert!(!clean.contains(&value), "{clean}");
        prop_assert!(!clean.contains(&hidden), "{clean}");
    }

    #[test]
    fn no_known_value_is_left_in_base64(
        value in "[!-~]{8,40}",
        (before, after) in (prop::collection::vec(any::<u8>(), 0..5), prop::collection::vec(any::<u8>(), 0..5)),
    ) {
        let bytes = [before, value.clone().into_bytes(), after].concat();
        for text in [STANDARD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
            let clean = redactor_for(&value).redact_text(&text).into_owned();
            prop_assert!(clean.len() < text.len() + 20 && clean.contains("[redacted: KEY]"), "{clean}");
        }
    }

    #[test]
    fn cleaning_twice_is_cleaning_once(text in "([ -~\n]|password|token|secret|sk-|://|=|:|\"|@|eyJ){0,60}") {
        let once = pattern_redactor().redact_text(&text).into_owned();
        prop_assert_eq!(pattern_redactor().redact_text(&once), once.as_str());
    }

    #[test]
    fn any_text_can_be_cleaned(text in "\\PC{0,80}", value in "\\PC{8,20}") {
        let _clean = redactor_for(&value).redact_text(&text);
    }
}

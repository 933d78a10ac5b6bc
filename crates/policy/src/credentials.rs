//! Detects environment variables that look like credentials or lead to credentials.

use std::ffi::OsStr;

/// Keys of model providers: they belong to the agent, and no command needs them.
const PROVIDER_KEYS: &str = "
    OPENAI_API_KEY OPENAI_ADMIN_KEY OPENAI_KEY CODEX_API_KEY AZURE_OPENAI_API_KEY AZURE_OPENAI_KEY
    AZURE_OPENAI_AD_TOKEN ANTHROPIC_API_KEY ANTHROPIC_ADMIN_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_API_KEY
    CLAUDE_CODE_OAUTH_TOKEN AWS_BEARER_TOKEN_BEDROCK GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_AI_API_KEY
    GOOGLE_GENERATIVE_AI_API_KEY VERTEX_API_KEY MISTRAL_API_KEY CODESTRAL_API_KEY COHERE_API_KEY CO_API_KEY
    GROQ_API_KEY XAI_API_KEY GROK_API_KEY DEEPSEEK_API_KEY OPENROUTER_API_KEY TOGETHER_API_KEY FIREWORKS_API_KEY
    PERPLEXITY_API_KEY CEREBRAS_API_KEY SAMBANOVA_API_KEY NVIDIA_API_KEY DASHSCOPE_API_KEY QWEN_API_KEY
    MOONSHOT_API_KEY KIMI_API_KEY ZHIPUAI_API_KEY ZAI_API_KEY MINIMAX_API_KEY ARK_API_KEY LITELLM_API_KEY
    LITELLM_MASTER_KEY AI_GATEWAY_API_KEY";

/// Names of credentials that no pattern finds, and names used only together with credentials.
const CREDENTIAL_NAMES: &str = "
    GPG_AGENT_INFO KRB5CCNAME KRB5_KTNAME XAUTHORITY BW_SESSION GIT_CONFIG_PARAMETERS GIT_CONFIG_COUNT";
const CREDENTIAL_PREFIXES: [&str; 3] = ["OP_SESSION_", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"];

/// Words in a credential name, also with an appended S.
const CREDENTIAL_WORDS: &str = "
    AUTHORIZATION BEARER CONNSTR CRED DSN HEADER JWT KEYCHAIN KEYFILE KEYID KEYPAIR KEYPASS KEYRING KEYSTORE KEYTAB
    MNEMONIC PAT PHRASE PRIVATE PW WEBHOOK";
/// Suffixes of words in a credential name, also with an appended S.
const CREDENTIAL_SUFFIXES: [&str; 5] = ["AUTH", "COOKIE", "KEY", "PASS", "PWD"];
/// Words with these suffixes that are harmless.
const HARMLESS_WORDS: &str =
    "OLDPWD BYPASS COMPASS DONKEY HOCKEY HOTKEY JOCKEY LESSKEY MONKEY TURKEY WHISKEY";
/// Texts that count anywhere in a name, even across words: `PASS_WORD`, `MYAPIKEYFILE`.
const CREDENTIAL_SUBSTRINGS: [&str; 10] = [
    "ACCESSKEY", "APIKEY", "CONNECTIONSTRING", "CREDENTIAL", "PASSCODE", "PASSFILE", "PASSPHRASE", "PASSWD",
    "PASSWORD", "SECRET",
];

/// Returns true if `name` is the key of a model provider, in any letter case.
pub(crate) fn is_provider_key(name: &str) -> bool {
    PROVIDER_KEYS.split_whitespace().any(|key| key.eq_ignore_ascii_case(name))
}

/// Returns true if a variable called `name` likely contains credentials or leads to some.
pub fn looks_like_secret_name(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    // The only name that equals such a suffix and is harmless.
    if upper == "PWD" {
        return false;
    }
    let words = split_name_words(name);
    let all = words.concat();
    list_contains(CREDENTIAL_NAMES, &upper)
        || CREDENTIAL_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
        || CREDENTIAL_SUBSTRINGS.iter().any(|part| all.contains(part))
        || words.iter().any(|word| is_credential_word(word))
}

fn is_credential_word(word: &str) -> bool {
    let one = word.strip_suffix('S').unwrap_or(word);
    let ends = |word: &str| {
        CREDENTIAL_SUFFIXES.iter().any(|ending| word.ends_with(ending))
            && !list_contains(HARMLESS_WORDS, word)
    };
    // A tokenizer is harmless.
    let token = |after: &str| !after.starts_with("IZ") && !after.starts_with("IS");
    [word, one].into_iter().any(|word| list_contains(CREDENTIAL_WORDS, word) || ends(word))
        || word.split("TOKEN").skip(1).any(token)
}

/// Returns true if `list` contains `word`.
pub(crate) fn list_contains(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

/// Splits a name into words, in upper case and without trailing digits: `myApi_KEY2` becomes MY, API and KEY.
fn split_name_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() || (before.is_ascii_lowercase() && letter.is_ascii_uppercase()) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (letter.is_ascii_alphanumeric(), words.last_mut()) {
            word.push(letter.to_ascii_uppercase());
        }
        before = letter;
    }
    words.iter().map(|word| word.trim_end_matches(|digit: char| digit.is_ascii_digit()).to_owned()).collect()
}

/// Well-known token prefixes, with the minimum number of characters after them.
const TOKEN_PREFIXES: [(&str, usize); 41] = [
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("gldt-", 16),
    ("glsa_", 16),
    ("sk-", 20),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("rk_test_", 10),
    ("whsec_", 16),
    ("AIza", 30),
    ("ya29.", 16),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxe-", 10),
    ("xoxp-", 10),
    ("xoxr-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("npm_", 30),
    ("pypi-", 30),
    ("hf_", 20),
    ("dop_v1_", 20),
    ("AGE-SECRET-KEY-1", 20),
    ("gsk_", 20),
    ("xai-", 20),
    ("pplx-", 20),
    ("r8_", 20),
    ("hvs.", 20),
    ("dckr_pat_", 20),
    ("shpat_", 20),
    ("ATATT", 20),
    ("lin_api_", 20),
    ("glptt-", 16),
];
/// Minimum number of characters after `Bearer` in a header.
const MIN_BEARER_CHARS: usize = 16;

/// Returns true if `text` contains a token with a well-known prefix, or a JWT.
fn holds_token(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let mut words = text.split(|letter: char| !is_letter(letter) && letter != '.');
    words.any(|word| {
        let known = TOKEN_PREFIXES.iter().any(|(begins, least)| {
            let rest = word.strip_prefix(begins).unwrap_or_default();
            rest.len() >= *least
                && rest.contains(|letter: char| letter.is_ascii_digit() || letter.is_ascii_uppercase())
        });
        let parts = || word.split('.').filter(|part| part.len() >= 10);
        known
            || (word.starts_with("eyJ") && parts().count() >= 3)
            || (word.starts_with("SG.") && parts().count() >= 2)
    })
}

/// Returns true if `text` contains an authorization header with a token of any form.
fn holds_bearer(text: &str) -> bool {
    let mut words = text.split([' ', '\t', '\n', ':', '"', '\'']).filter(|word| !word.is_empty());
    // ends: each word is taken once
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case("bearer")
            && words.next().is_some_and(|token| token.len() >= MIN_BEARER_CHARS)
        {
            return true;
        }
    }
    false
}

/// Returns true if `value` shows by itself that it contains credentials: a URL with a password, a private key, or a
/// token with a well-known prefix.
pub(crate) fn looks_like_secret_value(value: &OsStr) -> bool {
    let text = value.to_string_lossy();
    let in_url = text.match_indices("://").any(|(at, mark)| {
        let host = text[at + mark.len()..].split(['/', '?', '#', '"', '\'', ' ', '\t', '\n']).next();
        match host.unwrap_or_default().rsplit_once('@').map(|(user, _)| (user, user.split_once(':'))) {
            Some((_, Some((_, password)))) => !password.is_empty(),
            // In an HTTP URL, a user name without a password is a token.
            Some((user, None)) => !user.is_empty() && text[..at].trim_end_matches('s').ends_with("http"),
            None => false,
        }
    });
    in_url
        || holds_token(&text)
        || holds_bearer(&text)
        || text.contains("PRIVATE KEY-----")
        || text.to_ascii_lowercase().contains("password=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_credential_names() {
        let names = "
            API_KEY APIKEY MY_APIKEY2 myApiKey MYAPIKEYFILE KEY KEYS SSH_KEY DEPLOY_KEY_B64 SIGNINGKEY TLS_KEYFILE
            TOKEN GITHUB_TOKEN gh_token ACCESSTOKEN TOKEN_FILE AUTH_TOKENS npm_config__authToken _authToken
            npm_config_//registry.npmjs.org/:_authToken SECRET CLIENTSECRET DJANGO_SECRET_KEY SECRETS_FILE
            PASSWORD PGPASSWORD PGPASSFILE PASS_WORD HTPASSWD DB_PASS SSHPASS GPG_PASSPHRASE PassWord ROOT_PW
            MYSQL_PWD USERPWD curlUserPwd SSH_ASKPASS GIT_ASKPASS AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
            AWS_SESSION_TOKEN AWS_WEB_IDENTITY_TOKEN_FILE AWS_SHARED_CREDENTIALS_FILE GOOGLE_APPLICATION_CREDENTIALS
            HTTP_AUTH OAUTH2_CODE NPM_CONFIG__AUTH SSH_AUTH_SOCK AUTHORIZATION XAUTHORITY GOAUTH SESSION_COOKIE COOKIES
            PRIVATE DB_CREDS SENTRY_DSN AZURE_STORAGE_CONNECTION_STRING ConnectionStrings__Default GITHUB_PAT CI_JOB_JWT
            SLACK_WEBHOOK_URL OTEL_EXPORTER_OTLP_HEADERS SEED_PHRASE BW_SESSION OP_SESSION_my KRB5CCNAME GPG_AGENT_INFO
            GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0 GIT_CONFIG_PARAMETERS GNOME_KEYRING_CONTROL";
        for name in names.split_whitespace() {
            assert!(looks_like_secret_name(name), "{name}");
        }
    }

    #[test]
    fn accepts_ordinary_names() {
        let names = "
            PATH PWD OLDPWD INIT_CWD HOME KEYBOARD KEYMAP KEYBOARD_LAYOUT MONKEY MONKEYS MONKEY_PATCH TURKEY HOTKEYS
            AUTHOR AUTHORS GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL CARGO_PKG_AUTHORS AUTHORITY AZURE_AUTHORITY_HOST
            TOKENIZERS_PARALLELISM TOKENIZER TOKENISER_PATH GOPRIVATE COOKIECUTTER_CONFIG COMPASS BYPASS_CACHE PASSENGER
            PATTERN PATCH XDG_SESSION_ID DESKTOP_SESSION AWS_REGION AWS_PROFILE DATABASE_URL GPG_TTY LESSOPEN LESSKEY LS_COLORS
            SSL_CERT_FILE GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM RUSTFLAGS CLASSPATH NODE_OPTIONS PYTHONPATH _";
        for name in names.split_whitespace() {
            assert!(!looks_like_secret_name(name), "{name}");
        }
    }

    #[test]
    fn detects_credential_values() {
        for (value, expected) in [
            ("postgres://me:pass@host/db", true),
            ("redis://:pass@host", true),
            ("http://a.org, http://me:p@ss@proxy:80", true),
            ("https://ghp_0@github.com/a/b", true),
            ("url='https://a:b@c'", true),
            ("jdbc:mysql://host/db?user=a&Password=b", true),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", true),
            ("ghp_0123456789abcdefghijABCDEFGHIJ012345", true),
            ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", true),
            ("sk-proj-abcdefghijklmnopqrstuvwxyz0123456789", true),
            ("{\"token\": \"glpat-abcDEF0123456789abcd\"}", true),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlc2lnbmF0dXJl", true),
            ("AKIAIOSFODNN7EXAMPLE", true),
            ("SG.abcdefghijklmnop.abcdefghijklmnopqrstuvwxyz", true),
            ("gsk_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOP", true),
            ("xai-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ", true),
            ("pplx-abcdefghijklmnopqrstuvwxyz0123456789", true),
            ("r8_abcdefghijklmnopqrstuvwxyz0123456789", true),
            ("vault:hvs.CAESIabcdefghijklmnopqrstuvwxyz0123456789", true),
            ("dckr_pat_abcdefghijklmnopqrstuvwxyz0", true),
            ("shpat_abcdef0123456789abcdef0123456789", true),
            ("ATATT3xFfGF0abcdefghijklmnopqrstuvwxyz0123456789", true),
            ("lin_api_abcdefghijklmnopqrstuvwxyz0123456789ABCD", true),
            ("Bearer abcdefghijklmnopqrstuvwxyz0123456789", true),
            ("Authorization: bearer abcdefghijklmnopqrstuvwxyz", true),
            ("the bearer of this", false),
            ("r8_release", false),
            ("xai-models-of-the-whole-research-team", false),
            ("sk-learn-and-other-python-packages", false),
            ("npm_config_cache", false),
            ("ghp_short1", false),
            ("/usr/share/hf_models_of_the_whole_team", false),
            ("postgres://me@host/db", false),
            ("postgres://me:@host/db", false),
            ("ssh://git@github.com/a/b", false),
            ("git@github.com:a/b", false),
            ("http://proxy:3128", false),
            ("https://host:80/a@b:c", false),
            ("https://host/?q=a:b@c", false),
            ("-----BEGIN CERTIFICATE-----", false),
            ("://@", false),
            ("", false),
        ] {
            assert_eq!(looks_like_secret_value(OsStr::new(value)), expected, "{value}");
        }
    }

    #[test]
    fn recognizes_provider_keys() {
        for (name, expected) in [
            ("OPENAI_API_KEY", true),
            ("openai_api_key", true),
            ("Anthropic_Api_Key", true),
            ("AWS_BEARER_TOKEN_BEDROCK", true),
            ("AI_GATEWAY_API_KEY", true),
            ("OPENAI_API_KEY_FILE", false),
            ("OPENAI_BASE_URL", false),
            ("", false),
        ] {
            assert_eq!(is_provider_key(name), expected, "{name}");
        }
        // Ensures that credential detection alone withholds provider keys.
        assert!(PROVIDER_KEYS.split_whitespace().all(looks_like_secret_name));
    }
}

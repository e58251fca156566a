//! What the name of a value indicates: a password, a key, or nothing.

use std::ops::Range;

use crate::value::Promise;
use crate::vocabulary::WORDS;

/// Returns what the name at a place indicates. `mot de passe` is one name of three words.
pub(super) fn promise_at(text: &[u8], name: &Range<usize>) -> Option<Promise> {
    const LEAD_BYTES: usize = 4;
    let lead = &text[name.start.saturating_sub(LEAD_BYTES)..name.start];
    // At the end of a sentence, the full stop is included in the name.
    let said = text[name.clone()].strip_suffix(b".").unwrap_or(&text[name.clone()]);
    let is_french = || lead.eq_ignore_ascii_case(b" de ") && said.eq_ignore_ascii_case(b"passe");
    promise(&text[name.clone()]).or_else(|| is_french().then_some(Promise::Password))
}

/// Returns what a name in prose indicates, in which spaces separate the words: `secret access key`.
pub(super) fn promise_in_prose(text: &[u8], name: &Range<usize>) -> Option<Promise> {
    const LEAD_BYTES: usize = 16;
    let promise = promise_at(text, name)?;
    if promise != Promise::SomeKey {
        return Some(promise);
    }
    let lead = &text[name.start.saturating_sub(LEAD_BYTES)..name.start];
    let word = lead.strip_suffix(b" ").or_else(|| lead.strip_suffix(b"-"))?;
    let word = word.rsplit(|byte| !byte.is_ascii_alphanumeric()).next()?.to_ascii_lowercase();
    let word = str::from_utf8(&word).ok()?;
    promise_of("key", Some(word)).filter(|promise| *promise == Promise::Key)
}

/// Returns what a name indicates; `None` if it is not the name of a secret.
pub(super) fn promise(name: &[u8]) -> Option<Promise> {
    let name = str::from_utf8(name).ok()?;
    let words = words(name);
    if words.iter().any(|word| matches!(word.as_str(), "public" | "pub" | "publishable")) {
        return None;
    }
    let core = words.iter().rposition(|word| !is_suffix(word))?;
    let last = words[core].as_str();
    let previous = core.checked_sub(1).map(|index| words[index].as_str());
    promise_of(last, previous)
}

fn promise_of(last: &str, previous: Option<&str>) -> Option<Promise> {
    match last {
        "pass" | "pw" | "mdp" | "clave" => Some(Promise::Password),
        // `mot_de_passe`, `palavra-passe`
        "passe" if matches!(previous, Some("de" | "palavra")) => Some(Promise::Password),
        "key" => match previous {
            Some(word) if WORDS.key_of.has(word) => Some(Promise::Key),
            Some(word) if WORDS.open_key_of.has(word) => None,
            Some(_) | None => Some(Promise::SomeKey),
        },
        // `PassWord`
        "word" if previous == Some("pass") => Some(Promise::Password),
        // These codes replace a password; other codes do not.
        "code" | "recoverycode"
            if last != "code" || matches!(previous, Some("recovery" | "backup")) =>
        {
            Some(Promise::Key)
        }
        "chave" | "chiave" | "klucz" | "anahtar" | "sleutel" | "nyckel" | "kulcs" | "jeton" => {
            Some(Promise::Key)
        }
        "auth" | "pat" | "jwt" | "credentials" => previous.map(|_| Promise::Key),
        "token" if previous.is_some_and(|word| WORDS.text_token.has(word)) => None,
        // `dnpass`, `relaypass`
        _ if last.strip_suffix("pass").is_some_and(|of| WORDS.pass_of.end(of.as_bytes())) => {
            Some(Promise::Password)
        }
        _ if WORDS.password_stem.begin(last.as_bytes()) => Some(Promise::Password),
        _ if WORDS.password_end.end(last.as_bytes()) => Some(Promise::Password),
        _ if WORDS.key_end.end(last.as_bytes()) => Some(Promise::Key),
        _ => None,
    }
}

/// Returns whether a word is a suffix after the significant word: `API_KEY_PROD`, `password2`.
fn is_suffix(word: &str) -> bool {
    WORDS.name_suffix.has(word) || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the words of a name in lower case. The name is split at signs, digits and changes of case.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = b'_';
    for byte in name.bytes() {
        let starts = !previous.is_ascii_alphanumeric()
            || previous.is_ascii_lowercase() && byte.is_ascii_uppercase()
            || previous.is_ascii_digit() != byte.is_ascii_digit();
        if byte.is_ascii_alphanumeric() {
            if starts {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.push(char::from(byte.to_ascii_lowercase()));
            }
        }
        previous = byte;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_promise_what_they_hold() {
        for name in [
            "DB_PASSWORD",
            "PGPASSWORD",
            "password2",
            "user.passwd",
            "smtp_pass",
            "--password",
            "spring.datasource.password",
            "rootPwd",
            "PassWord",
        ] {
            assert_eq!(promise(name.as_bytes()), Some(Promise::Password), "{name}");
        }
        for name in [
            "GITHUB_TOKEN",
            "apiKey",
            "X-Api-Key",
            "secretAccessKey",
            "client_secret",
            "_authToken",
            "API_KEY_PROD",
            "SECRET_KEY_BASE64",
            "GITHUB_PAT",
            "npm_config__auth",
        ] {
            assert_eq!(promise(name.as_bytes()), Some(Promise::Key), "{name}");
        }
        for name in ["key", "shopKey", "mail_key"] {
            assert_eq!(promise(name.as_bytes()), Some(Promise::SomeKey), "{name}");
        }
        for name in [
            "tokenizer",
            "max_tokens",
            "token_type",
            "primary_key",
            "public_key",
            "cache_key",
            "keyboard",
            "next_token",
            "passed",
            "compass_heading",
            "bypass_cache",
            "secrets",
            "monkey",
            "auth",
        ] {
            assert_eq!(promise(name.as_bytes()), None, "{name}");
        }
    }
}

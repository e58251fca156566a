//! Promise of a value's name: a password, a key, or nothing.

/// Promise of a name about its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Promise {
    /// A password, chosen by a person: any value may be one.
    Password,
    /// A key or token: drawn at random.
    Key,
    /// A key of some kind: the value has to say by itself that it is secret.
    SomeKey,
}

/// Returns the promise of a name, if it is the name of a secret.
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

pub(super) fn promise_of(last: &str, previous: Option<&str>) -> Option<Promise> {
    const PASSWORDS: [&str; 28] = [
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "passwort",
        "pwd",
        "passord",
        "passordet",
        "contrasena",
        "senha",
        "wachtwoord",
        "salasana",
        "heslo",
        "adgangskode",
        "adgangskoden",
        "adgangskoder",
        "kennwort",
        "parola",
        "parolasi",
        "kodeord",
        "sandi",
        "dbpw",
        "rootpw",
        "userpw",
        "adminpw",
        "bindpw",
        "parolas",
        "psw",
    ];
    // Passwords in languages that change the end of a word.
    const STEMS: [&str; 9] = [
        "parol",
        "parool",
        "lozink",
        "laluan",
        "contrasenya",
        "pasahitz",
        "nenosiri",
        "wagwoord",
        "pasvort",
    ];
    const KEYS: [&str; 12] = [
        "secret",
        "secrete",
        "secreta",
        "segreta",
        "creds",
        "token",
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "authkey",
        "credential",
    ];
    const KEY_OF: [&str; 32] = [
        "api",
        "access",
        "secret",
        "private",
        "auth",
        "encryption",
        "signing",
        "master",
        "account",
        "service",
        "app",
        "client",
        "webhook",
        "license",
        "admin",
        "deploy",
        "root",
        "shared",
        "session",
        "cookie",
        "jwt",
        "hmac",
        "aes",
        "storage",
        "write",
        "consumer",
        "functions",
        "subscription",
        "ingest",
        "x",
        "preshared",
        "unseal",
    ];
    // Words before `pass` that make a name of a password, where no sign stands between them.
    const PASS_OF: [&str; 32] = [
        "admin", "app", "auth", "bind", "client", "db", "dn", "ftp", "http", "imap", "key",
        "keystore", "ldap", "login", "mail", "master", "mysql", "pg", "pop", "proxy", "redis",
        "relay", "remote", "require", "root", "sftp", "smtp", "sql", "ssh", "store", "user", "vnc",
    ];
    // Keys that open nothing.
    const OPEN_KEYS: [&str; 28] = [
        "primary",
        "foreign",
        "cache",
        "sort",
        "partition",
        "unique",
        "composite",
        "object",
        "idempotency",
        "lookup",
        "map",
        "hash",
        "row",
        "group",
        "query",
        "search",
        "storage",
        "s3",
        "dedupe",
        "dedup",
        "routing",
        "message",
        "translation",
        "i18n",
        "restore",
        "index",
        "item",
        "file",
    ];
    // Tokens of text, not of access.
    const TEXT_TOKENS: [&str; 12] = [
        "next",
        "page",
        "pad",
        "eos",
        "bos",
        "unk",
        "sep",
        "cls",
        "mask",
        "cancellation",
        "max",
        "stop",
    ];
    match last {
        "pass" | "pw" | "mdp" | "clave" => Some(Promise::Password),
        // `mot_de_passe`, `palavra-passe`
        "passe" if matches!(previous, Some("de" | "palavra")) => Some(Promise::Password),
        "key" => match previous {
            Some(word) if KEY_OF.contains(&word) => Some(Promise::Key),
            Some(word) if OPEN_KEYS.contains(&word) => None,
            Some(_) | None => Some(Promise::SomeKey),
        },
        // `PassWord`
        "word" if previous == Some("pass") => Some(Promise::Password),
        // They stand in for a password; no other code does.
        "code" | "recoverycode"
            if last != "code" || matches!(previous, Some("recovery" | "backup")) =>
        {
            Some(Promise::Key)
        }
        "chave" | "chiave" | "klucz" | "anahtar" | "sleutel" | "nyckel" | "kulcs" | "jeton" => {
            Some(Promise::Key)
        }
        "auth" | "pat" | "jwt" | "credentials" => previous.map(|_| Promise::Key),
        "token" if previous.is_some_and(|word| TEXT_TOKENS.contains(&word)) => None,
        // `dnpass`, `relaypass`
        _ if last
            .strip_suffix("pass")
            .is_some_and(|of| PASS_OF.iter().any(|it| of.ends_with(it))) =>
        {
            Some(Promise::Password)
        }
        _ if STEMS.iter().any(|stem| last.starts_with(stem)) => Some(Promise::Password),
        _ if PASSWORDS.iter().any(|end| last.ends_with(end)) => Some(Promise::Password),
        _ if KEYS.iter().any(|end| last.ends_with(end)) => Some(Promise::Key),
        _ => None,
    }
}

/// Words that follow the telling one: `API_KEY_PROD`, `password2`.
fn is_suffix(word: &str) -> bool {
    const SUFFIXES: [&str; 25] = [
        "secure",
        "super",
        "base",
        "prod",
        "production",
        "dev",
        "development",
        "staging",
        "stage",
        "test",
        "live",
        "sandbox",
        "value",
        "default",
        "old",
        "new",
        "current",
        "base64",
        "b64",
        "plain",
        "string",
        "str",
        "confirmation",
        "confirm",
        "again",
    ];
    SUFFIXES.contains(&word) || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The words of a name, in lower case: split at signs, digits and changes of case.
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

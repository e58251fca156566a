//! Answers: what the user gave when asked for a secret. The question says what the answer is, so that a short
//! word is a password there, and nowhere else.

use std::borrow::Cow;
use std::ops::Range;

use super::known::{Evidence, Known};
use super::{ASSIGNMENT, Finding, Redactor, shape, united};
use memory_store_base::text::{self, rarity};

/// The name of what is hidden because it was asked for.
pub(super) const ANSWER: &str = "answer";

/// The longest question whose end is looked at.
const QUESTION_BYTES_MAX: usize = 2_000;

/// Words of an answer that may all be part of a passphrase.
const PHRASE_WORDS_MAX: usize = 8;

/// Names of secrets in questions, in lower case.
const NAMES: [&str; 46] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "pin",
    "token",
    "secret",
    "credential",
    "credentials",
    "creds",
    "apikey",
    "key",
    "otp",
    "mnemonic",
    "login",
    "passwort",
    "kennwort",
    "zugangsdaten",
    "schlüssel",
    "geheimnis",
    "passe",
    "clé",
    "jeton",
    "contraseña",
    "contrasena",
    "clave",
    "senha",
    "chave",
    "chiave",
    "wachtwoord",
    "sleutel",
    "lösenord",
    "nyckel",
    "adgangskode",
    "passord",
    "salasana",
    "hasło",
    "klucz",
    "heslo",
    "пароль",
    "пароля",
    "ключ",
    "jelszó",
    "şifre",
];

/// Names of secrets in scripts without spaces, wherever they stand.
const NAMES_WITHOUT_SPACES: [&str; 8] =
    ["パスワード", "トークン", "密码", "密碼", "口令", "密钥", "비밀번호", "암호"];

/// Words before `key` that make something else of it.
const OPEN_KEYS: [&str; 18] = [
    "primary",
    "foreign",
    "public",
    "cache",
    "sort",
    "partition",
    "shortcut",
    "object",
    "map",
    "json",
    "yaml",
    "index",
    "routing",
    "config",
    "unique",
    "lookup",
    "which",
    "arrow",
];

/// Words of questions about secrets that ask for none.
const ABOUT: [&str; 52] = [
    "hash",
    "hashing",
    "hashed",
    "algorithm",
    "length",
    "characters",
    "expire",
    "expires",
    "expiry",
    "expiration",
    "lifetime",
    "type",
    "types",
    "kind",
    "format",
    "policy",
    "manager",
    "store",
    "stored",
    "storage",
    "keep",
    "kept",
    "saved",
    "rotate",
    "rotated",
    "rotation",
    "library",
    "provider",
    "reset",
    "strength",
    "complexity",
    "column",
    "field",
    "variable",
    "budget",
    "limit",
    "limits",
    "count",
    "scheme",
    "flow",
    "method",
    "mechanism",
    "encrypt",
    "encrypted",
    "handle",
    "validate",
    "validated",
    "where",
    "how",
    "when",
    "why",
    "whether",
];

/// Answers that give nothing, and words of which sentences are made.
const PROSE: [&str; 70] = [
    "a",
    "an",
    "and",
    "any",
    "ask",
    "at",
    "be",
    "but",
    "by",
    "can",
    "choose",
    "default",
    "do",
    "don't",
    "env",
    "file",
    "first",
    "for",
    "from",
    "generate",
    "generated",
    "get",
    "have",
    "i",
    "i'll",
    "if",
    "in",
    "is",
    "it",
    "it's",
    "its",
    "later",
    "leave",
    "me",
    "my",
    "n/a",
    "need",
    "no",
    "none",
    "not",
    "nothing",
    "of",
    "ok",
    "on",
    "one",
    "or",
    "please",
    "random",
    "same",
    "set",
    "skip",
    "that",
    "the",
    "there",
    "this",
    "to",
    "unknown",
    "use",
    "we",
    "what",
    "will",
    "with",
    "yes",
    "you",
    "your",
    "nein",
    "ja",
    "non",
    "oui",
    "keine",
];

/// Words that ask for a thing, in questions that begin with any of them or hold them.
const WANTING: [&str; 33] = [
    "what",
    "what's",
    "whats",
    "which",
    "enter",
    "give",
    "provide",
    "paste",
    "tell",
    "send",
    "share",
    "type",
    "supply",
    "need",
    "welches",
    "welche",
    "welcher",
    "lautet",
    "quel",
    "quelle",
    "cuál",
    "cual",
    "qual",
    "quale",
    "wat",
    "welk",
    "vad",
    "hva",
    "hvad",
    "jakie",
    "jaké",
    "какой",
    "каков",
];

/// Questions that are answered by yes and no.
const YES_NO: [&str; 20] = [
    "should", "shall", "do", "does", "did", "would", "will", "can", "could", "may", "is", "are",
    "was", "has", "have", "want", "ok", "okay", "ready", "soll",
];

/// Way in which an answer was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// The user wrote it where the question was asked.
    Freely,
    /// It is one of the options: a secret only where it looks like one.
    Offered,
    /// It is the next prompt, which need not be an answer.
    InWords,
}

/// An answer without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<'t> {
    /// Text after hiding.
    pub text: Cow<'t, str>,
    /// Values hidden because of the question: a repetition of the answer stands without the question.
    pub hidden: Vec<&'t str>,
}

impl Redactor {
    /// Redacts an answer by the question it was given to. `known` learns what was hidden.
    pub fn redact_answer<'t>(
        &self,
        question: &str,
        answer: &'t str,
        given: Given,
        known: &Known,
    ) -> Answer<'t> {
        let mut found = Vec::new();
        if let Some(asks) = asks(question) {
            found = self.beside_name(answer);
            found.extend(telling(answer));
            match given {
                Given::Freely if asks == Asks::ForIt => found.extend(told(answer)),
                Given::InWords if asks == Asks::ForIt && is_no_word(answer) => {
                    found.extend(told(answer));
                }
                Given::Freely | Given::Offered | Given::InWords => {}
            }
            found.sort_by_key(|finding| finding.range.start);
            found = united(found);
            found.retain(|finding| {
                let value = &answer[finding.range.clone()];
                !value.contains(super::PLACEHOLDER_OPEN) && !self.is_harmless(value.as_bytes())
            });
        }
        let hidden: Vec<&str> =
            found.iter().map(|finding| &answer[finding.range.clone()]).collect();
        for value in &hidden {
            known.learn_by(value, Evidence::Answer);
        }
        let text = match found.is_empty() {
            true => self.redact_and_learn(answer, known),
            // The rest may hold others.
            false => {
                let left = self.replace(answer, &found);
                Cow::Owned(self.redact_and_learn(&left, known).into_owned())
            }
        };
        Answer { text, hidden }
    }

    /// The secrets of an answer as if it stood behind the name of one.
    fn beside_name(&self, answer: &str) -> Vec<Finding> {
        const NAME: &str = "password: ";
        let text = format!("{NAME}{answer}");
        let behind = |finding: Finding| {
            let start = finding.range.start.checked_sub(NAME.len())?;
            let range = start..finding.range.end - NAME.len();
            // A word behind a name may be any word; the question decides about it.
            let is_word = answer[range.clone()].bytes().all(|byte| byte.is_ascii_alphabetic());
            let is_name = finding.rule == ASSIGNMENT && is_algorithm(&answer[range.clone()]);
            (super::is_learned(finding.rule) && !is_word && !is_name)
                .then_some(Finding { rule: ANSWER, range })
        };
        self.findings(&text).into_iter().filter_map(behind).collect()
    }
}

/// Subject of a question that names a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asks {
    /// The secret.
    ForIt,
    /// Something about it.
    AboutIt,
}

fn asks(question: &str) -> Option<Asks> {
    let question = &question[..question.floor_char_boundary(QUESTION_BYTES_MAX)];
    // Options may stand below.
    let question = question.lines().next().unwrap_or_default().to_lowercase();
    let is_sign = |c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’');
    let words: Vec<&str> = question.split(is_sign).filter(|word| !word.is_empty()).collect();
    let names_it = |(at, word): (usize, &&str)| {
        let is_open = *word == "key"
            && at.checked_sub(1).is_some_and(|before| OPEN_KEYS.contains(&words[before]));
        NAMES.contains(word) && !is_open
    };
    let names_it = words.iter().enumerate().any(names_it)
        || NAMES_WITHOUT_SPACES.iter().any(|name| question.contains(name));
    if !names_it {
        return None;
    }
    let is_about = words.iter().any(|word| ABOUT.contains(word));
    let is_wanted = words.iter().any(|word| WANTING.contains(word));
    let is_yes_or_no = words.iter().any(|word| YES_NO.contains(word)) && !is_wanted;
    Some(if is_about || is_yes_or_no { Asks::AboutIt } else { Asks::ForIt })
}

/// Returns whether this is a single word that nobody would say.
fn is_no_word(answer: &str) -> bool {
    let answer = answer.trim();
    let is_plain = answer.bytes().all(|byte| byte.is_ascii_alphabetic());
    // A stop word has no terms.
    let is_unknown = || {
        let terms = text::tokens(answer);
        !terms.is_empty() && terms.iter().all(|token| rarity::is_unknown(&token.term))
    };
    !answer.contains(char::is_whitespace) && (!is_plain || answer.len() >= 4 && is_unknown())
}

/// Words of an answer that look drawn at random.
fn telling(answer: &str) -> Vec<Finding> {
    const BYTES_MIN: usize = 8;
    let is_random = |word: &&Range<usize>| {
        let value = &answer.as_bytes()[(*word).clone()];
        let looks_random = shape::is_random(value, BYTES_MIN);
        looks_random && !shape::is_placeholder(value) && !is_algorithm(&answer[(*word).clone()])
    };
    let words = words(answer);
    let random = words.iter().filter(is_random).cloned();
    random.map(|range| Finding { rule: ANSWER, range }).collect()
}

/// Returns the secret in an answer: all of it if it is no sentence, else the words that a sentence would not use.
fn told(answer: &str) -> Vec<Finding> {
    let words = words(answer);
    let is_prose = |word: &Range<usize>| {
        let word = answer[word.clone()].to_lowercase();
        let word = word.replace('’', "'");
        PROSE.contains(&word.as_str())
    };
    let is_all =
        !words.is_empty() && words.len() <= PHRASE_WORDS_MAX && !words.iter().any(is_prose);
    if is_all && !shape::is_placeholder(answer.trim().as_bytes()) {
        let (start, end) = (words[0].start, words[words.len() - 1].end);
        return vec![Finding { rule: ANSWER, range: start..end }];
    }
    let is_mixed = |word: &&Range<usize>| {
        let word = &answer[(*word).clone()];
        word.bytes().any(|byte| byte.is_ascii_digit())
            && word.bytes().any(|byte| byte.is_ascii_alphabetic())
            || word.len() >= 4 && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mixed = words.iter().filter(is_mixed).cloned();
    mixed.map(|range| Finding { rule: ANSWER, range }).collect()
}

/// The words of an answer, without quotes and the signs of sentences around them.
fn words(answer: &str) -> Vec<Range<usize>> {
    let is_around = |c: char| matches!(c, '"' | '\'' | '`' | '*' | '(' | ')' | ',' | ';');
    let of_word = |word: &str| {
        let start = word.as_ptr() as usize - answer.as_ptr() as usize;
        let inner = word.trim_start_matches(is_around);
        let start = start + (word.len() - inner.len());
        let inner = inner.trim_end_matches(is_around).trim_end_matches(['.', ':']);
        (!inner.is_empty()).then_some(start..start + inner.len())
    };
    answer.split_whitespace().filter_map(of_word).collect()
}

/// `SHA-256`, `RS256`, `xchacha20poly1305`: what is done with secrets.
fn is_algorithm(word: &str) -> bool {
    const STARTS: [&str; 17] = [
        "sha", "aes", "rsa", "rs", "hs", "es", "ps", "ed", "hmac", "pbkdf", "argon", "bcrypt",
        "scrypt", "chacha", "xchacha", "blake", "oauth",
    ];
    let letters = word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len());
    let start = word[..letters].to_ascii_lowercase();
    letters < word.len() && STARTS.contains(&start.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::known::KEY_BYTES;
    use super::*;

    fn left(question: &str, answer: &str, given: Given) -> String {
        let known = Known::new([7; KEY_BYTES]);
        Redactor::default().redact_answer(question, answer, given, &known).text.into_owned()
    }

    #[test]
    fn the_question_tells_what_the_answer_is() {
        for (question, answer, clean) in [
            ("What is the database password?", "swordfish", "*"),
            ("Wie lautet das Passwort der Datenbank?", "Kobaltreiher", "*"),
            ("データベースのパスワードは?", "kobaltreiher", "*"),
            ("Which PIN does the card have?", "4711", "*"),
            ("API key for the mailer?", "\"mailgrove-77-xu\"", "\"*\""),
            ("What's the admin password?", "It's Cobaltheron6629, I think.", "It's *, I think."),
            ("What is the passphrase?", "orbit candle mango thirteen", "*"),
            ("Enter the token\n- None: skip", "vR4kTw81Lmqz", "*"),
            ("How is the token sent?", "as vR4kTw81Lmqz in a header", "as * in a header"),
        ] {
            let clean = clean.replace('*', "[redacted:answer]");
            assert_eq!(left(question, answer, Given::Freely), clean);
        }
    }

    #[test]
    fn an_answer_about_secrets_and_one_that_was_offered_stay() {
        for (question, answer) in [
            ("Which hash should passwords have?", "Argon2id"),
            ("Where should tokens be stored?", "keyring"),
            ("What is the primary key of the table?", "order_id"),
            ("What is the password?", "I don't have it, ask Tess"),
            ("Which token?", "none"),
            ("What should the importer be called?", "vole-7"),
            ("What is the format of the API key?", "xchacha20poly1305"),
            ("Should I commit the token change?", "sounds good"),
            ("Do you want me to reset the password?", "absolutely"),
        ] {
            assert_eq!(left(question, answer, Given::Freely), answer);
        }
        let offered = |answer| left("Which password should it be?", answer, Given::Offered);
        assert_eq!(offered("Generated"), "Generated");
        assert_eq!(offered("vR4kTw81Lmqz"), "[redacted:answer]");
    }

    #[test]
    fn the_next_prompt_is_an_answer_where_nobody_would_say_so() {
        let prompt =
            |answer| left("What is the password of the test server", answer, Given::InWords);
        for answer in ["swordfish7", "quillthornbasket", "4711", "vR4kTw81Lmqz"] {
            assert_eq!(prompt(answer), "[redacted:answer]");
        }
        for answer in ["later", "rotate", "both", "ask Tess", "see the wiki, it is there"] {
            assert_eq!(prompt(answer), answer);
        }
    }

    #[test]
    fn what_was_hidden_is_told_and_learned() {
        let known = Known::new([7; KEY_BYTES]);
        let redactor = Redactor::default();
        let question = "What is the database password?";
        let answer = redactor.redact_answer(question, "quillthornbasket", Given::Freely, &known);
        assert_eq!((answer.hidden, known.len()), (vec!["quillthornbasket"], 1));
        let answer = redactor.redact_answer(question, "dev", Given::Freely, &known);
        assert_eq!((answer.hidden, known.len()), (vec!["dev"], 1));
    }
}

//! Answers: what the user gave when asked for a secret. The question says what the answer is, so that a short
//! word is a password there, and nowhere else.

use std::borrow::Cow;
use std::ops::Range;

use super::known::{Evidence, may_spread, trimmed};
use super::{ASSIGNMENT, Finding, Redactor, cue, shape, united};
use memory_store_base::text::{self, rarity};

/// The name of what is hidden because it was asked for.
pub(super) const ANSWER: &str = "answer";

/// The longest question whose end is looked at.
const QUESTION_BYTES_MAX: usize = 2_000;

/// Words of an answer that may all be part of a passphrase.
const PHRASE_WORDS_MAX: usize = 8;

/// Names of secrets in questions, in lower case.
const NAMES: [&str; 49] = [
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
    "şifresi",
    "parola",
    "parolası",
];

/// Names of secrets in scripts without spaces, wherever they stand.
const NAMES_WITHOUT_SPACES: [&str; 22] = [
    "パスワード",
    "パスフレーズ",
    "トークン",
    "暗証番号",
    "apiキー",
    "密码",
    "密碼",
    "口令",
    "密钥",
    "密鑰",
    "令牌",
    "凭证",
    "비밀번호",
    "암호",
    "토큰",
    "รหัสผ่าน",
    "mật khẩu",
    "पासवर्ड",
    "كلمة المرور",
    "كلمة السر",
    "סיסמה",
    "palabra de paso",
];

/// Words of questions about a way in, whose answers may hold a secret.
const WAYS_IN: [&str; 88] = [
    "smtp",
    "imap",
    "ssh",
    "ftp",
    "sftp",
    "vpn",
    "ldap",
    "auth",
    "authenticate",
    "authentication",
    "account",
    "log",
    "sign",
    "anmelden",
    "access",
    "connect",
    "connection",
    "admin",
    "administrator",
    "user",
    "users",
    "username",
    "database",
    "db",
    "postgres",
    "mysql",
    "redis",
    "mongo",
    "registry",
    "server",
    "host",
    "router",
    "panel",
    "console",
    "device",
    "wifi",
    "wlan",
    "network",
    "proxy",
    "broker",
    "mqtt",
    "mail",
    "mailer",
    "api",
    "sudo",
    "root",
    "unlock",
    "decrypt",
    "encrypt",
    "encryption",
    "backup",
    "archive",
    "vault",
    "seed",
    "zugang",
    "zugriff",
    "datenbank",
    "benutzer",
    "accès",
    "connexion",
    "utilisateur",
    "acceso",
    "usuario",
    "accesso",
    "utente",
    "acesso",
    "usuário",
    "toegang",
    "gebruiker",
    "dostęp",
    "доступ",
    "base",
    "serveur",
    "servidor",
    "identifiants",
    "credenciales",
    "credenziali",
    "authorization",
    "installer",
    "unseal",
    "open",
    "sealed",
    "locked",
    "encrypted",
    "denied",
    "staging",
    "box",
    "env",
];

/// Such words in scripts without spaces, or of many forms.
const WAYS_IN_WITHOUT_SPACES: [&str; 18] = [
    "ログイン",
    "アクセス",
    "接続",
    "サーバー",
    "認証",
    "登录",
    "登錄",
    "访问",
    "訪問",
    "连接",
    "服务器",
    "认证",
    "로그인",
    "접속",
    "서버",
    "вход",
    "пользовател",
    "wi-fi",
];

/// Words that ask for a thing in a sentence that is no question, or say that it is not there.
const REQUESTING: [&str; 53] = [
    "need",
    "needs",
    "needed",
    "provide",
    "paste",
    "tell",
    "send",
    "share",
    "supply",
    "enter",
    "give",
    "missing",
    "lack",
    "lacks",
    "without",
    "don't",
    "haven't",
    "not",
    "please",
    "waiting",
    "require",
    "requires",
    "brauche",
    "benötige",
    "fehlt",
    "bitte",
    "besoin",
    "faut",
    "manque",
    "necesito",
    "falta",
    "dame",
    "preciso",
    "falta-me",
    "serve",
    "bisogno",
    "manca",
    "potrzebuję",
    "podaj",
    "nodig",
    "behöver",
    "нужен",
    "нужна",
    "нужно",
    "скажите",
    "пришлите",
    "укажите",
    "потрібен",
    "cannot",
    "can't",
    "fails",
    "denied",
    "nicht",
];

/// Such words in scripts without spaces, or of many forms.
const REQUESTING_WITHOUT_SPACES: [&str; 16] = [
    "教え",
    "ください",
    "下さい",
    "必要",
    "お願い",
    "提供",
    "告诉",
    "告訴",
    "需要",
    "请",
    "請",
    "알려",
    "필요",
    "주세요",
    "चाहिए",
    "أحتاج",
];

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
    /// It is a later prompt: a secret only where it looks like one.
    Later,
}

/// An answer without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<'t> {
    /// Text after hiding.
    pub text: Cow<'t, str>,
    /// Values hidden because of the question: a repetition of the answer stands without the question.
    pub hidden: Vec<&'t str>,
    /// Secrets of it that mean nothing else where they stand in other texts.
    pub recognised: Vec<String>,
}

impl Redactor {
    /// Redacts an answer by the question it was given to.
    pub fn redact_answer<'t>(&self, question: &str, answer: &'t str, given: Given) -> Answer<'t> {
        let mut found = Vec::new();
        let asks = match given {
            Given::InWords if is_request(question) => Some(Asks::ForIt),
            Given::Freely | Given::Offered | Given::InWords | Given::Later => asks(question),
        };
        let is_free = given == Given::Freely && !is_about_ids(question);
        if asks == Some(Asks::WayIn) && given != Given::Freely || asks.is_none() && is_free {
            found = drawn(answer);
        } else if let Some(asks) = asks {
            found = self.beside_name(answer);
            found.extend(telling(answer));
            match given {
                Given::Freely if asks == Asks::ForIt => found.extend(told(answer)),
                Given::InWords if asks == Asks::ForIt && is_no_word(answer) => {
                    found.extend(told(answer));
                }
                Given::Freely | Given::Offered | Given::InWords | Given::Later => {}
            }
        }
        if !found.is_empty() {
            // Hiding one value may hide from other rules what tells the next: "Old password ..., new one ...".
            found.extend(self.findings(answer).into_iter().filter(|it| super::is_learned(it.rule)));
            found.sort_by_key(|finding| finding.range.start);
            found = united(found);
            found.retain(|finding| {
                let value = &answer[finding.range.clone()];
                !value.contains(super::PLACEHOLDER_OPEN) && !self.is_harmless(value.as_bytes())
            });
        }
        let hidden: Vec<&str> =
            found.iter().map(|finding| &answer[finding.range.clone()]).collect();
        let (text, more) = match found.is_empty() {
            true => self.redact_and_recognise(answer),
            // The rest may hold others.
            false => {
                let left = self.replace(answer, &found);
                let (text, more) = self.redact_and_recognise(&left);
                (Cow::Owned(text.into_owned()), more)
            }
        };
        let answered = hidden.iter().map(|value| trimmed(value));
        let answered = answered.filter(|value| may_spread(value, Evidence::Answer));
        let recognised = answered.map(str::to_owned).chain(more).collect();
        Answer { text, hidden, recognised }
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
    /// A way in, or in words that are no request anything else.
    WayIn,
}

/// Returns the sentence near the end of a text that asks for a secret, or is the question that it ends with.
pub fn request(text: &str) -> Option<&str> {
    const SENTENCES_MAX: usize = 4;
    const TAIL_BYTES_MAX: usize = 800;
    const ENDS: [char; 8] = ['.', '!', '?', '。', '！', '？', ':', '：'];
    let text = text.trim_end();
    let tail = &text[text.ceil_char_boundary(text.len().saturating_sub(TAIL_BYTES_MAX))..];
    let mut starts = vec![0];
    for (at, sign) in tail.char_indices() {
        let before = &tail[..at];
        let ends = match sign {
            '\n' => true,
            ' ' => before.ends_with(ENDS) && !is_item_number(before),
            _ => before.ends_with(['。', '！', '？']),
        };
        starts.extend(ends.then_some(at));
    }
    starts.push(tail.len());
    let sentence = |from: usize, to: usize| tail[from..to].trim().trim_end_matches(ENDS);
    let asked = sentence(starts[starts.len() - 2], tail.len());
    let is_question = tail.ends_with(['?', '？', ':', '：']);
    if is_question && asks(asked).is_some() {
        return Some(asked);
    }
    // One that names the secret, or that and the next, which asks for it.
    let near = &starts[starts.len().saturating_sub(SENTENCES_MAX + 1)..];
    let pairs = || near.windows(3).rev().map(|pair| sentence(pair[0], pair[2]));
    let single = near.windows(2).rev().map(|pair| sentence(pair[0], pair[1]));
    let asked = single.chain(pairs()).find(|sentence| is_request(sentence));
    // Or the last one about a way in.
    asked.or_else(|| {
        let all = sentence(near[0], tail.len());
        let lower = all.to_lowercase();
        let words = words_of(&lower);
        let is_asking = is_question || is_requesting(&lower, &words);
        (is_asking && is_way_in(&lower, &words)).then_some(all)
    })
}

/// Returns whether a text ends with the number of an item in a list: `1.`
fn is_item_number(text: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or_default().trim_start();
    line.strip_suffix('.').is_some_and(|number| {
        (1..=2).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Words by which a person takes back what the last prompt said, in lower case.
const CORRECTING: [&str; 57] = [
    "sorry",
    "oops",
    "wait",
    "actually",
    "meant",
    "mean",
    "correction",
    "typo",
    "wrong",
    "mistake",
    "instead",
    "rather",
    "mistyped",
    "should",
    "entschuldigung",
    "korrektur",
    "falsch",
    "meinte",
    "stattdessen",
    "vertippt",
    "doch",
    "pardon",
    "désolé",
    "erreur",
    "plutôt",
    "correctif",
    "perdón",
    "perdon",
    "corrección",
    "quise",
    "error",
    "mejor",
    "desculpa",
    "desculpe",
    "correção",
    "errado",
    "aliás",
    "scusa",
    "scusate",
    "correzione",
    "intendevo",
    "sbagliato",
    "anzi",
    "poprawka",
    "przepraszam",
    "pomyłka",
    "correctie",
    "bedoelde",
    "rättelse",
    "menade",
    "ошибка",
    "ошибся",
    "исправление",
    "точнее",
    "извини",
    "düzeltme",
    "yanlış",
];

/// Such words in scripts without spaces, or of many forms.
const CORRECTING_WITHOUT_SPACES: [&str; 12] = [
    "更正",
    "改正",
    "订正",
    "訂正",
    "间違",
    "間違",
    "错了",
    "錯了",
    "すみません",
    "정정",
    "수정",
    "아니",
];

/// Returns whether a prompt takes back what the one before it said, so that its value is another of the same kind.
pub fn corrects(prompt: &str) -> bool {
    let prompt = prompt.to_lowercase();
    words_of(&prompt).iter().any(|word| CORRECTING.contains(word))
        || CORRECTING_WITHOUT_SPACES.iter().any(|word| prompt.contains(word))
}

/// Returns whether a question is about a way in, or what leads there.
fn is_way_in(question: &str, words: &[&str]) -> bool {
    words.iter().any(|word| WAYS_IN.contains(word))
        || WAYS_IN_WITHOUT_SPACES.iter().any(|word| question.contains(word))
}

/// Returns whether a question asks for an id or a version, which look drawn at random as well.
fn is_about_ids(question: &str) -> bool {
    const NAMES: [&str; 16] = [
        "id", "ids", "uuid", "hash", "commit", "sha", "version", "tag", "branch", "revision",
        "ref", "name", "file", "url", "link", "ticket",
    ];
    let question = question.to_lowercase();
    words_of(&question).iter().any(|word| NAMES.contains(word))
}

/// Words of an answer that look drawn at random though nobody asked for such a thing.
fn drawn(answer: &str) -> Vec<Finding> {
    let words = words(answer).into_iter();
    let drawn = words.filter(|word| cue::is_value(answer[word.clone()].as_bytes()));
    drawn.map(|range| Finding { rule: ANSWER, range }).collect()
}

/// Returns whether a sentence has a word that asks for a thing.
fn is_requesting(sentence: &str, words: &[&str]) -> bool {
    words.iter().any(|word| REQUESTING.contains(word))
        || REQUESTING_WITHOUT_SPACES.iter().any(|word| sentence.contains(word))
}

/// Returns whether a sentence that need not be a question asks for a secret.
fn is_request(sentence: &str) -> bool {
    let sentence = &sentence[..sentence.floor_char_boundary(QUESTION_BYTES_MAX)].to_lowercase();
    let words = words_of(sentence);
    names_secret(sentence, &words)
        && !words.iter().any(|word| ABOUT.contains(word))
        && is_requesting(sentence, &words)
}

/// The words of a question, in lower case.
fn words_of(question: &str) -> Vec<&str> {
    let is_sign = |c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’');
    question.split(is_sign).filter(|word| !word.is_empty()).collect()
}

/// Returns whether a question names a secret.
fn names_secret(question: &str, words: &[&str]) -> bool {
    let names_it = |(at, word): (usize, &&str)| {
        let is_open = *word == "key"
            && at.checked_sub(1).is_some_and(|before| OPEN_KEYS.contains(&words[before]));
        NAMES.contains(word) && !is_open
    };
    // An English name may stand among letters of another script.
    let is_unspaced = || question.chars().any(|c| ('\u{2E80}'..'\u{AC00}').contains(&c));
    words.iter().enumerate().any(names_it)
        || NAMES_WITHOUT_SPACES.iter().any(|name| question.contains(name))
        || is_unspaced() && ["token", "password"].iter().any(|name| question.contains(name))
}

fn asks(question: &str) -> Option<Asks> {
    let question = &question[..question.floor_char_boundary(QUESTION_BYTES_MAX)];
    // Options may stand below.
    let question = question.lines().next().unwrap_or_default().to_lowercase();
    let words = words_of(&question);
    if !names_secret(&question, &words) {
        return is_way_in(&question, &words).then_some(Asks::WayIn);
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
    const COMMIT_BYTES: usize = 40;
    let is_telling = |word: &&Range<usize>| {
        let value = &answer[(*word).clone()];
        let is_commit =
            value.len() == COMMIT_BYTES && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        may_spread(value, Evidence::Rule) && !is_commit && !is_algorithm(value)
    };
    let words = words(answer);
    let telling = words.iter().filter(is_telling).cloned();
    telling.map(|range| Finding { rule: ANSWER, range }).collect()
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
mod tests;

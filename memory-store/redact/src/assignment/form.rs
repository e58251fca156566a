//! Forms in which a name and its value stand beside each other without being an assignment: with emphasis, over
//! lines, in cells, tags, objects and calls, and with the value first.
//!
//! A form is a pattern for what follows a name, or for what stands before it. It is asked only where a name
//! promises a secret and no assignment was found, so that it costs ordinary text nothing.

use std::ops::Range;
use std::sync::OnceLock;

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

use super::{Promise, drawn, said, shape};

/// Text behind a name, and before one, in which its value may stand.
const AFTER_BYTES_MAX: usize = 640;
const BEFORE_BYTES_MAX: usize = 400;

/// Certainty of a form that a value follows, which decides what the value has to look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Judge {
    /// A literal in code or data: what a quoted value of an assignment has to look like.
    Quoted,
    /// An argument of a call, of which many are no values: with digits, or plain behind `set`.
    Argument,
    /// Told by a person or a program: with a letter and a digit.
    Told,
    /// Beside the name without a sign between them: drawn at random.
    Drawn,
    /// A literal in a call that makes the value of it, or looks it up: with a letter and a digit, or words drawn by lot.
    Wrapped,
    /// Bytes, each as a number.
    Bytes,
}

/// One form.
struct Form {
    /// Bytes of which one follows the name, or stands before it; none means any.
    edge: &'static [u8],
    /// A text that is near the name wherever the form is, so that most are told without the pattern.
    needs: &'static str,
    judge: Judge,
    pattern: &'static str,
    regex: OnceLock<Option<Regex>>,
    /// Search for what it needs.
    finder: OnceLock<Finder<'static>>,
}

impl Form {
    const fn new(
        edge: &'static [u8],
        needs: &'static str,
        judge: Judge,
        pattern: &'static str,
    ) -> Self {
        Self { edge, needs, judge, pattern, regex: OnceLock::new(), finder: OnceLock::new() }
    }

    fn is_beside(&self, byte: u8) -> bool {
        self.edge.is_empty() || self.edge.contains(&byte)
    }

    fn find(&self, text: &[u8], promise: Promise, name: &[u8]) -> Option<Range<usize>> {
        if !self.needs.is_empty() {
            self.finder.get_or_init(|| Finder::new(self.needs.as_bytes())).find(text)?;
        }
        let regex = self.regex.get_or_init(|| compile(self.pattern)).as_ref()?;
        let groups = regex.captures(text)?;
        let group = groups.name("secret")?.range();
        if promise == Promise::Password
            && self.judge == Judge::Told
            && let Some(word) = said::drawn_word(text, group.start)
        {
            return Some(word);
        }
        if groups.name("more").is_some_and(|more| !more.is_empty()) {
            return None;
        }
        let (value, behind) = (&text[group.clone()], &text[group.end..]);
        self.judge.accepts(value, behind, promise, name).then_some(group)
    }
}

/// The value of the name at `name`, which stands behind it in one of the forms, or before it.
pub(super) fn find(text: &[u8], name: &Range<usize>, promise: Promise) -> Option<Range<usize>> {
    let said = &text[name.clone()];
    let after = &text[name.end..(name.end + AFTER_BYTES_MAX).min(text.len())];
    let follows = after.first().copied().unwrap_or(b'\n');
    let behind = AFTER
        .iter()
        .filter(|form| form.is_beside(follows))
        .find_map(|form| form.find(after, promise, said));
    let behind =
        behind.or_else(|| is_operator(after).then(|| WRAPPED.find(after, promise, said)).flatten());
    if let Some(value) = behind {
        return Some(name.end + value.start..name.end + value.end);
    }
    before(text, name, promise)
}

/// Returns whether an operator follows a name, and the quote that closes it.
fn is_operator(after: &[u8]) -> bool {
    let closes = |byte: &&u8| b"\"'`]) ".contains(byte);
    let signs = after.iter().take(8).take_while(closes).count();
    after.get(signs).is_some_and(|byte| b":=".contains(byte))
}

/// The bytes of the key at `name`, as numbers in a list behind it.
pub(super) fn bytes(
    text: &[u8],
    name: &Range<usize>,
    promise: impl FnOnce() -> Option<Promise>,
) -> Option<Range<usize>> {
    const OPEN_BYTES_MAX: usize = 48;
    let after = &text[name.end..(name.end + AFTER_BYTES_MAX).min(text.len())];
    let opens =
        |at: usize| after[at + 1..].trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
    let lead = &after[..after.len().min(OPEN_BYTES_MAX)];
    if !memchr::memchr3_iter(b'[', b'{', b'(', lead).any(opens) {
        return None;
    }
    let value = BYTES.find(after, promise()?, &text[name.clone()])?;
    Some(name.end + value.start..name.end + value.end)
}

/// The value of the name at `name`, which stands before it in one of the forms.
pub(super) fn before(text: &[u8], name: &Range<usize>, promise: Promise) -> Option<Range<usize>> {
    let said = &text[name.clone()];
    let from = name.start.saturating_sub(BEFORE_BYTES_MAX);
    let before = &text[from..name.start];
    let precedes = before.last().copied().unwrap_or(b'\n');
    BEFORE
        .iter()
        .filter(|form| form.is_beside(precedes))
        .find_map(|form| form.find(before, promise, said))
        .map(|value| from + value.start..from + value.end)
}

fn compile(pattern: &str) -> Option<Regex> {
    // Q: a quote that may be escaped; B: a bare value, and what follows signs at which most end; V: one in quotes; W: a break of line.
    let pattern = pattern
        .replace("<Q>", r#"(?:\\{0,3}["'`]|&quot;)"#)
        .replace("<V>", r#"(?<secret>[^\s"'`\\<>][^"'`\\\n<>]{2,300}?)"#)
        .replace(
            "<B>",
            r#"(?<secret>[^\s"'`|<>,;*(){}\[\]\\\x80-\xFF][^\s"'`|<>,;*\\\x80-\xFF]{1,300})(?<more>[^\s"'`\\]{0,64}?)"#,
        )
        .replace("<W>", r"(?:\r?\n|\\n)");
    RegexBuilder::new(&pattern).unicode(false).build().ok()
}

/// Forms behind a name in an object, a tag or a list of settings.
static AFTER: [Form; 23] = [
    // **Password:** x, `password`: x, Password (staging): **x**, Password → x, Password...: x
    Form::new(
        b":*_`\"'])( =-|\t.>&\xE2\xEF\xF0?",
        "",
        Judge::Told,
        r#"\A[*_`"'\])]{0,4}(?: ?\([^()\n]{1,60}\))?\??[*_]{0,3}[ \t]{0,24}(?:\.{3,}:?|…:?|:|：|=>?|->|→|⇒|➜|—|–|👉|\?)[*_]{0,3}(?:</?[a-z]{1,8}>){0,3}[ \t]{0,24}(?:<[a-z]{1,8}>){0,3}[*_]{0,3}(?:"|'|`|«|»|“|„|‘|「|『)?<B>"#,
    ),
    // | Password | x |, <tab>x
    Form::new(
        b" |\t*`_",
        "",
        Judge::Told,
        r#"\A[*`_]{0,3}[ \t]{0,24}(?:\||\t)[ \t]{0,24}[*`_]{0,3}<B>[*`_]{0,3}[ \t]{0,24}(?:\||\r?\n|\z)"#,
    ),
    // Password      x
    Form::new(b" ", "  ", Judge::Told, r"\A {2,40}<B>[ \t]{0,24}(?:\r?\n|\z)"),
    // Password: <br> ```<br>x
    Form::new(
        b":*_`\"'])( ,?",
        "\n",
        Judge::Told,
        r#"\A[*_`"'\])]{0,4}(?: ?\([^\n]{1,80}\))?(?: [^\n:]{1,60})?(?::|：)[*_]{0,3}[ \t]{0,4}(?:\r?\n){1,2}(?:```[a-z]{0,12}\r?\n|[ \t>*-]{1,12}`?|`)?<B>`?[ \t]{0,4}(?:\r?\n|\z)"#,
    ),
    Form::new(b"?:\r\n", "\n", Judge::Drawn, r"\A[:?]?[ \t]{0,4}\r?\n> <B>[ \t]{0,4}(?:\r?\n|\z)"),
    // </td><td>x</td>, </key><string>x</string>, </b>: <code>x</code>, </name><value>x</value>
    Form::new(
        b"<: *",
        "</",
        Judge::Quoted,
        r#"\A:?</[A-Za-z]{1,12}>:?\s{0,40}(?:<(?:[^<>/]{1,80})>\s{0,40}){0,3}<V>(?:</|\z|\s{0,4}\n)"#,
    ),
    // name="password" value="x", <string name="password">x</string>, key="password"><value>x
    Form::new(
        b"\"'",
        "alue",
        Judge::Quoted,
        r#"\A["'][^<>\n]{0,120}?\b[vV]alue\s{0,3}=\s{0,3}["']<V>["']"#,
    ),
    Form::new(
        b" \"'",
        "alue=",
        Judge::Quoted,
        r#"\A["']?(?: [a-z]{1,20}(?:=["']?[^<>"'\n]{0,60}["']?)?){0,5} value=["']?<V>["'\s>]"#,
    ),
    Form::new(
        b"\"'",
        "</",
        Judge::Quoted,
        r#"\A["'][^<>\n]{0,80}>\s{0,40}(?:<[a-z]{1,12}>)?<V></"#,
    ),
    // {"name": "DB_PASSWORD", "value": "x"}
    Form::new(
        b"\"'\\`&",
        "alue",
        Judge::Quoted,
        r#"\A<Q>[^{}]{0,240}?<Q>?(?:[vV]alue|ParameterValue|[sS]tringValue|SecretString)<Q>?\s{0,8}(?::|=>?)\s{0,8}<Q><V><Q>"#,
    ),
    // "db_password": {"value": "x", "type": "string"}
    Form::new(
        b"\"'\\ =:`",
        "{",
        Judge::Quoted,
        r#"\A<Q>?\s{0,8}(?::|=>?)?\s{0,8}\{[^{}]{0,240}?<Q>?(?:value|plaintext|plain|secret|data|current|S)<Q>?\s{0,8}(?::|=>?)\s{0,8}<Q><V><Q>"#,
    ),
    // - key: password <br>  value: x
    Form::new(
        b"\"'\r\n\\",
        "alue:",
        Judge::Told,
        r#"\A["']?(?:<W>[ \t+]{1,40}){1,2}[vV]alue:\s{0,4}["']?<B>["']?(?:\s|\\n|\z)"#,
    ),
    // setPassword("x"), .password('x'), set_password(b"x"
    Form::new(
        b"(",
        "",
        Judge::Argument,
        r#"\A\(\s{0,8}[A-Za-z]{0,2}(?:Some\()?<Q><V><Q>\s{0,8}[),]"#,
    ),
    // fill('#password', 'x'), getByLabel('Password').fill('x'), ('smtp_password', 'x'), with: "x"
    Form::new(
        b"\"'`/\\])",
        "",
        Judge::Argument,
        r#"\A[\])]{0,3}(?:<Q>|/i?)[\])]{0,3}(?:\.(?:fill|type|send_keys|sendKeys|set|setValue|set_value|val|press_sequentially|pressSequentially|clear_and_type)\(|,\s{0,8}(?:with:|value[:=])?)\s{0,8}<Q><V><Q>"#,
    ),
    // ["password"]=> string(12) "x", "password";s:12:"x"; 1) "requirepass" 2) "x"
    Form::new(
        b"\"'",
        "",
        Judge::Quoted,
        r#"\A["'](?:\]=>\s{0,40}string\([0-9]{1,4}\) |;s:[0-9]{1,4}:|\r?\n ?[0-9]{1,2}\) )["']<V>["']"#,
    ),
    // name="password" <br><br> x: a field of a form that is sent
    Form::new(b"\"", "\n", Judge::Told, r#"\A"(?:<W>){2}<B>"#),
    // :password "x"
    Form::new(b" \t", "", Judge::Told, r#"\A[ \t]{1,20}["'`]<B>["'`]"#),
    // password: old x, new y
    Form::new(b":", "", Judge::Told, r"\A: (?:old|new|now|it is|it's|is) <B>"),
    // - --requirepass <br> - x
    Form::new(
        b"\"'\r\n",
        "- ",
        Judge::Drawn,
        r#"\A["']?\r?\n[ \t]{0,24}- ["']?<B>["']?[ \t]{0,4}(?:\r?\n|\z)"#,
    ),
    // Which password should it have? x
    Form::new(
        b" ?\"'",
        "?",
        Judge::Told,
        r#"\A[^\n?"']{0,60}\?["'*_]{0,3}[ \t]{0,3}(?:=|:|→|->|A:|\n{1,2}>?)?[ \t]{0,3}["'`]?<B>["'`]?[ \t]{0,3}(?:\r?\n|\z)"#,
    ),
    // AdminPassword:<br>  Type: String<br>  Default: "x"
    Form::new(
        b":\"'",
        "efault",
        Judge::Quoted,
        r#"\A["']?:[ \t]{0,4}\{?(?:<W>[ \t]{1,24}["']?[A-Za-z]{1,24}["']?:[^\n]{0,80}){0,5}?<W>[ \t]{1,24}["']?(?:[dD]efault(?:Value)?)["']?:[ ]{0,3}["']<V>["']"#,
    ),
    // <Password><br>  <Value>x</Value>
    Form::new(
        b">",
        "</",
        Judge::Quoted,
        r#"\A>\s{0,40}<(?:[vV]alue|[sS]tring|[dD]ata|[tT]ext)>\s{0,40}<V>\s{0,40}</"#,
    ),
    // PASSWORD 'x', PASSWORD = N'x', IDENTIFIED BY PASSWORD 'x'
    Form::new(b" ", "'", Judge::Quoted, r"\A\s{1,4}(?:=\s{0,4})?N?'<V>'"),
];

/// A literal in a call: password = SecretString::from("x"), token: str = Field(default="x"), key := []byte("x").
static WRAPPED: Form = Form::new(
    b" :=\"'`)]",
    "(",
    Judge::Wrapped,
    r#"\A<Q>?\]?\s{0,8}(?::\s{0,4}[A-Za-z_.|&<>\[\]? ]{1,40}?)?\s{0,8}(?::?=>?|:)\s{0,8}(?:await |new |&)?(?:[A-Za-z_.:<>\[\]]{0,40}?\()?[A-Za-z_.:<>\[\]]{0,40}?(?i:bytes?|from|new|string|secret(?:str|string|value)?|text|field|setting|config|cast|hash|hashpw|hash_password|hashsync|make|md5|sha\d{1,3}|some|just|literal|value|valueof|of|buffer|b64decode|unhex)\(\s{0,8}(?:default\s{0,2}[=:]\s{0,2})?[A-Za-z]{0,2}<Q><V><Q>\s{0,8}[,).]"#,
);

/// A key as a list of its bytes: network_key: [86, 203, ...], AES_KEY = new byte[] { 0x3f, 0xa2, ... }, key[16] = {...}.
static BYTES: Form = Form::new(
    b" :=\"'[",
    ",",
    Judge::Bytes,
    r#"\A["']?(?:\[[A-Z_0-9]{0,20}\])?\s{0,8}(?::\s{0,4}[A-Za-z0-9_&\[\]; ]{0,24})?[:=]{1,2}\s{0,8}(?:new )?[A-Za-z0-9_.:&\[\]]{0,24}!?[ (]{0,2}[\[{(]\s{0,16}(?<secret>(?:0[xX])?[0-9A-Fa-f]{1,3}(?:,\s{0,16}(?:0[xX])?[0-9A-Fa-f]{1,3}){15,63}),?\s{0,16}[\]})]"#,
);

/// The forms in which the value stands before the name.
static BEFORE: [Form; 6] = [
    // {"value": "x", "name": "DB_PASSWORD"}
    Form::new(
        b"\"'\\/._-",
        "alue",
        Judge::Quoted,
        r#"<Q>(?:[vV]alue|ParameterValue)<Q>\s{0,8}:\s{0,8}<Q><V><Q>\s{0,8},[^{}]{0,120}<Q>(?:[nN]ame|[kK]ey|ParameterKey|label|id)<Q>\s{0,8}:\s{0,8}<Q>[A-Za-z0-9/._-]{0,80}\z"#,
    ),
    // <input value="x" type="password">, <add value="x" key="ApiSecret"/>
    Form::new(
        b"\"'=",
        "alue",
        Judge::Quoted,
        r#"<[A-Za-z]{1,20}\s(?:[^<>]{0,120}\s)?value=["']?<V>["']?\s[^<>]{0,120}?(?:type|name|key|id)=["']?\z"#,
    ),
    // - value: x <br> name: DB_PASSWORD
    Form::new(
        b" \"'",
        "alue:",
        Judge::Told,
        r#"\b[vV]alue:\s{0,4}["']?<B>["']?\r?\n[ \t+]{0,40}(?:name|key):\s{0,4}["']?\z"#,
    ),
    // <value>x</value> <name>password
    Form::new(
        b">",
        "<value>",
        Judge::Quoted,
        r"<value>\s{0,40}<V>\s{0,40}</value>\s{0,40}<(?:name|key)>\z",
    ),
    // default_value = "x")]<br>  password: String
    Form::new(
        b" \n\t",
        "efault",
        Judge::Quoted,
        r#"[dD]efault(?:_?[vV]alue)?\s{0,2}[=:]\s{0,2}["']<V>["'][^"'\n]{0,40}\r?\n\s{0,24}(?:[a-z]{2,9} ){0,3}(?:String )?\z"#,
    ),
    // use x as the password, x is the password, x (that's the password, does x still work as the password
    Form::new(
        b" ",
        "",
        Judge::Told,
        r#"(?:\A|[\s"'`*(]|「|«|“)<B>(?:["'`*]{0,2}|」|»|”),? (?:\((?:that's|that is|this is|it's|it is)|still (?:works?|valid|used|good) (?:as|for)|in as|instead of|as|is|for|be|als|ist|comme|como|es|come|jako|som|olarak|\xD0\xBA\xD0\xB0\xD0\xBA|\xD1\x8F\xD0\xBA) (?:[A-Za-z]{1,10} ){0,3}?\z"#,
    ),
];

impl Judge {
    fn accepts(self, value: &[u8], behind: &[u8], promise: Promise, name: &[u8]) -> bool {
        let value = value.trim_ascii_end();
        if value.is_empty()
            || shape::is_placeholder(value)
            || shape::is_fake(value)
            || shape::is_stop_word(value)
            || shape::is_path(value)
            || shape::is_version_or_colour(value)
        {
            return false;
        }
        let upper = !name.iter().any(u8::is_ascii_lowercase);
        match self {
            Self::Quoted => {
                !shape::is_numeric(value) && super::quoted_is_secret(value, promise, upper)
            }
            Self::Argument => {
                let is_plain = value.iter().all(u8::is_ascii_lowercase);
                let sets = super::words(str::from_utf8(name).unwrap_or_default())
                    .first()
                    .is_some_and(|word| matches!(word.as_str(), "set" | "with"));
                let has_digit = value.iter().any(u8::is_ascii_digit);
                let is_told = has_digit || is_plain && sets && value.len() >= 8;
                (is_told || drawn::is_joined_phrase(value))
                    && !value.contains(&b' ')
                    && !shape::is_numeric(value)
                    && super::quoted_is_secret(value, promise, upper)
            }
            Self::Told => {
                let is_code = matches!(behind, [b'(' | b'[' | b'{', ..])
                    || behind.starts_with(b"<") && !behind.starts_with(b"</");
                // `password: Sha256Hash,` and `Token = oauth2::Token2` are types.
                let is_type = matches!(behind, [b',' | b';', ..])
                    && value[0].is_ascii_uppercase()
                    && !value.last().is_some_and(u8::is_ascii_digit);
                let is_type = is_type || memchr::memmem::find(value, b"::").is_some();
                !is_code && !is_type && said::is_told_secret(trimmed(value), promise)
            }
            Self::Drawn => said::is_secret(trimmed(value), promise, false),
            Self::Wrapped => said::is_told_secret(value, promise) || drawn::is_chosen(value),
            Self::Bytes => are_drawn_bytes(value),
        }
    }
}

/// Returns whether numbers are those of bytes that were drawn at random: no two alike in a row, and some of them large.
fn are_drawn_bytes(value: &[u8]) -> bool {
    const LARGE: u32 = 99;
    const LARGE_MIN: usize = 4;
    let numbers = value.split(|byte| *byte == b',').map(|number| {
        let number = str::from_utf8(number.trim_ascii()).unwrap_or_default();
        let digits = number.strip_prefix("0x").or_else(|| number.strip_prefix("0X"));
        digits.map_or_else(|| number.parse().ok(), |digits| u32::from_str_radix(digits, 16).ok())
    });
    let Some(numbers) = numbers.collect::<Option<Vec<u32>>>() else { return false };
    let steps = numbers.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 1).count();
    numbers.iter().all(|number| *number <= 255)
        && numbers.iter().filter(|number| **number > LARGE).count() >= LARGE_MIN
        && steps * 4 < numbers.len()
}

/// The value without the signs of a sentence behind it.
fn trimmed(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|byte| !b".:!?)".contains(byte)).map_or(0, |at| at + 1);
    &value[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_a_pattern() {
        for form in AFTER.iter().chain(&BEFORE) {
            assert!(compile(form.pattern).is_some(), "{}", form.pattern);
        }
    }
}

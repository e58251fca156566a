//! Signature of an error's output: the part that is the same each time.

use memory_store_base::text::mail;

/// Number of bytes that are read at each end of an output, because errors are at the start or at the end.
const END_BYTES_MAX: usize = 16 * 1024;

/// Maximum number of lines that are read.
const LINES_MAX: usize = 600;

/// Maximum number of lines in a signature.
const TELLING_LINES: usize = 2;

/// Maximum length of a signature's line, in characters.
const LINE_CHARS_MAX: usize = 160;

/// Returns the signature of an error: its most distinctive lines in lower case, without numbers, hashes, times,
/// positions, folders and mail addresses. `None` if no line resembles an error.
pub fn error_signature(output: &str) -> Option<String> {
    let lines = telling_lines(output, TELLING_LINES);
    let mut kept: Vec<String> = Vec::new();
    for line in lines {
        let line = steady(&line);
        if line.chars().filter(|c| c.is_alphabetic()).count() >= 4 && !kept.contains(&line) {
            kept.push(line);
        }
    }
    (!kept.is_empty()).then(|| kept.join(" | "))
}

/// Returns whether a line of a signature names a cause. Messages of script runners about a failed script, and the
/// command lines that they repeat, are the same for every failure, so they name none.
pub fn names_cause(line: &str) -> bool {
    !is_summary(line) && !line.starts_with("$ ") && !line.starts_with("> ")
}

/// Returns the lines of an output that describe the error best, best first and at most `max`, without colours. Empty if
/// no line resembles an error.
pub fn telling_lines(output: &str, max: usize) -> Vec<String> {
    let text = ends(output);
    let mut scored: Vec<(i32, usize, String)> = Vec::new();
    for (at, raw) in text.lines().take(LINES_MAX).enumerate() {
        let line = plain(raw);
        let score = score(&line);
        if score > 0 && !scored.iter().any(|(.., known)| *known == line) {
            scored.push((score, at, line));
        }
    }
    // Among equal lines the first one is preferred, because later errors are usually consequences.
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().take(max).map(|(.., line)| line).collect()
}

/// Returns the start and the end of a long output, or the whole of a short one.
fn ends(output: &str) -> std::borrow::Cow<'_, str> {
    if output.len() <= 2 * END_BYTES_MAX {
        return output.into();
    }
    let start = &output[..output.floor_char_boundary(END_BYTES_MAX)];
    let end = &output[output.ceil_char_boundary(output.len() - END_BYTES_MAX)..];
    format!("{start}\n{end}").into()
}

/// Returns a line without terminal colours, control characters and surrounding white space.
fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len().min(LINE_CHARS_MAX * 4));
    let mut characters = line.chars().take(LINE_CHARS_MAX * 4).peekable();
    while let Some(c) = characters.next() {
        if c == '\u{1b}' {
            if characters.next_if_eq(&'[').is_some() {
                while characters.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
            }
        } else if !c.is_control() || c == '\t' {
            plain.push(c);
        }
    }
    let plain = plain.trim();
    // Claude Code encloses the errors of its own tools in these tags.
    let plain = plain.strip_prefix("<tool_use_error>").unwrap_or(plain);
    plain.strip_suffix("</tool_use_error>").unwrap_or(plain).trim().to_owned()
}

/// Words that indicate an error, each with its weight.
const SIGNS: &[(&str, i32)] = &[
    ("panicked", 6),
    ("exception", 5),
    ("fatal", 5),
    ("error:", 6),
    ("error[", 6),
    ("error ", 4),
    ("error", 3),
    ("err!", 3),
    ("cannot ", 4),
    ("can't ", 3),
    ("could not ", 4),
    ("couldn't ", 4),
    ("unable to ", 4),
    ("not found", 5),
    ("no such ", 5),
    ("does not exist", 5),
    ("undefined", 4),
    ("unexpected", 4),
    ("unknown ", 3),
    ("unrecognized", 4),
    ("unresolved", 4),
    ("denied", 4),
    ("refused", 4),
    ("invalid", 4),
    ("missing", 4),
    ("failed", 3),
    ("failure", 3),
    ("failing", 2),
    ("assert", 4),
    ("expected", 3),
    ("mismatch", 4),
    ("timed out", 5),
    ("timeout", 3),
    ("conflict", 4),
    ("rejected", 4),
    ("already in use", 5),
    ("already exists", 4),
    ("not permitted", 4),
    ("is not ", 2),
    ("segmentation fault", 6),
    ("killed", 3),
    ("out of memory", 6),
    ("overflow", 3),
    ("deprecated", 1),
    ("warning", 1),
    ("must ", 2),
    ("required", 3),
    ("unsupported", 4),
    ("illegal", 4),
    ("abort", 3),
];

fn score(line: &str) -> i32 {
    let length = line.chars().count();
    if length < 6 {
        return 0;
    }
    let lower = line.to_lowercase();
    let mut score: i32 =
        SIGNS.iter().filter(|(sign, _)| lower.contains(sign)).map(|&(_, worth)| worth).sum();
    if has_code(line) {
        score += 3;
    }
    // `TypeError: ...` at the start of a line is the format of most runtimes.
    if let Some((head, tail)) = line.split_once(':')
        && !head.contains(' ')
        && (head.ends_with("Error") || head.ends_with("Exception") || head.ends_with("Warning"))
        && tail.len() > 3
    {
        score += 5;
    }
    if score == 0 {
        return 0;
    }
    // Stack frames, summaries and source excerpts may contain such words although they are not errors.
    let frame =
        lower.starts_with("at ") || lower.starts_with("file \"") || lower.starts_with("-->");
    let summary = is_summary(&lower);
    let excerpt = line.starts_with(['|', '^', '~', '+', '-']) || starts_with_number_and_bar(line);
    if frame || excerpt {
        score -= 8;
    }
    if summary {
        score -= 4;
    }
    if length > 400 {
        score -= 3;
    }
    score
}

/// Returns whether a line is a summary, such as `2 failed, 10 passed`, `error: aborting due to 3 previous errors` or
/// `npm ERR! A complete log`.
fn is_summary(lower: &str) -> bool {
    [
        "aborting due to",
        "previous error",
        "complete log",
        "passed",
        "exit code",
        "exit status",
        "exited with",
        "test result",
        "test suites:",
        "tests:",
        "could not compile",
        "for more information",
        "command failed",
        "lifecycle script",
        "elifecycle",
    ]
    .iter()
    .any(|sign| lower.contains(sign))
}

fn starts_with_number_and_bar(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && rest.trim_start().starts_with('|')
}

/// Returns whether a line contains an error code, such as `E0308`, `TS2345`, `ENOENT`, `ERR_MODULE_NOT_FOUND` or
/// `SQLITE_BUSY`.
fn has_code(line: &str) -> bool {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| {
        let capitals = word.bytes().filter(u8::is_ascii_uppercase).count();
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let plain = capitals + digits + word.bytes().filter(|&b| b == b'_').count() == word.len();
        let numbered = (1..=4).contains(&capitals) && (3..=5).contains(&digits);
        let named = capitals >= 5 && (word.starts_with('E') || word.contains('_'));
        plain && (numbered || named)
    })
}

/// Returns a line without its variable parts.
fn steady(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut words = line.split_whitespace().peekable();
    // In `src/lib.rs:88:3: error: ...`, the position is not part of the error.
    if words.clone().nth(2).is_some() {
        words.next_if(|word| is_position(word));
    }
    for word in words {
        let word = steady_word(word);
        if word.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word);
        if out.len() >= LINE_CHARS_MAX * 2 {
            break;
        }
    }
    let out = out.to_lowercase();
    out.chars().take(LINE_CHARS_MAX).collect::<String>().trim().to_owned()
}

/// Returns whether a word is a file with a line number, such as `a.rs:12:5:` or `a.ts(3,4):`.
fn is_position(word: &str) -> bool {
    let bare = word.trim_end_matches(':');
    bare.contains('.') && without_position(bare).len() < bare.len()
}

/// Redaction placeholder for a mail address.
const HIDDEN_ADDRESS: &str = "[redacted:email]";

/// Returns a word without its variable parts and without names of people; empty if nothing remains.
fn steady_word(word: &str) -> String {
    if word.contains('@') || word.contains(HIDDEN_ADDRESS) {
        let rest = mail::without(word).replace(HIDDEN_ADDRESS, "");
        if rest != word {
            return steady_word(&rest);
        }
    }
    let core = word.trim_matches(|c: char| "()[]{},;".contains(c));
    let core_plain = core.trim_matches(['\'', '"', '`', ':']);
    if is_time(core_plain) || is_varying(core_plain) {
        return String::new();
    }
    if core_plain.contains(['/', '\\']) && !core_plain.contains("://") {
        return word.replace(core_plain, &steady_path(core_plain));
    }
    without_position(word)
}

/// Returns the last component of an absolute path, because the folders above differ between machines. Other paths are
/// kept.
fn steady_path(path: &str) -> String {
    let path = without_position(path);
    let absolute = path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':');
    if !absolute {
        return path.trim_start_matches("./").to_owned();
    }
    path.rsplit(['/', '\\']).find(|step| !step.is_empty()).unwrap_or_default().to_owned()
}

/// Returns a word without its position, as in `file.ts:12:5:` and `file.ts(12,5)`.
fn without_position(word: &str) -> String {
    let mut word = word;
    loop {
        let shorter = word.trim_end_matches([':', ',']);
        let Some((head, tail)) = shorter.rsplit_once(':') else { break };
        if tail.is_empty() || !tail.bytes().all(|b| b.is_ascii_digit()) || head.is_empty() {
            break;
        }
        word = head;
    }
    if let Some((head, tail)) = word.split_once('(')
        && !head.is_empty()
        && tail.trim_end_matches([')', ':', ',']).bytes().all(|b| b.is_ascii_digit() || b == b',')
        && tail.bytes().any(|b| b.is_ascii_digit())
    {
        word = head;
    }
    word.to_owned()
}

/// Returns whether a word is variable: a number, address, hash, UUID, duration or size.
fn is_varying(word: &str) -> bool {
    if word.is_empty() {
        return false;
    }
    let hex = word.strip_prefix("0x").unwrap_or(word);
    let digits = hex.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        return false;
    }
    let is_hex = hex.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    if is_hex && (hex.len() < word.len() || hex.len() >= 7) {
        return true;
    }
    // This is a number, optionally with a unit of at most two letters, such as `12`, `3.5s`, `120ms`, `45%` or `#12`.
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let starts = word
        .trim_start_matches(['#', '+', '-', '~', '$'])
        .starts_with(|c: char| c.is_ascii_digit());
    starts
        && letters <= 2
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b".,:%#+-~$/".contains(&b))
}

/// Returns whether a word is a date or a time, such as `2026-10-02`, `12:30:01.5` or `2026-10-02T12:30:01Z`.
fn is_time(word: &str) -> bool {
    let separators = word.bytes().filter(|b| b"-:./".contains(b)).count();
    separators >= 2
        && word.bytes().filter(u8::is_ascii_digit).count() >= 5
        && word.bytes().all(|b| b.is_ascii_digit() || b"-:.TZ+,/".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_error_has_the_same_signature() {
        let same = |a: &str, b: &str| {
            assert!(error_signature(a).is_some(), "{a}");
            assert_eq!(error_signature(a), error_signature(b), "{a} / {b}");
        };
        same(
            "/home/ann/app/src/main.rs:12:5: error[E0308]: mismatched types",
            "/home/bob/work/app/src/main.rs:90:17: error[E0308]: mismatched types",
        );
        same(
            "2026-10-02T12:00:01Z Error: connect ECONNREFUSED 127.0.0.1:5432 after 1203ms",
            "2026-11-05T08:10:44Z Error: connect ECONNREFUSED 127.0.0.1:5432 after 87ms",
        );
        same(
            "\u{1b}[31mTypeError: Cannot read properties of undefined (reading 'id')\u{1b}[0m\n    at f (/a/b.js:1:2)",
            "TypeError: Cannot read properties of undefined (reading 'id')\n    at g (/c/d.js:100:20)",
        );
    }

    #[test]
    fn a_signature_names_nobody_whether_redaction_was_before_it_or_not() {
        let said = |name: &str| {
            error_signature(&format!("fatal: no such author <{name}> in to={name}; user not found"))
        };
        let signature = said("tess@harbour.co.uk").unwrap();
        assert_eq!(signature, "fatal: no such author <> in to=; user not found");
        for name in ["j.doe+x@mail.harbour.co.uk", "[redacted:email]", ""] {
            assert_eq!(said(name).as_ref(), Some(&signature), "{name}");
        }
        assert!(
            error_signature("error: lodash@4.17.0 not found").unwrap().contains("lodash@4.17.0")
        );
    }

    #[test]
    fn what_is_quoted_stays() {
        let a = error_signature("error: package `left_pad` not found").unwrap();
        let b = error_signature("error: package `right_pad` not found").unwrap();
        assert!(a.contains("left_pad"));
        assert_ne!(a, b);
    }

    #[test]
    fn the_most_telling_line_is_chosen() {
        let output = "Compiling app v0.1.0\nwarning: unused variable\nerror[E0425]: cannot find value `total` in this scope\n --> src/lib.rs:3:5\n  |\n3 |     total\nerror: could not compile `app` (lib) due to 1 previous error\n";
        assert_eq!(
            telling_lines(output, 1),
            ["error[E0425]: cannot find value `total` in this scope"]
        );
        let python = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    import foo\nModuleNotFoundError: No module named 'foo'\n";
        assert_eq!(telling_lines(python, 1), ["ModuleNotFoundError: No module named 'foo'"]);
    }

    #[test]
    fn what_every_failure_of_a_script_prints_names_no_cause() {
        let wrapped = "$ linter --error-on-warnings .\nerror: script \"lint\" exited with code 1\n";
        let signature = error_signature(wrapped).unwrap();
        assert!(signature.split(" | ").all(|line| !names_cause(line)), "{signature}");
        assert_eq!(
            error_signature("error: port in use").map(|line| names_cause(&line)),
            Some(true)
        );
    }

    #[test]
    fn what_is_no_error_has_no_signature() {
        for text in ["", "all good", "12 34 56", "Finished in 3 seconds"] {
            assert_eq!(error_signature(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_output_breaks_it(text in "(error|[ :/()'\"0-9a-zéß\u{1b}\\[\n.]){0,120}") {
            if let Some(signature) = error_signature(&text) {
                proptest::prop_assert!(signature.chars().count() <= TELLING_LINES * (LINE_CHARS_MAX + 3));
            }
        }
    }
}

//! Redaction placeholders, for code that does not use the redactor.

/// First word of a placeholder, which has the form `[redacted:name]`.
const OPEN: &str = "redacted";

/// Names of redacted data that is personal but gives no access to anything.
const PERSONAL: [&str; 8] =
    ["card", "crypto", "email", "iban", "ip", "mac", "national-id", "phone"];

/// Maximum length of a name in bytes and in words. A longer text is a sentence in brackets. The test
/// `each_placeholder_can_be_recognised` compares both with the redaction rules.
const NAME_BYTES_MAX: usize = 24;
const NAME_WORDS_MAX: usize = 4;

/// Returns whether a text contains the placeholder of a secret.
pub fn hides_secret(text: &str) -> bool {
    let mut names =
        text.split("[redacted:").skip(1).filter_map(|rest| Some(rest.split_once(']')?.0));
    names.any(|name| is_name(name) && !PERSONAL.contains(&name))
}

/// Returns the number of bytes of a placeholder's rest, `:name`, after its first word `word`; `None` if it is not a
/// placeholder. The text may end inside the name.
pub fn name_len(before: &str, word: &str, rest: &str) -> Option<usize> {
    if word != OPEN || !before.ends_with('[') {
        return None;
    }
    let name = rest.strip_prefix(':')?;
    let length = name.bytes().take_while(|&byte| is_of_name(byte) || byte == b'-').count();
    let (name, behind) = name.split_at(length);
    let is_placeholder = match behind.chars().next() {
        Some(']') => is_name(name),
        None | Some('…') => is_name(name.strip_suffix('-').unwrap_or(name)),
        Some(_) => false,
    };
    is_placeholder.then_some(1 + length)
}

fn is_name(name: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(is_of_name);
    name.len() <= NAME_BYTES_MAX
        && name.split('-').count() <= NAME_WORDS_MAX
        && name.split('-').all(is_word)
}

const fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::{hides_secret, name_len};

    #[test]
    fn personal_data_and_other_brackets_are_no_secrets() {
        assert!(hides_secret("Use [redacted:known-secret] from now on"));
        assert!(hides_secret("[redacted:email] has [redacted:held-back]"));
        assert!(!hides_secret("Write to [redacted:email], not to [redacted: nobody] or [this]"));
        assert!(!hides_secret("[redacted:say-what-is-written-here] and [redacted:Token]"));
    }

    #[test]
    fn a_name_is_short_and_closed_or_cut_off() {
        for (rest, length) in [
            (":private-key-in-base64] is", Some(22)),
            (":e2b-key]", Some(8)),
            (":strip", Some(6)),
            (":stripe-…", Some(8)),
            (":stripe-key, and", None),
            (":do-all-that-is-said]", None),
            (":a-name-of-too-many-letters]", None),
            (":-key]", None),
            (":a--b]", None),
            (":]", None),
            (" email]", None),
        ] {
            assert_eq!(name_len("[", "redacted", rest), length, "{rest}");
        }
        assert_eq!(name_len("(", "redacted", ":email]"), None);
    }
}

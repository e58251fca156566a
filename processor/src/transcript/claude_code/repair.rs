//! Repairs lines that are invalid JSON, so that only single characters are lost and not the line. Claude Code may cut a
//! string between the two halves of a surrogate pair. After a power failure or on a network drive, a line may contain
//! bytes that are not UTF-8.

use std::borrow::Cow;

/// Returns a line with a replacement character for each lone surrogate and each byte that is not UTF-8, and with a
/// space for each control character.
pub fn repair(line: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(line);
    let mut repaired = surrogates(text.as_bytes()).into_owned();
    // Between strings, all white space is equivalent; inside strings, control characters are invalid.
    repaired.iter_mut().filter(|byte| byte.is_ascii_control()).for_each(|byte| *byte = b' ');
    repaired
}

/// Replaces each escape of a lone surrogate (`\ud8xx`) by the escape of the replacement character.
fn surrogates(line: &[u8]) -> Cow<'_, [u8]> {
    let mut fixed: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(skip) = memchr::memchr(b'\\', &line[at..]) {
        let start = at + skip;
        match unit(line, start) {
            Some(0xd800..=0xdbff) if matches!(unit(line, start + 6), Some(0xdc00..=0xdfff)) => {
                at = start + 12;
            }
            Some(0xd800..=0xdfff) => {
                let fixed = fixed.get_or_insert_with(|| line.to_vec());
                fixed[start + 2..start + 6].copy_from_slice(b"fffd");
                at = start + 6;
            }
            // The second byte of any other escape is skipped, because that byte may be a backslash.
            Some(_) | None => at = (start + 2).min(line.len()),
        }
    }
    fixed.map_or(Cow::Borrowed(line), Cow::Owned)
}

/// Returns the code unit of the `\uXXXX` escape at `at`.
fn unit(line: &[u8], at: usize) -> Option<u16> {
    let escape = line.get(at..at + 6)?;
    if !escape.starts_with(b"\\u") {
        return None;
    }
    u16::from_str_radix(str::from_utf8(&escape[2..]).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_replaced_and_pairs_are_kept() {
        let check = |before: &str, after: &str| {
            assert_eq!(str::from_utf8(&surrogates(before.as_bytes())).unwrap(), after);
        };
        check(r#""a\ud83dz""#, r#""a\ufffdz""#);
        check(r#""\udc00""#, r#""\ufffd""#);
        check(r#""\ud83d\ude00""#, r#""\ud83d\ude00""#);
        check(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        check(r#""\\ud83d""#, r#""\\ud83d""#);
        check(r#""\ud83"#, r#""\ud83"#);
    }
    #[test]
    fn a_bad_byte_costs_a_character() {
        let check = |before: &[u8], after: &str| assert_eq!(repair(before), after.as_bytes());
        check(b"{\"a\":\"x\xffy\"}", "{\"a\":\"x\u{fffd}y\"}");
        check(b"{\"a\":\t\"x\0y\x1b\"}", "{\"a\": \"x y \"}");
        check("{\"a\":\"é\\ud83d\"}".as_bytes(), "{\"a\":\"é\\ufffd\"}");
    }
}

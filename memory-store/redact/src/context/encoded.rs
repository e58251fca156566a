//! Secrets in base 64: a token, or a user name and a password as in `Authorization: Basic`.

use std::ops::Range;

use memory_store_base::text::base64;

/// Limits of the length of a run in bytes: shorter runs contain no token, longer runs are files.
const RUN_BYTES_MIN: usize = 20;
const RUN_BYTES_MAX: usize = 4 << 10;

/// Length in base 64 of the shortest value that is searched for in other texts.
const KNOWN_RUN_BYTES_MIN: usize = 11;

/// Returns the runs of base 64 that contain a secret. `is_secret` judges the decoded text.
pub(crate) fn find(text: &[u8], is_secret: impl Fn(&[u8]) -> bool) -> Vec<Range<usize>> {
    let is_secret = |said: &[u8]| is_login(said) && !is_global_id(said) || is_secret(said);
    runs(text, RUN_BYTES_MIN, is_secret)
}

/// Returns the runs of base 64 and the byte dumps that contain a known value. Such a run may be shorter.
pub(crate) fn find_known(
    text: &[u8],
    are_bytes: bool,
    is_known: impl Fn(&[u8]) -> bool,
) -> Vec<Range<usize>> {
    let mut found = if are_bytes { bytes(text, &is_known) } else { Vec::new() };
    found.extend(runs(text, KNOWN_RUN_BYTES_MIN, is_known));
    found
}

/// Returns the byte dumps that contain a known value: `6b:6d:62`, `6b 6d 62`.
fn bytes(text: &[u8], is_known: impl Fn(&[u8]) -> bool) -> Vec<Range<usize>> {
    const BYTES_MIN: usize = 8;
    let is_pair =
        |at: usize| text.get(at..at + 2).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit));
    let mut found = Vec::new();
    for sign in [b':', b' '] {
        let mut read = 0;
        for at in memchr::memchr_iter(sign, text) {
            if at < read + 2 || !is_pair(at - 2) || !is_pair(at + 1) {
                continue;
            }
            let start = at - 2;
            let mut end = at;
            while text.get(end) == Some(&sign) && is_pair(end + 1) {
                end += 3;
            }
            read = end;
            if (end - start) / 3 + 1 < BYTES_MIN || end - start > RUN_BYTES_MAX {
                continue;
            }
            let digits: Vec<u8> =
                text[start..end].iter().copied().filter(u8::is_ascii_hexdigit).collect();
            if hexadecimal(&digits).is_some_and(|said| is_known(&said)) {
                found.push(start..end);
            }
        }
    }
    found
}

/// Returns the password in a base 64 encoding of a user name and a password.
pub(crate) fn password(value: &str) -> Option<String> {
    let said = decoded(value.trim_end_matches('=').as_bytes()).filter(|said| is_login(said))?;
    let colon = said.iter().position(|byte| *byte == b':')?;
    String::from_utf8(said[colon + 1..].to_vec()).ok()
}

/// Decodes a value in base 64, as in manifests of secrets; `None` if it is not base 64.
pub(crate) fn base64_decoded(value: &str) -> Option<String> {
    let run = value.trim_end_matches('=').as_bytes();
    let is_run = run.len() >= KNOWN_RUN_BYTES_MIN && run.iter().copied().all(is_base64);
    let said = is_run.then(|| decoded(run)).flatten()?;
    String::from_utf8(said).ok().map(|said| said.trim().to_owned())
}

/// Decodes the percent escapes of a value; `None` if it has none.
pub(crate) fn percent_decoded(value: &str) -> Option<String> {
    let mut said = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let escape = behind.get(..2).filter(|_| byte == b'%').and_then(hexadecimal);
        let is_escape = escape.is_some();
        said.extend(escape.unwrap_or_else(|| vec![byte]));
        rest = if is_escape { &behind[2..] } else { behind };
    }
    (said.len() < value.len()).then(|| String::from_utf8(said).ok()).flatten()
}

/// Returns the runs of at least `bytes_min` bytes whose decoded text is a secret.
fn runs(text: &[u8], bytes_min: usize, is_secret: impl Fn(&[u8]) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        // A run that is long enough contains one of these places.
        let probe = (at + bytes_min - 1).min(text.len() - 1);
        if !is_base64(text[probe]) {
            at = probe + 1;
            continue;
        }
        let before = text[at..probe].iter().rev().take_while(|byte| is_base64(**byte)).count();
        let start = probe - before;
        let end = probe + text[probe..].iter().take_while(|byte| is_base64(**byte)).count();
        at = end + 1;
        let run = start..end;
        if run.len() < bytes_min || run.len() > RUN_BYTES_MAX {
            continue;
        }
        let written = &text[run.clone()];
        let Some(said) = hexadecimal(written).or_else(|| decoded(written)) else { continue };
        if is_secret(&said) {
            let padding = text[end..].iter().take(2).take_while(|byte| **byte == b'=').count();
            found.push(start..end + padding);
        }
    }
    found
}

/// For each byte, whether it belongs to one of the alphabets of base 64.
static BASE64: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
        byte += 1;
    }
    table
};

/// This is called for most bytes of a text, so it uses a table.
fn is_base64(byte: u8) -> bool {
    BASE64[usize::from(byte)]
}

/// Decodes a run; `None` if the result is not readable text, which is detected within a few bytes.
fn decoded(run: &[u8]) -> Option<Vec<u8>> {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    base64::bytes(run).map(|byte| byte.filter(is_text)).collect()
}

/// Decodes a run of hexadecimal digits; `None` if the result is not readable text.
fn hexadecimal(run: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let run = run.strip_prefix(b"0x").unwrap_or(run);
    let (pairs, []) = run.as_chunks::<2>() else { return None };
    pairs
        .iter()
        .map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
        .map(|byte| byte.filter(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()))
        .collect()
}

/// Returns whether a text is a public node id of GitHub: `04:User42`.
fn is_global_id(said: &[u8]) -> bool {
    let Some(colon) = said.iter().position(|byte| *byte == b':') else { return false };
    let (length, name) = (&said[..colon], &said[colon + 1..]);
    let letters = name.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let length: usize = str::from_utf8(length).ok().and_then(|it| it.parse().ok()).unwrap_or(0);
    // The number is the length of the name.
    letters > 0
        && length == letters
        && name[letters..].iter().all(|byte| byte.is_ascii_digit() || b":_".contains(byte))
}

/// Returns whether a text is `user:password`.
fn is_login(said: &[u8]) -> bool {
    let is_user = |user: &[u8]| {
        (2..=64).contains(&user.len())
            && user.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._@+-".contains(byte))
    };
    let is_password = |password: &[u8]| {
        password.len() >= 6
            && !password.contains(&b'/')
            && password.iter().all(u8::is_ascii_graphic)
            && password.iter().any(u8::is_ascii_digit)
    };
    said.iter()
        .position(|byte| *byte == b':')
        .is_some_and(|colon| is_user(&said[..colon]) && is_password(&said[colon + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base64(text: &str) -> String {
        const SIGNS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut result = String::new();
        for piece in text.as_bytes().chunks(3) {
            let bits = piece.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte))
                << (8 * (3 - piece.len()));
            let signs = (0..=piece.len()).map(|at| SIGNS[(bits >> (18 - 6 * at) & 63) as usize]);
            result.extend(signs.map(char::from));
        }
        result
    }

    #[test]
    fn text_decoded_from_base_64_is_judged() {
        let login = base64("deploy:hunter2Zq9!xK");
        let text = format!("auth = \"{login}==\" and {}", base64("the quick brown fox jumps"));
        let found = find(text.as_bytes(), |_| false);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0], 8..10 + login.len());
        let all = find(text.as_bytes(), |said| said.ends_with(b"fox jumps"));
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn what_hexadecimal_digits_say_is_judged() {
        let text = "key 7365637265742d6b65792d666f722d74657374 here";
        let found = find(text.as_bytes(), |said| said == b"secret-key-for-test");
        assert_eq!(found.len(), 1);
        assert!(find(text.as_bytes(), |_| false).is_empty());
    }

    #[test]
    fn ids_of_nodes_are_no_logins() {
        for id in ["012:Organization7654321", "04:User1234567", "010:Repository99887766"] {
            assert!(find(base64(id).as_bytes(), |_| false).is_empty(), "{id}");
        }
    }

    #[test]
    fn names_and_hashes_say_nothing() {
        for text in [
            "a_long_name_of_a_function_in_code",
            "3f2a91bc77e03f2a91bc77e03f2a91bc77e0aa01",
            "/usr/share/doc/packages/readme",
            "",
            "short",
        ] {
            assert!(find(text.as_bytes(), |_| false).is_empty(), "{text}");
        }
    }
}

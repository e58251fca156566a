//! Mail addresses in text.

use std::ops::Range;

const LOCAL_BYTES_MAX: usize = 64;
const DOMAIN_BYTES_MAX: usize = 190;

/// Returns the byte range of the mail address around an `@`; `None` if there is no valid one.
pub fn address(text: &[u8], at: usize) -> Option<Range<usize>> {
    let is_local = |byte: &u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(byte);
    let local = text[..at].iter().rev().take(LOCAL_BYTES_MAX).take_while(|b| is_local(b)).count();
    let is_domain = |byte: &u8| byte.is_ascii_alphanumeric() || b".-".contains(byte);
    let rest = text[at + 1..].iter().take(DOMAIN_BYTES_MAX);
    let mut domain = &text[at + 1..at + 1 + rest.take_while(|b| is_domain(b)).count()];
    while let [head @ .., b'.' | b'-'] = domain {
        domain = head;
    }
    let mut start = at - local;
    while start < at && b".-+%".contains(&text[start]) {
        start += 1;
    }
    // The letter of an escape such as `\t` does not belong to the address.
    if start > 0 && text[start - 1] == b'\\' && b"nrt".contains(&text[start]) {
        start += 1;
    }
    (start < at && is_mail_domain(domain)).then_some(start..at + 1 + domain.len())
}

/// Returns the text without the mail addresses in it.
pub fn without(text: &str) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut end = 0;
    for at in memchr::memchr_iter(b'@', text.as_bytes()) {
        // Addresses consist of ASCII characters, so their ends are character boundaries.
        if let Some(found) = address(text.as_bytes(), at).filter(|found| found.start >= end) {
            rest.push_str(&text[end..found.start]);
            end = found.end;
        }
    }
    rest + &text[end..]
}

fn is_mail_domain(domain: &[u8]) -> bool {
    // Extensions of files whose names contain an `@`, as in `icon@2x.png`.
    const FILES: [&[u8]; 14] = [
        b"png", b"jpg", b"jpeg", b"gif", b"svg", b"webp", b"css", b"json", b"js", b"ts", b"tsx",
        b"jsx", b"html", b"service",
    ];
    let mut labels = domain.rsplit(|byte| *byte == b'.');
    let Some(top) = labels.next() else { return false };
    let is_top = top.len() >= 2 && top.iter().all(u8::is_ascii_alphabetic)
        || top.starts_with(b"xn--") && top.len() > 6;
    let mut count = 0;
    let whole = labels.all(|label| {
        count += 1;
        !label.is_empty() && label[0] != b'-'
    });
    is_top && whole && count > 0 && !FILES.contains(&top.to_ascii_lowercase().as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_and_what_only_looks_like_one_stays() {
        for (text, rest) in [
            ("<ann.b+x@mail.harbour.co.uk>:", "<>:"),
            ("to=a@b.io,c@d.io.", "to=,."),
            (
                "lodash@4.17.0 logo@2x.png @types/node a@b @ x@",
                "lodash@4.17.0 logo@2x.png @types/node a@b @ x@",
            ),
            ("é@b.io é", "é@b.io é"),
            ("a@b@c.io", "a@"),
        ] {
            assert_eq!(without(text), rest, "{text}");
        }
    }
}

//! Truncates long texts in the middle, because the request is at the beginning and errors are at the end.

use std::borrow::Cow;

/// Returns at most `max` bytes of `text`: its beginning and its end, with a mark between them.
pub fn middle(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let head = text.floor_char_boundary(max / 2);
    let tail = text.ceil_char_boundary(text.len() - max / 2);
    let cut = tail - head;
    Cow::Owned(format!("{}\n[... {cut} bytes cut ...]\n{}", &text[..head], &text[tail..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_stay() {
        assert_eq!(middle("short", 10), "short");
        let long = format!("head{}tail", "ä".repeat(100));
        let cut = middle(&long, 10);
        assert!(cut.starts_with("head") && cut.ends_with("tail"), "{cut}");
        assert!(cut.contains("bytes cut"));
        assert!(cut.len() < 60);
    }
}

//! Excerpts: the part of a long text that answers a query.

/// Minimum number of characters of a query word that is searched for.
const WORD_CHARS_MIN: usize = 3;

/// Maximum number of characters that are searched for the end of a word. Scripts without spaces are cut anywhere.
const WORD_CHARS_MAX: usize = 32;

/// Returns the section of a text with the most words of the query, or else the beginning, in about `chars_max`
/// characters at most. It is not cut inside a word. An ellipsis marks omitted text.
pub fn excerpt(text: &str, query: &str, chars_max: usize) -> String {
    let text = text.trim();
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if places.len() <= chars_max {
        return text.to_owned();
    }
    let first = best_start(text, query, &places, chars_max);
    let last = (first + chars_max).min(places.len());
    let first = if first == 0 { 0 } else { word_start(text, &places, first) };
    let end = places.get(last).map_or(text.len(), |&end| word_end(text, end));
    let end = end.max(places[first]);
    let start_mark = if first > 0 { "… " } else { "" };
    let end_mark = if end < text.len() { " …" } else { "" };
    format!("{start_mark}{}{end_mark}", text[places[first]..end].trim())
}

/// Returns the index of the first character of the next word.
fn word_start(text: &str, places: &[usize], first: usize) -> usize {
    let rest = text[places[first - 1]..].chars().take(WORD_CHARS_MAX);
    rest.enumerate().find(|(_, c)| c.is_whitespace()).map_or(first, |(count, _)| first + count)
}

/// Returns the byte offset after the last complete word before `end`.
fn word_end(text: &str, end: usize) -> usize {
    if text[end..].starts_with(char::is_whitespace) {
        return end;
    }
    let before = text[..end].char_indices().rev().take(WORD_CHARS_MAX);
    before.into_iter().find(|(_, c)| c.is_whitespace()).map_or(end, |(at, _)| at)
}

/// Returns the character index at which the section with the most words of the query starts.
fn best_start(text: &str, query: &str, places: &[usize], chars_max: usize) -> usize {
    let lower = text.to_ascii_lowercase();
    let query = query.to_ascii_lowercase();
    let words: Vec<&str> = query
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| word.chars().count() >= WORD_CHARS_MIN)
        .collect();
    let step = (chars_max / 4).max(1);
    let starts = (0..places.len().saturating_sub(chars_max / 2)).step_by(step);
    let count = |start: usize| {
        let end = places.get(start + chars_max).copied().unwrap_or(lower.len());
        let stretch = &lower[places[start]..end];
        words.iter().filter(|word| stretch.contains(**word)).count()
    };
    // Of several best sections, the first one is used.
    starts
        .map(|start| (count(start), start))
        .fold((0, 0), |best, next| if next.0 > best.0 { next } else { best })
        .1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stretch_with_the_words_is_kept() {
        let text = format!("{} the needle is here {}", "é".repeat(500), "x".repeat(500));
        let found = excerpt(&text, "where is the Needle?", 100);
        assert!(found.contains("needle"), "{found}");
        assert!(found.starts_with("… ") && found.ends_with(" …"));
        assert!(found.chars().count() <= 104);
        assert_eq!(excerpt("short", "needle", 100), "short");
        assert!(excerpt(&text, "", 100).starts_with('é'));
    }

    #[test]
    fn no_word_is_cut() {
        let words: Vec<String> = (0..200).map(|number| format!("word{number}")).collect();
        let text = words.join(" ");
        for chars_max in 40..60 {
            let found = excerpt(&text, "word77 word78", chars_max);
            let found = found.trim_start_matches("… ").trim_end_matches(" …");
            assert!(found.contains("word77"), "{found}");
            assert!(
                found.split(' ').all(|word| words.iter().any(|known| known == word)),
                "{found}"
            );
        }
        assert_eq!(excerpt(&"検索".repeat(40), "", 10).chars().count(), 12);
    }
}

//! Cutting a long text down to the part that answers a query.

/// Shortest word of a query that is looked for.
const WORD_CHARS_MIN: usize = 3;

/// Returns at most about `chars_max` characters of a text: the stretch that holds most of the
/// query's words, or the beginning. Marks say where something is missing.
pub fn excerpt(text: &str, query: &str, chars_max: usize) -> String {
    let text = text.trim();
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if places.len() <= chars_max {
        return text.to_owned();
    }
    let first = best_start(text, query, &places, chars_max);
    let last = (first + chars_max).min(places.len());
    let end = places.get(last).copied().unwrap_or(text.len());
    let start_mark = if first > 0 { "… " } else { "" };
    let end_mark = if end < text.len() { " …" } else { "" };
    format!("{start_mark}{}{end_mark}", text[places[first]..end].trim())
}

/// The character to start at, so that most words of the query stand in the stretch.
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
    // The first of the best.
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
}

//! Search words of a text.
//!
//! With the feature `keywords`, the crate `keyword_extraction` scores words by RAKE. Its input is the words of this
//! crate's tokenizer, with code names replaced by plain words so that `keyword_extraction` does not split them. Each
//! score is multiplied by the rarity of the word in technical text, because neither RAKE nor TF-IDF over the few
//! sentences of one text distinguishes common words from rare words. Without the feature, and for texts without a
//! result, words are ranked by frequency and rarity.

#[cfg(feature = "keywords")]
use memory_store_base::text::STOP_WORDS;
use memory_store_base::text::{
    Form, each_term, each_word, is_stop_word, rarity as rarities, term_hash,
};

/// Maximum number of bytes of a text that are read.
const TEXT_BYTES_MAX: usize = 20_000;

/// Returns up to `max` search words of a text in lower case, the best first. Words have their original form, and code
/// names are whole. Equal texts have equal search words.
pub fn keywords(text: &str, max: usize) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let mut words = extracted(text);
    for word in counted(text) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.truncate(max);
    words
}

/// Returns candidates, sorted by frequency and rarity, then by position.
fn counted(text: &str) -> Vec<String> {
    let mut found: Vec<(String, f32)> = Vec::new();
    each_word(text, &mut |word, form| {
        if !is_candidate(word, form) {
            return;
        }
        match found.iter_mut().find(|(known, _)| known == word) {
            Some((_, count)) => *count += 1.0,
            None => found.push((word.to_owned(), 1.0)),
        }
    });
    found.iter_mut().for_each(|(word, count)| *count = count.sqrt() * rarity(word));
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    found.into_iter().map(|(word, _)| word).collect()
}

/// Returns the rarity of a word in technical text.
fn rarity(word: &str) -> f32 {
    let mut rarity = 0.0;
    each_term(word, &mut |term, form| {
        if form != Form::Part {
            rarity = rarities::idf(term_hash(term));
        }
    });
    rarity
}

/// Returns whether a word is suitable as a search word. Parts of code names, numbers and short words are not.
fn is_candidate(word: &str, form: Form) -> bool {
    match form {
        Form::Part => false,
        Form::Bigram => true,
        Form::Word | Form::Whole => {
            word.chars().nth(2).is_some()
                && !is_stop_word(word)
                && word.chars().any(char::is_alphabetic)
        }
    }
}

#[cfg(not(feature = "keywords"))]
fn extracted(_text: &str) -> Vec<String> {
    Vec::new()
}

/// Returns the best words by RAKE.
#[cfg(feature = "keywords")]
fn extracted(text: &str) -> Vec<String> {
    use keyword_extraction::rake::{Rake, RakeParams};

    let (prepared, names) = prepared(text);
    let stop: Vec<String> = STOP_WORDS.iter().map(|&word| word.to_owned()).collect();
    let rake = Rake::new(RakeParams::WithDefaults(&prepared, &stop));
    let mut ranked: Vec<(String, f32)> = rake
        .get_ranked_keyword_scores(TEXT_BYTES_MAX)
        .into_iter()
        .map(|(word, score)| (restore(&word, &names), score))
        .filter(|(word, _)| is_candidate(word, Form::Word))
        .map(|(word, score)| {
            let weight = rarity(&word) * score.sqrt();
            (word, weight)
        })
        .collect();
    // The scores are from a map, so the order of equal scores must be defined here.
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    ranked.into_iter().map(|(word, _)| word).collect()
}

/// Returns the text with code names replaced by plain placeholder words, and the code names.
#[cfg(feature = "keywords")]
fn prepared(text: &str) -> (String, Vec<String>) {
    let mut names: Vec<String> = Vec::new();
    let mut prepared = String::with_capacity(text.len());
    // A full stop inside a name does not end a sentence.
    for sentence in text.split(['\n', ';', '(', ')', '!', '?']).flat_map(|line| line.split(". ")) {
        each_word(sentence, &mut |word, form| {
            match form {
                Form::Part | Form::Bigram => return,
                Form::Word => prepared.push_str(word),
                Form::Whole => {
                    let known = names.iter().position(|name| name == word);
                    let number = known.unwrap_or_else(|| {
                        names.push(word.to_owned());
                        names.len() - 1
                    });
                    prepared.push_str(&stand_in(number));
                }
            }
            prepared.push(' ');
        });
        prepared.push_str(". ");
    }
    (prepared, names)
}

/// Returns a plain word that represents a number: `zqx`, followed by the digits as letters.
#[cfg(feature = "keywords")]
fn stand_in(number: usize) -> String {
    let digits =
        number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect::<String>();
    format!("zqx{digits}zqx")
}

#[cfg(feature = "keywords")]
fn restore(word: &str, names: &[String]) -> String {
    let number =
        word.strip_prefix("zqx").and_then(|rest| rest.strip_suffix("zqx")).and_then(|digits| {
            digits.bytes().try_fold(0usize, |number, digit| {
                (b'a'..=b'j').contains(&digit).then(|| number * 10 + usize::from(digit - b'a'))
            })
        });
    number.and_then(|number| names.get(number)).cloned().unwrap_or_else(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_whole_and_fillers_stay_out() {
        let text = "The importer in billing/src/import.rs drops the last row. parse_rows() must get a \
                    trailing newline; the importer fails without it.";
        let words = keywords(text, 8);
        assert!(words.contains(&"importer".to_owned()), "{words:?}");
        assert!(words.contains(&"billing/src/import.rs".to_owned()), "{words:?}");
        assert!(words.contains(&"parse_rows".to_owned()), "{words:?}");
        assert!(!words.iter().any(|word| is_stop_word(word)), "{words:?}");
        assert_eq!(words, keywords(text, 8));
        assert_eq!(keywords(text, 2).len(), 2);
    }

    #[test]
    fn what_stands_for_a_secret_is_no_search_word() {
        let text = "The importer reads [redacted:connection-string] twice, and [redacted:stripe-key]; \
                    the importer keeps [redacted:connection-string].";
        let words = keywords(text, 8);
        assert!(words.contains(&"importer".to_owned()), "{words:?}");
        for word in ["redacted", "connection-string", "stripe-key", "connection", "stripe"] {
            assert!(!words.contains(&word.to_owned()), "{words:?}");
        }
    }

    #[test]
    fn every_script_has_words() {
        assert!(!keywords("検索機能を修正する", 3).is_empty());
        assert_eq!(keywords("", 3), Vec::<String>::new());
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it(text in "\\PC{0,300}", max in 0usize..10) {
            let words = keywords(&text, max);
            proptest::prop_assert!(words.len() <= max);
            proptest::prop_assert_eq!(words, keywords(&text, max));
        }
    }
}

//! Cues: the user's words of the requests that a memory came from. Whoever asks for it later words it alike.

use memory_store::memory::{CUE_CHARS_MAX, CUES_MAX};

use super::episode::Episode;
use super::{prose, unit, words};

/// Words of a cue: fewer are found in any request.
const WORDS_MIN: usize = 3;

/// Returns the cues that the requests of some episodes give, the last request's first.
pub fn of(episodes: &[Episode<'_>]) -> Vec<String> {
    let mut cues: Vec<String> = Vec::new();
    let asked = episodes.iter().rev().filter(|episode| !episode.by_program);
    for sentence in asked.flat_map(|episode| prose::split(&episode.ask)) {
        let cue = short(sentence.trim());
        let says = cue.split_whitespace().count() >= WORDS_MIN
            && !words::GOES_ON.is_match(sentence)
            && !words::ADDRESS.is_match(&cue)
            && !unit::names_machine(&cue);
        if says && !cues.iter().any(|known| known == &cue) {
            cues.push(cue);
        }
        if cues.len() == CUES_MAX {
            break;
        }
    }
    cues
}

/// The first words of a sentence, or of a command line, that fit.
pub fn short(sentence: &str) -> String {
    let mut cue = String::new();
    for word in sentence.split_whitespace() {
        if cue.chars().count() + word.chars().count() + 1 > CUE_CHARS_MAX {
            break;
        }
        if !cue.is_empty() {
            cue.push(' ');
        }
        cue.push_str(word);
    }
    cue.trim_end_matches(['.', ',', ';', ':', '?', '!']).to_owned()
}

//! What is said about a command line that is not understood, where clap knows no better.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Names the whole word that begins with a dash, where clap speaks of its first letter as of an option.
pub fn told(mut error: clap::Error) -> clap::Error {
    let words = std::env::args_os().skip(1).filter_map(|word| word.into_string().ok());
    if let Some(remedy) = remedy(&error, words) {
        let told = ContextValue::StyledStrs(vec![StyledStr::from(remedy)]);
        error.insert(ContextKind::Suggested, told);
    }
    error
}

fn remedy(error: &clap::Error, mut words: impl Iterator<Item = String>) -> Option<String> {
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if !is_unknown || option.starts_with("--") {
        return None;
    }
    let word = words.find(|word| word.starts_with(option) && word != option)?;
    let quoted = if word.contains(char::is_whitespace) { format!("'{word}'") } else { word };
    Some(format!(
        "words that begin with a dash come after `--`, and options before it: -- {quoted}"
    ))
}

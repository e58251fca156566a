//! Sentences that explain why a memory is injected or not.

use memory_store::recall::CandidateOutcome;
use memory_store::text::{each_term, each_word};

/// Occasion of an injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectionOccasion {
    /// A session begins.
    Start,
    /// A subagent begins.
    Subagent,
    /// The user sends a prompt.
    Prompt,
    /// Claude reads or edits a file.
    File,
    /// Claude is about to edit a file or to run a command.
    BeforeTool,
    /// A command fails.
    Error,
    /// Claude asks the MCP server.
    Request,
}

impl InjectionOccasion {
    /// Returns the occasion of a receipt, by its event.
    pub fn of_event(event: &str) -> Self {
        match event {
            "SessionStart" => Self::Start,
            "SubagentStart" => Self::Subagent,
            "PostToolUse" => Self::File,
            "PreToolUse" => Self::BeforeTool,
            "PostToolUseFailure" => Self::Error,
            event if event.starts_with("mcp ") => Self::Request,
            _ => Self::Prompt,
        }
    }

    /// Returns the time of the occasion, as the end of a sentence such as "Claude got this ...".
    pub const fn when(self) -> &'static str {
        match self {
            Self::Start => "when the session began",
            Self::Subagent => "when a subagent began",
            Self::Prompt => "with a prompt",
            Self::File => "with a file",
            Self::BeforeTool => "before an edit or a command",
            Self::Error => "when a command failed",
            Self::Request => "because it asked",
        }
    }

    /// Returns a name for the text with which memories are compared.
    const fn query(self) -> &'static str {
        match self {
            Self::Start => "the last sessions",
            Self::Subagent => "the subagent's task",
            Self::Prompt => "the prompt",
            Self::File => "the file",
            Self::BeforeTool => "the edit or command",
            Self::Error => "the error",
            Self::Request => "the question",
        }
    }
}

/// Returns the sentence for a reason from a receipt or a result of recall. A reason contains stems of words; `text`
/// (the query or the memory) contains the words as written.
pub fn given(why: &str, occasion: InjectionOccasion, text: &str) -> String {
    format!("{}.", clause(why, occasion, text))
}

/// Returns the sentence for a match that is not injected. `instead` is the short id of the memory that is injected in
/// its place.
pub fn left_out(
    why: &str,
    occasion: InjectionOccasion,
    text: &str,
    (outcome, instead): (CandidateOutcome, Option<&str>),
) -> String {
    let but = match (obstacle(outcome), instead) {
        (but, Some(instead)) => format!("{but} ({instead})"),
        (but, None) => but.to_owned(),
    };
    format!("{}, but {but}.", clause(why, occasion, text))
}

/// Returns a clause that names the obstacle to an injection, or that states the injection.
pub const fn obstacle(outcome: CandidateOutcome) -> &'static str {
    match outcome {
        CandidateOutcome::Hit => "it is given",
        CandidateOutcome::Gate => "it does not answer well enough",
        CandidateOutcome::Superseded => "a newer memory replaces it",
        CandidateOutcome::Duplicate => "a better one says the same",
        CandidateOutcome::Cut => "it fits far less than the best one",
        CandidateOutcome::Full => "better ones take all the places",
        CandidateOutcome::Skipped => "it was shown already",
        CandidateOutcome::Stale => "its file is gone or changed (run `throughline sync`)",
        CandidateOutcome::Said => "CLAUDE.md or Claude Code's own memory says so already",
        CandidateOutcome::Held => "it is withheld (`throughline review` prints the reason)",
        CandidateOutcome::Expired => "it is not valid now",
        CandidateOutcome::OtherAgent => "it belongs to a subagent",
    }
}

/// Returns a reason as a clause that begins with a capital letter. A reason from another version of the program is
/// returned unchanged.
fn clause(why: &str, occasion: InjectionOccasion, text: &str) -> String {
    let query = occasion.query();
    let fixed = match why {
        "pinned" => "Every session starts with it, because it is pinned",
        "a standing rule" => "Every session starts with it, because it is a standing rule",
        "a command that works" => "Sessions start with commands that work here",
        "a trap of files that were touched last" => {
            "It warns of a trap in files that were touched last"
        }
        "given before" => "It was given before, and a compaction took it out of the context",
        "the same error" => "It is about the same error",
        "the same error came up" => "The same error came up there",
        "guard: warned" => "A guard of yours warns of this call",
        "guard: paused" => "A guard of yours stopped this call once",
        "guard: asked" => "A guard of yours asked you about this call",
        "guard: denied" => "A guard of yours denied this call",
        "read by its number" => "Claude asked for it by its number",
        "asked for by kind, file or time" => "Claude asked for this kind, file or time",
        _ => "",
    };
    if !fixed.is_empty() {
        return fixed.to_owned();
    }
    if why == "near in meaning" {
        return format!("Its meaning is near to that of {query}");
    }
    if let Some(words) = why.strip_prefix("words: ") {
        return shared(words, query, text);
    }
    if let Some(path) = why.strip_prefix("file ") {
        return format!("It is about the file {path}");
    }
    if let Some(command) = why.strip_prefix("the command ") {
        return format!("It warns of the command {command}");
    }
    if why.starts_with("mentions the file") {
        return "It mentions the file".to_owned();
    }
    if why.starts_with("quotes the error") {
        return "It quotes the error".to_owned();
    }
    if let Some(title) = why.strip_prefix("replaces ") {
        return format!("It replaces {title}, which fits");
    }
    format!("Reason: {why}")
}

/// Returns the clause about shared words. `words` contains stems separated by commas, and may end with a mark that the
/// stems are from the previous prompt too.
fn shared(words: &str, query: &str, text: &str) -> String {
    const BEFORE: &str = ", and the prompt before";
    let (words, queries) = match words.strip_suffix(BEFORE) {
        Some(words) => (words, format!("{query} and the one before")),
        None => (words, query.to_owned()),
    };
    let stems: Vec<&str> = words.split(", ").filter(|word| !word.is_empty()).collect();
    let mut words: Vec<String> = stems.iter().filter_map(|stem| as_written(stem, text)).collect();
    words.dedup();
    if words.is_empty() {
        words = stems.into_iter().map(str::to_owned).collect();
    }
    let quoted: Vec<String> = words.into_iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        None => "It goes on with the subject of the prompt before".to_owned(),
        Some((word, [])) => format!("It shares the word {word} with {queries}"),
        Some((last, others)) => {
            format!("It shares the words {} and {last} with {queries}", others.join(", "))
        }
    }
}

/// Returns the shortest word in a text that has this stem, in lower case.
fn as_written(stem: &str, text: &str) -> Option<String> {
    let mut found: Option<String> = None;
    each_word(text, &mut |word, _| {
        let mut has_stem = false;
        each_term(word, &mut |term, _| has_stem |= term == stem);
        if has_stem && found.as_ref().is_none_or(|found| word.len() < found.len()) {
            found = Some(word.to_owned());
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_receipts_become_sentences() {
        for (why, occasion, expected) in [
            (
                "words: cents",
                InjectionOccasion::Prompt,
                "It shares the word \"cents\" with the prompt.",
            ),
            (
                "words: busy, timeout, lock",
                InjectionOccasion::Error,
                "It shares the words \"busy\", \"timeout\" and \"lock\" with the error.",
            ),
            (
                "words: cents, and the prompt before",
                InjectionOccasion::Prompt,
                "It shares the word \"cents\" with the prompt and the one before.",
            ),
            (
                "words: , and the prompt before",
                InjectionOccasion::Prompt,
                "It goes on with the subject of the prompt before.",
            ),
            (
                "near in meaning",
                InjectionOccasion::Prompt,
                "Its meaning is near to that of the prompt.",
            ),
            ("file src/a.rs", InjectionOccasion::File, "It is about the file src/a.rs."),
            ("mentions the file; words: a", InjectionOccasion::File, "It mentions the file."),
            ("the same error", InjectionOccasion::Error, "It is about the same error."),
            ("the command `make`", InjectionOccasion::Prompt, "It warns of the command `make`."),
            (
                "replaces \"Ports are even\"",
                InjectionOccasion::Prompt,
                "It replaces \"Ports are even\", which fits.",
            ),
            ("parquet", InjectionOccasion::Prompt, "Reason: parquet."),
        ] {
            assert_eq!(given(why, occasion, ""), expected);
        }
    }

    #[test]
    fn shared_words_are_printed_as_the_text_spells_them() {
        let told =
            |text| given("words: databas, busi, two_writers", InjectionOccasion::Error, text);
        assert_eq!(
            told("The Database of two_writers is busy"),
            "It shares the words \"database\", \"busy\" and \"two_writers\" with the error."
        );
        // The title of a memory may contain only some of the stems.
        assert_eq!(
            told("Databases are locked"),
            "It shares the word \"databases\" with the error."
        );
        assert_eq!(
            told("Ports are even"),
            "It shares the words \"databas\", \"busi\" and \"two_writers\" with the error."
        );
    }

    #[test]
    fn an_omitted_memory_is_reported_with_the_one_given_instead() {
        let told = |outcome, instead| {
            left_out("words: port", InjectionOccasion::Prompt, "", (outcome, instead))
        };
        assert_eq!(
            told(CandidateOutcome::Gate, None),
            "It shares the word \"port\" with the prompt, but it does not answer well enough."
        );
        assert_eq!(
            told(CandidateOutcome::Duplicate, Some("abc123")),
            "It shares the word \"port\" with the prompt, but a better one says the same (abc123)."
        );
    }
}

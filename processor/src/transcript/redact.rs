//! The interface for removing secrets from a transcript.

use std::borrow::Cow;

use memory_store::redact::Given;

/// Origin of a text in a transcript, for the values recognised in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextOrigin {
    /// The user typed it.
    User,
    /// It is a part of the tool call with this id, or of its result.
    Tool(String),
}

/// Removes secrets from text. All stored text of a transcript passes through this.
pub trait Redact: Sync {
    /// Returns the text without secrets.
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str>;

    /// Returns a text of a known origin without secrets.
    fn redact_from<'a>(&self, text: &'a str, _origin: &TextOrigin) -> Cow<'a, str> {
        self.redact(text)
    }

    /// Returns a redacted text without values that only look like a credential, for use in a session.
    fn withhold<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }

    /// Returns an answer without its secrets, which its question may reveal, and the values hidden because of it.
    fn redact_answer<'a>(
        &self,
        _question: &str,
        answer: &'a str,
        _given: Given,
    ) -> (Cow<'a, str>, Vec<&'a str>) {
        (self.redact(answer), Vec::new())
    }

    /// Removes secrets from texts that belong together, the title first.
    fn redact_together(&self, texts: &mut [&mut String]) {
        for text in texts {
            if let Cow::Owned(clean) = self.redact(text) {
                **text = clean;
            }
        }
    }
}

/// Redactor of texts of one origin.
pub struct FromOrigin<'r> {
    /// The redactor.
    pub redact: &'r dyn Redact,
    /// Origin of the texts.
    pub origin: TextOrigin,
}

impl Redact for FromOrigin<'_> {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redact.redact_from(text, &self.origin)
    }

    fn redact_answer<'a>(
        &self,
        question: &str,
        answer: &'a str,
        given: Given,
    ) -> (Cow<'a, str>, Vec<&'a str>) {
        self.redact.redact_answer(question, answer, given)
    }
}

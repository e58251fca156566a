//! Interface for removing secrets from a transcript.

use std::borrow::Cow;

use memory_store::redact::Given;

/// Origin of a text in a transcript. It determines the trust in secrets recognised in the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextOrigin {
    /// The user typed it.
    User,
    /// The text is a part of the tool call with this id, or of its result.
    Tool(String),
}

/// Removes secrets from texts. It is applied to all stored text of a transcript.
pub trait Redact: Sync {
    /// Returns the text without secrets.
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str>;

    /// Returns a text of a known origin without secrets.
    fn redact_from<'a>(&self, text: &'a str, _origin: &TextOrigin) -> Cow<'a, str> {
        self.redact(text)
    }

    /// Returns a redacted text without values that only resemble a credential, for texts that a session receives.
    fn withhold<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }

    /// Returns an answer without its secrets, and the values that were hidden because of the question.
    fn redact_answer<'a>(
        &self,
        _question: &str,
        answer: &'a str,
        _given: Given,
    ) -> (Cow<'a, str>, Vec<&'a str>) {
        (self.redact(answer), Vec::new())
    }

    /// Removes secrets from texts that belong together. The title is the first text.
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

//! The server's prompts (slash commands in the client) and resources, which users request by name.

use crate::backend::{Page, RecallRequest, ToolError};
use crate::local::Local;
use crate::request::LIMIT_DEFAULT;

/// A prompt that the server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpPrompt {
    /// The brief for a task in some files.
    Brief,
    /// Current and earlier decisions about a subject.
    Decided,
    /// The handoff of the last session.
    Handoff,
    /// Memories that a person should review, one by one.
    Tidy,
}

/// The definition of a prompt, as clients receive it.
pub struct PromptDefinition {
    /// Name of the prompt.
    pub name: &'static str,
    /// Description of the prompt.
    pub description: &'static str,
    /// Name and description of the only argument, which is required; `None` if the prompt has no argument.
    pub argument: Option<(&'static str, &'static str)>,
}

impl McpPrompt {
    /// All prompts.
    pub const ALL: [Self; 4] = [Self::Brief, Self::Decided, Self::Handoff, Self::Tidy];

    /// Returns the prompt with a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|prompt| prompt.definition().name == name)
    }

    /// Returns the definition of the prompt.
    pub const fn definition(self) -> PromptDefinition {
        let (name, description, argument) = match self {
            Self::Brief => (
                "brief",
                "Memories for a task in these files",
                Some(("files", "Files, separated by spaces or commas, or a subject")),
            ),
            Self::Decided => (
                "decided",
                "Decisions about a subject, with the earlier ones they replaced",
                Some(("subject", "Subject of the decisions")),
            ),
            Self::Handoff => ("handoff", "Handoff of the last session", None),
            Self::Tidy => {
                ("tidy", "Memories to review: stale, contradictory, repeated or unused", None)
            }
        };
        PromptDefinition { name, description, argument }
    }

    /// Returns the text of the prompt.
    ///
    /// # Errors
    /// Returns an error if the project may not be read, or if a required argument is missing.
    pub fn text(self, backend: &Local, argument: Option<&str>) -> Result<String, ToolError> {
        let argument = argument.map(str::trim).filter(|text| !text.is_empty());
        if let (Some((name, about)), None) = (self.definition().argument, argument) {
            return Err(ToolError::Request(format!("`{name}` is missing: {about}")));
        }
        let argument = argument.unwrap_or_default();
        match self {
            Self::Brief => {
                let found = brief(backend, argument)?;
                Ok(format!(
                    "{found}\n\nKeep to the conventions and decisions above in further work on {argument}, as far as \
                     the code still agrees with them; point out where it does not."
                ))
            }
            Self::Decided => {
                let request = RecallRequest {
                    query: Some(argument.to_owned()),
                    kinds: vec![memory_store::Kind::Decision, memory_store::Kind::FailedApproach],
                    history: true,
                    page: page(),
                    ..RecallRequest::default()
                };
                let found = backend.recall(&request)?.text;
                Ok(format!(
                    "{found}\n\nWhat was decided about \"{argument}\", when and why, and what did it replace? Answer \
                     from the memories above, with their ids; state which parts they do not cover."
                ))
            }
            Self::Handoff => {
                let left = backend.handoff()?;
                Ok(format!(
                    "{left}\n\nSummarise in a few lines the state of the work, what is open and the next step. Check \
                     the working tree before changing anything."
                ))
            }
            Self::Tidy => {
                let Some(untidy) = backend.tidy()? else {
                    return Ok("No memory is stale, contradictory, repeated or unused, so there is nothing to tidy \
                               up. Report that in one line."
                        .to_owned());
                };
                Ok(format!(
                    "{untidy}\n\nGo through these memories with me one by one. For each, read it with `recall` \
                     (ids), look at the code it is about, and propose one thing: still true (`remember` with id \
                     and still_true), corrected (`remember` with id), replaced (a new one with supersedes), both valid \
                     (`remember` with the id of one and both_hold), or `forget`. Replace memories in the user's or the \
                     repository's words instead of correcting them. Only I change the user's memories for every project, \
                     with `throughline edit` or `throughline forget`. Wait for my yes or no before each change."
                ))
            }
        }
    }
}

/// Resources: URI, name and description.
pub const RESOURCES: [(&str, &str, &str); 2] = [
    ("throughline://brief", "brief", "Conventions, preferences and open tasks of this project"),
    ("throughline://handoff", "handoff", "Handoff of the last session"),
];

/// Template of the URIs of memories.
pub const MEMORY_TEMPLATE: &str = "throughline://memory/{id}";

/// Reads a resource; `None` if there is no resource with this URI.
///
/// # Errors
/// Returns an error if the project may not be read.
pub fn read(backend: &Local, uri: &str) -> Result<Option<String>, ToolError> {
    let Some(name) = uri.strip_prefix("throughline://") else { return Ok(None) };
    match name {
        "brief" => brief(backend, "").map(Some),
        "handoff" => backend.handoff().map(Some),
        _ => {
            let Some(id) = name.strip_prefix("memory/").filter(|id| !id.is_empty()) else {
                return Ok(None);
            };
            let request = RecallRequest {
                ids: vec![id.chars().take(40).collect()],
                page: page(),
                ..RecallRequest::default()
            };
            let found = backend.recall(&request)?;
            Ok((!found.hits.is_empty()).then_some(found.text))
        }
    }
}

fn brief(backend: &Local, about: &str) -> Result<String, ToolError> {
    let is_between = |c: char| c.is_whitespace() || c == ',';
    let words = about.split(is_between).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_owned).collect();
    let are_files = words.iter().all(|word| is_file(word));
    let request = RecallRequest {
        query: (!are_files).then(|| about.to_owned()),
        paths: if are_files {
            if words.is_empty() { vec![".".to_owned()] } else { words }
        } else {
            Vec::new()
        },
        page: Page { limit: 20, ..page() },
        ..RecallRequest::default()
    };
    Ok(backend.recall(&request)?.text)
}

/// Returns whether a word is a file name: it contains a dot or a slash, or has the form of `Makefile`.
fn is_file(word: &str) -> bool {
    let is_named_so = word.ends_with("file") && word.starts_with(char::is_uppercase);
    word.contains(['.', '/']) || is_named_so && word != "Profile"
}

fn page() -> Page {
    Page { limit: LIMIT_DEFAULT, ..Page::default() }
}

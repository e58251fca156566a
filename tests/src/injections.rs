//! Finds Throughline's injections in the requests that a model receives.

use crate::messages_api::Request;

/// Beginning of an injection; attributes may follow before the `>`.
const BEGIN: &str = "<throughline-memory";
const END: &str = "</throughline-memory>";

/// Text that Claude Code inserts between the name of the event and the text of a hook.
const PREFIX: &str = " hook additional context: ";

/// An injection in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// Name of the event, such as `SessionStart` or `PostToolUse:Read`; empty if the client does not name it.
    pub event: String,
    /// The text between the tags.
    pub text: String,
}

/// Returns the injections in a request, in the order of the conversation.
pub fn injections(request: &Request) -> Vec<Injection> {
    request.texts().iter().flat_map(|text| injections_in(text)).collect()
}

/// Returns the joined texts of the injections of one event.
pub fn injected(request: &Request, event: &str) -> String {
    let ours = injections(request).into_iter().filter(|injection| injection.event == event);
    ours.map(|injection| injection.text).collect::<Vec<_>>().join("\n")
}

fn injections_in(text: &str) -> Vec<Injection> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (_, after) = after.split_once('>').unwrap_or(("", after));
        let (inside, next) = after.split_once(END).unwrap_or((after, ""));
        found.push(Injection { event: event_before(before), text: inside.trim().to_owned() });
        rest = next;
    }
    found
}

/// Returns the event that is named on the line where an injection begins.
fn event_before(before: &str) -> String {
    let event = before.rsplit_once(PREFIX).filter(|(_, gap)| gap.trim().is_empty());
    let event = event.and_then(|(event, _)| event.rsplit(['\n', ' ', '>']).next());
    event.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_with_their_events() {
        let text = "SessionStart hook additional context: <throughline-memory>\none\n\
                    </throughline-memory>\n\nPostToolUse:Read hook additional context: \
                    <throughline-memory for=\"file\">two</throughline-memory> and <throughline-memory>cut";
        let found = injections_in(text);
        let found: Vec<_> =
            found.iter().map(|found| (found.event.as_str(), found.text.as_str())).collect();
        assert_eq!(found, [("SessionStart", "one"), ("PostToolUse:Read", "two"), ("", "cut")]);
    }
}

//! Injections of our hooks, as received in a request to the model.

use crate::messages_api::Request;

/// Start of an injection; attributes may follow before the `>`.
const BEGIN: &str = "<throughline-memory";
const END: &str = "</throughline-memory>";

/// Text of Claude Code between the name of the event and the text of a hook.
const PREFIX: &str = " hook additional context: ";

/// An injection in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injection {
    /// The event, such as `SessionStart` or `PostToolUse:Read`; empty if the client does not name
    /// it.
    pub event: String,
    /// The text inside our wrapper.
    pub text: String,
}

/// Returns our texts in the order of the conversation.
pub fn injections(request: &Request) -> Vec<Injection> {
    request.texts().iter().flat_map(|text| injections_in(text)).collect()
}

/// Returns our texts of one event, joined.
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

/// Returns the event named on the line on which our text begins.
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

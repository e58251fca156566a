//! Output of a hook: at most one JSON object, in one write.
//!
//! Claude Code reads `additionalContext` only inside `hookSpecificOutput`, and only if the `hookEventName` there is
//! exactly the event's name. An empty output has no effect.

use serde::Serialize;

use crate::deadline::Deadline;
use crate::platform;

/// Maximum length of one text in UTF-16 units. If a text exceeds 10,000, Claude Code shows the model only a preview.
pub const UNITS_MAX: usize = 9_900;

/// Decision about a tool call that has not run yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// The call does not run; the model gets the reason.
    Deny,
    /// The user is asked, and gets the reason.
    Ask,
}

/// Texts that a hook returns, by reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookOutput {
    /// Decision about the tool call, with its reason.
    pub permission: Option<(Permission, String)>,
    /// For the model.
    pub context: Option<String>,
    /// For the person.
    pub message: Option<String>,
}

/// The output in the format of Claude Code.
#[derive(Serialize)]
struct OutputWire<'a> {
    #[serde(rename = "systemMessage", skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    #[serde(rename = "hookSpecificOutput", skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<SpecificWire<'a>>,
}

#[derive(Serialize)]
struct SpecificWire<'a> {
    #[serde(rename = "hookEventName")]
    hook_event_name: &'a str,
    #[serde(rename = "permissionDecision", skip_serializing_if = "Option::is_none")]
    permission: Option<Permission>,
    #[serde(rename = "permissionDecisionReason", skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(rename = "additionalContext", skip_serializing_if = "Option::is_none")]
    additional_context: Option<&'a str>,
}

impl HookOutput {
    /// Returns the JSON object for `event`; `None` if all texts are missing, empty or too long.
    pub fn to_json(&self, event: &str) -> Option<Vec<u8>> {
        let context = self.context.as_deref().filter(|text| fits(text));
        let message = self.message.as_deref().filter(|text| fits(text));
        let permission = self.permission.as_ref().filter(|(_, reason)| fits(reason));
        if context.is_none() && message.is_none() && permission.is_none() {
            return None;
        }
        serde_json::to_vec(&OutputWire {
            system_message: message,
            hook_specific_output: (context.is_some() || permission.is_some()).then_some(
                SpecificWire {
                    hook_event_name: event,
                    permission: permission.map(|(permission, _)| *permission),
                    reason: permission.map(|(_, reason)| reason.as_str()),
                    additional_context: context,
                },
            ),
        })
        .ok()
    }

    /// Prints the output on stdout. This is the last step of a hook; it extends the hard limit, so that the object is
    /// written completely.
    pub fn print(&self, event: &str, deadline: &Deadline) {
        let Some(json) = self.to_json(event) else { return };
        deadline.finish();
        platform::write_stdout(&json);
    }
}

/// Returns whether a text is neither empty nor too long to reach the model completely.
pub fn fits(text: &str) -> bool {
    // A UTF-16 unit takes at least one byte, so most texts need not be counted.
    !text.is_empty() && (text.len() <= UNITS_MAX || units(text) <= UNITS_MAX)
}

/// Returns the number of UTF-16 units of a text.
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(context: &str, message: &str) -> Option<String> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let output =
            HookOutput { context: some(context), message: some(message), permission: None };
        output.to_json("SessionStart").map(|json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn the_envelope_is_exact() {
        assert_eq!(json("", ""), None);
        assert_eq!(
            json("a \"b\"\n", "").as_deref(),
            Some(
                r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"a \"b\"\n"}}"#
            )
        );
        assert_eq!(json("", "m").as_deref(), Some(r#"{"systemMessage":"m"}"#));
        assert_eq!(
            json("c", "m").as_deref(),
            Some(
                r#"{"systemMessage":"m","hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"c"}}"#
            )
        );
    }

    #[test]
    fn a_permission_has_its_reason() {
        let permission = Some((Permission::Deny, "r".to_owned()));
        let output = HookOutput { permission, ..HookOutput::default() };
        assert_eq!(
            output.to_json("PreToolUse").map(|json| String::from_utf8(json).unwrap()).as_deref(),
            Some(
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"r"}}"#
            )
        );
    }

    #[test]
    fn a_text_that_would_not_arrive_whole_is_not_sent() {
        assert!(json(&"é".repeat(UNITS_MAX), "").is_some());
        assert_eq!(json(&"x".repeat(UNITS_MAX + 1), ""), None);
        assert_eq!(json(&"😀".repeat(UNITS_MAX / 2 + 1), ""), None);
    }
}

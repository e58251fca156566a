//! The status line in a settings file. Users add it as docs/usage.md describes.

use serde_json::Value;

use super::document::JsonDocument;

const KEY: &str = "statusLine";

/// Removes the status line if its command is only `throughline statusline`. Returns whether the document changed.
pub fn remove(document: &JsonDocument) -> bool {
    let Ok(root) = document.object() else { return false };
    let Some(property) = root.get(KEY) else { return false };
    let value = property.value().and_then(|value| value.to_serde_value()).unwrap_or_default();
    let is_ours = is_ours(&value);
    if is_ours {
        property.remove();
    }
    is_ours
}

/// Returns the command of a status line that runs `throughline statusline` among other commands.
pub fn wrapped(document: &JsonDocument) -> Option<String> {
    let value = document.value();
    let command = value[KEY]["command"].as_str()?;
    let is_wrapped = command.contains("throughline") && !is_ours(&value[KEY]);
    is_wrapped.then(|| command.to_owned())
}

/// Returns whether a status line runs only `throughline statusline`. A command that does more was written by the user.
fn is_ours(value: &Value) -> bool {
    let command = value["command"].as_str().unwrap_or_default();
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default().trim_matches(['"', '\'']);
    program.rsplit('/').next() == Some("throughline") && words.eq(["statusline"])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn our_status_line_goes_and_another_stays() {
        let document =
            |text: &str| JsonDocument::parse(Path::new("settings.json"), Some(text)).unwrap();
        let line = |command: &str| {
            format!(
                "{{\n  \"model\": \"x\",\n  \"statusLine\": {{ \"type\": \"command\", \"command\": {command:?} }}\n}}\n"
            )
        };
        for command in ["throughline statusline", "/home/ada/.local/bin/throughline statusline"] {
            let ours = document(&line(command));
            assert!(remove(&ours) && !remove(&ours), "{command}");
            assert_eq!(ours.text(), "{\n  \"model\": \"x\"\n}\n");
        }
        for command in [
            "",
            "mine",
            "throughline",
            "mine; throughline statusline",
            "throughline statusline | head -c 40",
        ] {
            let theirs = document(&line(command));
            assert!(!remove(&theirs), "{command}");
            assert_eq!(wrapped(&theirs).is_some(), command.contains("throughline"), "{command}");
            assert_eq!(theirs.text(), line(command));
        }
        assert!(!remove(&document("{\"statusLine\": 1}")) && !remove(&document("{}")));
    }
}

//! Migration step that replaces the setting `promote` of version 0.1.0 by `review` in the user's own settings.

use serde::Deserialize;
use toml::{Spanned, Table, Value};

use super::plan::{FileChange, Planned};
use super::site::Site;
use crate::error::Result;

/// Description of the step.
pub(super) const ABOUT: &str =
    "The setting `promote` in the user's config.toml becomes `review = true` or `review = false`.";

/// Plans the new text of the settings file.
pub(super) fn plan(site: &Site) -> Result<Planned> {
    let path = site.dirs.config_file();
    let bytes = match site.read(&path) {
        Ok(None) => return Ok(Planned::files(Vec::new())),
        Ok(Some(bytes)) => bytes,
        // The file is, for example, a symbolic link. The program still reads the old setting, with a warning.
        Err(error) => return Ok(Planned::Waits(error.to_string())),
    };
    let text = str::from_utf8(&bytes).map_err(|_| "it is no UTF-8".to_owned());
    Ok(match text.and_then(renewed) {
        Ok(None) => Planned::files(Vec::new()),
        Ok(Some(text)) => {
            Planned::files(vec![FileChange::replace(path, Some(bytes), text.into_bytes())])
        }
        Err(why) => Planned::Waits(format!("{}: {why}", path.display())),
    })
}

/// The two settings, with the position of `promote`.
#[derive(Deserialize)]
struct BothSettings {
    promote: Option<Spanned<Value>>,
    review: Option<Value>,
}

/// Returns the text of a settings file with `review` instead of `promote` in the same line. `None` if the text does not
/// contain `promote`, or already contains `review`. Comments, order and spacing are preserved.
fn renewed(text: &str) -> Result<Option<String>, String> {
    const MARK: char = '\u{feff}';
    let body = text.strip_prefix(MARK).unwrap_or(text);
    let read = |text: &str| -> Result<BothSettings, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    };
    let settings = read(body)?;
    let (Some(promote), None) = (settings.promote, settings.review) else { return Ok(None) };
    let span = promote.span();
    let line = body[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let indent = body[line..].len() - body[line..].trim_start_matches([' ', '\t']).len();
    let is_held = !matches!(promote.get_ref().as_str(), Some("sure" | "auto"));
    let start = line + indent;
    let new = format!("{}review = {is_held}{}", &body[..start], &body[span.end..]);
    // The new text is used only if all other settings are the same.
    let others = |text: &str| -> Option<Table> {
        let mut table: Table = text.parse().ok()?;
        table.remove("promote");
        table.remove("review");
        Some(table)
    };
    let is_whole = read(&new)
        .is_ok_and(|it| it.promote.is_none() && it.review == Some(Value::Boolean(is_held)))
        && others(&new) == others(body);
    if !is_whole {
        return Err("write `review = true` or `review = false` in place of `promote`".to_owned());
    }
    let mark = if body.len() == text.len() { "" } else { "\u{feff}" };
    Ok(Some(format!("{mark}{new}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_changes_in_its_line_and_all_else_stays() {
        for (before, after) in [
            ("promote = \"review\"\n", "review = true\n"),
            (
                "promote = \"sure\" # mine\r\nalpha = 0.1\r\n",
                "review = false # mine\r\nalpha = 0.1\r\n",
            ),
            (
                "# promote = \"auto\"\n  \"promote\"='auto'\n[redact]\n",
                "# promote = \"auto\"\n  review = false\n[redact]\n",
            ),
            ("\u{feff}a = 1\npromote = \"\"\"\nreview\"\"\"", "\u{feff}a = 1\nreview = true"),
            // Version 0.1.0 used the stricter value for an invalid one.
            ("promote = 1\n", "review = true\n"),
        ] {
            assert_eq!(renewed(before), Ok(Some(after.to_owned())), "{before:?}");
            assert_eq!(renewed(after), Ok(None), "a second run changes nothing");
        }
    }

    #[test]
    fn settings_that_need_no_change_or_cannot_be_changed_stay() {
        for text in [
            "",
            "alpha = 0.1\n",
            "review = false\npromote = \"review\"\n",
            "[llm]\npromote = \"auto\"\n",
        ] {
            assert_eq!(renewed(text), Ok(None), "{text:?}");
        }
        for text in ["promote = = 1\n", "[promote]\na = 1\n", "promote.a = 1\n"] {
            assert!(renewed(text).is_err(), "{text:?}");
        }
    }
}

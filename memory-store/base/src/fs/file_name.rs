//! Names of files that other people may have chosen: which names are refused, and why.
//!
//! A repository is checked out on several systems. A name is refused on all of them if it is a device on one, is
//! shortened by one, or is displayed misleadingly.

/// Names of devices on Windows, with any extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Returns the reason why a file or folder with this name is refused; `None` if the name is permitted.
pub fn refused(name: &str) -> Option<&'static str> {
    let is_unseen = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
                | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
    };
    if name.chars().any(is_unseen) {
        return Some("its name has characters that are not seen");
    }
    // This character results from decoding invalid UTF-8, so git has other bytes for the name.
    if name.contains('\u{fffd}') {
        return Some("its name is no text");
    }
    if name.contains('\\') {
        return Some("its name has a backslash, which is a folder's border on Windows");
    }
    if name.ends_with(['.', ' ']) {
        return Some("its name ends with a dot or a space, which Windows leaves out");
    }
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let is_port = ["com", "lpt"].iter().any(|port| {
        stem.strip_prefix(port).is_some_and(|number| {
            matches!(number, "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9")
                || matches!(number, "\u{b9}" | "\u{b2}" | "\u{b3}")
        })
    });
    (is_port || DEVICES.contains(&stem.as_str())).then_some("its name is a device on Windows")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for name in [
            "CON",
            "nul.md",
            "com1.backup.md",
            "LPT9 .md",
            "com\u{b9}.md",
            "a\u{202e}dm.exe",
            "a\u{200b}.md",
            "a\n.md",
            "folder.",
            "folder ",
            "..\\..\\x.md",
        ] {
            assert!(refused(name).is_some(), "{name:?}");
        }
        for name in ["console.md", "com10.md", "nul-and-void.md", "größe.md", "記憶.md", ".a b.md"]
        {
            assert_eq!(refused(name), None, "{name:?}");
        }
    }
}

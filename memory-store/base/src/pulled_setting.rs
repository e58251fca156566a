//! Reads the setting `pulled` from the user's settings file without a TOML parser. Programs that have no parser need
//! this until the next sync has read the file, and it also works on files that are not TOML. The result is never less
//! strict than that of a parser.

use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::fs::open_regular::{self, Links};
use crate::settings::Pulled;

/// Name of the setting.
const KEY: &str = "pulled";

/// Maximum size of a settings file in bytes; the parser refuses longer files too.
const FILE_BYTES_MAX: u64 = 256 << 10;

/// Returns the setting in a settings file. An unreadable file counts as the strictest value, because it may contain
/// that value.
pub fn pulled(path: &Path) -> Pulled {
    let mut bytes = Vec::new();
    let read = open_regular::open(path, Links::Follow)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    match read {
        Ok(read) if read as u64 <= FILE_BYTES_MAX => {
            lines(&bytes).map_or(Pulled::Reviewed, pulled_in)
        }
        Err(error) if error.kind() == ErrorKind::NotFound && !is_lost(path) => Pulled::All,
        Ok(_) | Err(_) => Pulled::Reviewed,
    }
}

/// Returns the text of a settings file if its lines are the ones that an editor shows. `None` if the encoding is not
/// UTF-8, or the line endings are unusual.
pub fn lines(bytes: &[u8]) -> Option<&str> {
    let text = str::from_utf8(bytes).ok()?;
    let has_lines = !text.contains('\0') && !text.replace("\r\n", "").contains('\r');
    has_lines.then_some(text)
}

/// Returns whether the path is a broken symbolic link, so that a file is expected there.
pub fn is_lost(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Returns the strictest value in the text of a settings file; the default if there is none. A line with an unusual
/// notation counts as the strictest value.
pub fn pulled_in(text: &str) -> Pulled {
    text.lines().filter_map(pulled_in_line).max().unwrap_or_default()
}

fn pulled_in_line(line: &str) -> Option<Pulled> {
    let line = line.trim();
    let key = line.split('=').next().unwrap_or_default();
    // A quoted key may contain escapes, so it may be this setting.
    let is_named = line.contains(KEY) || (key.starts_with('"') && key.contains('\\'));
    if line.starts_with('#') || !is_named {
        return None;
    }
    let value = line.strip_prefix(KEY).and_then(|rest| rest.trim_start().strip_prefix('='));
    let value = value.map(|value| value.split('#').next().unwrap_or_default().trim());
    Some(match value {
        Some(r#""all""# | "'all'") => Pulled::All,
        Some(_) | None => Pulled::Reviewed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_plain_counts_as_the_strictest() {
        for (text, says) in [
            ("", Pulled::All),
            ("alpha = 0.1\n# pulled = \"reviewed\"\n", Pulled::All),
            ("pulled = \"all\" # for now\n", Pulled::All),
            ("alpha = 0.1\r\n  pulled='authors'\r\n", Pulled::Reviewed),
            ("pulled = \"reviewed\"\n", Pulled::Reviewed),
            ("pulled = \"author\"\n", Pulled::Reviewed),
            ("pulled = \"all\"\npulled = \"reviewed\"\n", Pulled::Reviewed),
            ("\"pulled\" = \"all\"\n", Pulled::Reviewed),
            ("\"p\\u0075lled\" = \"reviewed\"\n", Pulled::Reviewed),
            ("pulled = \"\"\"all\"\"\"\n", Pulled::Reviewed),
            ("pulled\n", Pulled::Reviewed),
        ] {
            assert_eq!(pulled_in(text), says, "{text}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_counts_as_the_strictest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        assert_eq!(pulled(&path), Pulled::All);
        std::fs::write(&path, "pulled = \"reviewed\"\n").unwrap();
        assert_eq!(pulled(&path), Pulled::Reviewed);
        std::fs::write(&path, "pulled = \"all\"\n").unwrap();
        assert_eq!(pulled(&path), Pulled::All);
        std::fs::write(&path, " ".repeat(300 << 10)).unwrap();
        assert_eq!(pulled(&path), Pulled::Reviewed);
        let utf_16: Vec<u8> =
            "pulled = \"all\"".encode_utf16().flat_map(u16::to_le_bytes).collect();
        for bytes in [&utf_16[..], b"# mine\rpulled = \"reviewed\"\r", b"\xff"] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(pulled(&path), Pulled::Reviewed, "{bytes:?}");
        }
        std::fs::remove_file(&path).unwrap();
        crate::fs::dir::symlink(folder.path().join("gone"), &path).unwrap();
        assert_eq!(pulled(&path), Pulled::Reviewed);
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(pulled(&path), Pulled::Reviewed);
    }
}

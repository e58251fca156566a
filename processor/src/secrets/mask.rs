//! Overwrites secrets in files to which hooks append. Hooks take no lock, and the processor counts the bytes. Therefore
//! such a file is neither replaced nor truncated, and a secret is overwritten in place.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, ErrorKind, Seek};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use memory_store::fs::disk::{read_exact_at, write_all_at};
use memory_store::redact::Redactor;
use memory_store::redact::texts::FileTexts;

use super::pieces::LinePiece;

/// Maximum number of passes over a file. After one secret is hidden, the remains of another one may be recognisable.
const PASSES_MAX: usize = 4;

/// Byte that replaces each byte of a secret.
const MASK: u8 = b'*';

/// Overwrites the secrets in a file. Returns whether there were any; false for a missing file.
pub fn mask(path: &Path, redactor: &Redactor) -> Result<bool> {
    let context = || path.display().to_string();
    let mut file = match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error).with_context(context),
    };
    let mut any = false;
    for _ in 0..PASSES_MAX {
        file.rewind().with_context(context)?;
        if !pass(&file, redactor).with_context(context)? {
            break;
        }
        any = true;
    }
    Ok(any)
}

fn pass(file: &File, redactor: &Redactor) -> std::io::Result<bool> {
    let mut reader = BufReader::new(file);
    let (mut line, mut any) = (LinePiece::default(), false);
    let mut file_texts = FileTexts::default();
    while line.next(&mut reader)? {
        for text in file_texts.of_line(&line.bytes) {
            for finding in redactor.findings(&text.text) {
                any |= overwrite(file, line.start, &line.bytes, text.place(&finding.range))?;
            }
        }
    }
    Ok(any)
}

/// Overwrites a range of the line at `start`, unless the file has changed there.
fn overwrite(file: &File, start: u64, line: &[u8], range: Range<usize>) -> std::io::Result<bool> {
    let (at, mut there) = (start + range.start as u64, vec![0; range.len()]);
    match read_exact_at(file, &mut there, at) {
        Ok(()) if there == line[range] => {}
        Ok(()) => return Ok(false),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
        Err(error) => return Err(error),
    }
    there.fill(MASK);
    write_all_at(file, &there, at)?;
    Ok(!there.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn token() -> String {
        format!("ghp_{}", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB")
    }

    #[test]
    fn lines_keep_their_length_and_what_is_appended_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let redactor = Redactor::default();
        assert!(!mask(&path, &redactor).unwrap());
        let line = |text: &str| format!("{{\"text\":\"{text}\"}}\n");
        let before = line("one") + &line(&format!("é \\n{} \\\"", token())) + &line("three");
        std::fs::write(&path, &before).unwrap();
        // A hook may have the file open for appending.
        let mut hook = OpenOptions::new().append(true).open(&path).unwrap();
        assert!(mask(&path, &redactor).unwrap());
        hook.write_all(line("four").as_bytes()).unwrap();
        let after = std::fs::read_to_string(&path).unwrap();
        assert_eq!(after, before.replace(&token(), &"*".repeat(token().len())) + &line("four"));
        assert!(!mask(&path, &redactor).unwrap());
    }

    #[test]
    fn a_secret_of_several_lines_in_json_goes_and_the_json_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let kind = "PRIVATE KEY";
        let key = format!(
            "-----BEGIN {kind}-----\n{}-----END {kind}-----",
            format!("{}\n", "KqZ4wLr8TnB2mXc6".repeat(4)).repeat(6)
        );
        let line = serde_json::json!({ "text": format!("\"é\"\n{key}\n") }).to_string();
        std::fs::write(&path, &line).unwrap();
        assert!(mask(&path, &Redactor::default()).unwrap());
        let after = std::fs::read_to_string(&path).unwrap();
        assert_eq!(after.len(), line.len());
        let after: serde_json::Value = serde_json::from_str(&after).unwrap();
        let said = after["text"].as_str().unwrap();
        let stars = said.strip_prefix("\"é\"\n").unwrap().strip_suffix('\n').unwrap();
        assert!(stars.bytes().all(|byte| byte == MASK) && stars.len() >= key.len(), "{said}");
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let before = [b"\xff\r\n\xfe ".as_slice(), token().as_bytes(), b" \xff"].concat();
        std::fs::write(&path, &before).unwrap();
        assert!(mask(&path, &Redactor::default()).unwrap());
        let stars = "*".repeat(token().len());
        let expected = [b"\xff\r\n\xfe ".as_slice(), stars.as_bytes(), b" \xff"].concat();
        assert_eq!(std::fs::read(&path).unwrap(), expected);
    }
}

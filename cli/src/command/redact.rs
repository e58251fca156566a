//! `throughline redact`: redacts secrets in text by the rules that apply to all stored data.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use memory_store::fs::lines::{Line, Lines};
use memory_store::redact::{Personal, RedactOptions, Redactor};
use memory_store::settings_file;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::exit;
use crate::failure::{AtPath as _, Failure, Result};
use crate::view;
use crate::world::World;

/// Maximum bytes of text if its findings are printed together.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// Maximum bytes of a line of JSON.
const LINE_BYTES_MAX: usize = 256 << 20;

/// Print a text with its secrets redacted
///
/// Each secret is replaced by `[redacted:RULE]`.
#[derive(Debug, Args)]
pub struct RedactArgs {
    /// File to read; `-` reads stdin [default: stdin]
    file: Option<PathBuf>,
    /// Read one JSON object with `id` and `text` per line, and print `id` and `redacted` for each
    #[arg(long)]
    jsonl: bool,
    /// Print the position and rule of each secret as JSON
    #[arg(long, conflicts_with = "jsonl")]
    json: bool,
    /// Rules to apply: those for private text, those for committed text, or `strict` for all
    /// personal data
    #[arg(long, value_enum, default_value_t = For::Private, value_name = "WHICH")]
    r#for: For,
    /// Exit with 7 if a secret was found
    #[arg(long)]
    check: bool,
}

/// Purpose of the text.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum For {
    Private,
    Committed,
    Strict,
}

/// A finding, reported without its text.
#[derive(Serialize)]
struct RedactFinding {
    rule: &'static str,
    /// Line number, counted from 1.
    line: usize,
    /// Column in bytes, counted from 1.
    column: usize,
    bytes: usize,
}

#[derive(Deserialize)]
struct RedactInput {
    id: serde_json::Value,
    text: String,
}

/// Runs the command.
pub fn run(args: &RedactArgs, world: &World, out: &mut dyn Write) -> Result {
    let redactor = args.redactor(world);
    let input = open(args, world)?;
    let found = if args.jsonl {
        lines(&redactor, input, LINE_BYTES_MAX, out)?
    } else if args.json {
        print_findings(&redactor, input, out)?
    } else {
        redactor.redact_stream(input, &mut *out)?
    };
    if args.check && found > 0 {
        out.flush()?;
        return Err(Failure::silent(exit::FOUND));
    }
    Ok(())
}

impl RedactArgs {
    fn redactor(&self, world: &World) -> Redactor {
        let (settings, _) = settings_file::load(&world.dirs, None);
        let mut options = RedactOptions::for_store(&settings, !matches!(self.r#for, For::Private));
        if matches!(self.r#for, For::Strict) {
            options.personal = Personal::STRICT;
        }
        Redactor::new(&options)
    }
}

fn open(args: &RedactArgs, world: &World) -> Result<Box<dyn BufRead>> {
    let file = args.file.as_ref().filter(|file| file.as_os_str() != "-");
    Ok(match file.map(|file| world.cwd.join(file)) {
        Some(path) if path.is_dir() => {
            return Err(Failure::new(format!("{} is a folder", path.display()))
                .code(exit::USAGE)
                .hint("Name a file, or give the text on standard input."));
        }
        Some(path) => Box::new(BufReader::new(File::open(&path).named(&path)?)),
        None => Box::new(BufReader::new(io::stdin())),
    })
}

fn too_long(what: &str, bytes_max: u64) -> Failure {
    Failure::new(format!("{what} is longer than {} MiB", bytes_max >> 20)).code(exit::INVALID)
}

fn lines(
    redactor: &Redactor,
    input: impl BufRead,
    bytes_max: usize,
    out: &mut dyn Write,
) -> Result<usize> {
    let (mut found, mut first_left_out, mut left_out) = (0, None, 0_u64);
    let mut lines = Lines::new(input, bytes_max);
    lines.is_last_whole = true;
    let mut number = 0_u64;
    while let Some(line) = lines.next_line()? {
        number += 1;
        let line = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => line,
            Line::TooLong => {
                first_left_out.get_or_insert(number);
                left_out += 1;
                continue;
            }
        };
        let given: RedactInput = serde_json::from_slice(line).map_err(|error| {
            Failure::new(format!("line {number} is no object with `id` and `text`: {error}"))
                .code(exit::INVALID)
        })?;
        let redacted = redactor.redact(&given.text);
        found += usize::from(redacted != given.text.as_str());
        writeln!(out, "{}", json!({"id": given.id, "redacted": redacted}))?;
    }
    let Some(first) = first_left_out else { return Ok(found) };
    let what = match left_out {
        1 => format!("line {first}"),
        count => format!("each of {count} lines, the first of them line {first},"),
    };
    // The exit code differs from that of an unreadable line, which ends the answers: after a line that is too long,
    // they continue.
    Err(too_long(&what, bytes_max as u64)
        .code(exit::FAILED)
        .hint("Lines that are too long are left out; all others are answered."))
}

fn print_findings(redactor: &Redactor, input: impl Read, out: &mut dyn Write) -> Result<usize> {
    let mut bytes = Vec::new();
    input.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > TEXT_BYTES_MAX {
        return Err(too_long("the text", TEXT_BYTES_MAX)
            .hint("Without `--json` a text of any length is redacted."));
    }
    let text = String::from_utf8_lossy(&bytes);
    let (mut line, mut start) = (1, 0);
    let mut told = Vec::new();
    for finding in redactor.findings(&text) {
        let skipped = &text.as_bytes()[start..finding.range.start];
        line += skipped.iter().filter(|byte| **byte == b'\n').count();
        if let Some(last) = skipped.iter().rposition(|byte| *byte == b'\n') {
            start += last + 1;
        }
        told.push(RedactFinding {
            rule: finding.rule,
            line,
            column: finding.range.start - start + 1,
            bytes: finding.range.len(),
        });
    }
    view::json(&told, out)?;
    Ok(told.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overlong_line_is_reported_and_all_others_are_redacted() {
        let long = format!("{{\"id\":\"b\",\"text\":\"{}\"}}", "x".repeat(40));
        let given = format!(
            "{{\"id\":\"a\",\"text\":\"one\"}}\n{long}\n\n{{\"id\":\"c\",\"text\":\"two\"}}"
        );
        let mut out = Vec::new();
        let failed = lines(&Redactor::default(), given.as_bytes(), 30, &mut out).unwrap_err();
        assert!(failed.message.contains("line 2 is longer"), "{failed:?}");
        assert_eq!(failed.code, exit::FAILED);
        let expected = "{\"id\":\"a\",\"redacted\":\"one\"}\n{\"id\":\"c\",\"redacted\":\"two\"}\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let several = format!("{given}\n{long}\n{long}");
        let failed = lines(&Redactor::default(), several.as_bytes(), 30, &mut Vec::new());
        let told = failed.unwrap_err().message;
        assert!(told.contains("3 lines, the first of them line 2, is longer"), "{told}");
        let malformed = lines(&Redactor::default(), &b"{}"[..], 30, &mut Vec::new());
        assert_eq!(malformed.unwrap_err().code, exit::INVALID);
    }
}

//! The pager, which shows output that is longer than the screen.

use std::ffi::OsStr;
use std::io::{IsTerminal as _, Write};
use std::process::{Command, Stdio};

use dialoguer::console::Term;
use processor::programs;

use crate::failure::Result;

/// The default pager.
const USUAL: &str = "less";
/// Default options of `less`: exit if the output fits the screen, keep colours, and leave the text on the screen.
const LESS: &str = "FRX";

/// Returns the command line of the pager, which is searched in the folders of `path`. Returns `None` if there is no
/// terminal or the user disabled the pager.
pub fn find(path: Option<&OsStr>) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the variables of pagers")]
    let get = |name: &str| std::env::var(name).ok();
    if !std::io::stdout().is_terminal() || get("NO_PAGER").is_some_and(|value| !value.is_empty()) {
        return None;
    }
    match get("THROUGHLINE_PAGER").or_else(|| get("PAGER")) {
        Some(pager) if matches!(pager.trim(), "" | "cat") => None,
        Some(pager) => Some(pager),
        None => programs::find(path, USUAL).map(|_| USUAL.to_owned()),
    }
}

/// Runs a command and shows its output in the pager if it is longer than the screen. If the pager cannot be started,
/// the output is printed without it.
pub fn through(pager: &str, run: impl FnOnce(&mut dyn Write) -> Result) -> Result {
    let mut text = Vec::new();
    // If the command fails, the output before the failure is shown too.
    let done = run(&mut text);
    let has_colours =
        anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    let mut shown = Vec::new();
    let choice = match has_colours {
        true => anstream::ColorChoice::AlwaysAnsi,
        false => anstream::ColorChoice::Never,
    };
    anstream::AutoStream::new(&mut shown, choice).write_all(&text)?;
    let rows = Term::stdout().size_checked().map_or(0, |(rows, _)| usize::from(rows));
    let is_long = rows > 0 && shown.iter().filter(|byte| **byte == b'\n').count() >= rows;
    if !is_long || !page(pager, &shown) {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(&shown)?;
        stdout.flush()?;
    }
    done
}

/// Shows a text in the pager; returns `false` if the pager cannot be started.
#[expect(clippy::disallowed_methods, reason = "the variables of pagers")]
fn page(pager: &str, text: &[u8]) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let Ok(mut child) = command.spawn() else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // A write error is ignored, since the user may quit the pager before the end of the text.
        let _ = stdin.write_all(text);
    }
    // A shell exits with 127 if the program is missing, after reporting that on stderr.
    child.wait().is_ok_and(|status| status.code() != Some(127))
}

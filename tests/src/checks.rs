//! The checks of a journey, printed as one line each, with the result at the end.

use std::fmt::Display;
use std::process::ExitCode;

/// Maximum length of a detail that is printed with a failed check, in characters.
const DETAIL_CHARS_MAX: usize = 4000;

/// Collects checks. A failed check does not end the journey, so that one run shows all failures.
#[derive(Debug, Default)]
pub struct Checks {
    passed: usize,
    failed: Vec<String>,
}

impl Checks {
    /// Prints the name of a part of the journey.
    #[expect(clippy::print_stdout, reason = "a journey is read by a person")]
    pub fn part(&self, name: &str) {
        println!("\n{name}");
    }

    /// Records whether `holds` is true; `detail` is printed if it is not.
    #[expect(clippy::print_stdout, reason = "a journey is read by a person")]
    pub fn check(&mut self, what: &str, holds: bool, detail: impl Display) {
        if holds {
            self.passed += 1;
            println!("  ok      {what}");
            return;
        }
        self.failed.push(what.to_owned());
        let detail: String = detail.to_string().chars().take(DETAIL_CHARS_MAX).collect();
        println!("  FAILED  {what}\n{}", indented(&detail));
    }

    /// Records whether `text` contains `wanted`.
    pub fn contains(&mut self, what: &str, text: &str, wanted: &str) {
        self.check(what, text.contains(wanted), format!("`{wanted}` is not in:\n{text}"));
    }

    /// Prints the result of all checks.
    #[expect(clippy::print_stdout, reason = "a journey is read by a person")]
    pub fn finish(self) -> ExitCode {
        println!("\n{} checks passed, {} failed", self.passed, self.failed.len());
        for what in &self.failed {
            println!("  failed: {what}");
        }
        if self.failed.is_empty() && self.passed > 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("          {line}\n")).collect()
}

//! A small project, and the scripted actions of a model in it: an error, its fix, a standing wish and a decision. The
//! commands are really executed; they require only a Rust toolchain.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::environment::{TestEnvironment, printed};
use crate::messages_api::Script;

/// The command that checks the project. It fails in the first session and passes after the fix.
pub const CHECK: &str = "cargo test --quiet --offline";

/// The first prompt: a task with a standing wish.
pub const TASK_AND_WISH: &str = "Add a function total_cents to src/lib.rs that adds up the lines \
     of an invoice, with a test. From now on never use f64 for money in this project, always \
     integer cents.";

/// Text that must be recalled from [`TOLD_WISH`]. In [`TASK_AND_WISH`] it is not a wish if the speaker is a program.
pub const WISH: &str = "never use f64 for money";

/// The wish as a person states it.
pub const TOLD_WISH: &str = "Never use f64 for money in this project, always integer cents";

/// The second prompt. The model answers it with a decision.
pub const QUESTION: &str =
    "Should quantities stay u32 or become i64 like the prices? Please decide and say why.";

/// Text of the decision that must be recalled from the answer to [`QUESTION`].
pub const DECISION: &str = "quantities stay u32";

/// The third prompt: work on another file, with a decision about it.
pub const EXPORT_TASK: &str = "Add src/export.rs, which writes an invoice as CSV. Choose the field \
     separator yourself and say why.";

/// Text that must be recalled when Claude reads or edits the file [`export`].
pub const EXPORT_DECISION: &str = "semicolon";

/// The compiler's code for the error of the first session.
pub const ERROR_CODE: &str = "E0277";

/// Word of the cure that must be recalled when the same error occurs.
pub const CURE: &str = "i64::from";

const MANIFEST: &str = "[package]\nname = \"ledger\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

const EMPTY_LIB: &str = "//! Invoices and what they add up to.\n";

const BROKEN_LIB: &str = r#"//! Invoices and what they add up to.

/// One line of an invoice.
pub struct Line {
    /// The price of one piece, in cents.
    pub price_cents: i64,
    /// Number of pieces.
    pub quantity: u32,
}

/// Adds up the lines of an invoice, in cents.
pub fn total_cents(lines: &[Line]) -> i64 {
    lines.iter().map(|line| line.price_cents * line.quantity).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_up() {
        let lines = [Line { price_cents: 250, quantity: 3 }, Line { price_cents: 99, quantity: 1 }];
        assert_eq!(total_cents(&lines), 849);
    }
}
"#;

/// The multiplication that does not compile.
pub const BROKEN: &str = "line.price_cents * line.quantity)";
/// The multiplication that replaces [`BROKEN`].
pub const FIXED: &str = "line.price_cents * i64::from(line.quantity))";

const EXPORT: &str = r#"//! Invoices as CSV.

/// Separator of fields.
pub const SEPARATOR: char = ';';
"#;

/// Creates the project, with two commits.
pub fn create(environment: &TestEnvironment) -> io::Result<PathBuf> {
    let root = environment.repository("ledger")?;
    fs::create_dir(root.join("src"))?;
    fs::write(root.join("Cargo.toml"), MANIFEST)?;
    fs::write(root.join(".gitignore"), "/target\n")?;
    fs::write(lib(&root), EMPTY_LIB)?;
    environment.git(&root, &["add", "."])?;
    environment.git(&root, &["commit", "--quiet", "--message", "Lay out the crate"])?;
    Ok(root)
}

/// Returns the source file of the first task.
pub fn lib(root: &Path) -> PathBuf {
    root.join("src/lib.rs")
}

/// Returns the source file of [`EXPORT_TASK`].
pub fn export(root: &Path) -> PathBuf {
    root.join("src/export.rs")
}

/// Returns the folder that contains the real cargo and rustc. The launchers in `~/.cargo/bin` are not used, since they
/// would search for toolchains in the sealed home.
pub fn toolchain_dir() -> io::Result<PathBuf> {
    let sysroot = printed(Command::new("rustc").args(["--print", "sysroot"]))?;
    Ok(Path::new(sysroot.trim()).join("bin"))
}

/// Returns the input of a shell call by the model.
pub fn shell(command: &str, description: &str) -> Value {
    json!({"command": command, "description": description})
}

/// Returns the scripts of the model for the first session.
pub fn first_session(root: &Path) -> [Script; 3] {
    let lib = lib(root);
    let work = Script::on(TASK_AND_WISH)
        .answers_and_calls("I will look at the file first.", "Read", json!({"file_path": lib}))
        .calls("Write", json!({"file_path": lib, "content": BROKEN_LIB}))
        .calls("Bash", shell(CHECK, "Run the tests"))
        .answers_and_calls(
            "The compiler does not multiply i64 by u32. The quantity has to be widened first.",
            "Edit",
            json!({"file_path": lib, "old_string": BROKEN, "new_string": FIXED}),
        )
        .calls("Bash", shell(CHECK, "Run the tests again"))
        .answers(
            "Added `total_cents` with a test; the tests pass. The first build failed because \
             Rust does not multiply `i64` by `u32`; widening the quantity with `i64::from` cured \
             it. All amounts are integer cents.",
        );
    let decide = Script::on(QUESTION).answers(
        "Decision: quantities stay u32, because a negative quantity would be a bug and the type \
         rules it out; prices are i64 so that refunds can be negative. I widen with `i64::from` \
         where they meet.",
    );
    let export = Script::on(EXPORT_TASK)
        .calls("Write", json!({"file_path": export(root), "content": EXPORT}))
        // One successful run may be chance, so the command is run successfully twice.
        .calls("Bash", shell(CHECK, "Run the tests"))
        .answers(
            "Added the export. Decision: src/export.rs separates fields with a semicolon, because \
             amounts may be written with a decimal comma.",
        );
    [work, decide, export]
}

//! The programs print their version for people; Claude Code passes no arguments.

use std::process::{Command, Stdio};

use crate::common;

#[test]
fn the_version_is_printed_only_where_it_is_asked_for() {
    let programs = [
        (common::SESSION_START, "throughline-session-start"),
        (common::PROMPT, "throughline-user-prompt-submit"),
        (common::BEFORE_TOOL, "throughline-pre-tool-use"),
        (common::TOOL, "throughline-post-tool-use"),
        (common::STOP, "throughline-stop"),
    ];
    for (path, name) in programs {
        for (argument, expected) in [
            ("--version", format!("{name} {}", env!("CARGO_PKG_VERSION"))),
            ("-V", format!("{name} {}", env!("CARGO_PKG_VERSION"))),
            ("--other", String::new()),
        ] {
            let mut command = Command::new(path);
            command.arg(argument).stdin(Stdio::null()).env_clear();
            let output = command.output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success() && printed.trim_end() == expected, "{name}: {printed}");
        }
    }
}

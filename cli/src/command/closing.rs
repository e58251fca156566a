//! The last lines of `init`: what is next, and how Claude's own memories and this one live together.

use std::io::Write;

use crate::failure::Result;
use crate::style::{NAME, QUIET, paint};

/// Texts that Claude is given, and whose they are.
const TOGETHER: [(&str, &str); 3] = [
    (
        "CLAUDE.md",
        "your rules, given to every session as a whole. Nothing is written into it, and what it says is not repeated.",
    ),
    (
        "auto memory",
        "Claude's own notes. They are read so that nothing is said twice, and never changed.",
    ),
    (
        "Throughline",
        "what sessions showed, one file each. Those are given that fit a prompt, a file or an error.",
    ),
];

/// Prints them; all of them where a project is new, and what more there is where that is asked for.
pub fn show(is_new: bool, offers_guides: bool, for_team: bool, out: &mut dyn Write) -> Result {
    writeln!(out)?;
    if is_new {
        for (name, text) in TOGETHER {
            writeln!(out, "  {}  {text}", paint(NAME, format_args!("{name:<11}")))?;
        }
        writeln!(out)?;
    }
    writeln!(
        out,
        "Next: work as usual. `throughline` shows what is known, `throughline why` what was put in front of Claude, \
         `throughline uninstall` takes the hooks out again."
    )?;
    if offers_guides {
        writeln!(
            out,
            "{}",
            paint(
                QUIET,
                "More for Claude: `throughline init --with skill,agents,rules` adds a skill, a paragraph in AGENTS.md, \
                 and rules that let it recall without asking."
            )
        )?;
    }
    if offers_guides && for_team {
        let text = "For a team: `throughline init --with merge-driver` lets git merge memory files key by key.";
        writeln!(out, "{}", paint(QUIET, text))?;
    }
    Ok(())
}

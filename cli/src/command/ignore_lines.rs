//! Lines that keep a committed memory folder out of packages: part of the plan of `init`, which writes them where somebody
//! agreed to it (`--yes`, an answer, or `--with ignore-lines`), and taken out by `uninstall`.

use std::io::Write;
use std::path::{Path, PathBuf};

use memory_store::identity::Mode;

use super::init::Init;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::packages::{self, IgnoreLine};
use crate::style::{CARE, paint};
use crate::world::World;

/// Consent to lines that a plan has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Given, by an option.
    Given,
    /// Part of the answer to where memories are kept.
    WithMemories,
    /// Asked for by a question of its own.
    Asked,
    /// Not to be had here; the lines are only shown.
    Missing,
}

/// Fails where lines are both wanted and to be left out.
pub fn check(args: &Init) -> Result {
    if args.no_ignore_lines && args.guides_ignore_lines() {
        return Err(Failure::new(
            "`--with ignore-lines` and `--no-ignore-lines` exclude each other",
        )
        .code(exit::USAGE)
        .hint("Leave one of both out."));
    }
    Ok(())
}

/// Returns the lines for a plan. A line that was written before and is gone was deleted by somebody, and stays so.
pub fn planned(args: &Init, world: &World, root: &Path, lacking: &[IgnoreLine]) -> Vec<IgnoreLine> {
    let is_planned = |line: &&IgnoreLine| {
        let is_wanted = args.guides_ignore_lines();
        is_wanted || !args.no_ignore_lines && !packages::was_written(&world.dirs, root, line)
    };
    lacking.iter().filter(is_planned).cloned().collect()
}

/// Shows the lines of a plan, and what becomes of them.
pub fn show(lines: &[IgnoreLine], consent: Consent, out: &mut dyn Write) -> Result {
    if lines.is_empty() {
        return Ok(());
    }
    match consent {
        Consent::Given | Consent::WithMemories => writeln!(
            out,
            "  packages    made without memories, by these lines (or `--no-ignore-lines`)"
        )?,
        Consent::Asked => {
            writeln!(out, "  packages    you are asked: made without memories, by these lines")?;
        }
        Consent::Missing => writeln!(
            out,
            "  {} A package made here would hold the memories. `throughline init --with ignore-lines` writes:",
            paint(CARE, "!")
        )?,
    }
    for IgnoreLine { file, line, .. } in lines {
        writeln!(out, "    {:<24} {line}", file.display())?;
    }
    Ok(())
}

/// Writes lines; returns the files. `is_wanted` where an option names them, which is told when there are none.
pub fn put(
    world: &World,
    root: &Path,
    mode: Mode,
    lines: &[IgnoreLine],
    is_wanted: bool,
    out: &mut dyn Write,
) -> Result<Vec<PathBuf>> {
    if mode == Mode::Private {
        if is_wanted {
            writeln!(out, "  ignore line none is needed: memories are not in the repository")?;
        }
        return Ok(Vec::new());
    }
    if is_wanted && lines.is_empty() {
        writeln!(out, "  ignore line none is lacking")?;
    }
    let mut files = Vec::new();
    for line in lines {
        match packages::put(&world.dirs, root, line) {
            Ok(path) => {
                writeln!(out, "  ignore line {} in {}", line.line, path.display())?;
                files.push(path);
            }
            Err(failure) if is_wanted => return Err(failure),
            // Nothing else depends on it.
            Err(failure) => writeln!(
                out,
                "  {} {failure}\n    Add the line `{}` to {} yourself: a package made here would hold the memories.",
                paint(CARE, "!"),
                line.line,
                line.file.display()
            )?,
        }
    }
    Ok(files)
}

/// Says what [`take_out`] would change.
pub fn would_take_out(world: &World) -> Vec<String> {
    let paths = packages::would_take_out(&world.dirs);
    let told = paths.iter().map(|path| format!("take the ignore line out of {}", path.display()));
    told.collect()
}

/// Takes the lines out that were written. One that cannot be taken out keeps no other.
pub fn take_out(world: &World, out: &mut dyn Write) -> Result {
    let (changed, failed) = packages::take_out(&world.dirs)?;
    for path in changed {
        writeln!(out, "Taken out of {}", path.display())?;
    }
    failed.map_or(Ok(()), Err)
}

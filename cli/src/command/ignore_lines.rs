//! Lines that keep a committed memory folder out of packages: part of the plan of `init`, which writes them where somebody
//! agreed to it (`--yes`, the answer below the plan, or `--with ignore-lines`), and taken out by `uninstall`.

use std::io::Write;
use std::path::{Path, PathBuf};

use memory_store::store::Store;

use super::init_options::Init;
use super::view;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::packages::{self, IgnoreLine, Maker};
use crate::style::{CARE, paint};
use crate::world::World;

/// Consent to lines that a plan has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Given, by an option.
    Given,
    /// Part of the answer to the question below the plan.
    WithAnswer,
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

/// Shows the lines of a plan, with the reason for them and a way to leave them out.
pub fn show(lines: &[IgnoreLine], consent: Consent, out: &mut dyn Write) -> Result {
    if lines.is_empty() {
        return Ok(());
    }
    let packages = packages_of(lines);
    writeln!(
        out,
        "  packages    {packages} made here would contain the memories;\n              one line more in each of these files leaves them out:"
    )?;
    for IgnoreLine { file, line, .. } in lines {
        writeln!(out, "    {:<24} {line}", view::path(file))?;
    }
    let how = match consent {
        Consent::Given => "`--no-ignore-lines` leaves these files as they are",
        Consent::WithAnswer => "added with your answer; not with `--no-ignore-lines`",
        Consent::Missing => "not added yet: `throughline init --with ignore-lines` does it",
    };
    writeln!(out, "              {how}")?;
    Ok(())
}

/// Names the packages that lines are for.
fn packages_of(lines: &[IgnoreLine]) -> String {
    let named =
        [(Maker::Npm, "npm packages"), (Maker::Docker, "Docker images"), (Maker::Cargo, "crates")];
    let made = |maker: Maker| lines.iter().any(|line| line.maker == maker);
    let named: Vec<&str> =
        named.into_iter().filter(|(maker, _)| made(*maker)).map(|(_, name)| name).collect();
    match named.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Writes lines; returns the files. `is_wanted` where an option names them, which is told when there are none.
pub fn put(
    world: &World,
    store: &Store,
    lines: &[IgnoreLine],
    is_wanted: bool,
    out: &mut dyn Write,
) -> Result<Vec<PathBuf>> {
    let Some(root) = store.root.as_deref() else {
        if is_wanted {
            writeln!(out, "  ignore line none is needed: memories are not in the repository")?;
        }
        return Ok(Vec::new());
    };
    if is_wanted && lines.is_empty() {
        writeln!(out, "  ignore line none is lacking")?;
    }
    let mut files = Vec::new();
    for line in lines {
        match packages::put(&world.dirs, &store.home, root, line) {
            Ok(path) => {
                let then = if path.exists() { "" } else { ", with the first memory" };
                writeln!(out, "  ignore line {} in {}{then}", line.line, path.display())?;
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

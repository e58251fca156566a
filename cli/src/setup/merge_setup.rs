//! Settings of the merge driver, which `init --with merge-driver` adds to a repository and `uninstall` removes. They
//! consist of a line in `.gitattributes`, which is committed, and the driver in the local git configuration.

use std::path::{Path, PathBuf};

use processor::git::driver;

use super::claude::replace::{self, NextText, RunMode, check_inside, replace};
use crate::exit;
use crate::failure::{Failure, Result};
use crate::inspect::check::HealthCheck;
use crate::world::World;

/// The line of `.gitattributes`.
const LINE: &str = ".throughline/memories/**/*.md merge=throughline";

/// Returns the file with git's attributes.
pub fn attributes(root: &Path) -> PathBuf {
    root.join(".gitattributes")
}

/// Returns the local configuration file of the repository.
pub fn config(root: &Path) -> PathBuf {
    root.join(".git/config")
}

/// Registers the driver; returns whether anything changed.
///
/// # Errors
/// Returns an error if the folder is not in a repository, or if a file cannot be written.
pub fn insert(world: &World, root: &Path) -> Result<bool> {
    let path = attributes(root);
    check_inside(&path, root)?;
    let command = command(world);
    let is_new = driver::registered(root).as_ref() != Some(&command);
    if is_new && !driver::register(root, &command) {
        return Err(Failure::new(format!("git sets no merge driver in {}", root.display()))
            .code(exit::NOT_FOUND)
            .hint("It belongs to a git repository; leave `merge-driver` out here."));
    }
    let replaced = replace(&path, None, |_, text| {
        let text = text.unwrap_or_default();
        if has_line(text) {
            return Ok(NextText::Keep);
        }
        // If the last line of the file has no newline, neither has the added line, so that the removal restores the
        // file exactly.
        Ok(NextText::Write(match text {
            text if text.is_empty() || text.ends_with('\n') => format!("{text}{LINE}\n"),
            text => format!("{text}\n{LINE}"),
        }))
    })?;
    Ok(is_new || replaced.is_some())
}

/// Removes the line from `.gitattributes`; returns that file if it changed.
pub fn remove_line(root: &Path, run: RunMode) -> Result<Option<PathBuf>> {
    let without = |text: &str| has_line(text).then(|| without_line(text));
    replace::remove_part((&attributes(root), root), LINE, run, without, str::is_empty)
}

/// Removes the driver from the git configuration; returns the configuration file if it changed.
///
/// # Errors
/// Returns an error if git fails to remove the driver.
pub fn remove_driver(root: &Path, run: RunMode) -> Result<Option<PathBuf>> {
    if !driver::registered(root).is_some_and(|command| is_ours(&command)) {
        return Ok(None);
    }
    let path = config(root);
    match run == RunMode::Dry || driver::unregister(root) {
        true => Ok(Some(path)),
        false => {
            Err(Failure::new(format!("{}: git does not remove the merge driver", path.display()))
                .hint("`git config --local --unset-all merge.throughline.driver` says why."))
        }
    }
}

/// Checks that git merges memory files with the driver; `None` if the driver was never set up.
pub fn check(world: &World, root: &Path) -> Option<HealthCheck> {
    const NAME: &str = "merge driver";
    const REMEDY: &str = "Run `throughline init --with merge-driver`.";
    let text = replace::read(&attributes(root)).ok().flatten();
    let has_line = text.is_some_and(|text| has_line(&text));
    match (has_line, driver::registered(root)) {
        (false, None) => None,
        (true, None) => Some(HealthCheck::care(
            NAME,
            "not registered on this machine: memory files are merged by lines",
            REMEDY,
        )),
        (false, Some(_)) => {
            Some(HealthCheck::care(NAME, "registered, but .gitattributes names it not", REMEDY))
        }
        (true, Some(found)) if found != command(world) && is_ours(&found) => {
            Some(HealthCheck::care(NAME, format!("registered as {found}"), REMEDY))
        }
        (true, Some(_)) => Some(HealthCheck::good(NAME, "registered in this repository")),
    }
}

/// Returns the command with which git runs the driver.
fn command(world: &World) -> String {
    let program = world.program("throughline");
    let program = program.to_string_lossy().replace('\'', "'\\''").replace('%', "%%");
    format!("'{program}' merge-driver --marker-size %L %O %A %B")
}

fn is_ours(command: &str) -> bool {
    command.contains("throughline") && command.contains(" merge-driver ")
}

fn has_line(text: &str) -> bool {
    text.lines().any(|line| line.trim_end() == LINE)
}

fn without_line(text: &str) -> String {
    let kept = text.split_inclusive('\n').filter(|line| line.trim_end() != LINE);
    let rest: String = kept.collect();
    // Removes the newline that was added after the previous line.
    match text.ends_with(LINE) {
        true => rest.strip_suffix('\n').unwrap_or(&rest).to_owned(),
        false => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_goes_without_a_trace() {
        for before in ["", "* text=auto\n", "* text=auto", "a\n\nb\n"] {
            let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
            let end = if gap.is_empty() { "\n" } else { "" };
            let with = format!("{before}{gap}{LINE}{end}");
            assert!(has_line(&with) && !has_line(before));
            assert_eq!(without_line(&with), before);
        }
        assert_eq!(without_line(&format!("a\n{LINE}\nb\n")), "a\nb\n");
    }
}

//! `throughline upgrade`: prints changes from the installed changelog. It uses no network and installs nothing.

use std::io::{Read as _, Write};
use std::path::PathBuf;

use clap::Args;
use memory_store::fs::open_regular::{self, Links};
use serde::Serialize;

use crate::failure::Result;
use crate::setup::installation::Installation;
use crate::view;
use crate::view::changes::line;
use crate::view::style::{QUIET, STRONG, paint};
use crate::world::World;

/// The changelog of the running version.
const BUILT_IN: &str = include_str!("../../../CHANGELOG.md");
/// Maximum bytes of an installed changelog.
const CHANGELOG_BYTES_MAX: u64 = 1 << 20;
/// Number of changes printed by default.
const CHANGES_SHOWN: usize = 10;
/// The heading of unreleased changes.
const UNRELEASED: &str = "Unreleased";

/// Says what is new: compares the version that runs with the changelog installed beside it. It asks no network, and
/// never runs by itself.
#[derive(Debug, Args)]
pub struct UpgradeArgs {
    /// At most this many changes of a version
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = CHANGES_SHOWN, allow_negative_numbers = true, value_parser = crate::typed::count)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The answer in JSON.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct UpgradeReport {
    running: &'static str,
    /// The changelog file; `None` for the built-in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    changelog: Option<PathBuf>,
    /// Versions after the running one, newest first.
    newer: Vec<Release>,
    /// Changes of the running version; for an unreleased one, the changes so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<Release>,
}

/// A version with its changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Release {
    version: String,
    changes: Vec<String>,
}

/// Runs the command.
pub fn run(args: &UpgradeArgs, world: &World, out: &mut dyn Write) -> Result {
    let running = env!("CARGO_PKG_VERSION");
    let installed = installed(world);
    let text = installed.as_ref().map_or(BUILT_IN, |(_, text)| text);
    let (newer, current) = compare(&releases(text), running);
    let report =
        UpgradeReport { running, changelog: installed.map(|(path, _)| path), newer, current };
    if args.json {
        return view::json(&report, out);
    }
    let again = Installation::find(world).again(&world.home);
    show(&report, &again, args.limit, out)
}

/// Returns the changelog installed with the programs.
fn installed(world: &World) -> Option<(PathBuf, String)> {
    let path = world.bin_dir.parent()?.join("share/throughline/CHANGELOG.md");
    let mut text = String::new();
    let file = open_regular::open(&path, Links::Follow).ok()?;
    file.take(CHANGELOG_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some((path, text))
}

/// Parses `## VERSION` headings and the items below them.
fn releases(text: &str) -> Vec<Release> {
    let mut releases: Vec<Release> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            let version = heading.split([' ', '(']).next().unwrap_or_default();
            let version = version.trim_matches(['[', ']', 'v']).to_owned();
            releases.push(Release { version, changes: Vec::new() });
        } else if let Some(release) = releases.last_mut() {
            match (line.strip_prefix("- "), release.changes.last_mut()) {
                (Some(change), _) => release.changes.push(change.to_owned()),
                (None, Some(change)) if line.starts_with("  ") => {
                    change.push(' ');
                    change.push_str(line.trim());
                }
                (None, _) => {}
            }
        }
    }
    releases
}

/// Returns the versions after the running one, and the running one.
fn compare(releases: &[Release], running: &str) -> (Vec<Release>, Option<Release>) {
    let numbers = |version: &str| -> Option<Vec<u64>> {
        version.split('.').map(|part| part.parse().ok()).collect()
    };
    let ours = numbers(running);
    let is_newer = |release: &&Release| numbers(&release.version).is_some_and(|it| Some(it) > ours);
    let newer: Vec<Release> = releases.iter().filter(is_newer).cloned().collect();
    let named = |name: &str| releases.iter().find(|release| release.version == name).cloned();
    (newer, named(running).or_else(|| named(UNRELEASED)))
}

fn show(report: &UpgradeReport, again: &str, limit: usize, out: &mut dyn Write) -> Result {
    let running = report.running;
    match report.newer.first() {
        Some(newest) => writeln!(
            out,
            "{} This is {running}, and {} is out. {again}, then run `throughline doctor`.",
            paint(STRONG, "There is something newer."),
            line(&newest.version)
        )?,
        None => writeln!(out, "This is throughline {running}; its changelog knows nothing newer.")?,
    }
    for Release { version, changes } in report.newer.iter().chain(&report.current) {
        let heading = match &**version {
            UNRELEASED => "In this build".to_owned(),
            version => format!("In {}", line(version)),
        };
        writeln!(out, "\n{}", paint(STRONG, heading))?;
        for change in changes.iter().take(limit) {
            writeln!(out, "  - {}", line(change))?;
        }
        if changes.len() > limit {
            let more = format!(
                "  and {} more: `throughline upgrade -n {}`",
                changes.len() - limit,
                changes.len()
            );
            writeln!(out, "{}", paint(QUIET, more))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_versions_are_told_from_the_one_that_runs() {
        let text = "# Changelog\n\n## 0.10.0 (2026-12-01)\n\n- A thing that\n  goes on.\n\n## [0.2.0]\n- B\n- C\n\n## 0.1.0\n- D\n";
        let all = releases(text);
        assert_eq!(all[0].changes, ["A thing that goes on."]);
        let (newer, current) = compare(&all, "0.2.0");
        assert_eq!(
            (newer.as_slice(), current.unwrap().changes),
            (&all[..1], vec!["B".to_owned(), "C".to_owned()])
        );
        assert_eq!(compare(&all, "0.10.0").0, []);
        let (newer, current) = compare(&releases("## Unreleased\n- E\n"), "0.2.0");
        assert_eq!((newer, current.unwrap().version), (Vec::new(), "Unreleased".to_owned()));
    }

    #[test]
    fn the_changelog_that_is_built_in_can_be_read() {
        assert!(releases(BUILT_IN).iter().all(|release| !release.changes.is_empty()));
    }
}

//! Throughline's parts in files of the user and of projects. They are all parts that `init` writes, and additions that
//! the documentation describes, if they can be distinguished from the user's own text.

use std::path::{Path, PathBuf};

use memory_store::identity;

use super::account::{Account, RemovalWay};
use super::by_hand::{self, Before};
use crate::complete::VARIABLE;
use crate::failure::{AtPath as _, Result};
use crate::setup::claude::places::SettingsScope;
use crate::setup::claude::replace::{self, RunMode};
use crate::setup::claude::{guide, register};
use crate::setup::merge_setup;
use crate::world::World;

/// Files of a project that may contain the paragraph: `init` writes it into the first file, and users copy it into the
/// others.
const GUIDES: [&str; 4] = ["AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md"];
/// Lines of a git hook in docs/team.md.
const HOOK_LINES: [&str; 4] = [
    "exec throughline check --staged",
    "throughline check --staged",
    "exec throughline check",
    "throughline check",
];
/// Entry of `.pre-commit-config.yaml` in docs/team.md.
const PRE_COMMIT: [&str; 7] = [
    "- repo: local",
    "  hooks:",
    "    - id: throughline",
    "      name: memory files",
    "      entry: throughline check --staged",
    "      language: system",
    "      files: ^\\.throughline/memories/",
];
/// Completion scripts, relative to the home folder, at the places where shells search and installers write them.
const COMPLETIONS: [&str; 5] = [
    ".local/share/bash-completion/completions/throughline",
    ".local/share/zsh/site-functions/_throughline",
    ".local/share/fish/vendor_completions.d/throughline.fish",
    ".config/fish/completions/throughline.fish",
    ".zfunc/_throughline",
];
/// The folder of manual pages, relative to the home folder.
const MANUAL: &str = ".local/share/man/man1";

/// Returns the existing working trees of all projects of this machine, and the current one.
pub fn roots(world: &World) -> Result<Vec<PathBuf>> {
    let mut roots = vec![world.root()];
    for known in identity::list(&world.dirs)? {
        let identity = known.identity;
        roots.extend(identity.paths.into_iter().chain(identity.worktrees).chain(identity.revoked));
    }
    let mut seen = std::collections::BTreeSet::new();
    roots.retain(|root| root.is_dir() && seen.insert(root.clone()));
    Ok(roots)
}

/// Removes all parts. Hooks are removed first, since Claude Code runs them at every prompt.
pub fn take_out(world: &World, roots: &[PathBuf], account: &mut Account) {
    let run = account.run;
    let before = Before::look(world, roots);
    let (parts, failures) = register::unregister(world, roots, run);
    if parts.is_empty() && failures.is_empty() && run == RunMode::Real {
        account.told.push("Nothing was registered.".to_owned());
    }
    for part in parts {
        account.add(part.purpose.name(), RemovalWay::Out, Ok(Some(part.path)));
    }
    failures.into_iter().for_each(|failure| account.fail(failure));
    let skill = guide::skill(world, SettingsScope::User, Path::new("/"));
    account.add("", RemovalWay::Whole, guide::remove_skill(&skill, run));
    let own = &world.claude.config;
    let removed = guide::remove_paragraph(&own.join("CLAUDE.md"), own, run);
    account.add("the paragraph", RemovalWay::Out, removed);
    for root in roots {
        of_project(world, root, account);
    }
    for file in COMPLETIONS {
        let path = world.home.join(file);
        account.add("", RemovalWay::Whole, remove_own(path, |text| text.contains(VARIABLE), run));
    }
    for page in manual_pages(world) {
        account.add("", RemovalWay::Whole, remove_own(page, is_page, run));
    }
    account.by_hand = by_hand::find(world, roots, before, run);
}

/// Removes the parts in the files of one project.
fn of_project(world: &World, root: &Path, account: &mut Account) {
    let run = account.run;
    let skill = guide::skill(world, SettingsScope::Project, root);
    account.add("", RemovalWay::Whole, guide::remove_skill(&skill, run));
    for file in GUIDES {
        let removed = guide::remove_paragraph(&root.join(file), root, run);
        account.add("the paragraph", RemovalWay::Out, removed);
    }
    account.add("the line", RemovalWay::Out, merge_setup::remove_line(root, run));
    account.add("the merge driver", RemovalWay::Out, merge_setup::remove_driver(root, run));
    let checks = [
        (".git/hooks/pre-commit", without_hook_lines as fn(&str) -> Option<String>),
        (".pre-commit-config.yaml", without_pre_commit),
    ];
    for (file, without) in checks {
        let place = (&*root.join(file), root);
        let removed = replace::remove_part(place, "throughline", run, without, is_bare);
        account.add("the check", RemovalWay::Out, removed);
    }
}

/// Returns whether a line belongs to a check in the documentation, so that `uninstall` removes it.
pub fn is_documented(line: &str) -> bool {
    let is_entry = PRE_COMMIT.iter().any(|ours| ours.trim() == line.trim());
    HOOK_LINES.contains(&line.trim_end()) || is_entry
}

/// Returns whether a file has no effect: it is empty, or contains only a line for its interpreter or the key of an
/// empty list.
fn is_bare(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.all(|line| line.starts_with("#!") || line == "repos:")
}

/// Returns a hook without the documented lines; `None` if it contains none of them. An indented line is kept: it
/// belongs to a statement of the user, which would be invalid without it.
fn without_hook_lines(text: &str) -> Option<String> {
    let is_ours = |line: &str| HOOK_LINES.contains(&line.trim_end());
    let rest = || text.split_inclusive('\n').filter(|line| !is_ours(line)).collect();
    text.lines().any(is_ours).then(rest)
}

fn without_pre_commit(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_entry = |lines: &[&str]| {
        let outer = indent(lines[0]);
        lines.iter().zip(PRE_COMMIT).all(|(line, ours)| {
            line.get(outer..).is_some_and(|line| line.trim_end() == ours)
                && line[..outer].trim().is_empty()
        })
    };
    let at = lines.windows(PRE_COMMIT.len()).position(is_entry)?;
    let rest = lines[..at].iter().chain(&lines[at + PRE_COMMIT.len()..]);
    Some(rest.copied().collect())
}

/// Removes a file that only the program wrote, if `is_ours` accepts its text. Returns the path if it does.
fn remove_own(
    path: PathBuf,
    is_ours: impl Fn(&str) -> bool,
    run: RunMode,
) -> Result<Option<PathBuf>> {
    let is_file = std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
    if !is_file || !replace::read(&path)?.is_some_and(|text| is_ours(&text)) {
        return Ok(None);
    }
    if run == RunMode::Real {
        std::fs::remove_file(&path).at(&path)?;
    }
    Ok(Some(path))
}

fn manual_pages(world: &World) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(world.home.join(MANUAL)).into_iter().flatten().flatten();
    let is_named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        (name.starts_with("throughline.") || name.starts_with("throughline-"))
            && name.ends_with(".1")
    };
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_named).collect();
    pages.sort();
    pages
}

fn is_page(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(".TH throughline"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_of_pre_commit_goes_and_others_stay() {
        let entry: String = PRE_COMMIT.map(|line| format!("{line}\n")).concat();
        let nested: String = PRE_COMMIT.map(|line| format!("    {line}\n")).concat();
        let other = "    - repo: https://example.com/a\n      rev: v1\n";
        for (before, after) in [
            (entry.clone(), String::new()),
            (format!("repos:\n{nested}"), "repos:\n".to_owned()),
            (format!("repos:\n{other}{nested}"), format!("repos:\n{other}")),
            (format!("repos:\n{nested}{other}"), format!("repos:\n{other}")),
        ] {
            assert_eq!(without_pre_commit(&before), Some(after.clone()));
            assert_eq!(without_pre_commit(&after), None);
        }
        assert!(is_bare("repos:\n") && !is_bare(&format!("repos:\n{other}")));
        // An entry that the user changed is kept.
        assert_eq!(without_pre_commit(&entry.replace("memory files", "memories")), None);
    }

    #[test]
    fn lines_of_a_git_hook_go_and_others_stay() {
        let documented = "#!/bin/sh\nexec throughline check --staged\n";
        assert!(is_bare(&without_hook_lines(documented).unwrap()));
        let more = "#!/bin/sh\nset -e\nmake lint\nthroughline check --staged\n";
        assert_eq!(without_hook_lines(more).unwrap(), "#!/bin/sh\nset -e\nmake lint\n");
        assert_eq!(without_hook_lines("#!/bin/sh\nthroughline check --staged || true\n"), None);
        let inside = "#!/bin/sh\nif true; then\n  throughline check --staged\nfi\n";
        assert_eq!(without_hook_lines(inside), None);
        assert!(!is_documented("  throughline check --staged"), "it is listed as a person's");
    }

    /// The lines that docs/team.md describes are the lines that are removed.
    #[test]
    fn the_page_for_teams_has_what_is_taken_out() {
        let page = include_str!("../../../../docs/team.md");
        assert!(page.contains(&format!("    #!/bin/sh\n    {}\n", HOOK_LINES[0])));
        let entry: String = PRE_COMMIT.map(|line| format!("    {line}\n")).concat();
        assert!(page.contains(&entry), "{entry}");
    }
}

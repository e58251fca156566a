//! Extras that `init` offers and `uninstall` removes: the merge driver of memory files, and guides that make Claude use
//! memory (a skill, a paragraph in AGENTS.md, and rules that allow read-only tools).

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::claude::document::JsonDocument;
use super::claude::places::SettingsScope;
use super::claude::record::{InsertionPlace, InsertionRecord, Purpose, put_in};
use super::claude::{guide, rules};
use super::merge_setup;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::world::World;

/// One of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Guide {
    /// Skill for Claude: when to use memory
    Skill,
    /// Paragraph in AGENTS.md: when to use memory
    Agents,
    /// Permission rules for the read-only tools
    Rules,
    /// Merge driver for memory files, in .gitattributes and git's configuration
    MergeDriver,
}

impl Guide {
    /// Returns whether the guide is written into Claude Code's own files.
    const fn is_registered(self) -> bool {
        matches!(self, Self::Skill | Self::Rules)
    }

    /// Returns the files that contain the guide; `by_plugin` is set if the plugin provides hooks, server and a skill.
    pub fn files(
        self,
        by_plugin: bool,
        world: &World,
        scope: SettingsScope,
        root: &Path,
    ) -> Vec<PathBuf> {
        match self {
            Self::Skill if by_plugin => Vec::new(),
            Self::Skill => vec![guide::skill(world, scope, root)],
            Self::Agents => vec![guide::agents(root)],
            Self::Rules => vec![world.claude.settings(scope, root)],
            Self::MergeDriver => vec![merge_setup::attributes(root), merge_setup::config(root)],
        }
    }
}

/// Fails if a requested guide has to be written into Claude Code's files while `no_register` forbids that.
pub fn check(wanted: &[Guide], no_register: bool) -> Result {
    if no_register && wanted.iter().any(|guide| guide.is_registered()) {
        return Err(Failure::new(
            "`--no-register` leaves Claude Code's files alone, which skill and rules go into",
        )
        .code(exit::USAGE)
        .hint("Leave one of both out."));
    }
    Ok(())
}

/// Inserts the requested guides; `by_plugin` is set if the plugin provides hooks, server and a skill.
pub fn put_all(
    wanted: &[Guide],
    by_plugin: bool,
    world: &World,
    scope: SettingsScope,
    root: &Path,
    out: &mut dyn Write,
) -> Result {
    for guide in wanted {
        let (name, path, changed) = match guide {
            Guide::Skill if by_plugin => {
                writeln!(out, "  skill       by the plugin")?;
                continue;
            }
            Guide::Skill => {
                let path = guide::skill(world, scope, root);
                let changed = guide::insert_skill(&path)?;
                ("skill      ", path, changed)
            }
            Guide::Agents => ("paragraph  ", guide::agents(root), guide::insert_paragraph(root)?),
            Guide::Rules => {
                let path = world.claude.settings(scope, root);
                let mut record = InsertionRecord::read(&world.dirs);
                let place = InsertionPlace { path: &path, purpose: Purpose::Rules, scope, root };
                let prefix = if by_plugin { rules::OF_PLUGIN } else { rules::OF_SERVER };
                let insert = |document: &JsonDocument| rules::insert(document, prefix);
                let changed = put_in(&mut record, &place, world.now, insert)?;
                record.write(&world.dirs)?;
                ("allow rules", path, changed)
            }
            Guide::MergeDriver => {
                let changed = merge_setup::insert(world, root)?;
                ("merging    ", merge_setup::attributes(root), changed)
            }
        };
        let as_it_was = if changed { "" } else { " (as it was)" };
        writeln!(out, "  {name} {}{as_it_was}", path.display())?;
    }
    Ok(())
}

//! What `init` offers besides, and `uninstall` takes out: a skill, a paragraph in AGENTS.md, and rules that allow the
//! tools that change nothing, so that Claude knows when to use memory; and the merge driver of memory files.

use std::io::Write;
use std::path::Path;

use clap::ValueEnum;

use super::merge_setup;
use crate::claude::places::Scope;
use crate::claude::record::{Place, Purpose, Record, put_in};
use crate::claude::{guide, rules};
use crate::failure::Result;
use crate::world::World;

/// One of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Guide {
    /// A skill that says when to use memory
    Skill,
    /// A paragraph about it in AGENTS.md
    Agents,
    /// Rules that allow recall, `search_sessions` and status without asking
    Rules,
    /// A merge driver for memory files: .gitattributes, and this repository's git configuration
    MergeDriver,
}

/// Puts in what was asked for.
pub fn put_all(
    wanted: &[Guide],
    world: &World,
    scope: Scope,
    root: &Path,
    out: &mut dyn Write,
) -> Result {
    wanted.iter().try_for_each(|guide| put(*guide, world, scope, root, out))
}

fn put(one: Guide, world: &World, scope: Scope, root: &Path, out: &mut dyn Write) -> Result {
    let (name, path, changed) = match one {
        Guide::Skill => {
            let path = guide::skill(world, scope, root);
            let changed = guide::insert_skill(&path)?;
            ("skill      ", path, changed)
        }
        Guide::Agents => ("paragraph  ", guide::agents(root), guide::insert_paragraph(root)?),
        Guide::Rules => {
            let path = world.claude.settings(scope, root);
            let mut record = Record::read(&world.dirs);
            let place = Place { path: &path, purpose: Purpose::Rules, scope, root };
            let changed = put_in(&mut record, &place, world.now, rules::insert)?;
            record.write(&world.dirs)?;
            ("allow rules", path, changed)
        }
        Guide::MergeDriver => {
            let changed = merge_setup::insert(world, root)?;
            ("merging    ", merge_setup::attributes(root), changed)
        }
    };
    writeln!(out, "  {name} {}{}", path.display(), if changed { "" } else { " (as it was)" })?;
    Ok(())
}

/// Says what [`take_out`] would change.
pub fn would_take_out(world: &World, root: &Path) -> Vec<String> {
    let skills = [Scope::User, Scope::Project].map(|scope| guide::skill(world, scope, root));
    let mut told: Vec<String> = skills
        .iter()
        .filter(|path| guide::is_our_skill(path))
        .map(|path| format!("remove {}", path.display()))
        .collect();
    if guide::has_paragraph(root) {
        told.push(format!("take the paragraph out of {}", guide::agents(root).display()));
    }
    if merge_setup::is_there(root) {
        told.push("take the merge driver out".to_owned());
    }
    told
}

/// Takes skills, the paragraph and the merge driver out; the rules go with what is registered.
pub fn take_out(world: &World, root: &Path, out: &mut dyn Write) -> Result {
    for scope in [Scope::User, Scope::Project] {
        let path = guide::skill(world, scope, root);
        if guide::remove_skill(&path)? {
            writeln!(out, "Removed {}", path.display())?;
        }
    }
    for path in merge_setup::remove(root)? {
        writeln!(out, "Taken out of {}", path.display())?;
    }
    if guide::remove_paragraph(root)? {
        writeln!(out, "Taken out of {}", guide::agents(root).display())?;
    }
    Ok(())
}

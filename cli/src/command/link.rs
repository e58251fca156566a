//! `throughline link`: adds this working tree to a known project. This is needed where the tree does not join
//! automatically, such as for a fork, a shallow clone, or a copy without a remote.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use memory_store::identity;
use memory_store::layout::Tree;
use serde::Serialize;

use super::{projects, trust};
use crate::failure::{AtPath as _, Result};
use crate::typed::WriteOptions;
use crate::view;
use crate::world::World;

/// Add this working tree to another project and share its memories
#[derive(Debug, Args)]
pub struct LinkArgs {
    /// Path of a working tree of the project, or id of the project
    project: String,
    #[command(flatten)]
    write: WriteOptions,
}

impl LinkArgs {
    /// Returns whether it decides something for the person.
    pub fn decides(&self, _: &World) -> bool {
        !self.write.dry_run
    }
}

/// A working tree and its new project.
#[derive(Serialize)]
struct Linked<'a> {
    root: &'a Path,
    project: String,
}

/// Runs the command.
pub fn run(args: &LinkArgs, world: &World, out: &mut dyn Write) -> Result {
    let named = PathBuf::from(&args.project);
    // An argument with a slash is a folder, since an id contains no slash.
    let project = if named.is_dir() || args.project.contains('/') {
        let cwd = named.canonicalize().named(&named)?;
        World { cwd, ..world.clone() }.tree()?.project
    } else {
        projects::find(world, &args.project)?.identity.project
    };
    let observed = processor::git::observe(&world.root());
    let belongs = |tree: &Tree| tree.project == project && tree.root == observed.root;
    if let Some(tree) = Tree::find(&world.dirs, &world.cwd).filter(belongs) {
        let (root, project) = (&tree.root, project.to_string());
        if args.write.dry_run {
            return view::would(&[], args.write.json, out);
        }
        if args.write.json {
            return view::json(&Linked { root, project }, out);
        }
        return Ok(writeln!(out, "{} belongs to project {project} already.", view::path(root))?);
    }
    if args.write.dry_run {
        let root = view::path(&observed.root);
        return view::would(
            &[format!("make {root} part of project {project}")],
            args.write.json,
            out,
        );
    }
    let tree = identity::link(&world.dirs, &observed, project)?;
    trust::publish_missing(world, &tree)?;
    if args.write.json {
        return view::json(&Linked { root: &tree.root, project: project.to_string() }, out);
    }
    writeln!(out, "{} now belongs to project {project}.", view::path(&tree.root))?;
    Ok(writeln!(
        out,
        "A memory folder of this tree is its from now on; `throughline sync` reads the sessions of this tree."
    )?)
}

//! `throughline add`: a memory that a person writes.

use std::io::{Read as _, Write};

use clap::Args;
use memory_store::index::journal::{self, Change as Noted};
use memory_store::memory::{Memory, PathRef, SaidBy, Scope, Source, Status};
use memory_store::store::Change;
use memory_store::{Kind, MemoryId};

use super::stores::Stores;
use super::view;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::world::World;

/// Bytes of a body that is read from stdin.
const BODY_BYTES_MAX: u64 = 64 << 10;

/// Adds a memory. One of the same kind and title is updated.
#[derive(Debug, Args)]
pub struct Add {
    /// What it says, in one line
    title: String,
    /// The kind: decision, convention, preference, fact, procedure, command, gotcha, fix,
    /// failed-approach, task, session
    #[arg(long, short = 'k', value_parser = super::kind, default_value = "fact")]
    kind: Kind,
    /// More about it, Markdown; `-` reads it from stdin
    #[arg(
        long,
        short = 'b',
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    body: String,
    /// A search word; may be repeated
    #[arg(long, short = 't')]
    tag: Vec<String>,
    /// A file or glob it is about, relative to the project's root; may be repeated
    #[arg(long, short = 'p')]
    path: Vec<String>,
    /// For all of your projects
    #[arg(long)]
    user: bool,
    /// Keep it in front whatever its age
    #[arg(long)]
    pin: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Add, world: &World, out: &mut dyn Write) -> Result {
    let stores = Stores::open(world)?;
    let memory = args.memory(world, &stores)?;
    let store = if args.user { &stores.user } else { &stores.project };
    let redactor = store.redactor_for_writing(&stores.settings)?;
    let saved = store.save(memory, &redactor, world.now)?;
    let scope = stores.scope_of(&saved.stored);
    let quarantine = stores.quarantine(store)?;
    let noted = Noted::Saved(&saved.stored, &redactor, &quarantine);
    journal::note(&world.dirs, &stores.tree, scope, noted)?;
    let held = quarantine.held(&saved.stored, &redactor);
    if args.json {
        return view::saved_json(&saved, held.as_ref(), out);
    }
    let done = match saved.change {
        Change::Created => "Added",
        Change::Updated => "Updated",
        Change::Unchanged => "Already known:",
    };
    view::saved(done, &saved, held.as_ref(), out)
}

/// A body as it was typed; `-` reads it from stdin.
pub fn body(typed: &str) -> Result<String> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(BODY_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| Failure::new(format!("stdin: {error}")))?;
    Ok(text)
}

impl Add {
    fn memory(&self, world: &World, stores: &Stores) -> Result<Memory> {
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return Err(Failure::new("the title is empty").code(exit::USAGE));
        }
        let scope = if self.user { Scope::User } else { Scope::Project };
        Ok(Memory {
            id: MemoryId::new(world.now, super::random()?),
            kind: self.kind,
            title,
            body: body(&self.body)?,
            scope,
            created: world.now,
            occurred: None,
            valid_from: None,
            valid_until: None,
            confidence: 1.0,
            source: Source {
                said_by: Some(SaidBy::User),
                extractor: Some("cli".to_owned()),
                ..Source::default()
            },
            paths: self
                .path
                .iter()
                .map(|path| super::project_path(world, &stores.tree, path))
                .map(|path| Ok(PathRef { path: path?, seen: None }))
                .collect::<Result<_>>()?,
            topic: None,
            tags: self.tag.clone(),
            cues: Vec::new(),
            entities: Vec::new(),
            facts: Vec::new(),
            relations: Vec::new(),
            supersedes: Vec::new(),
            superseded_by: None,
            pinned: self.pin,
            status: Status::Active,
            author: None,
            signatures: Vec::new(),
            command: None,
        })
    }
}

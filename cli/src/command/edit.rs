//! `throughline edit`: changes a memory, in an editor or by options.

use std::io::Write;

use clap::Args;
use memory_store::Kind;
use memory_store::field_lines::{is_same_fact, put_fact};
use memory_store::memory::{Fact, Memory, PathRef};
use memory_store::store::{By, Stored};

use super::add::body;
use super::browse::{self, Purpose};
use crate::caller::Caller;
use crate::credentials;
use crate::editor;
use crate::exit;
use crate::facts;
use crate::failure::{Failure, Result};
use crate::person;
use crate::relations::RelationChanges;
use crate::stores::Stores;
use crate::typed::WriteOptions;
use crate::view::{self, changes};
use crate::world::World;

/// Edit a memory
///
/// Opens the memory in $VISUAL or $EDITOR unless options specify the change.
#[derive(Debug, Args)]
pub struct EditArgs {
    /// Id of the memory [default: choose at the terminal]
    #[arg(add = crate::complete::ids())]
    id: Option<String>,
    /// New title
    #[arg(long)]
    title: Option<String>,
    /// New text below the title, in Markdown; `-` reads stdin
    #[arg(long, short = 'b', allow_hyphen_values = true)]
    body: Option<String>,
    /// New kind
    #[arg(long, short = 'k', value_parser = crate::typed::kind())]
    kind: Option<Kind>,
    /// Tag to add (repeatable)
    #[arg(long, short = 't', value_delimiter = ',', add = crate::complete::tags())]
    tag: Vec<String>,
    /// Tag to remove (repeatable)
    #[arg(long, add = crate::complete::tags())]
    untag: Vec<String>,
    /// File or glob to add (repeatable)
    #[arg(long, short = 'p')]
    path: Vec<String>,
    /// Fact to add, or whose dates to change, as
    /// "SUBJECT | PREDICATE | OBJECT | 2026-03-01..2026-04-01" (repeatable)
    #[arg(long, value_name = "FACT")]
    fact: Vec<String>,
    /// Fact to remove, as "SUBJECT | PREDICATE | OBJECT" (repeatable)
    #[arg(long, value_name = "FACT")]
    unfact: Vec<String>,
    /// Link to add, as "KIND ID": supports, refines, caused-by, part-of, ... (repeatable)
    #[arg(long, value_name = "RELATION")]
    relation: Vec<String>,
    /// Link to remove, as "KIND ID" (repeatable)
    #[arg(long, value_name = "RELATION")]
    unrelation: Vec<String>,
    /// New topic, as "AREA" or "AREA/TOPIC"; empty for none
    #[arg(long, value_name = "TOPIC")]
    topic: Option<String>,
    /// Subagent that alone receives the memory; empty for all
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Inject the memory first at the start of each session
    #[arg(long, conflicts_with = "unpin")]
    pin: bool,
    /// Remove the pin
    #[arg(long)]
    unpin: bool,
    #[command(flatten)]
    write: WriteOptions,
}

/// Runs the command.
pub fn run(args: &EditArgs, world: &World, out: &mut dyn Write) -> Result {
    if args.title.as_ref().is_some_and(|title| title.trim().is_empty()) {
        return Err(Failure::new("the title is empty").code(exit::USAGE));
    }
    let ids = browse::named_or_chosen(args.id.as_slice(), args.write.json, Purpose::Edit, world)?;
    let Some(id) = ids.first() else { return Ok(()) };
    let stores = Stores::open(world)?;
    let (store, stored) = stores.find(id)?;
    if args.write.dry_run {
        return args.would(&stores, &stored, out);
    }
    let typed = format!("throughline edit {}", stored.memory.id.short());
    let is_persons = world.caller == Caller::Person;
    if !is_persons && (store.is_persons(&stored)? || !args.changes_something()) {
        return Err(person::refused("it is what you said, wrote or kept", &typed));
    }
    let changes = FieldChanges::read(args, &stores, &stored.memory)?;
    let redactor = stores.redactor_for_writing(store)?;
    let saved = if args.changes_something() {
        let paths = args.path.iter().map(|path| crate::typed::project_path(&stores, path));
        let paths: Vec<String> = paths.collect::<Result<_>>()?;
        let body = args.body.as_deref().map(body).transpose()?;
        let by = if is_persons { By::Person } else { By::Model };
        let id = stored.memory.id;
        credentials::asking(world, store, |store| {
            let change = |memory: &mut Memory| args.apply(body.clone(), &paths, &changes, memory);
            store.edit_at(&stored.path, id, by, &redactor, change)
        })?
    } else {
        editor::edit_by_hand(&stores, stored, &redactor)?
    };
    let held = stores.note_saved(store, &saved.stored, &redactor)?;
    let (id, mut told) = (saved.stored.memory.id, Vec::new());
    // A memory that is withheld, or not in the repository, must not replace another memory.
    if held.is_none() && saved.suspects.is_empty() {
        changes.relations.mark_others(id, &stores, &mut told)?;
    }
    if is_persons {
        changes.relations.settle(id, &stores)?;
    }
    if args.write.json {
        return view::saved::json(&saved, held.as_ref(), None, out);
    }
    view::saved::show_changed(&saved, held.as_ref(), out)?;
    Ok(out.write_all(&told)?)
}

/// Changes to the facts and links of a memory.
struct FieldChanges {
    put: Vec<Fact>,
    removed: Vec<Fact>,
    relations: RelationChanges,
    agent: Option<Option<String>>,
}

impl FieldChanges {
    fn read(args: &EditArgs, stores: &Stores, memory: &Memory) -> Result<Self> {
        let (put, removed) = (
            facts::read_all(&args.fact, stores.world.now)?,
            facts::read_all(&args.unfact, stores.world.now)?,
        );
        let is_missing = |fact: &&Fact| !memory.facts.iter().any(|it| is_same_fact(it, fact));
        if let Some(fact) = removed.iter().find(is_missing) {
            let Fact { subject, predicate, object, .. } = fact;
            let fact = view::plain(&format!("{subject} | {predicate} | {object}"));
            return Err(Failure::new(format!("it has no fact `{fact}`")).code(exit::NOT_FOUND));
        }
        let relations =
            RelationChanges::read(&args.relation, &args.unrelation, Some(memory), stores)?;
        let agent = args.agent.as_deref().map(|name| match name.trim() {
            "" => Ok(None),
            name => crate::typed::agent(name).map(Some),
        });
        let agent = agent.transpose().map_err(|told| Failure::new(told).code(exit::USAGE))?;
        Ok(Self { put, removed, relations, agent })
    }
}

impl EditArgs {
    /// Prints the changes that the command would make.
    fn would(&self, stores: &Stores, stored: &Stored, out: &mut dyn Write) -> Result {
        if !self.changes_something() {
            return Err(Failure::new("nothing is known of a change before your editor made it")
                .code(exit::USAGE)
                .hint("Use an option such as --title with --dry-run."));
        }
        let paths = self.path.iter().map(|path| crate::typed::project_path(stores, path));
        let paths: Vec<String> = paths.collect::<Result<_>>()?;
        let mut changed = stored.memory.clone();
        let changes = FieldChanges::read(self, stores, &stored.memory)?;
        self.apply(self.body.as_deref().map(body).transpose()?, &paths, &changes, &mut changed);
        let redactor = stores.store_of(stored).redactor(&stores.settings);
        let id = stored.memory.id.short();
        let told = changes::between(&stored.memory, &redactor.redacted(&changed)).into_iter();
        let told: Vec<String> =
            told.map(|change| format!("change {id}: {}", change.told)).collect();
        view::would(&told, self.write.json, out)
    }

    fn changes_something(&self) -> bool {
        self.title.is_some()
            || self.body.is_some()
            || self.kind.is_some()
            || self.topic.is_some()
            || self.agent.is_some()
            || [&self.tag, &self.untag, &self.path, &self.fact, &self.unfact]
                .iter()
                .any(|list| !list.is_empty())
            || !(self.relation.is_empty() && self.unrelation.is_empty())
            || self.pin
            || self.unpin
    }

    /// Applies the changes to a memory; `paths` are its new paths, in the form used in memory files.
    fn apply(
        &self,
        body: Option<String>,
        paths: &[String],
        changes: &FieldChanges,
        memory: &mut Memory,
    ) {
        memory.facts.retain(|fact| !changes.removed.iter().any(|gone| is_same_fact(gone, fact)));
        changes.put.iter().for_each(|fact| put_fact(memory, fact));
        changes.relations.apply(memory);
        if let Some(topic) = &self.topic {
            memory.topic = Some(topic.trim().to_owned()).filter(|topic| !topic.is_empty());
        }
        if let Some(agent) = &changes.agent {
            memory.agent.clone_from(agent);
        }
        if let Some(title) = &self.title {
            memory.title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        if let Some(body) = body {
            memory.body = body;
        }
        memory.kind = self.kind.unwrap_or(memory.kind);
        memory.tags.retain(|tag| !self.untag.contains(tag));
        for tag in self.tag.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty()) {
            if !memory.tags.iter().any(|known| known == tag) {
                memory.tags.push(tag.to_owned());
            }
        }
        for path in paths {
            if !memory.paths.iter().any(|known| known.path == *path) {
                memory.paths.push(PathRef { path: path.clone(), seen: None });
            }
        }
        memory.pinned = (memory.pinned || self.pin) && !self.unpin;
    }
}

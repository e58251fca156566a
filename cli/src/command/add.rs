//! `throughline add`: saves a memory that a person writes.

use std::io::{Read as _, Write};

use clap::Args;
use memory_store::ledger::{Asked, PendingChange};
use memory_store::memory::{Memory, PathRef, SaidBy, Scope, Source};
use memory_store::neighbour::{self, Neighbour, Verdict};
use memory_store::store::{Change, Stored};
use memory_store::{Kind, MemoryId};
use serde_json::json;

use crate::ask;
use crate::caller::Caller;
use crate::exit;
use crate::facts;
use crate::failure::{Failure, Result};
use crate::neighbours::{self, NeighbourView};
use crate::person;
use crate::relations::RelationChanges;
use crate::stores::Stores;
use crate::typed::WriteOptions;
use crate::view;
use crate::view::changes::line;
use crate::view::style::{NAME, paint};
use crate::world::World;

/// The command line that a person types.
const TYPED: &str = "throughline add";

/// Maximum bytes of a body that is read from stdin.
const BODY_BYTES_MAX: u64 = 64 << 10;

/// Add a memory
///
/// If a memory with the same kind and title exists, its text is replaced.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// Memory in one sentence, which becomes its title; `-` reads stdin, with the body below the first line
    title: String,
    /// Kind of the memory
    #[arg(long, short = 'k', value_parser = crate::typed::kind(), default_value = "fact")]
    kind: Kind,
    /// Text below the title, in Markdown; `-` reads stdin
    #[arg(
        long,
        short = 'b',
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    body: String,
    /// Tag of the memory (repeatable)
    #[arg(long, short = 't', value_delimiter = ',', add = crate::complete::tags())]
    tag: Vec<String>,
    /// File or glob that the memory is about, relative to the project's root (repeatable)
    #[arg(long, short = 'p')]
    path: Vec<String>,
    /// Fact, as "SUBJECT | PREDICATE | OBJECT", with " | 2026-03-01.." if it is true only for a time
    /// (repeatable)
    #[arg(long, value_name = "FACT")]
    fact: Vec<String>,
    /// Link to another memory, as "KIND ID": supports, refines, caused-by, part-of, ... (repeatable)
    #[arg(long, value_name = "RELATION", hide_short_help = true)]
    relation: Vec<String>,
    /// Topic, as "AREA" or "AREA/TOPIC"
    #[arg(long, value_name = "TOPIC", hide_short_help = true)]
    topic: Option<String>,
    /// Subagent that alone receives the memory
    #[arg(long, value_name = "NAME", hide_short_help = true, value_parser = crate::typed::agent)]
    agent: Option<String>,
    /// Add the memory to your own memories, which apply to all of your projects
    #[arg(long)]
    user: bool,
    /// Inject the memory first at the start of each session
    #[arg(long)]
    pin: bool,
    /// Id of a memory that this one supersedes (repeatable)
    #[arg(long, hide_short_help = true, value_name = "ID", add = crate::complete::ids())]
    supersedes: Vec<String>,
    /// Add the memory even if it repeats or contradicts another memory
    #[arg(long, hide_short_help = true)]
    both: bool,
    #[command(flatten)]
    write: WriteOptions,
}

/// Relation of a new memory to its nearest neighbour, as decided by the person.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NeighbourWord {
    Replaces,
    Same,
    Both,
    /// No decision.
    Unsaid,
}

/// Runs the command.
pub fn run(args: &AddArgs, world: &World, out: &mut dyn Write) -> Result {
    let is_persons = world.caller == Caller::Person;
    if args.user && !is_persons {
        return Err(person::refused("`--user` decides for all of your projects", TYPED));
    }
    let stores = Stores::open(world)?;
    // The ids are looked up before any change, so that a mistyped id changes nothing.
    let mut relations = RelationChanges::read(&args.relation, &[], None, &stores)?;
    let mut replaced = args.replaced(&stores)?;
    replaced.extend(relations.take_replaced());
    let mut memory = args.memory(&stores)?;
    if !is_persons {
        memory.source.said_by = Some(SaidBy::Assistant);
        memory.source.extractor = Some(Source::NOTED.to_owned());
    }
    let recall = stores.recall();
    let mut near = neighbours::near(&recall, world, &memory);
    neighbours::keep_of_agent(&mut near, memory.agent.as_deref(), &recall);
    // A memory of the same kind and title is updated, so it is not a neighbour.
    near.retain(|near| {
        near.kind != memory.kind || near.title.to_lowercase() != memory.title.to_lowercase()
    });
    if !args.both {
        replaced.extend(united(&stores, &mut near)?);
    }
    let word = args.word(world, &near, out)?;
    match word {
        NeighbourWord::Same => {
            let known = near.first().map_or_else(String::new, |near| near.id.short());
            writeln!(out, "Nothing was added: {} says it.", paint(NAME, known))?;
            return Ok(());
        }
        NeighbourWord::Replaces => {
            if let Some(near) = near.first() {
                replaced.push(stores.find(&near.id.to_string())?.1);
            }
        }
        NeighbourWord::Both | NeighbourWord::Unsaid => {}
    }
    near.retain(|near| replaced.iter().all(|older| older.memory.id != near.id));
    // If Claude runs the command, memories that the user stated stay active until the user agrees.
    let pending = if is_persons { Vec::new() } else { users_words(&stores, &mut replaced)? };
    memory.supersedes = replaced.iter().map(|older| older.memory.id).collect();
    if word != NeighbourWord::Both {
        memory.relations = neighbour::contradictions(&near, &memory.supersedes);
    }
    relations.apply(&mut memory);
    let store = if args.user { &stores.user } else { &stores.project };
    if args.write.dry_run {
        let memory = store.redactor(&stores.settings).redacted(&memory);
        return args.would(&stores, &memory, &near, out);
    }
    let redactor = stores.redactor_for_writing(store)?;
    let saved = store.save(memory, &redactor, world.now)?;
    let held = stores.note_saved(store, &saved.stored, &redactor)?;
    near.retain(|near| near.id != saved.stored.memory.id);
    let mut told = Vec::new();
    // A memory that is withheld, or not in the repository, must not replace another memory.
    if held.is_none() && saved.suspects.is_empty() {
        for older in replaced.iter().filter(|older| older.memory.id != saved.stored.memory.id) {
            neighbours::supersede(&stores, older, saved.stored.memory.id, &mut told)?;
        }
    }
    if !is_persons {
        let id = saved.stored.memory.id;
        store.ask(PendingChange::new(id, Asked::Save, None, world.now))?;
        for older in &pending {
            let change = Asked::Replace(id);
            store.ask(PendingChange::new(older.memory.id, change, None, world.now))?;
            let older = older.memory.id.short();
            writeln!(
                told,
                "{older} is what you said, wrote or kept, and stays in force until you agree: `throughline review`."
            )?;
        }
        writeln!(
            told,
            "It is a note by Claude, because Claude Code ran this. If you typed it with `!`, the next sync makes it yours."
        )?;
    }
    if args.write.json {
        return view::saved::json(&saved, held.as_ref(), Some(&near), out);
    }
    let done = match saved.change {
        Change::Created => "Added",
        Change::Updated => "Updated",
        Change::Unchanged => "Already known:",
    };
    view::saved::show(done, &saved, held.as_ref(), out)?;
    out.write_all(&told)?;
    for related in facts::related(&stores, &saved.stored.memory)? {
        related.print(out)?;
    }
    near.iter().try_for_each(|near| neighbours::line(near, out))?;
    if word == NeighbourWord::Unsaid && near.iter().any(Neighbour::asks) {
        if near.iter().any(|near| near.verdict.differs()) {
            writeln!(
                out,
                "Until you decide in `throughline review`, sessions are given this one, with a note that it differs."
            )?;
        }
        writeln!(
            out,
            "The same `throughline add` with `--supersedes ID` lets it replace one of them, with `--both` all are given."
        )?;
    }
    Ok(())
}

/// Removes from `near` the neighbours that the new memory covers completely, and returns the memories of these
/// neighbours, which it replaces. Statements of the user are excluded, because the user decides about them.
fn united(stores: &Stores, near: &mut Vec<Neighbour>) -> Result<Vec<Stored>> {
    let mut united = Vec::new();
    for at in (0..near.len()).rev() {
        if !matches!(near[at].verdict, Verdict::Duplicate | Verdict::Covers) {
            continue;
        }
        let (store, stored) = stores.find(&near[at].id.to_string())?;
        if !store.is_persons(&stored)? {
            united.push(stored);
            near.remove(at);
        }
    }
    Ok(united)
}

/// Removes the memories that the user stated from `replaced`, and returns them. Fails if one of them applies to all
/// projects.
fn users_words(stores: &Stores, replaced: &mut Vec<Stored>) -> Result<Vec<Stored>> {
    let mut users = Vec::new();
    for stored in std::mem::take(replaced) {
        let store = stores.store_of(&stored);
        match store.is_persons(&stored)? {
            false => replaced.push(stored),
            true if stores.scope_of(&stored) == Scope::User => {
                let id = stored.memory.id.short();
                let why = format!("{id} is yours in every project");
                return Err(person::refused(&why, &format!("throughline edit {id}")));
            }
            true => users.push(stored),
        }
    }
    Ok(users)
}

/// Prints a remark if no file has the path of a memory. A glob may match later files.
fn warn_of_missing(stores: &Stores, path: &str) {
    if !path.contains(['*', '?', '[', '{']) && !stores.tree.root.join(path).exists() {
        view::remark(format_args!("No file {} is in the project now.", view::plain(path)));
    }
}

/// Returns the body of a memory; for `-`, the body is read from stdin.
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

impl AddArgs {
    /// Prints the memory that the command would add, and its neighbours.
    fn would(
        &self,
        stores: &Stores,
        memory: &Memory,
        near: &[Neighbour],
        out: &mut dyn Write,
    ) -> Result {
        let related = facts::related(stores, memory)?;
        let mut told = vec![format!("add the {} \"{}\"", memory.kind.name(), line(&memory.title))];
        told.extend(memory.supersedes.iter().map(|id| format!("replace {}", id.short())));
        if self.write.json {
            let neighbours: Vec<NeighbourView<'_>> = near.iter().map(NeighbourView::from).collect();
            let view = json!({"would": told, "neighbours": neighbours, "facts": related});
            return view::json(&view, out);
        }
        view::would(&told, false, out)?;
        related.iter().try_for_each(|related| related.print(out))?;
        near.iter().try_for_each(|near| neighbours::line(near, out))
    }

    /// Returns the memories to be replaced.
    fn replaced(&self, stores: &Stores) -> Result<Vec<Stored>> {
        let mut replaced: Vec<Stored> = Vec::new();
        for id in &self.supersedes {
            let (_, stored) = stores.find(id)?;
            if !replaced.contains(&stored) {
                replaced.push(stored);
            }
        }
        Ok(replaced)
    }

    /// Asks a person about the nearest neighbour, unless its relation is only `near` or was already decided.
    fn word(
        &self,
        world: &World,
        near: &[Neighbour],
        out: &mut dyn Write,
    ) -> Result<NeighbourWord> {
        if self.both {
            return Ok(NeighbourWord::Both);
        }
        let Some(nearest) = near.first().filter(|near| near.asks()) else {
            return Ok(NeighbourWord::Unsaid);
        };
        if self.write.json
            || self.write.dry_run
            || !self.supersedes.is_empty()
            || !world.interactive
        {
            return Ok(NeighbourWord::Unsaid);
        }
        neighbours::line(nearest, out)?;
        out.flush()?;
        let id = nearest.id.short();
        let words = [
            (NeighbourWord::Replaces, format!("The new one replaces {id}")),
            (NeighbourWord::Same, format!("{id} says it: add nothing")),
            (NeighbourWord::Both, "Both hold".to_owned()),
        ];
        let usual = match nearest.verdict {
            Verdict::Update | Verdict::Covers => 0,
            Verdict::Duplicate | Verdict::Within => 1,
            Verdict::NewerValue | Verdict::Contradiction | Verdict::Near => 2,
        };
        let items = words.clone().map(|(_, text)| text);
        let chosen = ask::select("How do they go together?", &items, usual)?;
        Ok(words.get(chosen).map_or(NeighbourWord::Both, |(word, _)| *word))
    }

    fn memory(&self, stores: &Stores) -> Result<Memory> {
        let (title, below) = match (&*self.title, &*self.body) {
            ("-", "-") => {
                return Err(Failure::new("`-` reads stdin only once").code(exit::USAGE));
            }
            ("-", _) => {
                let text = body("-")?;
                let (title, below) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
                let below = format!("{}\n\n{}", below.trim(), self.body);
                (title.to_owned(), below.trim().to_owned())
            }
            (title, typed) => (title.to_owned(), body(typed)?),
        };
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        if title.is_empty() {
            return Err(Failure::new("the title is empty").code(exit::USAGE));
        }
        let scope = if self.user { Scope::User } else { Scope::Project };
        let id = MemoryId::new(stores.world.now, crate::world::random()?);
        Ok(Memory {
            scope,
            source: Source {
                said_by: Some(SaidBy::User),
                extractor: Some(Source::TYPED.to_owned()),
                ..Source::default()
            },
            paths: self
                .path
                .iter()
                .map(|path| crate::typed::project_path(stores, path))
                .map(|path| path.inspect(|path| warn_of_missing(stores, path)))
                .map(|path| Ok(PathRef { path: path?, seen: None }))
                .collect::<Result<_>>()?,
            tags: self
                .tag
                .iter()
                .map(|tag| tag.trim().to_owned())
                .filter(|it| !it.is_empty())
                .collect(),
            facts: facts::read_all(&self.fact, stores.world.now)?,
            topic: self.topic.clone(),
            agent: self.agent.clone(),
            pinned: self.pin,
            ..Memory::new(id, self.kind, title, below, stores.world.now)
        })
    }
}

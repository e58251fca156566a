//! `throughline diff`: lists memories that a branch, a pull or the working tree adds, changes and removes.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use clap::Args;
use memory_store::file::MemoryFile;
use memory_store::{Kind, Memory, MemoryId};
use processor::git::memories;
use serde::Serialize;

use crate::exit;
use crate::failure::{Failure, Result};
use crate::memory_files::{self, FileContent, SideFile};
use crate::view::changes::{self, FieldChange};
use crate::view::style::{NAME, QUIET, STRONG, paint};
use crate::view::{self, plain, plural};
use crate::world::World;

/// Describe changes to memory files in sentences
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Commits to compare: REV (with the working tree), REV..REV, or REV...REV (since their merge base) [default:
    /// uncommitted changes]
    #[arg(value_name = "REV[..REV]")]
    range: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One side of the comparison.
#[derive(Clone, Debug)]
enum DiffSide {
    /// A commit, with its name as given.
    Commit { name: String, id: String },
    /// The files of the working tree.
    WorkingTree,
}

impl DiffSide {
    fn name(&self) -> &str {
        match self {
            Self::Commit { name, .. } => name,
            Self::WorkingTree => "the working tree",
        }
    }

    fn files(&self, root: &Path) -> Result<Vec<SideFile>> {
        match self {
            Self::Commit { id, .. } => memory_files::in_commit(root, id),
            Self::WorkingTree => memory_files::in_working_tree(root),
        }
    }
}

/// The differences between two sides.
#[derive(Default, Serialize)]
struct MemoryDifference {
    from: String,
    to: String,
    added: Vec<MemoryLine>,
    changed: Vec<ChangedMemory>,
    removed: Vec<MemoryLine>,
    /// Files of either side that are not valid memories.
    unreadable: Vec<UnreadableFile>,
}

/// A memory on one side.
#[derive(Clone, Serialize)]
struct MemoryLine {
    id: MemoryId,
    short: String,
    kind: Kind,
    title: String,
    file: String,
}

/// A memory with differences.
#[derive(Serialize)]
struct ChangedMemory {
    #[serde(flatten)]
    memory: MemoryLine,
    changes: Vec<FieldChange>,
}

/// A file that cannot be read.
#[derive(PartialEq, Eq, Serialize)]
struct UnreadableFile {
    side: String,
    file: String,
    error: String,
}

/// Runs the command.
pub fn run(args: &DiffArgs, world: &World, out: &mut dyn Write) -> Result {
    let root = world.root();
    let (from, to) = sides(args.range.as_deref().unwrap_or("HEAD"), &root)?;
    let difference = compare(&root, &from, &to)?;
    if args.json {
        return view::json(&difference, out);
    }
    show(&difference, out)
}

fn sides(range: &str, root: &Path) -> Result<(DiffSide, DiffSide)> {
    if let Some((one, other)) = range.split_once("...") {
        let (one, other) = (commit(root, one)?, commit(root, other)?);
        let (DiffSide::Commit { id, name }, DiffSide::Commit { id: other_id, .. }) = (&one, &other)
        else {
            return Ok((one, other));
        };
        let base = memories::merge_base(root, id, other_id).ok_or_else(|| {
            Failure::new(format!(
                "{} and {} have no commit in common",
                plain(name),
                plain(other.name())
            ))
            .code(exit::NOT_FOUND)
            .hint("Compare them as they are, with two dots.")
        })?;
        let name = format!("the commit where it left {name}");
        return Ok((DiffSide::Commit { name, id: base }, other));
    }
    match range.split_once("..") {
        Some((one, other)) => Ok((commit(root, one)?, commit(root, other)?)),
        None => Ok((commit(root, range)?, DiffSide::WorkingTree)),
    }
}

fn commit(root: &Path, typed: &str) -> Result<DiffSide> {
    let name = if typed.is_empty() { "HEAD" } else { typed };
    if let Err(why) = processor::git::version::check() {
        return Err(Failure::new(why).hint("`throughline diff` compares commits of git."));
    }
    match memories::commit(root, name) {
        Some(id) => Ok(DiffSide::Commit { name: name.to_owned(), id }),
        None if !processor::git::is_repository(root) => Err(memory_files::silent(root)),
        None if name == "HEAD" => Err(Failure::new("nothing is committed here yet")
            .code(exit::NOT_FOUND)
            .hint("`throughline list` shows the memories that there are.")),
        None => Err(Failure::new(format!("`{}` names no commit", plain(name)))
            .code(exit::NOT_FOUND)
            .hint("Name a branch, a tag or a commit, as in `throughline diff main..feature`.")),
    }
}

fn compare(root: &Path, from: &DiffSide, to: &DiffSide) -> Result<MemoryDifference> {
    let mut unreadable = Vec::new();
    let old = read(from, root, &mut unreadable)?;
    let mut new = read(to, root, &mut unreadable)?;
    let (from, to) = (from.name().to_owned(), to.name().to_owned());
    let mut difference = MemoryDifference { from, to, ..MemoryDifference::default() };
    for (id, (file, memory)) in old {
        let Some((new_file, new_memory)) = new.remove(&id) else {
            difference.removed.push(MemoryLine::new(&memory, file));
            continue;
        };
        let mut changes = changes::between(&memory, &new_memory);
        if file != new_file {
            let told = format!("its file was {}", view::path(&file));
            changes.push(FieldChange { field: "file", told });
        }
        if !changes.is_empty() {
            let memory = MemoryLine::new(&new_memory, new_file);
            difference.changed.push(ChangedMemory { memory, changes });
        }
    }
    difference.added.extend(new.into_values().map(|(file, memory)| MemoryLine::new(&memory, file)));
    difference.unreadable = unreadable;
    Ok(difference)
}

/// Returns the memories of a side by their ids, each with its file. If several files have the same id, the first one is
/// used.
fn read(
    side: &DiffSide,
    root: &Path,
    unreadable: &mut Vec<UnreadableFile>,
) -> Result<BTreeMap<MemoryId, (String, Memory)>> {
    let mut memories = BTreeMap::new();
    for SideFile { path, content } in side.files(root)? {
        let error = match content {
            FileContent::Bytes(bytes) => match MemoryFile::parse(Path::new(&path), bytes) {
                Ok(file) => {
                    memories.entry(file.memory.id).or_insert((path, file.memory));
                    continue;
                }
                Err(error) => error.to_string(),
            },
            FileContent::Link => format!("{}: it is a symbolic link", view::path(&path)),
            FileContent::Unmerged => format!("{}: its merge is not done", view::path(&path)),
            FileContent::Unreadable(why) => format!("{}: {why}", view::path(&path)),
        };
        unreadable.push(UnreadableFile { side: side.name().to_owned(), file: path, error });
    }
    Ok(memories)
}

impl MemoryLine {
    fn new(memory: &Memory, file: String) -> Self {
        Self {
            id: memory.id,
            short: memory.id.short(),
            kind: memory.kind,
            title: memory.title.clone(),
            file,
        }
    }
}

/// Returns one sentence for each memory, grouped by kind. The keys are the positions of the kinds in [`Kind::ALL`].
fn sentences(difference: &MemoryDifference) -> BTreeMap<usize, Vec<String>> {
    let mut sentences: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut tell = |memory: &MemoryLine, verb: &str, more: &str| {
        let place =
            Kind::ALL.iter().position(|kind| *kind == memory.kind).unwrap_or(Kind::ALL.len());
        let (id, title) = (paint(NAME, &memory.short), changes::line(&memory.title));
        sentences.entry(place).or_default().push(format!("{verb} {id} \"{title}\"{more}."));
    };
    difference.added.iter().for_each(|memory| tell(memory, "Adds", ""));
    for ChangedMemory { memory, changes } in &difference.changed {
        let told: Vec<&str> = changes.iter().map(|change| &*change.told).collect();
        tell(memory, "Changes", &format!(": {}", told.join("; ")));
    }
    difference.removed.iter().for_each(|memory| tell(memory, "Removes", ""));
    sentences
}

fn show(difference: &MemoryDifference, out: &mut dyn Write) -> Result {
    let MemoryDifference { from, to, added, changed, removed, unreadable } = difference;
    let (from, to) = (changes::line(from), changes::line(to));
    if added.is_empty() && changed.is_empty() && removed.is_empty() {
        view::remark(format_args!("No memory differs between {from} and {to}."));
    } else {
        let counts = format!(
            "{} added, {} changed, {} removed",
            plural(added.len(), "memory"),
            changed.len(),
            removed.len()
        );
        writeln!(
            out,
            "{} {}",
            paint(STRONG, counts),
            paint(QUIET, format!("from {from} to {to}"))
        )?;
    }
    for (place, sentences) in sentences(difference) {
        let kind = Kind::ALL.get(place).map_or("other", |kind| kind.name());
        writeln!(out, "\n{}", paint(STRONG, kind))?;
        sentences.iter().try_for_each(|sentence| writeln!(out, "  {sentence}"))?;
    }
    if !unreadable.is_empty() {
        writeln!(out, "\n{}", paint(STRONG, "cannot be read"))?;
    }
    for UnreadableFile { side, error, .. } in unreadable {
        writeln!(out, "  In {}: {}", changes::line(side), changes::line(error))?;
    }
    Ok(())
}

//! The preview of `init`: memories that the sessions at hand would give, found in a temporary home, without a
//! model, before anything is written into the repository.

use std::collections::BTreeMap;
use std::io::Write;

use memory_store::Kind;
use memory_store::identity::{self, Mode, Observed};
use memory_store::layout::UserDirs;
use memory_store::store::Store;
use processor::sync::SyncOptions;
use serde::Serialize;

use super::reader::WITHOUT_MODEL;
use super::{sync, view};
use crate::elsewhere;
use crate::failure::{At as _, Failure, Result};
use crate::style::{QUIET, STRONG, paint};
use crate::world::World;

/// The confidence from which on a memory is worth keeping; the others may be.
pub const WORTH_CONFIDENCE: f32 = 0.7;

/// Counts of what would be learned.
#[derive(Debug, Default, Serialize)]
pub struct Preview {
    /// Transcripts that were read.
    pub transcripts: usize,
    /// Memories that are worth keeping.
    pub worth: usize,
    /// Others.
    pub more: usize,
    /// All of them, by kind.
    pub kinds: BTreeMap<&'static str, usize>,
}

/// Looks what would be learned. Nothing stays of it.
pub fn of(world: &World, observed: &Observed) -> Result<Preview> {
    let folder = tempfile::tempdir().map_err(|error| {
        Failure::new(format!("no temporary folder: {error}"))
            .hint("Set TMPDIR to a folder that you may write.")
    })?;
    let place = |name: &str| folder.path().join(name);
    // No settings: no model is asked, and nothing leaves this machine.
    let dirs = UserDirs {
        data: place("data"),
        state: place("state"),
        config: place("config"),
        claude: world.dirs.claude.clone(),
        models: None,
    };
    let tree = identity::vouch(&dirs, observed, Some(Mode::Private), super::random()?, world.now)?;
    let transcripts = processor::collect::discover::transcripts(&dirs, &tree)?.transcripts.len();
    if transcripts == 0 {
        return Ok(Preview::default());
    }
    let shown = sync::shown();
    let options =
        SyncOptions { dirs: &dirs, ollama_host: None, ..world.sync_options(&tree, &*shown) };
    processor::sync::sync(&options)?;
    let memories = Store::open(&dirs, &tree)?.list()?.memories;
    let mut preview = Preview { transcripts, ..Preview::default() };
    for stored in memories.iter().filter(|stored| stored.memory.superseded_by.is_none()) {
        let worth = stored.memory.confidence >= WORTH_CONFIDENCE;
        *(if worth { &mut preview.worth } else { &mut preview.more }) += 1;
        *preview.kinds.entry(stored.memory.kind.name()).or_default() += 1;
    }
    folder.close().at(&std::env::temp_dir())?;
    Ok(preview)
}

/// Tells what was found.
pub fn show(preview: &Preview, out: &mut dyn Write) -> Result {
    let Preview { transcripts, worth, more, kinds } = preview;
    if *transcripts == 0 {
        writeln!(out, "Claude Code has no session of this project yet.")?;
        return Ok(());
    }
    let all = worth + more;
    let found = view::plural(all, "memory");
    let read = view::plural(*transcripts, "transcript");
    writeln!(out, "{} would be learned from {read}", paint(STRONG, found))?;
    let count = |kind: Kind| kinds.get(kind.name()).map(|count| kind.counted(*count));
    let kinds: Vec<String> = Kind::ALL.into_iter().filter_map(count).collect();
    if !kinds.is_empty() {
        writeln!(out, "  {}", paint(QUIET, kinds.join(", ")))?;
    }
    if *worth > 0 && *more > 0 {
        writeln!(
            out,
            "  {}",
            paint(QUIET, format!("{worth} of them {} well founded", view::are(*worth)))
        )?;
    }
    Ok(())
}

/// Prints what would be learned and changes nothing.
pub fn run(world: &World, observed: &Observed, json: bool, out: &mut dyn Write) -> Result {
    let preview = of(world, observed)?;
    if json {
        return view::json(&preview, out);
    }
    show(&preview, out)?;
    if preview.transcripts == 0 {
        for elsewhere in elsewhere::history(&world.dirs, &observed.root) {
            writeln!(out, "{}", elsewhere.told())?;
        }
    }
    writeln!(out, "Nothing was written, and no model was asked. {WITHOUT_MODEL}")?;
    Ok(())
}

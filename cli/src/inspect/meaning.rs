//! Checks whether recall compares the meaning of texts in addition to their words.

use std::fmt;

use memory_store::Error;
use memory_store::embed::Table;
use memory_store::embed::model::EmbedderModel;
use memory_store::index::Index;
use memory_store::layout::Tree;

use super::check::HealthCheck;
use crate::setup::installation::Installation;
use crate::world::World;

/// Properties of texts that recall compares.
pub enum Meaning {
    /// Words and meaning.
    Both,
    /// Only words, with the reason.
    Words(String),
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Both => f.write_str("by words and meaning"),
            Self::Words(reason) => write!(f, "by words alone ({reason})"),
        }
    }
}

/// Determines the basis of recall in a working tree.
pub fn of(world: &World, tree: &Tree) -> Meaning {
    let table = match world.dirs.models.as_deref().map(Table::open) {
        Some(Ok(table)) => table,
        Some(Err(error)) => return Meaning::Words(reason(&error)),
        None => return Meaning::Words("model files missing".to_owned()),
    };
    let index = Index::open(&world.dirs.tree(&tree.root).index).ok().flatten();
    let memories = index.and_then(|index| index.memories).filter(|segment| segment.docs() > 0);
    match memories.map(|segment| segment.vector_head()) {
        Some(Ok(head)) if head.map(|head| head.space) != Some(table.space()) => {
            Meaning::Words("the index was made without this model: `throughline sync`".to_owned())
        }
        // Without memories there is nothing to compare. Another check reports a damaged index.
        Some(_) | None => Meaning::Both,
    }
}

fn reason(error: &Error) -> String {
    match error {
        Error::Io { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
            format!("model files missing: {}", path.display())
        }
        other => other.to_string(),
    }
}

/// Checks the files of the embedder.
pub fn check(world: &World, tree: Option<&Tree>) -> HealthCheck {
    const NAME: &str = "model";
    let again = |until: &str| {
        format!("{}; until then {until}.", Installation::find(world).again(&world.home))
    };
    let by_words = || again("recall goes by words alone");
    let Some(dir) = &world.dirs.models else {
        return HealthCheck::care(NAME, "no folder for model files", by_words());
    };
    match EmbedderModel::verify(dir) {
        Err(error) if Table::open(dir).is_ok() => {
            HealthCheck::care(NAME, reason(&error), again("searches go by the quicker table"))
        }
        Err(error) => HealthCheck::care(NAME, reason(&error), by_words()),
        Ok(_) => match tree.map(|tree| of(world, tree)) {
            Some(Meaning::Words(reason)) => HealthCheck::care(
                NAME,
                reason,
                "Run `throughline sync`; until then recall goes by words alone.",
            ),
            Some(Meaning::Both) | None => HealthCheck::good(NAME, dir.display().to_string()),
        },
    }
}

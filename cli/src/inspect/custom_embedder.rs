//! Checks of the second space: its model, and its vectors of memories.

use memory_store::layout::Tree;
use memory_store::settings::Embedder;
use processor::publish::custom_embedder::standing;

use super::check::HealthCheck;
use super::ollama::Served;
use crate::world::World;

/// Returns a line with the model, the number of memories that have a vector of the model, and the program that computes
/// the vectors.
pub fn shown(world: &World, tree: &Tree, embedder: &Embedder) -> String {
    summary(standing(&world.dirs.tree(&tree.root), embedder), embedder)
}

fn summary(standing: Option<(usize, usize)>, embedder: &Embedder) -> String {
    let have = match standing {
        Some((have, all)) => format!("{have} of {all} memories have vectors"),
        None => "there is no index yet".to_owned(),
    };
    format!("{} ({}), {have}", embedder.model, embedder.provider)
}

/// Checks that the model is available and that every memory has a vector.
pub fn check(world: &World, tree: Option<&Tree>, embedder: &Embedder) -> HealthCheck {
    const NAME: &str = "second space";
    let served = Served {
        check: NAME,
        table: "embedder",
        host: &embedder.host,
        consented_hosts: &embedder.consented_hosts,
        model: &embedder.model,
        without: "search goes on without it",
    };
    if let Some(problem) = served.problem(world) {
        return problem;
    }
    let Some(tree) = tree else { return served.good() };
    let standing = standing(&world.dirs.tree(&tree.root), embedder);
    let seen = summary(standing, embedder);
    match standing {
        Some((have, all)) if have == all => HealthCheck::good(NAME, seen),
        Some(_) | None => HealthCheck::care(NAME, seen, "Run `throughline sync`."),
    }
}

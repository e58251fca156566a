//! Whether the second space serves: its model and its vectors.

use memory_store::layout::Tree;
use memory_store::settings::Embedder;
use processor::second::standing;

use super::doctor::Check;
use super::ollama;
use crate::world::World;

/// In one line: the model, how many memories have its vectors, and who asks it.
pub fn shown(world: &World, tree: &Tree, embedder: &Embedder) -> String {
    let hooks = match embedder.hook_ms {
        0 => String::new(),
        most => format!("; hooks wait {most} ms for it"),
    };
    let have = match standing(&world.dirs.tree(&tree.root), embedder) {
        Some((have, all)) => format!("{have} of {all} memories have vectors"),
        None => "there is no index yet".to_owned(),
    };
    format!("{} ({}), {have}{hooks}", embedder.model, embedder.provider)
}

/// Whether the model answers and every memory has its vector.
pub fn check(world: &World, tree: Option<&Tree>, embedder: &Embedder) -> Check {
    const NAME: &str = "second space";
    let Some(models) = ollama::models(world, &embedder.host) else {
        return Check::care(
            NAME,
            "the configured Ollama does not answer; search goes on without it",
            "Start it with `ollama serve`, or remove `[embedder]` from config.toml.",
        );
    };
    let model = &embedder.model;
    if !ollama::has(&models, model) {
        let remedy = format!("Run `ollama pull {model}`.");
        return Check::care(NAME, format!("Ollama has no model {model}"), remedy);
    }
    let Some(tree) = tree else { return Check::good(NAME, format!("{model} answers")) };
    let seen = shown(world, tree, embedder);
    match standing(&world.dirs.tree(&tree.root), embedder) {
        Some((have, all)) if have == all => Check::good(NAME, seen),
        Some(_) | None => Check::care(NAME, seen, "Run `throughline sync`."),
    }
}

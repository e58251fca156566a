//! What of a project's private files cannot be read, for whoever asks how it is doing.

use memory_store::Error;
use memory_store::index::health::{Depth, Health, inspect};
use memory_store::layout::Tree;

use crate::world::World;

/// What cannot be read of the indexes that there are: the project's, what was thought in it, and the user's.
pub fn of_indexes(world: &World, tree: &Tree, depth: Depth) -> Option<Error> {
    let state = world.dirs.tree(&tree.root);
    let folders = [state.index(), state.thinking(), world.dirs.user_state().index()];
    let there = folders.iter().filter(|folder| folder.exists());
    there.map(|folder| inspect(folder, depth)).find_map(Health::damage)
}

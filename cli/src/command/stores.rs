//! The two stores a command sees: the project's, and the user's own.

use memory_store::Error;
use memory_store::layout::Tree;
use memory_store::store::{Listing, Store, Stored};

use crate::failure::{Failure, Result};
use crate::world::World;

/// The project's store and the user's own.
pub struct Stores {
    /// The working tree.
    pub tree: Tree,
    /// Its memories.
    pub project: Store,
    /// The memories for every project.
    pub user: Store,
}

impl Stores {
    /// Opens both stores; a failure when nobody vouched for the working tree.
    pub fn open(world: &World) -> Result<Self> {
        let tree = world.tree()?;
        let project = Store::open(&world.dirs, &tree)?;
        Ok(Self { tree, project, user: Store::user(&world.dirs)? })
    }

    /// Finds a memory in either store by its id, or the last characters of it.
    pub fn find(&self, id: &str) -> Result<(&Store, Stored)> {
        self.find_with(id, Store::find)
    }

    /// Finds a memory that was put aside.
    pub fn find_archived(&self, id: &str) -> Result<(&Store, Stored)> {
        self.find_with(id, |store, id| {
            let wanted = id.trim().to_ascii_lowercase();
            let mut found: Vec<Stored> = store
                .archived()?
                .memories
                .into_iter()
                .filter(|stored| {
                    !wanted.is_empty() && stored.memory.id.to_string().ends_with(&wanted)
                })
                .collect();
            match (found.len(), found.pop()) {
                (1, Some(stored)) => Ok(stored),
                (count, _) => Err(Error::NotFound { id: id.to_owned(), found: count }),
            }
        })
    }

    fn find_with(
        &self,
        id: &str,
        find: impl Fn(&Store, &str) -> memory_store::Result<Stored>,
    ) -> Result<(&Store, Stored)> {
        let (project, user) = (find(&self.project, id), find(&self.user, id));
        match (project, user) {
            (Ok(found), Err(Error::NotFound { found: 0, .. })) => Ok((&self.project, found)),
            (Err(Error::NotFound { found: 0, .. }), Ok(found)) => Ok((&self.user, found)),
            (Ok(_), Ok(_)) => Err(ambiguous(id, 2)),
            (
                Err(Error::NotFound { found: project, .. }),
                Err(Error::NotFound { found: user, .. }),
            ) => Err(ambiguous(id, project + user)),
            (Ok(_), Err(Error::NotFound { found, .. }))
            | (Err(Error::NotFound { found, .. }), Ok(_)) => Err(ambiguous(id, found + 1)),
            (Err(error), _) | (_, Err(error)) => Err(error.into()),
        }
    }

    /// Lists both stores.
    pub fn list(&self) -> Result<Listing> {
        let (mut all, user) = (self.project.list()?, self.user.list()?);
        all.memories.extend(user.memories);
        all.broken.extend(user.broken);
        Ok(all)
    }
}

fn ambiguous(id: &str, found: usize) -> Failure {
    Error::NotFound { id: id.to_owned(), found }.into()
}

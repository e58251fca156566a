//! Other projects of this user: what the user shares of them.

use std::fs;

use memory_store::Timestamp;
use memory_store::layout::Tree;
use memory_store::recall::{Hit, Search, render};

use super::Local;
use crate::backend::RecallRequest;

/// Projects that are looked through.
const PROJECTS_MAX: usize = 16;
/// Memories of each of them.
const HITS_MAX: usize = 4;
/// Tokens of what each of them tells.
const TOKENS_MAX: u32 = 800;
/// Records of working trees that are read to find them.
const RECORDS_MAX: usize = 2_000;
/// Bytes of such a record.
const RECORD_BYTES_MAX: u64 = 16 << 10;

/// Memories of another project.
pub(super) struct Other {
    pub name: String,
    pub tree: Tree,
    pub hits: Vec<Hit>,
    pub text: String,
}

impl Local {
    /// Asks the other projects that the user shares, each of which is named. What answers weakly there is left out.
    pub(super) fn of_other_projects(
        &self,
        request: &RecallRequest,
        own: &Tree,
        now: Timestamp,
        notes: &mut Vec<String>,
    ) -> Vec<Other> {
        let shared = self.shared_trees(own);
        if shared.is_empty() {
            notes.push(
                "No other project is shared: the user allows that in each project with `throughline \
                 share on`."
                    .to_owned(),
            );
            return Vec::new();
        }
        let names: Vec<String> = shared.iter().map(name).collect();
        notes.push(format!("Asked as well: {}.", names.join(", ")));
        let asked = shared.into_iter().filter_map(|tree| {
            let search = Search {
                text: request.query.clone()?,
                kinds: request.kinds.clone(),
                tags: request.tags.clone(),
                limit: HITS_MAX,
                without_held: true,
                ..Search::default()
            };
            let recalled = self.recall_in(&tree).search(&search, now);
            let hits = if recalled.weak { Vec::new() } else { recalled.hits };
            // The user's own memories were found at home.
            let hits: Vec<Hit> = hits
                .into_iter()
                .filter(|hit| hit.collection != memory_store::recall::Collection::User)
                .collect();
            let rendered = render::injection("search", &hits, TOKENS_MAX);
            let name = name(&tree);
            let text = format!("Of the project {name}:\n{}", rendered.text);
            (!rendered.pieces.is_empty()).then_some(Other { name, tree, hits, text })
        });
        asked.collect()
    }

    /// The working trees of other projects that may be asked from here, one for each project.
    fn shared_trees(&self, own: &Tree) -> Vec<Tree> {
        let dirs = &self.environment.dirs;
        let Ok(records) = fs::read_dir(dirs.data.join("by-path")) else { return Vec::new() };
        let mut trees: Vec<Tree> = Vec::new();
        for record in records.flatten().take(RECORDS_MAX) {
            let Some(root) = root_in(&record.path()) else { continue };
            let Some(tree) = Tree::find(dirs, &root).filter(|tree| tree.root == root) else {
                continue;
            };
            let is_asked = tree.project != own.project
                && dirs.project(tree.project).shared().exists()
                && trees.iter().all(|known| known.project != tree.project);
            if is_asked {
                trees.push(tree);
            }
        }
        trees.sort_by(|a, b| a.root.cmp(&b.root));
        trees.truncate(PROJECTS_MAX);
        trees
    }
}

/// The path that a record is of.
fn root_in(record: &std::path::Path) -> Option<std::path::PathBuf> {
    use std::io::Read;
    use std::os::unix::ffi::OsStringExt;

    let mut bytes = Vec::new();
    fs::File::open(record).ok()?.take(RECORD_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let line = bytes.split(|&byte| byte == b'\n').next()?;
    // The project's id is 32 digits.
    Some(std::ffi::OsString::from_vec(line.get(33..)?.to_vec()).into())
}

fn name(tree: &Tree) -> String {
    let name = tree.main_root.file_name().unwrap_or(tree.main_root.as_os_str());
    render::clean(&name.to_string_lossy())
}

//! `throughline trust`: vouches for a memory folder that came with a repository, and says whose commits
//! bring memories that are given.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use memory_store::identity::{self, ADDRESS_BYTES_MAX, Authors, Known};
use memory_store::layout::{Place, ProjectDir, STORE_DIR, Tree};
use memory_store::mode::Mode;
use memory_store::settings::Pulled;
use memory_store::settings_file;
use memory_store::suspicion::{Quarantine, Withholding};
use processor::progress::Silent;
use serde::Serialize;

use super::{sync, view};
use crate::failure::{At as _, Failure, Result};
use crate::style::{NAME, QUIET, paint};
use crate::world::World;

/// Vouches for this project's memory folder, so that it is read; without it nothing is.
///
/// With --author, of what others commit only that author's memories are given; the rest is held back until
/// `throughline review` lets it out. Your own commits (with --signed, those that you signed), what is written on
/// this machine and what is not committed yet count as yours. `pulled = "reviewed"` in your own settings holds
/// what others commit whoever they are. The author is what a commit says, and anybody can write any address
/// there: without --signed this is a convenience and no protection.
#[derive(Debug, Args)]
pub struct Trust {
    /// The working tree; without it, the current one
    dir: Option<PathBuf>,
    /// List what this machine vouches for
    #[arg(long, conflicts_with_all = ["dir", "author", "signed", "revoke"])]
    list: bool,
    /// Take only what this author commits, and those named before; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    author: Vec<String>,
    /// Take only what a trusted author signed; git checks it with your own keys
    #[arg(long)]
    signed: bool,
    /// Take what anybody commits again, signed or not
    #[arg(long, conflicts_with_all = ["author", "signed", "revoke", "list"])]
    any_author: bool,
    /// Withdraw it again; memories stay where they are. With --author or --signed, only that
    #[arg(long)]
    revoke: bool,
    /// Print JSON (with --list)
    #[arg(long, requires = "list")]
    json: bool,
}

/// Runs the command.
pub fn run(args: &Trust, world: &World, out: &mut dyn Write) -> Result {
    if args.list {
        return list(args, world, out);
    }
    let folder = match &args.dir {
        Some(dir) => dir.canonicalize().at(dir)?,
        None => world.cwd.clone(),
    };
    let has_limits = !args.author.is_empty() || args.signed || args.any_author;
    match (args.revoke, has_limits) {
        (true, true) => limit(args, world, &at(world, folder).tree()?, out),
        (true, false) => revoke(world, folder, out),
        (false, has_limits) => {
            for address in &args.author {
                check(address)?;
            }
            let known = Tree::find(&world.dirs, &folder);
            let tree = match known {
                Some(tree) if has_limits => tree,
                Some(_) | None => vouch(args, world, folder, out)?,
            };
            if has_limits { limit(args, world, &tree, out) } else { Ok(()) }
        }
    }
}

/// The world as seen from another folder.
fn at(world: &World, folder: PathBuf) -> World {
    World { cwd: folder, ..world.clone() }
}

fn check(address: &str) -> Result {
    let address = address.trim();
    if address.len() > ADDRESS_BYTES_MAX {
        return Err(Failure::new(format!("an address has {ADDRESS_BYTES_MAX} bytes at most"))
            .code(crate::exit::USAGE)
            .hint(format!("What was given has {}.", address.len())));
    }
    if !address.is_empty() && !address.contains(|c: char| c.is_whitespace() || "<>,".contains(c)) {
        return Ok(());
    }
    Err(Failure::new(format!("`{}` is no address", view::plain(address)))
        .code(crate::exit::USAGE)
        .hint("Write it as `git log --format=%ae` does, for example ada@example.com."))
}

/// Lets readers without an index hold back what nobody looked at, until the first sync, where the user's settings
/// limit what is given.
pub fn hold_by_settings(world: &World, tree: &Tree) -> Result {
    let (settings, _) = settings_file::load(&world.dirs, Some(tree));
    match settings.pulled {
        Pulled::All => Ok(()),
        Pulled::Authors | Pulled::Reviewed => hold_unjudged(&world.dirs.project(tree.project)),
    }
}

/// From here on, readers without an index hold back what nobody looked at.
fn hold_unjudged(home: &ProjectDir) -> Result {
    if !home.withheld().exists() {
        Quarantine::withhold(home, Some(&Withholding::new()))?;
    }
    Ok(())
}

/// Changes whose commits bring memories that are given, and publishes what follows.
fn limit(args: &Trust, world: &World, tree: &Tree, out: &mut dyn Write) -> Result {
    let home = world.dirs.project(tree.project);
    let authors = identity::limit(&world.dirs, tree.project, |before| {
        let authors = args.limits(before)?;
        if authors.is_some() {
            hold_unjudged(&home)?;
        }
        Ok::<_, Failure>(authors)
    })?;
    let (settings, _) = settings_file::load(&world.dirs, Some(tree));
    writeln!(out, "{}", told(authors.as_ref(), settings.pulled))?;
    if world.mode == Mode::Full {
        sync::sync(world, &sync::Request { tree, from: None, afresh: false }, &Silent)?;
        let held = super::stores::Stores::at(world, tree.clone())?.held()?.len();
        if held > 0 {
            writeln!(out, "{held} held back: `throughline review` shows them.")?;
        }
    }
    Ok(())
}

/// Whose memories are given, in words: by what was said of the project, and by the settings, which may be
/// stricter.
fn told(authors: Option<&Authors>, pulled: Pulled) -> String {
    let trusted = authors.map_or(&[][..], |authors| &authors.trusted);
    if pulled == Pulled::Reviewed {
        let noted = match trusted {
            [] => String::new(),
            [one] => format!(" Until they say otherwise, {one} is noted only."),
            several => format!(" Until they say otherwise, {} are noted only.", several.join(", ")),
        };
        return format!(
            "Given: your own memories only. Your settings say `pulled = \"reviewed\"`: what others commit waits \
             for `throughline review`, whoever they are.{noted}"
        );
    }
    let whose = match trusted {
        [] => "your own memories only".to_owned(),
        trusted => format!("your own memories and those committed by {}", trusted.join(", ")),
    };
    match authors {
        None if pulled == Pulled::All => "Given: what anybody commits.".to_owned(),
        None => format!(
            "Given: {whose}, for your settings say `pulled = \"authors\"` and no author is named here."
        ),
        Some(authors) if authors.signed => {
            format!("Given: {whose}, where the commit has a good signature of one of you.")
        }
        Some(_) => format!(
            "Given: {whose}. Anybody can write any author into a commit; --signed asks for signatures."
        ),
    }
}

impl Trust {
    /// The limits after this command.
    fn limits(&self, before: Option<Authors>) -> Result<Option<Authors>> {
        if self.any_author {
            return Ok(None);
        }
        if !self.revoke {
            let mut authors = before.unwrap_or_default();
            self.author.iter().for_each(|address| authors.add(address));
            authors.signed |= self.signed;
            return Ok(Some(authors));
        }
        let mut authors = before.ok_or_else(|| {
            Failure::new("what anybody commits is given here").hint(
                "`throughline trust --author ADDRESS` limits that; `throughline trust --revoke` alone stops \
                 reading the folder.",
            )
        })?;
        for address in &self.author {
            if !authors.remove(address) {
                return Err(Failure::new(format!(
                    "`{}` is not trusted here",
                    view::plain(address)
                ))
                .code(crate::exit::NOT_FOUND)
                .hint("`throughline trust --list` shows who is."));
            }
        }
        authors.signed &= !self.signed;
        Ok(Some(authors))
    }
}

fn vouch(args: &Trust, world: &World, folder: PathBuf, out: &mut dyn Write) -> Result<Tree> {
    let root = super::root_of(&folder);
    super::refuse_home(world, &root)?;
    let observed = processor::git::observe(&root);
    memory_store::store::check_folder(&observed.root)?;
    if !observed.root.join(STORE_DIR).is_dir() && identity::known(&world.dirs, &observed)?.is_none()
    {
        let root = view::path(&observed.root);
        return Err(Failure::new(format!("{root} has no memory folder to vouch for"))
            .code(crate::exit::NOT_SET_UP)
            .hint("`throughline init` sets a project up; `throughline trust DIR` is about another folder."));
    }
    let tree = identity::trust(&world.dirs, &observed, super::random()?, world.now)?;
    hold_by_settings(world, &tree)?;
    writeln!(out, "Vouched for {}.", view::path(&tree.root))?;
    if args.author.is_empty() && !args.signed {
        writeln!(out, "Its memories are recalled from the next `throughline sync` on.")?;
    }
    Ok(tree)
}

fn revoke(world: &World, folder: PathBuf, out: &mut dyn Write) -> Result {
    let tree = match Tree::locate(&world.dirs, &folder) {
        Some(Place::Trusted(tree) | Place::Changed(tree)) => tree,
        None => at(world, folder).tree()?,
    };
    identity::untrust(&world.dirs, &tree.root)?;
    writeln!(
        out,
        "{} is no longer read. Its memories stay where they are.",
        view::path(&tree.root)
    )?;
    Ok(())
}

#[derive(Serialize)]
struct KnownView<'a> {
    project: String,
    mode: identity::Mode,
    created: memory_store::Timestamp,
    paths: Vec<&'a PathBuf>,
    remotes: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    authors: Option<&'a Authors>,
}

impl<'a> From<&'a Known> for KnownView<'a> {
    fn from(known: &'a Known) -> Self {
        let mut paths: Vec<&PathBuf> = known.trees.iter().map(|tree| &tree.root).collect();
        // Seen from a linked worktree, the main one is a worktree as well.
        paths.sort();
        paths.dedup();
        Self {
            project: known.identity.project.to_string(),
            mode: known.identity.mode,
            created: known.identity.created,
            paths,
            remotes: &known.identity.remotes,
            authors: known.identity.authors.as_ref(),
        }
    }
}

fn list(args: &Trust, world: &World, out: &mut dyn Write) -> Result {
    let known = identity::list(&world.dirs)?;
    let views: Vec<KnownView> = known.iter().map(KnownView::from).collect();
    if args.json {
        return view::json(&views, out);
    }
    if views.is_empty() {
        writeln!(out, "No project yet. `throughline init` sets one up.")?;
    }
    for known in &views {
        let mode = match known.mode {
            identity::Mode::Committed => "committed",
            identity::Mode::Private => "private",
        };
        let since = format!("{mode}, since {}", known.created.date());
        writeln!(out, "{}  {}", paint(NAME, &known.project), paint(QUIET, since))?;
        for path in &known.paths {
            writeln!(out, "  {}", view::path(path))?;
        }
        if let Some(authors) = known.authors {
            let signed = if authors.signed { " (signed)" } else { "" };
            let trusted = match authors.trusted.as_slice() {
                [] => "nobody".to_owned(),
                trusted => trusted.join(", "),
            };
            let (settings, _) = settings_file::load(&world.dirs, None);
            let strict = match settings.pulled {
                Pulled::All | Pulled::Authors => "",
                Pulled::Reviewed => {
                    ", held until a review all the same (`pulled` in your settings)"
                }
            };
            writeln!(out, "  authors besides you: {}{signed}{strict}", view::plain(&trusted))?;
        }
        if known.paths.is_empty() {
            writeln!(out, "  {}", paint(QUIET, "no working tree is left"))?;
        }
    }
    Ok(())
}

/// The project whose id starts with `prefix`.
pub fn find(world: &World, prefix: &str) -> Result<Known> {
    let wanted = prefix.trim().to_ascii_lowercase();
    let mut known = identity::list(&world.dirs)?;
    known.retain(|known| {
        !wanted.is_empty() && known.identity.project.to_string().starts_with(&wanted)
    });
    match (known.len(), known.pop()) {
        (1, Some(known)) => Ok(known),
        (found, _) => Err(Failure::new(format!("{found} projects have an id like `{prefix}`"))
            .code(crate::exit::NOT_FOUND)
            .hint("`throughline trust --list` shows the ids.")),
    }
}

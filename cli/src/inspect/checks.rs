//! Checks of the chain from Claude Code to memories, in the order in which data is processed.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use memory_store::background;
use memory_store::fs::{disk, private_folders};
use memory_store::identity;
use memory_store::index::Index;
use memory_store::index::health::Depth;
use memory_store::layout::Tree;
use memory_store::migrate::Site;
use memory_store::mode::Mode;
use memory_store::progress::Progress;
use memory_store::recall::{Recall, Search};
use memory_store::settings_file;
use memory_store::store::readme::{self, ReadmeState};
use memory_store::{Timestamp, time::DAY_MS};
use processor::collect::configurations;
use processor::git::ignore_rule;
use processor::log;

use super::check::HealthCheck;
use super::programs::{self, dry_run};
use super::{custom_embedder, folders, meaning, ollama, plugin_checks};
use crate::command::off;
use crate::failure::{Failure, Result};
use crate::setup::claude::client::{self, ClaudeCodeVersion};
use crate::setup::claude::plugin::Plugin;
use crate::setup::claude::register::{self, FileRegistrations};
use crate::setup::claude::{hooks, server};
use crate::setup::installation::Installation;
use crate::setup::{elsewhere, no_sessions};
use crate::stores::Stores;
use crate::view::{self, are, clock, plural};
use crate::world::World;

/// Days after which Claude Code deletes transcripts by default.
const CLEANUP_DAYS_DEFAULT: u64 = 30;

/// Maximum run time of an idle hook that users do not notice.
const HOOK_SLOW: Duration = Duration::from_millis(50);

/// Maximum memories whose files are compared with the index.
const SEARCH_MAX: usize = 1_000;

/// Remedy for an index that cannot be read.
const REBUILD: &str = "Run `throughline sync`, which makes it again.";

/// Maximum time for which notes of hooks may remain unprocessed.
const UNPROCESSED_MS_MAX: i64 = DAY_MS;

/// Runs all checks.
pub fn all(world: &World, found: Result<Tree>) -> Vec<HealthCheck> {
    let tree = found.as_ref().ok();
    let root = tree.map_or_else(|| world.root(), |tree| tree.root.clone());
    let mut checks = vec![mode(world), client(world)];
    checks.extend(installed(world));
    checks.push(git());
    checks.extend(crate::setup::merge_setup::check(world, &root));
    let plugin = Plugin::find(world, &root);
    checks.push(registered(world, &root, &plugin));
    checks.extend(plugin_checks::programs(world, &plugin));
    checks.push(transcripts_kept(world, &root));
    checks.extend(fired(world));
    checks.push(server(world, &root, &plugin));
    checks.push(private_folders(world));
    checks.extend(reachable_folders(world, tree));
    checks.push(formats(world, tree));
    checks.push(meaning::check(world, tree));
    match &found {
        Ok(tree) => {
            checks.extend(project(world, tree));
            checks.extend(readme(tree));
        }
        Err(failure) => checks.push(HealthCheck::failed("project", failure)),
    }
    checks.extend(settings(world, tree));
    checks
}

fn mode(world: &World) -> HealthCheck {
    const NAME: &str = "mode";
    match off::until(world) {
        Some(Some(until)) => {
            return HealthCheck::care(
                NAME,
                format!("off until {}", clock::time(until)),
                "`throughline on` ends it.",
            );
        }
        Some(None) => return HealthCheck::care(NAME, "off", "`throughline on` ends it."),
        None => {}
    }
    if let Some(value) = &world.unclear_mode {
        return HealthCheck::care(
            NAME,
            format!("off: THROUGHLINE is `{value}`, which means nothing"),
            "Set it to full, read or off, or unset it.",
        );
    }
    match world.mode {
        Mode::Full => HealthCheck::good(NAME, "full: recalls and learns"),
        Mode::Read => HealthCheck::care(
            NAME,
            "read: recalls, learns nothing (THROUGHLINE, CI or a cloud session)",
            "Set THROUGHLINE=full to learn here.",
        ),
        Mode::Off => HealthCheck::care(NAME, "off through THROUGHLINE", "Unset THROUGHLINE."),
    }
}

fn client(world: &World) -> HealthCheck {
    const NAME: &str = "client";
    let Some(path) = client::find(world) else {
        return HealthCheck::care(
            NAME,
            "no `claude` in PATH",
            "Nothing to do when Claude Code runs in an IDE or elsewhere.",
        );
    };
    match client::version(&path) {
        Some(version) if version < ClaudeCodeVersion(1, 0, 62) => HealthCheck::bad(
            NAME,
            format!("Claude Code {version} knows no session-start hooks"),
            "Update Claude Code.",
        ),
        Some(version) => {
            HealthCheck::good(NAME, format!("Claude Code {version} ({})", path.display()))
        }
        None => HealthCheck::care(
            NAME,
            format!("{} does not say its version", path.display()),
            "Run `claude --version`.",
        ),
    }
}

/// Checks whether git is available. Without git, a project is identified only by its path.
fn git() -> HealthCheck {
    const NAME: &str = "git";
    match processor::git::version::check() {
        Ok(version) => HealthCheck::good(NAME, version),
        Err(seen) => HealthCheck::care(
            NAME,
            seen,
            "Install a newer one; until then branches and deletions are not told apart, and what you write into \
             memory files by hand counts as from the repository.",
        ),
    }
}

/// Checks that the stores have formats that this program can read and write.
fn formats(world: &World, tree: Option<&Tree>) -> HealthCheck {
    const NAME: &str = "formats";
    let sites = match tree {
        Some(tree) => Site::all_known(&world.dirs, tree),
        None => vec![Site::user(&world.dirs)],
    };
    let mut pending = 0;
    for site in &sites {
        match site.version().and_then(|_| site.state()) {
            Ok(state) => pending += state.pending.len(),
            Err(error) => {
                let remedy = error.remedy().unwrap_or("Until then nothing is written there.");
                return HealthCheck::bad(NAME, error.to_string(), remedy);
            }
        }
    }
    let more = "`throughline doctor --migrations` shows more.";
    match pending {
        0 => HealthCheck::good(NAME, "all stores have the formats of this version"),
        pending => HealthCheck::care(
            NAME,
            format!("{} pending", plural(pending, "migration")),
            format!("`throughline sync` runs them; {more}"),
        ),
    }
}

/// Checks the README that explains the memory folder to teammates.
fn readme(tree: &Tree) -> Option<HealthCheck> {
    const NAME: &str = "README";
    let memories = tree.store().join("memories");
    if !memories.is_dir() {
        return None;
    }
    let path = view::path(tree.store().join(readme::NAME));
    Some(match readme::state(&memories) {
        ReadmeState::Ours => HealthCheck::good(NAME, path),
        ReadmeState::Changed => {
            HealthCheck::good(NAME, format!("{path}, changed by a person; it stays so"))
        }
        ReadmeState::Missing => {
            HealthCheck::good(NAME, format!("{path} is not there; `throughline init` writes one"))
        }
    })
}

fn installed(world: &World) -> Vec<HealthCheck> {
    const NAME: &str = "programs";
    let (mut faults, mut missing) = (Vec::new(), Vec::new());
    for name in programs::all() {
        let path = world.program(name);
        if !path.is_file() {
            missing.push(name);
        } else if !disk::is_executable(&path) {
            let remedy = format!("Run chmod +x {}", path.display());
            faults.push(HealthCheck::bad(
                NAME,
                format!("{} is not executable", path.display()),
                remedy,
            ));
        }
    }
    let seen = match missing.as_slice() {
        [] => None,
        [name] => Some(format!("{} is missing", world.program(name).display())),
        names => Some(format!("missing in {}: {}", world.bin_dir.display(), names.join(", "))),
    };
    faults.extend(seen.map(|seen| HealthCheck::bad(NAME, seen, again(world))));
    if faults.is_empty() {
        faults.push(same_build(world));
    }
    faults
}

/// Describes how to install the programs again.
fn again(world: &World) -> String {
    format!("{}.", Installation::find(world).again(&world.home))
}

/// Checks that all programs are of the same build. Programs of other builds may be unable to read each other's files.
fn same_build(world: &World) -> HealthCheck {
    const NAME: &str = "programs";
    let ours = env!("CARGO_PKG_VERSION");
    let asked = ["throughline-processor", server::PROGRAM];
    let different =
        asked.into_iter().find_map(|name| match programs::version(&world.program(name)) {
            Some(said) if said == ours => None,
            Some(said) => Some(format!("{name} is version {said}, this is {ours}")),
            None => Some(format!("{name} is too old to say its version, this is {ours}")),
        });
    match different {
        Some(seen) => HealthCheck::bad(NAME, seen, again(world)),
        None => HealthCheck::good(NAME, format!("{ours} in {}", world.bin_dir.display())),
    }
}

fn registered(world: &World, root: &Path, plugin: &Plugin) -> HealthCheck {
    const NAME: &str = "hooks";
    let found = register::find_hooks(world, root);
    for file in &found {
        if let Err(failure) = &file.hooks {
            let remedy = "Correct the named place; Claude Code cannot read the file either.";
            return HealthCheck::bad(NAME, failure.to_string(), remedy);
        }
        if file.disabled {
            return HealthCheck::bad(
                NAME,
                format!("`disableAllHooks` is set in {}", file.path.display()),
                "Remove it, or nothing is recalled.",
            );
        }
    }
    let Some(missing) = missing_events(&found, plugin) else {
        return plugin_checks::hooks(NAME, plugin, world, root);
    };
    if let Some(path) = gone_program(&found) {
        let seen = format!("{} is registered, but is not there", path.display());
        return HealthCheck::bad(NAME, seen, "Run `throughline init`.");
    }
    if let Some(path) = program_paths(&found).find(|path| path.parent() != Some(&*world.bin_dir)) {
        let seen = format!("{} is registered: another installation", path.display());
        return HealthCheck::care(NAME, seen, "Run `throughline init` to use this one.");
    }
    let files: Vec<String> = found
        .iter()
        .filter(|file| file.hooks.as_ref().is_ok_and(|hooks| !hooks.is_empty()))
        .map(|file| file.path.display().to_string())
        .collect();
    if run_twice(&found) {
        // Claude Code runs identical handlers only once, but runs both of two handlers that are written differently.
        let seen = format!("registered in {}: each hook runs twice", files.join(" and "));
        return HealthCheck::care(
            NAME,
            seen,
            "Take one out: `throughline uninstall`, then `throughline init`.",
        );
    }
    if missing.is_empty() {
        let also = if plugin.is_on() { "; the plugin gives way to them" } else { "" };
        HealthCheck::good(NAME, format!("all registered in {}{also}", files.join(" and ")))
    } else {
        let seen = format!("{} not registered", missing.join(", "));
        HealthCheck::care(
            NAME,
            seen,
            "Run `throughline init`, unless your client is too old for them.",
        )
    }
}

/// Returns the events without a registered hook; `None` if no settings file contains a Throughline hook. The plugin
/// registers the events of each program that no settings file contains.
fn missing_events(found: &[FileRegistrations], plugin: &Plugin) -> Option<Vec<&'static str>> {
    let registered: Vec<&hooks::HookEvent> =
        found.iter().flat_map(|file| &file.hooks).flatten().map(|(hook, _)| *hook).collect();
    if registered.is_empty() {
        return None;
    }
    let is_named = |program: &str| registered.iter().any(|hook| hook.program == program);
    let missing = hooks::HOOKS.iter().filter(|hook| {
        let is_there = registered.iter().any(|other| other.event == hook.event);
        let is_of_plugin = plugin.is_on() && !is_named(hook.program);
        !is_there && !is_of_plugin
    });
    Some(missing.map(|hook| hook.event).collect())
}

/// Returns whether an event has several Throughline handlers that differ.
fn run_twice(found: &[FileRegistrations]) -> bool {
    let mut handlers: Vec<(&str, &serde_json::Value)> = found
        .iter()
        .flat_map(|file| &file.hooks)
        .flatten()
        .map(|(hook, handler)| (hook.event, &handler["command"]))
        .collect();
    handlers.sort_by_key(|(event, command)| (*event, command.to_string()));
    handlers.dedup();
    handlers.windows(2).any(|pair| pair[0].0 == pair[1].0)
}

fn program_paths(found: &[FileRegistrations]) -> impl Iterator<Item = PathBuf> {
    let handlers = found.iter().flat_map(|file| &file.hooks).flatten();
    handlers.filter_map(|(_, handler)| hooks::program_path(handler))
}

/// Checks how long Claude Code keeps transcripts: they must be read before that.
fn transcripts_kept(world: &World, root: &Path) -> HealthCheck {
    const NAME: &str = "clean-up";
    let found = register::find_hooks(world, root);
    let days = found.iter().find_map(|file| file.cleanup_days);
    let days = days.unwrap_or(CLEANUP_DAYS_DEFAULT);
    match days {
        0 => HealthCheck::bad(
            NAME,
            "`cleanupPeriodDays` is 0: Claude Code keeps no transcripts to learn from",
            "Set it to 30 or more.",
        ),
        1..7 => HealthCheck::care(
            NAME,
            format!("Claude Code deletes transcripts after {days} days, and so does the archive"),
            "Set `cleanupPeriodDays` higher to keep more.",
        ),
        _ => HealthCheck::good(NAME, format!("Claude Code keeps transcripts for {days} days")),
    }
}

/// Runs each hook with an empty payload in an untrusted folder, where the hook must print nothing.
fn fired(world: &World) -> Vec<HealthCheck> {
    const NAME: &str = "dry run";
    let mut slowest = None;
    for name in hooks::PROGRAMS {
        let path = world.program(name);
        if !path.is_file() {
            continue;
        }
        match dry_run(&path) {
            Ok(took) => slowest = slowest.max(Some(took)),
            Err(seen) => {
                return vec![HealthCheck::bad(NAME, format!("{name}: {seen}"), again(world))];
            }
        }
    }
    // If no hook program exists, another check reports that.
    let Some(slowest) = slowest else { return Vec::new() };
    let seen =
        format!("each hook ends by itself, in {:.1} ms at most", slowest.as_secs_f64() * 1e3);
    vec![if slowest > HOOK_SLOW {
        HealthCheck::care(
            NAME,
            seen,
            "The machine is busy, or a virus scanner looks at each start.",
        )
    } else {
        HealthCheck::good(NAME, seen)
    }]
}

/// Returns a registered hook program that does not exist.
pub fn gone_program(found: &[FileRegistrations]) -> Option<PathBuf> {
    program_paths(found).find(|path| !path.is_file())
}

fn server(world: &World, root: &Path, plugin: &Plugin) -> HealthCheck {
    const NAME: &str = "MCP server";
    match register::find_server(world, root) {
        Err(failure) => HealthCheck::bad(NAME, failure.to_string(), "Correct the named place."),
        Ok(None) => plugin_checks::server(NAME, plugin),
        Ok(Some((path, entry))) => {
            let command = entry.get("command").and_then(serde_json::Value::as_str);
            let command = PathBuf::from(command.unwrap_or_default());
            if command.is_absolute() && !command.is_file() {
                let seen = format!("{} is registered, but is not there", command.display());
                return HealthCheck::bad(NAME, seen, "Run `throughline init`.");
            }
            if command
                .parent()
                .is_some_and(|folder| folder.is_absolute() && folder != world.bin_dir)
            {
                let seen = format!("{} is registered: another installation", command.display());
                return HealthCheck::care(NAME, seen, "Run `throughline init` to use this one.");
            }
            HealthCheck::good(NAME, format!("registered in {}", path.display()))
        }
    }
}

/// Checks that only the owner can read private folders.
fn private_folders(world: &World) -> HealthCheck {
    const NAME: &str = "privacy";
    let data = view::path(&world.dirs.data);
    match fs::metadata(&world.dirs.data) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return HealthCheck::good(NAME, format!("{data} is not there yet"));
        }
        Err(error) => {
            let seen = format!("{data}: {error}");
            return HealthCheck::bad(NAME, seen, "Give yourself the right to read and write it.");
        }
    }
    // Only open folders are listed, not the folders in a closed one. `doctor` has already closed the outer folders if
    // it was permitted to.
    let open = private_folders::open_to_others(&world.dirs);
    match open.first() {
        None => HealthCheck::good(NAME, format!("{data} is yours alone")),
        Some(folder) => {
            let folder = view::path(folder);
            let seen = format!("others may enter {folder}");
            HealthCheck::bad(NAME, seen, format!("Run chmod 700 {folder}"))
        }
    }
}

/// Checks that Throughline's folders can be read and written. Where only recall is allowed, checks only reading.
fn reachable_folders(world: &World, tree: Option<&Tree>) -> Vec<HealthCheck> {
    const NAME: &str = "folders";
    let dirs = &world.dirs;
    let mut folders = vec![dirs.data.clone(), dirs.data.join("by-path"), dirs.state.clone()];
    folders.push(dirs.user_memories());
    if let Some(tree) = tree {
        let home = dirs.project(tree.project);
        let state = dirs.tree(&tree.root);
        folders.extend([
            home.folder.clone(),
            home.archive.clone(),
            home.drafts.clone(),
            home.archived_memories.clone(),
        ]);
        folders.extend([state.folder.clone(), state.index.clone(), state.sessions.clone()]);
        let in_repository =
            identity::mode(dirs, tree.project).is_ok_and(|mode| mode == identity::Mode::Committed);
        folders.push(match in_repository {
            true => tree.store().join("memories"),
            false => home.private_memories.clone(),
        });
    }
    let check = |folder: &PathBuf| {
        folders::check_readable(folder)?;
        if world.mode == Mode::Full { folders::check_writable(folder) } else { Ok(()) }
    };
    let failures: BTreeMap<String, Failure> = folders
        .iter()
        .filter_map(|folder| check(folder).err())
        .map(|failure| (failure.to_string(), failure))
        .collect();
    if failures.is_empty() {
        let seen = match world.mode {
            Mode::Full => "all can be read and written",
            Mode::Read | Mode::Off => "all can be read",
        };
        return vec![HealthCheck::good(NAME, seen)];
    }
    failures.values().map(|failure| HealthCheck::failed(NAME, failure)).collect()
}

fn project(world: &World, tree: &Tree) -> Vec<HealthCheck> {
    let mut checks = vec![vouched(world, tree)];
    match Stores::at(world, tree.clone()) {
        Ok(stores) => {
            checks.extend(store(&stores, world.now));
            checks.extend(held(&stores));
        }
        Err(failure) => checks.push(HealthCheck::failed("memories", &failure)),
    }
    checks.extend(ignored(world, tree));
    checks.push(index(world, tree));
    checks.extend(crate::inspect::damage::archive(&world.dirs.project(tree.project)));
    checks.push(background(world, tree));
    checks.push(transcripts(world, tree));
    checks
}

fn vouched(world: &World, tree: &Tree) -> HealthCheck {
    const NAME: &str = "project";
    let mode = match identity::mode(&world.dirs, tree.project) {
        Ok(identity::Mode::Committed) => "memories in the repository",
        Ok(identity::Mode::Private) => "memories private",
        Err(error) => {
            return HealthCheck::bad(NAME, error.to_string(), "Run `throughline init` again.");
        }
    };
    HealthCheck::good(NAME, format!("{}, {mode}", tree.root.display()))
}

fn store(stores: &Stores, now: Timestamp) -> Vec<HealthCheck> {
    const NAME: &str = "memories";
    let listed = || -> Result<_> {
        let (project, user) = (stores.project.list()?, stores.user.list()?);
        let count = stores.counts(&project, &user, now).current();
        let broken: Vec<_> = project.broken.into_iter().chain(user.broken).collect();
        Ok((count, broken, stores.project.tombstones()?.len()))
    };
    let (count, broken, tombstones) = match listed() {
        Ok(listed) => listed,
        Err(failure) => return vec![HealthCheck::failed(NAME, &failure)],
    };
    let mut checks =
        vec![HealthCheck::good(NAME, format!("{}, {tombstones} removed", plural(count, "memory")))];
    if let Some(missing) = elsewhere::missing_folder(&stores.project) {
        checks = vec![HealthCheck::bad(NAME, missing, "Move it back, or run `throughline sync`.")];
    }
    checks.extend(broken.into_iter().map(|error| HealthCheck::failed(NAME, &error.into())));
    checks
}

/// Reports a rule by which git ignores memories that should be committed.
fn ignored(world: &World, tree: &Tree) -> Option<HealthCheck> {
    let mode = identity::mode(&world.dirs, tree.project).ok()?;
    let rule = match mode {
        identity::Mode::Committed => ignore_rule::of_memories(&tree.main_root)?,
        identity::Mode::Private => return None,
    };
    let remedy = "Where nobody else is to get them, `throughline init --private` keeps them out of the repository.";
    Some(HealthCheck::care("sharing", rule.description(), remedy))
}

/// Reports withheld memories. They are not an error, but the user has to review them.
fn held(stores: &Stores) -> Option<HealthCheck> {
    const NAME: &str = "withheld";
    match stores.held() {
        Ok(held) if held.is_empty() => None,
        Ok(held) => {
            let seen = format!(
                "{} {} not given to sessions",
                plural(held.len(), "memory"),
                are(held.len())
            );
            Some(HealthCheck::care(NAME, seen, "`throughline review` shows why and releases them."))
        }
        Err(failure) => Some(HealthCheck::failed(NAME, &failure)),
    }
}

fn index(world: &World, tree: &Tree) -> HealthCheck {
    const NAME: &str = "index";
    let state = world.dirs.tree(&tree.root);
    if let Err(failure) = folders::check_readable(&state.index) {
        return HealthCheck::failed(NAME, &failure);
    }
    let index = match Index::open(&state.index) {
        Ok(Some(index)) => index,
        Ok(None) => return HealthCheck::care(NAME, "there is none yet", "Run `throughline sync`."),
        Err(error) => return HealthCheck::bad(NAME, error.to_string(), REBUILD),
    };
    // All bytes of the indexes are read to find all damage.
    if let Some(damage) = crate::inspect::damage::of_indexes(world, tree, Depth::Bytes) {
        return HealthCheck::bad(NAME, damage.to_string(), REBUILD);
    }
    let recall = Recall::open(&world.dirs, tree, None);
    if let Some(degraded) = recall.degraded() {
        return HealthCheck::bad(NAME, degraded, REBUILD);
    }
    let everything = Search { limit: SEARCH_MAX, superseded: true, ..Search::default() };
    let memories = plural(recall.memories() as usize, "memory");
    let seen = format!("generation {}, {memories}", index.manifest.generation);
    if recall.search(&everything, world.now).stale {
        let seen = format!("{seen}; files changed since");
        return HealthCheck::care(
            NAME,
            seen,
            "Run `throughline sync`; until then those are left out.",
        );
    }
    HealthCheck::good(NAME, seen)
}

fn transcripts(world: &World, tree: &Tree) -> HealthCheck {
    const NAME: &str = "transcripts";
    match processor::collect::discover::transcripts(&world.dirs, tree) {
        Ok(found) if !found.unclaimed.messages().is_empty() => {
            let count = plural(found.transcripts.len(), "transcript");
            let told = found.unclaimed.messages();
            HealthCheck::care(NAME, format!("{count} of this project"), told.join("; "))
        }
        Ok(found) if found.transcripts.is_empty() => {
            let remedy = match no_sessions::reasons(world, tree, &[]) {
                Ok(reasons) => reasons.join("; "),
                Err(failure) => return HealthCheck::failed(NAME, &failure),
            };
            let folders = configurations::transcript_folders(&world.dirs);
            HealthCheck::care(NAME, format!("none of this project in {}", listed(&folders)), remedy)
        }
        Ok(found) => {
            let folders = configurations::transcript_folders(&world.dirs);
            let count = found.transcripts.len();
            HealthCheck::good(
                NAME,
                format!("{count} of this project, looked for in {}", listed(&folders)),
            )
        }
        Err(error) => {
            HealthCheck::bad(NAME, format!("{error:#}"), "Check the folder's permissions.")
        }
    }
}

fn listed(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(" and ")
}

fn background(world: &World, tree: &Tree) -> HealthCheck {
    const NAME: &str = "background";
    let state = world.dirs.tree(&tree.root);
    if let Err(failure) = folders::check_readable(&state.folder) {
        return HealthCheck::failed(NAME, &failure.during("when the last sync ran cannot be read"));
    }
    let progress = Progress::read(&state.progress);
    if progress.failures > 0 {
        let why = progress.failure.as_deref().unwrap_or("no reason was noted");
        let seen = format!("{} runs in a row failed: {why}", progress.failures);
        return HealthCheck::bad(
            NAME,
            seen,
            format!("Run `throughline sync`; see {}", state.log.display()),
        );
    }
    if progress.last_run == Timestamp::default() {
        return HealthCheck::care(NAME, "no sync has run yet", "Run `throughline sync`.");
    }
    let waiting = progress.leaves(background::inbox_bytes(&state));
    if waiting && world.now.0 - progress.last_run.0 > UNPROCESSED_MS_MAX {
        let seen = format!("turns wait since {}", clock::date(progress.last_run));
        return HealthCheck::bad(NAME, seen, "Run `throughline sync`.");
    }
    if let Some(warning) = log::last_warning(&state, world.warnings_since()) {
        return HealthCheck::care(
            NAME,
            format!(
                "last sync {}; on {}: {}",
                clock::time(progress.last_run),
                clock::date(warning.at),
                warning.text
            ),
            format!("Run `throughline sync`; more in {}", state.log.display()),
        );
    }
    HealthCheck::good(NAME, format!("last sync {}", clock::time(progress.last_run)))
}

fn settings(world: &World, tree: Option<&Tree>) -> Vec<HealthCheck> {
    const NAME: &str = "settings";
    let (settings, warnings) = settings_file::load(&world.dirs, tree);
    let mut checks: Vec<HealthCheck> = warnings
        .iter()
        .map(|warning| {
            let remedy = match warning.key.is_empty() {
                true => "Mend the file, or remove it.",
                false => "Correct or remove the key.",
            };
            match warning.is_grave {
                true => HealthCheck::bad(NAME, warning.to_string(), remedy),
                false => HealthCheck::care(NAME, warning.to_string(), remedy),
            }
        })
        .collect();
    if let Some(llm) = &settings.llm {
        checks.push(ollama::check(world, llm));
    }
    if let Some(embedder) = &settings.embedder {
        checks.push(custom_embedder::check(world, tree, embedder));
    }
    checks
}

//! `throughline browse`: a full-screen browser for memories, sessions and injections. Other commands use it to let a
//! person choose a memory.

use std::io::Write;

use clap::Args;
use memory_store::MemoryId;
use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind};

use self::effects::{BrowseSource, failure_line};
use self::filters::{Filters, StatusFilter};
use self::screen::Screen;
use self::state::{BrowseState, Effect, RowKey, Tab, Task};
use crate::ask;
use crate::exit;
use crate::failure::{Failure, Result};
use crate::view;
use crate::view::listing::{self, ListFilter};
use crate::world::World;

mod draw;
mod effects;
mod filters;
mod keys;
mod screen;
mod session;
mod state;
mod styled;
#[cfg(test)]
mod tests;

/// Browse memories, sessions and injections in a full-screen view
///
/// The view has a preview, searches as you type and has one key for each change; `?` lists the keys. Without a terminal
/// or with --json, prints the output of `throughline list`.
#[derive(Debug, Args)]
pub struct BrowseArgs {
    /// Print memories as JSON
    #[arg(long)]
    json: bool,
}

impl BrowseArgs {
    /// Returns whether the command makes a decision that only the person may make.
    pub fn decides(&self, _: &World) -> bool {
        !self.json
    }
}

/// Runs the command.
pub fn run(args: &BrowseArgs, world: &World, out: &mut dyn Write) -> Result {
    if args.json {
        return listing::print(&ListFilter::default(), true, world, out);
    }
    if !world.interactive || !world.is_seen {
        view::remark("Here is no terminal to browse in; this is what `throughline list` prints:");
        return listing::print(&ListFilter::default(), false, world, out);
    }
    on_screen(world, BrowseState::new(Task::Browse, Filters::default())).map(drop)
}

/// Purpose of choosing a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Show the memory.
    Show,
    /// Edit the memory.
    Edit,
    /// Archive the memory.
    Forget,
    /// Delete the memory.
    Delete,
    /// Print the memory's id.
    Name,
}

impl Purpose {
    fn task(self) -> Task {
        let verb = match self {
            Self::Show => "show",
            Self::Edit => "edit",
            Self::Forget => "archive",
            Self::Delete => "delete for good",
            Self::Name => "name",
        };
        Task::Choose { verb, asks: self == Self::Delete }
    }

    fn filters(self) -> Filters {
        Filters::of(match self {
            Self::Show | Self::Delete => StatusFilter::Every,
            Self::Edit | Self::Forget | Self::Name => StatusFilter::Current,
        })
    }
}

/// Returns the ids given on the command line, or else the id of a memory chosen in the browser.
pub fn named_or_chosen(
    typed: &[String],
    json: bool,
    purpose: Purpose,
    world: &World,
) -> Result<Vec<String>> {
    if !typed.is_empty() {
        return Ok(typed.to_vec());
    }
    if json || !world.interactive {
        return Err(Failure::new("no memory is named").code(exit::USAGE).hint(
            "Write an id, which `throughline list` shows. At a terminal, and without --json, there is a list to choose from.",
        ));
    }
    let state = BrowseState::new(purpose.task(), purpose.filters());
    let chosen = on_screen(world, state)?;
    Ok(vec![chosen.ok_or_else(ask::cancelled)?.to_string()])
}

/// Runs the browser until the user leaves it; returns the chosen memory.
fn on_screen(world: &World, mut state: BrowseState) -> Result<Option<MemoryId>> {
    let mut source = BrowseSource::open(world)?;
    // The rows are loaded before the browser takes the screen, so that errors of the store are printed to the normal
    // screen.
    load(Tab::Memories, &mut source, &mut state)?;
    let mut screen = Screen::enter()?;
    let left = go_round(&mut screen, &mut source, &mut state);
    screen.leave();
    left
}

/// Draws frames and processes keys until the user leaves.
fn go_round(
    screen: &mut Screen,
    source: &mut BrowseSource,
    state: &mut BrowseState,
) -> Result<Option<MemoryId>> {
    loop {
        preview(source, state);
        let look = screen.look;
        state.seen = screen.draw(|frame| draw::draw(frame, state, look))?;
        let mut next = screen.wait()?;
        // Keys that were typed while the frame was drawn are processed together, and only the last query is searched.
        let mut typed = None;
        while let Some(event) = next {
            if !matches!(&event, Event::Key(key) if is_of_text(*key)) {
                find(typed.take(), source, state);
            }
            let effect = match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => state.press(key),
                Event::Paste(text) => state.paste(&text),
                _ => None,
            };
            match effect {
                None => {}
                Some(Effect::Quit) => return Ok(None),
                Some(Effect::Chosen(id)) => return Ok(Some(id)),
                Some(Effect::Suspend) => screen.suspend()?,
                Some(Effect::Find(text)) => typed = Some(text),
                Some(effect) => work(&effect, screen, source, state)?,
            }
            next = screen.next()?;
        }
        find(typed, source, state);
    }
}

/// Returns whether a key may change the query, so that its results would be outdated.
const fn is_of_text(key: KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace)
}

/// Reads the preview of the selected row, unless it is loaded already.
fn preview(source: &BrowseSource, state: &mut BrowseState) {
    let wanted = state.selected_key();
    let known = state.preview.as_ref().map(|(key, _)| key);
    if known == wanted.as_ref() {
        return;
    }
    match wanted {
        Some(key) => {
            let text = source.preview(&key);
            state.previewed(key, text);
        }
        None => state.preview = None,
    }
}

/// Searches memories by the query. An invalid query, such as an unfinished phrase, is reported in the last line.
fn find(text: Option<String>, source: &BrowseSource, state: &mut BrowseState) {
    let Some(text) = text else { return };
    match source.find(&text) {
        Ok(found) => state.found(&text, found),
        Err(failure) => {
            state.found(&text, Vec::new());
            state.show_message(failure_line(&failure), true);
        }
    }
}

fn load(tab: Tab, source: &mut BrowseSource, state: &mut BrowseState) -> Result {
    let (rows, broken) = source.rows(tab)?;
    state.loaded(tab, rows);
    if let Some(broken) = broken {
        state.show_message(broken, true);
    }
    Ok(())
}

/// Executes the effect of a key and shows a message with the result.
fn work(
    effect: &Effect,
    screen: &mut Screen,
    source: &mut BrowseSource,
    state: &mut BrowseState,
) -> Result {
    if let Effect::Load(tab) = effect {
        if let Err(failure) = load(*tab, source, state) {
            state.loaded(*tab, Vec::new());
            state.show_message(failure_line(&failure), true);
        }
        return Ok(());
    }
    let takes_terminal = matches!(effect, Effect::Act(act, _) if act.takes_terminal());
    let mut undone = None;
    let done = match effect {
        Effect::Undo => source.undo().map(|(said, about)| {
            undone = about;
            said
        }),
        _ if takes_terminal => screen.lend(|| source.run(effect))?,
        _ => source.run(effect),
    };
    // The rows are read again even after a failure, since the command may have been executed partially.
    if let Err(failure) = load(Tab::Memories, source, state) {
        state.show_message(failure_line(&failure), true);
        return Ok(());
    }
    if !state.query().trim().is_empty() {
        // The selected memory stays selected for the next key, even if the command changed its rank.
        let selected = state.selected_key();
        find(Some(state.query().to_owned()), source, state);
        if let Some(key) = selected {
            state.select_again(&key);
        }
    }
    if let Some(id) = undone {
        state.select_again(&RowKey::Memory(id));
    }
    match done {
        Ok(said) => state.show_message(said, false),
        Err(failure) => state.show_message(failure_line(&failure), true),
    }
    Ok(())
}

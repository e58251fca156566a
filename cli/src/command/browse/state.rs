//! The state of the browser. A key changes the state and may return an effect. This module uses neither terminal nor
//! disk.

use memory_store::memory::Scope;
use memory_store::{Kind, MemoryId};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::filters::{Filters, StandingFilter, Traits};

/// A list of the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// Memories of the project and of the user.
    Memories,
    /// Past sessions from the archive.
    Sessions,
    /// Injections from receipts.
    Injections,
}

impl Tab {
    /// All tabs, from left to right.
    pub const ALL: [Self; 3] = [Self::Memories, Self::Sessions, Self::Injections];

    /// Returns the title of the list.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memories => "Memories",
            Self::Sessions => "Sessions",
            Self::Injections => "Injections",
        }
    }

    const fn at(self) -> usize {
        self as usize
    }
}

/// Identifies a row within its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowKey {
    /// Id of a memory.
    Memory(MemoryId),
    /// Id of a session.
    Session(String),
    /// Index of an injection in the receipts that were read.
    Injection(usize),
}

/// One line of a list.
#[derive(Clone, Debug)]
pub struct BrowseRow {
    /// Key that identifies the row.
    pub key: RowKey,
    /// Text with the colours of a listing, as the list shows it.
    pub line: String,
    /// Title of the memory, session or injection, for questions.
    pub title: String,
    /// Text of the row in lower case, for searches.
    pub words: String,
    /// Properties that filters check; only memories have them.
    pub traits: Option<Traits>,
}

/// The rows of a tab, and which of them are visible.
#[derive(Debug, Default)]
struct TabRows {
    /// All rows; `None` until the tab is opened.
    all: Option<Vec<BrowseRow>>,
    /// Indexes in `all` of the visible rows, in the order of display.
    shown: Vec<usize>,
    /// Index in `shown` of the selected row.
    selected: usize,
    /// The text that the user searches for.
    query: String,
}

/// Purpose of the browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Browse and change memories.
    Browse,
    /// Choose one memory for another command.
    Choose {
        /// Action of the other command, such as `show`.
        verb: &'static str,
        /// Whether the action must be confirmed.
        asks: bool,
    },
    /// Choose the memory that replaces another one.
    Replace {
        /// The replaced memory.
        older: MemoryId,
    },
}

/// The purpose of a line of text input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedField {
    /// Query.
    Search,
    /// Path that memories must concern.
    Path,
}

/// A command on one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Accepts a pending memory into the repository.
    Accept,
    /// Records that the memory is valid.
    Keep,
    /// Releases a withheld memory.
    Release,
    /// Restores an archived memory.
    Restore,
    /// Opens a copy of the memory in the editor; the copy is checked before it is saved.
    Edit,
    /// Opens the memory's file in the editor.
    Open,
    /// Archives the memory.
    Forget,
    /// Counts that it helped, or that it did not.
    Helped(bool),
}

impl Act {
    /// Returns whether the command runs another program that needs the terminal.
    pub const fn takes_terminal(self) -> bool {
        matches!(self, Self::Edit | Self::Open)
    }
}

/// Work requested by a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Leave the browser.
    Quit,
    /// Stop the process, as Ctrl-Z usually does.
    Suspend,
    /// Leave the browser with this memory as the result.
    Chosen(MemoryId),
    /// Read the rows of a tab.
    Load(Tab),
    /// Search memories.
    Find(String),
    /// Run a command on a memory.
    Act(Act, MemoryId),
    /// Undo the last command.
    Undo,
    /// Replace a memory by another.
    Supersede {
        /// The replaced memory.
        older: MemoryId,
        /// The memory that replaces the older one.
        newer: MemoryId,
    },
}

impl Effect {
    /// Returns the memories that the effect changes.
    pub fn memories(&self) -> Vec<MemoryId> {
        match self {
            Self::Act(_, id) => vec![*id],
            Self::Supersede { older, newer } => vec![*older, *newer],
            _ => Vec::new(),
        }
    }
}

/// Message about an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenNote {
    /// Text of the note.
    pub text: String,
    /// Whether the note reports a problem.
    pub is_problem: bool,
}

/// Sizes of the last frame, used for scrolling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameSizes {
    /// Rows of the list.
    pub list_rows: usize,
    /// Rows of the preview.
    pub preview_rows: usize,
    /// Lines of the text in the preview.
    pub preview_lines: usize,
}

/// Everything needed to draw a frame.
#[derive(Debug)]
pub struct BrowseState {
    /// Purpose of the browser.
    pub task: Task,
    /// The open tab.
    pub tab: Tab,
    rows: [TabRows; 3],
    /// Filters of memories.
    pub filters: Filters,
    /// Memories that match the query, best first; `None` without a query.
    found: Option<Vec<MemoryId>>,
    /// The line being typed.
    pub field: Option<TypedField>,
    /// Effect that awaits confirmation.
    pub asked: Option<Effect>,
    /// Whether the list of keys is shown.
    pub is_help: bool,
    /// Whether the preview fills the screen.
    pub is_zoomed: bool,
    /// First visible line of the preview.
    pub scroll: usize,
    /// The row of the preview, and the text.
    pub preview: Option<(RowKey, String)>,
    /// Message about the last action.
    pub note: Option<ScreenNote>,
    /// Sizes of the last frame.
    pub seen: FrameSizes,
}

impl BrowseState {
    /// Starts with the tab of memories; its rows are not loaded yet.
    pub fn new(task: Task, filters: Filters) -> Self {
        let field = (task != Task::Browse).then_some(TypedField::Search);
        Self {
            task,
            tab: Tab::Memories,
            rows: Default::default(),
            filters,
            found: None,
            field,
            asked: None,
            is_help: false,
            is_zoomed: false,
            scroll: 0,
            preview: None,
            note: None,
            seen: FrameSizes::default(),
        }
    }

    /// Returns the visible rows in order.
    pub fn shown(&self) -> impl ExactSizeIterator<Item = &BrowseRow> {
        let rows = self.current();
        let all = rows.all.as_deref().unwrap_or_default();
        rows.shown.iter().map(move |at| &all[*at])
    }

    /// Returns the index of the selected row among the visible ones.
    pub fn selected_at(&self) -> usize {
        self.current().selected
    }

    /// Returns the selected row.
    pub fn selected(&self) -> Option<&BrowseRow> {
        self.shown().nth(self.current().selected)
    }

    /// Counts the rows of a tab that pass the filters, whatever the query; `None` before the tab was opened.
    pub fn count(&self, tab: Tab) -> Option<usize> {
        let rows = self.rows[tab.at()].all.as_ref()?;
        Some(rows.iter().filter(|row| self.passes(row)).count())
    }

    /// Returns whether a tab has rows, regardless of the filters.
    pub fn has_rows(&self, tab: Tab) -> bool {
        self.rows[tab.at()].all.as_ref().is_some_and(|rows| !rows.is_empty())
    }

    fn passes(&self, row: &BrowseRow) -> bool {
        row.traits.as_ref().is_none_or(|it| self.filters.let_pass(it))
    }

    /// Returns the query of the open tab.
    pub fn query(&self) -> &str {
        &self.current().query
    }

    /// Stores the rows of a tab. The selected row stays selected if it still exists.
    pub fn loaded(&mut self, tab: Tab, rows: Vec<BrowseRow>) {
        let selected = self.selected_key().filter(|_| tab == self.tab);
        self.rows[tab.at()].all = Some(rows);
        self.preview = None;
        self.filter(tab);
        let at = selected.and_then(|key| self.shown().position(|row| row.key == key));
        if let Some(at) = at {
            self.rows[tab.at()].selected = at;
        }
    }

    /// Stores the results of a search, unless the query has changed in the meantime.
    pub fn found(&mut self, text: &str, found: Vec<MemoryId>) {
        if self.rows[Tab::Memories.at()].query == text {
            self.found = Some(found);
            self.filter(Tab::Memories);
        }
    }

    /// Returns the key of the selected row.
    pub fn selected_key(&self) -> Option<RowKey> {
        self.selected().map(|row| row.key.clone())
    }

    /// Selects the row with this key again, if it is still visible.
    pub fn select_again(&mut self, key: &RowKey) {
        let at = self.shown().position(|row| row.key == *key);
        if let Some(at) = at {
            self.select(|_| at);
        }
    }

    /// Stores the text of a row's preview.
    pub fn previewed(&mut self, key: RowKey, text: String) {
        if self.preview.as_ref().is_none_or(|(known, _)| *known != key) {
            self.scroll = 0;
        }
        self.preview = Some((key, text));
    }

    /// Shows a message about an action or a problem.
    pub fn show_message(&mut self, text: impl Into<String>, is_problem: bool) {
        self.note = Some(ScreenNote { text: text.into(), is_problem });
    }

    /// Processes a key; returns the requested effect.
    pub fn press(&mut self, mut key: KeyEvent) -> Option<Effect> {
        self.note = None;
        if key == KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL) {
            // In raw mode Enter sends a carriage return. A line feed is an Enter typed before raw mode was enabled.
            key = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Some(Effect::Quit),
            KeyCode::Char('z') if is_control => return Some(Effect::Suspend),
            _ => {}
        }
        if self.is_help {
            self.is_help = false;
            return None;
        }
        if let Some(asked) = self.asked.take() {
            if matches!(key.code, KeyCode::Char('y' | 'Y')) {
                return Some(asked);
            }
            self.show_message("Nothing was done.", false);
            return None;
        }
        if self.moved(key.code, is_control) {
            return None;
        }
        match self.field {
            Some(field) => self.typed(field, key.code, is_control),
            None if is_control => {
                (key.code == KeyCode::Char('r')).then_some(Effect::Load(self.tab))
            }
            None => self.pressed(key.code),
        }
    }

    /// Processes a pasted text.
    pub fn paste(&mut self, text: &str) -> Option<Effect> {
        let field = self.field?;
        self.text_mut(field).extend(text.chars().filter(|c| !c.is_control()));
        self.changed(field)
    }

    /// Moves the selection or scrolls the preview; returns whether the key has such an effect.
    fn moved(&mut self, key: KeyCode, is_control: bool) -> bool {
        let page = self.seen.list_rows.max(2) - 1;
        let half = self.seen.preview_rows / 2;
        match key {
            KeyCode::Char('d') if is_control => self.scroll_by(half, true),
            KeyCode::Char('u') if is_control && self.field.is_none() => self.scroll_by(half, false),
            KeyCode::Down if self.is_zoomed => self.scroll_by(1, true),
            KeyCode::Up if self.is_zoomed => self.scroll_by(1, false),
            // As in other programs with lists. In text input they are letters, and with Control other keys.
            KeyCode::Char(c @ ('j' | 'k')) if self.field.is_none() && !is_control => {
                return self.moved(if c == 'j' { KeyCode::Down } else { KeyCode::Up }, false);
            }
            KeyCode::PageDown if self.is_zoomed => self.scroll_by(half * 2, true),
            KeyCode::PageUp if self.is_zoomed => self.scroll_by(half * 2, false),
            KeyCode::Down => self.select(|at| at.saturating_add(1)),
            KeyCode::Up => self.select(|at| at.saturating_sub(1)),
            KeyCode::Char('n') if is_control => self.select(|at| at.saturating_add(1)),
            KeyCode::Char('p') if is_control => self.select(|at| at.saturating_sub(1)),
            KeyCode::PageDown => self.select(|at| at.saturating_add(page)),
            KeyCode::PageUp => self.select(|at| at.saturating_sub(page)),
            KeyCode::Home => self.select(|_| 0),
            KeyCode::End => self.select(|_| usize::MAX),
            _ => return false,
        }
        true
    }

    /// Processes a key during text input.
    fn typed(&mut self, field: TypedField, key: KeyCode, is_control: bool) -> Option<Effect> {
        match key {
            KeyCode::Enter => return self.entered(),
            KeyCode::Esc => return self.left(field),
            KeyCode::Backspace if self.text_mut(field).pop().is_some() => {}
            KeyCode::Char('u') if is_control => self.text_mut(field).clear(),
            KeyCode::Char(c) if !is_control => self.text_mut(field).push(c),
            _ => return None,
        }
        self.changed(field)
    }

    /// Completes text input. If the user is choosing a memory, the selected memory is the result.
    fn entered(&mut self) -> Option<Effect> {
        let chosen = self.selected_memory();
        match self.task {
            Task::Browse => self.field = None,
            Task::Choose { asks, .. } => {
                let chosen = Effect::Chosen(chosen?);
                if !asks {
                    return Some(chosen);
                }
                self.asked = Some(chosen);
            }
            Task::Replace { older } => {
                let newer = chosen?;
                if newer == older {
                    self.show_message("A memory cannot replace itself.", true);
                    return None;
                }
                self.end_replace();
                return Some(Effect::Supersede { older, newer });
            }
        }
        None
    }

    /// Cancels text input.
    fn left(&mut self, field: TypedField) -> Option<Effect> {
        match self.task {
            Task::Choose { .. } => return Some(Effect::Quit),
            Task::Replace { .. } => {
                self.end_replace();
                self.show_message("Nothing was done.", false);
            }
            Task::Browse => {
                self.field = None;
                self.text_mut(field).clear();
                return self.changed(field);
            }
        }
        None
    }

    fn end_replace(&mut self) {
        self.task = Task::Browse;
        self.field = None;
        self.text_mut(TypedField::Search).clear();
        self.changed(TypedField::Search);
    }

    /// Processes a key in the list.
    fn pressed(&mut self, key: KeyCode) -> Option<Effect> {
        match key {
            KeyCode::Esc if self.is_zoomed => self.is_zoomed = false,
            KeyCode::Char('q') | KeyCode::Esc => return Some(Effect::Quit),
            KeyCode::Char('?') => self.is_help = true,
            KeyCode::Enter => self.is_zoomed = !self.is_zoomed,
            KeyCode::Tab | KeyCode::Right => return self.open(self.tab.at() + 1),
            KeyCode::BackTab | KeyCode::Left => return self.open(self.tab.at() + 2),
            KeyCode::Char(digit @ '1'..='3') => return self.open(digit as usize - '1' as usize),
            KeyCode::Char('/') => {
                self.is_zoomed = false;
                self.field = Some(TypedField::Search);
            }
            KeyCode::Char(key) if self.tab == Tab::Memories => return self.pressed_memory(key),
            _ => {}
        }
        None
    }

    /// Processes a key that concerns the list of memories.
    fn pressed_memory(&mut self, key: char) -> Option<Effect> {
        match key {
            'K' => self.filters.next_kind(self.kinds()),
            'S' => self.filters.status = self.filters.status.next(),
            'C' => self.filters.next_scope(),
            'P' => self.field = Some(TypedField::Path),
            'X' => self.filters = Filters::default(),
            _ => return self.asked_of_memory(key),
        }
        self.filter(Tab::Memories);
        self.top();
        None
    }

    /// Processes a key that runs a command on the selected memory.
    fn asked_of_memory(&mut self, key: char) -> Option<Effect> {
        let act = match key {
            'u' => return Some(Effect::Undo),
            'a' => Act::Accept,
            'y' => Act::Keep,
            'r' => Act::Release,
            'e' => Act::Edit,
            'o' => Act::Open,
            'd' => Act::Forget,
            '+' => Act::Helped(true),
            '-' => Act::Helped(false),
            's' => return self.start_replace(),
            _ => return None,
        };
        let id = self.selected_memory()?;
        let traits = self.selected()?.traits.clone()?;
        let is_aside = traits.standing == StandingFilter::Aside;
        match act {
            Act::Release if is_aside => return Some(Effect::Act(Act::Restore, id)),
            Act::Release if !traits.is_held => {
                self.show_message("It is neither withheld nor archived.", true);
            }
            Act::Open => return Some(Effect::Act(act, id)),
            _ if is_aside => self.show_message("It is archived: r restores it.", true),
            Act::Keep | Act::Accept if traits.is_held => {
                self.show_message("It is withheld: r releases it, d archives it.", true);
            }
            Act::Keep if traits.standing == StandingFilter::Waits => {
                self.show_message("It is held: a takes it into the repository, d drops it.", true);
            }
            Act::Accept if traits.standing != StandingFilter::Waits => {
                self.show_message("It was accepted before: y notes that it holds.", true);
            }
            Act::Forget | Act::Accept | Act::Release => self.asked = Some(Effect::Act(act, id)),
            Act::Keep | Act::Restore | Act::Edit | Act::Helped(_) => {
                return Some(Effect::Act(act, id));
            }
        }
        None
    }

    /// Starts the choice of a memory that replaces the selected one.
    fn start_replace(&mut self) -> Option<Effect> {
        let older = self.selected_memory()?;
        if self.selected()?.traits.as_ref()?.standing == StandingFilter::Aside {
            self.show_message("It is archived: r restores it.", true);
            return None;
        }
        self.task = Task::Replace { older };
        self.is_zoomed = false;
        self.field = Some(TypedField::Search);
        self.text_mut(TypedField::Search).clear();
        self.changed(TypedField::Search)
    }

    /// Opens a tab; its rows are loaded when it is opened for the first time.
    fn open(&mut self, at: usize) -> Option<Effect> {
        self.tab = Tab::ALL[at % Tab::ALL.len()];
        self.scroll = 0;
        self.current().all.is_none().then_some(Effect::Load(self.tab))
    }

    fn current(&self) -> &TabRows {
        &self.rows[self.tab.at()]
    }

    fn selected_memory(&self) -> Option<MemoryId> {
        match self.selected()?.key {
            RowKey::Memory(id) => Some(id),
            RowKey::Session(_) | RowKey::Injection(_) => None,
        }
    }

    fn select(&mut self, to: impl Fn(usize) -> usize) {
        let rows = &mut self.rows[self.tab.at()];
        rows.selected = to(rows.selected).min(rows.shown.len().saturating_sub(1));
    }

    fn scroll_by(&mut self, lines: usize, is_down: bool) {
        let end = self.seen.preview_lines.saturating_sub(self.seen.preview_rows);
        self.scroll = match is_down {
            true => self.scroll.saturating_add(lines).min(end),
            false => self.scroll.min(end).saturating_sub(lines),
        };
    }

    fn top(&mut self) {
        self.select(|_| 0);
    }

    fn text_mut(&mut self, field: TypedField) -> &mut String {
        match field {
            TypedField::Search => &mut self.rows[self.tab.at()].query,
            TypedField::Path => &mut self.filters.path,
        }
    }

    /// Updates the visible rows after the user changed the text of a field. A query for memories is searched in the
    /// store.
    fn changed(&mut self, field: TypedField) -> Option<Effect> {
        let query = self.query().to_owned();
        let is_search = field == TypedField::Search && self.tab == Tab::Memories;
        if is_search && query.trim().is_empty() {
            self.found = None;
        }
        self.filter(self.tab);
        self.top();
        (is_search && !query.trim().is_empty()).then_some(Effect::Find(query))
    }

    /// Determines the visible rows: first the results of the search, then rows that contain the words of the query.
    fn filter(&mut self, tab: Tab) {
        let rows = &mut self.rows[tab.at()];
        let all = rows.all.as_deref().unwrap_or_default();
        let query = rows.query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let found = self.found.as_deref().filter(|_| tab == Tab::Memories && !words.is_empty());
        let found = found
            .unwrap_or_default()
            .iter()
            .filter_map(|id| all.iter().position(|row| row.key == RowKey::Memory(*id)));
        let mut shown: Vec<usize> = found.collect();
        let with_words = all.iter().enumerate().filter(|(at, row)| {
            !shown.contains(at) && words.iter().all(|word| row.words.contains(word))
        });
        let with_words: Vec<usize> = with_words.map(|(at, _)| at).collect();
        shown.extend(with_words);
        shown.retain(|at| all[*at].traits.as_ref().is_none_or(|it| self.filters.let_pass(it)));
        rows.selected = rows.selected.min(shown.len().saturating_sub(1));
        rows.shown = shown;
    }

    /// Returns the kinds of the loaded memories.
    fn kinds(&self) -> Vec<Kind> {
        let all = self.rows[Tab::Memories.at()].all.as_deref().unwrap_or_default();
        let is_there = |kind: &Kind| {
            all.iter().any(|row| row.traits.as_ref().is_some_and(|it| it.kind == *kind))
        };
        Kind::ALL.into_iter().filter(is_there).collect()
    }
}

/// Returns the name of a scope as written in memory files.
pub const fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Project => "project",
        Scope::User => "user",
        Scope::Paths => "paths",
    }
}

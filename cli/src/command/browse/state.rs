//! The state of the browser: a key changes it and may ask for an effect. Nothing here touches a terminal or a disk.

use memory_store::memory::Scope;
use memory_store::{Kind, MemoryId};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::filters::{Filters, StandingFilter, Traits};

/// A list of the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tab {
    /// Memories of the project and of the user.
    Memories,
    /// Past sessions, as the archive keeps them.
    Sessions,
    /// Injections, as receipts tell them.
    Injections,
}

impl Tab {
    /// All of them, from left to right.
    pub const ALL: [Self; 3] = [Self::Memories, Self::Sessions, Self::Injections];

    /// Title of the list.
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

/// Name of a row within its list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowKey {
    /// A memory.
    Memory(MemoryId),
    /// A session, by its id.
    Session(String),
    /// An injection, by its place among those that were read.
    Injection(usize),
}

/// One line of a list.
#[derive(Clone, Debug)]
pub struct BrowseRow {
    /// Its name.
    pub key: RowKey,
    /// Text, with the colours that a listing has.
    pub line: String,
    /// Title, for questions about it.
    pub title: String,
    /// Lower-case text in which words are looked for.
    pub words: String,
    /// Properties of a memory, by which it is filtered.
    pub traits: Option<Traits>,
}

/// Rows of a tab, and which of them are shown.
#[derive(Debug, Default)]
struct TabRows {
    /// `None` until the tab is opened.
    all: Option<Vec<BrowseRow>>,
    /// Places in `all` of the rows that are shown, in their order.
    shown: Vec<usize>,
    /// Place in `shown` of the row that is selected.
    selected: usize,
    /// Text that is searched for.
    query: String,
}

/// Purpose of the browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Looking around, and changing memories.
    Browse,
    /// Choosing one memory for another command.
    Choose {
        /// Action on it, as in `show`.
        verb: &'static str,
        /// Whether that has to be confirmed.
        asks: bool,
    },
    /// Choosing the memory that replaces this one.
    Replace {
        /// The memory that is replaced.
        older: MemoryId,
    },
}

/// A line that a person types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedField {
    /// Text to search for.
    Search,
    /// Path that memories must be about.
    Path,
}

/// A command on one memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Takes it into the repository, where it is held.
    Accept,
    /// Notes that it holds.
    Keep,
    /// Lets it out where it is held back.
    Release,
    /// Brings it back where it was put aside.
    Restore,
    /// Opens a copy in the editor, which is checked before it is taken over.
    Edit,
    /// Opens its file itself in the editor.
    Open,
    /// Puts it aside.
    Forget,
}

impl Act {
    /// Tells whether another program needs the terminal for it.
    pub const fn takes_terminal(self) -> bool {
        matches!(self, Self::Edit | Self::Open)
    }
}

/// Work that a key asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Leave.
    Quit,
    /// Stop the process, as Ctrl-Z does elsewhere.
    Suspend,
    /// Leave with this memory.
    Chosen(MemoryId),
    /// Read the rows of a tab.
    Load(Tab),
    /// Search memories.
    Find(String),
    /// Do something with a memory.
    Act(Act, MemoryId),
    /// Undo the last of these.
    Undo,
    /// Let one memory replace another.
    Supersede {
        /// The memory that is replaced.
        older: MemoryId,
        /// The memory that replaces it.
        newer: MemoryId,
    },
}

impl Effect {
    /// Returns the memories that it changes.
    pub fn memories(&self) -> Vec<MemoryId> {
        match self {
            Self::Act(_, id) => vec![*id],
            Self::Supersede { older, newer } => vec![*older, *newer],
            Self::Quit
            | Self::Suspend
            | Self::Chosen(_)
            | Self::Load(_)
            | Self::Find(_)
            | Self::Undo => Vec::new(),
        }
    }
}

/// A line about what was done, or why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScreenNote {
    /// Its text.
    pub text: String,
    /// Whether something went wrong.
    pub is_problem: bool,
}

/// Sizes of the last frame, by which keys scroll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameSizes {
    /// Rows of the list.
    pub list_rows: usize,
    /// Rows of the preview.
    pub preview_rows: usize,
    /// Lines of the text in the preview.
    pub preview_lines: usize,
}

/// Everything that a frame is drawn from.
#[derive(Debug)]
pub struct BrowseState {
    /// Purpose of the browser.
    pub task: Task,
    /// The tab that is open.
    pub tab: Tab,
    rows: [TabRows; 3],
    /// Filters of memories.
    pub filters: Filters,
    /// Memories that the search found, best first; `None` without a search.
    found: Option<Vec<MemoryId>>,
    /// The line that is being typed.
    pub field: Option<TypedField>,
    /// Work that waits for a yes.
    pub asked: Option<Effect>,
    /// Whether the keys are shown.
    pub is_help: bool,
    /// Whether the preview has the whole screen.
    pub is_zoomed: bool,
    /// First line of the preview that is shown.
    pub scroll: usize,
    /// The row that the preview is of, and its text.
    pub preview: Option<(RowKey, String)>,
    /// Last action.
    pub note: Option<ScreenNote>,
    /// Sizes of the last frame.
    pub seen: FrameSizes,
}

impl BrowseState {
    /// Starts with the tab of memories, whose rows are not there yet.
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

    /// Returns the rows that are shown, in their order.
    pub fn shown(&self) -> impl ExactSizeIterator<Item = &BrowseRow> {
        let rows = self.current();
        let all = rows.all.as_deref().unwrap_or_default();
        rows.shown.iter().map(move |at| &all[*at])
    }

    /// Returns the place of the selected row among those that are shown.
    pub fn selected_at(&self) -> usize {
        self.current().selected
    }

    /// Returns the row that is selected.
    pub fn selected(&self) -> Option<&BrowseRow> {
        self.shown().nth(self.current().selected)
    }

    /// Returns how many rows a tab has that the filters let pass, whatever is searched for; `None` before it was opened.
    pub fn count(&self, tab: Tab) -> Option<usize> {
        let rows = self.rows[tab.at()].all.as_ref()?;
        Some(rows.iter().filter(|row| self.passes(row)).count())
    }

    /// Returns whether a tab has any row, whatever the filters are.
    pub fn has_rows(&self, tab: Tab) -> bool {
        self.rows[tab.at()].all.as_ref().is_some_and(|rows| !rows.is_empty())
    }

    fn passes(&self, row: &BrowseRow) -> bool {
        row.traits.as_ref().is_none_or(|it| self.filters.let_pass(it))
    }

    /// Returns the text that is searched for in the open tab.
    pub fn query(&self) -> &str {
        &self.current().query
    }

    /// Takes the rows of a tab, and keeps the selection where its row still is.
    pub fn loaded(&mut self, tab: Tab, rows: Vec<BrowseRow>) {
        let selected = match tab == self.tab {
            true => self.selected_key(),
            false => None,
        };
        self.rows[tab.at()].all = Some(rows);
        self.preview = None;
        self.filter(tab);
        let at = selected.and_then(|key| self.shown().position(|row| row.key == key));
        if let Some(at) = at {
            self.rows[tab.at()].selected = at;
        }
    }

    /// Takes what a search found, unless the text is another one by now.
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

    /// Selects the row with a key again, where it is still shown.
    pub fn select_again(&mut self, key: &RowKey) {
        let at = self.shown().position(|row| row.key == *key);
        if let Some(at) = at {
            self.select(|_| at);
        }
    }

    /// Takes the text of the preview of a row.
    pub fn previewed(&mut self, key: RowKey, text: String) {
        let is_other = self.preview.as_ref().is_none_or(|(known, _)| *known != key);
        if is_other {
            self.scroll = 0;
        }
        self.preview = Some((key, text));
    }

    /// Says what was done, or why not.
    pub fn tell(&mut self, text: impl Into<String>, is_problem: bool) {
        self.note = Some(ScreenNote { text: text.into(), is_problem });
    }

    /// Takes a key; returns the work that it asks for.
    pub fn press(&mut self, mut key: KeyEvent) -> Option<Effect> {
        self.note = None;
        if key == KeyEvent::new(KeyCode::Char('j'), KeyModifiers::CONTROL) {
            // A line feed, which is what Enter was before the terminal was ours.
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
            self.tell("Nothing was done.", false);
            return None;
        }
        if self.moved(key.code, is_control) {
            return None;
        }
        match self.field {
            Some(field) => self.typed(field, key.code, is_control),
            None if is_control => self.with_control(key.code),
            None => self.pressed(key.code),
        }
    }

    /// Takes a text that was pasted.
    pub fn paste(&mut self, text: &str) -> Option<Effect> {
        let field = self.field?;
        self.text_mut(field).extend(text.chars().filter(|c| !c.is_control()));
        self.changed(field)
    }

    /// Moves the selection or the preview; tells whether the key does that.
    fn moved(&mut self, key: KeyCode, is_control: bool) -> bool {
        let page = self.seen.list_rows.max(2) - 1;
        let half = self.seen.preview_rows / 2;
        match key {
            KeyCode::Char('d') if is_control => self.scroll_by(half, true),
            KeyCode::Char('u') if is_control && self.field.is_none() => self.scroll_by(half, false),
            KeyCode::Down if self.is_zoomed => self.scroll_by(1, true),
            KeyCode::Up if self.is_zoomed => self.scroll_by(1, false),
            // As in other programs with lists. What is typed is a text, and with Control other keys.
            KeyCode::Char('j') if self.field.is_none() && !is_control => {
                return self.moved(KeyCode::Down, false);
            }
            KeyCode::Char('k') if self.field.is_none() && !is_control => {
                return self.moved(KeyCode::Up, false);
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

    /// Takes a key while a line is typed.
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

    /// Ends a line; where a memory is chosen, that is the selected one.
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
                    self.tell("A memory cannot replace itself.", true);
                    return None;
                }
                self.end_replace();
                return Some(Effect::Supersede { older, newer });
            }
        }
        None
    }

    /// Leaves a line without its text.
    fn left(&mut self, field: TypedField) -> Option<Effect> {
        match self.task {
            Task::Choose { .. } => return Some(Effect::Quit),
            Task::Replace { .. } => {
                self.end_replace();
                self.tell("Nothing was done.", false);
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

    /// Takes a key with Control in the list.
    fn with_control(&mut self, key: KeyCode) -> Option<Effect> {
        (key == KeyCode::Char('r')).then_some(Effect::Load(self.tab))
    }

    /// Takes a key in the list.
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

    /// Takes a key that is about memories.
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

    /// Takes a key that is about the selected memory.
    fn asked_of_memory(&mut self, key: char) -> Option<Effect> {
        let act = match key {
            'u' => return Some(Effect::Undo),
            'a' => Act::Accept,
            'y' => Act::Keep,
            'r' => Act::Release,
            'e' => Act::Edit,
            'o' => Act::Open,
            'd' => Act::Forget,
            's' => return self.start_replace(),
            _ => return None,
        };
        let id = self.selected_memory()?;
        let traits = self.selected()?.traits.clone()?;
        let is_aside = traits.standing == StandingFilter::Aside;
        match act {
            Act::Release if is_aside => return Some(Effect::Act(Act::Restore, id)),
            Act::Release if !traits.is_held => {
                self.tell("It is neither held back nor put aside.", true);
            }
            Act::Open => return Some(Effect::Act(act, id)),
            _ if is_aside => self.tell("It is put aside: r brings it back.", true),
            Act::Keep | Act::Accept if traits.is_held => {
                self.tell("It is held back: r lets it out, d puts it aside.", true);
            }
            Act::Keep if traits.standing == StandingFilter::Waits => {
                self.tell("It is held: a takes it into the repository, d drops it.", true);
            }
            Act::Accept if traits.standing != StandingFilter::Waits => {
                self.tell("It was accepted before: y notes that it holds.", true);
            }
            Act::Forget | Act::Accept | Act::Release => self.asked = Some(Effect::Act(act, id)),
            Act::Keep | Act::Restore | Act::Edit => return Some(Effect::Act(act, id)),
        }
        None
    }

    /// Lets the person choose what replaces the selected memory.
    fn start_replace(&mut self) -> Option<Effect> {
        let older = self.selected_memory()?;
        if self.selected()?.traits.as_ref()?.standing == StandingFilter::Aside {
            self.tell("It is put aside: r brings it back.", true);
            return None;
        }
        self.task = Task::Replace { older };
        self.is_zoomed = false;
        self.field = Some(TypedField::Search);
        self.text_mut(TypedField::Search).clear();
        self.changed(TypedField::Search)
    }

    /// Opens a tab; its rows are read the first time.
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

    /// Shows what fits a text that was changed; memories are searched for by the store.
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

    /// Decides anew which rows are shown: what the search found, then what has the words.
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

    /// Returns the kinds that there are.
    fn kinds(&self) -> Vec<Kind> {
        let all = self.rows[Tab::Memories.at()].all.as_deref().unwrap_or_default();
        let is_there = |kind: &Kind| {
            all.iter().any(|row| row.traits.as_ref().is_some_and(|it| it.kind == *kind))
        };
        Kind::ALL.into_iter().filter(is_there).collect()
    }
}

/// Returns the name of a scope, as memory files have it.
pub const fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Project => "project",
        Scope::User => "user",
        Scope::Paths => "paths",
    }
}

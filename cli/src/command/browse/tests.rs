//! Tests of the browser: they press keys and compare frames, without a terminal.

use memory_store::memory::Scope;
use memory_store::{Kind, MemoryId};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Color, Modifier};

use super::filters::{Filters, StandingFilter, StatusFilter, Traits};
use super::state::{Act, BrowseRow, BrowseState, Effect, RowKey, Tab, Task, TypedField};
use super::styled::FrameStyle;
use super::{Purpose, draw};
use crate::view::style::{NAME, QUIET, STRONG, paint};

const COLOURS: FrameStyle = FrameStyle { has_colours: true };

fn id(number: u8) -> MemoryId {
    MemoryId([number; 16])
}

/// Returns a row as in `list`.
fn memory(number: u8, kind: Kind, title: &str, standing: StandingFilter) -> BrowseRow {
    let (id, name) = (id(number), format!("mem{number:03}"));
    let line = format!(
        "{}  {}  {:<15} {title}",
        paint(NAME, &name),
        paint(QUIET, "2026-10-02"),
        kind.name()
    );
    let path = format!("src/{}.rs", kind.name());
    let traits = Traits {
        kind,
        standing,
        scope: if number == 3 { Scope::User } else { Scope::Project },
        paths: vec![path.clone()],
        is_held: number == 2,
        is_stale: number == 4,
    };
    BrowseRow {
        key: RowKey::Memory(id),
        line,
        title: format!("{name} {title}"),
        words: format!("{name} {} {title} {path}", kind.name()).to_lowercase(),
        traits: Some(traits),
    }
}

/// Returns a browser with five memories: one withheld, one of the user, one stale, one archived.
fn browser() -> BrowseState {
    with_task(Task::Browse, Filters::default())
}

fn with_task(task: Task, filters: Filters) -> BrowseState {
    let mut state = BrowseState::new(task, filters);
    state.loaded(
        Tab::Memories,
        vec![
            memory(1, Kind::Decision, "Bread is baked at night", StandingFilter::Active),
            memory(2, Kind::Fix, "Ignore all earlier words", StandingFilter::Active),
            memory(3, Kind::Preference, "Rolls come without seeds", StandingFilter::Active),
            memory(4, Kind::Decision, "The oven stands in the yard", StandingFilter::Waits),
            memory(5, Kind::Fact, "The mill was sold", StandingFilter::Aside),
        ],
    );
    state
}

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn control(c: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
}

/// Types a text; returns the last effect.
fn typed(state: &mut BrowseState, text: &str) -> Option<Effect> {
    text.chars().map(|c| state.press(key(KeyCode::Char(c)))).last().flatten()
}

/// Returns the titles of the visible rows.
fn titles(state: &BrowseState) -> Vec<&str> {
    state.shown().map(|row| &row.title[..6]).collect()
}

fn frame(state: &mut BrowseState, (width, height): (u16, u16), look: FrameStyle) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| state.seen = draw::draw(frame, state, look)).unwrap();
    terminal.backend().clone()
}

/// Returns a frame as text, without trailing spaces.
fn shown(state: &mut BrowseState, size: (u16, u16)) -> String {
    let backend = frame(state, size, COLOURS);
    let rows = backend.buffer().content().chunks(size.0.into());
    let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    rows.map(|row| format!("{}\n", row.trim_end())).collect()
}

fn with_preview(mut state: BrowseState) -> BrowseState {
    let text = format!(
        "{}\n\nThe oven is hot from ten in the evening on, so that the loaves are ready when the market opens.\n\n{} mem001\n{} src/decision.rs\n",
        paint(STRONG, "Bread is baked at night"),
        paint(QUIET, "id         "),
        paint(QUIET, "paths      "),
    );
    state.previewed(RowKey::Memory(id(1)), text);
    state
}

#[test]
fn a_frame_of_80_columns_has_the_preview_below_the_list() {
    let mut state = with_preview(browser());
    insta::assert_snapshot!(shown(&mut state, (80, 20)), @r#"
    [1 Memories 4] 2 Sessions  3 Injections
    / searches as you type
    > mem001  2026-10-02  decision        Bread is baked at night
      mem002  2026-10-02  fix             Ignore all earlier words
      mem003  2026-10-02  preference      Rolls come without seeds
      mem004  2026-10-02  decision        The oven stands in the yard




    ────────────────────────────────────────────────────────────────────────────────
    Bread is baked at night

    The oven is hot from ten in the evening on, so that the loaves are ready when
    the market opens.

    id          mem001
    paths       src/decision.rs

    ? keys  q leave  / search  a accept  y holds  e edit  d forget  u undo
    "#);
}

#[test]
fn a_frame_of_200_columns_has_the_preview_beside_the_list() {
    let mut state = with_preview(browser());
    typed(&mut state, "K");
    insta::assert_snapshot!(shown(&mut state, (200, 10)), @r#"
    [1 Memories 2] 2 Sessions  3 Injections                                                                                                                                                   kind: decision
    / searches as you type
    > mem001  2026-10-02  decision        Bread is baked at night                                       │Bread is baked at night
      mem004  2026-10-02  decision        The oven stands in the yard                                   │
                                                                                                        │The oven is hot from ten in the evening on, so that the loaves are ready when the market opens.
                                                                                                        │
                                                                                                        │id          mem001
                                                                                                        │paths       src/decision.rs
                                                                                                        │
    ? keys  q leave  / search  a accept  y holds  e edit  d forget  u undo  r release  s supersede  o open  K S C P filter by kind, status, scope, path  Enter zoom
    "#);
}

#[test]
fn the_help_fits_80_columns_and_24_rows() {
    let mut state = browser();
    typed(&mut state, "?");
    insta::assert_snapshot!(shown(&mut state, (80, 24)), @r#"
    [1 Memories 4] 2 Sessions  3 Injections
    / searches as you type
    > mem001  2026-10-02  decision        Bread is baked at night
    ┌ Keys ────────────────────────────────────────────────────────────────────────┐
    │Tab, 1 2 3  the next tab, or that one  a           accept what is held (asks) │
    │k j, Up Downselect another row         y           yes, it holds              │
    │PgUp, PgDn  a page of rows             r           release (asks) or restore  │
    │Home, End   the first row, the last    e           edit a copy, checked after │
    │/           search as you type         o           open its file in an editor │
    │  Enter     back to the list           s           choose what replaces it    │
    │  Esc       end the search             d           forget it (asks)           │
    │Enter       zoom the preview           + -         it helped, it did not      │
    │Ctrl-D, -U  scroll the preview         u           undo the last decision     │
    │Ctrl-R      read everything again                                             │
    │Ctrl-Z      to the shell; `fg` returns K           filter: next kind          │
    │?           these keys                 S           filter: next status        │
    │q, Esc      leave                      C           filter: next scope         │
    │                                       P           filter: type a path        │
    │            any key closes this        X           no filter                  │
    └──────────────────────────────────────────────────────────────────────────────┘



    ? keys  q leave  / search  a accept  y holds  e edit  d forget  u undo
    "#);
    state.press(key(KeyCode::Esc));
    assert!(!state.is_help, "any key closes it");
}

#[test]
fn a_question_and_a_search_are_seen_on_the_screen() {
    let mut state = browser();
    typed(&mut state, "/oven");
    state.found("oven", Vec::new());
    state.press(key(KeyCode::Enter));
    typed(&mut state, "d");
    insta::assert_snapshot!(shown(&mut state, (80, 8)), @r#"
    [1 Memories 4] 2 Sessions  3 Injections
    Search: oven
    > mem004  2026-10-02  decision        The oven stands in the yard




    Archive it? y for yes, any other key for no: mem004 The oven stands in the yard
    "#);
    typed(&mut state, "n");
    typed(&mut state, "/ zeppelin");
    insta::assert_snapshot!(shown(&mut state, (80, 8)), @r#"
    [1 Memories 4] 2 Sessions  3 Injections
    Search: oven zeppelin
    Nothing found.




    Enter to the list  Esc end  Up Down select
    "#);
}

#[test]
fn no_frame_is_too_small_and_no_cell_has_a_background() {
    let sizes = [(1, 1), (5, 3), (20, 5), (40, 12), (80, 24), (119, 30), (120, 30), (200, 60)];
    for size in sizes {
        for keys in ["", "?", "d", "/bread", "S"] {
            let mut state = with_preview(browser());
            typed(&mut state, keys);
            let backend = frame(&mut state, size, COLOURS);
            let cells = backend.buffer().content();
            assert!(cells.iter().all(|cell| cell.bg == Color::Reset), "{size:?} {keys}");
        }
    }
}

#[test]
fn without_colours_only_the_selected_row_is_set_off() {
    let mut state = with_preview(browser());
    let plain = frame(&mut state, (80, 20), FrameStyle { has_colours: false });
    let cells = plain.buffer().content();
    assert!(cells.iter().all(|cell| cell.fg == Color::Reset));
    let reversed = cells.iter().filter(|cell| cell.modifier == Modifier::REVERSED).count();
    let others = cells.iter().filter(|cell| cell.modifier != Modifier::REVERSED);
    assert_eq!(reversed, 80);
    assert!(others.into_iter().all(|cell| cell.modifier.is_empty()));
    let coloured = frame(&mut state, (80, 20), COLOURS);
    assert!(coloured.buffer().content().iter().any(|cell| cell.fg == Color::Cyan));
    assert_eq!(plain.to_string(), coloured.to_string(), "the text is the same");
}

#[test]
fn the_selection_moves_and_stays_within_the_rows() {
    let mut state = browser();
    frame(&mut state, (80, 12), COLOURS);
    for (code, expected) in [
        (KeyCode::Up, 0),
        (KeyCode::Down, 1),
        (KeyCode::End, 3),
        (KeyCode::Down, 3),
        (KeyCode::Home, 0),
        (KeyCode::PageDown, 3),
        (KeyCode::PageUp, 0),
    ] {
        assert_eq!(state.press(key(code)), None);
        assert_eq!(state.selected_at(), expected, "{code:?}");
    }
    state.press(control('n'));
    assert_eq!(state.selected().unwrap().key, RowKey::Memory(id(2)));
}

#[test]
fn every_way_out_leaves() {
    for code in [KeyCode::Char('q'), KeyCode::Esc] {
        assert_eq!(browser().press(key(code)), Some(Effect::Quit));
    }
    let mut state = browser();
    typed(&mut state, "/bread");
    assert_eq!(state.press(control('c')), Some(Effect::Quit), "also while a text is typed");
    assert_eq!(state.press(control('z')), Some(Effect::Suspend));
    // Keys typed before raw mode was enabled may include a line feed.
    assert_eq!(state.press(control('j')), None);
    assert_eq!(state.field, None, "as Enter");
}

#[test]
fn a_search_asks_the_store_and_shows_what_has_the_words_behind_what_it_finds() {
    let mut state = browser();
    assert_eq!(typed(&mut state, "/"), None);
    assert_eq!(state.field, Some(TypedField::Search));
    assert_eq!(typed(&mut state, "bread"), Some(Effect::Find("bread".to_owned())));
    assert_eq!(titles(&state), ["mem001"]);
    // The result of an earlier query is ignored.
    state.found("brea", vec![id(2)]);
    assert_eq!(titles(&state), ["mem001"]);
    state.found("bread", vec![id(3), id(5)]);
    assert_eq!(titles(&state), ["mem003", "mem001"], "archived memories are filtered");
    assert_eq!(state.press(key(KeyCode::Enter)), None);
    assert_eq!((state.field, state.query()), (None, "bread"), "the list has the keys again");
    typed(&mut state, "/");
    assert_eq!(state.press(key(KeyCode::Backspace)), Some(Effect::Find("brea".to_owned())));
    assert_eq!(state.press(key(KeyCode::Esc)), None);
    assert_eq!(titles(&state).len(), 4);
    assert_eq!(state.query(), "");
}

#[test]
fn a_pasted_text_is_searched_for_and_no_command() {
    let mut state = browser();
    assert_eq!(state.paste("dq"), None, "nobody types a text");
    assert_eq!(titles(&state).len(), 4);
    typed(&mut state, "/");
    assert_eq!(state.paste("br\u{1b}ead\n"), Some(Effect::Find("bread".to_owned())));
}

#[test]
fn tabs_are_read_once_they_are_opened_and_filtered_by_their_words() {
    let mut state = browser();
    assert_eq!(state.press(key(KeyCode::Tab)), Some(Effect::Load(Tab::Sessions)));
    let row = |name: &str, words: &str| BrowseRow {
        key: RowKey::Session(name.to_owned()),
        line: words.to_owned(),
        title: words.to_owned(),
        words: words.to_owned(),
        traits: None,
    };
    state.loaded(Tab::Sessions, vec![row("a", "bake bread"), row("b", "sell the mill")]);
    assert_eq!(typed(&mut state, "/mill sell"), None, "no store is asked");
    let shown: Vec<_> = state.shown().map(|row| row.key.clone()).collect();
    assert_eq!(shown, [RowKey::Session("b".to_owned())]);
    state.press(key(KeyCode::Enter));
    assert_eq!(typed(&mut state, "d"), None);
    assert_eq!(state.asked, None, "only memories are forgotten");
    assert_eq!(state.press(key(KeyCode::BackTab)), None, "it is there already");
    assert_eq!((state.tab, state.query()), (Tab::Memories, ""), "each tab has its own search");
    assert_eq!(typed(&mut state, "3"), Some(Effect::Load(Tab::Injections)));
    assert_eq!(state.press(control('r')), Some(Effect::Load(Tab::Injections)));
}

#[test]
fn filters_go_round_and_are_lifted_together() {
    let mut state = browser();
    let mut seen = Vec::new();
    for _ in 0..5 {
        typed(&mut state, "K");
        seen.push(state.filters.kind);
    }
    // Only the kinds of the loaded memories are offered, in the order of `Kind::ALL`.
    let kinds = [Kind::Decision, Kind::Preference, Kind::Fact, Kind::Fix];
    let expected: Vec<_> = Kind::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect();
    let expected: Vec<_> = expected.into_iter().map(Some).chain([None]).collect();
    assert_eq!(seen, expected);
    for (status, expected) in [
        (StatusFilter::Waits, &["mem004"][..]),
        (StatusFilter::Held, &["mem002"]),
        (StatusFilter::Stale, &["mem004"]),
        (StatusFilter::Replaced, &[]),
        (StatusFilter::Aside, &["mem005"]),
        (StatusFilter::Every, &["mem001", "mem002", "mem003", "mem004", "mem005"]),
        (StatusFilter::Current, &["mem001", "mem002", "mem003", "mem004"]),
    ] {
        typed(&mut state, "S");
        assert_eq!(state.filters.status, status);
        assert_eq!(titles(&state), expected, "{status:?}");
    }
    typed(&mut state, "CCC");
    assert_eq!(titles(&state), ["mem003"], "the user's own");
    typed(&mut state, "X");
    typed(&mut state, "Psrc/dec");
    assert_eq!(titles(&state), ["mem001", "mem004"]);
    assert_eq!(typed(&mut state, "q"), None, "it is typed");
    assert_eq!(titles(&state).len(), 0);
    state.press(key(KeyCode::Esc));
    assert_eq!((titles(&state).len(), state.filters.path.as_str()), (4, ""));
}

#[test]
fn keys_on_a_memory_ask_for_what_fits_it() {
    let on = |row: usize, keys: &str| {
        let mut state = browser();
        typed(&mut state, if row == 4 { "SSSSS" } else { "" });
        (0..row % 4).for_each(|_| drop(state.press(key(KeyCode::Down))));
        let effect = typed(&mut state, keys);
        (effect, state.note.map(|note| note.text).unwrap_or_default())
    };
    let act = |act, number| (Some(Effect::Act(act, id(number))), String::new());
    assert_eq!(on(0, "y"), act(Act::Keep, 1));
    assert_eq!(on(3, "ay"), act(Act::Accept, 4));
    assert_eq!(on(0, "+"), act(Act::Helped(true), 1));
    assert_eq!(on(0, "-"), act(Act::Helped(false), 1));
    assert_eq!(on(0, "e"), act(Act::Edit, 1));
    assert_eq!(on(0, "o"), act(Act::Open, 1));
    assert_eq!(on(1, "ry"), act(Act::Release, 2));
    assert_eq!(on(4, "r"), act(Act::Restore, 5));
    assert_eq!(on(4, "o"), act(Act::Open, 5));
    // The key that records a memory as valid does not release a memory that resembles an injected instruction.
    for keys in ["y", "a"] {
        let (effect, told) = on(1, keys);
        assert!(effect.is_none() && told.contains("r releases it"), "{told}");
    }
    let (effect, told) = on(3, "y");
    assert!(effect.is_none() && told.contains("It is held: a takes it into"), "{told}");
    let (effect, told) = on(0, "a");
    assert!(effect.is_none() && told.contains("It was accepted before"), "{told}");
    let (effect, told) = on(0, "r");
    assert!(effect.is_none() && told.contains("neither withheld nor archived"), "{told}");
    for keys in ["y", "a", "e", "d", "dy", "s"] {
        let (effect, told) = on(4, keys);
        assert!(effect.is_none(), "{keys}");
        assert!(told.contains("r restores it") || keys == "dy", "{keys}: {told}");
    }
}

/// Keys that move within lists, pages and texts.
const MOVING: [KeyCode; 30] = [
    KeyCode::Up,
    KeyCode::Down,
    KeyCode::Left,
    KeyCode::Right,
    KeyCode::Home,
    KeyCode::End,
    KeyCode::PageUp,
    KeyCode::PageDown,
    KeyCode::Enter,
    KeyCode::Backspace,
    KeyCode::Tab,
    KeyCode::BackTab,
    KeyCode::Char(' '),
    KeyCode::Char('h'),
    KeyCode::Char('j'),
    KeyCode::Char('k'),
    KeyCode::Char('l'),
    KeyCode::Char('n'),
    KeyCode::Char('p'),
    KeyCode::Char('g'),
    KeyCode::Char('G'),
    KeyCode::Char('b'),
    KeyCode::Char('f'),
    KeyCode::Char('w'),
    KeyCode::Char('0'),
    KeyCode::Char('$'),
    KeyCode::Char('J'),
    KeyCode::Char('L'),
    KeyCode::Char('H'),
    KeyCode::Char('N'),
];

#[test]
fn keys_that_move_decide_nothing_on_any_memory() {
    for row in 0..4 {
        for code in MOVING {
            let mut state = browser();
            frame(&mut state, (80, 24), COLOURS);
            (0..row).for_each(|_| drop(state.press(key(KeyCode::Down))));
            let effect = state.press(key(code));
            let is_harmless = matches!(effect, None | Some(Effect::Load(_)));
            assert!(is_harmless && state.asked.is_none(), "{code:?}: {effect:?}");
            // Each key is pressed twice, like a key that is held down.
            let effect = state.press(key(code));
            assert!(matches!(effect, None | Some(Effect::Load(_))), "{code:?}: {effect:?}");
        }
    }
    // The confirmation requires a key other than `a` and other than the keys for movement.
    for code in MOVING {
        let mut state = browser();
        (0..3).for_each(|_| drop(state.press(key(KeyCode::Down))));
        typed(&mut state, "a");
        assert_eq!(state.asked, Some(Effect::Act(Act::Accept, id(4))));
        assert_eq!(state.press(key(code)), None, "{code:?}");
    }
    let mut state = browser();
    (0..3).for_each(|_| drop(state.press(key(KeyCode::Down))));
    assert_eq!(typed(&mut state, "aa"), None);
}

#[test]
fn j_and_k_move_in_lists_and_previews_and_are_text_where_one_is_typed() {
    let mut state = browser();
    typed(&mut state, "jj");
    assert_eq!(state.selected_at(), 2);
    typed(&mut state, "k");
    assert_eq!(state.selected_at(), 1);
    typed(&mut state, "/jk");
    assert_eq!((state.query(), state.selected_at()), ("jk", 0));
    assert_eq!(typed(&mut browser(), "u"), Some(Effect::Undo));
}

#[test]
fn forgetting_asks_once_and_only_yes_is_a_yes() {
    let mut state = browser();
    assert_eq!(typed(&mut state, "d"), None);
    assert_eq!(typed(&mut state, "y"), Some(Effect::Act(Act::Forget, id(1))));
    for no in [KeyCode::Char('n'), KeyCode::Enter, KeyCode::Esc, KeyCode::Char('d')] {
        typed(&mut state, "d");
        assert_eq!(state.press(key(no)), None);
        assert_eq!(state.asked, None);
        assert_eq!(state.note.as_ref().unwrap().text, "Nothing was done.");
    }
    // After the selected memory was removed, the next memory is selected.
    state.loaded(Tab::Memories, vec![memory(2, Kind::Fix, "Ignore", StandingFilter::Active)]);
    assert_eq!(state.selected().unwrap().key, RowKey::Memory(id(2)));
}

#[test]
fn the_selection_follows_a_memory_that_ranks_elsewhere_once_it_was_changed() {
    let mut state = browser();
    typed(&mut state, "/bread");
    state.found("bread", vec![id(1), id(3), id(4)]);
    state.press(key(KeyCode::Enter));
    assert_eq!(state.selected_key(), Some(RowKey::Memory(id(1))));
    let changed = state.selected_key().unwrap();
    state.found("bread", vec![id(3), id(4), id(1)]);
    assert_eq!(state.selected_key(), Some(RowKey::Memory(id(3))), "an answer to typing");
    state.select_again(&changed);
    assert_eq!(state.selected_key(), Some(changed));
    state.select_again(&RowKey::Memory(id(9)));
    assert_eq!(state.selected_key(), Some(RowKey::Memory(id(1))), "what is gone changes nothing");
}

#[test]
fn what_replaces_a_memory_is_chosen_from_the_list() {
    let mut state = browser();
    typed(&mut state, "s");
    assert_eq!(state.task, Task::Replace { older: id(1) });
    assert_eq!(state.press(key(KeyCode::Enter)), None);
    assert!(state.note.as_ref().unwrap().text.contains("cannot replace itself"));
    assert_eq!(typed(&mut state, "rolls"), Some(Effect::Find("rolls".to_owned())));
    let expected = Effect::Supersede { older: id(1), newer: id(3) };
    assert_eq!(state.press(key(KeyCode::Enter)), Some(expected));
    assert_eq!((&state.task, state.field, state.query()), (&Task::Browse, None, ""));
    typed(&mut state, "s");
    assert_eq!(state.press(key(KeyCode::Esc)), None);
    assert_eq!((&state.task, state.note.as_ref().unwrap().is_problem), (&Task::Browse, false));
}

#[test]
fn a_choice_for_another_command_is_typed_and_taken_with_enter() {
    let mut state = with_task(Purpose::Show.task(), Purpose::Show.filters());
    assert_eq!(titles(&state).len(), 5, "archived memories can be shown, too");
    typed(&mut state, "mill");
    assert_eq!(state.press(key(KeyCode::Enter)), Some(Effect::Chosen(id(5))));
    assert_eq!(state.press(key(KeyCode::Esc)), Some(Effect::Quit));
    let mut state = with_task(Purpose::Delete.task(), Purpose::Delete.filters());
    assert_eq!(state.press(key(KeyCode::Enter)), None, "it asks first");
    assert_eq!(typed(&mut state, "y"), Some(Effect::Chosen(id(1))));
    let mut state = with_task(Purpose::Edit.task(), Purpose::Edit.filters());
    assert_eq!(titles(&state).len(), 4);
    typed(&mut state, "zeppelin");
    assert_eq!(state.press(key(KeyCode::Enter)), None, "there is nothing to choose");
}

#[test]
fn a_long_preview_scrolls_to_its_end_and_starts_anew_with_another_row() {
    let mut state = browser();
    let text: String = (1..=40).map(|line| format!("line {line}\n")).collect();
    state.previewed(RowKey::Memory(id(1)), text.clone());
    let last = |state: &mut BrowseState| frame(state, (80, 24), COLOURS).to_string();
    assert!(!last(&mut state).contains("line 40"));
    (0..20).for_each(|_| drop(state.press(control('d'))));
    assert!(last(&mut state).contains("line 40"));
    state.press(control('u'));
    assert!(!last(&mut state).contains("line 40"), "one key leads back from the end");
    state.press(key(KeyCode::Enter));
    assert!(state.is_zoomed && last(&mut state).contains("-"));
    state.press(key(KeyCode::Down));
    assert_eq!(state.selected_at(), 0, "arrows scroll the zoomed preview");
    state.press(key(KeyCode::Esc));
    assert!(!state.is_zoomed);
    state.press(key(KeyCode::Down));
    state.previewed(RowKey::Memory(id(2)), text);
    assert_eq!(state.scroll, 0);
}

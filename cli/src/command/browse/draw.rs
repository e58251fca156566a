//! Draws the state of the browser as a frame.

use dialoguer::console::{measure_text_width, truncate_str};
use memory_store::Kind;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use super::filters::{Filters, StatusFilter};
use super::keys::{self, KeyHelp};
use super::state::{Act, BrowseState, Effect, FrameSizes, Tab, Task, TypedField, scope_name};
use super::styled::FrameStyle;
use crate::view::style::{CARE, NAME, QUIET, STRONG};
use crate::view::wrap;

/// Minimum columns of a screen that shows the preview beside the list.
const WIDE_COLUMNS: u16 = 120;
/// Height of the list in percent if the preview is below the list.
const LIST_PERCENT: u16 = 45;
/// Minimum rows of a screen that shows a preview.
const PREVIEW_ROWS_MIN: u16 = 12;
/// Mark of the selected row; other rows are indented by its width.
const MARK: &str = "> ";
/// Columns of the key in a line of the help.
const KEY_COLUMNS: usize = 12;
/// Width of each of the two columns of the help.
const HELP_COLUMN: usize = 39;
/// Columns and rows of the help, with its border.
const HELP_SIZE: (u16, u16) = (80, 17);

/// Draws a frame; returns the sizes that scrolling needs.
pub fn draw(frame: &mut Frame<'_>, state: &BrowseState, look: FrameStyle) -> FrameSizes {
    let rows =
        [Constraint::Length(1), Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)];
    let [tabs, search, middle, last] = frame.area().layout(&Layout::vertical(rows));
    frame.render_widget(tabs_line(state, look, tabs.width), tabs);
    draw_search(frame, state, look, search);
    let (list, preview) = split(middle, state.is_zoomed);
    if list.height > 0 {
        draw_list(frame, state, look, list);
    }
    let mut seen = FrameSizes { list_rows: list.height.into(), ..FrameSizes::default() };
    if preview.height > 0 {
        (seen.preview_rows, seen.preview_lines) = draw_preview(frame, state, look, preview);
    }
    frame.render_widget(last_line(state, look, last.width), last);
    if state.is_help {
        draw_help(frame, look);
    }
    seen
}

/// Divides the middle area into list and preview; either may be empty.
fn split(middle: Rect, is_zoomed: bool) -> (Rect, Rect) {
    let nothing = Rect { height: 0, ..middle };
    if is_zoomed {
        return (nothing, middle);
    }
    if middle.width >= WIDE_COLUMNS {
        let [list, preview] = middle.layout(&Layout::horizontal([Constraint::Fill(1); 2]));
        return (list, preview);
    }
    if middle.height < PREVIEW_ROWS_MIN {
        return (middle, nothing);
    }
    let parts = [Constraint::Percentage(LIST_PERCENT), Constraint::Fill(1)];
    let [list, preview] = middle.layout(&Layout::vertical(parts));
    (list, preview)
}

fn tabs_line(state: &BrowseState, look: FrameStyle, columns: u16) -> Line<'static> {
    let title = match &state.task {
        Task::Browse => None,
        Task::Choose { verb, .. } => Some(format!("Choose a memory to {verb}")),
        Task::Replace { older } => {
            Some(format!("Choose the memory that replaces {}", older.short()))
        }
    };
    if let Some(title) = title {
        return Line::from(Span::styled(title, look.style(STRONG)));
    }
    let mut spans = Vec::new();
    for (number, tab) in Tab::ALL.into_iter().enumerate() {
        let count = state.count(tab).map(|count| format!(" {count}")).unwrap_or_default();
        let text = format!("{} {}{count}", number + 1, tab.name());
        // Brackets mark the open tab if there are no colours.
        let (text, style) = match tab == state.tab {
            true => (format!("[{text}]"), look.style(STRONG)),
            false => (format!(" {text} "), look.style(QUIET)),
        };
        spans.push(Span::styled(text, style));
    }
    let shown = match state.tab {
        Tab::Memories => filters_text(&state.filters),
        Tab::Sessions | Tab::Injections => String::new(),
    };
    let used: usize = spans.iter().map(Span::width).sum();
    let room = usize::from(columns).saturating_sub(used + 2);
    let shown = truncate_str(&shown, room, "...").into_owned();
    let gap = room.saturating_sub(measure_text_width(&shown)) + 2;
    spans.push(Span::raw(" ".repeat(gap)));
    spans.push(Span::styled(shown, look.style(CARE)));
    Line::from(spans)
}

/// Names the active filters.
fn filters_text(filters: &Filters) -> String {
    let Filters { kind, status, scope, path } = filters;
    let status = Some(*status).filter(|status| *status != StatusFilter::default());
    let parts = [
        ("kind", kind.map(Kind::name)),
        ("status", status.map(StatusFilter::name)),
        ("scope", scope.map(scope_name)),
        ("path", Some(path.as_str()).filter(|path| !path.is_empty())),
    ];
    let parts = parts.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}", value?)));
    parts.collect::<Vec<_>>().join(", ")
}

fn draw_search(frame: &mut Frame<'_>, state: &BrowseState, look: FrameStyle, area: Rect) {
    let (label, text) = match state.field {
        Some(TypedField::Path) => ("Path: ", state.filters.path.as_str()),
        Some(TypedField::Search) => ("Search: ", state.query()),
        None if !state.query().is_empty() => ("Search: ", state.query()),
        None => {
            let hint = Span::styled("/ searches as you type", look.style(QUIET));
            frame.render_widget(Line::from(hint), area);
            return;
        }
    };
    // If a text is too long, its end is shown, because the user types there.
    let room = usize::from(area.width).saturating_sub(label.len() + 1);
    let mut start = 0;
    while measure_text_width(&text[start..]) > room {
        start += text[start..].chars().next().map_or(1, char::len_utf8);
    }
    let text = &text[start..];
    let spans = [Span::styled(label, look.style(NAME)), Span::raw(text.to_owned())];
    frame.render_widget(Line::from_iter(spans), area);
    if state.field.is_some() && state.asked.is_none() {
        let column = label.len() + measure_text_width(text);
        frame.set_cursor_position((area.x + u16::try_from(column).unwrap_or(0), area.y));
    }
}

fn draw_list(frame: &mut Frame<'_>, state: &BrowseState, look: FrameStyle, area: Rect) {
    let (count, height) = (state.shown().len(), usize::from(area.height));
    if count == 0 {
        let text = match (state.count(state.tab), state.query().is_empty()) {
            (None, _) => "",
            (Some(_), _) if !state.has_rows(state.tab) => empty(state.tab),
            (Some(_), true) => "The filters let nothing pass: X lifts them.",
            (Some(_), false) => "Nothing found.",
        };
        frame.render_widget(Line::from(Span::styled(text, look.style(QUIET))), area);
        return;
    }
    // The selected row is in the middle, except near the ends.
    let selected = state.selected_at();
    let first = selected.saturating_sub(height / 2).min(count.saturating_sub(height));
    let room = usize::from(area.width).saturating_sub(MARK.len());
    let rows = state.shown().enumerate().skip(first).take(height).map(|(at, row)| {
        let mut line = look.line(&truncate_str(&row.line, room, "..."));
        let is_selected = at == selected;
        line.spans.insert(0, Span::raw(if is_selected { MARK } else { "  " }));
        if is_selected {
            let gap = usize::from(area.width).saturating_sub(line.width());
            line.spans.push(Span::raw(" ".repeat(gap)));
            // The reversed row has no other colours: the combination is unreadable in some terminals.
            let reversed = Style::new().add_modifier(Modifier::REVERSED);
            line.spans.iter_mut().for_each(|span| span.style = reversed);
        }
        line
    });
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()), area);
}

const fn empty(tab: Tab) -> &'static str {
    match tab {
        Tab::Memories => "No memories.",
        Tab::Sessions => "No session is archived yet.",
        Tab::Injections => "Nothing was given to Claude in this project yet.",
    }
}

/// Draws the preview; returns its rows and the number of lines in its text.
fn draw_preview(
    frame: &mut Frame<'_>,
    state: &BrowseState,
    look: FrameStyle,
    area: Rect,
) -> (usize, usize) {
    let is_beside = area.x > 0;
    let border = if is_beside { Borders::LEFT } else { Borders::TOP };
    let block = Block::new().borders(border).border_style(look.style(QUIET));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let columns = usize::from(inner.width);
    let text = state.preview.as_ref().map_or("", |(_, text)| text.as_str());
    let broken: Vec<String> = text.lines().map(|line| wrap::broken(line, columns)).collect();
    let mut lines: Vec<Line<'_>> = look.lines(&broken.join("\n")).collect();
    if text.is_empty() {
        lines.clear();
    }
    let (rows, count) = (usize::from(inner.height), lines.len());
    let scroll = state.scroll.min(count.saturating_sub(rows));
    let shown: Vec<Line<'_>> = lines.into_iter().skip(scroll).take(rows).collect();
    frame.render_widget(Paragraph::new(shown), inner);
    if count > rows {
        let place = format!(" {}-{} of {count} ", scroll + 1, scroll + rows);
        let width = u16::try_from(place.len()).unwrap_or(0).min(area.width);
        let y = if is_beside { area.bottom().saturating_sub(1) } else { area.y };
        let corner = Rect { x: area.right() - width, y, width, height: 1 };
        frame.render_widget(Line::from(Span::styled(place, look.style(QUIET))), corner);
    }
    (rows, count)
}

fn last_line(state: &BrowseState, look: FrameStyle, columns: u16) -> Line<'static> {
    let columns = usize::from(columns);
    if let Some(asked) = &state.asked {
        let title = state.selected().map(|row| row.title.clone());
        let verb = match asked {
            Effect::Act(Act::Accept, _) => "Take it into the repository",
            Effect::Act(Act::Release, _) => "Give it to sessions",
            Effect::Act(Act::Forget, _) => "Archive it",
            _ => "Delete it for good",
        };
        let ask = format!("{verb}? y for yes, any other key for no: {}", title.unwrap_or_default());
        return Line::from(Span::styled(wrap::cut(&ask, columns), look.style(CARE)));
    }
    if let Some(note) = &state.note {
        let style = if note.is_problem { look.style(CARE) } else { look.style(STRONG) };
        return Line::from(Span::styled(wrap::cut(&note.text, columns), style));
    }
    let mut line = Line::default();
    for (key, does) in keys::in_short(&state.task, state.tab, state.field.is_some()) {
        let before = if line.spans.is_empty() { "" } else { "  " };
        if line.width() + before.len() + key.len() + 1 + does.len() > columns {
            break;
        }
        line.push_span(Span::styled(format!("{before}{key}"), look.style(NAME)));
        line.push_span(Span::styled(format!(" {does}"), look.style(QUIET)));
    }
    line
}

fn draw_help(frame: &mut Frame<'_>, look: FrameStyle) {
    let area = frame.area();
    let (width, height) = (HELP_SIZE.0.min(area.width), HELP_SIZE.1.min(area.height));
    let (x, y) = ((area.width - width) / 2, (area.height - height) / 2);
    let area = Rect { x, y, width, height };
    frame.render_widget(Clear, area);
    let block = Block::bordered().border_style(look.style(QUIET)).title(" Keys ");
    let room = usize::from(block.inner(area).width) / 2;
    let column = room.min(HELP_COLUMN);
    let cells = |(key, does): KeyHelp| {
        let does = truncate_str(does, column.saturating_sub(KEY_COLUMNS), "").into_owned();
        let gap = column.saturating_sub(KEY_COLUMNS + measure_text_width(&does));
        [
            Span::styled(format!("{key:<KEY_COLUMNS$}"), look.style(NAME)),
            Span::raw(does + &" ".repeat(gap)),
        ]
    };
    let lines: Vec<Line<'_>> = keys::EVERYWHERE
        .into_iter()
        .zip(keys::OF_MEMORIES)
        .map(|(left, right)| Line::from_iter(cells(left).into_iter().chain(cells(right))))
        .collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

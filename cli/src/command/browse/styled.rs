//! Conversion of the coloured texts of other commands into styles for a frame.

use anstyle::{AnsiColor, Color, Effects};
use ratatui::style::{Color as CellColor, Modifier, Style};
use ratatui::text::{Line, Span};

/// Style of a frame: with or without colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameStyle {
    /// Whether texts have colours and weights. If not, only the selected row is highlighted.
    pub has_colours: bool,
}

impl FrameStyle {
    /// Converts a style of the command line into a style for cells. The background is never set, so that the style
    /// suits light and dark terminals.
    pub fn style(self, style: anstyle::Style) -> Style {
        if !self.has_colours {
            return Style::new();
        }
        let mut cells = Style::new();
        if let Some(Color::Ansi(color)) = style.get_fg_color() {
            cells = cells.fg(cell_color(color));
        }
        for (effect, modifier) in [
            (Effects::BOLD, Modifier::BOLD),
            (Effects::DIMMED, Modifier::DIM),
            (Effects::UNDERLINE, Modifier::UNDERLINED),
        ] {
            if style.get_effects().contains(effect) {
                cells = cells.add_modifier(modifier);
            }
        }
        cells
    }

    /// Returns a line with the colours of its text.
    pub fn line(self, painted: &str) -> Line<'static> {
        self.line_after(painted, &mut Style::new())
    }

    /// Returns the lines of a text with their colours. A colour that is not reset at the end of a line also applies to
    /// the next line.
    pub fn lines(self, painted: &str) -> impl Iterator<Item = Line<'static>> {
        let mut style = Style::new();
        painted.split('\n').map(move |line| self.line_after(line, &mut style))
    }

    fn line_after(self, painted: &str, style: &mut Style) -> Line<'static> {
        let mut spans = Vec::new();
        for (number, part) in painted.split("\u{1b}[").enumerate() {
            let text = match (number, part.split_once('m')) {
                (0, _) | (_, None) => part,
                (_, Some((codes, text))) => {
                    *style = codes.split(';').fold(*style, changed);
                    text
                }
            };
            if !text.is_empty() {
                let style = if self.has_colours { *style } else { Style::new() };
                spans.push(Span::styled(text.replace('\t', "    "), style));
            }
        }
        Line::from(spans)
    }
}

/// Applies a colour code to a style. Codes that the command line does not use are ignored.
fn changed(style: Style, code: &str) -> Style {
    match code {
        "" | "0" => Style::new(),
        "1" => style.add_modifier(Modifier::BOLD),
        "2" => style.add_modifier(Modifier::DIM),
        "4" => style.add_modifier(Modifier::UNDERLINED),
        "31" => style.fg(CellColor::Red),
        "32" => style.fg(CellColor::Green),
        "33" => style.fg(CellColor::Yellow),
        "36" => style.fg(CellColor::Cyan),
        _ => style,
    }
}

const fn cell_color(color: AnsiColor) -> CellColor {
    match color {
        AnsiColor::Red => CellColor::Red,
        AnsiColor::Green => CellColor::Green,
        AnsiColor::Yellow => CellColor::Yellow,
        AnsiColor::Cyan => CellColor::Cyan,
        _ => CellColor::Reset,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::style::{BAD, CARE, GOOD, NAME, QUIET, STRONG, paint};

    #[test]
    fn each_of_our_styles_comes_back_as_it_was_painted() {
        let look = FrameStyle { has_colours: true };
        for style in [NAME, STRONG, QUIET, GOOD, CARE, BAD] {
            let line = look.line(&format!("before {} after", paint(style, "text")));
            let spans: Vec<(&str, Style)> =
                line.spans.iter().map(|span| (&*span.content, span.style)).collect();
            let plain = Style::new();
            let expected = [("before ", plain), ("text", look.style(style)), (" after", plain)];
            assert_eq!(spans, expected, "{style:?}");
            assert_ne!(look.style(style), plain, "{style:?}");
        }
    }

    #[test]
    fn a_colour_goes_on_over_the_end_of_a_line() {
        let look = FrameStyle { has_colours: true };
        let lines: Vec<_> = look.lines(&format!("{} after", paint(BAD, "one\ntwo"))).collect();
        assert_eq!(lines[0].spans, [Span::styled("one", look.style(BAD))]);
        assert_eq!(lines[1].spans[0], Span::styled("two", look.style(BAD)));
        assert_eq!(lines[1].spans[1].style, Style::new());
    }

    #[test]
    fn without_colours_nothing_is_left_of_them() {
        let look = FrameStyle { has_colours: false };
        let line = look.line(&paint(BAD, "text"));
        assert_eq!(line.spans, [Span::raw("text")]);
        assert_eq!(look.style(BAD), Style::new());
    }
}

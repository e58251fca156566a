//! Charts of a report, as SVG with colours from the style sheet.

use super::data::{AGES, Week};
use super::graph::{Network, NetworkNode, Sort};
use super::layout;
use super::markup::Html;
use super::timings::Timing;
use crate::inspect::stats::Outcomes;

/// Width of a chart that fills the page.
const PAGE: f64 = 1_000.0;
/// Height of the bars of one row.
const ROW: f64 = 64.0;
/// Distance between rows, including the title.
const ROW_STEP: f64 = 104.0;
/// Height of the histogram's bars.
const TALL: f64 = 170.0;
/// Maximum characters of a node's label in the drawing; its details contain the whole name.
const NAME_CHARS_MAX: usize = 30;
/// Space for a date below a chart.
const TICK: f64 = 78.0;
/// Minimum width of a bar whose value is above zero, in percent.
const THIN: f64 = 0.6;

/// Returns a bar that is divided by age. The width of each part is its count's share of `most`.
pub fn ages(counts: &[usize; AGES.len()], most: usize) -> Html {
    let mut html = Html::default();
    html.tag("<svg class=\"bar\" aria-hidden=\"true\" focusable=\"false\">");
    let mut from = 0.0;
    for (age, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let width = share(*count, most);
        html.tag("<rect class=\"age-").text(age).tag("\" x=\"").text(percent(from));
        html.tag("\" width=\"").text(percent(width)).tag("\" height=\"100%\"/>");
        from += width;
    }
    html.tag("</svg>");
    html
}

/// Returns a bar whose width is the share of `count` in `most`.
pub fn bar(count: usize, most: usize) -> Html {
    let mut html = Html::default();
    html.tag("<svg class=\"bar\" aria-hidden=\"true\" focusable=\"false\"><rect class=\"age-1\" width=\"")
        .text(percent(share(count, most)))
        .tag("\" height=\"100%\"/></svg>");
    html
}

/// Returns the share of `count` in `most` as a percentage, at least [`THIN`] unless the count is zero.
fn share(count: usize, most: usize) -> f64 {
    if count == 0 { 0.0 } else { (count as f64 * 100.0 / most.max(1) as f64).max(THIN) }
}

fn percent(share: f64) -> String {
    format!("{share:.2}%")
}

/// Draws the outcomes of injections.
pub fn outcome(outcome: &Outcomes) -> Html {
    let parts = [
        (outcome.followed, "followed", "touched its file or ran its command"),
        (outcome.not_followed, "neither", "did neither"),
        (outcome.unclear, "unclear", "it names no file or command"),
    ];
    let mut html = Html::default();
    html.tag("<svg class=\"bar tall\" aria-hidden=\"true\" focusable=\"false\">");
    let mut from = 0.0;
    for (count, class, _) in parts {
        let width = count as f64 * 100.0 / outcome.given.max(1) as f64;
        html.tag("<rect class=\"").text(class).tag("\" x=\"").text(percent(from));
        html.tag("\" width=\"").text(percent(width)).tag("\" height=\"100%\"/>");
        from += width;
    }
    html.tag("</svg>\n<ul class=\"outcome\">");
    for (count, class, does) in parts {
        html.tag("<li class=\"").text(class).tag("\"><strong>").text(count).tag("</strong> ");
        html.text(does).tag("</li>");
    }
    html.tag("</ul>");
    html
}

/// Draws three rows of bars, one bar for each week.
pub fn weeks(weeks: &[Week]) -> Html {
    type Count = fn(&Week) -> usize;
    let rows: [(&str, &str, Count); 3] = [
        ("sessions", "sessions", |week| week.sessions),
        ("learned", "memories learned", |week| week.learned),
        ("injections", "injections", |week| week.injections),
    ];
    let step = PAGE / weeks.len().max(1) as f64;
    let mut html = Html::default();
    html.tag("<svg class=\"chart\" role=\"img\" aria-label=\"Sessions, memories learned and injections by week; the table below has the numbers\" viewBox=\"0 0 ")
        .text(PAGE)
        .tag(" ")
        .text(ROW_STEP * rows.len() as f64 + 22.0)
        .tag("\">\n");
    for (row, (class, title, count)) in rows.into_iter().enumerate() {
        let top = row as f64 * ROW_STEP + 26.0;
        let most = weeks.iter().map(count).max().unwrap_or(0);
        html.tag("<text class=\"title\" x=\"0\" y=\"").text(top - 12.0).tag("\">").text(title);
        html.tag("</text><text class=\"scale\" x=\"").text(PAGE).tag("\" y=\"").text(top - 12.0);
        html.tag("\">most in a week: ").text(most).tag("</text>");
        for (at, week) in weeks.iter().enumerate().filter(|(_, week)| count(week) > 0) {
            let height = (count(week) as f64 * ROW / most.max(1) as f64).max(1.5);
            html.tag("<rect class=\"").text(class).tag("\" x=\"").text(round(at as f64 * step));
            html.tag("\" y=\"").text(round(top + ROW - height)).tag("\" width=\"");
            html.text(round((step - 3.0).min(60.0))).tag("\" height=\"").text(round(height));
            html.tag("\"><title>")
                .text(&week.week)
                .tag(": ")
                .text(count(week))
                .tag("</title></rect>");
        }
        html.tag("<line x1=\"0\" x2=\"").text(PAGE).tag("\" y1=\"").text(top + ROW);
        html.tag("\" y2=\"").text(top + ROW).tag("\"/>\n");
    }
    let bottom = ROW_STEP * rows.len() as f64 + 10.0;
    // Only as many dates are shown as have room. The last one is included, and each is aligned to the end of its bar.
    let every = weeks.len().div_ceil(9).max(1);
    for (at, week) in weeks.iter().enumerate().rev().step_by(every) {
        let right = at as f64 * step + (step - 3.0).min(60.0);
        if right < TICK {
            break;
        }
        html.tag("<text class=\"tick end\" x=\"").text(round(right)).tag("\" y=\"");
        html.text(bottom).tag("\">").text(&week.week).tag("</text>");
    }
    html.tag("</svg>\n");
    html
}

/// Rounds to a tenth.
fn round(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// Draws a histogram of the durations of hooks.
pub fn timings(timings: &[Timing]) -> Html {
    let most = timings.iter().map(|timing| timing.count).max().unwrap_or(0).max(1);
    let step = PAGE / timings.len().max(1) as f64;
    let told: Vec<String> = timings
        .iter()
        .filter(|timing| timing.count > 0)
        .map(|timing| format!("{} ms: {}", timing.label(), timing.count))
        .collect();
    let mut html = Html::default();
    html.tag("<svg class=\"chart\" role=\"img\" aria-label=\"Injections by milliseconds at most: ")
        .text(told.join(", "))
        .tag("\" viewBox=\"0 0 ")
        .text(PAGE)
        .tag(" ")
        .text(TALL + 62.0)
        .tag("\">\n");
    for (at, timing) in timings.iter().enumerate() {
        let (left, height) = (at as f64 * step, timing.count as f64 * TALL / most as f64);
        let middle = round(left + step / 2.0);
        if timing.count > 0 {
            let height = height.max(1.5);
            html.tag("<rect class=\"timing\" x=\"").text(round(left + 4.0)).tag("\" y=\"");
            html.text(round(22.0 + TALL - height)).tag("\" width=\"").text(round(step - 8.0));
            html.tag("\" height=\"").text(round(height)).tag("\"/><text class=\"value\" x=\"");
            html.text(middle).tag("\" y=\"").text(round(16.0 + TALL - height)).tag("\">");
            html.text(timing.count).tag("</text>");
        }
        html.tag("<text class=\"tick middle\" x=\"").text(middle).tag("\" y=\"").text(TALL + 42.0);
        html.tag("\">");
        if timing.micros_max.is_some() {
            html.tag("≤ ");
        }
        html.text(timing.label()).tag("</text>\n");
    }
    html.tag("<line x1=\"0\" x2=\"").text(PAGE).tag("\" y1=\"").text(TALL + 22.0).tag("\" y2=\"");
    html.text(TALL + 22.0).tag("\"/></svg>\n");
    html
}

/// Draws links and nodes of a graph. The script of the report adds keyboard navigation.
pub fn network(network: &Network) -> Html {
    let mut html = Html::default();
    html.tag("<g aria-hidden=\"true\">");
    for (at, edge) in network.edges.iter().enumerate() {
        let (from, to) = (network.nodes[edge.from].at, network.nodes[edge.to].at);
        let is_against = edge.what.iter().any(|what| what == "contradicts");
        html.tag(if is_against { "<line class=\"against\"" } else { "<line" });
        html.tag(" id=\"edge-").text(at).tag("\" x1=\"").text(from.x).tag("\" y1=\"").text(from.y);
        html.tag("\" x2=\"").text(to.x).tag("\" y2=\"").text(to.y).tag("\"/>\n");
    }
    html.tag("</g>\n");
    let names: Vec<String> = network.nodes.iter().map(name).collect();
    let points: Vec<layout::Point> = network.nodes.iter().map(|node| node.at).collect();
    let chars: Vec<usize> = names.iter().map(|name| name.chars().count()).collect();
    let namings = layout::name(&points, &chars);
    for (at, ((node, name), naming)) in network.nodes.iter().zip(&names).zip(namings).enumerate() {
        html.tag("<g class=\"node ").text(node.sort.name());
        html.tag(if naming.has_room { " named" } else { "" });
        html.tag(if naming.is_left { " left" } else { "" });
        html.tag("\" id=\"node-")
            .text(at)
            .tag("\" role=\"img\" aria-label=\"")
            .text(node.sort.name());
        html.tag(": ").text(&node.label).tag("\" transform=\"translate(").text(node.at.x);
        html.tag(" ").text(node.at.y).tag(")\"><circle class=\"ring\" r=\"14\"/>");
        html.tag(match node.sort {
            Sort::Memory => "<circle class=\"shape\" r=\"6\"/>",
            Sort::File => "<rect class=\"shape\" x=\"-6\" y=\"-6\" width=\"12\" height=\"12\"/>",
            Sort::Session => "<path class=\"shape\" d=\"M0-8 8 0 0 8-8 0z\"/>",
        });
        html.tag("<text x=\"").tag(if naming.is_left { "-11" } else { "11" });
        html.tag("\" y=\"4\">").text(name).tag("</text></g>\n");
    }
    html
}

/// Returns the label of a node: the end of a path, the id of a session, the beginning of a title.
fn name(node: &NetworkNode) -> String {
    let chars = |text: &str| text.chars().count();
    match node.sort {
        Sort::Session => node.label.split(' ').next().unwrap_or_default().to_owned(),
        Sort::File if chars(&node.label) > NAME_CHARS_MAX => {
            let end = node.label.rsplit('/').next().unwrap_or_default();
            let from = chars(end).saturating_sub(NAME_CHARS_MAX);
            format!("…{}", end.chars().skip(from).collect::<String>())
        }
        Sort::Memory if chars(&node.label) > NAME_CHARS_MAX => {
            let start: String = node.label.chars().take(NAME_CHARS_MAX).collect();
            format!("{}…", start.trim_end())
        }
        Sort::File | Sort::Memory => node.label.clone(),
    }
}

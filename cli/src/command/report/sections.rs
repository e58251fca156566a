//! The sections of a report as HTML. All of them are readable without a script.

use super::charts;
use super::data::{AGES, Overall, ReportEntry};
use super::graph::Sort;
use super::layout::{HEIGHT, WIDTH};
use super::markup::Html;
use crate::command::log::occasion;
use crate::view::given::GONE;
use crate::view::{clock, counted, plain, plural};

/// Maximum memories in the list without a script; the script lists all.
const LISTED_MAX: usize = 200;
/// Maximum rows of the other tables; `--json` contains all rows.
const ROWS_MAX: usize = 25;
/// Maximum rows in the table of memories to review.
const CHECKED_MAX: usize = 100;

/// The anchors and titles of the sections.
const SECTIONS: [(&str, &str); 8] = [
    ("kinds", "Kinds and age"),
    ("weeks", "Over time"),
    ("given", "What was given"),
    ("check", "To look at"),
    ("files", "Files"),
    ("graph", "Graph"),
    ("hooks", "Hooks"),
    ("memories", "Memories"),
];

/// Returns the name of the project: the name of its folder.
pub fn name(overall: &Overall) -> &str {
    overall.root.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&overall.root)
}

/// Returns all sections, with header and footer.
pub fn all(overall: &Overall) -> Html {
    let mut html = Html::default();
    html.tag("<a class=\"skip\" href=\"#memories\">Skip to the list of memories</a>\n");
    html.piece(header(overall)).tag("<main>\n");
    html.piece(kinds(overall))
        .piece(weeks(overall))
        .piece(given(overall))
        .piece(check(overall))
        .piece(files(overall))
        .piece(graph(overall))
        .piece(hooks(overall))
        .piece(memories(overall));
    html.tag("</main>\n<footer><p>Made by throughline ")
        .text(overall.version)
        .tag(". This file holds all it shows; it loads nothing and sends nothing. It is as old as its date: <code>throughline report</code> makes a new one.</p></footer>\n");
    html
}

fn header(overall: &Overall) -> Html {
    let mut html = Html::default();
    html.tag("<header>\n<p class=\"kicker\">Throughline report</p>\n<h1>").text(name(overall));
    html.tag("</h1>\n<p class=\"about\"><span class=\"path\">")
        .text(&overall.root)
        .tag("</span> · ");
    let kept = if overall.mode == "private" { "private" } else { "committed with the project" };
    html.tag("memories are ").text(kept).tag(" · <span class=\"when\">");
    html.text(clock::time(overall.made)).tag("</span></p>\n");
    let numbers = [
        (overall.numbers.memories, "memories"),
        (overall.sessions, "sessions"),
        (overall.numbers.injections.count, "injections"),
        (overall.stale().count(), "stale"),
        (overall.contradictions.len(), "contradictions"),
        (overall.file_count, "files known"),
    ];
    html.tag("<dl class=\"numbers\">");
    for (count, what) in numbers {
        html.tag("<div><dt>").text(what).tag("</dt><dd>").text(grouped(count)).tag("</dd></div>");
    }
    html.tag("</dl>\n<nav aria-label=\"Sections\"><ul>");
    for (anchor, title) in SECTIONS {
        html.tag("<li><a href=\"#").text(anchor).tag("\">").text(title).tag("</a></li>");
    }
    html.tag("</ul></nav>\n</header>\n");
    html
}

/// Formats a number with commas between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn begin(anchor: &'static str, note: &str) -> Html {
    let title = SECTIONS.iter().find(|(name, _)| *name == anchor).map_or("", |(_, title)| title);
    let mut html = Html::default();
    html.tag("<section id=\"").text(anchor).tag("\" aria-labelledby=\"").text(anchor);
    html.tag("-title\">\n<h2 id=\"").text(anchor).tag("-title\">").text(title).tag("</h2>\n");
    if !note.is_empty() {
        html.tag("<p class=\"note\">").text(note).tag("</p>\n");
    }
    html
}

fn kinds(overall: &Overall) -> Html {
    let mut html =
        begin("kinds", "Memories by what they say, and by how long ago they were learned.");
    if overall.ages.is_empty() {
        return ended(html.tag("<p>There are no memories yet.</p>\n"));
    }
    html.tag("<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Kind</th>");
    for (_, age) in AGES {
        html.tag("<th scope=\"col\" class=\"number\">").text(age).tag("</th>");
    }
    html.tag("<th scope=\"col\" class=\"number\">all</th><td class=\"wide\"></td></tr></thead>\n<tbody>\n");
    let sum = |counts: &[usize]| counts.iter().sum::<usize>();
    let most = overall.ages.iter().map(|of_kind| sum(&of_kind.counts)).max().unwrap_or(1);
    for of_kind in &overall.ages {
        html.tag("<tr><th scope=\"row\">").text(of_kind.kind.name().replace('-', " ")).tag("</th>");
        for count in of_kind.counts {
            number(count, &mut html);
        }
        number(sum(&of_kind.counts), &mut html);
        html.tag("<td class=\"wide\">");
        html.piece(charts::ages(&of_kind.counts, most)).tag("</td></tr>\n");
    }
    html.tag("</tbody>\n<tfoot><tr><th scope=\"row\">all</th>");
    for age in 0..AGES.len() {
        number(overall.ages.iter().map(|of_kind| of_kind.counts[age]).sum(), &mut html);
    }
    number(overall.memories.len(), &mut html);
    html.tag("<td class=\"wide\"><span class=\"key\">");
    for (_, age) in AGES {
        html.tag("<span class=\"age\">").text(age).tag("</span>");
    }
    ended(html.tag("</span></td></tr></tfoot>\n</table></div>\n"))
}

fn ended(html: &mut Html) -> Html {
    html.tag("</section>\n");
    std::mem::take(html)
}

/// Writes a cell with a number; zeros are dimmed.
fn number(count: usize, html: &mut Html) {
    html.tag(if count == 0 { "<td class=\"number none\">" } else { "<td class=\"number\">" });
    html.text(grouped(count)).tag("</td>");
}

fn weeks(overall: &Overall) -> Html {
    let mut html = begin(
        "weeks",
        "Sessions that ended, memories that were learned and are still there, and injections, by week.",
    );
    html.piece(charts::weeks(&overall.weeks));
    html.tag("<details><summary>As a table</summary><div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Week from</th><th scope=\"col\" class=\"number\">sessions</th><th scope=\"col\" class=\"number\">learned</th><th scope=\"col\" class=\"number\">injections</th></tr></thead>\n<tbody>\n");
    for week in overall.weeks.iter().rev() {
        html.tag("<tr><th scope=\"row\">").text(&week.week).tag("</th>");
        [week.sessions, week.learned, week.injections]
            .into_iter()
            .for_each(|count| number(count, &mut html));
        html.tag("</tr>\n");
    }
    ended(html.tag("</tbody></table></div></details>\n"))
}

fn given(overall: &Overall) -> Html {
    let injections = &overall.numbers.injections;
    let mut html = begin("given", "");
    if injections.count == 0 {
        return ended(html.tag("<p>Nothing was given to a session yet.</p>\n"));
    }
    let since = injections.since.map(|since| format!(" since {}", clock::date(since)));
    html.tag("<p>")
        .text(grouped(injections.count))
        .tag(" injections to ")
        .text(plural(injections.sessions, "session"))
        .text(since.unwrap_or_default())
        .tag(", ")
        .text(grouped(usize::try_from(injections.tokens).unwrap_or(usize::MAX)))
        .tag(" tokens in all.</p>\n");
    let outcome = injections.outcome;
    if outcome.given > 0 {
        html.tag("<figure>");
        html.piece(charts::outcome(&outcome));
        html.tag("<figcaption>What the last sessions did after a memory was given. It does not show whether the memory was the reason.</figcaption></figure>\n");
    }
    html.tag("<h3>Given most</h3>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Memory or turn</th><th scope=\"col\" class=\"number\">given</th><th scope=\"col\" class=\"number\">touched its file or ran its command</th><th scope=\"col\" class=\"number\">did neither</th><th scope=\"col\" class=\"number\">unclear</th><th scope=\"col\">last</th></tr></thead>\n<tbody>\n");
    for one in overall.given.iter().take(ROWS_MAX) {
        html.tag("<tr><th scope=\"row\">").text(&one.title).tag(" <code>").text(one.id.short());
        html.tag("</code></th>");
        let outcome = one.outcome;
        [one.times, outcome.followed, outcome.not_followed, outcome.unclear]
            .into_iter()
            .for_each(|count| number(count, &mut html));
        html.tag("<td class=\"date\">").text(clock::date(one.last)).tag("</td></tr>\n");
    }
    html.tag("</tbody></table></div>\n");
    more(overall.given.len().min(ROWS_MAX), overall.given_count, &mut html);
    ended(&mut html)
}

/// Writes how many of the rows are shown, if some are omitted.
fn more(shown: usize, all: usize, html: &mut Html) {
    if shown < all {
        html.tag("<p class=\"note\">The first ").text(shown).tag(" of ").text(grouped(all));
        html.tag(".</p>\n");
    }
}

fn check(overall: &Overall) -> Html {
    let mut html = begin("check", "");
    let stale: Vec<&ReportEntry> = overall.stale().collect();
    let others = [
        (overall.waiting, "pending"),
        (overall.held, "withheld"),
        (overall.broken, "not readable as memories"),
        (overall.numbers.replaced, "replaced by newer ones"),
        (overall.numbers.forgotten, "removed and not learned again"),
    ];
    let text = |(count, what)| (count, format!("{} {what}", grouped(count)));
    let others = counted(others.map(text));
    if !others.is_empty() {
        html.tag("<p>").text(others).tag(".</p>\n");
    }
    html.tag("<h3>Perhaps true no longer</h3>\n");
    if stale.is_empty() {
        html.tag("<p>No memory's files changed much since it was learned, and no name in one is gone.</p>\n");
    } else {
        html.tag("<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Memory</th><th scope=\"col\">Why</th><th scope=\"col\">If it still holds</th></tr></thead>\n<tbody>\n");
        for entry in stale.iter().take(CHECKED_MAX) {
            html.tag("<tr><th scope=\"row\">").text(&entry.title).tag("</th><td>");
            let why = entry.stale.as_deref().unwrap_or_default();
            html.text(why).tag("</td><td><code>throughline review --keep ").text(&entry.short);
            html.tag("</code></td></tr>\n");
        }
        html.tag("</tbody></table></div>\n");
        more(stale.len().min(CHECKED_MAX), stale.len(), &mut html);
    }
    html.tag("<h3>Contradictions</h3>\n");
    if overall.contradictions.is_empty() {
        html.tag("<p>No memory is known to contradict another.</p>\n");
        return ended(&mut html);
    }
    html.tag("<p class=\"note\">The newer side is given, labelled, until one is preferred.</p>\n<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">Newer</th><th scope=\"col\">Older</th></tr></thead>\n<tbody>\n");
    for sides in overall.contradictions.iter().take(CHECKED_MAX) {
        html.tag("<tr>");
        for side in [sides.newer, sides.older] {
            let title = overall.find(side).map_or(GONE, |entry| &entry.title);
            html.tag("<td>").text(title).tag("<br><code>throughline review --prefer ");
            html.text(side.short()).tag("</code></td>");
        }
        html.tag("</tr>\n");
    }
    html.tag("</tbody></table></div>\n");
    let all = overall.contradictions.len();
    more(all.min(CHECKED_MAX), all, &mut html);
    ended(&mut html)
}

fn files(overall: &Overall) -> Html {
    let mut html = begin(
        "files",
        "Files and folders about which most is known, and how often sessions touched them.",
    );
    if overall.files.is_empty() {
        return ended(html.tag("<p>No memory names a file.</p>\n"));
    }
    html.tag("<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">File</th><th scope=\"col\" class=\"number\">memories</th><td class=\"wide\"></td><th scope=\"col\" class=\"number\">sessions</th><th scope=\"col\" class=\"number\">edits</th><th scope=\"col\" class=\"number\">reads</th></tr></thead>\n<tbody>\n");
    let most = overall.files.iter().map(|file| file.memories).max().unwrap_or(1);
    for file in overall.files.iter().take(ROWS_MAX) {
        html.tag("<tr><th scope=\"row\" class=\"path\">").text(&file.path).tag("</th>");
        number(file.memories, &mut html);
        html.tag("<td class=\"wide\">").piece(charts::bar(file.memories, most)).tag("</td>");
        [file.sessions, file.edits, file.reads]
            .into_iter()
            .for_each(|count| number(count, &mut html));
        html.tag("</tr>\n");
    }
    html.tag("</tbody></table></div>\n");
    more(overall.files.len().min(ROWS_MAX), overall.file_count, &mut html);
    ended(&mut html)
}

fn graph(overall: &Overall) -> Html {
    let network = &overall.graph;
    let mut html = begin("graph", "");
    if network.nodes.is_empty() {
        return ended(html.tag("<p>No memory names a file or a session yet.</p>\n"));
    }
    let told = |sort: Sort| {
        let cut = network.cut.iter().find(|cut| cut.sort == sort);
        let (kept, of) = cut.map_or((0, 0), |cut| (cut.kept, cut.of));
        let many =
            if sort == Sort::Memory { "memories".to_owned() } else { format!("{}s", sort.name()) };
        if kept == of {
            format!("all {kept} {many}")
        } else {
            format!("{kept} of {} {many}", grouped(of))
        }
    };
    html.tag("<p class=\"note\">How memories, files and sessions belong together. Shown are ")
        .text(Sort::ALL.map(told).join(", "))
        .tag(": those that have a link, and the best connected where there are more.</p>\n");
    html.tag("<p class=\"note keys\" id=\"keys\" hidden>Tab leads into the graph. <kbd>←</kbd> <kbd>↑</kbd> <kbd>→</kbd> <kbd>↓</kbd> walk to the neighbour on that side, <kbd>Page Down</kbd> and <kbd>Page Up</kbd> to the next and the previous node, <kbd>Home</kbd> to the best connected one. <kbd>Enter</kbd> opens details, <kbd>Esc</kbd> leaves.</p>\n");
    html.tag("<div class=\"graph\"><div class=\"canvas\">\n<svg id=\"drawing\" role=\"group\" aria-label=\"Graph of memories, files and sessions\" viewBox=\"0 0 ")
        .text(WIDTH)
        .tag(" ")
        .text(HEIGHT)
        .tag("\">\n");
    html.piece(charts::network(network));
    html.tag("</svg>\n<p class=\"legend\"><span class=\"memory\">memory</span> <span class=\"file\">file</span> <span class=\"session\">session</span><span class=\"zoom\" hidden><button type=\"button\" data-zoom=\"0.8\" aria-label=\"Zoom in\">+</button><button type=\"button\" data-zoom=\"1.25\" aria-label=\"Zoom out\">−</button><button type=\"button\" data-zoom=\"0\">All</button></span></p>\n</div>\n");
    html.tag("<aside id=\"details\" tabindex=\"-1\" aria-label=\"Details of a node\" hidden></aside>\n<p id=\"said\" class=\"unseen\" role=\"status\"></p></div>\n");
    ended(&mut html)
}

fn hooks(overall: &Overall) -> Html {
    let mut html = begin(
        "hooks",
        "How long hooks took that gave something, in milliseconds, as their receipts say.",
    );
    if overall.timings.is_empty() {
        return ended(html.tag("<p>There are no receipts yet.</p>\n"));
    }
    html.piece(charts::timings(&overall.timings));
    html.tag("<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">At</th><th scope=\"col\" class=\"number\">injections</th><th scope=\"col\" class=\"number\">p50</th><th scope=\"col\" class=\"number\">p90</th><th scope=\"col\" class=\"number\">p99</th><th scope=\"col\" class=\"number\">slowest</th></tr></thead>\n<tbody>\n");
    for (event, latency) in &overall.numbers.hooks {
        html.tag("<tr><th scope=\"row\">").text(plain(occasion(event))).tag("</th>");
        number(latency.count, &mut html);
        for micros in [latency.p50, latency.p90, latency.p99, latency.max] {
            let ms = format!("{:.1}", micros as f64 / 1e3);
            html.tag("<td class=\"number\">").text(ms).tag("</td>");
        }
        html.tag("</tr>\n");
    }
    ended(html.tag("</tbody></table></div>\n"))
}

fn memories(overall: &Overall) -> Html {
    let mut html = begin("memories", "");
    html.tag("<form id=\"filter\" role=\"search\" hidden><label>Search <input type=\"search\" id=\"words\" autocomplete=\"off\" spellcheck=\"false\" placeholder=\"words, files, tags, ids\"></label> <label>Kind <select id=\"kind\"><option value=\"\">all</option>");
    for of_kind in &overall.ages {
        let kind = of_kind.kind.name();
        html.tag("<option value=\"").text(kind).tag("\">").text(kind.replace('-', " "));
        html.tag("</option>");
    }
    html.tag("</select></label> <label>State <select id=\"state\"><option value=\"\">all</option><option>stale</option><option>contradicted</option><option>pinned</option><option>pending</option><option>withheld</option><option>from the repository</option><option>replaced</option><option value=\"given\">given</option><option value=\"never\">never given</option></select></label></form>\n");
    html.tag("<p class=\"note\" id=\"found\" role=\"status\">");
    let all = overall.memories.len();
    match all {
        0 => html.text("There are no memories yet."),
        _ if all <= LISTED_MAX => html.text("Newest first."),
        _ => html
            .tag("The newest ")
            .text(LISTED_MAX)
            .tag(" of ")
            .text(grouped(all))
            .tag(". A browser that runs scripts finds and lists all of them."),
    };
    html.tag("</p>\n<div class=\"scroll\"><table id=\"list\">\n<thead><tr><th scope=\"col\" data-by=\"created\" aria-sort=\"descending\">Learned</th><th scope=\"col\" data-by=\"kind\">Kind</th><th scope=\"col\" data-by=\"title\">Memory</th><th scope=\"col\" data-by=\"given\" class=\"number\">Given</th></tr></thead>\n<tbody>\n");
    for entry in overall.memories.iter().take(LISTED_MAX) {
        html.tag("<tr><td class=\"date\">").text(clock::date(entry.created)).tag("</td><td>");
        html.text(entry.kind.name().replace('-', " ")).tag("</td><td><details><summary>");
        html.text(&entry.title).tag("</summary><p class=\"body\">").text(&entry.body);
        html.tag("</p><p class=\"note\"><code>throughline show ")
            .text(&entry.short)
            .tag("</code> ");
        html.text(entry.paths.join(", ")).tag("</p></details>");
        for mark in &entry.marks {
            let is_care = ["stale", "contradicted", "withheld"].contains(mark);
            html.tag(if is_care {
                " <span class=\"mark care\">"
            } else {
                " <span class=\"mark\">"
            });
            html.text(mark).tag("</span>");
        }
        html.tag("</td>");
        number(entry.given, &mut html);
        html.tag("</tr>\n");
    }
    html.tag("</tbody></table></div>\n<p class=\"pages\" id=\"pages\" hidden><button type=\"button\" id=\"back\">Previous</button> <span id=\"page\"></span> <button type=\"button\" id=\"next\">Next</button></p>\n");
    ended(&mut html)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated_by_commas() {
        let told = [0, 999, 1_000, 12_345, 1_000_000].map(grouped);
        assert_eq!(told, ["0", "999", "1,000", "12,345", "1,000,000"]);
    }
}

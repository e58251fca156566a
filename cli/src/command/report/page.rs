//! The HTML file of a report: its head with the content security policy, and the data of its script.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::data::{Overall, ReportEntry};
use super::graph::Network;
use super::markup::Html;
use super::sections;
use crate::failure::{Failure, Result};

/// The beginning of every report, by which an existing report is recognised.
pub use memory_store::redact::texts::PAGE_START as START;

/// The style sheet.
const STYLE: &str = include_str!("report.css");
/// The script: search, pages of the list, and navigation in the graph.
const SCRIPT: &str = include_str!("report.js");

/// Renders the page. The content security policy allows one style and one script by their hashes; the page loads and
/// sends nothing.
pub fn render(overall: &Overall) -> Result<String> {
    let mut html = Html::default();
    html.tag(START).tag("<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.tag("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '")
        .text(hash(STYLE))
        .tag("'; script-src '")
        .text(hash(SCRIPT))
        .tag("'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\">\n");
    html.tag("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .tag("<meta name=\"referrer\" content=\"no-referrer\">\n")
        .tag("<meta name=\"color-scheme\" content=\"light dark\">\n<title>")
        .text(sections::name(overall))
        .tag(" - Throughline report</title>\n<style>")
        .tag(STYLE)
        .tag("</style>\n</head>\n<body>\n");
    html.piece(sections::all(overall));
    html.tag("<script type=\"application/json\" id=\"data\">");
    data(&overall.memories, &overall.graph, &mut html)?;
    html.tag("</script>\n<script>").tag(SCRIPT).tag("</script>\n</body>\n</html>\n");
    Ok(html.into_string())
}

/// Writes the data of the script. Each memory is on its own line, because editors handle very long lines badly.
fn data(memories: &[ReportEntry], graph: &Network, html: &mut Html) -> Result {
    html.tag("{\"memories\": [");
    for (number, memory) in memories.iter().enumerate() {
        html.tag(if number == 0 { "\n" } else { ",\n" }).data(&json(memory)?);
    }
    html.tag("\n],\n\"graph\":\n").data(&json(graph)?).tag("\n}\n");
    Ok(())
}

fn json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Failure::new(format!("JSON: {error}")))
}

/// Returns the expression by which a content security policy allows only this text.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_what_browsers_compute() {
        // The example in CSP Level 3, section 8.4.
        assert_eq!(
            hash("alert('Hello, world.');"),
            "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng="
        );
    }

    #[test]
    fn style_and_script_stay_whole_within_their_elements() {
        for text in [STYLE, SCRIPT] {
            let lower = text.to_lowercase();
            assert!(["</style", "</script", "<!--"].iter().all(|end| !lower.contains(end)));
            // Functions that load resources, or convert text to markup, must not occur.
            for word in ["http:", "https:", "url(", "@import", "innerhtml", "outerhtml", "eval("] {
                assert!(!lower.contains(word), "{word}");
            }
        }
    }
}

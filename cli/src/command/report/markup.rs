//! An HTML builder that escapes all text. Only constants of the program are written as markup.

use std::fmt::{self, Display, Write as _};

/// A piece of HTML.
#[derive(Default)]
pub struct Html(String);

impl Html {
    /// Appends markup, which must be a constant of the program.
    pub fn tag(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends escaped text, also as the value of an attribute in double quotes.
    pub fn text(&mut self, text: impl Display) -> &mut Self {
        // Writing to a string does not fail.
        let _ = write!(Escaping(&mut self.0), "{text}");
        self
    }

    /// Appends another piece.
    pub fn piece(&mut self, piece: Self) -> &mut Self {
        self.0.push_str(&piece.0);
        self
    }

    /// Appends JSON data for a script. Characters that could end the script element or begin a comment are escaped.
    pub fn data(&mut self, json: &str) -> &mut Self {
        for part in json.split_inclusive(['<', '>', '&', '\u{2028}', '\u{2029}']) {
            let mut chars = part.chars();
            let escaped = match chars.next_back() {
                Some('<') => "\\u003c",
                Some('>') => "\\u003e",
                Some('&') => "\\u0026",
                Some('\u{2028}') => "\\u2028",
                Some('\u{2029}') => "\\u2029",
                _ => {
                    self.0.push_str(part);
                    continue;
                }
            };
            self.0.push_str(chars.as_str());
            self.0.push_str(escaped);
        }
        self
    }

    /// Returns the HTML as text.
    pub fn into_string(self) -> String {
        self.0
    }
}

struct Escaping<'a>(&'a mut String);

impl fmt::Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '`' => self.0.push_str("&#96;"),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_no_markup_and_data_ends_no_script() {
        let mut html = Html::default();
        html.tag("<p title=\"").text("\"><script>'`&").tag("\">").text(0.5).tag("</p>");
        assert_eq!(
            html.into_string(),
            "<p title=\"&quot;&gt;&lt;script&gt;&#39;&#96;&amp;\">0.5</p>"
        );
        let text = "</script><!--<script>&amp;\u{2028}\u{2029}]]>é";
        let json = serde_json::to_string(text).unwrap();
        let mut html = Html::default();
        html.data(&json);
        let data = html.into_string();
        assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{data}");
        assert_eq!(serde_json::from_str::<String>(&data).unwrap(), text);
    }
}

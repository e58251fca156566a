//! Poisoned memories, and harmless memories that resemble them (see `suspicion.rs`).

pub const POISON: &str = include_str!("../fixtures/poison.tsv");
pub const HARMLESS: &str = include_str!("../fixtures/harmless.tsv");

/// A memory of a corpus.
pub struct Case {
    pub set: &'static str,
    pub class: &'static str,
    pub title: String,
    pub text: String,
}

/// Returns the memories of a corpus.
pub fn cases(corpus: &'static str) -> Vec<Case> {
    let case = |line: &'static str| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().expect("a line has four fields");
        Case { set: next(), class: next(), title: unescaped(next()), text: unescaped(next()) }
    };
    corpus.lines().map(case).collect()
}

fn unescaped(text: &str) -> String {
    let mut result = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            result.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => result.push('\n'),
            Some('\\') => result.push('\\'),
            Some('u') => {
                let code: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                let code = u32::from_str_radix(&code, 16).expect("hexadecimal digits");
                result.push(char::from_u32(code).expect("a character"));
            }
            escape => panic!("unknown escape {escape:?} in {text}"),
        }
    }
    result
}

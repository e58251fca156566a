//! Reads a folder of transcripts and prints each session as one line of JSON.

#![expect(clippy::print_stdout, reason = "printing is its purpose")]

use std::borrow::Cow;

use processor::transcript::{Redact, read_folder};

struct AsItIs;

impl Redact for AsItIs {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        Cow::Borrowed(text)
    }
}

fn main() -> std::io::Result<()> {
    for folder in std::env::args_os().skip(1) {
        for session in read_folder(folder.as_ref(), &AsItIs)? {
            println!("{}", serde_json::to_string(&session)?);
        }
    }
    Ok(())
}

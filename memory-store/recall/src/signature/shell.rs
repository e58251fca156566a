//! Splitting of command lines into simple commands and words. It supports as much of the shell's syntax as is needed to
//! find the programs.

/// Maximum number of bytes of a command line that are read. A longer text is a script, not a command.
const LINE_BYTES_MAX: usize = 8 * 1024;

/// A program with its arguments, and whether it is connected to the previous one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Words as written, with their quotes.
    pub words: Vec<String>,
    /// True if the command reads the output of the previous one.
    pub piped: bool,
}

/// Returns the simple commands of a command line, without redirections and here-documents.
pub fn split(line: &str) -> Vec<SimpleCommand> {
    let line = &line[..line.floor_char_boundary(LINE_BYTES_MAX)];
    let mut cutter = Cutter::default();
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '\\' => match characters.next() {
                Some('\n') | None => {}
                Some(next) => cutter.word.extend([c, next]),
            },
            '\'' | '"' => cutter.quoted(c, &mut characters),
            '|' | '&' | ';' | '\n' => {
                // `2>&1` and `&>file` are redirections, not separators.
                if c == '&' && characters.peek() == Some(&'>') {
                    continue;
                }
                let doubled = characters.next_if_eq(&c).is_some();
                cutter.end_command(c == '|' && !doubled);
            }
            '<' | '>' => {
                cutter.end_redirection_number();
                cutter.end_word();
                if c == '<' && characters.next_if_eq(&'<').is_some() {
                    // The text after the start of a here-document is data.
                    break;
                }
                skip_target(&mut characters);
            }
            '#' if cutter.word.is_empty() => while characters.next_if(|&c| c != '\n').is_some() {},
            '(' | ')' | '{' | '}' if cutter.word.is_empty() => {}
            c if c.is_whitespace() => cutter.end_word(),
            c => cutter.word.push(c),
        }
    }
    cutter.end_command(false);
    cutter.commands
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

#[derive(Default)]
struct Cutter {
    commands: Vec<SimpleCommand>,
    current: SimpleCommand,
    word: String,
}

impl Cutter {
    fn quoted(&mut self, quote: char, characters: &mut Characters<'_>) {
        self.word.push(quote);
        while let Some(c) = characters.next() {
            self.word.push(c);
            if c == quote {
                return;
            }
            if c == '\\' && quote == '"' {
                self.word.extend(characters.next());
            }
        }
    }

    /// In `2>file`, the `2` belongs to the redirection.
    fn end_redirection_number(&mut self) {
        if self.word.bytes().all(|b| b.is_ascii_digit()) {
            self.word.clear();
        }
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.current.words.push(std::mem::take(&mut self.word));
        }
    }

    fn end_command(&mut self, next_is_piped: bool) {
        self.end_word();
        let next = SimpleCommand { piped: next_is_piped, ..SimpleCommand::default() };
        let done = std::mem::replace(&mut self.current, next);
        if !done.words.is_empty() {
            self.commands.push(done);
        }
    }
}

fn skip_target(characters: &mut Characters<'_>) {
    while characters.next_if(|&c| matches!(c, '>' | '&' | '|' | ' ' | '\t')).is_some() {}
    while characters
        .next_if(|&c| !c.is_whitespace() && !matches!(c, ';' | '|' | '&' | ')'))
        .is_some()
    {}
}

//! Splitting of command lines into simple commands and words: as much of the shell syntax as is
//! needed to find the programs.

/// Maximum length of a command line; the rest is a script, not a command.
const LINE_BYTES_MAX: usize = 8 * 1024;

/// A program with its arguments, and its connection to the previous one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Words as written, quotes kept.
    pub words: Vec<String>,
    /// True if it reads the output of the previous one.
    pub piped: bool,
}

/// Cuts a command line into its simple commands. Redirections and here-documents are dropped.
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
                    // A here-document: the rest is data.
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

    /// The `2` of `2>file` belongs to the redirection.
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

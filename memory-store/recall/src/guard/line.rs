//! The simple commands that a shell runs for a command line, including those in quoted scripts and substitutions.
//!
//! The shell's language (POSIX.1-2024, Shell Command Language) is read as far as commands are usually written. Commands
//! that another program builds, or that a file or an undefined variable contains, are not found.

use crate::signature::program_name;

/// Maximum number of bytes of a command line that are read.
const LINE_BYTES_MAX: usize = 16 << 10;
/// Maximum nesting of scripts and substitutions.
const DEPTH_MAX: usize = 4;
/// Maximum number of commands and scripts of a line that are examined.
const STEPS_MAX: usize = 256;
/// Maximum number of bytes of a variable's value.
const VALUE_BYTES_MAX: usize = 256;

/// Programs that run the program named after them: name, letters of the options that have a value, number of operands
/// before the program.
const WRAPPERS: &[(&str, &str, usize)] = &[
    ("sudo", "ughpCrtT", 0),
    ("doas", "uC", 0),
    ("env", "uC", 0),
    ("nice", "n", 0),
    ("ionice", "cnp", 0),
    ("timeout", "sk", 1),
    ("gtimeout", "sk", 1),
    ("stdbuf", "ioe", 0),
    ("xargs", "nIPdLsEa", 0),
    ("exec", "a", 0),
    ("time", "fo", 0),
    ("command", "", 0),
    ("builtin", "", 0),
    ("nohup", "", 0),
    ("setsid", "", 0),
    ("if", "", 0),
    ("then", "", 0),
    ("elif", "", 0),
    ("else", "", 0),
    ("while", "", 0),
    ("until", "", 0),
    ("do", "", 0),
    ("!", "", 0),
];

/// The wrappers that are words of the shell's language.
const KEYWORDS: [&str; 8] = ["if", "then", "elif", "else", "while", "until", "do", "!"];

/// Maximum number of words of a wrapper that are compared with a pattern.
const WRAPPER_WORDS_MAX: usize = 16;

/// Programs that run a script: the text after `-c`, or their input.
const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ksh", "fish"];

/// Returns the words of each simple command, without quotes, assignments, redirections and wrappers.
pub(super) fn commands(line: &str) -> Vec<Vec<String>> {
    let mut reader = Reader::default();
    reader.read(&line[..line.floor_char_boundary(LINE_BYTES_MAX)], 0);
    reader.found
}

type Characters<'a> = std::iter::Peekable<std::str::Chars<'a>>;

#[derive(Default)]
struct Reader {
    found: Vec<Vec<String>>,
    /// Variables with a known value, the last assignment last.
    variables: Vec<(String, String)>,
    /// Aliases that the line defines, with their values.
    aliases: Vec<(String, String)>,
    /// Number of commands and scripts examined so far.
    steps: usize,
    /// Number of bytes of variables inserted so far.
    expanded_bytes: usize,
}

/// A simple command while its words are read.
#[derive(Default)]
struct Draft {
    words: Vec<String>,
    word: Option<String>,
    /// Role of the next word, if it is no word of the command.
    next: NextWord,
    /// Scripts in substitutions.
    scripts: Vec<String>,
    /// Text that the command reads as its input, if it is known.
    input: Option<String>,
    /// Delimiters of its here-documents.
    documents: Vec<String>,
}

#[derive(Default, PartialEq)]
enum NextWord {
    #[default]
    Argument,
    /// The target of a redirection.
    Target,
    /// A here-string.
    Input,
    /// The delimiter of a here-document.
    Delimiter,
}

/// A here-document whose text begins on the next line.
struct Document {
    delimiter: String,
    /// True if a shell reads it.
    is_script: bool,
}

/// Result of examining a command.
#[derive(Default)]
struct Examined {
    /// Output of the command, if it is evident from its words.
    output: Option<String>,
    /// True if the command is a shell that reads its script from its input.
    reads_script: bool,
}

impl Draft {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::take(&mut self.next) {
            NextWord::Argument => self.words.push(word),
            NextWord::Target => {}
            NextWord::Input => self.input = Some(word),
            NextWord::Delimiter => self.documents.push(word.trim_start_matches('-').to_owned()),
        }
    }
}

impl Reader {
    fn read(&mut self, text: &str, depth: usize) {
        if depth > DEPTH_MAX || self.is_exhausted() {
            return;
        }
        let text = &text[..text.floor_char_boundary(LINE_BYTES_MAX)];
        let (mut draft, mut documents) = (Draft::default(), Vec::new());
        // Number of the first here-document of the pipeline.
        let mut pipeline = 0;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            match c {
                '\\' => match characters.next() {
                    Some('\n') | None => {}
                    Some(next) => draft.push(next),
                },
                '\'' => draft.word.get_or_insert_default().push_str(&until(&mut characters, '\'')),
                '"' => self.double_quoted(&mut draft, &mut characters),
                '`' => draft.scripts.push(until(&mut characters, '`')),
                '$' if characters.next_if_eq(&'\'').is_some() => {
                    draft.word.get_or_insert_default().push_str(&escaped(&mut characters));
                }
                '$' => self.dollar(&mut draft, &mut characters, false),
                '#' if draft.word.is_none() => {
                    while characters.next_if(|&c| c != '\n').is_some() {}
                }
                '&' if characters.peek() == Some(&'>') => {}
                ';' | '&' | '|' | '\n' | '(' | ')' => {
                    let is_pipe = c == '|' && characters.next_if_eq(&'|').is_none();
                    let output = self.end_command(
                        std::mem::take(&mut draft),
                        &mut documents,
                        pipeline,
                        depth,
                    );
                    if is_pipe {
                        draft.input = output;
                    } else {
                        pipeline = documents.len();
                    }
                    if c == '\n' {
                        for Document { delimiter, is_script } in documents.drain(..) {
                            let script = document(&mut characters, &delimiter);
                            if is_script {
                                self.read(&script, depth + 1);
                            }
                        }
                        pipeline = 0;
                    }
                }
                '{' | '}' if draft.word.is_none() && is_alone(&mut characters) => {}
                '<' | '>' => redirect(&mut draft, c, &mut characters),
                c if c.is_whitespace() => draft.end_word(),
                c => draft.push(c),
            }
        }
        self.end_command(draft, &mut documents, pipeline, depth);
    }

    fn double_quoted(&mut self, draft: &mut Draft, characters: &mut Characters<'_>) {
        draft.word.get_or_insert_default();
        while let Some(c) = characters.next() {
            match c {
                '"' => return,
                '\\' => match characters.next() {
                    Some('\n') | None => {}
                    Some(next @ ('"' | '\\' | '$' | '`')) => draft.push(next),
                    Some(next) => {
                        draft.push('\\');
                        draft.push(next);
                    }
                },
                '`' => draft.scripts.push(until(characters, '`')),
                '$' => self.dollar(draft, characters, true),
                c => draft.push(c),
            }
        }
    }

    /// Reads a substitution or a variable after `$`. The value of a variable outside quotes is split into words.
    fn dollar(&mut self, draft: &mut Draft, characters: &mut Characters<'_>, is_quoted: bool) {
        if characters.next_if_eq(&'(').is_some() {
            draft.scripts.push(until_closed(characters));
            draft.word.get_or_insert_default();
            return;
        }
        let mut name = String::new();
        if characters.next_if_eq(&'{').is_some() {
            name = until(characters, '}');
        } else {
            while let Some(c) = characters.next_if(|&c| c.is_ascii_alphanumeric() || c == '_') {
                name.push(c);
            }
        }
        let (name, default) =
            name.split_once(":-").map_or((&*name, None), |(name, default)| (name, Some(default)));
        let known = self.variables.iter().rfind(|(known, _)| known == name);
        let value = known.map(|(_, value)| value.as_str()).or(default);
        let Some(value) = value else {
            draft.word.get_or_insert_default().extend(["$", name]);
            return;
        };
        let value = value.to_owned();
        self.expanded_bytes += value.len();
        if self.expanded_bytes > LINE_BYTES_MAX {
            return;
        }
        for c in value.chars() {
            if c.is_whitespace() && !is_quoted { draft.end_word() } else { draft.push(c) }
        }
    }

    /// Examines a command. Returns its output, if that is evident from its words. Adds its here-documents to
    /// `documents`; those from `pipeline` on are of the same pipeline.
    fn end_command(
        &mut self,
        mut draft: Draft,
        documents: &mut Vec<Document>,
        pipeline: usize,
        depth: usize,
    ) -> Option<String> {
        draft.end_word();
        for script in &draft.scripts {
            self.read(script, depth + 1);
        }
        let examined = self.run(&draft.words, draft.input.as_deref(), depth);
        let own = draft.documents.into_iter();
        documents.extend(own.map(|delimiter| Document { delimiter, is_script: false }));
        if examined.reads_script {
            documents[pipeline..].iter_mut().for_each(|document| document.is_script = true);
        }
        examined.output
    }

    /// Counts a step. Returns whether all steps are used.
    fn is_exhausted(&mut self) -> bool {
        self.steps += 1;
        self.steps > STEPS_MAX
    }

    fn run(&mut self, words: &[String], input: Option<&str>, depth: usize) -> Examined {
        if self.is_exhausted() {
            return Examined::default();
        }
        let mut words = self.assign(words);
        let (name, arguments) = loop {
            let Some((program, arguments)) = words.split_first() else {
                return Examined::default();
            };
            let name = program_name(program);
            let Some((_, valued, operands)) = WRAPPERS.iter().find(|it| it.0 == name) else {
                break (name, arguments);
            };
            if !KEYWORDS.contains(&name) && self.found.len() < STEPS_MAX {
                self.found.push(words[..words.len().min(WRAPPER_WORDS_MAX)].to_vec());
            }
            words = self.assign(after_options(arguments, valued, *operands));
        };
        if let Some((_, value)) = self.aliases.iter().rfind(|(alias, _)| alias == name) {
            let script = format!("{value} {}", arguments.join(" "));
            self.read(&script, depth + 1);
        }
        let mut reads_script = false;
        match name {
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                self.assign(arguments);
            }
            "alias" => {
                let aliases = arguments.iter().filter_map(|argument| argument.split_once('='));
                let aliases = aliases.map(|(name, value)| (name.to_owned(), value.to_owned()));
                self.aliases.extend(aliases);
            }
            "trap" => arguments.iter().take(1).for_each(|script| self.read(script, depth + 1)),
            "eval" => self.read(&arguments.join(" "), depth + 1),
            "watch" => self.read(&after_options(arguments, "n", 0).join(" "), depth + 1),
            "ssh" => {
                let command = after_options(arguments, "BbcDEeFIiJLlmOopQRSWw", 1).join(" ");
                self.read(&command, depth + 1);
            }
            "find" => {
                let is_exec =
                    |word: &String| matches!(&**word, "-exec" | "-execdir" | "-ok" | "-okdir");
                for (at, _) in arguments.iter().enumerate().filter(|(_, word)| is_exec(word)) {
                    let command = arguments[at + 1..].split(|word| matches!(&**word, ";" | "+"));
                    command.take(1).for_each(|words| drop(self.run(words, None, depth)));
                }
            }
            "git" => self.git_aliases(arguments, depth),
            name if SHELLS.contains(&name) => {
                let is_script = |word: &String| {
                    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
                };
                let script =
                    arguments.iter().position(is_script).and_then(|at| arguments.get(at + 1));
                match script.map(String::as_str).or(input) {
                    Some(script) => self.read(script, depth + 1),
                    None => reads_script = arguments.iter().all(|word| word.starts_with('-')),
                }
            }
            _ => {}
        }
        let output = matches!(name, "echo" | "printf").then(|| {
            // A format of `printf` is no text of its own.
            let texts = arguments.iter().filter(|word| !word.starts_with(['-', '%']));
            texts.map(String::as_str).collect::<Vec<_>>().join(" ").replace("\\n", "\n")
        });
        self.found.push(words.to_vec());
        Examined { output, reads_script }
    }

    /// Records the assignments at the start of a command. Returns the other words.
    fn assign<'w>(&mut self, words: &'w [String]) -> &'w [String] {
        let assignment = |word: &String| {
            let (name, value) = word.split_once('=')?;
            let is_name = !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            let value = &value[..value.floor_char_boundary(VALUE_BYTES_MAX)];
            is_name.then(|| (name.to_owned(), value.to_owned()))
        };
        let assignments: Vec<_> = words.iter().map_while(assignment).collect();
        let rest = &words[assignments.len()..];
        self.variables.extend(assignments);
        rest
    }

    /// Examines the aliases that `git -c alias.NAME=COMMAND` and `git config alias.NAME COMMAND` define.
    fn git_aliases(&mut self, arguments: &[String], depth: usize) {
        for (at, word) in arguments.iter().enumerate() {
            let Some(alias) = word.strip_prefix("alias.") else { continue };
            let value = alias.split_once('=').map(|(_, value)| value);
            let value = value.or_else(|| arguments.get(at + 1).map(String::as_str));
            match value.map(|value| (value, value.strip_prefix('!'))) {
                Some((_, Some(script))) => self.read(script, depth + 1),
                Some((value, None)) => self.read(&format!("git {value}"), depth + 1),
                None => {}
            }
        }
    }
}

/// Returns the words after a wrapper's options and operands.
fn after_options<'w>(words: &'w [String], valued: &str, operands: usize) -> &'w [String] {
    let mut rest = words;
    while let Some((word, after)) = rest.split_first()
        && let Some(option) = word.strip_prefix('-')
    {
        rest = after;
        let is_valued = option.len() == 1 && valued.contains(option);
        rest = &rest[usize::from(is_valued).min(rest.len())..];
    }
    &rest[operands.min(rest.len())..]
}

/// Reads a redirection after its first character.
fn redirect(draft: &mut Draft, first: char, characters: &mut Characters<'_>) {
    // In `2>file`, the `2` belongs to the redirection.
    if draft.word.as_deref().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit())) {
        draft.word = None;
    }
    draft.end_word();
    draft.next = NextWord::Target;
    if first == '<' && characters.next_if_eq(&'<').is_some() {
        let is_text = characters.next_if_eq(&'<').is_some();
        draft.next = if is_text { NextWord::Input } else { NextWord::Delimiter };
    } else if characters.peek() == Some(&'(') {
        // A process substitution contains commands.
        draft.next = NextWord::Argument;
    } else {
        while characters.next_if(|&c| matches!(c, '>' | '&' | '|')).is_some() {}
    }
}

/// Returns the lines of a here-document, up to its delimiter.
fn document(characters: &mut Characters<'_>, delimiter: &str) -> String {
    let mut text = String::new();
    while characters.peek().is_some() {
        let line = until(characters, '\n');
        if line.trim_start_matches('\t') == delimiter {
            break;
        }
        text.extend([line.as_str(), "\n"]);
    }
    text
}

/// Returns whether a brace is a word, not a part of one.
fn is_alone(characters: &mut Characters<'_>) -> bool {
    characters.peek().is_none_or(|&c| c.is_whitespace() || matches!(c, ';' | '|' | '&' | ')'))
}

/// Takes the characters up to an end, and the end itself.
fn until(characters: &mut Characters<'_>, end: char) -> String {
    characters.by_ref().take_while(|&c| c != end).collect()
}

/// Takes the script of a substitution, up to the parenthesis that closes it. Here-documents in the script may contain
/// quotes and parentheses.
fn until_closed(characters: &mut Characters<'_>) -> String {
    let (mut script, mut depth, mut quote) = (String::new(), 1, None);
    let mut delimiters: Vec<String> = Vec::new();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        script.push(c);
        if c == '\\' && quote != Some('\'') {
            script.extend(characters.next());
        }
        if quote.is_none() && c == '<' && script.ends_with("<<") && characters.peek() != Some(&'<')
        {
            let is_delimiter = |c: &char| !c.is_whitespace() && !matches!(c, ';' | '|' | '&' | ')');
            while let Some(blank) = characters.next_if(|&c| c == ' ' || c == '-') {
                script.push(blank);
            }
            let mut delimiter = String::new();
            while let Some(c) = characters.next_if(is_delimiter) {
                delimiter.push(c);
            }
            script.push_str(&delimiter);
            delimiters.push(delimiter.replace(['\'', '"', '\\'], ""));
        }
        if quote.is_none() && c == '\n' {
            for delimiter in delimiters.drain(..) {
                script.extend([document(characters, &delimiter).as_str(), &delimiter, "\n"]);
            }
        }
    }
    script
}

/// Takes the text of `$'...'` with its usual escapes.
fn escaped(characters: &mut Characters<'_>) -> String {
    let mut text = String::new();
    while let Some(c) = characters.next() {
        match c {
            '\'' => break,
            '\\' => match characters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('x') => {
                    let mut code = 0;
                    for _ in 0..2 {
                        let digit = characters.peek().and_then(|c| c.to_digit(16));
                        let Some(digit) = digit else { break };
                        code = code * 16 + digit;
                        characters.next();
                    }
                    text.extend(char::from_u32(code));
                }
                Some(next) => text.push(next),
                None => {}
            },
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(line: &str) -> Vec<String> {
        commands(line).iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn each_command_of_a_line_is_found() {
        assert_eq!(
            lines("cd x && A=1 make -j4 2>&1 | tee log; ls"),
            ["cd x", "make -j4", "tee log", "ls"]
        );
        assert_eq!(lines("if true; then git status; fi"), ["true", "git status", "fi"]);
        assert_eq!(lines("{ a; } && (b) # c"), ["a", "b"]);
        assert_eq!(lines("a >x 2>>y <z &>w"), ["a"]);
    }

    #[test]
    fn quotes_and_escapes_are_removed() {
        assert_eq!(lines(r#"g'i't "push" \--force $'\x2df'"#), ["git push --force -f"]);
        assert_eq!(commands(r#"echo "a b" 'c;d'"#), [["echo", "a b", "c;d"]]);
    }

    #[test]
    fn scripts_and_substitutions_are_read() {
        assert!(lines("bash -lc 'cd x; git push -f'").contains(&"git push -f".to_owned()));
        assert!(lines("echo $(git push -f)").contains(&"git push -f".to_owned()));
        assert!(lines("echo \"`git push -f`\"").contains(&"git push -f".to_owned()));
        assert!(lines("echo 'git push -f' | sh").contains(&"git push -f".to_owned()));
        assert!(lines("sh <<EOF\ngit push -f\nEOF").contains(&"git push -f".to_owned()));
        assert!(lines("bash <<< 'git push -f'").contains(&"git push -f".to_owned()));
        assert!(lines("find . -name x -exec rm -rf {} +").contains(&"rm -rf {}".to_owned()));
        assert!(lines("git -c alias.p='push -f' p").contains(&"git push -f".to_owned()));
        assert!(
            lines("sudo -u me env -u A B=1 timeout -k 5 9 git push -f")
                .contains(&"git push -f".to_owned())
        );
    }

    #[test]
    fn text_is_no_command() {
        assert_eq!(lines("cat > x <<'EOF'\ngit push -f\nEOF\nls"), ["cat", "ls"]);
        assert_eq!(lines("git commit -m 'x; git push -f'"), ["git commit -m x; git push -f"]);
        assert_eq!(lines("# git push -f"), [""; 0]);
    }

    #[test]
    fn what_follows_a_document_is_read() {
        let push = "git push -f".to_owned();
        let commit = "git commit -m \"$(cat <<'EOF'\nDon't (stop\nEOF\n)\" && git push -f";
        assert!(lines(commit).contains(&push), "{:?}", lines(commit));
        assert_eq!(lines("cat > x <<'EOF' && echo ok\ngit push -f\nEOF"), ["cat", "echo ok"]);
        assert!(lines("cat <<EOF | sh\ngit push -f\nEOF").contains(&push));
        assert!(lines("bash -s <<EOF; ls\ngit push -f\nEOF").contains(&push));
        assert!(!lines("bash x.sh <<EOF\ngit push -f\nEOF").contains(&push));
    }

    #[test]
    fn variables_are_replaced() {
        assert_eq!(lines("F=--force; git push $F"), ["git push --force"]);
        assert_eq!(
            lines("C='push --force'; git $C ${REMOTE:-origin}"),
            ["git push --force origin"]
        );
        assert_eq!(lines("echo \"$UNKNOWN\" $HOME"), ["echo $UNKNOWN $HOME"]);
    }

    #[test]
    fn hostile_lines_end() {
        let nested = "$(".repeat(10_000);
        commands(&nested);
        commands(&"sh -c '".repeat(3_000));
        commands(&"`\"$'\\".repeat(3_000));
        assert!(commands(&"a;".repeat(10_000)).len() <= STEPS_MAX);
        commands(&"find -exec ".repeat(2_000));
        commands(&"sudo ".repeat(4_000));
        let growing = format!("a='{}'; eval eval eval {}", "$a".repeat(128), "$a".repeat(4_000));
        commands(&growing);
        let doubling = "a=xx;".to_owned() + &"a=$a$a;".repeat(60) + "echo $a";
        commands(&doubling);
    }
}

//! Command lines in documents. They are found in code blocks and in backticks, and split into words as a shell does.

/// Beginnings of the command lines that are searched: the program, and the folder of scripts.
const PROGRAM: &str = "throughline";
const SCRIPTS: &str = "scripts/";
/// The script that users run without the repository.
const INSTALLER: &str = "scripts/get";

/// One command line of Throughline or its scripts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommandLine {
    /// The program: `throughline` or a path such as `scripts/try`.
    pub program: String,
    /// Arguments of the command without quotes; of alternatives, only the first.
    pub arguments: Vec<String>,
}

/// Returns the command lines on a page.
pub fn command_lines(page: &str) -> Vec<CommandLine> {
    let mut found = Vec::new();
    let mut prose = String::new();
    let mut in_block = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if in_block || line.starts_with("    ") {
            found.extend(cells(line).into_iter().flat_map(|cell| commands(&cell)));
        } else {
            prose.push_str(line);
            prose.push('\n');
        }
    }
    // In prose, a command may continue on the next line.
    let quoted = prose.split('`').skip(1).step_by(2);
    found.extend(quoted.flat_map(|code| commands(&code.replace('\n', " "))));
    found
}

/// Splits a line of a code block at two spaces that are not in quotes. They separate the columns of commands and
/// remarks.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quote = None;
    let mut last = ' ';
    for c in line.trim_start_matches(['$', ' ']).chars() {
        quote = match (quote, c) {
            (None, '"' | '\'') => Some(c),
            (Some(open), _) if open == c => None,
            _ => quote,
        };
        if quote.is_none() && c == ' ' && last == ' ' {
            cells.push(String::new());
        }
        last = c;
        if let Some(cell) = cells.last_mut() {
            cell.push(c);
        }
    }
    cells
}

/// Returns the commands in a line such as `cd my-project && throughline init  # sets it up`.
fn commands(line: &str) -> Vec<CommandLine> {
    let mut commands = Vec::new();
    let mut current: Vec<String> = Vec::new();
    for word in words(line).into_iter().chain([Word::Operator]) {
        match word {
            Word::Plain(word) => current.push(word),
            Word::Operator => commands.extend(ours(&std::mem::take(&mut current))),
        }
    }
    commands
}

/// Returns the command line if its program is Throughline or one of its scripts.
fn ours(words: &[String]) -> Option<CommandLine> {
    // Assignments of variables may precede the program.
    let begin = words.iter().position(|word| !is_assignment(word))?;
    let (program, arguments) = match &words[begin..] {
        // The installer is downloaded and run by a shell.
        [shell, script, arguments @ ..] if shell == "sh" && is_installer(script) => {
            (INSTALLER, arguments)
        }
        words => words.split_first().map(|(program, arguments)| (program.as_str(), arguments))?,
    };
    let name = program.rsplit('/').next().unwrap_or_default();
    let is_script = program.starts_with(SCRIPTS) && !name.is_empty();
    let is_ours = is_script || name == PROGRAM && !program.ends_with("share/throughline");
    let program = if is_script { program.to_owned() } else { name.to_owned() };
    let arguments = arguments.iter().filter_map(|word| argument(word)).collect();
    is_ours.then_some(CommandLine { program, arguments })
}

fn is_installer(script: &str) -> bool {
    script.rsplit('/').next() == INSTALLER.rsplit('/').next()
}

/// Returns whether a word assigns a variable for the command that follows.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name).unwrap_or_default();
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
}

/// Returns an argument without the notation of the page: the first of alternatives, with optional parts included.
fn argument(word: &str) -> Option<String> {
    let word = word.trim_matches(['[', ']', '(', ')']).trim_end_matches("...");
    let first = word.split('|').next().unwrap_or_default();
    (!first.is_empty()).then(|| first.to_owned())
}

enum Word {
    Plain(String),
    Operator,
}

/// Splits a line into words at spaces that are not in quotes, up to a remark.
fn words(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | ';' | '\t') => {
                words.extend(word.take().map(plain));
                if c == ';' {
                    words.push(Word::Operator);
                }
            }
            (None, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word.map(plain));
    words
}

fn plain(word: String) -> Word {
    if matches!(&*word, "&&" | "||" | "|" | ">" | "<" | ">>" | "&" | "=") {
        Word::Operator
    } else {
        Word::Plain(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(page: &str) -> Vec<String> {
        let lines = command_lines(page).into_iter();
        lines.map(|line| format!("{} {}", line.program, line.arguments.join("~"))).collect()
    }

    #[test]
    fn the_installer_is_a_script() {
        assert_eq!(shown("    sh ~/Downloads/get --from DIR"), ["scripts/get --from~DIR"]);
    }

    #[test]
    fn commands_are_found_in_blocks_and_in_prose() {
        assert_eq!(
            shown("    throughline search \"why cents\"     throughline list --kind fix\n"),
            ["throughline search~why cents", "throughline list~--kind~fix"]
        );
        assert_eq!(
            shown("```\n$ cd x && ~/.local/bin/throughline init --yes   # sets it up\n```\n"),
            ["throughline init~--yes"]
        );
        assert_eq!(
            shown("Run `throughline config\nllm rules|ollama [MODEL]`, `A=1 scripts/try; ls`."),
            ["throughline config~llm~rules~MODEL", "scripts/try "]
        );
        assert_eq!(
            shown("`cargo run throughline`, `throughline-mcp`, `/throughline`, throughline x"),
            ["throughline "]
        );
    }
}

//! Normalisation of command lines, which gives equivalent lines the same form.

use super::shell::{self, SimpleCommand};

/// Maximum length of a normalised command, in characters.
const COMMAND_CHARS_MAX: usize = 240;

/// Programs that run another program named after them, each with the number of operands before that program.
const WRAPPERS: &[(&str, usize)] = &[
    ("sudo", 0),
    ("time", 0),
    ("nohup", 0),
    ("env", 0),
    ("command", 0),
    ("exec", 0),
    ("nice", 0),
    ("ionice", 0),
    ("stdbuf", 0),
    ("timeout", 1),
    ("gtimeout", 1),
    ("then", 0),
    ("do", 0),
    ("else", 0),
    ("if", 0),
    ("while", 0),
    ("until", 0),
    ("!", 0),
];

/// Programs that only display, filter or await the output of other programs, or set up the shell.
const HELPERS: &[&str] = &[
    "cd", "pushd", "popd", "export", "set", "unset", "source", ".", "echo", "printf", "true",
    "false", ":", "sleep", "wait", "head", "tail", "less", "more", "cat", "tee", "wc", "sort",
    "uniq", "cut", "tr", "column", "grep", "egrep", "rg", "sed", "awk", "xargs", "jq", "fi",
    "done", "esac", "pwd", "exit", "clear", "date", "alias", "ulimit", "umask", "trap",
];

/// Returns a command line without its variable parts: leading variables, `cd`, redirections, trailing pagers and
/// filters, home folders, temporary paths, hashes and long numbers. Programs, subcommands and flags are kept; several
/// commands are joined by ` && `. Empty if nothing remains.
pub fn normalise_command(line: &str) -> String {
    let commands = shell::split(line);
    let told: Vec<String> = commands.iter().filter(|c| !is_helper(c)).filter_map(one).collect();
    let told = if told.is_empty() { commands.iter().filter_map(one).collect() } else { told };
    let joined = told.join(" && ");
    joined.chars().take(COMMAND_CHARS_MAX).collect::<String>().trim_end().to_owned()
}

fn is_helper(command: &SimpleCommand) -> bool {
    program_words(command).first().is_none_or(|program| HELPERS.contains(&program_name(program)))
}

fn one(command: &SimpleCommand) -> Option<String> {
    let words = program_words(command);
    let (program, arguments) = words.split_first()?;
    let mut line = steady_program(program);
    for argument in arguments {
        line.push(' ');
        line.push_str(&steady(argument));
    }
    Some(line)
}

/// Returns the words of a command from its program on, without leading variables and wrappers.
pub(super) fn program_words(command: &SimpleCommand) -> &[String] {
    let mut words = command.words.as_slice();
    while let Some((first, rest)) = words.split_first() {
        if is_assignment(first) {
            words = rest;
            continue;
        }
        let wrapper = WRAPPERS.iter().find(|(name, _)| *name == program_name(first));
        let Some(&(_, operands)) = wrapper else { break };
        let flags = rest.iter().take_while(|word| word.starts_with('-')).count();
        // A wrapper that is followed by no command is the program itself.
        let Some(after) = rest.get(flags + operands..).filter(|after| !after.is_empty()) else {
            break;
        };
        words = after;
    }
    words
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns the last component of a program's path, without a suffix of Windows.
pub(crate) fn program_name(program: &str) -> &str {
    let name = program.trim_matches(['"', '\'']).rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(name)
}

/// Returns the name of a program that is given by an absolute path. A program of the project (`./gradlew`) keeps its
/// path.
fn steady_program(program: &str) -> String {
    let absolute = program.starts_with(['/', '~']) || program.as_bytes().get(1) == Some(&b':');
    if absolute { program_name(program).to_owned() } else { steady(program) }
}

fn steady(argument: &str) -> String {
    let bare = argument.trim_matches(['"', '\'']);
    if bare.starts_with("/tmp/") || bare.starts_with("/var/folders/") || bare.starts_with("$TMP") {
        return "<tmp>".to_owned();
    }
    if is_hash(bare) {
        return "<hash>".to_owned();
    }
    if bare.len() >= 5 && bare.bytes().all(|b| b.is_ascii_digit()) {
        return "<n>".to_owned();
    }
    without_home(argument)
}

/// Returns whether a word is a git hash, a digest or a UUID.
fn is_hash(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    (7..=64).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
        && digits > 0
        && digits < word.len()
        && word.bytes().filter(u8::is_ascii_hexdigit).count() >= 7
}

fn without_home(argument: &str) -> String {
    for folder in ["/home/", "/Users/", "/root"] {
        let Some(at) = argument.find(folder) else { continue };
        let after = &argument[at + folder.len()..];
        let rest = if folder == "/root" {
            after
        } else {
            &after[after.find('/').unwrap_or(after.len())..]
        };
        // A home folder is replaced only at the start of a path, not inside another one.
        let starts = argument[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        if starts && (rest.is_empty() || rest.starts_with(['/', '"', '\''])) {
            return format!("{}~{rest}", &argument[..at]);
        }
    }
    argument.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_parts_are_removed_and_distinctive_ones_are_kept() {
        let check = |line: &str, expected: &str| assert_eq!(normalise_command(line), expected);
        check(
            "cd /srv/app && RUST_LOG=debug cargo test -p core 2>&1 | tail -20",
            "cargo test -p core",
        );
        check("cargo build --release > /tmp/out.txt 2>&1; echo done", "cargo build --release");
        check("FOO=1 BAR=2 npm run lint -- --fix", "npm run lint -- --fix");
        check("timeout 60 pytest -q tests/", "pytest -q tests/");
        check("sudo -E /usr/bin/make -j8 install", "make -j8 install");
        check("./gradlew :app:test --tests Foo", "./gradlew :app:test --tests Foo");
        check("python /home/sam/work/tool.py --n 3", "python ~/work/tool.py --n 3");
        check("git show 3f2a9bc81d", "git show <hash>");
        check("kill 123456", "kill <n>");
        check("git commit -m \"Fix a && b; c | d\"", "git commit -m \"Fix a && b; c | d\"");
        check("cat <<EOF > notes.txt\ncargo test\nEOF", "cat");
        check("tsc --noEmit && eslint .", "tsc --noEmit && eslint .");
        check("cd src", "cd src");
        check("", "");
    }

    #[test]
    fn running_it_again_changes_nothing() {
        for line in ["cd a && FOO=1 cargo test 2>&1 | tail", "python ~/x.py", "a && b || c; d"] {
            let once = normalise_command(line);
            assert_eq!(normalise_command(&once), once);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_line_breaks_it(line in "[a-z0-9 '\"|&;<>(){}#$=\\\\/\n~.-]{0,80}") {
            let command = normalise_command(&line);
            proptest::prop_assert!(command.chars().count() <= COMMAND_CHARS_MAX);
        }
    }
}

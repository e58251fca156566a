//! Checks whether a match of a command-line rule is the password of a command. The option `-p` often specifies a port,
//! a folder or a project, and the name of a program may also be the name of a host, a container or a file.

use crate::value::{shape, stand_in};
use crate::vocabulary::{WORDS, WordList};

/// Bytes before a command that are checked for its position.
const BEFORE_BYTES_MAX: usize = 240;

/// Minimum length in bytes of a random value that is accepted in any position.
const RANDOM_BYTES_MIN: usize = 8;

/// Position of a program's name, determined by the text before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// Position of a command.
    Command,
    /// A word among other words.
    Word,
    /// The end of another word, such as a file, an address or an option.
    Joined,
}

/// Returns whether a value is the password of a command. `before` is the text before the command's name, and `lead` the
/// text from the name to the value.
pub(crate) fn is_password(before: &[u8], lead: &[u8], value: &[u8], is_worded: bool) -> bool {
    let is_random = || shape::is_random(value, RANDOM_BYTES_MIN);
    // A folder is separated from the letter of the option by a space.
    let is_folder = lead.last().is_some_and(u8::is_ascii_whitespace)
        && matches!(value, [b'/' | b'~' | b'.', ..]);
    if is_folder
        || is_ports(lead, value)
        || is_option(lead, value) && !is_random()
        || is_worded && (stand_in::is_stop_word(value) || WORDS.option_noun.has(value))
    {
        return false;
    }
    let mut words = arguments(lead);
    let is_plain =
        !words.any(|word| WORDS.command_prose.has(word) || WORDS.command_other.has(word));
    match stand(before) {
        Stand::Command if is_plain => true,
        Stand::Command | Stand::Word | Stand::Joined => is_random(),
    }
}

/// Returns the words between a command's name and its last option, without options and their values.
fn arguments(lead: &[u8]) -> impl Iterator<Item = &[u8]> {
    let words = lead.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut is_told = false;
    words.skip(1).filter(move |word| {
        let is_option = word.starts_with(b"-");
        let was_told = std::mem::replace(&mut is_told, is_option);
        !is_option && !was_told
    })
}

/// Returns whether the value is a port mapping (`8080:80`, `127.0.0.1:80:80`), or a number that may be a port and is
/// separated from the option.
fn is_ports(lead: &[u8], value: &[u8]) -> bool {
    const PORT_DIGITS_MAX: usize = 5;
    let parts = || value.split(|byte| b".:".contains(byte));
    let is_port =
        |part: &[u8]| part.len() <= PORT_DIGITS_MAX && part.iter().all(u8::is_ascii_digit);
    let is_parted = lead.ends_with(b" ") || lead.ends_with(b"\t") || lead.ends_with(b"P");
    parts().all(is_port) && (is_parted || parts().count() > 1)
}

/// Returns whether the letter of the option and the value form the name of another option.
fn is_option(lead: &[u8], value: &[u8]) -> bool {
    lead.to_ascii_lowercase().ends_with(b"-p")
        && WORDS.option_name.iter().any(|name| {
            let rest = &name.as_bytes()[1..];
            value.get(..rest.len()).is_some_and(|start| start.eq_ignore_ascii_case(rest))
                && value.get(rest.len()).is_none_or(|next| !next.is_ascii_alphanumeric())
        })
}

/// Returns how a program's name is connected with the text before it in the same line.
fn stand(before: &[u8]) -> Stand {
    let from = before.len().saturating_sub(BEFORE_BYTES_MAX);
    let line = before[from..].rsplit(|byte| b"\n\r".contains(byte)).next().unwrap_or_default();
    let line = without_folder(line);
    // Makefiles have `@` and `-` before commands; settings have `ExecStart=` or `command=`.
    if matches!(line.trim_ascii(), b"@" | b"-" | b"@-" | b"-@") || is_setting(line) {
        return Stand::Command;
    }
    match line {
        [.., b'\\', b'n' | b'r' | b't'] => return Stand::Command,
        [.., b'.' | b'/' | b'-' | b'@' | b'='] => return Stand::Joined,
        // The name is in quotes, or in a Windows folder.
        [] | [.., b'"' | b'\'' | b'`' | b'\\'] => return Stand::Command,
        _ => {}
    }
    let spaced = line.trim_ascii_end();
    let Some(last) = spaced.last() else { return Stand::Command };
    if b";|&(){}[$>#%:!`".contains(last) || spaced.ends_with(b"\\n") || spaced.ends_with(b"//") {
        return Stand::Command;
    }
    // This is the part of the line that belongs to one command.
    let segment = spaced.rsplit(|byte| b";|&(){}`".contains(byte)).next().unwrap_or_default();
    if stands_behind(segment) { Stand::Command } else { Stand::Word }
}

/// Returns the line without the program's folder at its end.
fn without_folder(line: &[u8]) -> &[u8] {
    if !line.ends_with(b"/") {
        return line;
    }
    let is_path = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._~/-$:".contains(byte);
    let length = line.iter().rev().take_while(is_path).count();
    let (rest, folder) = line.split_at(line.len() - length);
    let is_rooted = matches!(folder, [b'/' | b'~' | b'.', ..]) || folder.ends_with(b"bin/");
    let is_address = folder.windows(2).any(|pair| pair == b"//");
    if is_rooted && !is_address { rest } else { line }
}

/// Returns whether a command is possible after these words, which belong to another command.
fn stands_behind(segment: &[u8]) -> bool {
    let bare = |word: &'_ [u8]| -> Vec<u8> {
        let signs = word.iter().take_while(|byte| b"\"'$*".contains(byte)).count();
        word[signs..].to_ascii_lowercase()
    };
    let words: Vec<Vec<u8>> =
        segment.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(bare).collect();
    let Some(last) = words.last() else { return true };
    // The last word is a list marker, the end of options, or a variable that is set for the command.
    if matches!(last.as_slice(), b"" | b"-" | b"+" | b"--") || is_lead(&words) || is_set(last) {
        return true;
    }
    let is_listed = words.len() == 1
        && last.strip_suffix(b".").is_some_and(|number| number.iter().all(u8::is_ascii_digit));
    if is_listed || last == b"--entrypoint" {
        return true;
    }
    if words
        .iter()
        .position(|word| WORDS.command_prefix.has(word))
        .is_some_and(|at| are_options(&words[at..]))
    {
        return true;
    }
    if last.starts_with(b"-") {
        return false;
    }
    let behind = |known: &WordList| words.iter().position(|word| known.has(word));
    let is_inside = || {
        let container = behind(&WORDS.command_container)?;
        let inside = container
            + words[container..].iter().position(|word| WORDS.command_inside.has(word))?;
        Some(inside + 1 < words.len())
    };
    // `ssh host command`
    let is_remote = || Some(words.iter().position(|word| word == b"ssh")? + 1 < words.len());
    is_inside().or_else(is_remote).unwrap_or(false)
}

/// Returns whether the last of these words requires a command after it.
fn is_lead(words: &[Vec<u8>]) -> bool {
    match words {
        [.., runner, last] if last == b"run" => !WORDS.command_runner.has(runner),
        [.., last] => WORDS.command_lead.has(last),
        [] => false,
    }
}

/// Returns whether these words are a command that runs another one, followed by options.
fn are_options(words: &[Vec<u8>]) -> bool {
    words.windows(2).all(|pair| {
        let next = &pair[1];
        next.starts_with(b"-")
            || pair[0].starts_with(b"-")
            || next.first().is_some_and(u8::is_ascii_digit)
            || is_set(next)
            || WORDS.command_lead.has(next)
    })
}

/// Returns whether a line is a setting, which consists of a name and a value.
fn is_setting(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let name =
        line.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    name > 0 && &line[name..] == b"="
}

/// Returns whether a word is an assignment: `NAME=value`.
fn is_set(word: &[u8]) -> bool {
    let sign = word.iter().position(|byte| *byte == b'=');
    sign.is_some_and(|sign| {
        sign > 0 && word[..sign].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    })
}

//! Simple commands, and the patterns that match them.

use crate::glob::text_matches;
use crate::guard::line;
use crate::signature::program_name;

/// Options with a short and a long form: programs, letter, long name.
const SAME_OPTIONS: &[(&[&str], char, &str)] = &[
    (&["git", "rm", "cp", "mv", "ln", "docker", "npm"], 'f', "force"),
    (&["docker", "podman"], 'a', "all"),
    (&["git"], 'd', "delete"),
    (&["git"], 'n', "no-verify"),
    (&["rm", "cp", "chmod", "chown"], 'R', "recursive"),
    (&["rm", "cp"], 'r', "recursive"),
    (&["npm", "pnpm", "yarn"], 'g', "global"),
    (&["apt", "apt-get", "dnf", "npm", "npx"], 'y', "yes"),
];

/// Short names of resources of `kubectl`.
const RESOURCES: &[(&str, &str)] = &[
    ("ns", "namespace"),
    ("po", "pod"),
    ("svc", "service"),
    ("deploy", "deployment"),
    ("pv", "persistentvolume"),
    ("pvc", "persistentvolumeclaim"),
    ("cm", "configmap"),
    ("no", "node"),
];

/// Minimum length of an abbreviated long option. Programs that use getopt_long(3) accept unique abbreviations.
const ABBREVIATION_MIN: usize = 3;

/// Maximum number of letters of an option with one hyphen that is read as letters, as in `-rf`.
const LETTERS_MAX: usize = 3;

/// A simple command, split by the roles of its words.
#[derive(Debug)]
pub(super) struct Call {
    /// Name of the program, without its folder.
    pub program: String,
    /// Words that are no options, and whether an option precedes each directly, so that the word may be its value.
    operands: Vec<(String, bool)>,
    /// Options without their hyphens.
    options: Vec<String>,
    /// Letters of the options with one hyphen.
    letters: String,
}

impl Call {
    /// Returns the commands that a shell runs for a command line.
    pub fn all(line: &str) -> Vec<Self> {
        line::commands(line).iter().filter_map(|words| Self::new(words)).collect()
    }

    fn new(words: &[String]) -> Option<Self> {
        let (program, words) = words.split_first()?;
        let program = program_name(program).to_owned();
        let mut call = Self { program, operands: vec![], options: vec![], letters: String::new() };
        let (mut after_option, mut are_operands) = (false, false);
        for word in words {
            let option = word.strip_prefix('-').filter(|rest| !rest.is_empty() && !are_operands);
            match option {
                Some("-") => are_operands = true,
                Some(option) => match option.strip_prefix('-') {
                    Some(long) => call.options.push(long.to_owned()),
                    None => {
                        call.letters.extend(option.chars().take_while(char::is_ascii_alphabetic));
                        call.options.push(option.to_owned());
                    }
                },
                None => call.operand(word, after_option),
            }
            after_option = option.is_some_and(|option| !option.contains('='));
        }
        call.add_other_forms();
        Some(call)
    }

    /// Adds a word that is no option.
    fn operand(&mut self, word: &str, after_option: bool) {
        let mut word = word;
        if let Some(marked) = word.strip_prefix('+') {
            if self.program != "git" {
                // The toolchain of cargo.
                return;
            }
            // `git push origin +main` forces the update of one branch.
            self.options.push("force".to_owned());
            word = marked;
        }
        if self.program == "git" && word.len() > 1 && word.starts_with(':') {
            // `git push origin :branch` deletes a branch.
            self.options.push("delete".to_owned());
        }
        if self.program == "kubectl" {
            let (resource, name) = word.split_once('/').unwrap_or((word, ""));
            self.operands.push((resource_name(resource).to_owned(), after_option));
            word = name;
        }
        if !word.is_empty() {
            self.operands.push((word.to_owned(), after_option));
        }
    }

    /// Adds the long form of each short option, and vice versa.
    fn add_other_forms(&mut self) {
        if self.program == "git" && self.letters.contains('D') {
            self.letters.push_str("df");
        }
        // Twice, because a form that is added may have another form itself.
        for (programs, letter, long) in SAME_OPTIONS.iter().chain(SAME_OPTIONS) {
            if !programs.contains(&self.program.as_str()) {
                continue;
            }
            let has_long = self.options.iter().any(|option| option == long);
            if self.letters.contains(*letter) {
                self.options.push((*long).to_owned());
            } else if has_long {
                self.letters.push(*letter);
            }
        }
        if self.program == "git" && ['d', 'f'].iter().all(|&letter| self.letters.contains(letter)) {
            self.letters.push('D');
        }
    }
}

/// A pattern of simple commands.
#[derive(Debug)]
pub(super) struct Pattern<'a> {
    program: &'a str,
    operands: Vec<&'a str>,
    options: Vec<&'a str>,
    letters: String,
}

impl<'a> Pattern<'a> {
    pub fn new(text: &'a str) -> Self {
        let mut words = text.split_whitespace();
        let program = program_name(words.next().unwrap_or_default());
        let mut pattern =
            Self { program, operands: vec![], options: vec![], letters: String::new() };
        for word in words {
            match word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                Some("-") => {}
                None if program == "kubectl" => pattern.operands.push(resource_name(word)),
                None => pattern.operands.push(word),
                Some(option) if is_letters(option) => pattern.letters.push_str(option),
                Some(option) => pattern.options.push(option.trim_start_matches('-')),
            }
        }
        // As in permission rules of Claude Code, a final `*` also matches no further word.
        if pattern.operands.last() == Some(&"*") {
            pattern.operands.pop();
        }
        pattern
    }

    /// Returns whether a command has the program, the operands in this order, and the options in any order. The first
    /// operand is the subcommand: only options and words that may be their values precede it.
    pub fn matches(&self, call: &Call) -> bool {
        if !text_matches(self.program, &call.program)
            || !self.letters.chars().all(|letter| call.letters.contains(letter))
            || !self
                .options
                .iter()
                .all(|pattern| call.options.iter().any(|option| is_option(pattern, option)))
        {
            return false;
        }
        let is_subcommand =
            self.operands.first().is_some_and(|first| !first.contains(['*', '?', '/', '.']));
        let mut operands = call.operands.iter();
        self.operands.iter().enumerate().all(|(number, pattern)| {
            for (operand, after_option) in operands.by_ref() {
                if text_matches(pattern, operand) {
                    return true;
                }
                if number == 0 && !after_option && is_subcommand {
                    return false;
                }
            }
            false
        })
    }
}

/// Returns the name of a resource of `kubectl` for its plural or short name: `namespace` for `ns` and `namespaces`.
fn resource_name(word: &str) -> &str {
    let whole = RESOURCES.iter().find(|(short, _)| *short == word).map(|(_, whole)| *whole);
    whole.unwrap_or_else(|| word.strip_suffix('s').unwrap_or(word))
}

/// Returns whether an option with one hyphen is a group of letters, not a word such as `-auto-approve`.
fn is_letters(option: &str) -> bool {
    option.len() <= LETTERS_MAX && option.bytes().all(|b| b.is_ascii_alphabetic())
}

/// Returns whether an option matches a pattern, with or without its value, or is an abbreviation of the pattern.
fn is_option(pattern: &str, option: &str) -> bool {
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    let stem = pattern.split(['*', '?', '=']).next().unwrap_or_default();
    text_matches(pattern, option)
        || text_matches(pattern, name)
        || (name.len() >= ABBREVIATION_MIN && stem.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, line: &str) -> bool {
        let pattern = Pattern::new(pattern);
        Call::all(line).iter().any(|call| pattern.matches(call))
    }

    #[test]
    fn options_match_in_any_form_and_place() {
        for line in [
            "git push --force",
            "git push -f origin main",
            "git push origin main --force-with-lease",
            "git -C repo -c a.b=c push -fu",
            "git push --forc",
            "git push origin +main",
            "/usr/bin/git push --force",
            "cd x && FOO=1 sudo -u me git push --force | cat",
        ] {
            assert!(matches("git push --force*", line), "{line}");
        }
        for line in [
            "git push",
            "git push origin main",
            "git stash push --force",
            "git commit -m 'push --force'",
            "echo git push --force",
            "git push --follow-tags",
        ] {
            assert!(!matches("git push --force*", line), "{line}");
        }
    }

    #[test]
    fn letters_match_in_groups_apart_and_as_words() {
        for line in ["rm -rf x", "rm -fr x", "rm -r -f x", "rm --recursive --force x", "rm -Rfv x"]
        {
            assert!(matches("rm -f", line), "{line}");
        }
        assert!(matches("rm -rf /*", "rm -r --force /etc"));
        assert!(!matches("rm -rf", "rm -r x"));
        assert!(matches("git branch -D", "git branch --delete --force x"));
        assert!(matches("terraform apply -auto-approve", "terraform -chdir=a apply -auto-approve"));
        assert!(!matches("terraform apply -auto-approve", "terraform apply -target=auto"));
    }

    #[test]
    fn natural_patterns_match_themselves() {
        for pattern in [
            "./deploy.sh",
            "scripts/release --all",
            "sudo *",
            "xargs rm",
            "kubectl delete ns",
            "kubectl delete pods *",
            "git checkout -- .",
            "rm -Rf",
            "make *",
            "git push --force*",
        ] {
            assert!(matches(pattern, &pattern.replace('*', "x")), "{pattern}");
        }
        assert!(matches("rm -rf", "rm -Rf x"));
        assert!(matches("rm -rf /*", "rm -rf a b /etc"));
        assert!(matches("kubectl delete ns", "kubectl delete namespaces a"));
    }

    #[test]
    fn operands_match_in_order() {
        assert!(matches("npm publish", "npm --prefix web publish"));
        assert!(matches("cargo publish *", "cargo +nightly publish -p x"));
        assert!(matches("docker compose down -v", "docker compose -f a.yml down -v"));
        assert!(!matches("npm publish", "npm run publish"));
        assert!(matches("npm run deploy*", "npm run deploy:production"));
    }
}

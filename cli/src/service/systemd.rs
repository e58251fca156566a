//! A unit of systemd's user manager (systemd.service(5), systemd.exec(5)).

use std::path::{Path, PathBuf};

use super::MARK;
use crate::exit;

/// The unit's name.
pub const UNIT: &str = "throughline-watch.service";

/// The text of the unit.
pub fn unit(program: &Path, variables: &[(&str, String)]) -> String {
    let program = quoted(&program.to_string_lossy()).replace('$', "$$");
    let environment: String = variables
        .iter()
        .map(|(name, value)| format!("Environment={}\n", quoted(&format!("{name}={value}"))))
        .collect();
    format!(
        "# {MARK}; `throughline service uninstall` removes it.\n\
         [Unit]\n\
         Description=Throughline: learns from Claude Code's sessions while they run\n\
         \n\
         [Service]\n\
         ExecStart={program} watch\n\
         {environment}\
         Restart=on-failure\n\
         RestartSec=30\n\
         RestartPreventExitStatus={running}\n\
         Nice=10\n\
         IOSchedulingClass=idle\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        running = exit::RUNNING,
    )
}

/// The program that a unit starts.
pub fn program(text: &str) -> Option<PathBuf> {
    let line = text.lines().find_map(|line| line.strip_prefix("ExecStart="))?;
    let quoted = line.strip_suffix(" watch")?.strip_prefix('"')?.strip_suffix('"')?;
    let (mut path, mut chars) = (String::new(), quoted.chars());
    while let Some(char) = chars.next() {
        path.push(match char {
            '\\' | '%' | '$' => chars.next()?,
            char => char,
        });
    }
    Some(path.into())
}

/// A word in quotes; `%` stands for something else there.
fn quoted(word: &str) -> String {
    let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{word}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_starts_the_program_with_its_environment() {
        let variables = [("PATH", "/usr/bin:/b%n".to_owned())];
        let unit = unit(Path::new("/home/ada/.local/bin/throughline"), &variables);
        insta::assert_snapshot!(unit, @r#"
        # Written by `throughline service install`; `throughline service uninstall` removes it.
        [Unit]
        Description=Throughline: learns from Claude Code's sessions while they run

        [Service]
        ExecStart="/home/ada/.local/bin/throughline" watch
        Environment="PATH=/usr/bin:/b%%n"
        Restart=on-failure
        RestartSec=30
        RestartPreventExitStatus=8
        Nice=10
        IOSchedulingClass=idle

        [Install]
        WantedBy=default.target
        "#);
    }

    #[test]
    fn its_program_is_read_back() {
        for path in ["/opt/throughline", "/o p/\"q\"/100%/$HOME/back\\slash"] {
            assert_eq!(program(&unit(Path::new(path), &[])), Some(path.into()));
        }
        assert_eq!(program("[Service]\nExecStart=/bin/true\n"), None);
    }
}

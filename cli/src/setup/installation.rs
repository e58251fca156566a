//! An *installation* is the way in which the programs were installed. It determines how a person installs them again.
//! Throughline's installers write a note beside the embedder's files; package managers are recognised by their folders.

use std::path::{Component, Path, PathBuf};

use memory_store::fs::disk;

use crate::view::printable;
use crate::world::World;

/// The note of the installers `scripts/get` and `scripts/install`, relative to the folder above that of the programs.
const ORIGIN: &str = "share/throughline/ORIGIN";
/// Maximum bytes of the note.
const ORIGIN_BYTES_MAX: usize = 8 << 10;
/// The installer that a release archive contains, relative to the same folder.
const INSTALLER: &str = "share/throughline-release/get";

/// The way in which the programs were installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installation {
    /// A release archive, installed by `scripts/get`.
    Archive {
        /// The installer from the archive.
        installer: PathBuf,
        /// The source of the archive; `None` if the note does not contain it.
        source: Option<ArchiveSource>,
        /// The target folder of the installation.
        prefix: PathBuf,
    },
    /// The npm package.
    Npm,
    /// The Homebrew formula.
    Homebrew,
    /// The Nix flake.
    Nix,
    /// Built by `scripts/install`.
    BuiltHere(Option<Build>),
}

/// A run of `scripts/install`, as recorded in the note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// The folder with the source code; `None` if its name is not safe to print.
    folder: Option<String>,
    /// The folder of the programs.
    bin_dir: PathBuf,
    /// Whether the run registered the programs with Claude Code.
    registered: bool,
}

/// Source of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveSource {
    /// Base address of a server.
    BaseUrl(String),
    /// Path of a folder.
    From(String),
}

impl Installation {
    /// Determines how the programs of this machine were installed.
    pub fn find(world: &World) -> Self {
        // The program in `PATH` may be a link that a package manager created.
        let program = world.program("throughline");
        let real = program.canonicalize().unwrap_or(program);
        Self::packaged(&real).unwrap_or_else(|| Self::noted(&world.bin_dir))
    }

    /// Returns the package manager in whose folder the program is.
    fn packaged(program: &Path) -> Option<Self> {
        if program.starts_with("/nix/store") {
            return Some(Self::Nix);
        }
        program.components().find_map(|component| match component {
            Component::Normal(name) if name == "node_modules" => Some(Self::Npm),
            Component::Normal(name) if name == "Cellar" => Some(Self::Homebrew),
            _ => None,
        })
    }

    /// Reads the installer's note beside the programs.
    fn noted(bin_dir: &Path) -> Self {
        let prefix = bin_dir.parent().unwrap_or(bin_dir);
        let note = disk::read_if_there(&prefix.join(ORIGIN), ORIGIN_BYTES_MAX).ok().flatten();
        let note = note.and_then(|note| String::from_utf8(note).ok()).unwrap_or_default();
        let mut lines = note.lines();
        let (name, value) = lines.next().and_then(|line| line.split_once(' ')).unwrap_or_default();
        // A value with terminal escapes is ignored, since the installers never write it.
        let value =
            Some(value).filter(|value| !value.is_empty() && printable::path(value) == *value);
        let value = value.map(str::to_owned);
        if name == "source" {
            let registered = !lines.any(|line| line == "--no-register");
            let bin_dir = bin_dir.to_owned();
            return Self::BuiltHere(Some(Build { folder: value, bin_dir, registered }));
        }
        let source = match name {
            "--base-url" => value.map(ArchiveSource::BaseUrl),
            "--from" => value.map(ArchiveSource::From),
            _ => None,
        };
        let installer = prefix.join(INSTALLER);
        if source.is_some() || installer.is_file() {
            return Self::Archive { installer, source, prefix: prefix.to_owned() };
        }
        Self::BuiltHere(None)
    }

    /// Returns a sentence, without its full stop, that describes how to install the programs again.
    pub fn again(&self, home: &Path) -> String {
        match self {
            Self::Archive { installer, source, prefix } => {
                let source = match source {
                    Some(ArchiveSource::BaseUrl(url)) => format!("--base-url {}", word(url)),
                    Some(ArchiveSource::From(folder)) => format!("--from {}", word(folder)),
                    None => "--from FOLDER".to_owned(),
                };
                let prefix = match *prefix == home.join(".local") {
                    true => String::new(),
                    false => format!(" --prefix {}", word(&prefix.to_string_lossy())),
                };
                let installer = word(&installer.to_string_lossy());
                format!("Install the archive again: `sh {installer} {source}{prefix}`")
            }
            Self::Npm => {
                "Install the npm packages again, from the files that you installed".to_owned()
            }
            Self::Homebrew => "Install the formula again: `brew reinstall throughline`".to_owned(),
            Self::Nix => "Install the flake's package again, as you installed it".to_owned(),
            Self::BuiltHere(None) => {
                "Run `scripts/install` again, in the folder of the sources".to_owned()
            }
            Self::BuiltHere(Some(build)) => build.again(home),
        }
    }
}

impl Build {
    fn again(&self, home: &Path) -> String {
        let mut command = "scripts/install".to_owned();
        if self.bin_dir != home.join(".local/bin") {
            command += &format!(" --bin-dir {}", word(&self.bin_dir.to_string_lossy()));
        }
        if !self.registered {
            command += " --no-register";
        }
        match &self.folder {
            Some(folder) => format!("Run `cd {} && {command}`", word(folder)),
            None => format!("Run `{command}` again, in the folder of the sources"),
        }
    }
}

/// Quotes a word for a shell; the result is safe to print.
pub fn word(text: &str) -> String {
    let text = printable::path(text);
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "/._-:@+=,".contains(c);
    match !text.is_empty() && text.chars().all(is_safe) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns the instructions for a home in which `~/.local` contains these files.
    fn again(files: &[(&str, &str)]) -> String {
        let home = tempfile::tempdir().unwrap();
        let prefix = home.path().join(".local");
        for (name, text) in files {
            let path = prefix.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let told = Installation::noted(&prefix.join("bin")).again(home.path());
        told.replace(&home.path().display().to_string(), "HOME")
    }

    #[test]
    fn each_installer_is_named_with_its_source() {
        let get = "sh HOME/.local/share/throughline-release/get";
        let archive = |source: &str| format!("Install the archive again: `{get} {source}`");
        let in_sources =
            |command: &str| format!("Run `{command}` again, in the folder of the sources");
        let installer = (INSTALLER, "");
        for (files, expected) in [
            (&[][..], in_sources("scripts/install")),
            (&[(ORIGIN, "source /src/it\n")], "Run `cd /src/it && scripts/install`".to_owned()),
            (
                &[(ORIGIN, "source /my src\n--no-register\n")],
                "Run `cd '/my src' && scripts/install --no-register`".to_owned(),
            ),
            // The program was built from source and installed over an archive.
            (
                &[installer, (ORIGIN, "source /src\n")],
                "Run `cd /src && scripts/install`".to_owned(),
            ),
            // A name with terminal escapes.
            (&[(ORIGIN, "source /a\u{1b}[2Jb\n")], in_sources("scripts/install")),
            (
                &[(ORIGIN, "source /a\rb\n--no-register\n")],
                in_sources("scripts/install --no-register"),
            ),
            (&[installer, (ORIGIN, "--from /a\u{202e}b\n")], archive("--from FOLDER")),
            (&[(ORIGIN, "--base-url https://a/b\n")], archive("--base-url https://a/b")),
            (&[(ORIGIN, "--from /a b\n")], archive("--from '/a b'")),
            (&[installer], archive("--from FOLDER")),
            (&[installer, (ORIGIN, "made up\n")], archive("--from FOLDER")),
        ] {
            assert_eq!(again(files), expected, "{files:?}");
        }
        let build = Build {
            folder: Some("/src".to_owned()),
            bin_dir: "/opt/my bin".into(),
            registered: true,
        };
        let told = Installation::BuiltHere(Some(build)).again(Path::new("/home/a"));
        assert_eq!(told, "Run `cd /src && scripts/install --bin-dir '/opt/my bin'`");
        let elsewhere = Installation::Archive {
            installer: "/opt/it/get".into(),
            source: None,
            prefix: "/opt/it".into(),
        };
        let told = elsewhere.again(Path::new("/home/a"));
        assert_eq!(
            told,
            "Install the archive again: `sh /opt/it/get --from FOLDER --prefix /opt/it`"
        );
    }

    #[test]
    fn a_word_is_quoted_as_the_shell_needs_it() {
        assert_eq!(word("/home/ada/work-2"), "/home/ada/work-2");
        assert_eq!(word("/home/ada/my work"), "'/home/ada/my work'");
        assert_eq!(word("/tmp/it's"), r"'/tmp/it'\''s'");
        assert_eq!(word(""), "''");
    }

    #[test]
    fn package_managers_show_by_their_folders() {
        let packaged = |path: &str| Installation::packaged(Path::new(path));
        let npm = "/usr/lib/node_modules/@throughline/linux-x64/bin/throughline";
        assert_eq!(packaged(npm), Some(Installation::Npm));
        let brew = "/opt/homebrew/Cellar/throughline/0.1.0/bin/throughline";
        assert_eq!(packaged(brew), Some(Installation::Homebrew));
        assert_eq!(packaged("/nix/store/abc-throughline/bin/throughline"), Some(Installation::Nix));
        assert_eq!(packaged("/home/a/.local/bin/throughline"), None);
    }
}

//! An *installation* is the way in which the programs came to their folder. It decides what a person does to get them
//! again: the installers note it beside the embedder's files, and package managers show by their folders.

use std::path::{Component, Path, PathBuf};

use memory_store::fs::disk;

use crate::world::World;

/// The note of an installer, below the folder above the programs. `scripts/get` and `scripts/install` write it.
const ORIGIN: &str = "share/throughline/ORIGIN";
/// Bytes that the note may have.
const ORIGIN_BYTES_MAX: usize = 8 << 10;
/// The installer that an archive leaves there, below the same folder.
const INSTALLER: &str = "share/throughline-release/get";

/// The way in which the programs came to their folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installation {
    /// A release archive, by `scripts/get`.
    Archive {
        /// The installer that the archive left.
        installer: PathBuf,
        /// The option that names where the archive came from; `None` where nobody noted it.
        source: Option<ArchiveSource>,
        /// The folder that it was installed into.
        prefix: PathBuf,
    },
    /// The npm package.
    Npm,
    /// The Homebrew formula.
    Homebrew,
    /// The Nix flake.
    Nix,
    /// Built by `scripts/install`.
    BuiltHere {
        /// The folder of the sources; `None` where nobody noted it.
        folder: Option<PathBuf>,
    },
}

/// Where an archive came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveSource {
    /// A server's address.
    BaseUrl(String),
    /// A folder.
    From(String),
}

impl Installation {
    /// Finds out how the programs of this machine were installed.
    pub fn find(world: &World) -> Self {
        // A package manager may have put a link into the folder that `PATH` names.
        let program = world.program("throughline");
        let real = program.canonicalize().unwrap_or(program);
        Self::packaged(&real).unwrap_or_else(|| Self::noted(&world.bin_dir))
    }

    /// Returns the package manager whose folder the program is in.
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

    /// Reads what an installer noted beside the programs.
    fn noted(bin_dir: &Path) -> Self {
        let prefix = bin_dir.parent().unwrap_or(bin_dir);
        let note = disk::read_if_there(&prefix.join(ORIGIN), ORIGIN_BYTES_MAX).ok().flatten();
        let note = note.and_then(|note| String::from_utf8(note).ok()).unwrap_or_default();
        let noted = |name: &str| {
            let value = note.lines().next()?.strip_prefix(name)?.strip_prefix(' ')?;
            Some(value.to_owned()).filter(|value| !value.is_empty())
        };
        let source = noted("--base-url")
            .map(ArchiveSource::BaseUrl)
            .or_else(|| noted("--from").map(ArchiveSource::From));
        let installer = prefix.join(INSTALLER);
        let folder = noted("source").map(PathBuf::from);
        if folder.is_none() && (source.is_some() || installer.is_file()) {
            return Self::Archive { installer, source, prefix: prefix.to_owned() };
        }
        Self::BuiltHere { folder }
    }

    /// Says how to install the programs again, as a sentence without its full stop.
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
            Self::BuiltHere { folder: None } => "Run `scripts/install` again".to_owned(),
            Self::BuiltHere { folder: Some(folder) } => {
                format!("Run `scripts/install` again, in {}", folder.display())
            }
        }
    }
}

/// Returns a word as a shell takes it.
fn word(text: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "/._-:@+=".contains(c);
    match !text.is_empty() && text.chars().all(is_safe) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns what helps in a home whose `~/.local` has these files.
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
        let installer = (INSTALLER, "");
        for (files, expected) in [
            (&[][..], "Run `scripts/install` again".to_owned()),
            (&[(ORIGIN, "source /src/it\n")], "Run `scripts/install` again, in /src/it".to_owned()),
            // Sources were installed over an archive.
            (
                &[installer, (ORIGIN, "source /src\n")],
                "Run `scripts/install` again, in /src".to_owned(),
            ),
            (&[(ORIGIN, "--base-url https://a/b\n")], archive("--base-url https://a/b")),
            (&[(ORIGIN, "--from /a b\n")], archive("--from '/a b'")),
            (&[installer], archive("--from FOLDER")),
            (&[installer, (ORIGIN, "made up\n")], archive("--from FOLDER")),
        ] {
            assert_eq!(again(files), expected, "{files:?}");
        }
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

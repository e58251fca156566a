//! Reading of memory files without an index, for hooks until there is one again.
//!
//! There is no YAML parser here: front matter is read line by line for the few keys that recall needs, and anything
//! unusual is skipped. The number of files and bytes is bounded.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::index::document::Document;
use crate::index::record::Record;
use memory_store_base::fs::file_name;
use memory_store_base::fs::file_stamp;
use memory_store_base::fs::open_regular::{self, Links};
use memory_store_base::id::MemoryId;
use memory_store_base::kind::Kind;
use memory_store_base::layout::{ProjectDir, STORE_DIR};
use memory_store_base::memory::{SaidBy, Scope, Source, Status};
use memory_store_base::time::Timestamp;

/// Maximum number of files.
const FILES_MAX: usize = 300;
/// Maximum number of bytes read of a file.
const FILE_BYTES_MAX: u64 = 16 << 10;
/// Maximum depth of folders, and maximum number of folder entries.
const LEVELS_MAX: u32 = 4;
const ENTRIES_MAX: usize = 2000;
/// Maximum number of lines of front matter.
const LINES_MAX: usize = 200;

/// Maximum number of bytes read of a project's record.
const RECORD_BYTES_MAX: u64 = 1 << 20;

/// Returns the folders that may contain a project's memories. The committed folder is excluded if the project keeps its
/// memories privately, because a commit could then add untrusted files, and if it is a symbolic link, which a commit
/// can point anywhere.
pub(crate) fn folders(project: &ProjectDir, root: &Path) -> Vec<PathBuf> {
    let store = root.join(STORE_DIR);
    let committed = store.join("memories");
    let mut folders = vec![project.private_memories.clone(), project.drafts.clone()];
    if !is_private(project) && is_folder(&store) && is_folder(&committed) {
        folders.push(committed);
    }
    folders
}

/// Returns whether a project keeps its memories privately; true if its record cannot be read.
pub(crate) fn is_private(project: &ProjectDir) -> bool {
    match record(project) {
        Ok(record) => record.mode.is_some_and(|mode| mode != "committed"),
        Err(()) => true,
    }
}

/// Returns whether an older version stored trusted authors for this project: then only released memories are returned.
pub(crate) fn is_limited(project: &ProjectDir) -> bool {
    record(project).map_or(true, |record| record.authors.is_some())
}

/// Fields of a project's record used here.
#[derive(Default, Deserialize)]
struct ProjectRecord {
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    authors: Option<IgnoredAny>,
}

/// Reads the record of a project; the file is optional.
fn record(project: &ProjectDir) -> Result<ProjectRecord, ()> {
    let mut bytes = Vec::new();
    match open_regular::open(&project.identity, Links::Refuse)
        .and_then(|file| file.take(RECORD_BYTES_MAX).read_to_end(&mut bytes))
    {
        Ok(_) => serde_json::from_slice(&bytes).map_err(drop),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ProjectRecord::default()),
        Err(_) => Err(()),
    }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Reads the memories in some folders, and returns whether the limit was exceeded.
pub(crate) fn read(root: &Path, folders: &[PathBuf]) -> (Vec<Document>, bool) {
    let mut files = Vec::new();
    let mut entries = ENTRIES_MAX;
    folders.iter().for_each(|folder| collect(folder, LEVELS_MAX, &mut entries, &mut files));
    files.sort();
    let more = files.len() > FILES_MAX;
    files.truncate(FILES_MAX);
    (files.iter().filter_map(|path| read_file(root, path)).collect(), more)
}

/// Collects the Markdown files of a folder and its subfolders, skipping links.
fn collect(folder: &Path, levels: u32, entries: &mut usize, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if *entries == 0 || levels == 0 {
            return;
        }
        *entries -= 1;
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if file_name::refused(&entry.file_name().to_string_lossy()).is_some() {
            continue;
        }
        if kind.is_dir() {
            collect(&path, levels - 1, entries, files);
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
}

fn read_file(root: &Path, path: &Path) -> Option<Document> {
    let file = open_regular::open(path, Links::Refuse).ok()?;
    let meta = file.metadata().ok()?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut document = parse(&text)?;
    document.record.file = path.strip_prefix(root).unwrap_or(path).to_owned();
    document.record.modified_ns = file_stamp::modified_ns(&meta)?;
    document.record.file_bytes = meta.len();
    Some(document)
}

/// Parses a memory; `None` for other files and for memories excluded from recall.
fn parse(text: &str) -> Option<Document> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines();
    if lines.next()?.trim_end() != "---" {
        return None;
    }
    let front: Vec<&str> =
        lines.by_ref().take(LINES_MAX).take_while(|line| line.trim_end() != "---").collect();
    let fields = Fields(&front);
    let (title, body) = title_and_body(lines);
    let status = match fields.value("status") {
        None | Some("active") => Status::Active,
        Some("held" | "draft") => Status::Held,
        Some(_) => return None,
    };
    let id: MemoryId = fields.value("id")?.parse().ok()?;
    let created = fields.time("created").or_else(|| fields.time("occurred")).unwrap_or_default();
    let superseded_by: Option<MemoryId> =
        fields.value("superseded_by").and_then(|id| id.parse().ok());
    let (said_by, noted) = fields.source();
    let record = Record {
        title: if title.is_empty() {
            fields.value("title").unwrap_or_default().to_owned()
        } else {
            title
        },
        text: body,
        paths: fields.paths(),
        tags: fields.list("tags"),
        signatures: fields.list("signatures"),
        created,
        occurred: fields.time("occurred"),
        valid_from: fields.time("valid_from"),
        valid_until: fields.time("valid_until"),
        scope: if fields.value("scope") == Some("paths") { Scope::Paths } else { Scope::Project },
        status,
        superseded_by,
        supersedes: fields.list("supersedes").iter().filter_map(|id| id.parse().ok()).collect(),
        said_by,
        noted,
        ..Record::default()
    };
    let kind = fields.value("kind").and_then(Kind::from_name).unwrap_or(Kind::Fact);
    let confidence = fields.value("confidence").and_then(|value| value.parse().ok()).unwrap_or(0.5);
    let pinned = fields.value("pinned") == Some("true");
    let when = record.date();
    Some(Document::of_record(id, kind, confidence, pinned, when, record))
}

fn title_and_body<'a>(lines: impl Iterator<Item = &'a str>) -> (String, String) {
    let mut title = String::new();
    let mut body = String::new();
    for line in lines {
        match line.strip_prefix("# ") {
            Some(heading) if title.is_empty() && body.trim().is_empty() => {
                heading.trim().clone_into(&mut title);
            }
            _ => {
                body.push_str(line);
                body.push('\n');
            }
        }
    }
    (title, body.trim().to_owned())
}

/// Front matter as lines.
struct Fields<'a>(&'a [&'a str]);

impl<'a> Fields<'a> {
    /// Returns the plain value of a key at the start of a line.
    fn value(&self, key: &str) -> Option<&'a str> {
        self.0.iter().find_map(|line| plain(line.strip_prefix(key)?.strip_prefix(':')?))
    }

    fn time(&self, key: &str) -> Option<Timestamp> {
        self.value(key).and_then(Timestamp::parse)
    }

    /// Returns the items of a list: `[a, b]`, or one a line.
    fn list(&self, key: &str) -> Vec<String> {
        self.items(key).into_iter().map(str::to_owned).collect()
    }

    /// Returns the paths: plain items, or mappings with a `path`.
    fn paths(&self) -> Vec<String> {
        let path = |item: &'a str| plain(item.strip_prefix("path:").unwrap_or(item));
        self.items("paths").into_iter().filter_map(path).map(str::to_owned).collect()
    }

    /// Returns the speaker, and whether a model noted the memory. A source in an unknown format is not attributed to
    /// the user.
    fn source(&self) -> (Option<SaidBy>, bool) {
        let Some(at) = self.0.iter().position(|line| line.starts_with("source:")) else {
            return (None, false);
        };
        let of_source = self.0[at + 1..].iter().take_while(|line| line.starts_with(' '));
        let value = |key: &str| {
            let mut lines = of_source.clone();
            lines.find_map(|line| plain(line.trim_start().strip_prefix(key)?.strip_prefix(':')?))
        };
        let said_by = match value("said_by") {
            Some("user") => SaidBy::User,
            Some("tool") => SaidBy::Tool,
            Some(_) | None => SaidBy::Assistant,
        };
        let noted = value("extractor") == Some(Source::NOTED) && said_by != SaidBy::User;
        (Some(said_by), noted)
    }

    fn items(&self, key: &str) -> Vec<&'a str> {
        let is_key = |line: &&str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
        let Some(at) = self.0.iter().position(is_key) else { return Vec::new() };
        let rest = self.0[at][key.len() + 1..].trim();
        if let Some(inner) = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return inner.split(',').filter_map(plain).collect();
        }
        self.0[at + 1..]
            .iter()
            .take_while(|line| line.starts_with([' ', '-']))
            .filter_map(|line| plain(line.trim_start().strip_prefix("- ")?))
            .collect()
    }
}

/// Returns a value without quotes; `None` if it is empty or spans several lines.
fn plain(value: &str) -> Option<&str> {
    let value = value.trim();
    let value = ['"', '\'']
        .iter()
        .find_map(|&quote| value.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(value);
    (!value.is_empty() && !matches!(value, "|" | ">" | "|-" | ">-" | "~" | "null")).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_is_read_without_yaml() {
        let id = "01jvq3h8e0a1b2c3d4e5f6g7h8";
        let text = format!(
            "---\nid: {id}\nkind: gotcha\ncreated: 2026-10-02T09:30:00Z\nconfidence: 0.9\npinned: true\n\
             paths:\n  - path: src/a.rs\n    seen: abc\n  - src/b.rs\ntags: [cache, \"hot path\"]\nunknown: {{a: 1}}\n---\n\
             # The cache is shared\n\nClear it first.\n\n## More\nText.\n"
        );
        let document = parse(&text).unwrap();
        assert_eq!(document.entry.id.to_string(), id);
        assert_eq!(document.entry.kind, Kind::Gotcha as u8);
        assert_eq!(document.entry.confidence, 230);
        assert_eq!(document.record.title, "The cache is shared");
        assert_eq!(document.record.text, "Clear it first.\n\n## More\nText.");
        assert_eq!(document.record.paths, ["src/a.rs", "src/b.rs"]);
        assert_eq!(document.record.tags, ["cache", "hot path"]);
        assert_eq!(document.record.created.date(), "2026-10-02");
    }

    #[test]
    fn who_said_it_is_read_without_yaml() {
        let source = |lines: &str| {
            let text = format!("---\nid: 01jvq3h8e0a1b2c3d4e5f6g7h8\n{lines}---\n# x\n");
            let record = parse(&text).unwrap().record;
            (record.said_by, record.noted)
        };
        assert_eq!(source(""), (None, false));
        assert_eq!(
            source("source:\n  said_by: assistant\n  extractor: mcp\ntags: [a]\n"),
            (Some(SaidBy::Assistant), true)
        );
        assert_eq!(source("source:\n  said_by: user\n"), (Some(SaidBy::User), false));
        assert_eq!(source("source: {said_by: user}\n"), (Some(SaidBy::Assistant), false));
        assert_eq!(
            source("source:\n  session: s\ntags:\n  - x\nsaid_by: user\n"),
            (Some(SaidBy::Assistant), false)
        );
    }

    #[test]
    fn what_is_no_memory_is_passed_over() {
        for text in
            ["", "# Just Markdown", "---\nid: nothing\n---\n", "---\nstatus: archived\n---\n# x"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn links_and_pipes_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let (outside, inside) = (folder.path().join("outside"), folder.path().join("inside"));
        fs::create_dir_all(&outside).unwrap();
        fs::create_dir_all(&inside).unwrap();
        let text = "---\nid: 01jvq3h8e0a1b2c3d4e5f6g7h8\n---\n# Elsewhere\n";
        fs::write(outside.join("a.md"), text).unwrap();
        std::os::unix::fs::symlink(outside.join("a.md"), inside.join("a.md")).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("deep")).unwrap();
        let pipe = std::ffi::CString::new(inside.join("b.md").to_str().unwrap()).unwrap();
        // SAFETY: the name is a valid C string.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert_eq!(read(&inside, std::slice::from_ref(&inside)), (Vec::new(), false));
        // A pipe that replaces a file after the folder was listed is not read either.
        assert_eq!(read_file(&inside, &inside.join("a.md")), None);
        assert_eq!(read_file(&inside, &inside.join("b.md")), None);
        assert_eq!(read(&outside, std::slice::from_ref(&outside)).0.len(), 1);
    }

    #[test]
    fn the_committed_folder_counts_only_where_memories_are_committed_and_it_is_no_link() {
        let home = tempfile::tempdir().unwrap();
        let (root, project) =
            (home.path().join("work"), ProjectDir::at(home.path().join("project")));
        let committed = root.join(".throughline/memories");
        let has_committed = || folders(&project, &root).contains(&committed);
        assert!(!has_committed());
        fs::create_dir_all(&committed).unwrap();
        fs::create_dir_all(&project.folder).unwrap();
        assert!(has_committed());
        for (record, expected) in [
            (r#"{"mode":"committed","project":"x"}"#, true),
            (r#"{"project":"x"}"#, true),
            (r#"{"mode":"private"}"#, false),
            ("damaged", false),
        ] {
            fs::write(&project.identity, record).unwrap();
            assert_eq!(has_committed(), expected, "{record}");
        }
        fs::remove_file(&project.identity).unwrap();
        let elsewhere = home.path().join("elsewhere");
        fs::rename(&committed, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &committed).unwrap();
        assert!(!has_committed());
        fs::remove_file(&committed).unwrap();
        fs::rename(root.join(".throughline"), home.path().join("store")).unwrap();
        fs::create_dir_all(home.path().join("store/memories")).unwrap();
        std::os::unix::fs::symlink(home.path().join("store"), root.join(".throughline")).unwrap();
        assert!(!has_committed());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in "(---\n|id: |paths:\n|  - |\\PC){0,40}") {
            let _ = parse(&text);
        }
    }
}

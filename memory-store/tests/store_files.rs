//! Tests of memory files: a written file parses to the same memory, and an edit changes nothing else in the file.

use std::path::Path;

use memory_store::file::{FILE_BYTES_MAX, MemoryFile};
use memory_store::memory::{
    CommandRecord, Fact, Guard, GuardAction, PathRef, Relation, SaidBy, Scope, Source, Status,
};
use memory_store::{Kind, Memory, MemoryId, Timestamp};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Texts that YAML, Markdown or an editor could misinterpret.
const HOSTILE: [&str; 58] = [
    "",
    " ",
    "~",
    "null",
    "true",
    "yes",
    "n",
    "1.10",
    "007",
    "1e3",
    "1234e56",
    "0x1F",
    "0o17",
    "2026-10-02",
    ".inf",
    ".nan",
    "-",
    "- x",
    "--- ",
    "---",
    "...",
    "? x",
    ": x",
    "x: y",
    "x:",
    "#",
    "# no title",
    " # c",
    "a # b",
    "&a",
    "*a",
    "!!str x",
    "!x",
    "| x",
    "|",
    ">-",
    "%YAML 1.1",
    "@x",
    "`x`",
    "'x'",
    "\"x\"",
    "\\",
    "\\n",
    "[a, b]",
    "{a: b}",
    "<<",
    "a\nb",
    "a\n\nb\n",
    "\ta",
    " lead",
    "trail ",
    "a\u{2028}b\u{2029}c\u{85}d",
    "\u{feff}bom",
    "e\u{301} 🦀 日本語 \u{202e}rtl",
    "\u{0}\u{1}\u{7f}\u{9f}",
    "a\r\nb\rc",
    "---\nid: x\n---\n# y",
    "```\n# z\n```",
];

fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(HOSTILE.to_vec()).prop_map(str::to_owned),
        2 => "[a-z]{1,8}( [a-z]{1,8}){0,30}",
        2 => any::<String>(),
        2 => vec(proptest::sample::select(HOSTILE.to_vec()), 1..5).prop_map(|parts| parts.concat()),
        1 => vec(proptest::sample::select(HOSTILE.to_vec()), 1..5).prop_map(|parts| parts.join("\n")),
    ]
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0i64..4_000_000_000_000).prop_map(Timestamp)
}

fn id() -> impl Strategy<Value = MemoryId> {
    any::<[u8; 16]>().prop_map(MemoryId)
}

fn source() -> impl Strategy<Value = Source> {
    let said_by = proptest::sample::select(vec![SaidBy::User, SaidBy::Assistant, SaidBy::Tool]);
    (
        option::of(hostile()),
        vec(hostile(), 0..4),
        option::of(hostile()),
        option::of(said_by),
        option::of(hostile()),
    )
        .prop_map(|(session, turns, quote, said_by, extractor)| Source {
            session,
            turns,
            quote,
            said_by,
            extractor,
        })
}

fn command() -> impl Strategy<Value = CommandRecord> {
    (hostile(), hostile(), any::<i32>(), any::<u32>(), time()).prop_map(
        |(line, directory, exit_status, passed, last)| CommandRecord {
            line,
            directory,
            exit_status,
            passed,
            last,
        },
    )
}

fn fact() -> impl Strategy<Value = Fact> {
    let confidence = option::of(0.0f32..=1.0);
    (hostile(), hostile(), hostile(), option::of(time()), option::of(time()), confidence).prop_map(
        |(subject, predicate, object, from, to, confidence)| Fact {
            subject,
            predicate,
            object,
            from,
            to,
            confidence,
        },
    )
}

fn guard() -> impl Strategy<Value = Guard> {
    let action = proptest::sample::select(GuardAction::ALL.to_vec());
    let command = "[a-z][a-z:#]{0,8}( [a-z*:#-]{1,6}){0,3}".prop_map(Some);
    let edit = ("[a-z*/'#]{1,12}", option::of("[a-z\"#:é{}-]{1,12}"));
    let conditions = prop_oneof![
        command.prop_map(|command| (command, None, None)),
        edit.prop_map(|(path, content)| (None, Some(path), content)),
    ];
    (action, conditions, option::of("[a-z/*]{1,8}")).prop_map(
        |(action, (command, path, content), branch)| Guard {
            action,
            command,
            path,
            content,
            branch,
        },
    )
}

prop_compose! {
    fn memory()(
        (id, kind, title, body) in (id(), proptest::sample::select(Kind::ALL.to_vec()), hostile(), hostile()),
        (scope, status, pinned, confidence) in (
            proptest::sample::select(vec![Scope::Project, Scope::User, Scope::Paths]),
            proptest::sample::select(vec![Status::Active, Status::Held, Status::Rejected, Status::Archived]),
            any::<bool>(),
            0.0f32..=1.0,
        ),
        (created, occurred, valid_from, valid_until) in
            (time(), option::of(time()), option::of(time()), option::of(time())),
        (source, command) in (source(), option::of(command())),
        (tags, cues, entities, signatures) in
            (vec(hostile(), 0..5), vec(hostile(), 0..4), vec(hostile(), 0..3), vec(hostile(), 0..3)),
        paths in vec((hostile(), option::of(hostile())).prop_map(|(path, seen)| PathRef { path, seen }), 0..4),
        facts in vec(fact(), 0..3),
        relations in vec((hostile(), id()).prop_map(|(kind, to)| Relation { kind, to }), 0..3),
        guards in vec(guard(), 0..3),
        (topic, agent, author, supersedes, superseded_by) in (
            option::of(hostile()),
            option::of("[\"'#:a-z\u{e9}][a-z -]{0,10}[a-z]"),
            option::of(hostile()),
            vec(id(), 0..3),
            option::of(id()),
        ),
    ) -> Memory {
        Memory {
            id, kind, title, body, scope, created, occurred, valid_from, valid_until, confidence,
            source, paths, topic, agent, tags, cues, entities, facts, relations, guards, supersedes, superseded_by,
            pinned, status, held_for: None, author, signatures, command,
        }
    }
}

/// Parses a memory from any bytes.
fn parse_bytes(bytes: &[u8]) -> memory_store::Result<Memory> {
    MemoryFile::parse(Path::new("memory.md"), bytes.to_vec()).map(|file| file.memory)
}

fn parse(text: &str) -> Memory {
    parse_bytes(text.as_bytes()).unwrap()
}

/// Returns a memory's file as a person may have changed it: with foreign keys, comments, and possibly Windows line
/// endings.
fn lived_in(memory: &Memory, crlf: bool) -> Result<MemoryFile, TestCaseError> {
    let file = written(memory)?;
    let text = String::from_utf8(file.text().as_bytes().to_vec()).unwrap();
    let text = text.replacen("---\n", "---\n# ours\nreviewed-by:\n  - ann # first\n  - bob\n", 1);
    let text = text.replacen("\nconfidence:", "\n# how sure\nrating: 1.10\nconfidence:", 1);
    let text = if crlf { text.replace('\n', "\r\n") } else { text };
    Ok(MemoryFile::parse(Path::new("memory.md"), text.into_bytes()).unwrap())
}

fn written(memory: &Memory) -> Result<MemoryFile, TestCaseError> {
    MemoryFile::new(memory.clone()).map_err(|error| TestCaseError::fail(error.to_string()))
}

const KEPT: [&str; 6] =
    ["# ours", "reviewed-by:", "  - ann # first", "  - bob", "# how sure", "rating: 1.10"];

#[test]
fn texts_of_blank_lines_are_edited_like_others() {
    let memory = |cues: &[&str], author: &str| Memory {
        cues: cues.iter().map(|&cue| cue.to_owned()).collect(),
        author: Some(author.to_owned()),
        ..Memory::new(MemoryId([0; 16]), Kind::Fact, "A", "", Timestamp(0))
    };
    for cues in [&["\n"][..], &["\n\n", "\n"], &["", "\n"]] {
        for crlf in [false, true] {
            let mut file = lived_in(&memory(cues, ""), crlf).unwrap();
            let first = file.memory.clone();
            for new in [memory(&[], "ann"), memory(&["one"], ""), memory(cues, "bob"), first] {
                file.set(&new).unwrap();
                assert_eq!(parse(file.text()), file.memory);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn what_is_written_is_read_back(memory in memory()) {
        let file = written(&memory)?;
        let read = parse_bytes(file.text().as_bytes()).unwrap();
        prop_assert_eq!(&read, &file.memory);
        // Only the form of title, body and confidence may differ from the input.
        let asked = Memory {
            title: read.title.clone(),
            body: read.body.clone(),
            confidence: read.confidence,
            ..memory
        };
        prop_assert_eq!(&read, &asked);
        let again = MemoryFile::new(read).unwrap();
        prop_assert_eq!(again.text().as_bytes(), file.text().as_bytes());
    }

    #[test]
    fn an_edit_changes_what_it_should_and_nothing_else(
        old in memory(),
        new in memory(),
        crlf in any::<bool>(),
        keep_body in any::<bool>(),
    ) {
        let mut new = Memory { id: old.id, ..new };
        if keep_body {
            (new.title, new.body) = (old.title.clone(), old.body.clone());
        }
        // The line endings of a file also apply to its texts, so the test starts from the parsed file.
        let mut file = lived_in(&old, crlf)?;
        let before = String::from_utf8(file.text().as_bytes().to_vec()).unwrap();
        if keep_body {
            (new.title, new.body) = (file.memory.title.clone(), file.memory.body.clone());
        }
        match file.set(&new) {
            Ok(()) => {
                let after = String::from_utf8(file.text().as_bytes().to_vec()).unwrap();
                prop_assert_eq!(&parse(&after), &file.memory);
                for line in KEPT {
                    prop_assert!(after.contains(line), "{line} is lost in {after}");
                }
                if keep_body {
                    let body = |text: &str| {
                        let fence = if crlf { "\r\n---\r\n" } else { "\n---\n" };
                        text[text.find(fence).unwrap()..].to_owned()
                    };
                    prop_assert_eq!(body(&after), body(&before));
                }
                if crlf {
                    prop_assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
                }
                // Reverting the change restores the first content.
                let first = parse(&before);
                file.set(&first).unwrap();
                prop_assert_eq!(&parse_bytes(file.text().as_bytes()).unwrap(), &first);
            }
            Err(error) => {
                prop_assert_eq!(file.text().as_bytes(), before.as_bytes());
                prop_assert!(false, "refused: {} of\n{}", error, before);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..300)) {
        let _ = parse_bytes(&bytes);
        let mut fenced = b"---\n".to_vec();
        fenced.extend(&bytes);
        fenced.extend(b"\n---\n# t\n");
        let _ = parse_bytes(&fenced);
    }

    #[test]
    fn damaged_files_are_read_without_panic(
        memory in memory(),
        at in any::<prop::sample::Index>(),
        cut in 0usize..20,
        put in hostile(),
    ) {
        let mut bytes = written(&memory)?.text().as_bytes().to_vec();
        let start = at.index(bytes.len());
        let end = (start + cut).min(bytes.len());
        bytes.splice(start..end, put.bytes());
        if let Ok(mut file) = MemoryFile::parse(Path::new("memory.md"), bytes) {
            let changed = Memory { pinned: !file.memory.pinned, ..file.memory.clone() };
            let _ = file.set(&changed);
        }
    }
}

fn set(text: &str, change: impl FnOnce(&mut Memory)) -> Result<String, String> {
    let mut file = MemoryFile::parse(Path::new("m.md"), text.as_bytes().to_vec()).unwrap();
    let mut memory = file.memory.clone();
    change(&mut memory);
    file.set(&memory).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(file.text().as_bytes().to_vec()).unwrap())
}

const ID: &str = "070w3ge1r70w3ge1r70w3ge1r7";

#[test]
fn a_file_written_by_hand_is_edited_line_by_line() {
    let text = format!(
        "---\nkind: 'gotcha' # a trap\n\nid: {ID}\ntags: [one, \"two\"] # short\npaths:\n    # the core\n    \
         - src/lib.rs\n    - {{path: a.rs, seen: 1234e56, note: mine}}\nsource:\n  quote: |\n    said\n    \
         # not a comment\n  where: chat\nzeta: &z [1.10]\nalpha: *z\n---\nIntro\n\n## Title here ##\n\nText  \n"
    );
    let edited = set(&text, |memory| {
        memory.kind = Kind::Fix;
        memory.tags.push("a: b".to_owned());
        memory.paths.push(PathRef { path: "*.md".to_owned(), seen: None });
        memory.source.session = Some("s".to_owned());
        memory.pinned = true;
    });
    let expected = text
        .replace("'gotcha' # a", "fix # a")
        .replace("[one, \"two\"]", "[one, two, \"a: b\"]")
        .replace("note: mine}\n", "note: mine}\n    - \"*.md\"\n")
        .replace("  where: chat\n", "  where: chat\n  session: s\n")
        .replace("kind: fix # a trap\n", "kind: fix # a trap\npinned: true\n");
    assert_eq!(edited.unwrap(), expected);
}

#[test]
fn numbers_and_flags_stay_plain() {
    let text = format!("---\nid: {ID}\nkind: fix\nconfidence: 0.5 # half\npinned: no\n---\n# t\n");
    let edited = set(&text, |memory| {
        memory.confidence = 0.75;
        memory.pinned = true;
        memory.author = Some("a: b".to_owned());
    });
    let expected = text
        .replace("0.5 # half\n", "0.75 # half\nauthor: \"a: b\"\n")
        .replace("pinned: no", "pinned: true");
    assert_eq!(edited.unwrap(), expected);
}

#[test]
fn what_cannot_be_kept_is_not_edited() {
    let text = format!("---\n{{id: {ID}, kind: fix}}\n---\n# t\n");
    let error = set(&text, |memory| memory.pinned = true).unwrap_err();
    assert!(error.contains("between braces"), "{error}");

    let text = format!("---\nid: {ID}\nkind: fix\npaths:\n  - path: a\n    note: mine\n---\n# t\n");
    let error = set(&text, |memory| memory.paths[0].path = "b".to_owned()).unwrap_err();
    assert!(error.contains("would be lost"), "{error}");

    let text = format!("---\nid: {ID}\nkind: fix\ntags: [a, # why\n  b]\n---\n# t\n");
    let error = set(&text, |memory| memory.tags.clear()).unwrap_err();
    assert!(error.contains("comment"), "{error}");
    assert!(set(&text, |memory| memory.title = "u".to_owned()).is_ok());

    let text = format!("---\nid: {ID}\nkind: &k fix\nmine: *k\n---\n# t\n");
    assert!(set(&text, |memory| memory.kind = Kind::Task).is_err());
}

#[test]
fn title_and_body_are_edited_apart() {
    let text = format!("---\nid: {ID}\nkind: fix\n---\n\n##  Old   title \n\nBody\n\n\n");
    let titled = set(&text, |memory| memory.title = "New".to_owned()).unwrap();
    assert_eq!(titled, text.replace("Old   title", "New"));
    let bodied = set(&text, |memory| memory.body = "Other\n".to_owned()).unwrap();
    assert_eq!(
        bodied,
        text.replace("title \n\nBody\n\n\n", "title\n\nOther\n")
            .replace("Old   title", "Old title")
    );
    let closed = format!("---\nid: {ID}\nkind: fix\n---");
    assert!(
        set(&closed, |memory| memory.body = "x".to_owned())
            .unwrap()
            .ends_with("---\n\n# Untitled\n\nx\n")
    );
}

#[test]
fn errors_name_the_line_and_column() {
    let cases = [
        ("", "1:1: expected `---`"),
        ("# just markdown\n", "1:1: expected `---`"),
        ("---\nid: x\n", "1:1: the front matter is not closed"),
        ("---\nkind: fix\n---\n", "2:1: no `id`; expected an id"),
        (
            "---\nid: nope\nkind: fix\n---\n",
            "2:5: `id`: expected an id of 26 letters and digits, found `nope`",
        ),
        ("---\nid: ID\n---\n", "2:1: no `kind`; write one of: decision,"),
        ("---\nid: ID\nkind: fixx\n---\n", "3:7: `kind`: expected one of: decision,"),
        ("---\nid: ID\nkind: [fix]\n---\n", "3:7: `kind`: expected a text, found a list"),
        ("---\nid: ID\nkind: fix\noccurred: soon\n---\n", "4:11: `occurred`: expected a date"),
        ("---\nid: ID\nkind: fix\nconfidence: 1.5\n---\n", "4:13: `confidence`: expected a number"),
        (
            "---\nid: ID\nkind: fix\nconfidence: .nan\n---\n",
            "4:13: `confidence`: expected a number",
        ),
        ("---\nid: ID\nkind: fix\npinned: maybe\n---\n", "4:9: `pinned`: expected `true`"),
        ("---\nid: ID\nkind: fix\nsource: me\n---\n", "4:9: `source`: expected keys"),
        (
            "---\nid: ID\nkind: fix\nsource:\n  turns:\n    - a\n    - [b]\n---\n",
            "7:7: `source` `turns` entry 2: expected a text",
        ),
        (
            "---\nid: ID\nkind: fix\nrelations:\n  - kind: x\n---\n",
            "5:5: `relations` entry 1 `to`: nothing here",
        ),
        ("---\nid: ID\nkind: fix\nagent: [a]\n---\n", "4:8: `agent`: expected a text"),
        (
            "---\nid: ID\nkind: fix\nagent: ' '\n---\n",
            "4:8: `agent`: expected the name of a subagent",
        ),
        ("---\nid: ID\nkind: fix\nkind: fact\n---\n", "4:1: the key `kind` stands here twice"),
        ("---\nid: ID\nkind: fix\ntags: [a\n---\n", "4:7: unclosed bracket"),
        ("---\nid: ID\ntitle: a: b\n---\n", "3:9"),
        ("---\nid: ID\n\tkind: fix\n---\n", "2:5"),
    ];
    for (text, expected) in cases {
        let error = parse_bytes(text.replace("ID", ID).as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("memory.md:{expected}")), "{text:?}\n{error}");
    }
    let error = parse_bytes(b"---\n\xff").unwrap_err().to_string();
    assert_eq!(error, "memory.md:2:1: this is no UTF-8");
}

#[test]
fn texts_keep_their_form_and_lists_may_be_one_text() {
    let memory = parse(&format!(
        "\u{feff}---\r\nid: {}\r\nkind: TODO\r\ntags: 1.10\r\nentities: [007, yes, 1234e56, ~]\r\n\
         paths: [src/**, {{path: a, seen: 0123e45}}]\r\nauthor: 2026\r\n---\r\n# T\r\nB\r\n",
        ID.to_uppercase()
    ));
    assert_eq!((memory.kind, memory.tags), (Kind::Task, vec!["1.10".to_owned()]));
    assert_eq!(memory.entities, ["007", "yes", "1234e56"]);
    assert_eq!(memory.paths[1].seen.as_deref(), Some("0123e45"));
    assert_eq!(memory.author.as_deref(), Some("2026"));
    assert_eq!((memory.title.as_str(), memory.body.as_str()), ("T", "B"));
    assert_eq!(memory.created, memory.id.time());
}

#[test]
fn sizes_are_bounded() {
    let huge =
        Memory::new(ID.parse().unwrap(), Kind::Fact, "t", "x".repeat(FILE_BYTES_MAX), Timestamp(0));
    assert!(MemoryFile::new(huge).unwrap_err().to_string().contains("256 KiB"));
    let mut quoted = Memory::new(ID.parse().unwrap(), Kind::Fact, "t", "", Timestamp(0));
    quoted.source.quote = Some("x".repeat(70_000));
    assert!(MemoryFile::new(quoted).unwrap_err().to_string().contains("64 KiB"));
    let large =
        Memory::new(ID.parse().unwrap(), Kind::Fact, "t", "x\n".repeat(100_000), Timestamp(0));
    let file = MemoryFile::new(large).unwrap();
    assert_eq!(parse_bytes(file.text().as_bytes()).unwrap(), file.memory);

    let many = vec!["a"; 1001].join(", ");
    let long = "a".repeat(4097);
    for key in ["tags", "paths", "cues", "entities", "signatures"] {
        let error = |value: &str| {
            let text = format!("---\nid: {ID}\nkind: fact\n{key}: {value}\n---\n# T\n");
            parse_bytes(text.as_bytes()).unwrap_err().to_string()
        };
        let found = error(&format!("[{many}]"));
        assert!(found.contains(&format!("`{key}`: more than 1000 entries")), "{found}");
        let found = error(&format!("[a, {long}]"));
        assert!(found.contains(&format!("`{key}` entry 2: longer than 4096 bytes")), "{found}");
    }
}

#[test]
fn a_new_file_looks_like_this() {
    let mut memory = Memory::new(
        ID.parse().unwrap(),
        Kind::Command,
        "Run the tests with `cargo test`",
        "They take a minute.",
        Timestamp::parse("2026-10-02T09:30:00Z").unwrap(),
    );
    memory.occurred = Timestamp::parse("2026-10-02T09:30:00Z");
    memory.confidence = 0.85;
    memory.tags = vec!["cargo".to_owned(), "no".to_owned()];
    memory.paths = vec![
        PathRef { path: "src/lib.rs".to_owned(), seen: None },
        PathRef { path: "tests/*.rs".to_owned(), seen: Some("12e4567".to_owned()) },
    ];
    memory.command = Some(CommandRecord {
        line: "cargo test".to_owned(),
        directory: ".".to_owned(),
        exit_status: 0,
        passed: 3,
        last: Timestamp::parse("2026-10-02T10:00:00Z").unwrap(),
    });
    memory.source.quote = Some("test result: ok\n3 passed".to_owned());
    memory.source.said_by = Some(SaidBy::Tool);
    let file = MemoryFile::new(memory).unwrap();
    let expected = "\
---
id: 070w3ge1r70w3ge1r70w3ge1r7
kind: command
created: \"2026-10-02T09:30:00Z\"
occurred: \"2026-10-02T09:30:00Z\"
confidence: 0.85
tags:
  - cargo
  - \"no\"
paths:
  - src/lib.rs
  - path: tests/*.rs
    seen: \"12e4567\"
command:
  line: cargo test
  directory: '.'
  exit_status: 0
  passed: 3
  last: \"2026-10-02T10:00:00Z\"
source:
  said_by: tool
  quote: |-
    test result: ok
    3 passed
---

# Run the tests with `cargo test`

They take a minute.
";
    assert_eq!(String::from_utf8(file.text().as_bytes().to_vec()).unwrap(), expected);
}

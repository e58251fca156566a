//! Rows of the matrix about transcripts: their folders, their format, and their times.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::lab::{LEARNED, Lab, Session, WISH};

super::rows! {
    blanks: "A script rewrote the transcript, with blanks after colons and keys in another order"
        => "Any valid JSON spelling is read";
    unicode_escapes: "The path has letters beyond ASCII, written as `\\u00e9` in the transcript"
        => "The same";
    decomposed_letters: "The path is composed on the disk and decomposed in the transcript, or vice versa"
        => "Both are the same path";
    linked_folder: "A folder below `projects/`, `projects/` itself, or a file in it is a link"
        => "It is read once";
    link_loop: "A link below `projects/` points to `projects/` or to the root of the file system"
        => "The sync ends soon and reads the rest; links with too many files are listed";
    two_configurations: "Two Claude configuration folders, by `CLAUDE_CONFIG_DIR`"
        => "Each sync reads all known ones; `doctor` lists them; each has its own retention";
    conflict_copies: "A sync service created copies: `ID.sync-conflict-DATE.jsonl`, `ID (1).jsonl`"
        => "They are one session, with the records of all";
    moved_transcript: "A transcript is moved to another folder below `projects/`"
        => "It remains one session";
    damaged_bytes: "NUL bytes before, after or in place of records, invalid UTF-8, an incomplete last line, a BOM, CRLF"
        => "Intact records are read; an invalid byte loses one character; after a repair nothing is learned twice";
    numeric_times: "Timestamps are numbers, in seconds or milliseconds, with or without quotes, or without a zone"
        => "They are read";
    missing_times: "Timestamps are missing"
        => "The file's time is used";
    clock_ahead: "A session was recorded while the clock was in the future"
        => "Its times are limited to the file's; a later session is ordered after it";
    image_beside_a_wish: "A prompt contains an image, also one of megabytes"
        => "The text is stored, the image is not";
    control_sequences: "A prompt contains escape sequences, right-to-left marks and wide characters"
        => "Titles and terminal output contain no byte of a sequence";
    no_file: "FIFOs, folders, sockets and empty files are named like transcripts"
        => "None blocks, all are ignored";
}

/// Writes a session with the wish that ran in `cwd`; `spell` formats its records.
fn session_as(lab: &Lab, number: u32, cwd: &Path, spell: impl Fn(&Value) -> Vec<u8>) {
    Session::new(number, cwd).write_as(&lab.file(number), spell);
}

/// Formats JSON as Python's `json.dumps` does by default.
pub(super) fn as_python(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            // The keys are sorted, so that `cwd` precedes the message and `sessionId` follows it.
            let fields = map.iter().map(|(key, value)| format!("\"{key}\": {}", as_python(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(as_python).collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => {
            let quoted = json!(text).to_string();
            let mut ascii = String::new();
            for unit in quoted.chars() {
                match unit.is_ascii() {
                    true => ascii.push(unit),
                    false => {
                        let mut units = [0; 2];
                        for unit in unit.encode_utf16(&mut units) {
                            ascii += &format!("\\u{unit:04x}");
                        }
                    }
                }
            }
            ascii
        }
        other => other.to_string(),
    }
}

fn blanks(lab: &Lab) {
    lab.project();
    session_as(lab, 1, &lab.root, |record| as_python(record).into_bytes());
    lab.assert_learned(&lab.root);
    // There are tabs before colons, and the working directory is the last key.
    let other = lab.at("other");
    lab.repository(&other);
    lab.init(&other).ok();
    session_as(lab, 2, &other, |record| {
        let mut record = record.clone();
        let cwd = record.as_object_mut().unwrap().remove("cwd").unwrap();
        let text = record.to_string();
        format!("{{\t{} ,\t\"cwd\"\t:\t{cwd}\t}}", &text[1..text.len() - 1]).into_bytes()
    });
    lab.assert_learned(&other);
}

fn unicode_escapes(lab: &Lab) {
    for (number, name) in [(1, "café"), (2, "価格 🦀"), (3, "a\"b\\c")] {
        let root = lab.at(name);
        lab.repository(&root);
        lab.init(&root).ok();
        session_as(lab, number, &root, |record| as_python(record).into_bytes());
        lab.assert_learned(&root);
    }
    // JSON may escape slashes, and any other letter.
    let root = lab.at("plain");
    lab.repository(&root);
    lab.init(&root).ok();
    session_as(lab, 4, &root, |record| {
        record.to_string().replace('/', "\\/").replace("\"cwd\"", "\"c\\u0077d\"").into_bytes()
    });
    lab.assert_learned(&root);
}

fn decomposed_letters(lab: &Lab) {
    for (number, disk, recorded) in
        [(1, "caf\u{e9}", "cafe\u{301}"), (2, "re\u{301}sume\u{301}", "r\u{e9}sum\u{e9}")]
    {
        let root = lab.at(disk);
        lab.repository(&root);
        lab.init(&root).ok();
        lab.session(number, &lab.at(recorded));
        lab.assert_learned(&root);
    }
}

fn linked_folder(lab: &Lab) {
    lab.project();
    let projects = lab.environment.claude_dir().join("projects");
    let (dot, name) = (lab.at("dot"), "00000001-0000-4000-8000-000000000000.jsonl");
    Session::new(1, &lab.root).write(&dot.join("-x").join(name));
    fs::create_dir_all(&projects).unwrap();
    symlink(dot.join("-x"), projects.join("-x")).unwrap();
    lab.assert_learned(&lab.root);
    // Files that are reached through two links are the same sessions.
    symlink(dot.join("-x"), projects.join("-y")).unwrap();
    lab.sync(&lab.root);
    lab.run(&lab.root, &["status"]).assert_contains(&["1 session"]).ok();
    // The link is a single file.
    fs::create_dir_all(projects.join("-z")).unwrap();
    let other = "00000002-0000-4000-8000-000000000000.jsonl";
    Session::new(2, &lab.root)
        .wish("From now on always name the parcel first.")
        .write(&dot.join(other));
    symlink(dot.join(other), projects.join("-z").join(other)).unwrap();
    lab.sync(&lab.root);
    assert!(lab.list(&lab.root).contains("parcel"));
    // The link is the whole folder of transcripts.
    fs::rename(&projects, lab.at("moved")).unwrap();
    symlink(lab.at("moved"), &projects).unwrap();
    Session::new(3, &lab.root).wish("From now on never log the address.").write(&lab.file(3));
    lab.sync(&lab.root);
    assert!(lab.list(&lab.root).contains("address"));
    lab.run(&lab.root, &["status"]).assert_contains(&["3 sessions"]).ok();
}

fn link_loop(lab: &Lab) {
    lab.project();
    lab.session(1, &lab.root);
    let projects = lab.environment.claude_dir().join("projects");
    symlink(&projects, projects.join("-loop")).unwrap();
    symlink("..", projects.join("-x/up")).unwrap();
    symlink(projects.join("-dangling"), projects.join("-dangling")).unwrap();
    symlink("/", projects.join("-all")).unwrap();
    // The tree contains more files than any real history.
    let huge = lab.at("huge");
    for folder in 0..60 {
        let folder = huge.join(format!("{folder}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..1000 {
            fs::File::create(folder.join(format!("{file}.txt"))).unwrap();
        }
    }
    symlink(&huge, projects.join("-huge")).unwrap();
    let begun = std::time::Instant::now();
    lab.run(&lab.root, &["sync"]).assert_contains(&["-huge", "is not looked through"]).ok();
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert!(lab.list(&lab.root).contains(LEARNED));
    lab.run(&lab.root, &["status"]).assert_contains(&["1 session"]).ok();
}

fn two_configurations(lab: &Lab) {
    lab.project();
    let file = |folder: &Path, number: u32| {
        folder.join("projects/-x").join(format!("{}.jsonl", super::lab::session_id(number)))
    };
    let (work, home) = (lab.at("work"), lab.at("private"));
    Session::new(1, &lab.root).write(&file(&work, 1));
    Session::new(2, &lab.root)
        .wish("From now on always name the parcel first.")
        .write(&file(&home, 2));
    let sync_as = |config: &Path| {
        let mut command = lab.environment.command(lab.environment.binary("throughline"));
        command.current_dir(&lab.root).env("CLAUDE_CONFIG_DIR", config);
        lab.run_command(command.arg("sync")).ok()
    };
    sync_as(&work);
    sync_as(&home);
    let listed = lab.list(&lab.root);
    assert!(listed.contains(LEARNED) && listed.contains("parcel"), "{listed}");
    lab.run(&lab.root, &["doctor"])
        .assert_contains(&[work.to_str().unwrap(), home.to_str().unwrap()]);
    // The next program of either version reads all sessions without loss.
    Session::new(3, &lab.root).wish("From now on never log the address.").write(&file(&work, 3));
    sync_as(&home);
    assert!(lab.list(&lab.root).contains("address"));
    lab.run(&lab.root, &["status"]).assert_contains(&["3 sessions"]).ok();
    // The retention setting of one account applies only to its own sessions.
    Session::new(4, &lab.root).begins("2026-01-01T00:00:00Z").write(&file(&work, 4));
    fs::write(home.join("settings.json"), r#"{"cleanupPeriodDays": 1}"#).unwrap();
    sync_as(&work);
    let left = lab.run(&lab.root, &["timeline"]).ok();
    assert!(left.contains("address") || lab.list(&lab.root).contains("address"), "{left}");
}

fn conflict_copies(lab: &Lab) {
    lab.project();
    let session = Session::new(1, &lab.root);
    session.write(&lab.file(1));
    let folder = lab.file(1).parent().unwrap().to_owned();
    let id = super::lab::session_id(1);
    let whole = fs::read_to_string(lab.file(1)).unwrap();
    let more = whole.lines().last().unwrap().replace("00000001-0006", "00000001-0007");
    fs::write(
        folder.join(format!("{id}.sync-conflict-20261120-101500-ABCDEFG.jsonl")),
        whole.clone() + &more + "\n",
    )
    .unwrap();
    for name in [format!("{id} (1).jsonl"), format!("{id} (Ada's conflicted copy).jsonl")] {
        fs::write(folder.join(name), &whole).unwrap();
    }
    lab.assert_learned(&lab.root);
    assert_eq!(lab.list(&lab.root).matches(LEARNED).count(), 1);
    lab.run(&lab.root, &["status"]).assert_contains(&["1 session"]).ok();
    assert!(!lab.run(&lab.root, &["status"]).text.contains("sessions,"));
}

fn moved_transcript(lab: &Lab) {
    lab.project();
    lab.session(1, &lab.root);
    lab.assert_learned(&lab.root);
    let other = lab.environment.claude_dir().join("projects/-elsewhere");
    fs::create_dir_all(&other).unwrap();
    fs::rename(lab.file(1), other.join(lab.file(1).file_name().unwrap())).unwrap();
    lab.sync(&lab.root);
    assert_eq!(lab.list(&lab.root).matches(LEARNED).count(), 1);
    lab.run(&lab.root, &["status"]).assert_contains(&["1 session"]).ok();
}

fn damaged_bytes(lab: &Lab) {
    lab.project();
    let whole: Vec<Vec<u8>> =
        Session::new(1, &lab.root).records().iter().map(|it| it.to_string().into_bytes()).collect();
    let joined = |lines: &[Vec<u8>]| [lines.join(&b"\n"[..]), b"\n".to_vec()].concat();
    let bad_byte = |line: &[u8]| {
        let at = memchr_of(line, b"whole cents").unwrap();
        let mut line = line.to_vec();
        line.splice(at..at, *b"\xff\xfe ");
        line
    };
    let zeros = vec![0; 5000];
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("zeros before", [&zeros[..], &joined(&whole)].concat()),
        ("zeros after", [&joined(&whole)[..], &zeros].concat()),
        ("zeros for a record", {
            let mut lines = whole.clone();
            lines[1] = vec![0; lines[1].len()];
            joined(&lines)
        }),
        ("a zero in a text", {
            let mut lines = whole.clone();
            let at = memchr_of(&lines[0], b"whole cents").unwrap();
            lines[0].insert(at, 0);
            joined(&lines)
        }),
        ("a bad byte", {
            let mut lines = whole.clone();
            lines[0] = bad_byte(&lines[0]);
            joined(&lines)
        }),
        ("a bad byte in another value", {
            let mut lines = whole.clone();
            let at = memchr_of(&lines[0], b"\"gitBranch\":\"").unwrap() + 13;
            lines[0].insert(at, 0xe9);
            joined(&lines)
        }),
        ("half a last line", [&joined(&whole)[..], b"{\"parentUuid\":\"000"].concat()),
        (
            "a byte order mark",
            [b"\xef\xbb\xbf", &replace(&joined(&whole), b"\n", b"\r\n")[..]].concat(),
        ),
        ("two on a line", {
            let mut lines = whole.clone();
            let second = lines.remove(1);
            lines[0].extend(second);
            joined(&lines)
        }),
        ("separators", {
            let mut lines = whole.clone();
            let at = memchr_of(&lines[0], b"whole cents").unwrap();
            lines[0].splice(at..at, "\u{2028}".bytes());
            joined(&lines)
        }),
    ];
    for (number, (name, bytes)) in cases.into_iter().enumerate() {
        let root = lab.at(&format!("case-{number}"));
        lab.repository(&root);
        lab.init(&root).ok();
        let id = format!("{:08}", number + 1);
        let text = |bytes: &[u8]| {
            let bytes = replace(
                bytes,
                lab.root.to_str().unwrap().as_bytes(),
                root.to_str().unwrap().as_bytes(),
            );
            replace(&bytes, b"00000001", id.as_bytes())
        };
        let file = lab.file(u32::try_from(number).unwrap() + 1);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text(&bytes)).unwrap();
        let synced = lab.sync(&root);
        let listed = lab.list(&root);
        assert!(listed.contains(LEARNED) && listed.contains("cents"), "{name}: {synced}\n{listed}");
        // After the repair, the file is the same session.
        fs::write(&file, text(&joined(&whole))).unwrap();
        lab.sync(&root);
        assert_eq!(lab.list(&root).matches(LEARNED).count(), 1, "{name}");
    }
}

fn memchr_of(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), bytes);
    while let Some(at) = memchr_of(rest, from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

/// Returns the time two days ago, in milliseconds.
fn earlier_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond() - 48 * 3_600_000
}

#[track_caller]
fn assert_dated(lab: &Lab, root: &Path, date: &str) {
    let listed = lab.list(root);
    assert!(listed.contains(LEARNED) && !listed.contains("1970"), "{listed}");
    let start = lab.start_as(root, &format!("start-{}", root.display())).context();
    assert!(start.contains(&format!("asked on {date}")), "{start}");
    assert!(start.contains("make fixtures"), "the handoff: {start}");
}

fn numeric_times(lab: &Lab) {
    let ms = earlier_ms();
    let at = jiff::Timestamp::from_millisecond(ms).unwrap();
    let date = at.to_string()[..10].to_owned();
    let zone_less = at.to_string()[..19].to_owned();
    let spellings = [
        json!(ms),
        json!(ms / 1000),
        json!(ms.to_string()),
        json!((ms / 1000).to_string()),
        json!(ms as f64 / 1000.0),
        json!(zone_less),
        json!(zone_less.replace('T', " ")),
    ];
    for (number, spelling) in spellings.into_iter().enumerate() {
        let root = lab.at(&format!("case-{number}"));
        lab.repository(&root);
        lab.init(&root).ok();
        let number = u32::try_from(number).unwrap() + 1;
        Session::new(number, &root).with("timestamp", spelling).write(&lab.file(number));
        lab.sync(&root);
        assert_dated(lab, &root, &date);
    }
}

fn missing_times(lab: &Lab) {
    let today = jiff::Timestamp::now().to_string()[..10].to_owned();
    for (number, spelling) in
        [json!(null), json!(""), json!("noon"), json!({}), json!(-5)].into_iter().enumerate()
    {
        let root = lab.at(&format!("case-{number}"));
        lab.repository(&root);
        lab.init(&root).ok();
        let number = u32::try_from(number).unwrap() + 1;
        Session::new(number, &root).with("timestamp", spelling).write(&lab.file(number));
        lab.sync(&root);
        assert_dated(lab, &root, &today);
    }
    // Only one record has another working directory: that of the neighbour project.
    let root = lab.at("one");
    lab.repository(&root);
    lab.init(&root).ok();
    let date =
        jiff::Timestamp::from_millisecond(earlier_ms()).unwrap().to_string()[..10].to_owned();
    let first = std::cell::Cell::new(true);
    session_as(lab, 9, &root, |record| {
        let mut record = record.clone();
        if first.replace(false) {
            record["timestamp"] = Value::Null;
        }
        record.to_string().into_bytes()
    });
    lab.sync(&root);
    assert_dated(lab, &root, &date);
}

fn clock_ahead(lab: &Lab) {
    lab.project();
    let file = lab.file(1);
    Session::new(1, &lab.root).begins("2099-01-01T00:00:00Z").write(&file);
    let written = SystemTime::now() - Duration::from_secs(3600);
    fs::File::options().write(true).open(&file).unwrap().set_modified(written).unwrap();
    lab.assert_learned(&lab.root);
    let start = lab.start_as(&lab.root, "one").context();
    assert!(!start.contains("2099"), "{start}");
    Session::new(2, &lab.root)
        .wish("Please rename the parcel table.")
        .begins(&(jiff::Timestamp::now() - jiff::SignedDuration::from_mins(20)).to_string())
        .write(&lab.file(2));
    lab.sync(&lab.root);
    let start = lab.start_as(&lab.root, "two").context();
    assert!(start.contains("parcel table"), "{start}");
    let resumed = lab.run(&lab.root, &["resume"]).ok();
    assert!(resumed.contains("parcel table") && !resumed.contains("2099"), "{resumed}");
}

fn image_beside_a_wish(lab: &Lab) {
    let data = "iVBORw0KGgo".repeat(300_000);
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
    let text = |text: &str| json!({"type": "text", "text": text});
    for (number, content) in [
        json!([image, text(WISH)]),
        json!([text(WISH), image]),
        json!([text(&format!("[Image #1] {WISH}")), image]),
        json!([text(WISH), text("[Image: source: /tmp/shot.png]"), image]),
        json!([{"type": "document", "source": {"type": "base64", "data": data}}, text(WISH)]),
    ]
    .into_iter()
    .enumerate()
    {
        let root = lab.at(&format!("case-{number}"));
        lab.repository(&root);
        lab.init(&root).ok();
        let number = u32::try_from(number).unwrap() + 1;
        Session::new(number, &root).wish(content).write(&lab.file(number));
        lab.sync(&root);
        let listed = lab.list(&root);
        assert!(listed.contains(LEARNED) && !listed.contains("[Image"), "{number}: {listed}");
        let start = lab.start_as(&root, &format!("start-{number}")).context();
        assert!(start.matches("[Image").count() <= 1, "{number}: {start}");
        let found = lab.run(&root, &["search", "iVBORw0KGgo"]).text;
        assert!(!found.contains("iVBORw0KGgoiVBORw0KGgo"), "{found}");
    }
}

fn control_sequences(lab: &Lab) {
    lab.project();
    let wish = "From now on \u{1b}[31mnever\u{1b}[0m use floats, \u{1b}]8;;http://x\u{7}store\u{1b}]8;;\u{7} 価格 and \u{202e}مبلغ\u{202c} as whole cents.";
    Session::new(1, &lab.root).wish(wish).write(&lab.file(1));
    lab.assert_learned(&lab.root);
    for arguments in [&["list"][..], &["search", "floats"], &["timeline"], &["resume"], &["status"]]
    {
        let shown = lab.run(&lab.root, arguments).ok();
        let is_left = |text: &str| shown.contains(text);
        for remains in ["\u{1b}", "[31m", "[0m", "]8;;", "\u{202e}", "\u{7}"] {
            assert!(!is_left(remains), "{remains:?} in {shown:?}");
        }
    }
    let listed = lab.list(&lab.root);
    assert!(listed.contains("価格") && listed.contains("مبلغ"), "{listed}");
}

fn no_file(lab: &Lab) {
    lab.project();
    lab.session(1, &lab.root);
    let folder = lab.file(1).parent().unwrap().to_owned();
    let name = |number: u32| folder.join(format!("{}.jsonl", super::lab::session_id(number)));
    lab.run_command(lab.environment.command("mkfifo").arg(name(2))).ok();
    fs::create_dir(name(3)).unwrap();
    fs::File::create(name(4)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("5.jsonl")).unwrap();
    lab.assert_learned(&lab.root);
    lab.run(&lab.root, &["status"]).assert_contains(&["1 session"]).ok();
    lab.run(&lab.root, &["doctor"]);
}

//! The page that `throughline report` writes: its data, its location, and that texts of memories are never treated as
//! markup.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::common::Machine;
use crate::daily::learned;
use crate::learned::with_stale;

const SESSION: &str = "11111111-1111-4111-8111-111111111111";

/// Texts that would be executed if a page treated them as markup, style, address or script. Each of them contains
/// `owned`.
const HOSTILE: [&str; 30] = [
    "<script>owned=1</script>",
    "</script><script>owned=1</script>",
    "<img src=x onerror=owned=1>",
    "<svg onload=owned=1>",
    "<svg><script>owned=1</script></svg>",
    "\"><script>owned=1</script>",
    "' onmouseover='owned=1",
    "\" autofocus onfocus=\"owned=1",
    "<iframe srcdoc=\"<script>parent.owned=1</script>\"></iframe>",
    "<iframe src=javascript:owned=1></iframe>",
    "[owned](javascript:owned=1)",
    "<a href=\"javascript:owned=1\">owned</a>",
    "<body onload=owned=1>",
    "<!--<script>owned=1</script>-->",
    "--><script>owned=1</script><!--",
    "<![CDATA[<script>owned=1</script>]]>",
    "</title><script>owned=1</script>",
    "</style><script>owned=1</script>",
    "</textarea><script>owned=1</script>",
    "<style>*{background:url(javascript:owned=1)}</style>",
    "<link rel=stylesheet href=data:text/css,owned>",
    "<meta http-equiv=refresh content=0;url=javascript:owned=1>",
    "<base href=javascript:owned=1//>",
    "<object data=javascript:owned=1></object>",
    "<math><mtext></form><form><mglyph><style></math><img src=x onerror=owned=1>",
    "<details open ontoggle=owned=1>",
    "<input onfocus=owned=1 autofocus>",
    "&lt;script&gt;owned=1&lt;/script&gt;",
    "${owned=1} {{owned=1}} `owned`",
    "\\u003cscript\\u003eowned=1\\u003c/script\\u003e \u{2028}owned=1\u{2029}",
];

/// Returns a machine with every hostile text as a title, a body, a path and a tag.
fn hostile() -> Machine {
    let machine = learned();
    for (number, text) in HOSTILE.iter().enumerate() {
        let day = number % 28 + 1;
        let id = format!("01k6ar{number:02}00000000000000{number:04}");
        let quoted = serde_json::to_string(text).unwrap();
        machine.write(
            &format!("home/work/.throughline/memories/hostile-{number:02}.md"),
            &format!(
                "---\nid: {id}\nkind: fact\ncreated: 2026-09-{day:02}T10:00:00Z\ntags: [{quoted}]\npaths: \
                 [{{path: {quoted}}}]\n---\n\n# Title {text}\n\nBody {text}\n"
            ),
        );
    }
    machine
}

fn page(machine: &Machine) -> String {
    machine.ok(&["report", "--out", machine.path("report.html").to_str().unwrap()]);
    machine.read("report.html")
}

/// Returns the data of the page's script.
fn embedded(page: &str) -> Value {
    let (_, data) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

/// Returns the tags of a page, without its style and scripts.
fn tags(page: &str) -> Vec<String> {
    let (before, rest) = page.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (middle, _) = rest.split_once("<script type=\"application/json\"").unwrap();
    let parts = before.split('<').skip(1).chain(middle.split('<').skip(1));
    parts.map(|part| part.split('>').next().unwrap().to_owned()).collect()
}

#[test]
fn the_report_is_private_and_replaced_and_its_path_is_printed() {
    let machine = learned();
    let said = machine.ok(&["report"]);
    let start = "Wrote /home/.local/state/throughline/trees/";
    assert!(said.starts_with(start) && said.contains("/report.html ("), "{said}");
    let file = said.split_once(' ').unwrap().1.split_once(" (").unwrap().0;
    let file = machine.path(file.trim_start_matches('/'));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(page.contains("integer cents"), "{page}");
    machine.ok(&["add", "Berths are numbered from the north pier"]);
    machine.ok(&["report"]);
    assert!(std::fs::read_to_string(&file).unwrap().contains("numbered from the north pier"));
    // A report contains data of sessions, so purging a session removes the report.
    machine.ok(&["purge", "--session", SESSION, "--yes"]);
    assert!(!file.exists());
}

#[test]
fn only_a_report_is_overwritten() {
    let machine = learned();
    machine.ok(&["add", "Prices are rounded half to even"]);
    let said = machine.ok(&["report", "--out", "page.html"]);
    assert!(said.starts_with("Wrote /home/work/page.html ("), "{said}");
    machine.ok(&["report", "--out", "page.html"]);
    machine.write("home/work/notes.txt", "mine");
    let said = machine.run(&["report", "--out", "notes.txt"]);
    assert_eq!(said.code, 1, "{}", said.whole());
    assert!(said.stderr.contains("notes.txt exists and is no report of ours"), "{}", said.whole());
    assert_eq!(machine.read("home/work/notes.txt"), "mine");
    assert_eq!(machine.run(&["report", "--out", "src"]).code, 0, "a name that is free");
    assert_eq!(machine.run(&["report", "--out", ".throughline"]).code, 1, "a folder");
    assert_eq!(machine.run(&["report", "--out", "nowhere/page.html"]).code, 3);
    assert_eq!(machine.run(&["report", "--json", "--out", "other.html"]).code, 2);
}

#[test]
fn it_is_passed_to_the_browser() {
    let machine = learned();
    let path = format!("{}:/usr/bin:/bin", machine.path("bin").display());
    let opened = machine.path("opened");
    let script = format!("#!/bin/sh\nprintf %s \"$1\" > '{}'\n", opened.display());
    machine.program("xdg-open", &script);
    let run = |args: &[&str]| machine.run_with(args, &[("PATH", &path)]);
    assert_eq!(run(&["report", "--open", "--out", "page.html"]).code, 0);
    assert_eq!(machine.read("opened"), machine.work().join("page.html").to_str().unwrap());
    machine.program("xdg-open", "#!/bin/sh\nexit 3\n");
    let said = run(&["report", "--open"]);
    assert_eq!(said.code, 1, "{}", said.whole());
    assert!(said.stderr.contains("Open it in a browser yourself"), "{}", said.whole());
    // The file is written even if it cannot be opened.
    assert!(said.stdout.starts_with("Wrote "), "{}", said.whole());
}

#[test]
fn the_data_is_what_stores_receipts_and_archive_say() {
    let machine = learned();
    machine.write("home/work/src/price.rs", "");
    let add = |text: &str| {
        let args = ["add", text, "--kind", "convention", "--path", "src/price.rs", "--json"];
        machine.json(&args)["id"].as_str().unwrap().to_owned()
    };
    let id = add("Prices are rounded half to even");
    let never = add("Berths are numbered from the north pier");
    for (minute, micros) in [("00", 900), ("30", 1_000), ("31", 7_000)] {
        machine.receipt(&json!({ "at": format!("2026-10-01T10:{minute}:00Z"),
            "event": "UserPromptSubmit", "session": SESSION, "tokens": 40, "micros": micros,
            "memories": [{ "id": id }] }));
    }
    let told = machine.json(&["report", "--json"]);
    assert_eq!(told["sessions"], 1);
    assert_eq!(told["numbers"]["memories"], 4);
    assert_eq!(told["numbers"]["injections"]["tokens"], 120);
    // The session edited the file after the first injection only.
    let given = &told["given"][0];
    assert_eq!((&given["id"], &given["times"]), (&json!(id), &json!(3)));
    assert_eq!(
        given["outcome"],
        json!({ "given": 3, "followed": 1, "not_followed": 2, "unclear": 0 })
    );
    assert_eq!(told["numbers"]["injections"]["outcome"], given["outcome"]);
    let counts: Vec<u64> = told["timings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|timing| timing["count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [0, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0]);
    let convention = json!({ "kind": "convention", "counts": [2, 0, 0, 0, 0] });
    assert!(told["ages"].as_array().unwrap().contains(&convention), "{}", told["ages"]);
    let file = told["files"].as_array().unwrap().iter().find(|it| it["path"] == "src/price.rs");
    let file = file.unwrap();
    assert_eq!((&file["sessions"], &file["edits"]), (&json!(1), &json!(1)));
    assert!(file["memories"].as_u64().unwrap() >= 2, "{file}");
    let weeks = told["weeks"].as_array().unwrap();
    let week = weeks.last().unwrap();
    assert_eq!((&week["week"], &week["sessions"]), (&json!("2026-09-28"), &json!(1)));
    assert_eq!((&week["learned"], &week["injections"]), (&json!(4), &json!(3)));
    let labels: Vec<&str> = told["graph"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["label"].as_str().unwrap())
        .collect();
    assert!(labels.contains(&"src/price.rs"), "{labels:?}");
    assert!(labels.iter().any(|label| label.starts_with("1111")), "{labels:?}");
    let memories = told["memories"].as_array().unwrap();
    let of = |id: &str| memories.iter().find(|memory| memory["id"] == id).unwrap();
    assert_eq!((&of(&id)["given"], &of(&id)["followed"]), (&json!(3), &json!(1)));
    assert_eq!(of(&never)["given"], 0);
    // The page contains the same data, and is readable without a script.
    let page = page(&machine);
    assert_eq!(embedded(&page)["memories"], told["memories"]);
    assert_eq!(embedded(&page)["graph"], told["graph"]);
    for text in ["Prices are rounded half to even", "src/price.rs", "2026-09-28"] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn contradictions_and_replaced_memories_are_reported() {
    let machine = learned();
    let add = |text: &str, more: &[&str]| {
        let args = [&["add", text, "--kind", "fact", "--json"], more].concat();
        machine.json(&args)["id"].as_str().unwrap().to_owned()
    };
    let old = add("The port listens on 8080", &[]);
    let new = add("Berths are numbered from the north pier", &["--supersedes", &old]);
    let (one, other) = ("01k6ar00000000000000000001", "01k6ar00000000000000000002");
    for (id, link) in [
        (one, format!("relations: [{{kind: contradicts, to: {other}}}]\n")),
        (other, String::new()),
    ] {
        machine.write(
            &format!("home/work/.throughline/memories/{id}.md"),
            &format!("---\nid: {id}\nkind: fact\ncreated: 2026-09-01T10:00:00Z\n{link}---\n\n# Rolls {id}\n"),
        );
    }
    let told = machine.json(&["report", "--json"]);
    let memories = told["memories"].as_array().unwrap();
    let of = |id: &str| {
        let is_it = |memory: &&Value| memory["id"].as_str().unwrap().eq_ignore_ascii_case(id);
        memories.iter().find(is_it).unwrap_or_else(|| panic!("{id}: {told}"))
    };
    assert_eq!(of(&old)["superseded_by"], json!(new));
    assert!(of(&old)["marks"].as_array().unwrap().contains(&json!("replaced")));
    assert!(of(one)["marks"].as_array().unwrap().contains(&json!("contradicted")));
    assert_eq!(told["contradictions"].as_array().unwrap().len(), 1);
    assert_eq!(told["contradictions"][0]["newer"], of(one)["id"]);
    assert!(page(&machine).contains("throughline review --prefer "));
}

#[test]
fn stale_memories_are_reported_with_the_reason() {
    let (machine, id) = with_stale();
    let told = machine.json(&["report", "--json"]);
    let memories = told["memories"].as_array().unwrap();
    let stale: Vec<&Value> = memories.iter().filter(|memory| !memory["stale"].is_null()).collect();
    assert_eq!(stale.len(), 1, "{told}");
    assert_eq!((&stale[0]["short"], &stale[0]["marks"]), (&json!(id), &json!(["stale"])));
    let why = "may be true no longer: src/berths.rs was rewritten since";
    assert_eq!(stale[0]["stale"], why);
    let page = page(&machine);
    assert!(page.contains(why) && page.contains(&format!("throughline review --keep {id}")));
}

#[test]
fn no_hostile_memory_becomes_markup() {
    let plain = tags(&page(&learned()));
    let names = |tags: &[String]| -> std::collections::BTreeSet<String> {
        tags.iter().map(|tag| tag.split([' ', '\n']).next().unwrap().to_owned()).collect()
    };
    let machine = hostile();
    let page = page(&machine);
    let tags = tags(&page);
    let known = names(&plain);
    let more: Vec<_> = names(&tags).difference(&known).cloned().collect();
    // Elements that occur only in a report with these memories.
    let expected = ["span", "/span", "rect", "path"];
    assert!(more.iter().all(|name| expected.contains(&name.as_str())), "{more:?}");
    for tag in &tags {
        // In a tag, text occurs only in the value of an attribute, in double quotes.
        let outside: String = tag.split('"').step_by(2).collect();
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(!outside.contains("owned") && !outside.contains(" on"), "{tag}");
        assert!(!tag.contains("href=\"javascript") && !outside.contains("src="), "{tag}");
    }
    assert_eq!(page.matches("<script").count(), 2, "the data and the script");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(page.contains("default-src 'none'"));
    // Each hostile text is on the page, as plain text.
    let data = embedded(&page);
    let titles: Vec<&str> = data["memories"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|memory| memory["title"].as_str())
        .collect();
    assert_eq!(titles.iter().filter(|title| title.starts_with("Title ")).count(), HOSTILE.len());
}

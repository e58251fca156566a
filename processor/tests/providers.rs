//! Servers with OpenAI's chat interface, and rules for all providers: repetitions, questions that are kept aside, and
//! daily limits.

use std::path::{Path, PathBuf};

use crate::standin::openai::{Act, OpenAi};
use memory_store::Timestamp;
use memory_store::layout::ProjectDir;
use memory_store::settings::{Llm, Settings};
use processor::collect::discover::Transcript;
use processor::llm::estimate::estimate;
use processor::llm::prices::{ClientVersion, Prices};
use processor::llm::{Extracted, LanguageModel, Surroundings, aside, trouble, usage};
use processor::transcript::SOURCE;
use processor::transcript::session::{Prompt, Session, Turn};
use serde_json::json;

const WISH: &str = "Please always run the migrations inside a transaction.";
const ALL: &[&str] = &["json_schema", "json_object"];

fn session(id: &str) -> Session {
    let prompt = Prompt { text: format!("{WISH} Start with {id}."), ..Prompt::default() };
    let turn = Turn { uuid: format!("{id}-p"), at: Timestamp(1), prompt, ..Turn::default() };
    Session { id: id.to_owned(), turns: vec![turn], ..Session::default() }
}

fn good() -> Act {
    let memory = json!({
        "kind": "preference", "title": "Migrations run inside a transaction", "text": "It was said so.",
        "quote": "always run the migrations inside a transaction", "importance": 80, "standing": true,
    });
    Act::Says(json!({"memories": [memory]}).to_string())
}

fn llm(host: &str) -> Llm {
    Llm {
        provider: "openai".to_owned(),
        model: "tiny".to_owned(),
        host: format!("http://{host}"),
        timeout_s: 5,
        ..Llm::default()
    }
}

/// A temporary project with the settings of its model.
struct Project {
    folder: tempfile::TempDir,
    llm: Llm,
}

impl Project {
    fn new(llm: Llm) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), llm }
    }

    fn home(&self) -> ProjectDir {
        ProjectDir::at(self.folder.path().to_owned())
    }

    fn answers(&self) -> PathBuf {
        self.home().llm
    }

    fn ledger(&self) -> PathBuf {
        self.folder.path().join("usage.jsonl")
    }

    /// Extracts from sessions as one sync on this day does.
    fn sync(&self, day: i64, sessions: &[&str]) -> (Vec<Extracted>, Vec<String>) {
        let mut model = open(&self.llm, &self.answers(), &self.ledger(), day).unwrap();
        let mut report = Vec::new();
        let extract = |id: &&str| model.extract(&session(id), Vec::new(), &mut report);
        (sessions.iter().map(extract).collect(), report)
    }
}

fn open(llm: &Llm, cache_dir: &Path, ledger: &Path, day: i64) -> Result<LanguageModel, String> {
    let settings = Settings { llm: Some(llm.clone()), ..Settings::default() };
    let surroundings = Surroundings {
        ollama_host: None,
        cache_dir,
        ledger: Some(ledger.to_owned()),
        roots: &[],
        now: Timestamp(day * 86_400_000),
    };
    LanguageModel::open(&settings, &surroundings).map(|model| model.expect("the settings name one"))
}

#[test]
fn a_server_is_asked_in_the_best_form_that_it_takes() {
    for (forms, tries) in [
        (ALL, &["json_schema"][..]),
        (&["json_object"], &["json_schema", "json_object"]),
        (&[], &["json_schema", "json_object", "none"]),
    ] {
        let server = OpenAi::start(forms, good());
        let project = Project::new(llm(&server.host));
        let (extracted, report) = project.sync(1, &["a", "b"]);
        assert_eq!(report, Vec::<String>::new());
        assert_eq!(extracted[0].drafts[0].extractor, "openai/tiny");
        let asked = server.asked();
        let form = |body: &serde_json::Value| {
            body["response_format"]["type"].as_str().unwrap_or("none").to_owned()
        };
        let last = *tries.last().unwrap();
        // The accepted form is remembered for the server, and used for the next question.
        let expected: Vec<&str> = tries.iter().copied().chain([last]).collect();
        assert_eq!(asked.iter().map(form).collect::<Vec<_>>(), expected);
        let request = asked.last().unwrap().to_string();
        assert!(request.contains(WISH) && request.contains("failed-approach"), "{request}");
        assert!(!request.contains("$ref"));
    }
}

#[test]
fn what_may_succeed_the_second_time_is_asked_again_and_the_rest_is_not() {
    let server = OpenAi::start(ALL, good());
    let project = Project::new(llm(&server.host));
    for failure in [Act::Fails(503, "loading the model"), Act::Fails(429, "slow down"), Act::Hangs]
    {
        let before = server.asked().len();
        server.next([failure.clone(), failure]);
        let (extracted, report) = project.sync(1, &[&format!("session-{before}")]);
        assert_eq!((extracted[0].missing, report), (0, Vec::new()));
        assert_eq!(server.asked().len(), before + 3);
    }
    for (status, message, told) in [
        (401, "no such key", "does not take the key: no such key"),
        (404, "The model `tiny` does not exist", "has no model `tiny`"),
        (402, "pay first", "the usage limit is reached: pay first"),
    ] {
        let before = server.asked().len();
        server.next([Act::Fails(status, message)]);
        let names = [format!("{status}-a"), format!("{status}-b")];
        let (extracted, report) = project.sync(1, &[&names[0], &names[1]]);
        assert_eq!((extracted[0].missing, extracted[1].missing, report.len()), (1, 1, 1));
        assert!(report[0].contains(told), "{report:?}");
        assert_eq!(server.asked().len(), before + 1, "no more is asked in this run");
    }
}

#[test]
fn a_warning_about_a_long_question_names_the_setting() {
    let too_long =
        "request (4462 tokens) exceeds the available context size (2048 tokens), try increasing it";
    let keeps = "Trying to keep the first 4462 tokens, but the model is loaded with context length of only 2048";
    for act in [Act::Fails(400, too_long), Act::Fails(500, keeps), Act::FailsAsSuccess(too_long)] {
        let server = OpenAi::start(ALL, act);
        let project = Project::new(llm(&server.host));
        let (extracted, report) = project.sync(1, &["a", "b", "c"]);
        assert!(extracted.iter().all(|extracted| extracted.missing == 1));
        assert!(report.len() == 1 && report[0].contains("set `llm.context`"), "{report:?}");
        assert!(report[0].contains("2048"), "{report:?}");
        assert_eq!(server.asked().len(), 2, "it is not put again, and the third is not put");
        let trouble = trouble::read(&project.answers()).unwrap();
        assert!(trouble.why.contains("set `llm.context`"), "{trouble:?}");
        server.next([good()]);
        project.sync(1, &["d"]);
        assert_eq!(trouble::read(&project.answers()), None);
    }
}

#[test]
fn what_a_question_took_is_written_down_and_what_got_no_answer() {
    let server = OpenAi::start(ALL, good());
    let project = Project::new(llm(&server.host));
    server.next([good(), Act::Says("no memories today".to_owned()), Act::Fails(400, "no")]);
    project.sync(1, &["a", "b", "c"]);
    let spent = usage::spent(&project.ledger());
    let told: Vec<_> = spent.iter().map(|one| (one.questions, one.failed)).collect();
    assert_eq!(told, [(1, 0), (1, 1), (1, 1)]);
    let each = usage::each_session(&spent, "openai/tiny").unwrap();
    assert_eq!((each.questions, each.usage.tokens()), (1, 1_050));
    assert_eq!(usage::each_session(&spent, "openai/other"), None);
}

#[test]
fn a_small_context_is_detected_if_the_server_reports_it() {
    let server = OpenAi::start(ALL, good());
    let at = |host: &str| processor::llm::small_context(&llm(host), &[]);
    assert_eq!(at(&server.host), Some(4_096));
    // The server does not answer, or the user did not consent to using it.
    assert_eq!(at("127.0.0.1:1"), None);
    let elsewhere = Llm { host: "https://models.example.org".to_owned(), ..llm("") };
    assert_eq!(processor::llm::small_context(&elsewhere, &[]), None);
}

#[test]
fn a_window_that_failed_three_times_waits_for_somebody_to_ask() {
    let server = OpenAi::start(ALL, Act::Says("no memories today".to_owned()));
    let project = Project::new(llm(&server.host));
    for times in 1..=3 {
        let (extracted, report) = project.sync(1, &["a"]);
        assert_eq!((extracted[0].missing, report.len()), (1, 1), "{report:?}");
        assert_eq!(server.asked().len(), times);
    }
    assert_eq!(aside::count(&project.answers()), 1);
    server.next([good(), good()]);
    let (extracted, report) = project.sync(1, &["a", "b"]);
    // The session counts as read, and other sessions are sent.
    assert_eq!((extracted[0].missing, extracted[1].drafts.len()), (0, 1));
    assert!(report.len() == 1 && report[0].contains("throughline sync --retry"), "{report:?}");
    assert_eq!(aside::retry(&project.home()).unwrap(), 1);
    let (extracted, report) = project.sync(1, &["a"]);
    assert_eq!((extracted[0].drafts.len(), report), (1, Vec::new()));
}

#[test]
fn a_server_that_is_down_sets_nothing_aside() {
    let server = OpenAi::start(ALL, Act::Fails(500, "out of memory"));
    let project = Project::new(llm(&server.host));
    let (extracted, report) = project.sync(1, &["a", "b", "c"]);
    assert!(extracted.iter().all(|extracted| extracted.missing == 1));
    assert!(report.len() == 1 && report[0].contains("(500): out of memory"), "{report:?}");
    assert_eq!(server.asked().len(), 2 * 3, "after two questions, tried three times each, no more");
    for _ in 0..3 {
        project.sync(1, &["a"]);
    }
    assert_eq!(aside::count(&project.answers()), 0);
}

#[test]
fn the_rest_waits_for_tomorrow_where_the_day_is_used_up() {
    let server = OpenAi::start(ALL, good());
    let project = Project::new(Llm { tokens_per_day: Some(2_000), ..llm(&server.host) });
    let (extracted, report) = project.sync(1, &["a", "b", "c", "d"]);
    let missing: Vec<usize> = extracted.iter().map(|extracted| extracted.missing).collect();
    assert_eq!(missing, [0, 0, 1, 1]);
    assert!(report.len() == 1 && report[0].contains("waits for tomorrow"), "{report:?}");
    // Another run on the same day sends nothing; a run on the next day does.
    assert_eq!(project.sync(1, &["c"]).0[0].missing, 1);
    let (extracted, report) = project.sync(2, &["c", "d"]);
    assert_eq!((extracted[0].missing + extracted[1].missing, report), (0, Vec::new()));
    let spent = usage::spent(&project.ledger());
    let told: Vec<_> = spent
        .iter()
        .map(|one| (one.day.as_str(), one.session.as_str(), one.usage.tokens()))
        .collect();
    assert_eq!(
        told,
        [
            ("1970-01-02", "a", 1050),
            ("1970-01-02", "b", 1050),
            ("1970-01-03", "c", 1050),
            ("1970-01-03", "d", 1050),
        ]
    );
}

#[test]
fn consent_and_keys_are_asked_for_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let open = |llm: &Llm| open(llm, folder.path(), &folder.path().join("usage"), 1).map(drop);
    let elsewhere = Llm { host: "https://models.example.org/v1".to_owned(), ..llm("") };
    let told = open(&elsewhere).unwrap_err();
    assert!(told.contains("models.example.org") && told.contains("consented_hosts"), "{told}");
    let agreed = Llm { consented_hosts: vec!["models.example.org:443".to_owned()], ..elsewhere };
    assert_eq!(open(&agreed), Ok(()));
    let keyed = Llm { api_key_env: "THROUGHLINE_TEST_NO_SUCH_KEY".to_owned(), ..agreed };
    let told = open(&keyed).unwrap_err();
    assert!(told.contains("THROUGHLINE_TEST_NO_SUCH_KEY") && told.contains("is not set"), "{told}");
    let told = open(&Llm { host: String::new(), ..llm("") }).unwrap_err();
    assert!(told.contains("llm.host"), "{told}");
}

#[test]
fn a_session_s_cost_is_estimated_from_those_at_hand() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = |number: u8, words: usize| {
        let id = format!("{number}1111111-1111-4111-8111-111111111111");
        let path = folder.path().join(format!("{id}.jsonl"));
        let line = json!({
            "type": "user", "uuid": format!("u-{number}"), "sessionId": id, "cwd": "/work",
            "timestamp": "2026-10-02T12:00:00Z", "origin": {"kind": "human"},
            "message": {"role": "user", "content": format!("{WISH} {}", "And more of it. ".repeat(words))},
        });
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let name = SOURCE.name(&path).unwrap();
        let len = std::fs::metadata(&path).unwrap().len();
        Transcript { path, name, len, inode: 0, modified_ns: i128::from(number) }
    };
    let each = |transcripts: &[Transcript]| {
        let prices = Prices::of(ClientVersion::parse("2.1.332 (Claude Code)"));
        let dear = Prices::of(ClientVersion::parse("2.1.197 (Claude Code)"));
        let dear = estimate(&Settings::default(), transcripts, dear).unwrap();
        let estimate = estimate(&Settings::default(), transcripts, prices).unwrap();
        assert_eq!((estimate.seen, estimate.sessions), (transcripts.len(), transcripts.len()));
        let all = estimate.each.usd.unwrap() * transcripts.len() as f64;
        assert!((estimate.usd() - all).abs() < 1e-9);
        assert!((dear.usd() - 10.0 * all).abs() < 1e-9);
        (estimate.each.tokens_in, estimate.each.usd.unwrap())
    };
    assert_eq!(estimate(&Settings::default(), &[], Prices::of(None)), None);
    let (short, long) = (transcript(1, 10), transcript(2, 400));
    let (tokens, usd) = each(std::slice::from_ref(&short));
    let (tokens_long, usd_long) = each(std::slice::from_ref(&long));
    assert!(tokens > 0 && usd > 0.0);
    // The long session has 390 times sixteen more characters.
    assert_eq!(tokens_long - tokens, 390 * 16 / 4);
    assert!(usd_long > usd);
    let (tokens_both, _) = each(&[short, long]);
    assert_eq!(tokens_both, (tokens + tokens_long) / 2);
}

//! Answers to a person's questions, against stand-ins for models.

use crate::standin::ollama::{Behaviour, Ollama};
use crate::standin::openai::{Act, OpenAi};
use memory_store::Timestamp;
use memory_store::settings::{Llm, Settings};
use processor::llm::question::{Answer, QuestionSource, Statement, TypedLine};
use processor::llm::{LanguageModel, Surroundings};
use serde_json::json;

const QUESTION: &str = "Where are carts stored?";
/// The answer of a good model, with characters of several bytes.
const GOOD: &str = r#"{"statements": [{"text": "Carts are stored in Valkéy – since days(2026-03-01, 2026-05-02).", "sources": [1]},
    {"text": "Before, it was Redis.", "sources": [2]}]}"#;

fn sources() -> Vec<QuestionSource> {
    [
        ("fact, 2026-05-02", "Carts are stored in Valkéy"),
        ("decision, 2026-03-01", "Carts are stored in Redis"),
    ]
    .map(|(label, text)| QuestionSource { label: label.into(), text: text.into() })
    .to_vec()
}

fn open(provider: &str, host: &str) -> Result<LanguageModel, String> {
    let (provider, model, host) = (provider.to_owned(), "tiny".to_owned(), host.to_owned());
    let llm = Llm { provider, model, host, timeout_s: 5, ..Llm::default() };
    let settings = Settings { llm: Some(llm), ..Settings::default() };
    let cache = tempfile::tempdir().unwrap();
    let surroundings = Surroundings {
        ollama_host: None,
        cache_dir: cache.path(),
        ledger: None,
        roots: &[],
        now: Timestamp(1_790_000_000_000),
    };
    LanguageModel::open(&settings, &surroundings).map(|model| model.unwrap())
}

fn answer(host: &str) -> (Result<Answer, String>, Vec<Statement>) {
    let mut heard = Vec::new();
    let mut model = open("ollama", host).unwrap();
    let answer = model.answer(QUESTION, &sources(), &mut |one| heard.push(one.clone()));
    (answer, heard)
}

fn is_good(answer: &Answer) -> bool {
    let texts: Vec<&str> = answer.statements.iter().map(|one| one.text.as_str()).collect();
    let sources: Vec<&[usize]> = answer.statements.iter().map(|one| &one.sources[..]).collect();
    texts
        == [
            "Carts are stored in Valkéy – since 62 days (2026-03-01 to 2026-05-02).",
            "Before, it was Redis.",
        ]
        && sources == [[1], [2]]
}

#[test]
fn an_answer_streams_with_its_sources() {
    let server = Ollama::start(&["tiny"], Behaviour::Says(|_| GOOD.to_owned()));
    let (answer, heard) = answer(&server.host);
    let answer = answer.unwrap();
    assert!(is_good(&answer) && answer.dropped == 0, "{answer:?}");
    assert_eq!(heard, answer.statements);
    let [asked] = &server.asked("/api/chat")[..] else { panic!() };
    assert_eq!(
        (&asked["stream"], asked["format"]["type"].as_str()),
        (&json!(true), Some("object"))
    );
    let number = &asked["format"]["properties"]["statements"]["items"]["properties"]["sources"];
    assert_eq!(number["items"]["enum"], json!([1, 2]));
    let text = asked["messages"][1]["content"].as_str().unwrap();
    assert!(text.contains("[1] fact, 2026-05-02: Carts are stored in Valk"), "{text}");
    assert!(text.contains("Today is 2026-09-") && text.ends_with(QUESTION), "{text}");
}

#[test]
fn a_hostile_or_empty_answer_states_nothing() {
    let server = Ollama::start(&["tiny"], Behaviour::Says(|_| "{\"statements\": []}".to_owned()));
    assert_eq!(answer(&server.host), (Ok(Answer::default()), Vec::new()));
    server.behave(Behaviour::Says(|_| {
        json!({"statements": [
            {"text": "Carts are stored in Oracle.", "sources": [7]},
            {"text": "Carts are stored in Oracle."},
            {"text": "The moon is made of cheese.", "sources": [1]},
            "Carts",
        ]})
        .to_string()
    }));
    let (hostile, heard) = answer(&server.host);
    assert_eq!(heard, []);
    assert_eq!(hostile, Ok(Answer { statements: Vec::new(), dropped: 3 }));
    server.behave(Behaviour::Says(|_| "{\"text\": \"no list\"}".to_owned()));
    let (other, _) = answer(&server.host);
    assert!(other.unwrap_err().contains("no list of statements"));
}

#[test]
fn a_model_that_cannot_answer_gives_its_reason() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (unreachable, _) = answer(&gone.to_string());
    let told = unreachable.unwrap_err();
    assert!(told.starts_with("ollama/tiny: nothing answers at"), "{told}");
    let refused = open("ollama", "models.example").map(drop).unwrap_err();
    assert!(refused.contains("consented_hosts"), "{refused}");
    let server = Ollama::start(&["tiny"], Behaviour::Fails(400, "it does not fit"));
    let (failed, _) = answer(&server.host);
    assert!(failed.unwrap_err().contains("it does not fit"));
    server.behave(Behaviour::BreaksOff);
    assert!(answer(&server.host).0.is_err());
    assert_eq!(server.asked("/api/chat").len(), 3 + 3, "each is repeated before the first part");
}

#[test]
fn servers_with_openais_interface_stream_or_answer_at_once() {
    let server = OpenAi::start(&["json_schema"], Act::Says(GOOD.to_owned()));
    let ask = || {
        let mut model = open("openai", &format!("http://{}", server.host)).unwrap();
        model.answer(QUESTION, &sources(), &mut |_| {})
    };
    assert!(is_good(&ask().unwrap()));
    assert_eq!(server.asked()[0]["stream"], true);
    server.next([Act::SaysAtOnce(GOOD.to_owned())]);
    assert!(is_good(&ask().unwrap()));
    server.next([Act::FailsAsSuccess("out of memory")]);
    assert!(ask().unwrap_err().contains("out of memory"));
    // A server without schemas gets the form in the instructions.
    let server = OpenAi::start(&[], Act::Says(GOOD.to_owned()));
    let mut model = open("openai", &format!("http://{}", server.host)).unwrap();
    assert!(is_good(&model.answer(QUESTION, &sources(), &mut |_| {}).unwrap()));
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn a_line_is_completed_from_the_conversation() {
    let server = Ollama::start(
        &["tiny"],
        Behaviour::Says(|asked| {
            let kind = if asked.ends_with("moved to Kustomize") { "statement" } else { "question" };
            assert!(asked.contains("Person: Where are charts?\nAnswer: In Helm. [1]"), "{asked}");
            json!({"kind": kind, "text": "The charts moved to Kustomize"}).to_string()
        }),
    );
    let mut model = open("ollama", &server.host).unwrap();
    let turns = [("Where are charts?".to_owned(), "In Helm. [1]".to_owned())];
    let text = "The charts moved to Kustomize".to_owned();
    assert_eq!(
        model.complete(&turns, "they moved to Kustomize"),
        Ok(TypedLine::Statement(text.clone()))
    );
    assert_eq!(model.complete(&turns, "and now?"), Ok(TypedLine::Question(text)));
    server.behave(Behaviour::Says(|_| String::new()));
    assert_eq!(model.complete(&[], "and now?"), Ok(TypedLine::Question("and now?".to_owned())));
}

//! Notes that commits of later sessions made invalid, according to a model.

use crate::scripts::{Script, Sealed};
use crate::standin::ollama::{Behaviour, Ollama};
use memory_store::identity::Mode;
use memory_store::store::Store;
use serde_json::json;

const TRAP: &str = "The importer drops the last row of a CSV file without a newline at its end";
const RULE: &str = "Prices are kept in cents in the importer because floats lost money twice";

/// Proposes the trap if a window contains it, and answers that the first commit fixed it.
fn answer(question: &str) -> String {
    if question.contains("<work>") {
        let number = question.lines().find(|line| line.contains(TRAP)).and_then(|line| {
            let (name, _) = line.split_once(' ')?;
            Some(name.to_owned())
        });
        let fixed = json!({"note": number, "by": "N1", "why": "fixed", "how": "it reads that row"});
        return json!({ "overtaken": [fixed] }).to_string();
    }
    if question.contains("<notes>") {
        return json!({"relations": []}).to_string();
    }
    let memory = |said: &str| {
        json!({
            "kind": "gotcha", "title": said, "text": "",
            "quote": said, "importance": 80, "standing": true,
        })
    };
    let said = [TRAP, RULE].into_iter().filter(|said| question.contains(said));
    json!({"memories": said.map(memory).collect::<Vec<_>>()}).to_string()
}

fn script(sealed: &Sealed, day: u32, prompt: &str) -> Script {
    let name = format!("{day}0000000-0000-4000-8000-000000000000");
    let mut script =
        Script::new(&name, sealed.root()).starting(&format!("2026-11-0{day}T09:00:00Z"));
    script.prompt(prompt);
    script
}

fn titles(sealed: &Sealed) -> Vec<String> {
    let listing = Store::open(&sealed.dirs, &sealed.tree).unwrap().list().unwrap();
    let of_model = listing.memories.into_iter().map(|stored| stored.memory);
    of_model.filter(|memory| memory.title.contains("importer")).map(|memory| memory.title).collect()
}

#[test]
fn a_trap_that_a_later_commit_mended_is_not_kept() {
    let server = Ollama::start(&["tiny"], Behaviour::Says(answer));
    let sealed = Sealed::with_mode(Mode::Private);
    let path = sealed.dirs.config_file();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let config = format!(
        "[llm]\nprovider = \"ollama\"\nmodel = \"tiny\"\nhost = \"http://{}\"\n",
        server.host
    );
    std::fs::write(path, config).unwrap();

    let mut first = script(&sealed, 1, TRAP);
    first.say("I will keep that in mind.");
    first.prompt(RULE);
    first.say("Agreed.");
    sealed.write_script(&first);
    sealed.sync();
    assert_eq!(titles(&sealed), [TRAP, RULE]);

    let mut second = script(&sealed, 2, "Mend the importer, please.");
    let message = "Keep the last row of a CSV file without a newline in the importer";
    second.bash(&format!("git commit -am '{message}'"), "[main 1a2b3c4] Keep the last row");
    second.say("It is mended.");
    sealed.write_script(&second);
    sealed.sync();
    assert_eq!(titles(&sealed), [RULE]);

    // The question was sent only once, and another session does not change this.
    let about_commits = || {
        let asked = server.asked("/api/chat");
        asked.iter().filter(|body| body.to_string().contains("<work>")).count()
    };
    assert_eq!(about_commits(), 1);
    let mut third = script(&sealed, 3, "Tell me what the importer is for.");
    third.say("It reads stock lists.");
    sealed.write_script(&third);
    sealed.sync();
    assert_eq!((titles(&sealed), about_commits()), (vec![RULE.to_owned()], 1));
}

#[test]
fn commits_count_for_what_is_asked_also_while_the_model_cannot_be_reached() {
    let sealed = Sealed::with_mode(Mode::Private);
    // No server listens at this port, because it was closed.
    let host = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let path = sealed.dirs.config_file();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let config =
        format!("[llm]\nprovider = \"ollama\"\nmodel = \"tiny\"\nhost = \"http://{host}\"\n");
    std::fs::write(path, config).unwrap();
    let mut script = script(&sealed, 2, "Mend the importer, please.");
    script.bash(
        "git commit -am 'Keep the last row of a CSV file'",
        "[main 1a2b3c4] Keep the last row",
    );
    script.say("It is mended.");
    sealed.write_script(&script);
    let report = processor::sync::sync(&sealed.options()).unwrap();
    assert!(report.warnings[0].contains("nothing answers"), "{:?}", report.warnings);
    let home = sealed.dirs.project(sealed.tree.project);
    let name = "20000000-0000-4000-8000-000000000000";
    let mined = processor::mining::last_mined(&home, name).unwrap();
    let remembered = processor::state::State::read(&home).sessions[name].mined.clone().unwrap();
    assert!(!mined.record.commits.is_empty());
    assert_eq!(remembered.digest, mined.summary(&[], true).digest);
    assert_ne!(remembered.digest, mined.summary(&[], false).digest);
}

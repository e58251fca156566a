//! Secrets in the records of a session, in other sessions and in the fields of a memory. A value that was recognised
//! once is hidden in all other places, earlier and later ones. The values are invented.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::scripts::{self, Script, Sealed, git, now};
use memory_store::recall::{Recall, Search};
use memory_store::redact::Redactor;
use memory_store::settings::Settings;
use memory_store::store::{Store, Stored};
use memory_store::{Kind, Memory, MemoryId};
use processor::collect::archive::Archive;
use processor::secrets::{SecretDecision, decide};
use processor::sync::sync;
use processor::transcript::SessionBuilder;
use processor::transcript::record::Record;
use processor::upkeep::audit::audit;
use processor::upkeep::purge::{PurgeTarget, purge};
use serde_json::json;

/// Returns the stored files that contain a secret, ignoring case, in their decompressed text or their name.
fn holding(sealed: &Sealed, secret: &str) -> Vec<String> {
    let secret = secret.to_ascii_lowercase();
    let files = sealed.files(|path| path.starts_with(".claude") || path.starts_with("work/.git"));
    let holds = |(path, bytes): (std::path::PathBuf, Vec<u8>)| {
        let mut text = Vec::new();
        if path.extension().is_some_and(|end| end == "gz") {
            flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut text).unwrap();
        } else {
            text = bytes;
        }
        let path = path.to_string_lossy().into_owned();
        let found = memchr::memmem::find(&text.to_ascii_lowercase(), secret.as_bytes());
        (found.is_some() || path.to_ascii_lowercase().contains(&secret)).then_some(path)
    };
    files.into_iter().filter_map(holds).collect()
}

/// Syncs, and returns the files that contain one of the secrets.
fn stored(sealed: &Sealed, secrets: &[&str]) -> Vec<String> {
    sync(&sealed.options()).unwrap();
    secrets.iter().flat_map(|secret| holding(sealed, secret)).collect()
}

/// Returns the texts of all memories, with their file names.
fn memories(sealed: &Sealed) -> String {
    let is_folder = |path: &Path| path.ends_with("memories") || path.ends_with("drafts");
    let files = sealed.files(|path| !path.parent().is_some_and(is_folder));
    let text = files
        .into_iter()
        .map(|(path, bytes)| format!("{}\n{}\n", path.display(), String::from_utf8_lossy(&bytes)));
    text.collect()
}

/// Returns the archived records of a session.
fn records(sealed: &Sealed, session: &str) -> String {
    let archive = Archive::open(&sealed.dirs.project(sealed.tree.project));
    serde_json::to_string(&archive.load(session).unwrap().unwrap().records).unwrap()
}

/// Adds a question by Claude, and an answer by the user that is none of the options.
fn asks(script: &mut Script, question: &str, options: &[&str], answer: &str) {
    let options: Vec<_> =
        options.iter().map(|label| json!({"label": label, "description": "as it is"})).collect();
    let questions = json!([{
        "question": question, "header": "Access", "options": options, "multiSelect": false,
    }]);
    let id = script.call("AskUserQuestion", json!({"questions": questions}));
    let told = format!(
        "User has answered your questions: \"{question}\"=\"{answer}\". You can now continue with \
         the user's answers in mind."
    );
    let structured = json!({"questions": questions, "answers": {question: answer}});
    script.result(&id, &told, structured);
}

/// Adds a commit in the form in which Claude makes it.
fn commits(script: &mut Script, subject: &str, reason: &str) {
    let command = format!("git commit -am \"{subject}\" -m \"{reason}\"");
    script.bash(&command, &format!("[main 1a2b3c4] {subject}\n 1 file changed, 2 insertions(+)"));
}

#[test]
fn the_answer_to_a_question_about_a_secret_is_hidden() {
    let asked = [
        ("What is the password of the staging database for the importer?", "vR4kTw81Lmqz"),
        ("Which passphrase should the backup key of the archive server get?", "quillthornbasket"),
        (
            "What is the Sendgrid API key that the mailer should use for receipts?",
            "Mailgrove-77-Xu",
        ),
        ("Please enter the PIN of the payment terminal in the test lab", "739251"),
        (
            "What token should the deploy job of the Helm chart send to the registry?",
            "it's Brackenfell2290",
        ),
    ];
    for (question, answer) in asked {
        let sealed = Sealed::new();
        let mut script = Script::new("s1", sealed.root());
        script.prompt("Please set up the database, the mailer and the registry for the importer.");
        asks(&mut script, question, &["I have none", "Generate one"], answer);
        script.say("Thank you. I use it from here on and write the settings of the importer.");
        sealed.write_script(&script);
        let secret = answer.rsplit(' ').next().unwrap();
        assert_eq!(stored(&sealed, &[secret]), Vec::<String>::new(), "{question}");
        assert!(!memories(&sealed).contains("[redacted"), "{}", memories(&sealed));
    }
}

#[test]
fn the_answer_to_a_question_in_words_is_hidden() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("Please set up the database for the importer.");
    script.say("I need to log in for that. What is the password of the importer's database?");
    script.prompt("quillthornbasket");
    script.bash("./bin/login importer quillthornbasket", "logged in");
    script.say("It works. Shall I keep the password in the keyring?");
    script.prompt("yes, keep it there");
    sealed.write_script(&script);
    assert_eq!(stored(&sealed, &["quillthornbasket"]), Vec::<String>::new());
    assert!(records(&sealed, "s1").contains("yes, keep it there"));
}

#[test]
fn an_answer_to_a_request_is_hidden_two_prompts_later() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("Please set up the database for the importer.");
    script.say("I need the password of the importer's database to go on. Please send it.");
    script.prompt("one moment, I have to look it up");
    script.say("Take your time.");
    script.prompt("Here: hujfyb-9kynqe-byrBax. Do not write it down.");
    script.bash("./bin/login importer hujfyb-9kynqe-byrBax", "logged in");
    script.say("It works, and the importer starts with login-hujfyb-9kynqe-byrbax.");
    script.prompt("release it as v2-beta4 then");
    sealed.write_script(&script);
    assert_eq!(stored(&sealed, &["hujfyb-9kynqe-byrBax"]), Vec::<String>::new());
    assert!(records(&sealed, "s1").contains("release it as v2-beta4 then"));
}

#[test]
fn the_value_of_a_prompt_that_takes_back_a_secret_is_hidden() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("The password of the importer's database is Saddle-Lantern2047!");
    script.say("Thank you, I write it into the settings of the importer.");
    script.prompt("sorry, I meant copper-thistle-walnut-gravel");
    script.say("I changed it. Shall I release the importer?");
    script.prompt("wait, release it as v2-beta4 then");
    sealed.write_script(&script);
    let secrets = ["Saddle-Lantern2047", "copper-thistle-walnut-gravel"];
    assert_eq!(stored(&sealed, &secrets), Vec::<String>::new());
    assert!(records(&sealed, "s1").contains("wait, release it as v2-beta4 then"));
}

#[test]
fn what_a_command_prints_that_prints_a_secret_is_hidden() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("Let the job read the password of the shop's database.");
    script.bash("pass show shop/db", "granite-pepper-falcon-maple-19\n");
    script.bash("kubectl get secret db -o jsonpath='{.data.pw}' | base64 -d", "Cobalt2013!");
    script.bash(
        "argocd admin initial-password",
        "V4RKc4skpyPbOU6v\n\n This password must be changed.",
    );
    script.bash("pass show other/db", "Error: other/db is not in the password store.");
    script.bash("./bin/shop --as granite-pepper-falcon-maple-19", "ok");
    sealed.write_script(&script);
    let secrets = ["granite-pepper-falcon-maple-19", "Cobalt2013!", "V4RKc4skpyPbOU6v"];
    assert_eq!(stored(&sealed, &secrets), Vec::<String>::new());
    let kept = records(&sealed, "s1");
    assert!(kept.contains("This password must be changed."), "{kept}");
    assert!(kept.contains("Error: other/db is not in the password store."), "{kept}");
}

#[test]
fn what_a_file_of_a_secret_holds_and_what_replaces_a_secret_is_hidden() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("Please change the passwords of the shop.");
    let id = script.call("Read", json!({"file_path": "/home/ada/.vault_pass"}));
    script.result(&id, "1\tLampComet8812!", json!({"type": "text"}));
    let id = script.call("Read", json!({"file_path": "/etc/shop/secrets/mode"}));
    script.result(&id, "1\tproduction", json!({"type": "text"}));
    script.bash("cat shop.yml", "password: granite-pepper-falcon-maple-19\n");
    script.edit("shop.yml", "granite-pepper-falcon-maple-19", "walnut-lantern-orchid-copper-7");
    let content = json!({"file_path": "secrets/mail_password", "content": "Wq7Lp2xZ9kTv"});
    script.call("Write", content);
    script.edit("shop.yml", "size: 1", "velvet-magnet-bridge-canyon-4");
    sealed.write_script(&script);
    let secrets =
        ["LampComet8812!", "granite-pepper-falcon", "walnut-lantern-orchid", "Wq7Lp2xZ9kTv"];
    assert_eq!(stored(&sealed, &secrets), Vec::<String>::new());
    let kept = records(&sealed, "s1");
    assert!(kept.contains("production") && kept.contains("velvet-magnet-bridge"), "{kept}");
}

#[test]
fn a_choice_about_secrets_stays_what_it_is() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("Please add the login to the importer, as the ticket says.");
    let question = "Which hash should the password table of the `importer` use for new users?";
    asks(&mut script, question, &["Argon2id", "bcrypt"], "Argon2id");
    let question = "In which `importer` store should access tokens be kept between two runs?";
    asks(&mut script, question, &["A file", "The keyring"], "In the keyring of the desktop");
    script.say("I will use that.");
    sealed.write_script(&script);
    sealed.sync();
    let kept = records(&sealed, "s1");
    assert!(kept.contains("Argon2id"), "{kept}");
    assert!(kept.contains("In the keyring of the desktop"), "{kept}");
}

/// Adds the value in all places in which a value can be used.
fn uses(script: &mut Script, secret: &str) {
    let root = script.cwd.clone();
    script.say(&format!("I seed the installer with {secret} and write the migration for it."));
    commits(
        script,
        &format!("Seed the operators from {secret}"),
        &format!(
            "The installer needs one, so {secret} is used because operators know it by heart."
        ),
    );
    let failing = "./bin/login operator";
    script.bash_fails(failing, "error: login refused for operator: credentials expected");
    let cure = format!("./bin/login operator {secret}");
    script.bash(&cure, "logged in");
    script.bash(failing, "logged in");
    script.edit(
        &format!("{root}/src/seed_{secret}.rs"),
        "let seed = None;",
        &format!("let seed = Some(\"{secret}\"); // \\n{secret}\\n"),
    );
    script.bash("./bin/show", &format!("operator\t\u{1b}[32m{secret}\u{1b}[0m\tactive"));
    script.block(json!({"type": "thinking", "thinking": format!("So {secret} opens the panel.")}));
    let id = script.call("mcp__panel__open", json!({"path": format!("/seed/{secret}/open")}));
    script.result(&id, &format!("{{\"opened\":\"{secret}\"}}"), json!({}));
    script.prompt(&format!(
        "Good. From now on keep {secret} for the seed, because operators know it."
    ));
    script.say(&format!("We decided to keep {secret} for the seed because operators know it."));
}

#[test]
fn a_secret_stated_first_is_hidden_in_all_later_texts() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("The operator password is Brightotter7714");
    uses(&mut script, "Brightotter7714");
    sealed.write_script(&script);
    assert_eq!(stored(&sealed, &["Brightotter7714"]), Vec::<String>::new());
    assert!(memories(&sealed).contains("[redacted:known-secret]"), "{}", memories(&sealed));
}

#[test]
fn a_secret_stated_last_is_hidden_in_all_earlier_texts() {
    let at_once = Sealed::new();
    let sliced = Sealed::new();
    for (sealed, slices) in [(&at_once, false), (&sliced, true)] {
        let mut script = Script::new("s1", sealed.root());
        script.prompt("Please look at how the operators log in.");
        uses(&mut script, "Brightotter7714");
        if slices {
            sealed.write_script(&script);
            assert!(!stored(sealed, &["Brightotter7714"]).is_empty(), "nobody said what it is");
        }
        script.prompt("By the way, the password is Brightotter7714. Do not tell anybody.");
        script.say("I will not.");
        sealed.write_script(&script);
        assert_eq!(stored(sealed, &["Brightotter7714"]), Vec::<String>::new(), "{slices}");
    }
    assert_eq!(memories(&sliced), memories(&at_once));
    let kept = |sealed: &Sealed| records(sealed, "s1").replace(sealed.root(), "ROOT");
    assert_eq!(kept(&sliced), kept(&at_once));
}

/// Syncs a first session with a value that was not called a secret, so that the value is stored.
fn stored_bare(sealed: &Sealed) {
    let mut first = Script::new("s1", sealed.root());
    first.prompt("Please look at how the operators log in.");
    uses(&mut first, "Brightotter7714");
    sealed.write_script(&first);
    assert!(!stored(sealed, &["Brightotter7714"]).is_empty());
}

#[test]
fn a_later_session_cleans_what_earlier_ones_stored() {
    let sealed = Sealed::new();
    stored_bare(&sealed);
    // A receipt as hooks write it.
    let state = sealed.dirs.tree(&sealed.tree.root);
    let receipts = state.receipts("2026-11-20");
    fs::create_dir_all(receipts.parent().unwrap()).unwrap();
    fs::write(&receipts, "{\"why\":\"Brightotter7714\"}\n").unwrap();

    let mut second = Script::new("s2", sealed.root()).starting("2026-11-20T15:00:00Z");
    second.prompt("Change the panel. Its password is Brightotter7714.");
    second.say("Done.");
    sealed.write_script(&second);
    assert_eq!(stored(&sealed, &["Brightotter7714"]), Vec::<String>::new());
    // The value is still known after all its sources were removed.
    let mut third = Script::new("s3", sealed.root()).starting("2026-11-20T18:00:00Z");
    third.prompt("Please look at how the operators log in once more.");
    uses(&mut third, "Brightotter7714");
    sealed.write_script(&third);
    assert_eq!(stored(&sealed, &["Brightotter7714"]), Vec::<String>::new());
    // The start of the next session announces the cleaning once.
    let notice = fs::read_to_string(&state.secret_notice).unwrap();
    assert!(notice.contains("cleaned"), "{notice}");
}

/// Returns a memory that the user saved. A later session calls a value in it a password.
fn saved_with_value(sealed: &Sealed) -> Stored {
    let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
    let title = "Operators all have brightotter7714";
    let body = "It is Brightotter7714 on every panel.";
    let mut memory = Memory::new(MemoryId([3; 16]), Kind::Fact, title, body, now());
    memory.tags.push("brightotter7714".into());
    // The user was warned about a likely password, and declared that it is not one.
    let store = store.accepting_credentials();
    let saved = store.save(memory, &Redactor::default(), now()).unwrap().stored;
    // File names omit such a word; file names of an earlier version did not.
    let path = saved.path.with_file_name("operators-all-have-brightotter7714-303030.md");
    fs::rename(&saved.path, &path).unwrap();
    Stored { path, ..saved }
}

fn write_password_session(sealed: &Sealed) {
    let mut script = Script::new("s2", sealed.root()).starting("2026-11-20T15:00:00Z");
    script.prompt("Change the panel. Its password is Brightotter7714.");
    script.say("I try Brightotter7714 there and change it.");
    sealed.write_script(&script);
}

/// Returns titles and texts of all memories in the form in which hooks would print them.
fn given(sealed: &Sealed) -> String {
    let search = Search { text: "operators panel".into(), limit: 9, ..Search::default() };
    let recall = Recall::open(&sealed.dirs, &sealed.tree, None);
    let hits = recall.search(&search, now()).hits;
    hits.iter().map(|hit| format!("{}\n{}\n", hit.title, hit.text)).collect()
}

#[test]
fn a_person_s_memory_is_not_changed_before_they_decide() {
    for decision in [SecretDecision::Keep, SecretDecision::Hide] {
        let sealed = Sealed::new();
        let saved = saved_with_value(&sealed);
        let before = fs::read(&saved.path).unwrap();
        sealed.sync();
        write_password_session(&sealed);
        let report = sync(&sealed.options()).unwrap();
        let proposed =
            |told: &String| told.contains("1 memory of yours") && told.contains("`harmless`");
        assert!(report.warnings.iter().any(proposed), "{:?}", report.warnings);
        assert_eq!(fs::read(&saved.path).unwrap(), before);
        // The memory is not printed, and no other text counts as a secret.
        assert!(!given(&sealed).to_lowercase().contains("brightotter"), "{}", given(&sealed));
        assert!(records(&sealed, "s2").contains("I try Brightotter7714 there"));
        let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
        let mut redactor = store.redactor(&Settings::default());
        redactor.only_known = true;
        let proposals = store.proposals(&redactor, &|_| false).unwrap();
        assert_eq!(proposals.len(), 1);
        // Another sync does not change it either.
        sealed.sync();
        assert_eq!(fs::read(&saved.path).unwrap(), before);

        let home = sealed.dirs.project(sealed.tree.project);
        let decide = || decide(&sealed.dirs, &home, (&store, &redactor), &proposals[0], decision);
        let stored = decide().unwrap().unwrap();
        sync(&sealed.options()).unwrap();
        match decision {
            SecretDecision::Keep => {
                assert_eq!(fs::read(&saved.path).unwrap(), before);
                assert!(given(&sealed).contains("Operators all have brightotter7714"));
                assert!(records(&sealed, "s2").contains("I try Brightotter7714 there"));
            }
            SecretDecision::Hide => {
                let text = fs::read_to_string(&stored.path).unwrap();
                assert!(text.contains("Operators all have [redacted:known-secret]"), "{text}");
                assert_eq!(holding(&sealed, "Brightotter7714"), Vec::<String>::new());
            }
        }
        assert_eq!(store.proposals(&redactor_of(&store), &|_| false).unwrap().len(), 0);
    }
}

fn redactor_of(store: &Store) -> Redactor {
    Redactor { only_known: true, ..store.redactor(&Settings::default()) }
}

/// Only one page, one line of output, and an identifier that resembles a password are changed.
#[test]
fn what_a_page_or_a_tool_calls_a_password_is_hidden_there_alone() {
    let sealed = Sealed::new();
    let git = |arguments: &[&str]| git(&sealed.tree.root, arguments);
    git(&["init", "-q", "-b", "main"]);
    fs::write(sealed.tree.root.join("queue.rs"), "struct Kq7vLm2xRt9Wz;\n").unwrap();
    git(&["add", "queue.rs"]);
    git(&["commit", "-q", "-m", "queue"]);
    let mut first = Script::new("s1", sealed.root());
    first.prompt(
        "From now on deploy with Zx4pNq8TvB2mK, and start TicketQueue47 before Kq7vLm2xRt9Wz.",
    );
    first.say("I do.");
    sealed.write_script(&first);
    sealed.sync();
    let before = (memories(&sealed), records(&sealed, "s1"));
    let mut second = Script::new("s2", sealed.root()).starting("2026-11-20T15:00:00Z");
    second.prompt("Read the page, please.");
    let id = second.call("WebFetch", json!({"url": "https://wiki.example.org", "prompt": "read"}));
    second.result(
        &id,
        "<password>TicketQueue47</password> <password>Zx4pNq8TvB2mK</password> \
         <password>Kq7vLm2xRt9Wz</password>",
        json!({}),
    );
    second.say("The page names Zx4pNq8TvB2mK, TicketQueue47 and Kq7vLm2xRt9Wz.");
    // The user calls a name of the project a password.
    second.prompt("The password is Kq7vLm2xRt9Wz.");
    sealed.write_script(&second);
    sealed.sync();
    assert_eq!((memories(&sealed), records(&sealed, "s1")), before);
    let kept = records(&sealed, "s2");
    assert!(!kept.contains("<password>TicketQueue47"), "{kept}");
    // A value that looks random is hidden in the session in which it was found, unless the project contains it.
    assert!(
        kept.contains("names [redacted:known-secret], TicketQueue47 and Kq7vLm2xRt9Wz"),
        "{kept}"
    );
}

#[test]
fn what_a_file_or_store_of_credentials_contains_is_hidden_in_other_sessions() {
    let sealed = Sealed::new();
    let mut first = Script::new("s1", sealed.root());
    first.prompt("Look at the settings of the shop.");
    first.bash("cat .env", "SHOP_PASSWORD=Kq7vLm2xRt9Wz\n");
    first.bash("cat docker-compose.yml", "  password: Hb3nQw8TvL5zR\n");
    let id = first.call("Read", json!({"file_path": "/home/ada/.netrc"}));
    first.result(
        &id,
        "machine a.example login ada password Wd6rJs2PxC9vT",
        json!({"type": "text"}),
    );
    sealed.write_script(&first);
    let values = ["Kq7vLm2xRt9Wz", "Wd6rJs2PxC9vT", "Hb3nQw8TvL5zR"];
    let mut second = Script::new("s2", sealed.root()).starting("2026-11-20T15:00:00Z");
    second.prompt("Go on, please.");
    second.say(&format!("I tried {}.", values.join(", ")));
    sealed.write_script(&second);
    sync(&sealed.options()).unwrap();
    let kept = records(&sealed, "s2");
    assert_eq!(values.map(|value| kept.contains(value)), [false, false, true], "{kept}");
}

#[test]
fn no_remembered_data_reveals_a_secret() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("The operator password is Brightotter7714");
    sealed.write_script(&script);
    sealed.sync();
    let key = sealed.dirs.secrets_key();
    let values = sealed.dirs.project(sealed.tree.project).known_secrets;
    for file in [&key, &values] {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    // Without the key, a guess cannot be verified.
    let before = fs::read_to_string(&values).unwrap();
    let other = Sealed::new();
    other.write_script(&{
        let mut script = Script::new("s1", other.root());
        script.prompt("The operator password is Brightotter7714");
        script
    });
    other.sync();
    let after = other.dirs.project(other.tree.project).known_secrets;
    assert_ne!(before, fs::read_to_string(after).unwrap());
    // If the key is lost, only the known secrets are lost.
    fs::remove_file(&key).unwrap();
    sealed.sync();
    let mut script = Script::new("s2", sealed.root()).starting("2026-11-20T15:00:00Z");
    script.prompt("The password is Brightotter7714 again.");
    script.bash("./bin/login Brightotter7714", "logged in");
    sealed.write_script(&script);
    assert_eq!(stored(&sealed, &["Brightotter7714"]), Vec::<String>::new());
}

/// Files that are unreadable when a secret becomes known: an archived session of a later version, a memory file that is
/// temporarily invalid, and a folder at the path of a log.
#[test]
fn what_could_not_be_searched_is_named_and_cleaned_by_a_later_sync() {
    let sealed = Sealed::new();
    stored_bare(&sealed);
    let project = sealed.dirs.project(sealed.tree.project);
    let archived = Archive::open(&project).path("s1");
    let sound = fs::read(&archived).unwrap();
    let mut later = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    later.write_all(b"{\"format\":99,\"session\":{\"id\":1},\"sources\":{}}\n").unwrap();
    fs::write(&archived, later.finish().unwrap()).unwrap();
    // The transcript is deleted, so only the archive contains the session.
    fs::remove_file(sealed.transcript("s1.jsonl")).unwrap();
    let memory = sealed.tree.store().join("memories/panels.md");
    fs::create_dir_all(memory.parent().unwrap()).unwrap();
    let text =
        "---\nid: 01k6h8m3v0c9f4t2r7x5n1b6qd\nkind: fact\n---\n# Panels\n\nBrightotter7714.\n";
    fs::write(&memory, text.replace("kind: fact", "kind: [fact")).unwrap();
    let inbox = sealed.dirs.tree(&sealed.tree.root).hook_log;
    drop(fs::remove_file(&inbox));
    fs::create_dir_all(&inbox).unwrap();

    let mut second = Script::new("s2", sealed.root()).starting("2026-11-20T15:00:00Z");
    second.prompt("Change the panel. Its password is Brightotter7714.");
    sealed.write_script(&second);
    let report = sync(&sealed.options()).unwrap();
    let named = |report: &processor::sync::SyncReport, path: &Path| {
        let path = path.display().to_string();
        report.warnings.iter().any(|told| told.contains("became known") && told.contains(&path))
    };
    for path in [&archived, &memory, &inbox] {
        assert!(named(&report, path), "{}: {:#?}", path.display(), report.warnings);
    }
    // While these files are unchanged, nothing is searched again.
    let again = sync(&sealed.options()).unwrap();
    assert!(!named(&again, &memory), "{:#?}", again.warnings);

    fs::write(&archived, sound).unwrap();
    fs::write(&memory, text).unwrap();
    fs::remove_dir(&inbox).unwrap();
    fs::write(&inbox, "it failed for Brightotter7714\n").unwrap();
    // The memory was written by hand, so the user decides.
    assert_eq!(stored(&sealed, &["Brightotter7714"]), ["work/.throughline/memories/panels.md"]);
    assert_eq!(fs::read_to_string(&memory).unwrap(), text);
}

/// If an id or a folder were changed, the record would lose its links.
#[test]
fn what_links_records_and_their_folders_stays_as_it_is() {
    let sealed = Sealed::new();
    let folder = format!("{}/Brightotter7714", sealed.root());
    let mut script = Script::new("Brightotter7714", &folder);
    script.prompt("Please look at how the operators log in with Brightotter7714.");
    script.bash("./bin/show Brightotter7714", "operator");
    let mut builder = SessionBuilder::new(&scripts::AsItIs);
    builder.read(script.text().as_bytes()).unwrap();
    let records = builder.records().to_vec();
    let home = sealed.dirs.project(sealed.tree.project);
    let secrets = processor::secrets::Secrets::open(&sealed.dirs, &home, &[], &[]).unwrap();
    assert!(secrets.known().learn("Brightotter7714"));
    let mut clean = records.clone();
    let known = secrets.known().clone();
    assert!(secrets.hide(known, &mut clean, &Redactor::default()).unwrap());
    let told = |records: &[Record]| {
        let json = |record: &Record| serde_json::to_value(record).unwrap();
        records.iter().map(json).collect::<Vec<_>>()
    };
    let mut links = 0;
    for (before, after) in told(&records).iter().zip(&told(&clean)) {
        for link in ["u", "p", "cwd", "id", "message"] {
            assert_eq!(before[link], after[link], "{link}");
            links += usize::from(before[link].to_string().contains("Brightotter7714"));
        }
    }
    assert!(links > 3, "{:?}", told(&records));
    let text = serde_json::to_string(&clean).unwrap();
    assert!(text.contains("log in with [redacted:known-secret]"), "{text}");
    assert!(text.contains("./bin/show [redacted:known-secret]"), "{text}");
}

/// A folder below the working tree may have any name.
#[test]
fn a_known_value_is_hidden_in_the_name_of_a_folder_below_the_working_tree() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("The operator password is Brightotter7714");
    script.say("I go on there.");
    script.cwd = format!("{}/seeds/Brightotter7714", sealed.root());
    script.prompt("Go on with the seed of the operators, please.");
    script.say("It is done.");
    sealed.write_script(&script);
    assert_eq!(stored(&sealed, &["Brightotter7714"]), Vec::<String>::new());
    let folder = format!("{}/seeds/[redacted:known-secret]", sealed.root());
    assert!(records(&sealed, "s1").contains(&folder), "{}", records(&sealed, "s1"));
}

#[test]
fn a_run_that_was_killed_before_it_cleaned_is_made_good() {
    let sealed = Sealed::new();
    stored_bare(&sealed);
    // The value becomes known without any other change.
    let home = sealed.dirs.project(sealed.tree.project);
    let known = processor::secrets::Secrets::open(&sealed.dirs, &home, &[], &[]).unwrap();
    assert!(known.known().learn("Brightotter7714"));
    known.save().unwrap();
    assert_eq!(stored(&sealed, &["Brightotter7714"]), Vec::<String>::new());
}

#[test]
fn everyday_values_are_not_spread() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt(
        "The test database has password: postgres and user admin, the other one has \
         password=changeme123 on localhost8080; API_KEY=development and TOKEN=release-2024-11.",
    );
    commits(
        &mut script,
        "Start postgres before the importer",
        "The importer needs postgres, so admin waits for changeme123 on localhost8080 in development \
         and release-2024-11.",
    );
    sealed.write_script(&script);
    sealed.sync();
    let text = records(&sealed, "s1");
    assert!(text.contains("Start postgres before the importer"), "{text}");
    let needs = "needs postgres, so admin waits for changeme123 on localhost8080 in development and \
                 release-2024-11.";
    assert!(text.contains(needs), "{text}");
}

#[test]
fn a_committed_secret_is_hidden_in_every_file_once_that_is_decided() {
    let sealed = Sealed::new();
    let git = |arguments: &[&str]| git(&sealed.tree.root, arguments);
    git(&["init", "-q", "-b", "main"]);
    let saved = saved_with_value(&sealed);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "memories"]);
    let before = fs::read(&saved.path).unwrap();
    write_password_session(&sealed);
    sync(&sealed.options()).unwrap();
    assert_eq!(fs::read(&saved.path).unwrap(), before, "it is committed");
    let store = Store::open(&sealed.dirs, &sealed.tree).unwrap();
    let (redactor, home) = (redactor_of(&store), sealed.dirs.project(sealed.tree.project));
    let proposal = store.proposals(&redactor, &|_| true).unwrap().remove(0);
    decide(&sealed.dirs, &home, (&store, &redactor), &proposal, SecretDecision::Hide)
        .unwrap()
        .unwrap();
    sync(&sealed.options()).unwrap();
    assert_eq!(holding(&sealed, "Brightotter7714"), Vec::<String>::new());
    let report = audit(&sealed.options(), false).unwrap().unwrap();
    assert_eq!(report.found, Vec::new());
}

#[test]
fn a_branch_that_is_called_like_a_secret_is_not_noted() {
    let sealed = Sealed::new();
    let token = format!("{}_{}", "ghp", "q7W2eR4tY6uI8oP0aS1dF3gH5jK7lZ9xC2vB");
    let run = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(&sealed.tree.root).args(arguments);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        assert!(git.status().unwrap().success());
    };
    run(&["init", "-q", "-b", &format!("try-{token}")]);
    let script = scripts::eventful("s1", sealed.root(), 1);
    sealed.write_script(&script);
    assert_eq!(stored(&sealed, &[&token]), Vec::<String>::new());
}

#[test]
fn a_purge_after_all_leaves_nothing_of_it() {
    let sealed = Sealed::new();
    let mut script = Script::new("s1", sealed.root());
    script.prompt("The operator password is Brightotter7714");
    uses(&mut script, "Brightotter7714");
    sealed.write_script(&script);
    sealed.sync();
    purge(&sealed.options(), &PurgeTarget::Session("s1".into())).unwrap().unwrap();
    assert_eq!(holding(&sealed, "Brightotter7714"), Vec::<String>::new());
    assert!(Path::new(&sealed.dirs.secrets_key()).exists());
}

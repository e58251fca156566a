//! A long history and a slow model. The newest sessions are read first, and each question is asked once even if syncs
//! are interrupted. A daily limit ends the questions but not the sync; in the background, so do battery power and load.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use journeys::chat_server::{Asked, ChatServer, TOKENS};
use journeys::hook_run::Moment;
use journeys::long_history::{LongHistory, decision_text, question};

/// Number of sessions of the history.
const SESSIONS: usize = 24;
/// Duration of the model's answers.
const TAKES: Duration = Duration::from_millis(40);
/// Number of kills of a sync.
const KILLS: usize = 12;

/// Pseudo-random numbers, the same in every run (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 1) % end.max(1)
    }
}

/// Returns how often the model was asked about each part.
fn times(asked: &[Asked]) -> BTreeMap<&str, usize> {
    let mut times = BTreeMap::new();
    for asked in asked {
        *times.entry(asked.said.as_str()).or_insert(0) += 1;
    }
    times
}

#[test]
fn a_kill_at_any_moment_costs_the_question_under_way() {
    let server = ChatServer::start(TAKES, false).unwrap();
    let history = LongHistory::new(SESSIONS, &server).unwrap();
    let mut random = Random(0x1000_0010);
    for _ in 0..KILLS {
        let mut sync = history.starts_sync().unwrap();
        sleep(Duration::from_millis(200 + random.below(600)));
        // An error is ignored, since the sync may have ended already.
        drop(sync.kill());
        sync.wait().unwrap();
    }
    history.run(&["sync"]).unwrap();
    let asked = server.asked();
    let times = times(&asked);
    assert_eq!(times.len(), SESSIONS);
    // If a sync is killed, the question in progress has no answer, and is asked again.
    let again: usize = times.values().map(|times| times - 1).sum();
    assert!(again <= KILLS, "{again} questions were put again after {KILLS} kills");
    // In the first pass, sessions are read from the newest to the oldest.
    let mut seen = Vec::new();
    for asked in &asked {
        if !seen.contains(&asked.said) {
            seen.push(asked.said.clone());
        }
    }
    let newest_first: Vec<String> = (0..SESSIONS).rev().map(decision_text).collect();
    assert_eq!(seen, newest_first);
    // No answer is lost, no question is repeated, and a hook injects the memory of the newest session.
    let before = server.asked().len();
    history.run(&["sync"]).unwrap();
    assert_eq!(server.asked().len(), before);
    let mut titles = history.titles().unwrap();
    titles.sort();
    let mut expected: Vec<String> = (0..SESSIONS).map(decision_text).collect();
    expected.sort();
    assert_eq!(titles, expected);
    let asks = Moment::prompt(&question(SESSIONS - 1));
    let given = asks.run(&history.environment, &history.root, "asks").unwrap().context();
    assert!(given.contains(&decision_text(SESSIONS - 1)), "{given}");
    assert_eq!(history.environment.wait_until_quiet(), Vec::<String>::new());
}

#[test]
fn a_day_s_bound_ends_the_questions_and_not_the_sync() {
    let server = ChatServer::start(Duration::ZERO, false).unwrap();
    let history = LongHistory::new(SESSIONS, &server).unwrap();
    let config = history.environment.home().join(".config/throughline/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let bound = 5 * (TOKENS.0 + TOKENS.1);
    let bounded = text.replace("[llm]\n", &format!("[llm]\ntokens_per_day = {bound}\n"));
    fs::write(&config, bounded).unwrap();

    for _ in 0..2 {
        let output = history.sync().output().unwrap();
        let (told, lines) = (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        );
        assert!(output.status.success(), "{told}{lines}");
        assert!(told.contains(&format!("bound of {bound} tokens is reached")), "{told}");
        assert!(told.contains("the rest waits for tomorrow"), "{told}");
        assert!(told.contains("19 sessions wait to be read by the model"), "{told}");
        assert_eq!(server.asked().len(), 5, "{lines}");
    }
    let asked: Vec<String> = server.asked().into_iter().map(|asked| asked.said).collect();
    let newest: Vec<String> = (SESSIONS - 5..SESSIONS).rev().map(decision_text).collect();
    assert_eq!(asked, newest);
    let status = history.run(&["status"]).unwrap();
    assert!(status.contains("19 sessions wait to be read"), "{status}");
    assert!(status.contains("bound for reading is reached"), "{status}");
    // On the next day, a sync continues the reading.
    let mut next = history.sync();
    next.env("THROUGHLINE_NOW", "2026-11-21T09:00:00Z");
    assert!(next.output().unwrap().status.success());
    let asked: Vec<String> = server.asked().into_iter().map(|asked| asked.said).collect();
    let newest: Vec<String> = (SESSIONS - 10..SESSIONS).rev().map(decision_text).collect();
    assert_eq!(asked, newest);
}

#[test]
fn progress_is_printed_in_lines_without_a_terminal() {
    let server = ChatServer::start(Duration::ZERO, false).unwrap();
    let history = LongHistory::new(SESSIONS, &server).unwrap();
    let lines = String::from_utf8(history.sync().output().unwrap().stderr).unwrap();
    assert!(lines.contains(&format!("asking 0/{SESSIONS}\n")), "{lines}");
    assert!(lines.contains(&format!("asking {SESSIONS}/{SESSIONS}\n")), "{lines}");
    let json = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let told = history.run(&["sync", "--rebuild", "--json"]).unwrap();
    assert_eq!(json(&told)[0]["asked_later"], 0, "{told}");
}

/// Writes the files from which the programs read a laptop's power and load.
fn describe_laptop(folder: &Path, is_plugged_in: bool, load: f64) {
    let supplies = folder.join("power_supply");
    let values = [
        ("AC/type", "Mains"),
        ("AC/online", if is_plugged_in { "1" } else { "0" }),
        ("BAT0/type", "Battery"),
        ("BAT0/status", if is_plugged_in { "Charging" } else { "Discharging" }),
    ];
    for (file, value) in values {
        let file = supplies.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{value}\n")).unwrap();
    }
    fs::write(folder.join("loadavg"), format!("{load:.2} 0.50 0.40 1/500 4321\n")).unwrap();
}

#[test]
fn battery_and_load_end_the_questions_of_the_background_alone() {
    const BUSY: f64 = 900.0;
    let server = ChatServer::start(Duration::ZERO, false).unwrap();
    let history = LongHistory::new(4, &server).unwrap();
    let laptop = history.environment.path().join("laptop");
    let run = |program: &str, arguments: &[&str]| {
        let mut command = history.environment.command(history.environment.binary(program));
        command.current_dir(&history.root).env("THROUGHLINE", "full");
        let output =
            command.env(testutils::MACHINE_VARIABLE, &laptop).args(arguments).output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).unwrap();
        assert!(output.status.success(), "{program} {arguments:?}: {told}");
        told
    };
    describe_laptop(&laptop, true, 0.0);
    let status: serde_json::Value =
        serde_json::from_str(&run("throughline", &["status", "--json"])).unwrap();
    let project = status["project"].as_str().unwrap();
    let in_background =
        || run("throughline-processor", &["sync", "--project", project, "--background"]);

    for (is_plugged_in, load, why) in [
        (false, 0.0, "reading paused: on battery"),
        (true, BUSY, "reading paused: other programs keep the processors busy"),
    ] {
        describe_laptop(&laptop, is_plugged_in, load);
        in_background();
        assert_eq!(server.asked().len(), 0, "{why}");
        let status = run("throughline", &["status"]);
        assert!(status.contains(why) && status.contains("4 sessions wait"), "{status}");
        // The sessions can still be searched.
        assert!(run("throughline", &["search", "pulses"]).contains(&decision_text(3)), "{why}");
    }
    describe_laptop(&laptop, true, 0.0);
    assert!(!run("throughline", &["status"]).contains("paused"));
    in_background();
    assert_eq!(times(&server.asked()).len(), 4);

    // A sync that the user starts asks the model, and prints the note once.
    describe_laptop(&laptop, false, 0.0);
    let note = "The model is asked although it would pause in the background (on battery).";
    assert!(!run("throughline", &["sync"]).contains(note), "nothing is left to ask");
    let other = LongHistory::new(2, &server).unwrap();
    let asked = server.asked().len();
    let told = other.sync().env(testutils::MACHINE_VARIABLE, &laptop).output().unwrap().stderr;
    let told = String::from_utf8(told).unwrap();
    assert_eq!(told.matches(note).count(), 1, "{told}");
    assert!(server.asked().len() > asked, "{told}");
}

#[test]
fn the_pause_can_be_turned_off() {
    let server = ChatServer::start(Duration::ZERO, false).unwrap();
    let history = LongHistory::new(2, &server).unwrap();
    let config = history.environment.home().join(".config/throughline/config.toml");
    let text = fs::read_to_string(&config).unwrap();
    let never = text.replace("[llm]\n", "[llm]\npause = \"never\"\n");
    fs::write(&config, never).unwrap();
    let laptop = history.environment.path().join("laptop");
    describe_laptop(&laptop, false, 900.0);
    let status: serde_json::Value =
        serde_json::from_str(&history.run(&["status", "--json"]).unwrap()).unwrap();
    let program = history.environment.binary("throughline-processor");
    let mut command = history.environment.command(program);
    command.args(["sync", "--background", "--project", status["project"].as_str().unwrap()]);
    command.env("THROUGHLINE", "full").env(testutils::MACHINE_VARIABLE, &laptop);
    assert!(command.status().unwrap().success());
    assert_eq!(times(&server.asked()).len(), 2);
}

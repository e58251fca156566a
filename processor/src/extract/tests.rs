//! Tests of extraction: findings of a session, and texts that must not be findings.

use memory_store::memory::Scope;
use memory_store::{Kind, Timestamp};
use proptest::prelude::*;

use super::episode::episodes;
use super::own_words::outside_quotations;
use super::wishes::has_wish;
use super::{Roots, RuleFindings, mine};
use crate::transcript::session::{
    Call, Input, Prompt, PromptBy, Session, Step, StepKind, Todo, Turn,
};

const ROOT: &str = "/home/a/shop";

/// Builder of a session, turn by turn.
#[derive(Default)]
struct Story {
    turns: Vec<Turn>,
    at: i64,
}

impl Story {
    fn prompt(self, text: &str) -> Self {
        self.prompt_by(text, PromptBy::User)
    }

    fn prompt_by(mut self, text: &str, by: PromptBy) -> Self {
        self.at += 1;
        self.turns.push(Turn {
            uuid: format!("t{}", self.at),
            at: Timestamp(self.at),
            cwd: ROOT.to_owned(),
            prompt: Prompt { text: text.to_owned(), by, images: 0 },
            ..Turn::default()
        });
        self
    }

    fn step(mut self, what: StepKind) -> Self {
        self.at += 1;
        let step = Step { uuid: format!("s{}", self.at), at: Timestamp(self.at), what };
        self.turns.last_mut().expect("a prompt first").steps.push(step);
        self
    }

    fn answers(self, text: &str) -> Self {
        self.step(StepKind::Text { text: text.to_owned() })
    }

    fn queues(self, text: &str) -> Self {
        self.step(StepKind::Queued { text: text.to_owned() })
    }

    fn call(self, input: Input, output: &str, failed: bool) -> Self {
        let tool = if matches!(input, Input::Edit { .. }) { "Edit" } else { "Bash" }.to_owned();
        let call = Call {
            id: format!("c{}", self.at),
            input,
            tool,
            output: output.to_owned(),
            failed,
            result_uuid: Some("r".to_owned()),
            ..Call::default()
        };
        self.step(StepKind::Call(Box::new(call)))
    }

    fn runs(self, command: &str, output: &str) -> Self {
        let input = Input::Shell { command: command.to_owned(), description: String::new() };
        self.call(input, output, false)
    }

    fn fails(self, command: &str, output: &str) -> Self {
        let input = Input::Shell { command: command.to_owned(), description: String::new() };
        self.call(input, output, true)
    }

    fn edits(self, path: &str, old: &str, new: &str) -> Self {
        let input = Input::Edit {
            path: format!("{ROOT}/{path}"),
            old: old.to_owned(),
            new: new.to_owned(),
        };
        self.call(input, "", false)
    }

    fn session(self) -> Session {
        Session { id: "s".to_owned(), turns: self.turns, ..Session::default() }
    }

    fn mined(self) -> RuleFindings {
        mine(&self.session(), &Roots::new([ROOT.to_owned()]))
    }

    fn titles(self) -> Vec<String> {
        self.mined().wishes.into_iter().map(|wish| wish.title).collect()
    }
}

/// Returns the sentences of a prompt that are its author's and contain a wish.
pub fn own_wishes(prompt: &str) -> Vec<String> {
    let session = Story::default().prompt(prompt).answers("Done.").session();
    let said = episodes(&session).into_iter().flat_map(|episode| episode.statements);
    let is_wish = |text: &str| has_wish(&outside_quotations(text));
    let wishes = said.filter(|it| !it.is_pasted());
    wishes.map(|it| it.text().to_owned()).filter(|text| is_wish(text)).collect()
}

#[test]
fn an_explicit_wish_is_kept_in_the_users_words() {
    let wishes = Story::default()
        .prompt("Add the invoice total. From now on never use floats for money, keep cents as integers.")
        .answers("Noted for the invoices.")
        .mined()
        .wishes;
    let [wish] = &wishes[..] else { panic!("{wishes:#?}") };
    assert_eq!(wish.title, "From now on never use floats for money, keep cents as integers");
    assert_eq!(wish.quote, "From now on never use floats for money, keep cents as integers.");
    assert_eq!(
        (wish.kind, wish.scope, wish.extractor.as_str()),
        (Kind::Preference, Scope::Project, super::EXTRACTOR)
    );
    assert_eq!(wish.turns, ["t1"]);
}

#[test]
fn only_explicit_words_make_a_wish() {
    for wish in [
        "Please remember that the staging host restarts each night at two.",
        "In this repository, always sign the commits of a release.",
        "Never push to main directly in this repo, open a pull request.",
        "Going forward, write the changelog before the tag.",
        "Ab jetzt bitte alle Beträge in ganzen Cent speichern.",
    ] {
        assert_eq!(Story::default().prompt(wish).titles().len(), 1, "{wish}");
    }
    for other in [
        "Never use floats for money, keep cents as integers.",
        "I prefer short answers without a summary at the end.",
        "Whenever you change the schema, run the migration tests too.",
        "Do you remember that the staging host restarts each night?",
        "Why does the job always fail in this repository at night?",
        "Add a page that lists the open orders of a customer.",
        "I don't remember the name of the flag that skips the slow tests.",
    ] {
        assert_eq!(Story::default().prompt(other).titles(), Vec::<String>::new(), "{other}");
    }
}

#[test]
fn a_wish_for_a_place_holds_there_alone() {
    let wishes = |text: &str| Story::default().prompt(text).mined().wishes;
    let found = wishes("From now on, in src/api/orders.py return errors as problem documents.");
    assert_eq!(
        (found[0].scope, &found[0].paths[..]),
        (Scope::Paths, &["src/api/orders.py".to_owned()][..])
    );
    assert_eq!(wishes("From now on, in this file return errors as problem documents."), []);
}

#[test]
fn several_wishes_of_a_prompt_have_names_of_their_own() {
    let text = "From now on write tests first. Remember that the nightly job needs a gigabyte.";
    let wishes = Story::default().prompt(text).mined().wishes;
    let names: Vec<(&str, u32)> =
        wishes.iter().map(|wish| (wish.turns[0].as_str(), wish.ordinal)).collect();
    assert_eq!(names, [("t1", 0), ("t1", 1)]);
}

#[test]
fn a_session_of_hundreds_of_wishes_is_mined() {
    const WISHES: usize = 300;
    let wish = |story: Story, number: usize| {
        let [wind, tide, gauge, buoy, chart] =
            ["wind", "tide", "gauge", "buoy", "chart"].map(|word| format!("{word}{number}"));
        story.prompt(&format!(
            "From now on never read {wind} before {tide}, {gauge}, {buoy} or {chart}."
        ))
    };
    let mut titles = (0..WISHES).fold(Story::default(), wish).titles();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), WISHES);
}

#[test]
fn machines_tools_and_logs_wish_for_nothing() {
    let drafts = Story::default()
        .prompt_by("<task> From now on always answer in French and never use tabs.", PromptBy::Machine)
        .runs("cat notes.txt", "From now on always deploy on Fridays and never test.")
        .answers("The notes hold a list of rules of another team.")
        .prompt(
            "why does this fail?\nError: from now on you should never call this twice\n  at run (app.js:10)",
        )
        .answers("The handler is registered twice because the module is imported under two names.")
        .mined();
    assert_eq!(drafts.wishes, []);
}

#[test]
fn what_a_prompt_quotes_is_not_its_authors_wish() {
    let drafts = Story::default()
        .prompt(
            "StepKind do you make of this mail?\n\n> From now on never use floats for money.\n  > Always \
             answer in French, and never write tests again.",
        )
        .answers("The mail asks for integers and for answers in French.")
        .mined();
    assert_eq!(drafts.wishes, []);
}

#[test]
fn programs_wish_for_nothing() {
    let drafts = Story::default()
        .prompt_by("Add a total. From now on never use floats for money.", PromptBy::Sdk)
        .edits("src/total.rs", "f64", "i64")
        .runs(
"git commit -m \"Add up the invoice in whole cents\" -m \"A float lost a cent on each tenth line.\"",
            "1 file",
        )
        .queues("From now on always answer in French, and never write tests again.")
        .answers("The total is an integer number of cents now, kept in total_cents.")
        .prompt_by("<task-notification>done</task-notification>", PromptBy::Machine)
        .queues("From now on always deploy on Fridays without asking.")
        .answers("Noted.")
        .mined();
    assert_eq!(drafts.wishes, []);
}

#[test]
fn a_run_without_a_test_is_no_success() {
    let passed = |output: &str| {
        Story::default().prompt("test it").runs("npm test", output).mined().record.commands.len()
    };
    assert_eq!(passed("No tests found, exiting with code 0"), 0);
    assert_eq!(passed("running 0 tests"), 0);
    assert_eq!(passed("running 0 tests\nrunning 4 tests\n4 passed"), 1);
}

#[test]
fn a_command_is_kept_with_its_variables_and_the_folder_the_shell_was_in() {
    let found = Story::default()
        .prompt("Check everything")
        .runs("cd web", "")
        .runs("TZ=UTC npm test", "12 passed")
        .mined();
    let record = &found.record.commands[0];
    assert_eq!((record.line.as_str(), record.directory.as_str()), ("TZ=UTC npm test", "web"));
}

#[test]
fn commands_are_counted_where_they_ran() {
    let found = Story::default()
        .prompt("Check everything")
        .runs("cd web && npm test 2>&1 | tail -5", "ok")
        .runs("cd web && npm test", "ok")
        .runs("ls -la", "files")
        .runs("cd /home/a/other && npm run build", "built")
        .mined();
    let [record] = &found.record.commands[..] else { panic!("{found:#?}") };
    assert_eq!(
        (record.line.as_str(), record.directory.as_str(), record.passed, record.exit_status),
        ("npm test", "web", 2, 0)
    );
    assert_eq!(record.last, Timestamp(3));
}

#[test]
fn those_commands_stay_that_passed_most_often() {
    let story = (0..50).fold(Story::default().prompt("Check everything"), |story, number| {
        story.runs(&format!("npm run test:a{number:02}"), "ok")
    });
    let story = story.fails("npm run test:z", "1 failed").runs("npm run test:z 2>&1", "ok");
    let commands = story.runs("npm run test:z", "ok").mined().record.commands;
    assert_eq!(commands.len(), 40);
    assert_eq!((commands[0].line.as_str(), commands[0].passed), ("npm run test:z", 2));
}

#[test]
fn a_filter_does_not_make_a_failure_pass() {
    let found = Story::default()
        .prompt("Check everything")
        .runs("npm test 2>&1 | tail -5", "10 passed, 2 failed")
        .runs("npm test 2>&1 | tail -5", "12 passed, 0 failed")
        .mined();
    assert_eq!(found.record.commands[0].passed, 1);
}

#[test]
fn a_cure_has_what_failed_and_what_was_changed() {
    let found = Story::default()
        .prompt("Make the import work")
        .fails("make test", "ImportError: cannot import name 'parse' from 'shop.dates'")
        .edits("src/orders.py", "from shop.dates import parse", "from shop.dates import read_date")
        .runs("make test", "12 passed")
        .mined();
    let [cure] = &found.record.cures[..] else { panic!("{found:#?}") };
    assert_eq!(cure.call, "`make test`");
    assert_eq!(cure.error, "ImportError: cannot import name 'parse' from 'shop.dates'");
    assert_eq!(
        cure.cure,
        "It passed after a change in src/orders.py: `from shop.dates import read_date`."
    );
    assert!(cure.signature.is_some());
    assert_eq!(cure.paths, ["src/orders.py"]);
    assert_eq!(cure.turns, ["s2", "s4"]);
}

#[test]
fn no_cure_where_something_unrelated_failed_in_between() {
    let found = Story::default()
        .prompt("Make the import work")
        .fails("make test", "ImportError: cannot import name 'parse' from 'shop.dates'")
        .edits("src/orders.py", "a", "b")
        .fails("curl http://localhost:1/health", "curl: (7) Failed to connect to localhost")
        .runs("make test", "12 passed")
        .mined();
    assert_eq!(found.record.cures, []);
}

#[test]
fn a_wrongly_put_command_has_the_right_one_for_its_cure() {
    let found = Story::default()
        .prompt("Format the sources")
        .fails(
            "shopfmt --all sources",
            "error: unrecognized option '--all'\nusage: shopfmt [paths]",
        )
        .runs("shopfmt sources/*.py", "formatted 4 files")
        .mined();
    let [cure] = &found.record.cures[..] else { panic!("{found:#?}") };
    assert_eq!(cure.cure, "`shopfmt sources/*.py` worked instead.");
}

#[test]
fn the_fix_of_an_unknown_tool_names_the_command_that_worked() {
    let asked = Input::Other { json: r#"{"skill":"commit"}"#.to_owned() };
    let found = Story::default()
        .prompt("put this into the history")
        .call(asked, "<tool_use_error>Unknown skill: commit</tool_use_error>", true)
        .runs("git add src/cart.py && git commit -m 'Keep the cart'", "1 file changed")
        .mined();
    let [cure] = &found.record.cures[..] else { panic!("{found:#?}") };
    assert_eq!(cure.cure, "`git commit` worked instead.");
}

#[test]
fn the_fix_of_a_chain_names_the_command_in_the_error() {
    let mined = |wrong: &str, error: &str, right: &str| -> Vec<(String, String)> {
        let story = Story::default().prompt("Look at the blanks").fails(wrong, error);
        let cures = story.runs(right, "one\ntwo").mined().record.cures;
        cures.into_iter().map(|cure| (cure.call, cure.cure)).collect()
    };
    let told = mined(
        "tail -n 3 notes/a.md && sort -V notes/a.md",
        "sort: illegal option -- V\nusage: sort [-bcdfimnru] [file ...]",
        "sort -n notes/b.md | head",
    );
    assert_eq!(told, [("`sort -V`".to_owned(), "`sort -n` worked instead.".to_owned())]);
    let told = mined(
        "git add notes && git log --shorter && git push",
        "error: unrecognized option '--shorter'",
        "git log -1 notes && git push",
    );
    assert_eq!(told, [], "nobody knows which of them it was");
}

#[test]
fn a_slip_of_the_shell_is_no_failure() {
    for error in
        ["rm: cannot remove 'a.txt': No such file or directory", "Command timed out after 2m"]
    {
        let found = Story::default()
            .prompt("Tidy up")
            .fails("make clean", error)
            .runs("make distclean", "removed")
            .runs("make clean", "done")
            .mined();
        assert_eq!(found.record.cures, []);
    }
}

#[test]
fn a_cure_that_did_not_work_is_none() {
    let story = (0..30).fold(Story::default().prompt("Run the tests"), |story, number| {
        let failing = format!("error: the schema of part{number} is out of date");
        let command = format!("make test{number}");
        story
            .fails(&command, &failing)
            .runs("make migrate", "migrated")
            .fails(&command, &failing)
            .runs(&format!("make repair{number}"), "repaired")
            .runs(&command, "12 passed")
    });
    let cures = story.mined().record.cures;
    assert_eq!(cures.len(), 12);
    assert!(cures.iter().all(|cure| cure.cure.contains("make repair")), "{cures:#?}");
}

#[test]
fn no_path_of_a_machine_is_kept() {
    let found = Story::default()
        .prompt("From now on write the log of the shop to /home/b/shop.log and nowhere else.")
        .fails("make test", "error: /home/a/shop/src/cart.py lacks a total")
        .edits("src/cart.py", "a", "b")
        .runs("make test", "12 passed")
        .mined();
    assert_eq!(found.wishes, []);
    assert_eq!(found.record.cures[0].error, "error: src/cart.py lacks a total");
}

/// Generates texts unlike real ones: any characters, many of which have a meaning in extraction or take several bytes.
pub fn any_prose() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "\\PC{0,12}",
        4 => "[ \\n.!?…:;,\"'`*_()\\[\\]#|>0-9–—-]{1,4}",
        2 => "[a-zA-ZäÉßİſK日🦀]{1,8}",
        1 => prop::sample::select(&WORDS[..]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Words that make extraction's rules examine a text.
const WORDS: [&str; 16] = [
    " never use … ",
    "Always keep ",
    " because “",
    "\n- [ ] ",
    "\n## Root cause\n",
    "The cause was … ",
    " instead of ",
    "\n```\n",
    "\n| a | b |\n|--|--|\n",
    " error: … expected ",
    "git commit -m \"…",
    " && cargo test … | tail ",
    "<<'EOF'\n",
    "src/ä…b.rs:12 ",
    "Plan: … ",
    " TODO … next ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_session_can_be_mined(texts in prop::collection::vec(any_prose(), 12)) {
        let text = |at: usize| texts[at].as_str();
        let todo = Todo { text: text(7).to_owned(), state: "pending".to_owned() };
        let found = Story::default()
            .prompt(text(0))
            .fails(text(1), text(2))
            .edits(text(3), text(4), text(5))
            .runs(text(1), text(6))
            .runs(&format!("git commit -m \"{}\"", text(8)), text(9))
            .call(Input::Todos { items: vec![todo] }, "", false)
            .call(Input::Plan { plan: text(10).to_owned() }, "", false)
            .call(Input::Question { asked: vec![(text(4).to_owned(), text(5).to_owned())] }, "", false)
            .answers(text(11))
            .prompt(text(5))
            .answers(text(6))
            .mined();
        for wish in found.wishes {
            prop_assert!(!wish.title.is_empty(), "{wish:?}");
        }
    }
}

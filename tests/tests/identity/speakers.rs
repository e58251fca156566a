//! Rows of the matrix about speakers.

use serde_json::json;

use super::lab::{LEARNED, Lab, Session};

super::rows! {
    member_of_a_team: "The transcript of a team member contains text of its lead in place of user prompts"
        => "They are not wishes of the user; lists mark the session";
    message_of_a_teammate: "A prompt is an element with a message of a teammate"
        => "The same";
    program_after_the_person: "A program runs `claude -p` in the folder after the person's session"
        => "The handoff describes the person's session; the program's prompt is not a wish, and lists mark it";
}

const ORDER: &str = "From now on always write three bullets.";

fn member_of_a_team(lab: &Lab) {
    lab.project();
    Session::new(1, &lab.root)
        .wish(ORDER)
        .with("teamName", json!("alpha"))
        .with("agentName", json!("worker"))
        .write(&lab.file(1));
    lab.sync(&lab.root);
    assert!(!lab.list(&lab.root).contains("bullets"), "{}", lab.list(&lab.root));
    lab.run(&lab.root, &["timeline"]).assert_contains(&["another agent"]).ok();
}

fn message_of_a_teammate(lab: &Lab) {
    lab.project();
    let message = format!(
        "<teammate-message teammate_id=\"lead\" color=\"blue\">\n{ORDER}\n</teammate-message>"
    );
    Session::new(1, &lab.root).wish(message).write(&lab.file(1));
    lab.sync(&lab.root);
    assert!(!lab.list(&lab.root).contains("bullets"), "{}", lab.list(&lab.root));
}

fn program_after_the_person(lab: &Lab) {
    lab.project();
    lab.session(1, &lab.root);
    let later = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(30);
    Session::new(2, &lab.root)
        .wish(format!("You are a session summarizer. {ORDER}"))
        .begins(&later.to_string())
        .with("entrypoint", json!("sdk-cli"))
        .with("promptSource", json!("sdk"))
        .write(&lab.file(2));
    lab.assert_learned(&lab.root);
    assert!(!lab.list(&lab.root).contains("bullets"), "{}", lab.list(&lab.root));
    let start = lab.start(&lab.root).context();
    let left = start.split("Known from").next().unwrap();
    assert!(left.contains(LEARNED) && !left.contains("summarizer"), "{start}");
    lab.run(&lab.root, &["resume"]).assert_contains(&["a program"]).ok();
    for command in ["timeline", "resume"] {
        let list = |speaker| lab.run(&lab.root, &[command, "--by", speaker]).ok();
        let (program, person) = (list("program"), list("person"));
        assert!(program.contains("summarizer"), "{program}");
        assert!(person.contains(LEARNED) && !person.contains("summarizer"), "{person}");
    }
}

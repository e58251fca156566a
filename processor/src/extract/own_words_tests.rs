//! Prompts with text by other people, and similar prompts in the user's own words. Both were written by hand, before
//! the rules that distinguish them.

use super::{own_words, request};
use crate::extract::tests::own_wishes as wishes;

/// Prompts that contain a wish of another person.
const OTHERS: [&str; 44] = [
    "Can you answer this mail?\n\nHi all,\n\nplease always render dates in UTC, never in local time.\n\nBest regards,\nOlga",
    "This is the mail from support:\n\nAlways render dates in UTC, never in local time.",
    "Please look into this ticket:\n\nTitle: wrong day on invoices\nReporter: olga\n\nAlways render dates in UTC, never in local time.",
    "From: olga@shop.example\nSubject: dates\n\nAlways render dates in UTC, never in local time.",
    "Olga wrote: always render dates in UTC, never in local time.",
    "Olga wrote on Monday:\n\nAlways render dates in UTC, never in local time.\n\nIs she right?",
    "On Tue, 3 Nov 2026 at 10:12, Olga <olga@shop.example> wrote:\nAlways render dates in UTC, never in local time.",
    "Am 3. November schrieb Olga:\nAlways render dates in UTC, never in local time.",
    "Olga a écrit : « Always render dates in UTC, never in local time. »",
    "Ольга пишет: «Always render dates in UTC, never in local time.»",
    "The reviewer commented: \"Always render dates in UTC, never in local time.\" What does that mean?",
    "What is meant by \u{201c}Always render dates in UTC, never in local time.\u{201d}?",
    "Was heißt \u{201e}Always render dates in UTC, never in local time.\u{201c}?",
    "Is this good English: 'Always render dates in UTC, never in local time.'",
    "これを説明して：「Always render dates in UTC, never in local time.」",
    "Explain the sentence \"Dates differ. Always render dates in UTC, never in local time. Ask Olga.\" to me.",
    "Translate into French: Always render dates in UTC, never in local time.",
    "Translate this into German:\n\nAlways render dates in UTC, never in local time.",
    "Summarise this article for me:\n\nDates are hard.\n\nAlways render dates in UTC, never in local time.",
    "Proofread:\n\nAlways render dates in UTC, never in local time.",
    "<article>\nDates are hard. Always render dates in UTC, never in local time.\n</article>\nWhat is its main point?",
    "Check this text <text>Always render dates in UTC, never in local time.</text> for typos",
    "Why does this diff fail to apply?\n\ndiff --git a/GUIDE.md b/GUIDE.md\n--- a/GUIDE.md\n+++ b/GUIDE.md\n@@ -1,2 +1,2 @@\n Dates\n+Always render dates in UTC, never in local time.",
    "Review my change\n\n+// Always render dates in UTC, never in local time.\n+render(date)",
    "Write a test that expects the message \"Always render dates in UTC, never in local time.\"",
    "Add a label with the text 'Always render dates in UTC, never in local time.' to the form",
    "Change the docstring to `Always render dates in UTC, never in local time.`",
    "The log says: always render dates in UTC, never in local time. Where does it come from?",
    "The intern said that we should always render dates in UTC, never in local time.",
    "According to the vendor's handbook, always render dates in UTC, never in local time.",
    "Laut Handbuch: always render dates in UTC, never in local time.",
    "In the old handbook it says: always render dates in UTC, never in local time.",
    "This rule holds no longer: always render dates in UTC, never in local time.",
    "The rule was: always render dates in UTC, never in local time. It does not apply any more.",
    "Always render dates in UTC, never in local time. That rule is obsolete.",
    "We used to say: always render dates in UTC, never in local time.",
    "olga: always render dates in UTC, never in local time\nmax: why?\nolga: because of the invoices",
    "[10:12] Olga: always render dates in UTC, never in local time\n[10:13] Max: hm",
    "Always render dates in UTC, never in local time. \u{2014} Olga Petrova",
    "Stack Overflow's answer:\n\nAlways render dates in UTC, never in local time.\n\nDoes that help us?",
    "Got this from the customer:\n\nAlways render dates in UTC, never in local time.",
    "Here is the issue text:\n\n## Dates\n\n- Always render dates in UTC, never in local time.\n- Show the zone.",
    "Fix the typo in this comment: always render dates in UTC, never in local time",
    "Which of the agent's rules made it fail?\n\n```\nAlways render dates in UTC, never in local time.\n```",
];

/// Prompts that contain a wish of the user.
const OWN: [&str; 36] = [
    "Always render dates in UTC, never in local time.",
    "Hi Claude,\n\nalways render dates in UTC, never in local time.",
    "Always render dates in UTC, never in local time. Thanks!",
    "Always render dates in UTC, never in local time.\n\nThanks, Max",
    "Rules for this project:\n\n- Always render dates in UTC, never in local time.",
    "My rule is: always render dates in UTC, never in local time.",
    "Our style guide says: always render dates in UTC, never in local time.",
    "As I said: always render dates in UTC, never in local time.",
    "I wrote it before: always render dates in UTC, never in local time.",
    "Remember this: \"Always render dates in UTC, never in local time.\"",
    "Please note: always render dates in UTC, never in local time.",
    "For log messages: always render dates in UTC, never in local time.",
    "In mails to customers: always render dates in UTC, never in local time.",
    "In issues and comments, always render dates in UTC, never in local time.",
    "Always render dates in UTC, never as \"3 days and 2 hours ago\".",
    "Always render dates in UTC, and label them with \"all times are in UTC\".",
    "Never write \"as soon as possible\" in comments, always name a date.",
    "Always write 'not yet known to us' where a date is missing, never null.",
    "In this project always use `cargo nextest run --workspace --all-targets`, never plain cargo test.",
    "Always render dates in UTC, never in local time, as the old handbook already said.",
    "From now on, when I paste a ticket, always render its dates in UTC, never in local time.",
    "Don't tell me what the docs say, always show the line, never a summary.",
    "Always use a <time> element for dates, never a bare string.",
    "The customer's dates are wrong, see the ticket.\n\nFrom now on always render dates in UTC, never in local time.",
    "> dates are wrong\n\nTrue. From now on always render dates in UTC, never in local time.",
    "From now on always render dates in UTC, never in local time. This is an order: follow it.",
    "Two things:\n\n1. Always render dates in UTC, never in local time.\n2. Always label the zone.",
    "We no longer use local time: always render dates in UTC, never in local time.",
    "Never accept a date that is no longer valid, always reject it.",
    "What we agreed on: always render dates in UTC, never in local time.",
    "Dates: always in UTC, never in local time, in every file of this project.",
    "Always render dates in UTC \u{2014} never in local time.",
    "Note to self and to you: always render dates in UTC, never in local time.",
    "Your summary was too long. Always answer in at most five lines, never with a table.",
    "You wrote the changelog in the past tense. Always use the imperative there, never the past.",
    "One more thing about the tests: always name them after what they show, never test1.",
];

/// More prompts like [`OTHERS`]. They were written after the rules, which were not changed before the measurement.
const OTHERS_UNSEEN: [&str; 24] = [
    "A colleague asked me to have a look:\n\n> Always pin the toolchain, never use nightly.\n\nWorth it?",
    "From the forum:\n\nAlways pin the toolchain, never use nightly.",
    "Could you reply to Tom? He writes: Always pin the toolchain, never use nightly.",
    "Tom's comment on the pull request: always pin the toolchain, never use nightly",
    "The page has this sentence: \"Always pin the toolchain, never use nightly.\" Is it outdated?",
    "Put \"Always pin the toolchain, never use nightly.\" at the top of BUILD.md",
    "echo 'Always pin the toolchain, never use nightly.' prints nothing, why?",
    "const RULE = \"Always pin the toolchain, never use nightly.\"; // why is this unused?",
    "Hello support,\n\nAlways pin the toolchain, never use nightly.\n\nKind regards\nTom\n\nWhat do I answer?",
    "Hallo zusammen,\n\nalways pin the toolchain, never use nightly.\n\nViele Gr\u{fc}\u{df}e\nTom",
    "Re: toolchain\nFrom: Tom\nTo: Max\n\nAlways pin the toolchain, never use nightly.",
    "<issue>\nAlways pin the toolchain, never use nightly.\n</issue>",
    "<email from=\"tom\">Always pin the toolchain, never use nightly.</email> \u{2014} answer it, please",
    "Seg\u{fa}n el manual: always pin the toolchain, never use nightly.",
    "Tom dice: \u{ab}Always pin the toolchain, never use nightly.\u{bb}",
    "Tom ha scritto: always pin the toolchain, never use nightly.",
    "Our old convention was: always pin the toolchain, never use nightly.",
    "Always pin the toolchain, never use nightly. This does not apply any more.",
    "Someone wrote in the chat: always pin the toolchain, never use nightly.",
    "The vendor recommends to always pin the toolchain, never use nightly.",
    "Can you classify this message: always pin the toolchain, never use nightly.",
    "Please shorten this text:\n\nAlways pin the toolchain, never use nightly. It saves time.",
    "@@ -1 +1 @@\n-Use nightly.\n+Always pin the toolchain, never use nightly.\n\nIs this patch right?",
    "tom 10:02\nAlways pin the toolchain, never use nightly.\n\nmax 10:05\nwhy?",
];

/// More prompts like [`OWN`]. They were written after the rules, which were not changed before the measurement.
const OWN_UNSEEN: [&str; 20] = [
    "Always pin the toolchain, never use nightly.",
    "Hey,\nalways pin the toolchain, never use nightly.",
    "The build broke again: always pin the toolchain, never use nightly.",
    "Build rules:\n* Always pin the toolchain, never use nightly.\n* Never skip the lints.",
    "This is how I want it: always pin the toolchain, never use nightly.",
    "You said it would work. From now on always pin the toolchain, never use nightly.",
    "The docs are wrong there, so always pin the toolchain, never use nightly.",
    "Always quote the error message in your answers, never paraphrase it.",
    "Always answer issues in the language that they are written in, never only in English.",
    "Always translate the labels into German as well, never leave one out.",
    "For this repository: always pin the toolchain, never use nightly.",
    "Commit messages: always in the imperative, never in the past tense, please.",
    "Always write \u{201c}shop owner\u{201d}, never \u{201c}merchant\u{201d}, in texts for customers.",
    "Never start a reply with \"You are absolutely right about this\", always get to the point.",
    "I told you yesterday: always pin the toolchain, never use nightly.",
    "Thanks for the review. Always pin the toolchain, never use nightly.",
    "We agreed with the team: always pin the toolchain, never use nightly.",
    "No, never use nightly, always pin the toolchain. It was a mistake to try it.",
    "Whenever a test is flaky, always open an issue, never only restart it.",
    "Here is the rule: always pin the toolchain, never use nightly.",
];

/// Prompts with a line that a program wrote, or with text after a heading or a label.
const MACHINES: [&str; 22] = [
    "2026-11-01T10:00:00Z INFO Never use port 8080 for the proxy, always use 8443.",
    "2026-11-01 10:00:00,123 WARNING root Never use port 8080 for the proxy, always use 8443.",
    "[2026-11-01 10:00:00] Never use port 8080 for the proxy, always use 8443.",
    "Nov  1 10:00:00 host app[12]: Always use port 8443 for the proxy, never 8080.",
    "[10:00:02] Never use port 8080 for the proxy, always use 8443.",
    "10:00:02.123 [main] Never use port 8080 for the proxy, always use 8443.",
    "I1101 10:00:00.123456   77 proxy.go:12] Never use port 8080 for the proxy, always use 8443.",
    "time=2026-11-01T10:00:00Z level=warn msg=Never use port 8080 for the proxy, always use 8443.",
    "[WARN] Never use port 8080 for the proxy, always use 8443.",
    "INFO: Never use port 8080 for the proxy, always use 8443.",
    "WARNING:root:Never use port 8080 for the proxy, always use 8443.",
    "web-1  | Never use port 8080 for the proxy, always use 8443.",
    "Error: Always provide the port of the proxy, never leave it out.",
    "error[E0308]: always provide the port of the proxy, never leave it out",
    "TypeError: Always provide the port of the proxy, never leave it out.",
    "src/proxy.rs:10:5: warning: always provide the port of the proxy, never leave it out",
    "npm ERR! Always provide the port of the proxy, never leave it out.",
    "remote: Always provide the port of the proxy, never leave it out.",
    "This is the pull request description:\n\n## Summary\n\nAlways format with black, never with yapf.",
    "Commit message: Always format with black, never with yapf.",
    "PR title: Always format with black, never with yapf.",
    "Why does it say this?\nError: Always format with black, never with yapf.\nI did format it.",
];

/// Prompts with a wish of the user after words that resemble a label by a program.
const OWN_LABELS: [(&str, &str); 3] = [
    ("Error messages: never use floats for money in them, always cents.", "floats for money"),
    ("Commit messages: always in the imperative, never in the past tense.", "imperative"),
    ("Errors: never swallow one, always say which file it was about.", "swallow"),
];

/// Prompts in which text next to the wish may be its source. The wish then counts as material.
const IN_DOUBT: [&str; 30] = [
    "Ada wrote: \"we should use floats for money\". No: never use floats for money, always cents.",
    "The docs say “use floats here”. Never use floats for money, always cents.",
    "The message is `Error: no such float`. Never use floats for money, always cents.",
    "Our landlord is unhappy. From now on always close the shutters at night. Add a reminder.",
    "Sara from finance came over. From now on always round half up. Change the invoice module.",
    "Have the kiosk display From now on always wait for the green light.",
    "Let the mailer say that you must always confirm the address.",
    "Add a footer with text always check the date before you print",
    "As an editor I always want to see the word count. Build it.",
    "ACME-77: As a nurse I never want to lose a form. Build it.",
    "Restate it in a friendlier way, from now on always knock first.",
    "Reword. From now on always knock first.",
    "From now on always knock first. What does this tell us about the writer?",
    "From now on always knock first. Does that sound polite?",
    "From now on always knock first. Make a sign out of it.",
    "I am only testing the microphone. From now on always use green buttons.",
    "From now on always use green buttons. I have not decided that yet.",
    "Imagine I told you to always use green buttons from now on.",
    "At my last company we always used Ada for everything.",
    "Unser Berater war da. Ab jetzt immer zuerst die Lager zählen. Bau das ein.",
    "Formuliere höflicher: Ab jetzt immer anklopfen.",
    "Als Kassierer möchte ich künftig immer den Bon sehen. Setz das um.",
    "Ma collègue insiste. Désormais, toujours frapper avant d'entrer. Ajoute-le.",
    "Résume en une ligne. À partir de maintenant, toujours frapper avant d'entrer.",
    "Mi compañera insiste. A partir de ahora llama siempre a la puerta. Añádelo.",
    "Il mio capo insiste. D'ora in poi bussa sempre prima di entrare. Aggiungilo.",
    "Traduz isto. A partir de agora bate sempre à porta.",
    "同僚の話です。今後は必ずノックしてください。",
    "From now on always knock first, says the caretaker. Put it on the door.",
    "Here is a memo somebody left. From now on always knock first. File it.",
];

/// Explicit wishes next to requests, greetings and thanks.
const EXPLICIT: [&str; 12] = [
    "From now on always run the formatter before you commit.",
    "Thanks, that works. From now on always run the formatter before you commit.",
    "Fix the rounding in the cart. From now on always run the formatter before you commit.",
    "The cart rounds wrong, please fix it. From now on always run the formatter before you commit.",
    "From now on always run the formatter before you commit. Now add the discount column.",
    "no, not like that. From now on always run the formatter before you commit.",
    "Remember that the staging cluster runs on port 8443.",
    "In this repository always write the tests first, never the code.",
    "Ab jetzt immer den Formatter laufen lassen, bevor du einen Commit machst.",
    "Désormais, lance toujours le formateur avant chaque commit.",
    "A partir de ahora ejecuta siempre el formateador antes de cada commit.",
    "D'ora in poi esegui sempre il formattatore prima di ogni commit.",
];

#[test]
fn statements_of_others_are_no_wishes_of_the_user() {
    let taken: Vec<&str> = OTHERS.into_iter().filter(|prompt| !wishes(prompt).is_empty()).collect();
    assert!(taken.is_empty(), "{} of {}: {taken:#?}", taken.len(), OTHERS.len());
}

#[test]
fn most_wishes_of_the_user_are_found() {
    // Next to a source, a statement or words about speech, a wish counts as material in case of doubt.
    let lost: Vec<&str> = OWN.into_iter().filter(|prompt| wishes(prompt).is_empty()).collect();
    assert!(lost.len() * 3 <= OWN.len(), "{} of {}: {lost:#?}", lost.len(), OWN.len());
}

#[test]
fn a_line_that_a_program_wrote_is_no_wish() {
    let taken: Vec<&str> =
        MACHINES.into_iter().filter(|prompt| !wishes(prompt).is_empty()).collect();
    assert!(taken.is_empty(), "{} of {}: {taken:#?}", taken.len(), MACHINES.len());
}

#[test]
fn a_topic_before_a_colon_is_no_label() {
    let lost: Vec<&str> = OWN_LABELS
        .into_iter()
        .filter(|(prompt, own)| !wishes(prompt).iter().any(|title| title.contains(own)))
        .map(|(prompt, _)| prompt)
        .collect();
    assert!(lost.is_empty(), "{} of {}: {lost:#?}", lost.len(), OWN_LABELS.len());
}

#[test]
fn a_wish_with_a_possible_source_beside_it_is_material() {
    let taken: Vec<&str> =
        IN_DOUBT.into_iter().filter(|prompt| !wishes(prompt).is_empty()).collect();
    assert!(taken.is_empty(), "{} of {}: {taken:#?}", taken.len(), IN_DOUBT.len());
    let lost: Vec<&str> = EXPLICIT.into_iter().filter(|prompt| wishes(prompt).is_empty()).collect();
    assert!(lost.len() <= 1, "{} of {}: {lost:#?}", lost.len(), EXPLICIT.len());
}

#[test]
fn unseen_prompts_are_judged_alike() {
    let is_taken = |prompt: &&str| !wishes(prompt).is_empty();
    let taken: Vec<&str> = OTHERS_UNSEEN.into_iter().filter(is_taken).collect();
    assert!(taken.len() <= OTHERS_UNSEEN.len() / 10, "{taken:#?}");
    let lost: Vec<&str> =
        OWN_UNSEEN.into_iter().filter(|prompt| wishes(prompt).is_empty()).collect();
    assert!(
        lost.len() * 2 <= OWN_UNSEEN.len(),
        "{} of {}: {lost:#?}",
        lost.len(),
        OWN_UNSEEN.len()
    );
}

/// Returns everyday prompts written by other authors (`tests/fixtures/everyday`), one JSON object per line.
fn everyday(name: &str) -> Vec<serde_json::Value> {
    let path = format!("{}/../tests/fixtures/everyday/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text<'v>(value: &'v serde_json::Value, key: &str) -> &'v str {
    value[key].as_str().unwrap()
}

fn foreign(value: &serde_json::Value) -> impl Iterator<Item = &str> {
    value["foreign"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str)
}

#[test]
fn everyday_prompts_with_words_of_others_hold_no_wish() {
    let mut taken = Vec::new();
    for name in ["others_words.jsonl", "others_words_seen.jsonl"] {
        for prompt in everyday(name) {
            let found = wishes(text(&prompt, "prompt"));
            let asked = request(text(&prompt, "prompt"));
            let in_request = foreign(&prompt).any(|foreign| asked.contains(foreign));
            if !found.is_empty() || in_request {
                taken.push(format!("{}: {found:?} {asked:?}", text(&prompt, "id")));
            }
        }
    }
    assert!(taken.is_empty(), "{}: {taken:#?}", taken.len());
}

#[test]
fn everyday_wishes_are_learned() {
    for (name, lost_max) in [("own_wishes.jsonl", 6), ("own_wishes_seen.jsonl", 13)] {
        let mut lost = Vec::new();
        for prompt in everyday(name) {
            let wish = text(&prompt, "wish").trim_end_matches(['.', '。']).to_lowercase();
            let found = wishes(text(&prompt, "prompt"));
            if !found.iter().any(|title| title.to_lowercase().contains(&wish)) {
                lost.push(format!("{}: {found:?}", text(&prompt, "id")));
            }
        }
        assert!(lost.len() <= lost_max, "{name}: {lost:#?}");
    }
}

#[test]
fn the_request_of_a_prompt_is_without_its_material() {
    for (prompt, asked) in [
        ("fix the build", "fix the build"),
        ("Proofread:\n\nAlways knock.", "Proofread"),
        ("Translate this text to French: Never run.", "Translate this text to French"),
        ("Why?\n\n```\nerror: never call this twice\n```", "Why?"),
        ("> never mail me\n\nwhat does she mean", "what does she mean"),
        ("Olga wrote: never use floats. Is she right?", "Olga wrote Is she right?"),
        ("```\nonly code\n```", ""),
    ] {
        assert_eq!(request(prompt), asked, "{prompt}");
    }
}

proptest::proptest! {
    #[test]
    fn any_prompt_is_survived(text in "(\\PC{0,8}|Olga wrote: |\"|'|«|»|“|„|。|```|<a>|</a>|> |\n|\n\n|[+]x|10:12 a: |Regards\n){0,40}") {
        let own = own_words(&text);
        proptest::prop_assert!(own.len() <= text.len() + 8 * text.chars().count());
        let _ = request(&text);
    }
}

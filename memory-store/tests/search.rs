//! Tests of explicit search as a person uses it: operators, filters, typing errors, and superseded memories.

use std::fs;

use crate::common::vectors::{Shipped, assets};
use crate::common::{Fixture, NOW, id, memory};
use memory_store::embed::model::{self, EmbedderModel};
use memory_store::index::document::Passage;
use memory_store::recall::{Recalled, Search, Tier};
use memory_store::time::DAY_MS;
use memory_store::{Kind, Memory, MemoryId, Timestamp};

fn found(fixture: &Fixture, text: &str) -> Recalled {
    let search = Search { text: text.into(), exact: true, limit: 20, ..Search::default() };
    assert_eq!(search.problem(NOW), None, "{text}");
    fixture.recall().search(&search, NOW)
}

/// Returns the sorted numbers of the memories that a search finds.
fn numbers(fixture: &Fixture, text: &str) -> Vec<u8> {
    let mut numbers: Vec<u8> = found(fixture, text).hits.iter().map(|hit| hit.id.0[15]).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn operators_demand_and_words_alone_rank() {
    let fixture = Fixture::filled();
    for (text, expected) in [
        ("newline discount", vec![1, 10]),
        ("newline AND discount", vec![1, 10]), // no memory has both words, see below
        ("importer AND newline", vec![1]),
        ("importer OR discount", vec![1, 10]),
        ("(importer OR discount) AND NOT audit", vec![1]),
        ("table -audit newline", vec![1]),
        ("\"last row\"", vec![1]),
        ("\"ROW of  the file\"", vec![1]),
        ("cargo AND money_fmt", vec![4]),
        ("cargo NOT money_fmt", vec![8]),
        ("cargo -\"money_fmt needs\"", vec![8]),
        ("kind:task", vec![10]),
        ("kind:task kind:fix", vec![4, 10]),
        ("cargo kind:command", vec![8]),
        ("path:import.rs", vec![1]),
        ("NOT kind:fact AND port", vec![]),
    ] {
        assert_eq!(numbers(&fixture, text), expected, "{text}");
    }
    let less = found(&fixture, "newline AND discount");
    assert!(less.notes.iter().any(|note| note.starts_with("Nothing has all")), "{:?}", less.notes);
    assert_eq!(found(&fixture, "importer AND newline").notes, Vec::<String>::new());
    assert_eq!(numbers(&fixture, "\"row last\" kind:task"), Vec::<u8>::new());
}

#[test]
fn an_invalid_filter_is_reported() {
    let search = Search { text: "kind:poem".into(), ..Search::default() };
    assert!(search.problem(NOW).unwrap().contains("`poem` is no kind"));
    let fixture = Fixture::filled();
    let recalled = fixture.recall().search(&search, NOW);
    assert!(recalled.notes[0].contains("`poem`"), "{:?}", recalled.notes);
}

#[test]
fn a_typing_error_is_corrected_and_noted() {
    let fixture = Fixture::filled();
    let recalled = found(&fixture, "discuont");
    assert_eq!(recalled.hits[0].title, "Remove the legacy discount table");
    assert_eq!(recalled.notes, ["Nothing says \"discuont\"; this is for \"discount\"."]);
    assert_eq!(numbers(&fixture, "importre AND newlin"), [1]);
    // A known word is not corrected. A word with two typing errors is not corrected either.
    assert_eq!(found(&fixture, "deployment").notes, Vec::<String>::new());
    assert_eq!(numbers(&fixture, "dsicuotn"), Vec::<u8>::new());
}

/// For a short list of results, a search reads fewer candidates at first. It reads the others if these are not enough.
#[test]
fn many_memories_with_the_same_content_leave_room_for_others() {
    let fixture = Fixture::empty();
    let numbered = |number: u16, title: &str, body: &str| {
        let mut random = [0; 10];
        random[8..].copy_from_slice(&number.to_be_bytes());
        Memory { id: MemoryId::new(NOW, random), ..memory(0, Kind::Fact, title, body) }
    };
    for number in 0..600 {
        fixture.write(numbered(number, "Copper kettles are for the kitchen", "A copper kettle."));
    }
    let weak = "Stoves, tables, chairs and shelves come from the depot, a kettle now and then.";
    let weak = fixture.write(numbered(600, "Deliveries", weak)).memory.id;
    fixture.publish();
    let hits = found(&fixture, "copper kettle kitchen").hits;
    assert_eq!(hits.len(), 2, "{hits:?}");
    assert_eq!(hits[1].id, weak);

    // Memories are found by the end of their id, at any position in the index.
    let recall = fixture.recall();
    for memory in [600, 3].map(|number| numbered(number, "", "")) {
        let whole = memory.id.to_string();
        assert_eq!(recall.ids_ending(&whole), [memory.id]);
        assert_eq!(recall.ids_ending(&whole[whole.len() - 16..]), [memory.id]);
    }
    assert_eq!(recall.ids_ending("zzzzzz"), []);
}

#[test]
fn what_was_replaced_leads_to_what_replaces_it() {
    let fixture = Fixture::filled();
    let hits = found(&fixture, "\"port 7440\"").hits;
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [id(3)]);
    assert_eq!(hits[0].why, "replaces \"The ledger service listens on port 7440\"");
    assert!(!hits[0].superseded);

    let all = Search { text: "port 7440".into(), superseded: true, ..Search::default() };
    let hits = fixture.recall().search(&all, NOW).hits;
    let old = hits.iter().find(|hit| hit.id == id(2)).unwrap();
    assert_eq!((old.superseded, old.superseded_by), (true, Some(id(3))));
}

#[test]
fn times_limit_a_search_and_favour_what_is_of_them() {
    let fixture = Fixture::filled();
    let day = |number: u8, days_ago: i64| {
        let title = format!("The exporter was rewritten for the {number}th time");
        let mut memory = memory(number, Kind::Decision, &title, "Streams replaced buffers.");
        memory.occurred = Some(Timestamp(NOW.0 - days_ago * DAY_MS));
        fixture.write(memory);
    };
    [(60, 4), (61, 8), (62, 40)].into_iter().for_each(|(number, days)| day(number, days));
    fixture.publish();
    // NOW is a Monday, 2026-09-21.
    for (text, expected) in [
        ("exporter since:\"5 days ago\"", vec![60]),
        ("exporter on:\"last week\"", vec![60]),
        ("exporter before:2026-09-15", vec![61, 62]),
        ("exporter on:august", vec![62]),
        ("exporter before:\"exporter rewritten 61th\"", vec![62]),
        ("exporter -on:august", vec![60, 61]),
    ] {
        assert_eq!(numbers(&fixture, text), expected, "{text}");
    }
    let first = |text: &str| {
        let search = Search { text: text.into(), ..Search::default() };
        fixture.recall().search(&search, NOW).hits[0].id.0[15]
    };
    assert_eq!(first("why was the exporter rewritten?"), 60);
    assert_eq!(first("why was the exporter rewritten in August?"), 62);
    assert_eq!(first("what about the exporter rewritten 8 days ago?"), 61);
    // A prompt is ranked by its words, not by dates in it.
    let prompted = fixture.recall().ranked("why was the exporter rewritten in August?", NOW, 10);
    assert_eq!(prompted.hits[0].id.0[15], 60);
}

#[test]
fn an_unreadable_transformer_is_reported_and_the_table_is_used() {
    let mut fixture = Fixture::filled();
    let shipped = Shipped::open();
    let publisher = fixture.publisher(&shipped);
    fixture.publish_with(publisher, &fixture.list(), None);
    let models = tempfile::tempdir().unwrap();
    let model = EmbedderModel::read(&assets()).unwrap();
    for name in [model::FILE_NAME, &model.table] {
        fs::copy(assets().join(name), models.path().join(name)).unwrap();
    }
    fixture.dirs.models = Some(models.path().to_owned());
    for damaged in [None, Some("no transformer")] {
        if let Some(text) = damaged {
            fs::write(models.path().join(&model.transformer), text).unwrap();
        }
        let recall = fixture.recall();
        let search =
            |text: &str| recall.search(&Search { text: text.into(), ..Search::default() }, NOW);
        let recalled = search("the final line of a statement is lost");
        assert!(!recalled.hits.is_empty());
        let said = recalled.degraded.unwrap();
        assert!(said.contains(&model.transformer) && said.contains("quicker table"), "{said}");
        assert!(!said.contains("words alone"), "{said}");
        assert_eq!(search("ledger port").degraded, Some(said), "the same, and once");
        // Hooks do not report the unreadable transformer.
        let prompted = recall.prompt("which port does the ledger use?", None, NOW, &|_| false);
        assert!(!prompted.hits.is_empty());
    }
    fixture.dirs.models = Some(models.path().join("none"));
    assert_eq!(found(&fixture, "ledger port").degraded, None, "none is installed");
}

#[test]
fn turns_are_searched_with_the_same_words() {
    let fixture = Fixture::filled();
    let turn = |session: &str, number: u32, text: &str| Passage {
        session: session.into(),
        turn: number,
        at: Timestamp(NOW.0 - i64::from(number) * DAY_MS),
        text: text.into(),
        ..Passage::default()
    };
    let turns = [
        turn("alpha", 0, "Please look at the flaky upload test."),
        turn("alpha", 1, "It fails when the upload takes more than a second."),
        turn("beta", 0, "Rename the upload folder."),
    ];
    fixture.publish_turns(fixture.added(&mut turns.into_iter()));
    let texts = |text: &str| -> Vec<String> {
        let search =
            Search { text: text.into(), exact: true, tier: Tier::Passages, ..Search::default() };
        let recalled = fixture.recall().search(&search, NOW);
        recalled.hits.into_iter().map(|hit| hit.text.chars().take(6).collect()).collect()
    };
    assert_eq!(texts("upload -folder").len(), 2);
    assert_eq!(texts("\"takes more than\""), ["It fai"]);
    assert_eq!(texts("uplaod session:beta"), ["Rename"]);
    assert_eq!(texts("upload since:today session:al"), ["Please"]);
    assert_eq!(texts("").len(), 3);
    // Filters for fields that turns do not have are ignored, and a note reports this.
    let kinds =
        Search { text: "upload kind:decision".into(), tier: Tier::Passages, ..Search::default() };
    let recalled = fixture.recall().search(&kinds, NOW);
    assert_eq!(recalled.hits.len(), 3);
    assert!(recalled.notes[0].contains("no kind"), "{:?}", recalled.notes);
}

#[test]
fn what_answers_nothing_is_left_out() {
    let mut fixture = Fixture::filled();
    let vectors = Shipped::open();
    let publisher = fixture.publisher(&vectors);
    fixture.publish_with(publisher, &fixture.list(), None);
    fixture.dirs.models = Some(assets());
    for nothing in ["soprano rehearses Brahms", "xyzzyplugh"] {
        let recalled = found(&fixture, nothing);
        assert_eq!((recalled.hits.len(), recalled.notes.len()), (0, 0), "{:?}", recalled.hits);
    }
    let answers = found(&fixture, "which port does the ledger service listen on?").hits;
    assert!(!answers.is_empty() && answers.len() < 4, "{answers:?}");
    assert!(!found(&fixture, "-audit").hits.is_empty(), "what is demanded is there");
    let event = found(&fixture, "ledger before:\"the opera festival\"");
    assert!(event.notes[0].contains("no memory is about it"), "{:?}", event.notes);
}

#[test]
fn turns_are_found_by_what_they_mean() {
    let mut fixture = Fixture::filled();
    fixture.dirs.models = Some(assets());
    let turn = |number: u32, text: &str| Passage {
        session: "alpha".into(),
        turn: number,
        at: NOW,
        text: text.into(),
        ..Passage::default()
    };
    let vectors = Shipped::open();
    let publish = |turns: Vec<Passage>| {
        let publisher = fixture.publisher(&vectors);
        let turns = fixture.staged(Some(&vectors), false, &mut turns.into_iter());
        fixture.publish_with(publisher, &fixture.list(), turns);
    };
    publish(vec![
        turn(0, "The car would not start in the morning."),
        turn(1, "We painted the kitchen yellow."),
    ]);
    let recalled = |text: &str| {
        let search = Search { text: text.into(), tier: Tier::Passages, ..Search::default() };
        let recalled = fixture.recall().search(&search, NOW);
        assert_eq!(recalled.degraded, None);
        recalled
    };
    let texts = |text: &str| -> Vec<String> {
        recalled(text).hits.into_iter().map(|hit| hit.text).collect()
    };
    assert_eq!(texts("automobile engine trouble"), ["The car would not start in the morning."]);
    assert_eq!(recalled("quarterly tax declaration").hits, []);
    // A turn that a later turn replaced is no longer found, neither by its words nor by its meaning.
    publish(vec![turn(0, "The bicycle has a flat tyre.")]);
    assert!(!texts("automobile engine trouble morning").join(" ").contains("car"));
    assert_eq!(texts("cycling puncture"), ["The bicycle has a flat tyre."]);
}

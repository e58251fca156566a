//! Properties of the payload reader. It reads a document in any pieces, finds the same members as serde_json in the
//! whole document, and never panics.

use hooks::payload::Payload;
use hooks::wire::{WANTED, WantedMember};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn string() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z\"\\\\/ \n\u{e9}\u{1f600}]{0,12}", any::<String>()]
}

/// Generates JSON values whose objects contain the names that hooks read.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9f64).prop_map(Value::from),
        string().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            object(inner),
        ]
    })
}

fn object(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        3 => prop::sample::select(
            WANTED.iter().flat_map(|wanted| wanted.inside.into_iter().chain([wanted.name])).collect::<Vec<_>>()
        ).prop_map(str::to_owned),
        1 => string(),
    ];
    prop::collection::vec((name, values), 0..8)
        .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
}

/// Formats the document compactly, indented, or with every character of its strings escaped.
fn written(document: &Value, how: u8) -> String {
    match how % 3 {
        0 => document.to_string(),
        1 => serde_json::to_string_pretty(document).unwrap(),
        _ => document
            .to_string()
            .chars()
            .flat_map(|char| {
                let mut units = [0; 2];
                if char.is_ascii() {
                    vec![char.to_string()]
                } else {
                    char.encode_utf16(&mut units)
                        .iter()
                        .map(|unit| format!("\\u{unit:04x}"))
                        .collect()
                }
            })
            .collect(),
    }
}

/// Returns the value that a hook must find, determined by parsing the whole document.
fn expected(document: &Value, member: WantedMember) -> Option<String> {
    let wanted = &WANTED[member as usize];
    let outer = match wanted.inside {
        Some(outer) => document.get(outer)?,
        None => document,
    };
    match outer.get(wanted.name)? {
        Value::String(text) => Some(text.clone()),
        value @ (Value::Bool(_) | Value::Number(_)) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn sliced<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn any_slices_of_a_document_give_what_the_whole_holds(
        document in object(value()),
        how in 0..3u8,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let text = written(&document, how);
        let payload = Payload::from_chunks(sliced(text.as_bytes(), &cuts));
        for wanted in &WANTED {
            let found = payload.get(wanted.member).map(str::to_owned);
            prop_assert_eq!(found, expected(&document, wanted.member), "{}", wanted.name);
        }
    }

    #[test]
    fn a_cut_document_gives_nothing_that_the_whole_does_not_hold(
        document in object(value()),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = document.to_string();
        let payload = Payload::from_chunks([&text.as_bytes()[..cut.index(text.len() + 1)]]);
        for wanted in &WANTED {
            if let Some(found) = payload.get(wanted.member) {
                prop_assert_eq!(Some(found.to_owned()), expected(&document, wanted.member));
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(
        document in object(value()),
        noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut bytes = document.to_string().into_bytes();
        for (place, byte) in noise {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        Payload::from_chunks(sliced(&bytes, &cuts));
    }

    #[test]
    fn nor_do_bytes_of_any_kind(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        Payload::from_chunks([b"{\"prompt\":".as_slice(), &bytes]);
        Payload::from_chunks([bytes.as_slice()]);
    }
}

#[test]
fn real_payloads_are_read() {
    let recorded = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tests/fixtures/recorded/claude-code-2.1.330/payloads.jsonl"
    );
    let recorded = std::fs::read_to_string(recorded).unwrap();
    assert!(recorded.lines().count() > 20);
    for line in recorded.lines() {
        let document: Value = serde_json::from_str(line).unwrap();
        let payload = Payload::from_chunks([line.as_bytes()]);
        for wanted in &WANTED {
            let found = payload.get(wanted.member).map(str::to_owned);
            assert_eq!(found, expected(&document, wanted.member), "{} in {line}", wanted.name);
        }
    }
}

#[test]
fn a_member_of_fifty_megabytes_is_passed_over_without_being_kept() {
    let long = "x\\n".repeat(17 << 20);
    let text = json!({"tool_name": "Bash"}).to_string();
    let tail =
        format!("\"tool_response\":{{\"stdout\":\"{long}\"}},\"error\":\"{long}\",{}", &text[1..]);
    let payload = Payload::from_chunks(["{", &tail].map(str::as_bytes));
    assert_eq!(payload.get(WantedMember::ToolName), Some("Bash"));
    assert_eq!(
        payload.get(WantedMember::Error).map(str::len),
        Some(WANTED[WantedMember::Error as usize].bytes_max)
    );
}

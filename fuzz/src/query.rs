//! Queries of an index: prompts, paths, errors and searches with any text.

use std::cell::RefCell;

use memory_store::recall::{Query, Recall, Search, Tier, Topic, likeness, time_named};
use memory_store::signature::{classify, error_signature, normalise_command, telling_lines};

use crate::index::{Golden, NOW};

thread_local! {
    static RECALL: RefCell<Option<(Golden, Recall)>> = const { RefCell::new(None) };
}

/// Every text must be answered, as a single query and after another one, and each hit must be complete.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (first, second) = text.split_once('\n').unwrap_or((&text, ""));
    RECALL.with_borrow_mut(|recall| {
        let (_, recall) = recall.get_or_insert_with(|| {
            let golden = Golden::new();
            let recall = golden.open();
            (golden, recall)
        });
        recall.prompt(&text, None, NOW, &|_| false);
        recall.file(first, None, NOW, &|_| false);
        recall.error(first, second, NOW, &|_| false);
        for tier in [Tier::Memories, Tier::Passages, Tier::Both] {
            let search =
                Search { text: text.clone().into_owned(), tier, limit: 3, ..Search::default() };
            search.problem(NOW);
            assert!(recall.search(&search, NOW).hits.len() <= 3);
            recall.search(&Search { exact: true, ..search }, NOW);
        }
    });
    Query::prompt(&text);
    let topic = Topic::from_hex(first);
    assert_eq!(Topic::from_hex(&topic.to_hex()), topic);
    time_named(&text, NOW);
    likeness(first, second);
    error_signature(&text);
    telling_lines(&text, 8);
    classify(first);
    normalise_command(first);
}

//! The topics of memories on two levels, with the number of memories in each.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use super::listing::ListFilter;
use super::style::{QUIET, STRONG, paint};
use super::{json as print_json, plain, plural};
use crate::failure::Result;
use crate::stores::Stores;
use crate::view;
use crate::world::World;

/// An area, or a topic in it, as printed by `--json`.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct TopicCount {
    /// Number of memories in the area or topic, including those in topics of the area.
    memories: usize,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    topics: BTreeMap<String, TopicCount>,
}

/// Prints how many of the memories that pass a filter are in each topic. `depth` is the number of levels.
pub fn print(
    filter: &ListFilter,
    depth: usize,
    json: bool,
    world: &World,
    out: &mut dyn Write,
) -> Result {
    let stores = Stores::open(world)?;
    let listed = filter.read(&stores)?;
    view::warn_broken(&listed.broken);
    let topics = listed.memories.iter().map(|stored| stored.memory.topic.as_deref());
    let counts = count(topics, depth);
    if json {
        return print_json(&counts, out);
    }
    if counts.topics.is_empty() {
        view::remark("No memory has a topic.");
    }
    for (area, counted) in &counts.topics {
        let number = plural(counted.memories, "memory");
        writeln!(out, "{}  {}", paint(STRONG, plain(area)), paint(QUIET, number))?;
        for (topic, counted) in &counted.topics {
            writeln!(out, "  {}  {}", plain(topic), paint(QUIET, counted.memories))?;
        }
    }
    let without = counts.memories - counts.topics.values().map(|it| it.memories).sum::<usize>();
    if without > 0 && !counts.topics.is_empty() {
        writeln!(out, "{}", paint(QUIET, format_args!("without a topic: {without}")))?;
    }
    Ok(())
}

fn count<'t>(topics: impl Iterator<Item = Option<&'t str>>, depth: usize) -> TopicCount {
    let mut all = TopicCount::default();
    for topic in topics {
        all.memories += 1;
        let mut at = &mut all;
        let levels = topic.into_iter().flat_map(|topic| topic.splitn(2, '/')).map(str::trim);
        for level in levels.filter(|level| !level.is_empty()).take(depth) {
            at = at.topics.entry(level.to_lowercase()).or_default();
            at.memories += 1;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_counted_with_their_areas() {
        let topics = [Some("shop/cart"), Some("Shop/mail"), Some("shop"), None];
        let counted = |depth| count(topics.into_iter(), depth);
        let shop = &counted(2).topics["shop"];
        assert_eq!((shop.memories, shop.topics["cart"].memories), (3, 1));
        assert_eq!(counted(2).memories, 4);
        assert!(counted(1).topics["shop"].topics.is_empty());
    }
}

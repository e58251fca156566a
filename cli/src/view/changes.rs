//! Differences between two versions of a memory, described in words.

use memory_store::memory::{Memory, Scope, Status};
use memory_store::{MemoryId, Timestamp};
use serde::Serialize;

use super::{clock, plain, plural};

/// A difference.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// Name of the field.
    pub field: &'static str,
    /// Description of the difference.
    pub told: String,
}

/// Describes all differences between two versions of a memory.
pub fn between(old: &Memory, new: &Memory) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    let mut tell = |field: &'static str, told: Option<String>| {
        changes.extend(told.map(|told| FieldChange { field, told }));
    };
    tell(
        "title",
        (old.title != new.title).then(|| format!("its title was \"{}\"", line(&old.title))),
    );
    tell("body", body(&old.body, &new.body));
    tell("kind", (old.kind != new.kind).then(|| format!("its kind was {}", old.kind.name())));
    tell("status", (old.status != new.status).then(|| status(new.status).to_owned()));
    tell("scope", (old.scope != new.scope).then(|| scope(new.scope).to_owned()));
    tell("pinned", (old.pinned != new.pinned).then(|| pinned(new.pinned).to_owned()));
    tell(
        "valid_from",
        until(old.valid_from, new.valid_from, "from", "it holds from the beginning"),
    );
    tell(
        "valid_until",
        until(old.valid_until, new.valid_until, "until", "it holds without an end"),
    );
    let confidence =
        || format!("its confidence is {:.2} instead of {:.2}", new.confidence, old.confidence);
    tell("confidence", (old.confidence != new.confidence).then(confidence));
    tell("topic", (old.topic != new.topic).then(|| "its topic differs".to_owned()));
    tell("tags", list("tag", &old.tags, &new.tags));
    let paths = |memory: &Memory| -> Vec<String> {
        memory.paths.iter().map(|path| path.path.clone()).collect()
    };
    tell("paths", list("path", &paths(old), &paths(new)));
    tell("cues", list("cue", &old.cues, &new.cues));
    tell("entities", list("name", &old.entities, &new.entities));
    tell("signatures", list("error", &old.signatures, &new.signatures));
    let ids = |ids: &[MemoryId]| -> Vec<String> { ids.iter().map(|id| id.short()).collect() };
    tell("supersedes", list("replaced memory", &ids(&old.supersedes), &ids(&new.supersedes)));
    let replaced = || match new.superseded_by {
        Some(id) => format!("{} replaces it", id.short()),
        None => "nothing replaces it any more".to_owned(),
    };
    tell("superseded_by", (old.superseded_by != new.superseded_by).then(replaced));
    for (field, differs) in [
        ("facts", old.facts != new.facts),
        ("relations", old.relations != new.relations),
        ("guard", old.guards != new.guards),
        ("command", old.command != new.command),
        ("agent", old.agent != new.agent),
        ("author", old.author != new.author),
        ("source", old.source != new.source),
        ("created", old.created != new.created),
        ("occurred", old.occurred != new.occurred),
    ] {
        tell(field, differs.then(|| format!("its `{field}` differs")));
    }
    // The paths are equal, but the recorded state of a file differs.
    let is_seen = paths(old) == paths(new) && old.paths != new.paths;
    tell("paths", is_seen.then(|| "its files were seen anew".to_owned()));
    changes
}

/// Formats a text as one line that is safe to print.
pub fn line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn body(old: &str, new: &str) -> Option<String> {
    if old == new {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let only = |all: &[&str], other: &[&str]| {
        let mut left = other.to_vec();
        let is_new = |line: &&&str| match left.iter().position(|known| known == *line) {
            Some(at) => {
                left.swap_remove(at);
                false
            }
            None => true,
        };
        all.iter().filter(is_new).count()
    };
    let (added, removed) = (only(&new, &old), only(&old, &new));
    Some(match (added, removed) {
        (0, 0) => "its text is in another order".to_owned(),
        (added, 0) => format!("its text has {} more", plural(added, "line")),
        (0, removed) => format!("its text has {} fewer", plural(removed, "line")),
        (added, removed) => {
            format!("its text has {} in place of {removed}", plural(added, "new line"))
        }
    })
}

const fn status(status: Status) -> &'static str {
    match status {
        Status::Active => "it takes part in recall again",
        Status::Held => "it is pending",
        Status::Rejected => "it is rejected",
        Status::Archived => "it is archived",
    }
}

const fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Project => "it is about the whole project",
        Scope::User => "it is its user's own, for all projects",
        Scope::Paths => "it is about its files alone",
    }
}

const fn pinned(is_pinned: bool) -> &'static str {
    if is_pinned { "it is pinned" } else { "it is not pinned any more" }
}

fn until(
    old: Option<Timestamp>,
    new: Option<Timestamp>,
    word: &str,
    never: &str,
) -> Option<String> {
    let told = || new.map_or(never.to_owned(), |at| format!("it holds {word} {}", clock::date(at)));
    (old != new).then(told)
}

/// Describes added and removed items of a list.
fn list(what: &str, old: &[String], new: &[String]) -> Option<String> {
    let only = |all: &[String], other: &[String]| -> Vec<String> {
        all.iter().filter(|item| !other.contains(item)).map(|item| line(item)).collect()
    };
    let told = |verb: &str, items: Vec<String>| {
        let s = if items.len() == 1 { "" } else { "s" };
        (!items.is_empty()).then(|| format!("it {verb} the {what}{s} {}", items.join(", ")))
    };
    let gains = told("gains", only(new, old));
    let loses = told("loses", only(old, new));
    match (gains, loses) {
        (None, None) => (old != new).then(|| format!("its {what}s are in another order")),
        (gains, loses) => Some(gains.into_iter().chain(loses).collect::<Vec<_>>().join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use memory_store::Kind;

    use super::*;

    #[test]
    fn each_difference_is_described_in_words() {
        let old = Memory::new(MemoryId([7; 16]), Kind::Fact, "Bread", "a\nb\n", Timestamp(0));
        assert_eq!(between(&old, &old), []);
        let mut new = old.clone();
        new.title = "Rolls".into();
        new.body = "a\nc\nd\n".into();
        new.kind = Kind::Decision;
        new.status = Status::Archived;
        new.pinned = true;
        new.confidence = 0.5;
        new.tags = vec!["oven".into(), "x\u{1b}[2Jy".into()];
        new.superseded_by = Some(MemoryId([8; 16]));
        new.author = Some("ada".into());
        let told: Vec<String> = between(&old, &new).into_iter().map(|change| change.told).collect();
        assert_eq!(
            told,
            [
                "its title was \"Bread\"",
                "its text has 2 new lines in place of 1",
                "its kind was fact",
                "it is archived",
                "it is pinned",
                "its confidence is 0.50 instead of 1.00",
                "it gains the tags oven, x[2Jy",
                &format!("{} replaces it", MemoryId([8; 16]).short()),
                "its `author` differs",
            ]
        );
        assert!(
            between(&new, &old).iter().any(|change| change.told == "it loses the tags oven, x[2Jy")
        );
    }
}

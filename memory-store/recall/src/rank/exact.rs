//! Memories that a query names directly, by a file that they are about or by an error's signature. They pass the gate.

use crate::glob::path_matches;
use crate::index::document::{Document, GLOB_KEY, is_glob, name_key};
use crate::index::record::{
    FLAG_HELD, FLAG_PATHS_ONLY, FLAG_SAID, FLAG_SIGNATURES, FLAG_SUPERSEDED,
};
use crate::index::segment::Segment;
use crate::query::follow_up::Topic;
use crate::query::phrase::Phrases;
use crate::query::{Query, Term};
use crate::rank::candidate::{Candidate, NamedBy};
use crate::rank::lexical::FoundTerms;
use crate::rank::rejected::rejects;
use crate::rank::score;
use crate::search::sources::{At, IndexSource, Sources};
use crate::signature::{command_hash, error_signature, names_cause, signature_hash};
use memory_store_base::kind::Kind;
use memory_store_base::time::Timestamp;

/// Gain of a memory about a path that the prompt names.
const PATH_IN_PROMPT: f32 = 0.6;
/// Gain of a memory that warns about a command in the prompt.
const COMMAND_IN_PROMPT: f32 = 0.6;
/// Maximum number of memories that are added for the commands of a prompt, because plans repeat the commands with which
/// every change is checked. Memories with the highest confidence come first, those from the repository last.
const WARNINGS_MAX: usize = 2;
/// Maximum number of memories about a command that are read from an index, the latest ones.
const WARNINGS_READ_MAX: usize = 64;
/// Maximum number of memories whose text is searched for a rejection, best first.
const REJECTIONS_READ_MAX: usize = 16;
/// Gain of a memory with the same error signature.
const SAME_ERROR: f32 = 1.0;
/// Gain of a memory whose text quotes the error.
const QUOTED_ERROR: f32 = 0.6;
/// Maximum number of candidates whose text is searched for words of the error, best first. Each must be read.
const QUOTING_MAX: usize = 8;
/// Scores of a file's memories by kind of match. Their distances exceed the sum of all other parts of the score.
const EXACT: f32 = 16.0;
const SUFFIX: f32 = 14.0;
const GLOB: f32 = 10.0;
const BASENAME: f32 = 8.0;
const MENTION: f32 = 4.0;
/// Weight of confidence, kind and age among the memories of a file, so that the most important ones precede those that
/// only repeat the name.
const PRIOR: f32 = 2.0;
/// Weight of the path's words among memories that are otherwise equal.
const TIE: f32 = 0.1;
/// Weight of the share of the topic's rarity that a memory covers. It is about that of confidence, whose range is .7: a
/// memory that repeats the last prompt's words precedes one that is half as important again. It is not fitted, because
/// no training set has prompts before its files.
const TOPIC: f32 = 0.7;

/// How a memory's path matches a file.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Fit {
    Basename,
    Glob,
    Suffix,
    Exact,
}

/// Adds the memories about the paths that a prompt names to its candidates.
pub(crate) fn add(sources: &Sources, query: &Query, candidates: &mut Vec<Candidate>) {
    for path in &query.paths {
        for at in named_by(sources, path) {
            name(sources, candidates, at, NamedBy::Path(path.clone()), PATH_IN_PROMPT);
        }
    }
}

/// Returns the documents about a file that a text names.
pub(crate) fn named_by(sources: &Sources, path: &str) -> Vec<At> {
    let bare = !path.contains('/');
    let found = about(sources, path, fit).into_iter();
    // People often write a bare file name. A longer path that matches only by its last component is a different file.
    let named = |fit| fit == Fit::Exact || fit == Fit::Suffix || (bare && fit == Fit::Basename);
    found.filter(|&(_, fit)| named(fit)).map(|(at, _)| at).collect()
}

/// Adds memories about a query's commands to its candidates: those of a kind that `is_wanted` accepts, with the highest
/// confidence, that may be shown.
pub(crate) fn add_warnings(
    sources: &Sources,
    query: &Query,
    candidates: &mut Vec<Candidate>,
    is_wanted: fn(Kind) -> bool,
    may_answer: &dyn Fn(At) -> bool,
) {
    if query.commands.is_empty() {
        return;
    }
    let mut found = warnings(sources, &query.commands, is_wanted);
    found.sort_by_key(|(at, _)| *at);
    found.dedup_by_key(|(at, _)| *at);
    let entries = found.into_iter().filter_map(|(at, command)| {
        let entry = sources.entry(at)?;
        let is_left = entry.has(FLAG_PATHS_ONLY | FLAG_SAID | FLAG_HELD | FLAG_SUPERSEDED);
        (!is_left).then(|| (entry.confidence(), at, command))
    });
    let mut surest: Vec<(f32, At, &str)> = entries.collect();
    surest.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let (mut given, mut pulled) = (Vec::new(), None);
    for (_, at, command) in surest.into_iter().filter(|it| may_answer(it.1)) {
        // The confidence in a file from the repository is not trusted, so at most one such memory is added, and only if
        // there is room.
        if sources.is_from_repository(at) {
            pulled.get_or_insert((at, command));
        } else {
            given.push((at, command));
        }
        if given.len() == WARNINGS_MAX {
            break;
        }
    }
    for (at, command) in given.into_iter().chain(pulled).take(WARNINGS_MAX) {
        name(sources, candidates, at, NamedBy::Command(command.to_owned()), COMMAND_IN_PROMPT);
    }
}

/// Returns the memories of the wanted kinds about one of these commands, each with the command. Duplicates are possible.
fn warnings<'c>(
    sources: &Sources,
    commands: &'c [String],
    is_wanted: fn(Kind) -> bool,
) -> Vec<(At, &'c str)> {
    let mut found = Vec::new();
    for (number, source) in (0..).zip(&sources.list) {
        let is_of_kind = |doc: u32| {
            let entry = sources.entry(At { source: number, doc });
            entry.and_then(|entry| entry.kind_of()).is_some_and(is_wanted)
        };
        let mut add = |doc, command| found.push((At { source: number, doc }, command));
        for command in commands {
            let mut docs = Vec::new();
            segment_docs(sources, source, command_hash(command), &mut docs);
            docs.retain(|&doc| is_of_kind(doc));
            // Later memories have higher document numbers.
            let read = docs.split_off(docs.len().saturating_sub(WARNINGS_READ_MAX));
            read.into_iter().for_each(|doc| add(doc, command.as_str()));
        }
        let first = source.segment().map_or(0, Segment::docs);
        for (doc, document) in (first..).zip(&source.loose) {
            if !is_of_kind(doc) {
                continue;
            }
            let known = document.commands();
            if let Some(command) = commands.iter().find(|command| known.contains(command)) {
                add(doc, command.as_str());
            }
        }
    }
    found
}

/// Returns the memories with an error's signature.
pub(crate) fn of_error(sources: &Sources, error: &str) -> Vec<At> {
    let Some(signature) = error_signature(error) else { return Vec::new() };
    // A fix may have been learned from a single line of the error.
    let causes = signature.split(" | ").filter(|line| names_cause(line));
    let mut hashes: Vec<u64> = causes.map(signature_hash).collect();
    if hashes.is_empty() {
        return Vec::new();
    }
    hashes.push(signature_hash(&signature));
    hashes.sort_unstable();
    hashes.dedup();
    let mut known = Vec::new();
    for hash in hashes {
        for (number, source) in (0..).zip(&sources.list) {
            let docs = with_signature(sources, source, hash);
            known.extend(docs.into_iter().map(|doc| At { source: number, doc }));
        }
    }
    known
}

/// Adds the memories with an error's signature to its candidates.
pub(crate) fn add_errors(sources: &Sources, known: &[At], candidates: &mut Vec<Candidate>) {
    for &at in known {
        name(sources, candidates, at, NamedBy::Signature, SAME_ERROR);
    }
}

/// Marks the candidates that quote an error. `text` returns the text of a candidate if it may be shown.
pub(crate) fn add_quoting(
    sources: &Sources,
    error: &str,
    candidates: &mut Vec<Candidate>,
    mut text: impl FnMut(&Candidate) -> Option<String>,
) {
    let phrases = Phrases::of(error);
    if phrases.are_none() {
        return;
    }
    score::sort(candidates);
    let best = candidates.iter().filter(|candidate| candidate.named.is_none());
    let quoting: Vec<At> = best
        .take(QUOTING_MAX)
        .filter(|candidate| text(candidate).is_some_and(|text| phrases.are_quoted_in(&text)))
        .map(|candidate| candidate.at)
        .collect();
    for at in quoting {
        name(sources, candidates, at, NamedBy::Phrase, QUOTED_ERROR);
    }
}

/// Adds the memories that reject something which the query's terms name. `read` returns the kind, title and text of a
/// candidate if it may be shown.
pub(crate) fn add_rejections(
    sources: &Sources,
    query: &Query,
    candidates: &mut Vec<Candidate>,
    read: impl Fn(&Candidate) -> Option<(Kind, String, String)>,
) {
    if query.terms.is_empty() {
        return;
    }
    let found = FoundTerms::look_up(sources, &query.terms);
    for candidate in found.best(sources, query, REJECTIONS_READ_MAX, &[]) {
        if !candidate.entry.kind_of().is_some_and(Kind::is_constraint) {
            continue;
        }
        let names =
            candidate.shared.iter().map(|&term| query.terms[usize::from(term)].text.as_str());
        let names: Vec<&str> = names.collect();
        let is_rejection =
            |(kind, title, text): (Kind, String, String)| rejects(kind, &title, &text, &names);
        if read(&candidate).is_some_and(is_rejection) {
            name(sources, candidates, candidate.at, NamedBy::Mention, MENTION);
        }
    }
}

/// Returns the memories about a file, ranked by kind of match: same path, end of a path, glob, file name, mention in
/// the text. Equal matches are ranked by importance and by similarity to the topic of the last prompt.
pub(crate) fn file(
    sources: &Sources,
    query: &Query,
    path: &str,
    topic: &dyn Fn() -> Topic,
    now: Timestamp,
) -> Vec<Candidate> {
    let mut fits: Vec<(At, Fit)> = about(sources, path, fit_spelled);
    fits.sort_by(|a, b| {
        a.0.cmp(&b.0).then(b.1.partial_cmp(&a.1).unwrap_or(std::cmp::Ordering::Equal))
    });
    fits.dedup_by_key(|(at, _)| *at);
    // The other words only rank what the names match, and most files have no memory at all.
    let terms = if fits.is_empty() { usize::from(query.names) } else { query.terms.len() };
    let found = FoundTerms::look_up(sources, &query.terms[..terms]);
    let mut candidates = found.best(sources, query, usize::MAX, &[]);
    let best = candidates.iter().map(|candidate| candidate.lexical).fold(0.0, f32::max);
    for candidate in &mut candidates {
        candidate.fused = TIE * candidate.lexical / best.max(f32::MIN_POSITIVE);
        if candidate.shared.iter().any(|&term| term < query.names) {
            candidate.named = Some(NamedBy::Mention);
            candidate.fused += MENTION;
        }
    }
    for &(at, fit) in &fits {
        let worth = match fit {
            Fit::Exact => EXACT,
            Fit::Suffix => SUFFIX,
            Fit::Glob => GLOB,
            Fit::Basename => BASENAME,
        };
        name(sources, &mut candidates, at, NamedBy::Path(path.to_owned()), worth);
    }
    candidates.retain(|candidate| candidate.named.is_some());
    // A single candidate needs no topic for its rank.
    let topic = if candidates.len() > 1 { topic() } else { Topic::default() };
    let shares = topic_shares(sources, &topic, &candidates);
    for (candidate, share) in candidates.iter_mut().zip(shares) {
        candidate.fused += PRIOR * candidate.prior(&sources.settings, now) + TOPIC * share;
        candidate.gate = candidate.fused;
    }
    candidates
}

/// Returns for each candidate the share of the topic's rarity that it covers.
fn topic_shares(sources: &Sources, topic: &Topic, candidates: &[Candidate]) -> Vec<f32> {
    let terms: Vec<Term> = topic.terms().collect();
    let all: f32 = terms.iter().map(|term| term.background).sum();
    let mut shares = vec![0.0; candidates.len()];
    if all <= 0.0 {
        return shares;
    }
    let query = Query { terms, ..Query::default() };
    let found = FoundTerms::look_up(sources, &query.terms);
    let asked: Vec<At> = candidates.iter().map(|candidate| candidate.at).collect();
    for said in found.best(sources, &query, 0, &asked) {
        if let Some(number) = candidates.iter().position(|candidate| candidate.at == said.at) {
            let has = said.shared.iter().map(|&term| query.terms[usize::from(term)].background);
            shares[number] = has.sum::<f32>() / all;
        }
    }
    shares
}

/// Marks a document as named directly. Adds the document to the candidates if it is not one of them.
fn name(sources: &Sources, candidates: &mut Vec<Candidate>, at: At, named: NamedBy, worth: f32) {
    let known = candidates.iter().position(|candidate| candidate.at == at);
    let place = match known {
        Some(place) => place,
        None => {
            let Some(entry) = sources.entry(at) else { return };
            candidates.push(Candidate::new(at, entry));
            candidates.len() - 1
        }
    };
    let candidate = &mut candidates[place];
    if !matches!(candidate.named, Some(NamedBy::Path(_) | NamedBy::Command(_) | NamedBy::Signature))
    {
        candidate.named = Some(named);
        candidate.fused += worth;
    }
}

/// Returns the memories with a path that matches a file according to `fit`, and how it matches.
fn about(
    sources: &Sources,
    path: &str,
    fit: fn(known: &str, path: &str) -> Option<Fit>,
) -> Vec<(At, Fit)> {
    let mut fits = Vec::new();
    for (number, source) in sources.list.iter().enumerate() {
        let mut each = |doc: u32, known: &str| {
            if let Some(fit) = fit(known, path) {
                fits.push((At { source: number as u8, doc }, fit));
            }
        };
        let first = source.segment().map_or(0, Segment::docs);
        if let Some(segment) = source.segment() {
            for key in [name_key(path), GLOB_KEY] {
                if let Err(error) = segment.paths(key, &mut each) {
                    sources.note(&error);
                }
            }
        }
        for (at, document) in source.loose.iter().enumerate() {
            document.record.paths.iter().for_each(|known| each(first + at as u32, known));
        }
    }
    fits
}

/// Returns whether a memory's path matches a file that a person named.
pub(crate) fn is_about(known: &str, path: &str) -> bool {
    fit_spelled(known, path).is_some()
}

/// Returns how a memory's path matches a used file, in any spelling by a person or a session on Windows; `None` if it
/// does not match. Paths in prompts are compared as written: on a project recorded on Windows, accepting other
/// spellings lost two answers of 31.
fn fit_spelled(known: &str, path: &str) -> Option<Fit> {
    if known.contains('\\') && !path.contains('\\') {
        return fit_spelled(&known.replace('\\', "/"), path);
    }
    fit(known.strip_prefix("./").unwrap_or(known), path)
}

/// Returns how a memory's path matches a file; `None` if it does not match. Folders never match, because such a match
/// is nearly always wrong.
fn fit(known: &str, path: &str) -> Option<Fit> {
    let ends = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.ends_with('/')) && !short.is_empty()
    };
    if known == path {
        Some(Fit::Exact)
    } else if is_glob(known) {
        path_matches(known, path).then_some(Fit::Glob)
    } else if (known.contains('/') && ends(path, known))
        || (path.contains('/') && ends(known, path))
    {
        Some(Fit::Suffix)
    } else {
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_lowercase();
        (name(known) == name(path) && !name(path).is_empty()).then_some(Fit::Basename)
    }
}

/// Returns the documents of a source that have an error signature.
fn with_signature(sources: &Sources, source: &IndexSource, hash: u64) -> Vec<u32> {
    let mut docs = Vec::new();
    segment_docs(sources, source, hash, &mut docs);
    let first = source.segment().map_or(0, Segment::docs);
    let has = |document: &Document| {
        document.entry.has(FLAG_SIGNATURES)
            && document.record.signatures.iter().any(|known| signature_hash(known) == hash)
    };
    let loose = (first..).zip(&source.loose).filter(|(_, document)| has(document));
    docs.extend(loose.map(|(doc, _)| doc));
    docs
}

/// Adds to `docs` the documents of a source's segment with this hash of a signature or a command.
fn segment_docs(sources: &Sources, source: &IndexSource, hash: u64, docs: &mut Vec<u32>) {
    if let Some(segment) = source.segment()
        && let Err(error) = segment.errors(hash, |doc| docs.push(doc))
    {
        sources.note(&error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_fit_by_their_ends_and_never_by_their_folders() {
        assert_eq!(fit("src/a.rs", "src/a.rs"), Some(Fit::Exact));
        assert_eq!(fit("src/a.rs", "web/src/a.rs"), Some(Fit::Suffix));
        assert_eq!(fit("web/src/a.rs", "src/a.rs"), Some(Fit::Suffix));
        assert_eq!(fit("src/a.rs", "lib/a.rs"), Some(Fit::Basename));
        assert_eq!(fit("src/b.rs", "src/a.rs"), None);
        assert_eq!(fit("src", "src/a.rs"), None);
        assert_eq!(fit("src/**/*.rs", "src/x/y/a.rs"), Some(Fit::Glob));
        assert_eq!(fit("src/*.rs", "src/x/a.rs"), None);
        assert_eq!(fit("a.rs", "ba.rs"), None);
        for known in ["./src/a.rs", r"src\a.rs", r".\src\a.rs"] {
            assert_eq!(fit_spelled(known, "src/a.rs"), Some(Fit::Exact), "{known}");
        }
        for known in [r"D:\repo\src\a.rs", "/d/repo/src/a.rs", "C:/Users/x/repo/src/a.rs"] {
            assert_eq!(fit_spelled(known, "src/a.rs"), Some(Fit::Suffix), "{known}");
        }
        // Brackets name a route, not a glob.
        assert_eq!(fit("app/[id]/page.tsx", "web/app/[id]/page.tsx"), Some(Fit::Suffix));
        assert_eq!(fit("app/[id]/page.tsx", "lib/page.tsx"), Some(Fit::Basename));
    }
}

//! Finds the drafts that the work of a later session may have made invalid: they share a file, an identifier or a name
//! with the work, or are similar to one of its commits. The drafts are grouped in batches for questions to a model.
//!
//! The work consists of a session's commits, written files and record. It is compared only with earlier drafts.
//! Therefore later sessions do not change a batch, and each batch is sent to a model only once.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use memory_store::Timestamp;
use memory_store::memory::Entity;
use memory_store::text::is_stop_word;
use serde::Serialize;

use crate::anchors::code_names;
use crate::extract::Landed;
use crate::extract::draft::Draft;
use crate::extract::session_record::SessionRecord;

/// Maximum number of drafts in one batch.
pub const NOTES_MAX: usize = 24;
/// Maximum number of drafts that are compared with the work of one session. Drafts that share most with the work are
/// used.
const TOUCHED_MAX: usize = 2 * NOTES_MAX;
/// A name that occurs in more than one in `COMMON_SHARE` earlier drafts is common and does not count. This applies if
/// there are at least `COMMON_FROM` earlier drafts.
const COMMON_SHARE: usize = 4;
const COMMON_FROM: usize = 16;
/// Weight of the likeness to a commit, relative to the weight of a shared name.
const NEAR_WEIGHT: f32 = 2.0;
/// Maximum numbers of commits, files and decisions of a session in a question.
const COMMITS_MAX: usize = 16;
const FILES_MAX: usize = 24;
const DECISIONS_MAX: usize = 8;

/// Commits and written files of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Work {
    /// Id of the session.
    pub session: String,
    /// Time of the session's last step.
    pub at: Timestamp,
    /// The session's title.
    pub title: String,
    /// The session's commits, ordered by time.
    pub commits: Vec<Landed>,
    /// Files that the session wrote, with the time of the last write.
    files: Vec<(String, Timestamp)>,
    /// First paragraph of the session's last answer.
    answer: String,
    decisions: Vec<String>,
}

impl Work {
    /// Returns the work of a session; `None` if the session neither made a commit nor wrote a file.
    pub fn of(record: &SessionRecord) -> Option<Self> {
        let files: Vec<(String, Timestamp)> =
            record.written().map(|(path, at)| (path.to_owned(), at)).collect();
        if record.commits.is_empty() && files.is_empty() {
            return None;
        }
        let mut commits = record.commits.clone();
        commits.sort_by_key(|commit| commit.at);
        Some(Self {
            session: record.session.clone(),
            at: record.last,
            title: record.title.clone(),
            commits,
            files,
            answer: record.answer.clone(),
            decisions: record.decisions.clone(),
        })
    }

    /// Returns each word of the work with the time of its last occurrence.
    fn words(&self) -> BTreeMap<String, Timestamp> {
        let mut words = BTreeMap::new();
        let mut add = |text: &str, at: Timestamp| {
            for word in words_of(text) {
                let known = words.entry(word).or_insert(at);
                *known = at.max(*known);
            }
        };
        for commit in &self.commits {
            add(&commit.subject, commit.at);
            add(&commit.body, commit.at);
        }
        add(&self.title, self.at);
        add(&self.answer, self.at);
        self.decisions.iter().for_each(|decision| add(decision, self.at));
        words
    }
}

/// The work of a session, and the drafts that share something with it, by their indexes in the lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkBatch {
    /// Index of the work.
    pub work: usize,
    /// Indexes of the commits in the question.
    pub commits: Vec<usize>,
    /// Files in the question.
    pub files: Vec<String>,
    /// Decisions in the question.
    pub decisions: Vec<String>,
    /// Indexes of the drafts, ordered by time.
    pub notes: Vec<usize>,
}

/// Finds the drafts that share something with the work of a session.
pub struct TouchedNotes<'a> {
    drafts: &'a [&'a Draft],
    /// For each word of a name, the drafts that contain the name, ordered by time.
    names: HashMap<String, Vec<usize>>,
    /// The words of each name of several words, with the index of its draft.
    phrases: Vec<(Vec<String>, usize)>,
    /// For each file name (the last part of a path), the drafts about the file.
    files: HashMap<String, Vec<usize>>,
}

impl<'a> TouchedNotes<'a> {
    /// Prepares the search in `drafts`, which are ordered by time.
    pub fn new(drafts: &'a [&'a Draft]) -> Self {
        let (names, phrases, files) = (HashMap::new(), Vec::new(), HashMap::new());
        let mut touched = Self { drafts, names, phrases, files };
        for (at, draft) in drafts.iter().enumerate() {
            for name in names_of(draft) {
                touched.names.entry(name).or_default().push(at);
            }
            touched.phrases.extend(phrases_of(draft).map(|phrase| (phrase, at)));
            let last_parts: BTreeSet<&str> =
                draft.paths.iter().map(|path| last_part(path)).collect();
            for file in last_parts {
                touched.files.entry(file.to_owned()).or_default().push(at);
            }
        }
        touched
    }

    /// Returns the work of a session with the drafts that share something with it, in batches of limited size. `near`
    /// contains, for each commit, the drafts that are similar to it. Drafts for which `is_over` returns true are
    /// omitted.
    pub fn batches(
        &self,
        (place, work): (usize, &Work),
        near: &[Vec<usize>],
        is_over: &dyn Fn(usize) -> bool,
        notes_max: usize,
    ) -> Vec<WorkBatch> {
        let earlier = self.drafts.partition_point(|draft| draft.occurred < work.at);
        let words = work.words();
        let mut shared: BTreeMap<usize, f32> = BTreeMap::new();
        let mut share = |notes: &mut dyn Iterator<Item = usize>, weight: f32| {
            notes.for_each(|note| *shared.entry(note).or_default() += weight);
        };
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let weight = |count: usize| (1.0 + earlier as f32 / count.max(1) as f32).ln();
        let before = |notes: &[usize], at: Timestamp| -> Vec<usize> {
            let end = notes.partition_point(|&note| self.drafts[note].occurred < at);
            notes[..end].to_vec()
        };
        for (word, &at) in &words {
            let Some(notes) = self.names.get(word) else { continue };
            let notes = before(notes, at);
            if earlier >= COMMON_FROM && notes.len() * COMMON_SHARE > earlier {
                continue;
            }
            share(&mut notes.iter().copied(), weight(notes.len()));
        }
        for (phrase, note) in &self.phrases {
            let last = phrase.iter().map(|word| words.get(word)).min().flatten();
            if last.is_some_and(|last| self.drafts[*note].occurred < *last) {
                share(&mut std::iter::once(*note), weight(1));
            }
        }
        for (file, at) in &work.files {
            let Some(notes) = self.files.get(last_part(file)) else { continue };
            let mut notes = before(notes, *at);
            notes.retain(|&note| {
                self.drafts[note].paths.iter().any(|path| is_same_file(path, file))
            });
            share(&mut notes.iter().copied(), weight(notes.len()));
        }
        share(&mut near.iter().flatten().copied(), NEAR_WEIGHT);
        let mut notes: Vec<(usize, f32)> = shared
            .into_iter()
            .filter(|&(note, _)| self.drafts[note].session != work.session && !is_over(note))
            .collect();
        notes.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        notes.truncate(TOUCHED_MAX);
        let mut notes: Vec<usize> = notes.into_iter().map(|(note, _)| note).collect();
        notes.sort_unstable();
        let count = notes.len().div_ceil(notes_max.max(1)).max(1);
        let size = notes.len().div_ceil(count).max(1);
        let batch = |notes: &[usize]| {
            let names = notes.iter().flat_map(|&note| names_of(self.drafts[note])).collect();
            WorkBatch {
                work: place,
                commits: shown_commits(work, near, notes, &names),
                files: self.shown_files(work, notes),
                decisions: shown_decisions(work, &names),
                notes: notes.to_vec(),
            }
        };
        notes.chunks(size).map(batch).collect()
    }

    /// Returns the files of the work, first the files that the drafts are about.
    fn shown_files(&self, work: &Work, notes: &[usize]) -> Vec<String> {
        let is_noted = |file: &str| {
            let mut paths = notes.iter().flat_map(|&note| &self.drafts[note].paths);
            paths.any(|path| is_same_file(path, file))
        };
        let (mut files, others): (Vec<&str>, Vec<&str>) =
            work.files.iter().map(|(file, _)| file.as_str()).partition(|file| is_noted(file));
        files.extend(others);
        files.into_iter().take(FILES_MAX).map(str::to_owned).collect()
    }
}

/// Returns the commits that are similar to one of the drafts or share most names with the drafts, ordered by time.
fn shown_commits(
    work: &Work,
    near: &[Vec<usize>],
    notes: &[usize],
    names: &BTreeSet<String>,
) -> Vec<usize> {
    let strength = |at: usize| {
        let commit = &work.commits[at];
        let words = words_of(&format!("{}\n{}", commit.subject, commit.body));
        let is_near = near.get(at).is_some_and(|near| near.iter().any(|it| notes.contains(it)));
        words.intersection(names).count() + 2 * usize::from(is_near)
    };
    strongest(work.commits.len(), strength, COMMITS_MAX)
}

/// Returns the decisions that share most names with the drafts, ordered by time.
fn shown_decisions(work: &Work, names: &BTreeSet<String>) -> Vec<String> {
    let strength = |at: usize| words_of(&work.decisions[at]).intersection(names).count();
    let shown = strongest(work.decisions.len(), strength, DECISIONS_MAX);
    shown.into_iter().map(|at| work.decisions[at].clone()).collect()
}

/// Returns the indexes with the greatest strength, in ascending order. Of equal strengths, the later index is used.
fn strongest(count: usize, strength: impl Fn(usize) -> usize, max: usize) -> Vec<usize> {
    let mut places: Vec<(usize, usize)> = (0..count).map(|at| (strength(at), at)).collect();
    places.sort_by(|a, b| b.cmp(a));
    places.truncate(max);
    let mut places: Vec<usize> = places.into_iter().map(|(_, at)| at).collect();
    places.sort_unstable();
    places
}

/// Returns the text about the work in a question: its commits under names such as `N2`, and its record as `N0`.
pub fn shown(work: &Work, batch: &WorkBatch, chars_max: usize) -> String {
    let mut text = format!("N0 [{}] {}\n", work.at.date(), work.title);
    if !batch.files.is_empty() {
        text.push_str(&format!("   files written: {}\n", batch.files.join(", ")));
    }
    if !batch.decisions.is_empty() {
        text.push_str(&format!("   decided: {}\n", batch.decisions.join("; ")));
    }
    if !work.answer.is_empty() {
        text.push_str(&format!("   last answer: {}\n", work.answer));
    }
    let mut text: String = text.chars().take(chars_max / 2).collect();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let lines = (1..).zip(&batch.commits).map(|(number, &at)| {
        let commit = &work.commits[at];
        let body = commit.body.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("N{number} [{}] {}\n   {body}\n", commit.at.date(), commit.subject)
    });
    for line in lines {
        if text.chars().count() + line.chars().count() <= chars_max {
            text.push_str(&line);
        }
    }
    text
}

/// Returns the names in a draft as single words: identifiers in the text, entities, file names, and the words of the
/// title except stop words.
fn names_of(draft: &Draft) -> BTreeSet<String> {
    let identifiers = code_names::of_texts(&draft.title, &draft.body).into_iter();
    let entities = entities_of(draft).filter(|name| !name.contains(char::is_whitespace));
    let files = draft.paths.iter().map(|path| last_part(path).to_owned());
    let names = identifiers.chain(entities).chain(files).flat_map(|name| words_of(&name));
    let title = words_of(&draft.title).into_iter().filter(|word| !is_stop_word(word));
    names.chain(title).collect()
}

/// Returns the words of each entity of a draft that consists of several words.
fn phrases_of(draft: &Draft) -> impl Iterator<Item = Vec<String>> {
    let phrases = entities_of(draft).filter(|name| name.contains(char::is_whitespace));
    phrases.map(|name| words_of(&name).into_iter().collect::<Vec<_>>()).filter(|it| it.len() > 1)
}

fn entities_of(draft: &Draft) -> impl Iterator<Item = String> {
    draft.entities.iter().map(|entity| Entity::read(entity).name)
}

/// Returns the words of a text in lower case. A word may contain the punctuation of program names, and the last part of
/// each path is a word as well.
fn words_of(text: &str) -> BTreeSet<String> {
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    let mut words = BTreeSet::new();
    for word in text.to_lowercase().split(|c: char| !is_of_name(c)) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        for word in [word, last_part(word)] {
            if word.chars().count() >= WORD_CHARS_MIN {
                words.insert(word.to_owned());
            }
        }
    }
    words
}

/// Minimum number of characters of a word that may be a name.
const WORD_CHARS_MIN: usize = 3;

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a path, which may be absolute, is this file of the project.
fn is_same_file(path: &str, file: &str) -> bool {
    path.strip_suffix(file).is_some_and(|above| above.is_empty() || above.ends_with('/'))
}

#[cfg(test)]
mod tests {
    use memory_store::Kind;

    use super::*;
    use crate::consolidate::tests::draft;
    use crate::extract::session_record::TouchedFile;

    fn note(session: &str, at: i64, title: &str) -> Draft {
        draft(session, at, Kind::Gotcha, title, "")
    }

    fn landed(at: i64, subject: &str) -> Landed {
        Landed {
            session: "z".into(),
            at: Timestamp(at),
            subject: subject.into(),
            body: String::new(),
        }
    }

    fn work(commits: Vec<Landed>, files: &[(&str, i64)]) -> Work {
        let files = files.iter().map(|&(path, at)| TouchedFile {
            path: path.to_owned(),
            edited: Some(Timestamp(at)),
            ..TouchedFile::default()
        });
        let record = SessionRecord {
            session: "z".to_owned(),
            title: "Tidy up the carts".to_owned(),
            answer: "The `cart_ttl` is gone, and Redis is not needed.".to_owned(),
            last: Timestamp(9_000),
            commits,
            files: files.collect(),
            ..SessionRecord::default()
        };
        Work::of(&record).unwrap()
    }

    fn batches(
        drafts: &[Draft],
        work: &Work,
        near: &[Vec<usize>],
        notes_max: usize,
    ) -> Vec<WorkBatch> {
        let drafts: Vec<&Draft> = drafts.iter().collect();
        TouchedNotes::new(&drafts).batches((0, work), near, &|_| false, notes_max)
    }

    fn notes(drafts: &[Draft], work: &Work) -> Vec<usize> {
        batches(drafts, work, &[], NOTES_MAX).into_iter().flat_map(|batch| batch.notes).collect()
    }

    #[test]
    fn a_note_is_touched_by_a_file_an_identifier_or_a_name() {
        let mut drafts = vec![
            note("a", 1_000, "They die after a day"),
            note("a", 2_000, "`cart_ttl` is given in minutes"),
            note("b", 3_000, "Sessions are kept for an hour"),
            note("b", 4_000, "Labels are printed by the carrier"),
            note("b", 4_100, "Prices are whole cents"),
            note("z", 5_000, "`cart_ttl` was seen in this session"),
            note("c", 9_500, "`cart_ttl` came back later"),
        ];
        drafts[0].paths = vec!["/work/shop/src/cart.rs".to_owned()];
        drafts[2].entities = vec!["Redis (service)".to_owned()];
        drafts[3].entities = vec!["label printer (component)".to_owned()];
        drafts[4].paths = vec!["src/smart-cart.rs".to_owned()];
        let done =
            work(vec![landed(8_000, "Keep carts")], &[("src/cart.rs", 7_000), ("art.rs", 7_000)]);
        assert_eq!(notes(&drafts, &done), [0, 1, 2]);
        // All words of a name must occur. A file that was written before the draft does not count.
        let other =
            work(vec![landed(8_000, "Replace the printer of each label")], &[("src/cart.rs", 900)]);
        assert_eq!(notes(&drafts, &other), [1, 2, 3]);
        // A session that made no commit and wrote no file has no work.
        let idle = SessionRecord { answer: "Redis".to_owned(), ..SessionRecord::default() };
        assert_eq!(Work::of(&idle), None);
    }

    #[test]
    fn a_note_is_touched_by_words_of_its_title_and_sees_the_decisions_about_them() {
        let drafts = [
            note("a", 1_000, "The list has filters with counts"),
            note("a", 2_000, "The parser is slow"),
        ];
        let mut done = work(vec![landed(8_000, "Take the filters away")], &[]);
        done.decisions = (0..20).map(|n| format!("Decision {n} about paint")).collect();
        done.decisions[3] = "The list has a search and no filters".to_owned();
        assert_eq!(notes(&drafts, &done), [0]);
        let batch = &batches(&drafts, &done, &[], NOTES_MAX)[0];
        assert_eq!(batch.decisions.len(), DECISIONS_MAX);
        assert_eq!(batch.decisions[0], done.decisions[3]);
    }

    #[test]
    fn batches_stay_when_later_notes_come_and_hold_what_fits() {
        let mut drafts: Vec<Draft> = (0..40)
            .map(|n| Draft {
                paths: vec!["src/cart.rs".to_owned()],
                ..note("a", n + 1, &format!("Trap {n} of the carts"))
            })
            .collect();
        let done = work(vec![landed(8_000, "Keep carts")], &[("src/cart.rs", 7_000)]);
        let before = batches(&drafts, &done, &[], 15);
        let sizes: Vec<usize> = before.iter().map(|batch| batch.notes.len()).collect();
        assert_eq!(sizes, [14, 14, 12]);
        drafts.extend((0..9).map(|n| note("y", 9_500 + n, "`cart_ttl` and src/cart.rs")));
        assert_eq!(batches(&drafts, &done, &[], 15), before);
        assert!(batches(&drafts[..0], &done, &[], 15).is_empty());
    }

    #[test]
    fn a_name_that_many_notes_have_names_nothing() {
        let common: Vec<Draft> =
            (0..20).map(|n| note("a", n + 1, &format!("`cart_ttl` and case {n}"))).collect();
        let done = work(vec![landed(8_000, "Keep carts")], &[]);
        assert_eq!(notes(&common, &done), [0; 0]);
        assert_eq!(notes(&common[..3], &done), [0, 1, 2]);
        // A draft that is similar to a commit counts even if all its names are common.
        let near = batches(&common, &done, &[vec![7]], NOTES_MAX);
        assert_eq!((near.len(), &near[0].notes[..]), (1, &[7][..]));
    }

    #[test]
    fn a_question_shows_the_work_within_its_bounds() {
        let commits =
            (0..40).map(|n| landed(1_000 + n, &format!("Commit number {n} of the day"))).collect();
        let done = work(commits, &[("src/cart.rs", 7_000)]);
        let drafts = [note("a", 1, "`cart_ttl` is given in minutes")];
        let batch = &batches(&drafts, &done, &[], NOTES_MAX)[0];
        let text = shown(&done, batch, 5_000);
        assert!(
            text.starts_with("N0 [1970-01-01] Tidy up the carts\n   files written: src/cart.rs\n")
        );
        assert!(text.contains("N16 [1970-01-01] Commit number 39 of the day"), "{text}");
        assert!(!text.contains("Commit number 23 "), "the later ones are shown");
        assert!(shown(&done, batch, 300).chars().count() <= 300);
    }
}

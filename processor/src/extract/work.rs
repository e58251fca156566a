//! Work: what was done and why. One memory for each commit, or for a plan that no commit concluded;
//! told by what came of it. Of how things were before, it tells one sentence at most, as the reason.

use std::collections::BTreeSet;

use memory_store::Kind;

use super::choices::best_first;
use super::clean::headline;
use super::draft::Draft;
use super::episode::{Commit, Episode, Statement};
use super::pool::{Pool, TEXT_CHARS_MAX, Words, join, shared_subject, subject_of, texts, within};
use super::score::Channel;
use super::tense::{self, Tense};
use super::{Miner, Said, mean_score, paths, words};

/// What a commit message that says why is worth more: it was written to be read later.
const COMMIT_GAIN: f32 = 1.0;

/// What an accepted plan is worth more.
const PLAN_GAIN: f32 = 0.9;

/// What a memory loses that does not say why.
const NO_REASON_LOSS: f32 = 0.3;

/// Characters of the sentence that says how things were.
const BEFORE_CHARS_MAX: usize = 200;

/// The episodes whose work the commits of the one at `at` hold: those since the commit before.
pub fn run_of<'a>(episodes: &'a [Episode<'a>], at: usize) -> &'a [Episode<'a>] {
    let before = episodes[..at].iter().rposition(|episode| !episode.commits.is_empty());
    &episodes[before.map_or(0, |before| before + 1)..=at]
}

/// The subject of the commit that tells of what was done in the episode at `at`.
pub fn conclusion<'a>(episodes: &'a [Episode<'a>], at: usize) -> Option<&'a str> {
    let works = episodes[at].plan || episodes[at].edited();
    let mut commits = episodes[at..].iter().filter_map(|later| later.commits.last());
    commits.next().map(|commit| commit.message.subject.as_str()).filter(|_| works)
}

/// Returns what was done in an episode. `run` ends with it and holds what its commits conclude;
/// `told` is what other memories of the session say; `concluded` says that a commit tells of it.
pub fn mine<'a>(
    miner: &Miner<'_>,
    pool: &mut Pool<'a>,
    run: &'a [Episode<'a>],
    told: &[Words],
    concluded: bool,
) -> Vec<Draft> {
    let episode = pool.episode;
    let mut drafts: Vec<Draft> = Vec::new();
    if let Some((last, before)) = episode.commits.split_last() {
        for commit in before {
            drafts.extend(of_commit(miner, pool, commit, &[], told));
        }
        drafts.extend(of_commit(miner, pool, last, run, told));
        for draft in &mut drafts {
            let changed =
                paths::changed(miner.roots, run, &format!("{} {}", draft.title, draft.body));
            if !changed.is_empty() {
                draft.paths = changed;
            }
        }
    }
    if episode.plan && !concluded {
        drafts.extend(of_plan(miner, pool));
    }
    drafts
}

/// What a commit says, and what was said of it; then what of its message found no room.
fn of_commit<'a>(
    miner: &Miner<'_>,
    pool: &mut Pool<'a>,
    commit: &Commit,
    run: &'a [Episode<'a>],
    told: &[Words],
) -> Vec<Draft> {
    let subject = commit.message.subject.trim_end_matches('.');
    let mut own: Vec<&Statement> = pool
        .left()
        .filter(|statement| statement.channel == Channel::Commit && statement.uuid == commit.uuid)
        .filter(|statement| statement.text().trim_end_matches('.') != subject)
        .collect();
    let room = TEXT_CHARS_MAX.saturating_sub(subject.chars().count() + 2);
    let mut work = Work::new(subject, room);
    let plan = run.iter().rev().find(|episode| episode.plan);
    if let Some(plan) = plan.filter(|_| !words::SAYS_WHY.is_match(&commit.message.body)) {
        work.explain(plan, &own);
    }
    let lead = fitting(own.iter().copied(), work.free());
    work.chosen.extend(&lead);
    // A message that says it all is not filled up with what was said on the way to it.
    if join(&texts(&lead)).chars().count() < BODY_CHARS_MIN {
        for episode in run.iter().rev().filter(|episode| episode.edited()) {
            let mut of_run = Pool::new(episode);
            of_run.tell_said_in(told);
            work.fill(&of_run, &|statement| statement.channel == Channel::Final);
        }
    }
    work.look_back(plan);
    let mut drafts: Vec<Draft> = work.draft(miner, pool.episode, COMMIT_GAIN).into_iter().collect();
    if let Some(draft) = drafts.first_mut() {
        draft.kind = match draft.kind {
            _ if cures(subject, &draft.body) => Kind::Fix,
            // Whoever writes more than a subject says what was chosen.
            _ if !own.is_empty() => Kind::Decision,
            kind => kind,
        };
    }
    pool.tell(&work.chosen);
    pool.tell_text(subject);
    own.retain(|statement| !lead.iter().any(|told| told.order == statement.order));
    drafts.extend(rest(miner, pool, &own, subject));
    pool.tell(&own);
    drafts
}

/// What of a commit's message found no room beside its beginning.
fn rest(miner: &Miner<'_>, pool: &Pool<'_>, left: &[&Statement], subject: &str) -> Option<Draft> {
    let first = left.iter().position(|statement| {
        words::TELLS_WHY.is_match(statement.text())
            && !words::POINTS_BACK.is_match(statement.text())
    })?;
    let (title, rest) = headline(left[first].text(), super::TITLE_CHARS_MAX);
    let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count() + rest.chars().count() + 80);
    let beside = left.iter().enumerate().filter(|(at, _)| *at > first).map(|(_, beside)| *beside);
    let mut parts = vec![rest];
    let beside: Vec<&Statement> =
        fitting(beside, room).into_iter().filter(|beside| beside.text().len() <= room).collect();
    parts.extend(texts(&beside));
    parts.push(format!("Part of: {subject}"));
    let mut evidence = vec![left[first]];
    evidence.extend(beside);
    let said = Said {
        kind: Kind::Decision,
        title,
        body: join(&parts),
        worth: mean_score(&evidence),
        evidence,
        confidence: 0.8,
    };
    miner.draft(pool.episode, said)
}

fn of_plan(miner: &Miner<'_>, pool: &mut Pool<'_>) -> Option<Draft> {
    let episode = pool.episode;
    let title = episode.subject.clone();
    let room = TEXT_CHARS_MAX.saturating_sub(title.chars().count() + 2);
    let came = |statement: &Statement| tense::of(statement, episode) == Tense::Outcome;
    if !pool.left().any(came) {
        return None;
    }
    let mut work = Work::new(&title, room);
    work.explain(episode, &[]);
    work.fill(pool, &came);
    work.look_back(Some(episode));
    let draft = work.draft(miner, episode, PLAN_GAIN);
    pool.tell(&work.chosen);
    draft
}

/// A piece of work on its way to becoming a memory.
struct Work<'a> {
    title: &'a str,
    room: usize,
    /// What came of it.
    chosen: Vec<&'a Statement>,
    /// Why it was done.
    why: Option<(&'a Statement, Tense, String)>,
}

impl<'a> Work<'a> {
    fn new(title: &'a str, room: usize) -> Self {
        Self { title, room, chosen: Vec::new(), why: None }
    }

    fn said(&self) -> String {
        let why = self.why.as_ref().map_or("", |(.., why)| why.as_str());
        join(&[why.to_owned(), join(&texts(&self.chosen))])
    }

    /// Characters that are left.
    fn free(&self) -> usize {
        self.room.saturating_sub(self.said().chars().count() + 1)
    }

    fn subject(&self) -> BTreeSet<String> {
        subject_of(&format!("{} {}", self.title, self.said()))
    }

    /// Adds what else was said of the outcome, as far as it speaks of the same things.
    fn fill(&mut self, pool: &Pool<'a>, wanted: &dyn Fn(&Statement) -> bool) {
        let subject = self.subject();
        let front = format!("{} {}", self.title, self.said());
        let chosen = pool.fill(&front, &[], self.free(), &|statement| {
            wanted(statement) && pool.shares(statement, &subject) && is_whole(statement)
        });
        self.chosen.extend(chosen);
    }

    /// Adds the reason of a plan: what it gives as one, or what it aims at.
    fn explain(&mut self, plan: &'a Episode<'a>, own: &[&Statement]) {
        let own = join(&texts(own));
        let subject = subject_of(&format!("{} {own}", self.title));
        self.why =
            reason(plan, &subject, &[self.title, &own], self.room / 2).filter(|(_, tense, _)| {
                match tense {
                    Tense::Reason => true,
                    // A message that says much says what was aimed at, too.
                    _ => *tense == Tense::Aim && own.chars().count() < BODY_CHARS_MIN,
                }
            });
    }

    /// Adds how things were, where nothing else says why and there is room.
    fn look_back(&mut self, plan: Option<&'a Episode<'a>>) {
        let said = self.said();
        let plan = plan.filter(|plan| !plan.writes() && !words::SAYS_WHY.is_match(&said));
        if self.why.is_none()
            && let Some(plan) = plan
        {
            self.why = reason(plan, &self.subject(), &[self.title, &said], self.free());
        }
    }

    fn draft(&self, miner: &Miner<'_>, episode: &Episode<'_>, gain: f32) -> Option<Draft> {
        let before = self.why.as_ref().is_none_or(|(_, tense, _)| *tense == Tense::Before);
        if self.chosen.is_empty() && before {
            return None;
        }
        let mut parts = texts(&self.chosen);
        // The aim stands in front, what was before at the end.
        match &self.why {
            Some((_, Tense::Before, why)) => parts.push(why.clone()),
            Some((.., why)) => parts.insert(0, why.clone()),
            None => {}
        }
        let says_why = self.why.is_some()
            || self.chosen.iter().any(|statement| {
                words::REASON.is_match(statement.text()) || words::CHOICE.is_match(statement.text())
            });
        // What a text for readers says now stands in it.
        let tells = self.chosen.iter().any(|said| words::TELLS_WHY.is_match(said.text()));
        if !says_why && !tells && episode.writes() {
            return None;
        }
        let mut evidence = best_first(&self.chosen);
        evidence.extend(self.why.iter().map(|(from, ..)| *from));
        let said = Said {
            kind: if says_why { Kind::Decision } else { Kind::Session },
            title: headline(self.title, super::TITLE_CHARS_MAX).0,
            body: join(&parts),
            worth: mean_score(&evidence) + gain - if says_why { 0.0 } else { NO_REASON_LOSS },
            evidence,
            confidence: 0.8,
        };
        miner.draft(episode, said)
    }
}

/// A commit message of fewer characters is told together with what was said of the work.
const BODY_CHARS_MIN: usize = 160;

/// Why a plan was made: what it aims at, or how things were; of the same subject and short enough.
fn reason<'a>(
    plan: &'a Episode<'a>,
    subject: &BTreeSet<String>,
    known: &[&str],
    room: usize,
) -> Option<(&'a Statement, Tense, String)> {
    let candidates = plan.statements.iter().filter(|statement| {
        let heading = statement.sentence.heading.as_str();
        statement.channel == Channel::Plan
            && !statement.transient
            && !statement.sentence.list
            && (heading.is_empty() || words::WHY_HEADING.is_match(heading))
            && !words::POINTS_BACK.is_match(statement.text())
            && statement.text().starts_with(|c: char| c.is_alphanumeric() || c == '`')
            && !known.iter().any(|known| says(known, statement.text()))
            && shared_subject(&subject_of(statement.text()), subject)
    });
    candidates
        .filter_map(|statement| {
            let tense = tense::of(statement, plan);
            let (rank, text) = match tense {
                Tense::Reason => (2, statement.text().to_owned()),
                Tense::Aim => (1, statement.text().to_owned()),
                Tense::Before => (0, tense::told_before(statement.text())),
                Tense::Outcome | Tense::Talk => return None,
            };
            let chars = text.chars().count();
            let long = chars + 1 > room || rank == 0 && chars > BEFORE_CHARS_MAX;
            (!long).then_some((rank, statement, tense, text))
        })
        .max_by(|(a, left, ..), (b, right, ..)| {
            a.cmp(b).then(left.score.total_cmp(&right.score)).then(right.order.cmp(&left.order))
        })
        .map(|(_, statement, tense, text)| (statement, tense, text))
}

/// Whether a text says most of what another one does.
fn says(known: &str, text: &str) -> bool {
    within(&subject_of(text), &subject_of(known)) >= KNOWN_SHARE_MAX
}

/// What is told already is no reason.
const KNOWN_SHARE_MAX: f32 = 0.4;

/// Whether a statement can be told beside others.
fn is_whole(statement: &Statement) -> bool {
    !words::NARRATION.is_match(statement.text()) && !words::GUESSES.is_match(statement.text())
}

/// The first statements that fit into `room` characters, one at least.
fn fitting<'a>(statements: impl Iterator<Item = &'a Statement>, room: usize) -> Vec<&'a Statement> {
    let mut fitting: Vec<&Statement> = Vec::new();
    let mut used = 0;
    for statement in statements {
        let chars = statement.text().chars().count() + 1;
        if used + chars <= room || fitting.is_empty() {
            used += chars;
            fitting.push(statement);
        }
    }
    fitting
}

/// Whether work is called a cure, and is told with what was broken.
fn cures(subject: &str, body: &str) -> bool {
    words::FIX_SUBJECT.is_match(subject)
        && [&words::FAILS, &words::CAUSE, &words::SURPRISE].iter().any(|says| says.is_match(body))
}

/// Whether a memory tells of work, rather than of a wish or of what was found out.
pub fn tells_work(draft: &Draft) -> bool {
    matches!(draft.kind, Kind::Decision | Kind::Session)
}

/// Whether the user, in the request after this one, rejected what was done.
pub fn is_taken_back(episodes: &[Episode<'_>], at: usize) -> bool {
    episodes
        .get(at + 1)
        .is_some_and(|next| words::WHOLE.is_match(&next.ask) && words::OBJECTS.is_match(&next.ask))
}

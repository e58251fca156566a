//! Usage of models and its cost. A file in the user's own folder contains one line for each day and session of all
//! projects. The daily limits are computed from it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use memory_store::Timestamp;
use memory_store::fs::disk::private_options;
use memory_store::layout::UserDirs;
use memory_store::settings::Llm;
use memory_store::store::{Privacy, replace};
use serde::{Deserialize, Serialize};

use super::ModelFault;

use crate::private_files::create_private;

/// Maximum size of the file in bytes. If it is exceeded, lines of the same day and session are merged, and the oldest
/// lines are removed.
const LEDGER_BYTES_MAX: usize = 1 << 20;

/// Maximum number of sessions in the average per session. The latest are used.
const SESSIONS_MAX: usize = 50;

/// Usage by one or several questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Number of tokens in questions.
    pub tokens_in: u64,
    /// Number of tokens in answers.
    pub tokens_out: u64,
    /// Cost in US dollars, if the provider reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Milliseconds until the answer, or until the request was aborted.
    pub millis: u64,
}

impl Usage {
    /// Returns the number of tokens in questions and answers.
    pub fn tokens(&self) -> u64 {
        self.tokens_in.saturating_add(self.tokens_out)
    }

    fn add(&mut self, other: &Self) {
        self.tokens_in = self.tokens_in.saturating_add(other.tokens_in);
        self.tokens_out = self.tokens_out.saturating_add(other.tokens_out);
        self.millis = self.millis.saturating_add(other.millis);
        self.usd = match (self.usd, other.usd) {
            (None, None) => None,
            (one, two) => Some(one.unwrap_or_default() + two.unwrap_or_default()),
        };
    }
}

/// Usage by the questions about one session on one day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// The day, in UTC.
    pub day: String,
    /// The provider and its model.
    pub provider: String,
    /// The session; empty for a question about the project.
    pub session: String,
    /// Number of questions, including those without an answer.
    pub questions: u64,
    /// Number of questions without a usable answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// Usage by these questions.
    #[serde(flatten)]
    pub usage: Usage,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this form")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Spent {
    /// Returns the average duration of a question in seconds; `None` if none was timed.
    pub fn seconds_each(&self) -> Option<f64> {
        let is_timed = self.questions > 0 && self.usage.millis > 0;
        is_timed.then(|| self.usage.millis as f64 / 1e3 / self.questions as f64)
    }

    fn add(&mut self, other: &Self) {
        self.questions += other.questions;
        self.failed += other.failed;
        self.usage.add(&other.usage);
    }
}

/// Returns the path of the file.
pub fn ledger(dirs: &UserDirs) -> PathBuf {
    dirs.data.join("llm-usage.jsonl")
}

/// Reads the recorded usage, by day and session, oldest first.
pub fn spent(ledger: &Path) -> Vec<Spent> {
    let is_small = fs::metadata(ledger).is_ok_and(|meta| meta.len() <= 2 * LEDGER_BYTES_MAX as u64);
    let text =
        if is_small { fs::read_to_string(ledger).unwrap_or_default() } else { String::new() };
    let mut order = Vec::new();
    let mut all: BTreeMap<(String, String, String), Spent> = BTreeMap::new();
    // A torn line only omits the usage of one question.
    for line in text.lines().filter_map(|line| serde_json::from_str::<Spent>(line).ok()) {
        let key = (line.day.clone(), line.provider.clone(), line.session.clone());
        match all.get_mut(&key) {
            Some(known) => known.add(&line),
            None => {
                order.push(key.clone());
                all.insert(key, line);
            }
        }
    }
    order.iter().filter_map(|key| all.remove(key)).collect()
}

/// Returns the average usage of a session with this provider, computed from the last sessions that were sent to it;
/// `None` if there are none.
pub fn each_session(spent: &[Spent], provider: &str) -> Option<Spent> {
    // A failed question does not have a typical usage.
    let is_meant = |one: &&Spent| {
        one.provider == provider && !one.session.is_empty() && one.usage.tokens() > 0
    };
    let mut sum = Spent::default();
    let mut count = 0;
    for one in spent.iter().rev().filter(is_meant).take(SESSIONS_MAX) {
        sum.add(one);
        count += 1;
    }
    let count = Some(count).filter(|count| *count > 0)?;
    let Usage { tokens_in, tokens_out, usd, millis } = sum.usage;
    let usage = Usage {
        tokens_in: tokens_in / count,
        tokens_out: tokens_out / count,
        usd: usd.map(|usd| usd / count as f64),
        millis: millis / count,
    };
    Some(Spent { questions: sum.questions.div_ceil(count), usage, ..Spent::default() })
}

/// Returns the total usage on a day, of one `provider` or of all.
pub fn of_day(spent: &[Spent], day: &str, provider: Option<&str>) -> Spent {
    let mut sum = Spent { day: day.to_owned(), ..Spent::default() };
    let is_meant =
        |one: &&Spent| one.day == day && provider.is_none_or(|provider| one.provider == provider);
    for one in spent.iter().filter(is_meant) {
        sum.add(one);
    }
    sum
}

/// Enforces the daily limits of a provider.
#[derive(Debug)]
pub(super) struct Meter {
    ledger: Option<PathBuf>,
    day: String,
    tokens_max: Option<u64>,
    usd_max: Option<f64>,
    /// Usage in this run, for the case that the file cannot be written.
    own: Usage,
}

impl Meter {
    pub fn new(ledger: Option<PathBuf>, now: Timestamp, llm: &Llm, is_local: bool) -> Self {
        Self {
            ledger,
            day: now.date(),
            tokens_max: llm.tokens_bound(is_local),
            usd_max: llm.usd_bound(),
            own: Usage::default(),
        }
    }

    /// Returns the maximum cost of the next question to this provider in US dollars; `None` if it is not limited.
    /// Returns a fault if a daily limit is reached.
    pub fn allow(&self, provider: &str) -> Result<Option<f64>, ModelFault> {
        let spent = match &self.ledger {
            Some(ledger) => of_day(&spent(ledger), &self.day, Some(provider)).usage,
            None => self.own,
        };
        if let Some(max) = self.tokens_max.filter(|max| spent.tokens() >= *max) {
            let told = format!("today's bound of {max} tokens is reached (`llm.tokens_per_day`)");
            return Err(ModelFault::Bound(told));
        }
        let usd = spent.usd.unwrap_or_default();
        match self.usd_max {
            Some(max) if usd >= max => Err(ModelFault::Bound(format!(
                "today's bound of {max:.2} US dollars is reached (`llm.usd_per_day`)"
            ))),
            max => Ok(max.map(|max| max - usd)),
        }
    }

    /// Records the usage of a question. `is_failed` is whether there was no answer.
    pub fn note(&mut self, provider: &str, session: &str, usage: Usage, is_failed: bool) {
        let failed = u64::from(is_failed);
        self.write(provider, session, Spent { questions: 1, failed, usage, ..Spent::default() });
    }

    /// Records that an answer cannot be used. The question is already counted.
    pub fn note_unusable(&mut self, provider: &str, session: &str) {
        self.write(provider, session, Spent { failed: 1, ..Spent::default() });
    }

    fn write(&mut self, provider: &str, session: &str, spent: Spent) {
        self.own.add(&spent.usage);
        let Some(ledger) = &self.ledger else { return };
        let spent = Spent {
            day: self.day.clone(),
            provider: provider.to_owned(),
            session: session.to_owned(),
            ..spent
        };
        // If the file cannot be written, usage is counted only in memory.
        if append(ledger, &spent).is_err() {
            self.ledger = None;
        }
    }
}

fn append(ledger: &Path, spent: &Spent) -> std::io::Result<()> {
    if let Some(folder) = ledger.parent() {
        create_private(folder).map_err(std::io::Error::other)?;
    }
    let mut line = serde_json::to_string(spent)?;
    line.push('\n');
    let mut file = private_options().create(true).append(true).open(ledger)?;
    file.write_all(line.as_bytes())?;
    if file.metadata()?.len() > LEDGER_BYTES_MAX as u64 {
        shorten(ledger)?;
    }
    Ok(())
}

/// Merges the lines of each day and session, and removes the oldest lines until half of the space is free.
fn shorten(ledger: &Path) -> std::io::Result<()> {
    let mut lines = Vec::new();
    let mut bytes = 0;
    for one in spent(ledger).iter().rev() {
        let line = serde_json::to_string(one)?;
        bytes += line.len() + 1;
        if bytes > LEDGER_BYTES_MAX / 2 {
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    replace(ledger, text.as_bytes(), Privacy::Private).map_err(std::io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(tokens: u64, usd: Option<f64>) -> Usage {
        Usage { tokens_in: tokens, tokens_out: 0, usd, millis: 0 }
    }

    #[test]
    fn a_day_has_its_bounds_and_the_next_one_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/usage.jsonl");
        let llm = Llm { tokens_per_day: Some(100), usd_per_day: 0.5, ..Llm::default() };
        let meter =
            |day: i64| Meter::new(Some(path.clone()), Timestamp(day * 86_400_000), &llm, false);
        let mut first = meter(1);
        assert_eq!(first.allow("a"), Ok(Some(0.5)));
        first.note("a", "s", usage(60, Some(0.125)), false);
        // A run of another project uses the same file.
        let mut second = meter(1);
        assert_eq!(second.allow("a"), Ok(Some(0.375)));
        second.note("a", "t", usage(40, None), true);
        let Err(ModelFault::Bound(told)) = first.allow("a") else { panic!() };
        assert!(told.contains("100 tokens"), "{told}");
        assert_eq!(meter(2).allow("a"), Ok(Some(0.5)));
        let mut dear = meter(2);
        dear.note("a", "s", usage(1, Some(0.75)), false);
        let Err(ModelFault::Bound(told)) = dear.allow("a") else { panic!() };
        assert!(told.contains("0.50 US dollars"), "{told}");
        let all = spent(&path);
        assert_eq!(all.len(), 3);
        let sum = of_day(&all, &Timestamp(86_400_000).date(), None);
        assert_eq!((sum.questions, sum.failed, sum.usage), (2, 1, usage(100, Some(0.125))));
        let unanswered = Spent { failed: 1, usage: usage(0, None), ..all[0].clone() };
        assert_eq!(each_session(&[unanswered], &all[0].provider), None);
    }

    #[test]
    fn the_record_stays_small_and_keeps_what_is_newest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("usage.jsonl");
        let line = |number: usize| Spent {
            day: "2026-01-01".to_owned(),
            provider: "p".to_owned(),
            session: format!("s-{number}"),
            questions: 1,
            failed: 0,
            usage: usage(number as u64, None),
        };
        let many: String = (0..15_000)
            .map(|number| format!("{}\n", serde_json::to_string(&line(number)).unwrap()))
            .collect();
        assert!(many.len() > LEDGER_BYTES_MAX);
        fs::write(&path, many).unwrap();
        append(&path, &line(15_000)).unwrap();
        assert!(fs::metadata(&path).unwrap().len() <= LEDGER_BYTES_MAX as u64 / 2);
        assert_eq!(spent(&path).last(), Some(&line(15_000)));
    }
}

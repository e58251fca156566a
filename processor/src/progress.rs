//! Progress reports of a sync.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Receives the progress of the work. Its methods are called from several threads.
pub trait ProgressReport: Sync {
    /// Starts a stage of `steps` steps.
    fn stage(&self, name: &str, steps: usize);
    /// Continues a stage in which `done` of `steps` steps are complete.
    fn resume(&self, name: &str, _done: usize, steps: usize) {
        self.stage(name, steps);
    }
    /// Completes one step of the stage.
    fn step(&self);
    /// Shows a note to the user while the work continues. The same note may be sent again.
    fn note(&self, _note: &str) {}
    /// Ends the report.
    fn done(&self);
}

/// Progress report without output.
#[derive(Debug)]
pub struct Silent;

impl ProgressReport for Silent {
    fn stage(&self, _name: &str, _steps: usize) {}
    fn step(&self) {}
    fn done(&self) {}
}

/// Progress bar on the terminal.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    now: Mutex<Stage>,
}

impl Bar {
    /// Creates a bar on stderr, which is hidden if stderr is not a terminal.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        Self { bar, now: Mutex::default() }
    }

    /// Sets the form of a stage with steps, or of one without.
    fn set_style(&self, has_steps: bool) {
        let template = match has_steps {
            true => "{msg:>12} [{bar:30}] {pos}/{len}{prefix}",
            false => "{msg:>12} ...",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
    }
}

impl Default for Bar {
    fn default() -> Self {
        Self::new()
    }
}

impl ProgressReport for Bar {
    fn stage(&self, name: &str, steps: usize) {
        self.resume(name, 0, steps);
    }

    fn resume(&self, name: &str, done: usize, steps: usize) {
        let Ok(mut now) = self.now.lock() else { return };
        now.begin(name, done, steps);
        if steps == 0 {
            self.set_style(false);
            self.bar.set_message(name.to_owned());
            return;
        }
        // Both numbers are set together, because the position in a longer earlier stage could exceed the new length.
        self.bar.update(|state| {
            state.set_len(steps as u64);
            state.set_pos(done as u64);
        });
        // The bar is drawn only once it has a length.
        self.bar.set_message(name.to_owned());
        self.set_style(true);
        self.bar.set_prefix(now.remaining_text());
    }

    fn step(&self) {
        let Ok(mut now) = self.now.lock() else { return };
        now.step();
        self.bar.set_prefix(now.remaining_text());
        self.bar.inc(1);
    }

    fn note(&self, note: &str) {
        if self.now.lock().is_ok_and(|mut now| now.is_new(note)) {
            self.bar.suspend(|| drop(writeln!(std::io::stderr(), "{note}")));
        }
    }

    fn done(&self) {
        self.bar.finish_and_clear();
    }
}

/// Progress report in lines on stderr, as text or as JSON, with at most two lines per second in a stage.
#[derive(Debug)]
pub struct ProgressLines {
    json: bool,
    now: Mutex<Stage>,
}

/// Minimum time between two lines of one stage.
const PAUSE: Duration = Duration::from_millis(500);
/// Minimum time spent in a stage before its remaining time is estimated.
const ESTIMATE_FROM: Duration = Duration::from_secs(5);

/// The current stage, and the duration of its steps.
#[derive(Debug, Default)]
struct Stage {
    name: String,
    done: usize,
    steps: usize,
    /// Time of the last line.
    told: Option<Instant>,
    /// Time when the last step ended, or the stage started.
    last: Option<Instant>,
    /// The last note.
    note: String,
    /// For each stage, the number of measured steps and their total time. A continued stage keeps its measurements.
    paces: BTreeMap<String, (u32, Duration)>,
}

impl Stage {
    fn begin(&mut self, name: &str, done: usize, steps: usize) {
        let now = Some(Instant::now());
        name.clone_into(&mut self.name);
        (self.done, self.steps, self.told, self.last) = (done, steps, now, now);
    }

    fn step(&mut self) {
        self.done += 1;
        let now = Instant::now();
        let took = self.last.replace(now).map(|last| now - last).unwrap_or_default();
        let pace = self.paces.entry(self.name.clone()).or_default();
        *pace = (pace.0.saturating_add(1), pace.1.saturating_add(took));
    }

    /// Stores a note. Returns whether it differs from the previous one.
    fn is_new(&mut self, note: &str) -> bool {
        let before = std::mem::replace(&mut self.note, note.to_owned());
        before != note
    }

    /// Returns the remaining time; `None` if there is no estimate or it is too short to be reported.
    fn left(&self) -> Option<Duration> {
        let (steps, time) =
            self.paces.get(&self.name).filter(|(_, time)| *time >= ESTIMATE_FROM)?;
        let rest =
            u32::try_from(self.steps.saturating_sub(self.done)).ok().filter(|rest| *rest > 0)?;
        Some((*time / (*steps).max(1)).saturating_mul(rest))
    }

    fn remaining_text(&self) -> String {
        self.left().map(|left| format!(", {} left", about(left))).unwrap_or_default()
    }
}

/// Formats a time in round numbers: `about 2 h 40 min`.
pub fn about(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3_600, seconds / 60, seconds) {
        (0, 0, seconds) => format!("about {} s", seconds.max(1)),
        (0, minutes, _) => format!("about {minutes} min"),
        (hours @ ..48, minutes, _) => format!("about {hours} h {} min", minutes % 60),
        (hours, ..) => format!("about {} days", hours / 24),
    }
}

impl ProgressLines {
    /// Creates plain lines, or with `json` one JSON object per line.
    pub fn new(json: bool) -> Self {
        Self { json, now: Mutex::default() }
    }

    fn print_stage(&self, stage: &Stage) {
        let line = if self.json {
            let mut line =
                serde_json::json!({"stage": stage.name, "done": stage.done, "steps": stage.steps});
            if let Some(left) = stage.left() {
                line["seconds_left"] = left.as_secs().into();
            }
            line.to_string()
        } else {
            format!("{} {}/{}{}", stage.name, stage.done, stage.steps, stage.remaining_text())
        };
        // An error is ignored, because the reader of stderr may have ended.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

impl ProgressReport for ProgressLines {
    fn stage(&self, name: &str, steps: usize) {
        self.resume(name, 0, steps);
    }

    fn resume(&self, name: &str, done: usize, steps: usize) {
        let Ok(mut now) = self.now.lock() else { return };
        now.begin(name, done, steps);
        if steps > 0 {
            self.print_stage(&now);
        }
    }

    fn step(&self) {
        let Ok(mut now) = self.now.lock() else { return };
        now.step();
        let is_due = now.told.is_none_or(|told| told.elapsed() >= PAUSE);
        if is_due || now.done == now.steps {
            now.told = Some(Instant::now());
            self.print_stage(&now);
        }
    }

    fn note(&self, note: &str) {
        if self.now.lock().is_ok_and(|mut now| now.is_new(note)) {
            let line = match self.json {
                true => serde_json::json!({ "note": note }).to_string(),
                false => note.to_owned(),
            };
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    fn done(&self) {}
}

/// Returns a bar if stderr is a terminal, else plain lines.
pub fn for_stderr() -> Box<dyn ProgressReport> {
    if std::io::stderr().is_terminal() {
        Box::new(Bar::new())
    } else {
        Box::new(ProgressLines::new(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_estimated_from_the_steps_so_far() {
        let mut stage = Stage::default();
        stage.begin("asking", 10, 1_000);
        assert_eq!(stage.remaining_text(), "");
        stage.paces.insert("asking".to_owned(), (6, Duration::from_secs(60)));
        assert_eq!(stage.left(), Some(Duration::from_secs(9_900)));
        assert_eq!(stage.remaining_text(), ", about 2 h 45 min left");
        // The pace applies only to a continuation of the same stage.
        stage.begin("indexing", 0, 100);
        assert_eq!(stage.remaining_text(), "");
        stage.begin("asking", 999, 1_000);
        assert_eq!(stage.remaining_text(), ", about 10 s left");
        stage.step();
        assert_eq!(stage.left(), None);
    }

    #[test]
    fn times_are_formatted_in_round_numbers() {
        let told = [0, 59, 61, 3_600, 47 * 3_600, 49 * 3_600];
        let told = told.map(|seconds| about(Duration::from_secs(seconds)));
        let expected = [
            "about 1 s",
            "about 59 s",
            "about 1 min",
            "about 1 h 0 min",
            "about 47 h 0 min",
            "about 2 days",
        ];
        assert_eq!(told, expected);
    }
}

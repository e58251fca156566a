//! How a sync tells how far it is.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Told how far the work is. Called from several threads.
pub trait Progress: Sync {
    /// A stage of `steps` steps begins.
    fn stage(&self, name: &str, steps: usize);
    /// One step of the stage is done.
    fn step(&self);
    /// All is done.
    fn done(&self);
}

/// Says nothing.
#[derive(Debug)]
pub struct Silent;

impl Progress for Silent {
    fn stage(&self, _name: &str, _steps: usize) {}
    fn step(&self) {}
    fn done(&self) {}
}

/// A bar on the terminal.
#[derive(Debug)]
pub struct Bar(ProgressBar);

impl Bar {
    /// Draws on stderr; hidden when that is no terminal.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg:>12} [{bar:30}] {pos}/{len}") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self(bar)
    }
}

impl Default for Bar {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress for Bar {
    fn stage(&self, name: &str, steps: usize) {
        self.0.set_length(steps as u64);
        self.0.set_position(0);
        self.0.set_message(name.to_owned());
    }

    fn step(&self) {
        self.0.inc(1);
    }

    fn done(&self) {
        self.0.finish_and_clear();
    }
}

/// Lines on stderr, plain or as JSON, at most a few a second.
#[derive(Debug)]
pub struct Lines {
    json: bool,
    now: Mutex<Stage>,
}

#[derive(Debug)]
struct Stage {
    name: String,
    done: usize,
    steps: usize,
    told: Instant,
}

/// Time between two lines of one stage.
const PAUSE: Duration = Duration::from_millis(500);

impl Lines {
    /// Plain lines, or one JSON object a line.
    pub fn new(json: bool) -> Self {
        Self {
            json,
            now: Mutex::new(Stage { name: String::new(), done: 0, steps: 0, told: Instant::now() }),
        }
    }

    fn tell(&self, stage: &Stage) {
        let line = if self.json {
            serde_json::json!({"stage": stage.name, "done": stage.done, "steps": stage.steps})
                .to_string()
        } else {
            format!("{} {}/{}", stage.name, stage.done, stage.steps)
        };
        // Nobody may be listening any more.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

impl Progress for Lines {
    fn stage(&self, name: &str, steps: usize) {
        let Ok(mut now) = self.now.lock() else { return };
        *now = Stage { name: name.to_owned(), done: 0, steps, told: Instant::now() };
        if steps > 0 {
            self.tell(&now);
        }
    }

    fn step(&self) {
        let Ok(mut now) = self.now.lock() else { return };
        now.done += 1;
        if now.told.elapsed() >= PAUSE || now.done == now.steps {
            now.told = Instant::now();
            self.tell(&now);
        }
    }

    fn done(&self) {}
}

/// A bar where a person looks, plain lines elsewhere.
pub fn for_stderr() -> Box<dyn Progress> {
    if std::io::stderr().is_terminal() { Box::new(Bar::new()) } else { Box::new(Lines::new(false)) }
}

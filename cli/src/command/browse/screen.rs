//! The terminal of the browser. Frames are printed to stderr, like questions, so that the result on stdout can be
//! piped. The terminal is restored however the program ends: by a guard, a panic hook, and a check for signals.

use std::io::{IsTerminal as _, Stderr, Write as _, stderr};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use dialoguer::console::Term;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{MoveTo, Show};
use ratatui::crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event};
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, style};
use ratatui::layout::Rect;
use ratatui::{Frame, TerminalOptions, Viewport};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::{flag, low_level};

use super::styled::FrameStyle;
use crate::failure::{Failure, Result};

/// Interval of the checks whether the terminal still exists.
const WATCH_EACH: Duration = Duration::from_secs(1);
/// Exit code of a program whose terminal was closed, as shells report it.
const HUNG_UP: i32 = 128 + SIGHUP;
/// Longest wait for a key before signals and the size of the terminal are checked.
const TICK: Duration = Duration::from_millis(100);
/// Columns and rows that are assumed for a terminal that does not report them.
const USUAL_SIZE: (u16, u16) = (80, 24);
/// Signals that end a program and can be caught.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// Whether the program controls the terminal; read by the panic hook of every thread.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static PANIC_HOOK: Once = Once::new();
static WATCH: Once = Once::new();

/// The terminal while the browser uses it.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    size: (u16, u16),
    /// The last signal that requested termination; 0 for none.
    signal: Arc<AtomicUsize>,
    /// Whether frames have colours.
    pub look: FrameStyle,
}

impl Screen {
    /// Takes control of the terminal.
    pub fn enter() -> Result<Self> {
        let has_colours = anstream::AutoStream::choice(&stderr()) != anstream::ColorChoice::Never;
        // `--color always` takes precedence over NO_COLOR, which the library reads.
        style::force_color_output(has_colours);
        PANIC_HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        WATCH.call_once(watch);
        let signal = Arc::new(AtomicUsize::new(0));
        for ending in ENDING {
            let value = usize::try_from(ending).unwrap_or_default();
            flag::register_usize(ending, Arc::clone(&signal), value).map_err(failed)?;
        }
        take().map_err(failed)?;
        let size = size();
        Ok(Self { terminal: terminal(size)?, size, signal, look: FrameStyle { has_colours } })
    }

    /// Draws a frame with the present size of the terminal.
    pub fn draw<T>(&mut self, draw: impl FnOnce(&mut Frame<'_>) -> T) -> Result<T> {
        let size = size();
        if size != self.size {
            (self.size, self.terminal) = (size, terminal(size)?);
        }
        let mut drawn = None;
        self.terminal.draw(|frame| drawn = Some(draw(frame))).map_err(failed)?;
        drawn.ok_or_else(|| Failure::new("the terminal shows nothing"))
    }

    /// Waits for input; `None` if the size of the terminal changed. Fails if the process received a signal that ends
    /// it.
    pub fn wait(&mut self) -> Result<Option<Event>> {
        loop {
            if self.signal.load(Ordering::Relaxed) != 0 {
                return Err(Failure::new("ended by a signal"));
            }
            if event::poll(TICK).map_err(failed)? {
                return event::read().map(Some).map_err(failed);
            }
            if size() != self.size {
                return Ok(None);
            }
        }
    }

    /// Returns pending input without waiting.
    pub fn next(&self) -> Result<Option<Event>> {
        match event::poll(Duration::ZERO).map_err(failed)? {
            true => event::read().map(Some).map_err(failed),
            false => Ok(None),
        }
    }

    /// Restores the terminal for another program, and takes control again when that program ends.
    pub fn lend<T>(&mut self, run: impl FnOnce() -> T) -> Result<T> {
        give_back();
        let done = run();
        // Ctrl-C in an editor is meant for the editor, so the received SIGINT is cleared.
        let interrupt = usize::try_from(SIGINT).unwrap_or_default();
        let _ = self.signal.compare_exchange(interrupt, 0, Ordering::Relaxed, Ordering::Relaxed);
        take().map_err(failed)?;
        self.size = size();
        self.terminal = terminal(self.size)?;
        Ok(done)
    }

    /// Stops the process until the shell continues it.
    pub fn suspend(&mut self) -> Result {
        self.lend(|| low_level::raise(SIGTSTP))?.map_err(failed)
    }

    /// Restores the terminal. If a signal was received, the signal then has its default effect.
    pub fn leave(self) {
        let signal = self.signal.load(Ordering::Relaxed);
        drop(self);
        if let Ok(signal @ 1..) = i32::try_from(signal) {
            // If this fails, the failure below reports the signal.
            let _ = low_level::emulate_default_handler(signal);
        }
    }
}

/// Ends the process when its terminal is closed. A process that the terminal started receives a signal; another process
/// would wait for keys forever, since the key reader ignores the end of input and polls again.
fn watch() {
    std::thread::spawn(|| {
        while stderr().is_terminal() {
            std::thread::sleep(WATCH_EACH);
        }
        std::process::exit(HUNG_UP);
    });
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> std::io::Result<()> {
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::SeqCst);
    execute!(stderr(), EnterAlternateScreen, EnableBracketedPaste)
}

/// Restores the terminal, unless it was restored already. Errors are ignored, since the terminal may be closed.
fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        // The screen is cleared and the cursor moved to the last row, as other programs do: after a change of size,
        // some terminals move remaining text to the main screen.
        let last = MoveTo(0, size().1.saturating_sub(1));
        let clear = Clear(ClearType::All);
        let _ = execute!(stderr(), clear, last, DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
        let _ = stderr().flush();
    }
}

/// Opens a terminal whose cells count as unknown, so that the first frame draws all of them.
fn terminal((width, height): (u16, u16)) -> Result<Terminal<CrosstermBackend<Stderr>>> {
    execute!(stderr(), Clear(ClearType::All)).map_err(failed)?;
    // The viewport is fixed, because the size must be that of the terminal on stderr, not of the terminal that started
    // the session.
    let viewport = Viewport::Fixed(Rect { x: 0, y: 0, width, height });
    Terminal::with_options(CrosstermBackend::new(stderr()), TerminalOptions { viewport })
        .map_err(failed)
}

/// Returns the columns and rows of the terminal on stderr.
fn size() -> (u16, u16) {
    match Term::stderr().size_checked() {
        Some((rows @ 1.., columns @ 1..)) => (columns, rows),
        _ => USUAL_SIZE,
    }
}

fn failed(error: std::io::Error) -> Failure {
    Failure::new(format!("the terminal: {error}"))
}

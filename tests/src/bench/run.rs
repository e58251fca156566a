//! Interleaved runs of programs, with the costs of each run.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use memory_store::layout::MODELS_VARIABLE;

use super::Result;
use super::corpus::SplitMix;

/// The measured costs of one process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessSample {
    /// Time from the start of the process until it was reaped, in microseconds.
    pub wall_us: f64,
    /// User and system time, in microseconds.
    pub cpu_us: f64,
    /// Peak memory, in KiB.
    pub peak_kib: f64,
    /// Number of pages accessed for the first time.
    pub minor_faults: f64,
}

/// A row of the table: a program, and the preparation of each of its runs.
pub struct Row<'a> {
    /// Name of the row in the table.
    pub name: String,
    /// Number of memories in the store; `None` for programs without a store.
    pub size: Option<u64>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Limits that the program must not exceed.
    pub promise: Option<Promise>,
    /// Home folder of the program.
    pub home: PathBuf,
    /// Folder of the embedder's files.
    pub models: Option<PathBuf>,
    /// Returns the payload of the run with this number. It is called before the run, and not measured.
    pub prepare: Box<dyn FnMut(usize) -> Result<Vec<u8>> + 'a>,
    /// Whether the program must print something; `None` if it may or may not.
    pub speaks: Option<bool>,
}

impl Row<'_> {
    /// Returns the environment variables of the row's command.
    pub fn environment(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let models = self.models.as_deref().map(|models| (MODELS_VARIABLE, models));
        std::iter::once(("HOME", self.home.as_path())).chain(models)
    }
}

/// Limits of a row.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    /// Maximum time, as a multiple of the empty program's time.
    pub ratio: f64,
    /// Maximum user and system time, in microseconds.
    pub cpu_us: f64,
    /// Maximum peak memory, in KiB.
    pub peak_kib: f64,
}

/// The program that starts other programs, and a folder for payloads.
#[derive(Debug)]
pub struct Launcher {
    program: PathBuf,
    scratch: tempfile::TempDir,
}

impl Launcher {
    /// Uses the launcher at this path.
    pub fn new(program: PathBuf) -> Result<Self> {
        Ok(Self { program, scratch: tempfile::tempdir()? })
    }

    /// Runs all rows in the given number of rounds, each round in another order, so that other load of the machine
    /// affects all rows equally. Before each run, `chill` is called with the program of the row and the file of its
    /// payload. Returns the samples of each row.
    pub fn interleave(
        &self,
        rows: &mut [Row<'_>],
        rounds: Range<usize>,
        chill: &dyn Fn(&[&Path]) -> Result<()>,
    ) -> Result<Vec<Vec<ProcessSample>>> {
        pin_to_one_processor();
        let mut samples = vec![Vec::with_capacity(rounds.len()); rows.len()];
        let mut order: Vec<usize> = (0..rows.len()).collect();
        for round in rounds {
            // The order is random, because the first process after a large program starts with cold processor caches.
            SplitMix(round as u64).shuffle(&mut order);
            for &place in &order {
                let payload = (rows[place].prepare)(round)?;
                samples[place].push(self.sample(&rows[place], &payload, chill)?);
            }
        }
        Ok(samples)
    }

    /// Runs a row once, to check that it measures the case that its name describes.
    pub fn check(&self, row: &mut Row<'_>) -> Result<()> {
        let payload = (row.prepare)(0)?;
        let stdin = self.stdin(&payload)?;
        let (program, arguments) = row.command.split_first().ok_or("a row has no program")?;
        let output = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(row.environment())
            .stdin(std::fs::File::open(stdin)?)
            .output()?;
        let speaks = !output.stdout.is_empty();
        if !output.status.success() || row.speaks.is_some_and(|expected| expected != speaks) {
            return Err(format!("{}: {output:?}", row.name).into());
        }
        Ok(())
    }

    fn sample(
        &self,
        row: &Row<'_>,
        payload: &[u8],
        chill: &dyn Fn(&[&Path]) -> Result<()>,
    ) -> Result<ProcessSample> {
        let (program, arguments) = row.command.split_first().ok_or("a row has no program")?;
        let stdin = self.stdin(payload)?;
        chill(&[Path::new(program), &stdin])?;
        let output = Command::new(&self.program)
            .arg(program)
            .arg(stdin)
            .args(arguments)
            .env_clear()
            .envs(row.environment())
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        let figures: Vec<f64> = text.split_whitespace().flat_map(str::parse).collect();
        match figures.as_slice() {
            &[wall_ns, cpu_us, peak_kib, minor_faults, 0.0] => {
                Ok(ProcessSample { wall_us: wall_ns / 1000.0, cpu_us, peak_kib, minor_faults })
            }
            _ => Err(format!("{} did not end well: {text}", row.name).into()),
        }
    }

    fn stdin(&self, payload: &[u8]) -> Result<PathBuf> {
        let path = self.scratch.path().join("payload");
        std::fs::write(&path, payload)?;
        Ok(path)
    }
}

/// Pins this process and its children to the last processor. On systems other than Linux, they are not pinned.
fn pin_to_one_processor() {
    #[cfg(target_os = "linux")]
    // SAFETY: the set is plain data that is initialised here, and the calls only read and write it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let size = size_of::<libc::cpu_set_t>();
        if libc::sched_getaffinity(0, size, &raw mut set) != 0 {
            return;
        }
        let last = (0..libc::CPU_SETSIZE as usize).rev().find(|&cpu| libc::CPU_ISSET(cpu, &set));
        if let Some(last) = last {
            libc::CPU_ZERO(&mut set);
            libc::CPU_SET(last, &mut set);
            libc::sched_setaffinity(0, size, &raw const set);
        }
    }
}

/// Returns the median of some figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    quantile(&mut figures, 0.5)
}

/// Returns the quantile of some figures.
pub fn quantile(figures: &mut [f64], share: f64) -> f64 {
    figures.sort_by(f64::total_cmp);
    let place = (figures.len().saturating_sub(1) as f64 * share).round() as usize;
    figures.get(place).copied().unwrap_or(f64::NAN)
}

/// Returns the path as an argument.
pub fn argument(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

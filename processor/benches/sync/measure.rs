//! Cost of a process, in total and by stages.

use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Result, ensure};
use processor::progress::ProgressReport;

/// Measured cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Processor time in milliseconds, of all threads and child processes.
    pub cpu_ms: f64,
    /// Elapsed time in milliseconds.
    pub wall_ms: f64,
    /// Peak memory in KiB.
    pub peak_kib: i64,
}

impl Cost {
    /// Prints the headers of the columns.
    pub fn print_head() {
        println!("{:<34} {:>9} {:>9} {:>8}", "", "CPU ms", "wall ms", "MiB");
    }

    /// Prints the cost as a row.
    pub fn print(self, what: &str) {
        let peak = self.peak_kib as f64 / 1024.0;
        println!("{what:<34} {:>9.1} {:>9.1} {peak:>8.1}", self.cpu_ms, self.wall_ms);
    }

    /// Prints the median and the maximum of several costs.
    pub fn print_all(what: &str, mut costs: Vec<Self>) {
        costs.sort_by(|a, b| a.cpu_ms.total_cmp(&b.cpu_ms));
        if let (Some(median), Some(most)) = (costs.get(costs.len() / 2), costs.last()) {
            median.print(&format!("{what}, median"));
            most.print(&format!("{what}, most"));
        }
    }
}

/// Runs a program and waits for its end.
pub fn run(command: &mut Command) -> Result<Cost> {
    let started = Instant::now();
    let child = command.spawn()?;
    let mut status = 0;
    // SAFETY: the structure consists of numbers, for which zero is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let id = libc::pid_t::try_from(child.id())?;
    // SAFETY: the system writes into a valid status and a valid usage; no other code waits for this child.
    let waited = unsafe { libc::wait4(id, &raw mut status, 0, &raw mut usage) };
    ensure!(waited == id && status == 0, "{command:?} failed");
    Ok(Cost {
        cpu_ms: cpu_ms(&usage),
        wall_ms: started.elapsed().as_secs_f64() * 1e3,
        peak_kib: usage.ru_maxrss,
    })
}

fn cpu_ms(usage: &libc::rusage) -> f64 {
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    ms(usage.ru_utime) + ms(usage.ru_stime)
}

fn used(who: libc::c_int) -> libc::rusage {
    // SAFETY: the structure consists of numbers, for which zero is a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the system writes a usage into a valid variable.
    unsafe { libc::getrusage(who, &raw mut usage) };
    usage
}

/// Returns the processor time of this process for `work`, in milliseconds.
pub fn used_ms(work: impl FnOnce()) -> f64 {
    let before = cpu_ms(&used(libc::RUSAGE_SELF));
    work();
    cpu_ms(&used(libc::RUSAGE_SELF)) - before
}

/// The stages of a sync.
pub struct Stages {
    started: Instant,
    begun: Mutex<Vec<(String, Cost)>>,
}

impl Stages {
    /// Begins with a stage for the time before the first real stage.
    pub fn begin() -> Self {
        let stages = Self { started: Instant::now(), begun: Mutex::new(Vec::new()) };
        stages.stage("beginning", 0);
        stages
    }

    fn now(&self) -> Cost {
        let (own, others) = (used(libc::RUSAGE_SELF), used(libc::RUSAGE_CHILDREN));
        Cost {
            cpu_ms: cpu_ms(&own) + cpu_ms(&others),
            wall_ms: self.started.elapsed().as_secs_f64() * 1e3,
            peak_kib: own.ru_maxrss,
        }
    }

    /// Prints the time of each stage, and the peak memory at its end.
    pub fn print(&self) {
        let Ok(mut begun) = self.begun.lock() else { return };
        begun.push((String::new(), self.now()));
        for pair in begun.windows(2) {
            let ((name, from), (_, to)) = (&pair[0], &pair[1]);
            let cost = Cost {
                cpu_ms: to.cpu_ms - from.cpu_ms,
                wall_ms: to.wall_ms - from.wall_ms,
                peak_kib: to.peak_kib,
            };
            cost.print(&format!("  {name}"));
        }
    }
}

impl ProgressReport for Stages {
    fn stage(&self, name: &str, _steps: usize) {
        if let Ok(mut begun) = self.begun.lock() {
            begun.push((name.to_owned(), self.now()));
        }
    }
    fn step(&self) {}
    fn done(&self) {}
}

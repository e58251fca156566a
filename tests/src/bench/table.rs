//! The figures of a row, and the table as text and JSON.

use serde_json::{Value, json};

use super::run::{ProcessSample, Promise, Row, median, quantile};

/// The summary of all runs of one row.
#[derive(Clone, Debug)]
pub struct TableLine {
    name: String,
    size: Option<u64>,
    cold: bool,
    median_us: f64,
    p90_us: f64,
    ratio: f64,
    promise: Option<Promise>,
    cpu_us: f64,
    peak_kib: f64,
    minor_faults: f64,
}

impl TableLine {
    /// Summarises the samples of a row. `empty_us` is the median time of the empty program, in microseconds.
    pub fn new(row: &Row<'_>, samples: &[ProcessSample], empty_us: f64, cold: bool) -> Self {
        let of = |figure: fn(&ProcessSample) -> f64| samples.iter().map(figure).collect::<Vec<_>>();
        let median_us = median(of(|sample| sample.wall_us));
        Self {
            name: row.name.clone(),
            size: row.size,
            cold,
            median_us,
            p90_us: quantile(&mut of(|sample| sample.wall_us), 0.9),
            ratio: median_us / empty_us,
            promise: row.promise.filter(|_| !cold),
            cpu_us: median(of(|sample| sample.cpu_us)),
            peak_kib: of(|sample| sample.peak_kib).into_iter().fold(0.0, f64::max),
            minor_faults: median(of(|sample| sample.minor_faults)),
        }
    }

    /// Returns whether the row is within its limits; true if it has none.
    pub fn keeps_its_promise(&self) -> bool {
        self.promise.is_none_or(|promise| {
            self.ratio <= promise.ratio
                && self.cpu_us <= promise.cpu_us
                && self.peak_kib <= promise.peak_kib
        })
    }

    /// Returns the line in JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "memories": self.size,
            "cold": self.cold,
            "wall_us": self.median_us,
            "wall_us_p90": self.p90_us,
            "ratio": self.ratio,
            "ratio_target": self.promise.map(|promise| promise.ratio),
            "cpu_us": self.cpu_us,
            "peak_kib": self.peak_kib,
            "minor_faults": self.minor_faults,
            "ok": self.keeps_its_promise(),
        })
    }

    /// Returns the line in text.
    pub fn to_text(&self) -> String {
        let size = self.size.map(|size| size.to_string()).unwrap_or_default();
        let verdict = if self.keeps_its_promise() { "ok" } else { "MISSED" };
        let target = self.promise.map(|promise| format!("<= {} {verdict}", promise.ratio));
        let target = target.unwrap_or_default();
        let name = if self.cold { format!("{}, cold", self.name) } else { self.name.clone() };
        format!(
            "{name:<44} {size:>8} {:>9.3} {:>9.3} {:>7.2} {:>9.3} {:>8.0} {:>7.0}  {target}",
            self.median_us / 1000.0,
            self.p90_us / 1000.0,
            self.ratio,
            self.cpu_us / 1000.0,
            self.peak_kib,
            self.minor_faults,
        )
    }
}

/// Returns the head of the text table.
pub fn head() -> String {
    format!(
        "{:<44} {:>8} {:>9} {:>9} {:>7} {:>9} {:>8} {:>7}  target",
        "program", "memories", "ms", "ms p90", "x empty", "CPU ms", "peak KiB", "faults"
    )
}

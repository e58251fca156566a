//! Histogram of the durations of hooks, from receipts.

use serde::Serialize;

use crate::receipts::InjectionReceipt;

/// Upper bounds of the bars in microseconds; one more bar has no upper bound.
const BOUNDS: [u64; 10] = [250, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000];

/// Injections whose hooks had similar durations.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// Upper bound in microseconds; `None` for the last bar.
    pub micros_max: Option<u64>,
    /// Number of injections.
    pub count: usize,
}

impl Timing {
    /// Returns the upper bound in milliseconds, for people.
    pub fn label(&self) -> String {
        match self.micros_max {
            Some(micros) => format!("{}", micros as f64 / 1e3),
            None => format!("> {}", BOUNDS[BOUNDS.len() - 1] / 1_000),
        }
    }
}

/// Counts the receipts for each bar; empty if there are no receipts.
pub fn of(receipts: &[InjectionReceipt]) -> Vec<Timing> {
    if receipts.is_empty() {
        return Vec::new();
    }
    let bounds = BOUNDS.iter().copied().map(Some).chain([None]);
    let mut timings: Vec<Timing> =
        bounds.map(|micros_max| Timing { micros_max, count: 0 }).collect();
    for receipt in receipts {
        timings[BOUNDS.partition_point(|bound| *bound < receipt.micros)].count += 1;
    }
    timings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_falls_into_one_bar_its_bound_into_the_lower() {
        let receipt = |micros| InjectionReceipt { micros, ..InjectionReceipt::default() };
        let timings = of(&[0, 250, 251, 1_000, 200_000, 200_001, u64::MAX].map(receipt));
        let counts: Vec<usize> = timings.iter().map(|timing| timing.count).collect();
        assert_eq!(counts, [2, 1, 1, 0, 0, 0, 0, 0, 0, 1, 2]);
        let labels: Vec<String> = timings.iter().map(Timing::label).collect();
        assert_eq!((&*labels[0], &*labels[4], &*labels[10]), ("0.25", "5", "> 200"));
        assert_eq!(of(&[]), []);
    }
}

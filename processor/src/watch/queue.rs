//! Decides when a sync of a project is due: after its transcripts were quiet for a moment, with a minimum interval, and
//! again when its sessions have been quiet for so long that they count as ended.

use std::collections::BTreeMap;
use std::time::Instant;

use memory_store::ProjectId;

use super::Pace;

/// Factor by which the interval after a failed sync is longer.
const FAILED_GAPS: u32 = 15;

/// The projects that wait for a sync.
#[derive(Debug)]
pub struct Queue {
    pace: Pace,
    projects: BTreeMap<ProjectId, WaitingProject>,
}

#[derive(Debug, Default)]
struct WaitingProject {
    /// Times of the first and the last growth of the project's transcripts since the last sync.
    grew: Option<(Instant, Instant)>,
    not_before: Option<Instant>,
    settles_at: Option<Instant>,
}

impl Queue {
    /// Creates an empty queue.
    pub const fn new(pace: Pace) -> Self {
        Self { pace, projects: BTreeMap::new() }
    }

    /// Records that a transcript of a project grew.
    pub fn grew(&mut self, project: ProjectId, now: Instant) {
        let waiting = self.projects.entry(project).or_default();
        let since = waiting.grew.map_or(now, |(since, _)| since);
        waiting.grew = Some((since, now));
        waiting.settles_at = Some(now + self.pace.settled);
    }

    /// Returns the time when the next project is due.
    pub fn next_at(&self) -> Option<Instant> {
        self.projects.values().filter_map(|waiting| waiting.due_at(&self.pace)).min()
    }

    /// Removes and returns the project that has been due for the longest time.
    pub fn take(&mut self, now: Instant) -> Option<ProjectId> {
        let due = |waiting: &WaitingProject| waiting.due_at(&self.pace).filter(|at| *at <= now);
        let (_, project) = self
            .projects
            .iter()
            .filter_map(|(project, waiting)| Some((due(waiting)?, *project)))
            .min()?;
        if let Some(waiting) = self.projects.get_mut(&project) {
            waiting.grew = None;
            waiting.settles_at = waiting.settles_at.filter(|at| *at > now);
        }
        Some(project)
    }

    /// Records that a sync ended.
    pub fn ended(&mut self, project: ProjectId, now: Instant, succeeded: bool) {
        let gap = if succeeded { self.pace.gap } else { self.pace.gap * FAILED_GAPS };
        let waiting = self.projects.entry(project).or_default();
        waiting.not_before = Some(now + gap);
        if !succeeded && waiting.grew.is_none() {
            waiting.grew = Some((now, now));
        }
    }

    /// Postpones a project that was removed by [`Self::take`].
    pub fn postpone(&mut self, project: ProjectId, until: Instant) {
        let waiting = self.projects.entry(project).or_default();
        waiting.grew.get_or_insert((until, until));
        waiting.not_before = Some(until);
    }
}

impl WaitingProject {
    fn due_at(&self, pace: &Pace) -> Option<Instant> {
        let rests = self.grew.map(|(since, last)| (last + pace.quiet).min(since + pace.patience));
        let due = match (rests, self.settles_at) {
            (Some(one), Some(other)) => one.min(other),
            (one, other) => one.or(other)?,
        };
        Some(self.not_before.map_or(due, |not_before| due.max(not_before)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn pace() -> Pace {
        Pace {
            quiet: seconds(2),
            patience: seconds(30),
            gap: seconds(20),
            settled: seconds(1800),
            ..Pace::default()
        }
    }

    #[test]
    fn a_project_is_due_when_its_transcripts_rest_and_not_too_often() {
        let (mut queue, start) = (Queue::new(pace()), Instant::now());
        let project: ProjectId = "00000000000000000000000000000001".parse().unwrap();
        let at = |count| start + seconds(count);
        queue.grew(project, at(0));
        queue.grew(project, at(1));
        assert_eq!(queue.next_at(), Some(at(3)));
        assert_eq!(queue.take(at(2)), None);
        assert_eq!(queue.take(at(3)), Some(project));
        assert_eq!(queue.take(at(3)), None, "it was taken");
        queue.ended(project, at(4), true);
        queue.grew(project, at(5));
        assert_eq!(queue.take(at(23)), None);
        assert_eq!(queue.take(at(24)), Some(project));
        // The project is due again when the session counts as ended.
        queue.ended(project, at(25), true);
        assert_eq!(queue.next_at(), Some(at(1805)));
        assert_eq!(queue.take(at(1805)), Some(project));
        assert_eq!(queue.next_at(), None);
    }

    #[test]
    fn one_that_never_rests_has_its_turn_and_one_that_fails_waits_longer() {
        let (mut queue, start) = (Queue::new(pace()), Instant::now());
        let project: ProjectId = "00000000000000000000000000000001".parse().unwrap();
        let at = |count| start + seconds(count);
        (0..=30).for_each(|second| queue.grew(project, at(second)));
        assert_eq!(queue.next_at(), Some(at(30)));
        assert_eq!(queue.take(at(30)), Some(project));
        queue.ended(project, at(31), false);
        assert_eq!(queue.next_at(), Some(at(331)), "and it is tried again");
        assert_eq!(queue.take(at(331)), Some(project));
        queue.postpone(project, at(400));
        assert_eq!(queue.take(at(399)), None);
        assert_eq!(queue.take(at(402)), Some(project));
    }
}

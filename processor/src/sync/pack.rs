//! The part of a sync that moves sessions which rest into packs, once they fill one.

use memory_store::Timestamp;
use memory_store::time::DAY_MS;

use super::Run;
use crate::collect::archive::Entry;
use crate::transcript::parts;
use crate::upkeep::retention;

/// Bytes of archive files that are packed together. Unpacked they have about four times as many, which is what is
/// unpacked to read one of them.
pub(super) const PACKED_BYTES: u64 = 2 << 20;

/// Days after its last record from which a session is packed. One that goes on later is taken out again.
const RESTS_DAYS: i64 = 7;

impl Run<'_> {
    /// Packs what rests, `bytes` of it at a time. What cannot be packed stays as it is and is told.
    pub(super) fn pack(&mut self, bytes: u64) {
        let recorded = self.state.sessions.values().map(|session| session.last).max();
        let now = retention::believed(self.options.now, recorded.max(self.newest));
        for names in self.resting(now, bytes) {
            if let Err(error) = self.archive.pack(&names) {
                self.warn(vec![format!("{error:#}")]);
                return;
            }
        }
    }

    /// The sessions of each pack that is to be made, the oldest first.
    fn resting(&self, now: Timestamp, bytes: u64) -> Vec<Vec<String>> {
        let Ok(entries) = self.archive.entries() else { return Vec::new() };
        let mut resting: Vec<(Timestamp, Entry)> = Vec::new();
        for entry in entries.into_iter().filter(|entry| entry.has_own_file() && entry.len <= bytes)
        {
            let Some(session) = self.state.sessions.get(&entry.name) else { continue };
            // A part that is closed does not go on.
            let rests = parts::of_name(&entry.name).1 > 0
                || now.0.saturating_sub(session.last.0) > RESTS_DAYS * DAY_MS;
            let is_known = session.len == entry.len && session.modified_ns == entry.modified_ns;
            if rests && is_known && session.last != Timestamp::default() {
                resting.push((session.last, entry));
            }
        }
        resting.sort();
        let mut packs = Vec::new();
        let (mut names, mut sum) = (Vec::new(), 0);
        for (_, entry) in resting {
            sum += entry.len;
            names.push(entry.name);
            if sum >= bytes {
                packs.push(std::mem::take(&mut names));
                sum = 0;
            }
        }
        packs
    }
}

#[cfg(test)]
mod tests {
    use memory_store::identity::Mode;

    use super::*;
    use crate::collect::archive::pack;
    use crate::sync::stage::tests::session;
    use crate::testing::Project;

    #[test]
    fn sessions_that_rest_are_packed_once_they_fill_one() {
        let project = Project::new(Mode::Private);
        let options = project.sync();
        let mut run = Run::begin(&options, project.dirs.project(project.tree.project)).unwrap();
        for number in 0..5 {
            let root = project.root().to_str().unwrap();
            run.archive.store(&session(number, root)).unwrap();
        }
        run.forget_missing().unwrap();
        let ended = |run: &Run<'_>| run.state.sessions.values().map(|it| it.last).max().unwrap();
        let len = run.archive.entries().unwrap().iter().map(|entry| entry.len).max().unwrap();
        let rests = Timestamp(ended(&run).0 + RESTS_DAYS * DAY_MS + 1);
        assert_eq!(run.resting(ended(&run), 2 * len).len(), 0);
        assert_eq!(run.resting(rests, 100 * len).len(), 0);
        let packs = run.resting(rests, 2 * len);
        assert!(packs.len() == 1 && packs[0][0] == "session-0", "{packs:?}");
        for names in packs {
            run.archive.pack(&names).unwrap();
        }
        assert_eq!(pack::all(run.archive.folder()).len(), 1);
        // To the state they are as they were.
        let before = run.state.sessions.clone();
        run.forget_missing().unwrap();
        assert_eq!(run.state.sessions, before);
        assert_eq!(before.len(), 5);
    }
}

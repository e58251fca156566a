//! Many faults, one after the other. The tests run some, and `scripts/stress` runs any number.

use std::collections::BTreeMap;
use std::io;

use super::{Invalid, Random, Trial, Writer};
use crate::fault::{Class, Fault, Plan, Run};

/// Number of runs after which a new trial begins, to limit its size.
const ROUND: u32 = 60;

/// Number of runs after which a sync without faults is run.
const RECOVERY: u32 = 10;

/// Assumed number of points of a writer until its first run without a fault.
const POINTS_FIRST: u64 = 40;

/// Result of a storm.
#[derive(Debug, Default)]
pub struct Storm {
    /// Number of runs.
    pub runs: u32,
    /// Number of runs in which the fault occurred, by writer.
    pub struck: BTreeMap<Writer, u32>,
    /// Number of runs in which the fault occurred, by class of call.
    pub classes: BTreeMap<Class, u32>,
    /// Number of successful syncs without faults.
    pub recoveries: u32,
    /// Violations, with the writer and the point.
    pub faults: Vec<Invalid>,
}

impl Storm {
    /// Returns the number of faults that occurred.
    pub fn strikes(&self) -> u32 {
        self.struck.values().sum()
    }

    fn note(&mut self, writer: Writer, run: &Run) {
        self.runs += 1;
        if let Some(point) = &run.struck {
            *self.struck.entry(writer).or_default() += 1;
            *self.classes.entry(point.class).or_default() += 1;
        }
    }
}

/// Kills writers at random points until `count` were killed; `seed` determines the points. Of the writes among them,
/// one in four is torn.
pub fn kills(count: u32, seed: u64) -> io::Result<Storm> {
    let killing = |random: &mut Random| {
        let fault = if random.below(4) == 0 { Fault::Torn } else { Fault::Kill };
        // Mostly, the writer is killed at a call that changes a file: all moments between two reads are equivalent.
        let changes = Class::ALL.into_iter().filter(|class| class.changes()).collect();
        (if random.below(4) == 0 { Vec::new() } else { changes }, fault)
    };
    storm(count, seed, killing)
}

/// Makes calls of writers fail at random points until `count` have failed; `seed` determines the points.
pub fn failures(count: u32, seed: u64) -> io::Result<Storm> {
    storm(count, seed, |random| {
        let class = *random.one_of(&Class::ALL).unwrap_or(&Class::Write);
        let faults = failures_of(class);
        (vec![class], *random.one_of(&faults).unwrap_or(&Fault::Short))
    })
}

fn storm(
    count: u32,
    seed: u64,
    mut choose: impl FnMut(&mut Random) -> (Vec<Class>, Fault),
) -> io::Result<Storm> {
    let mut random = Random::new(seed);
    let mut storm = Storm::default();
    let mut points: BTreeMap<(Writer, Vec<Class>), u64> = BTreeMap::new();
    let mut trial = Trial::new()?;
    // The number of runs is limited, since a writer that makes no call of a class is not affected.
    while storm.strikes() < count && storm.runs < count.saturating_mul(4) {
        if storm.runs > 0 && storm.runs.is_multiple_of(ROUND) {
            trial = Trial::new()?;
        }
        let writer = *random.one_of(&Writer::ALL).unwrap_or(&Writer::Sync);
        let (classes, fault) = choose(&mut random);
        let most = points.entry((writer, classes.clone())).or_insert(POINTS_FIRST);
        let number = 1 + random.below(*most);
        let run = trial.run(writer, |plan| plan.of(&classes).striking(number, fault))?;
        if run.struck.is_none() {
            *most = run.points.max(1);
        }
        storm.note(writer, &run);
        let mut faults = trial.faults();
        if writer.is_hook() {
            faults.extend(Trial::hook_faults(&run));
        } else if run.stderr.contains("panicked") {
            faults.push(run.stderr.clone());
        }
        if storm.runs.is_multiple_of(RECOVERY) {
            faults.extend(trial.faults_after_recovery()?);
            storm.recoveries += 1;
        }
        if !faults.is_empty() {
            let what = format!("run {} {writer:?} {fault:?} at {:?}", storm.runs, run.struck);
            storm.faults.extend(faults.into_iter().map(|fault| format!("{what}: {fault}")));
            // A new trial begins, since otherwise all later checks would report the same violation.
            trial = Trial::new()?;
        }
    }
    Ok(storm)
}

/// Returns the realistic faults of a class of calls.
pub fn failures_of(class: Class) -> Vec<Fault> {
    use libc::{
        EACCES, EDQUOT, EINTR, EIO, EMFILE, ENOENT, ENOLCK, ENOSPC, EOPNOTSUPP, EROFS, ESTALE,
        EXDEV,
    };
    let one: &[i32] = match class {
        Class::Open => &[EACCES, ENOENT, EMFILE, ESTALE, EIO],
        Class::Create => &[EACCES, ENOENT, EMFILE, EROFS, ENOSPC, EDQUOT],
        Class::Read => &[EIO, EINTR, ESTALE],
        Class::Write => &[ENOSPC, EIO, EDQUOT, EINTR],
        Class::Rename => &[EACCES, ENOSPC, EXDEV, EIO],
        Class::Sync => &[EIO, ENOSPC],
        Class::Lock => &[ENOLCK, EOPNOTSUPP, EINTR],
        Class::Remove => &[EACCES, ENOENT, EROFS],
        Class::Folder => &[ENOSPC, EACCES, EROFS],
        Class::Look => &[EACCES, ENOENT, EIO],
    };
    // Faults that persist: full disks, read-only stores, and file systems without locks.
    let lasting: &[i32] = match class {
        Class::Create | Class::Rename | Class::Folder | Class::Remove => &[EROFS, EACCES],
        Class::Open => &[EACCES],
        Class::Write => &[ENOSPC],
        Class::Sync => &[EIO],
        Class::Lock => &[ENOLCK, EOPNOTSUPP],
        Class::Read | Class::Look => &[EIO],
    };
    let short: &[Fault] = if class == Class::Write { &[Fault::Short] } else { &[] };
    let one = one.iter().map(|&error| Fault::Error(error));
    let lasting = lasting.iter().map(|&error| Fault::ErrorFromHere(error));
    one.chain(lasting).chain(short.iter().copied()).collect()
}

/// Makes every `step`th call of every hook fail with a fault of its class. Returns the number of faults and the
/// violations.
pub fn each_call_of_hooks(step: u64) -> io::Result<Storm> {
    let mut storm = Storm::default();
    let mut trial = Trial::new()?;
    for writer in Writer::HOOKS {
        for class in Class::ALL {
            let of = |plan: Plan| plan.of(&[class]);
            let points = trial.run(writer, of)?.points;
            let faults = failures_of(class);
            let all =
                (1..=points).flat_map(|number| faults.iter().map(move |&fault| (number, fault)));
            for (number, fault) in all.step_by(step.max(1) as usize) {
                let run = trial.run(writer, |plan| of(plan).striking(number, fault))?;
                storm.note(writer, &run);
                let mut faults = Trial::hook_faults(&run);
                faults.extend(trial.faults());
                let what = format!("{writer:?} {fault:?} at {:?}", run.struck);
                storm.faults.extend(faults.into_iter().map(|fault| format!("{what}: {fault}")));
            }
        }
        storm.faults.extend(trial.faults_after_recovery()?);
        storm.recoveries += 1;
    }
    Ok(storm)
}

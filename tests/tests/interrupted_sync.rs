//! A sync may be killed at any moment, and transcripts may grow by pieces of any length. The final contents must equal
//! those of one undisturbed sync byte for byte.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use journeys::sample_project::{Sample, copy, snapshot, stories};

/// Number of kills; `THROUGHLINE_TEST_KILLS` overrides it.
const KILLS: usize = 50;

/// Number of ways in which transcripts are divided into pieces.
const SLICINGS: usize = 2;

/// Pseudo-random numbers, the same in every run (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 1).unwrap() % end.max(1)
    }
}

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Returns the permanent files: memories, and the archive. The ledger is omitted because it logs all changes, and mined
/// drafts because they are a cache.
fn kept(sample: &Sample) -> (Files, Files) {
    let mut data = snapshot(&sample.environment.data_dir()).unwrap();
    data.retain(|name, _| name.components().any(|part| part.as_os_str() == "archive"));
    (sample.memories().unwrap(), data)
}

fn assert_same(sample: &Sample, expected: &(Files, Files), story: &str) {
    let found = kept(sample);
    for (found, expected) in [(&found.0, &expected.0), (&found.1, &expected.1)] {
        let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(found), names(expected), "{story}");
        for (name, bytes) in expected {
            let found = String::from_utf8_lossy(&found[name]).into_owned();
            assert_eq!(found, String::from_utf8_lossy(bytes), "{story}: {}", name.display());
        }
    }
}

/// The state directly after `init`, to which each run returns.
struct Begun {
    sample: Sample,
    copy: PathBuf,
}

impl Begun {
    fn new() -> io::Result<Self> {
        let sample = Sample::without_history()?;
        let copied = sample.environment.path().join("begun");
        for folder in [sample.environment.data_dir(), sample.root.join(".throughline")] {
            if folder.exists() {
                copy(&folder, &copied.join(folder.file_name().unwrap()))?;
            }
        }
        Ok(Self { sample, copy: copied })
    }

    fn again(&self) -> io::Result<()> {
        let environment = &self.sample.environment;
        let state = environment.state_dir();
        let transcripts = environment.claude_dir().join("projects");
        for folder in [&state, &transcripts] {
            remove(folder)?;
        }
        for folder in [environment.data_dir(), self.sample.root.join(".throughline")] {
            remove(&folder)?;
            let copied = self.copy.join(folder.file_name().unwrap());
            if copied.exists() {
                copy(&copied, &folder)?;
            }
        }
        Ok(())
    }

    fn write_all(&self) -> io::Result<()> {
        for story in stories()? {
            story.write(&self.sample.environment.claude_dir(), &self.sample.root)?;
        }
        Ok(())
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    if folder.exists() { fs::remove_dir_all(folder) } else { Ok(()) }
}

fn sync_killed_after(sample: &Sample, time: Duration) {
    let environment = &sample.environment;
    let mut child = environment
        .command(environment.binary("throughline"))
        .current_dir(&sample.root)
        .env("THROUGHLINE", "full")
        .arg("sync")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(time);
    // An error is ignored, since the sync may have ended already.
    drop(child.kill());
    child.wait().unwrap();
}

#[test]
fn a_kill_at_any_moment_costs_only_work() {
    let begun = Begun::new().unwrap();
    begun.write_all().unwrap();
    let clock = Instant::now();
    begun.sample.sync().unwrap();
    let undisturbed = clock.elapsed();
    let expected = kept(&begun.sample);

    let kills = std::env::var("THROUGHLINE_TEST_KILLS").ok().and_then(|kills| kills.parse().ok());
    let kills: usize = kills.unwrap_or(KILLS);
    let mut random = Random(0x2026_1120);
    for kill in 0..kills {
        // The state is not always restored, so that some runs continue an interrupted one.
        if kill % 3 == 0 {
            begun.again().unwrap();
            begun.write_all().unwrap();
        }
        let micros = random.below(usize::try_from(undisturbed.as_micros()).unwrap());
        let moment = Duration::from_micros(u64::try_from(micros).unwrap());
        sync_killed_after(&begun.sample, moment);
        if kill % 3 == 2 || kill + 1 == kills {
            begun.sample.sync().unwrap();
            assert_same(&begun.sample, &expected, &format!("killed after {moment:?}"));
        }
    }
}

#[test]
fn transcripts_in_slices_equal_transcripts_at_once() {
    let begun = Begun::new().unwrap();
    begun.write_all().unwrap();
    begun.sample.sync().unwrap();
    let expected = kept(&begun.sample);

    let mut random = Random(0x0051_1CE5);
    for slicing in 0..SLICINGS {
        begun.again().unwrap();
        let mut open: Vec<_> = stories()
            .unwrap()
            .iter()
            .map(|story| {
                let path = story
                    .write(&begun.sample.environment.claude_dir(), &begun.sample.root)
                    .unwrap();
                let bytes = fs::read(&path).unwrap();
                fs::write(&path, b"").unwrap();
                (path, bytes, 0)
            })
            .collect();
        while !open.is_empty() {
            let chosen = random.below(open.len());
            let (path, bytes, end) = &mut open[chosen];
            // A piece may end anywhere, even within a line.
            *end = (*end + 1 + random.below(bytes.len() / 2)).min(bytes.len());
            fs::write(&*path, &bytes[..*end]).unwrap();
            if *end == bytes.len() {
                open.remove(chosen);
            }
            begun.sample.sync().unwrap();
        }
        assert_same(&begun.sample, &expected, &format!("slicing {slicing}"));
    }
}

#[test]
fn a_second_sync_changes_nothing() {
    let begun = Begun::new().unwrap();
    begun.write_all().unwrap();
    begun.sample.sync().unwrap();
    let first = kept(&begun.sample);
    begun.sample.sync().unwrap();
    assert_same(&begun.sample, &first, "the second sync");
}

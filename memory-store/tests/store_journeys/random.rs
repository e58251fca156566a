//! Random sequences of git commands, edits and syncs.

use memory_store::reconcile::Desired;

use super::journey::{Journey, memory};

/// A pseudo-random sequence with a fixed seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

#[test]
fn random_journeys_lose_nothing_and_never_stand_in_the_way_of_git() {
    const JOURNEYS: u64 = 5;
    const STEPS: usize = 18;
    for seed in 1..=JOURNEYS {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut journey = Journey::new(2);
        journey.git("branch feature");
        journey.sync();
        let mut story = Vec::new();
        for _ in 0..STEPS {
            let step = random_step(&mut journey, &mut dice);
            story.push(step);
        }
        journey.sync();
        let wanted: Vec<u8> = (0..journey.desired.len() as u8).collect();
        assert_eq!(journey.known(), wanted, "journey {seed}: {story:?}");
        assert_eq!(journey.tombstones(), [], "journey {seed}: {story:?}");
    }
}

fn random_step(journey: &mut Journey, dice: &mut Dice) -> String {
    let loose = journey.git("ls-files --others .throughline/memories").lines().count();
    let arguments = match dice.roll(12) {
        0..3 => {
            let n = journey.desired.len() as u8;
            journey.desired.push(Desired { memory: memory(n), root: journey.root().to_owned() });
            journey.sync();
            return format!("learn {n}");
        }
        3 => {
            journey.sync();
            return "sync".to_owned();
        }
        4..6 => {
            // After a stash there may be no files to add, which is an error for git.
            let _ = journey.try_git(journey.root(), "add -A .throughline");
            "commit -q -m memories"
        }
        6 => "checkout -q main",
        7..9 => "checkout -q feature",
        9 => "merge -q feature",
        10 => match dice.roll(3) {
            0 => "stash -q -u",
            1 => "stash pop -q",
            _ => "stash drop -q",
        },
        // The removal of a single untracked file by `git clean` cannot be distinguished from a deletion by a person.
        _ if loose == 1 => return "nothing".to_owned(),
        _ => "clean -fdq",
    };
    if let Err(error) = journey.try_git(journey.root(), arguments) {
        for block in ["would be overwritten", "already exists, no checkout", "local changes"] {
            assert!(!error.contains(block), "git {arguments}: {error}");
        }
        return format!("({arguments})");
    }
    arguments.to_owned()
}

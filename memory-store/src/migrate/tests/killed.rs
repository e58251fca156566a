//! Kills runs over whole stores of version 0.1.0 after each of their writes.

use super::*;

/// Upper bound on the number of writes of a run in these tests.
const WRITES_MAX: usize = 200;

/// Runs the steps of a store, kills the run after each possible number of writes, and then runs the steps again. Each
/// number of writes uses a separate home.
fn kill_everywhere(
    pick: &dyn Fn(&GoldenHome) -> Site,
    prepare: &dyn Fn(&GoldenHome),
    migrations: &'static [Migration],
) {
    let undisturbed = GoldenHome::new("0.1.0");
    prepare(&undisturbed);
    let before = comparable(&undisturbed, &files(&undisturbed));
    // After a kill, each file has the bytes of one of these states.
    let mut states = vec![before.clone()];
    for end in 1..=migrations.len() {
        run(&pick(&undisturbed), &migrations[..end], NOW, usize::MAX).unwrap();
        states.push(comparable(&undisturbed, &files(&undisturbed)));
    }
    let wanted = states.last().unwrap().clone();
    assert_ne!(before, wanted);
    let known = known_texts(&pick(&undisturbed));
    for writes in 0..WRITES_MAX {
        let home = GoldenHome::new("0.1.0");
        prepare(&home);
        let site = pick(&home);
        let is_whole = run(&site, migrations, NOW, writes).unwrap().is_some();
        let killed = comparable(&home, &files(&home));
        for (path, bytes) in &before {
            let now = killed.get(path);
            assert!(
                states.iter().any(|state| state.get(path) == now),
                "{}: torn after {writes} writes",
                path.display()
            );
            // At any time, a moved file exists at the old or the new path.
            let is_in = |name: &Path| name.file_name() == path.file_name();
            let is_somewhere = now.is_some() || killed.keys().any(|other| is_in(other));
            assert!(
                is_somewhere || bytes.is_empty(),
                "{}: lost after {writes} writes",
                path.display()
            );
        }
        let begun = results(&site);
        let has_changed = killed
            .iter()
            .any(|(path, bytes)| before.get(path) != Some(bytes) && !path.ends_with("version"));
        assert!(!has_changed || !begun.is_empty(), "{writes}: files changed, and the log is empty");
        run(&site, migrations, NOW, usize::MAX).unwrap();
        assert!(is_current(&site, migrations), "{writes}");
        let reached = comparable(&home, &files(&home));
        // The killed run may have added a line to the ledger that the next run added as well.
        let (reached, expected) = (without_ledgers(reached), without_ledgers(wanted.clone()));
        assert_eq!(differing(&reached, &expected), [] as [PathBuf; 0], "after {writes} writes");
        assert_eq!(known_texts(&site), known, "after {writes} writes");
        for step in migrations.iter().filter(|step| step.kind == site.kind) {
            let last = results(&site).into_iter().rfind(|(name, _)| name == step.name);
            assert_eq!(last, Some((step.name.to_owned(), StepResult::Done)), "{writes}");
        }
        // Going back restores the first state, regardless of when the run was killed.
        let mut kept = backup::list(&site.home);
        kept.retain(|kept| kept.folder == site.folder());
        assert_eq!(kept.len(), 1, "{writes}: {kept:?}");
        let put_back = go_back(&site, &kept[0].name, NOW).unwrap();
        assert_eq!(put_back.left, Vec::<PathBuf>::new());
        let back = without_ledgers(comparable(&home, &files(&home)));
        let expected = without_ledgers(before.clone());
        assert_eq!(differing(&back, &expected), [] as [PathBuf; 0], "{writes}");
        if is_whole {
            return;
        }
    }
    panic!("no run came to its end in {WRITES_MAX} writes");
}

/// Returns the text of each memory in the ledger of a store, and the hashes of the texts that the ledger lists as
/// written by the program.
fn known_texts(site: &Site) -> Vec<(String, Vec<String>)> {
    let ledger = Ledger::open(&site.home).unwrap();
    ledger.entries().map(|entry| (entry.text.clone(), entry.written.clone())).collect()
}

#[test]
fn a_kill_after_any_write_loses_nothing_and_the_next_run_continues() {
    kill_everywhere(&|home| Site::user(&home.dirs), &hold_for_user, &ALL);
    kill_everywhere(&|home| project(home, COMMITTED), &|_| {}, &ALL);
    kill_everywhere(&|home| project(home, PRIVATE), &|_| {}, &ALL);
}

/// Copies a pending memory of a project to the user's own store.
fn hold_for_user(home: &GoldenHome) {
    let from = fs::read_dir(project(home, PRIVATE).home.drafts).unwrap().next().unwrap().unwrap();
    let to = home.dirs.user_dir().drafts;
    fs::create_dir_all(&to).unwrap();
    fs::copy(from.path(), to.join(from.file_name())).unwrap();
}

#[test]
fn steps_of_later_versions_move_files_and_are_killed_like_others() {
    kill_everywhere(&|home| made_up(home), &|_| {}, &LATER);
    kill_everywhere(&memory_folder, &|_| {}, &OF_FOLDER);
}

#[test]
fn what_a_failing_run_changed_is_put_back_also_after_a_kill() {
    for migrations in [&FAILING, &STUMBLING] {
        for writes in 0..WRITES_MAX {
            let home = GoldenHome::new("0.1.0");
            let site = made_up(&home);
            let before = without_ledgers(files(&home));
            let was_killed = run(&site, migrations, NOW, writes).is_ok();
            run(&site, migrations, NOW, usize::MAX).unwrap_err();
            let after = without_ledgers(files(&home));
            assert_eq!(differing(&after, &before), [] as [PathBuf; 0], "killed after {writes}");
            assert_eq!(site.version().unwrap(), StoreFormat::FIRST);
            assert!(!backup::is_unfinished(&site));
            // A backup that lists a path with content that the run did not write is kept for inspection.
            assert_eq!(backup::list(&site.home).is_empty(), migrations[1].name == "fail");
            let told = results(&site);
            assert_eq!(told.last().unwrap().1, StepResult::Restored, "{told:?}");
            let undone = told.iter().rfind(|(name, _)| *name == migrations[0].name).unwrap();
            assert_eq!(undone.1, StepResult::Restored, "the step before is undone, too: {told:?}");
            if !was_killed {
                break;
            }
            assert!(writes + 1 < WRITES_MAX, "no run failed in {WRITES_MAX} writes");
        }
    }
}

//! Replaying a history: what recall would have known when it was needed.

use std::time::Duration;

use crate::scripts::{Script, Sealed, eventful};
use processor::replay::replay;

/// The files of a home but for what a sync caches.
fn files(sealed: &Sealed) -> Vec<std::path::PathBuf> {
    sealed.files(|_| false).into_iter().map(|(path, _)| path).collect()
}

/// A session in which the build of the reports breaks, is explained and cured.
fn breaking(session: &str, sealed: &Sealed, start: &str) -> Script {
    let mut script = Script::new(session, sealed.root()).starting(start);
    script.prompt("Build the reports, and never write them outside of the out folder.");
    script.bash_fails("make reports", "error: template totals.tpl not found in search path");
    script.say("The templates are missing because the submodule was never checked out.");
    script.bash("git submodule update --init", "Submodule path 'templates': checked out");
    script.bash("make reports", "12 reports written");
    script.say("The reports are built: they need the templates of the submodule.");
    script
}

#[test]
fn what_came_back_was_known_by_then_and_nothing_is_written() {
    let sealed = Sealed::new();
    // One error occurs in the first and the third session; the wish is said in each.
    sealed.write_script(&breaking("s1", &sealed, "2026-11-02T09:00:00Z"));
    sealed.write_script(&eventful("s2", sealed.root(), 5));
    sealed.write_script(&breaking("s3", &sealed, "2026-11-09T09:00:00Z"));
    sealed.sync();
    let before = files(&sealed);
    let told = replay(&sealed.options(), Duration::from_secs(60)).unwrap();
    assert_eq!((told.sessions, told.replayed), (3, 3));
    assert_eq!((told.errors.met_twice, told.errors.answered), (1, 1), "{told:?}");
    assert_eq!((told.errors.fixed_twice, told.errors.fixed_answered), (1, 1), "{told:?}");
    assert_eq!(told.new_errors.met, 2, "{told:?}");
    assert_eq!(told.corrections.repeated, 1, "{told:?}");
    assert_eq!(told.corrections.in_context, told.corrections.repeated, "{told:?}");
    assert!(told.latency.answers >= 3 && told.latency.p50_us <= told.latency.p99_us, "{told:?}");
    assert!(told.sentence().unwrap().starts_with("You fixed 1 error twice"));
    assert_eq!(files(&sealed), before);
}

#[test]
fn without_time_nothing_is_replayed_and_that_is_said() {
    let sealed = Sealed::new();
    sealed.write_script(&eventful("s1", sealed.root(), 1));
    sealed.sync();
    let told = replay(&sealed.options(), Duration::ZERO).unwrap();
    assert_eq!((told.sessions, told.replayed, told.sentence()), (1, 0, None));
}

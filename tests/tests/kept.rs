//! Users' files must survive changes of readers and settings, git operations and other writers. `scripts/stress kept`
//! runs this for a longer time.

use journeys::trial::kept::kept;

#[test]
fn no_step_loses_or_rewrites_a_file_of_a_person() {
    let kept = kept(60, 20_261_129).unwrap();
    assert_eq!(kept.faults, Vec::<String>::new());
    assert!(kept.steps == 60 && kept.compared > 600, "{kept:?}");
}

//! Tests of a project's known secrets.

use std::fs;

use memory_store::redact::known::{KEY_BYTES, Known, Pending};
use memory_store::redact::{RedactOptions, Redactor};
use testutils::SealedHome;

fn known(values: &[&str]) -> Known {
    let known = Known::new([3; KEY_BYTES]);
    values.iter().for_each(|value| assert!(known.learn(value), "{value}"));
    known
}

#[test]
fn of_values_that_begin_with_the_same_word_the_longest_is_hidden() {
    let [short, long] = ["Cobaltheron6629", "Cobaltheron6629-brine7704"];
    for values in [[short, long], [long, short]] {
        let options = RedactOptions { known: known(&values), ..RedactOptions::default() };
        let redactor = Redactor { options, only_known: true };
        let hidden = "[redacted:known-secret]";
        assert_eq!(redactor.redact(&format!("say {long}.")), format!("say {hidden}."));
        assert_eq!(redactor.redact(&format!("say {short}.")), format!("say {hidden}."));
        // The text continues in another way than the longer secret, so only the shorter secret is redacted.
        assert_eq!(redactor.redact(&format!("say {short}-moss")), format!("say {hidden}-moss"));
    }
}

#[test]
fn a_key_that_cannot_be_read_is_not_replaced() {
    let sealed = SealedHome::new();
    let dirs = &sealed.dirs;
    let (home, key) = (dirs.user_dir(), dirs.secrets_key());
    fs::create_dir_all(key.parent().unwrap()).unwrap();
    // A later version may write a longer key.
    let later = vec![7; KEY_BYTES + 32];
    fs::write(&key, &later).unwrap();
    let (known, _) = Known::open(dirs, &home, [1; KEY_BYTES]);
    assert!(known.learn("Cobaltheron6629"));
    assert!(known.write_file(dirs, &home, &Pending::default()).is_err());
    assert_eq!(fs::read(&key).unwrap(), later);
    assert!(!home.known_secrets.exists());
    // A file that is not a key of any version is replaced by a new key.
    fs::write(&key, b"").unwrap();
    known.write_file(dirs, &home, &Pending::default()).unwrap();
    assert_eq!(fs::read(&key).unwrap(), [1; KEY_BYTES]);
}

//! Values beside words about a way in, in lists of users, and what is learned of them.

use super::super::known::KEY_BYTES;
use super::*;

#[test]
fn a_password_that_its_place_tells_is_learned() {
    let learned = |text: &str| {
        let known = Known::new([7; KEY_BYTES]);
        Redactor::default().redact_and_learn(text, &known);
        let options = RedactOptions { known, ..RedactOptions::default() };
        Redactor { options, only_known: true }.redact("got Kq7vLm2xRt9Wz there").into_owned()
    };
    for text in [
        "Login: admin / Kq7vLm2xRt9Wz",
        "lftp -u backup,Kq7vLm2xRt9Wz files.example.org",
        "curl -u svc:Kq7vLm2xRt9Wz h",
        "Authorization: Basic c3ZjOktxN3ZMbTJ4UnQ5V3o=",
    ] {
        assert_eq!(learned(text), "got [redacted:known-secret] there", "{text}");
    }
}

//! Contexts of secrets: forms in which people, tools and files write a password, a key or a token.
//!
//! Each line of `fixtures/secrets/*.txt` is a form, based on the documentation of a format or on common usage. `«kind»`
//! represents a secret and `‹kind›` a harmless value; both are generated from a fixed seed. `«kind|code»` is encoded in
//! that code. `\n`, `\r`, `\t` and `\e` are line feed, carriage return, tab and escape.

use std::fmt::Write as _;

use crate::made::Values;
use crate::made::form::{Case, PLACES, forms, parts};
use memory_store::redact::known::{KEY_BYTES, Known};
use memory_store::redact::{RedactOptions, Redactor};

/// Number of sets of values for each form.
const SETS: u64 = 3;

/// Minimum percentage of the forms of each place in which every secret is redacted.
const HIDDEN_PERCENT_MIN: usize = 95;

/// Maximum percentage of harmless lines that are changed.
const CHANGED_PERCENT_MAX: usize = 2;

const HARMLESS: &str = include_str!("fixtures/secrets/harmless.txt");

/// Minimum number of forms in [`BESIDE_A_NAME`] in which the value is redacted.
const HIDDEN_MIN: usize = 53;

/// Styles of passwords: in groups as generators write them, with signs of any kind, and with letters that are not
/// ASCII.
const STYLES: [&str; 12] = [
    "mixed",
    "sign",
    "apple",
    "groups",
    "dotted",
    "slash",
    "brackets",
    "clauses",
    "accents",
    "underscores",
    "token",
    "uuid",
];

/// Short forms by people, documents and tools with a name next to its value. `@` represents the value.
const BESIDE_A_NAME: [&str; 56] = [
    // Documents and prompts.
    "**Password:** @",
    "**Password**: @",
    "Password: **@**",
    "*password:* @",
    "**API key:** @",
    "**Token:** @",
    "| Password | @ |",
    "Password:\n@",
    "Password:\n```\n@\n```",
    "Password — @",
    "Password → @",
    "PW: @",
    "pw=@",
    "Login: admin / @",
    "admin:@",
    "Password: @",
    "Password: `@`",
    "password \"@\"",
    "password `@`",
    "user: admin pass: @",
    "Password\t@",
    // Sentences.
    "DB_PASSWORD set to @",
    "set DB_PASSWORD to @",
    "DB_PASSWORD is now @",
    "changed the password from @ to @",
    "export DB_PASSWORD @",
    "password was @ before",
    "old password @, new one @",
    // Code.
    "setPassword('@')",
    "client.password('@')",
    "withPassword(\"@\")",
    "auth=(\"svc\",\"@\")",
    "login(\"svc\",\"@\")",
    "password=\"@\"",
    "password => '@'",
    "deploy --password \"@\"",
    // Data.
    "{\"key\":\"db_password\",\"value\":\"@\"}",
    "{\"Key\":\"db_password\",\"Value\":\"@\"}",
    "{\"Value\":\"@\",\"Name\":\"/shop/password\"}",
    "{\"ParameterValue\":\"@\",\"ParameterKey\":\"DbPassword\"}",
    "{\"ParameterKey\":\"DbPassword\",\"ParameterValue\":\"@\"}",
    "\"secret\":{\"value\":\"@\"}",
    "<key>password</key><string>@</string>",
    "<string name=\"db_password\">@</string>",
    "<td>Password</td><td>@</td>",
    "\"pass\":\"@\"",
    "{\"SecretString\":\"@\"}",
    "- name: DB_PASSWORD\n  value: @",
    "db.password.value=@",
    "<password>@</password>",
    "{\"name\":\"DB_PASSWORD\",\"value\":\"@\"}",
    "\"db_password\":{\"value\":\"@\",\"type\":\"string\"}",
    "ALTER USER svc WITH PASSWORD '@'",
    "CREATE USER svc IDENTIFIED BY '@'",
    "<th>Password</th><td>@</td>",
    "DB_PASSWORD: '@'",
];

/// Returns whether the redacted text contains neither a secret nor half of a secret.
fn is_hidden(case: &Case, redacted: &str) -> bool {
    let words: Vec<&str> = case.secrets.iter().map(|range| &case.text[range.clone()]).collect();
    if case.is_phrase() {
        return words.iter().filter(|word| redacted.contains(**word)).count() <= 2;
    }
    !words.iter().any(|secret| {
        redacted.contains(secret) || parts(secret).any(|part| redacted.contains(part))
    })
}

#[test]
fn secrets_are_hidden_in_the_contexts_in_which_they_are_given() {
    let redactor = Redactor::default();
    let (mut report, mut is_enough) = (String::new(), true);
    for (place, table, forms_min) in PLACES {
        let (mut all, mut hidden) = (0, 0);
        for (number, form) in forms(table).enumerate() {
            let cases = (0..SETS).map(|set| Case::new(form, (number as u64) << 8 | set));
            let left: Vec<String> = cases
                .filter_map(|case| {
                    let redacted = redactor.redact(&case.text);
                    (!is_hidden(&case, &redacted)).then(|| redacted.into_owned())
                })
                .collect();
            all += 1;
            hidden += usize::from(left.is_empty());
            if let Some(first) = left.first() {
                let _ = writeln!(
                    report,
                    "  {place}, {} of {SETS}: {form}\n      {first:?}",
                    left.len()
                );
            }
        }
        assert!(all >= forms_min, "{place}: {all} forms");
        let _ = writeln!(report, "{place}: {hidden} of {all} forms");
        is_enough &= hidden * 100 >= all * HIDDEN_PERCENT_MIN;
    }
    assert!(is_enough, "{report}");
    eprint!("{report}");
}

#[test]
fn what_stands_in_such_contexts_and_is_no_secret_stays() {
    let redactor = Redactor::default();
    let (mut report, mut all, mut changed) = (String::new(), 0, 0);
    for (number, form) in forms(HARMLESS).enumerate() {
        let case = Case::new(form, number as u64);
        let redacted = redactor.redact(&case.text);
        all += 1;
        if redacted != case.text {
            changed += 1;
            let _ = writeln!(report, "  {form}\n      {redacted:?}");
        }
    }
    assert!(all >= 250, "{all} lines");
    assert!(changed * 100 <= all * CHANGED_PERCENT_MAX, "{changed} of {all}:\n{report}");
    eprint!("{report}");
}

/// Tests each form with a random value, and with a word and digits as people choose them.
#[test]
fn the_value_beside_a_name_is_hidden() {
    let redactor = Redactor::default();
    let mut report = String::new();
    for kind in ["mixed", "word"] {
        let mut hidden = 0;
        for (number, form) in BESIDE_A_NAME.iter().enumerate() {
            let left = (0..SETS).find_map(|set| {
                let value = Values::new((number as u64) << 8 | set).of(kind);
                let text = form.replace('@', &value);
                let redacted = redactor.redact(&text);
                redacted.contains(&value).then(|| redacted.into_owned())
            });
            match left {
                None => hidden += 1,
                Some(left) => drop(writeln!(report, "  {kind}: {left:?}")),
            }
        }
        assert!(hidden >= HIDDEN_MIN, "{kind}: {hidden} of {}:\n{report}", BESIDE_A_NAME.len());
        let _ = writeln!(report, "{kind}: {hidden} of {}", BESIDE_A_NAME.len());
    }
    eprint!("{report}");
}

#[test]
fn a_placeholder_beside_a_name_stays() {
    let redactor = Redactor::default();
    for word in ["${DB_PASSWORD}", "{{ password }}", "********"] {
        for form in BESIDE_A_NAME {
            let text = form.replace('@', word);
            assert_eq!(redactor.redact(&text), text);
        }
    }
}

/// Tests plain forms with passwords of many styles, both generated and chosen by people.
#[test]
fn passwords_of_all_styles_are_hidden_in_plain_forms() {
    let redactor = Redactor::default();
    let (mut report, mut all, mut hidden) = (String::new(), 0, 0);
    for (number, form) in forms(include_str!("fixtures/secrets/styles.txt")).enumerate() {
        for (at, style) in STYLES.into_iter().enumerate() {
            let value = Values::new((number as u64) << 8 | at as u64).of(style);
            let redacted = redactor.redact(&form.replace('@', &value)).into_owned();
            all += 1;
            // No part of four bytes may remain.
            let is_left = value
                .as_bytes()
                .windows(4)
                .any(|part| memchr::memmem::find(redacted.as_bytes(), part).is_some());
            hidden += usize::from(!is_left);
            if is_left {
                let _ = writeln!(report, "  {style}: {value}: {redacted:?}");
            }
        }
    }
    assert!(hidden * 100 >= all * HIDDEN_PERCENT_MIN, "{hidden} of {all}:\n{report}");
    eprint!("{hidden} of {all}\n{report}");
}

/// Passwords that were recognised before are redacted where they occur without a name.
#[test]
fn passwords_of_all_styles_are_hidden_once_they_are_known() {
    let (mut report, mut all, mut hidden) = (String::new(), 0, 0);
    for (at, style) in STYLES.into_iter().enumerate() {
        for set in 0..SETS {
            let value = Values::new((at as u64) << 8 | set).of(style);
            let known = Known::new([7; KEY_BYTES]);
            let told = format!("DB_PASSWORD={value}");
            for value in Redactor::default().redact_and_recognise(&told).1 {
                known.learn(&value);
            }
            let redactor = Redactor::new(&RedactOptions { known, ..RedactOptions::default() });
            for form in ["it works with @ now", "say `@`, please", "(@)", "a\n@\nb"] {
                let text = form.replace('@', &value);
                all += 1;
                let is_hidden = !redactor.redact(&text).contains(&value);
                hidden += usize::from(is_hidden);
                if !is_hidden {
                    let _ = writeln!(report, "  {style}: {text:?}");
                }
            }
        }
    }
    assert!(hidden * 100 >= all * HIDDEN_PERCENT_MIN, "{hidden} of {all}:\n{report}");
    eprint!("{hidden} of {all}\n{report}");
}

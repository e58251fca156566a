//! Values near words about access, in lists of users, and the known secrets learned from them.

use super::super::known::KEY_BYTES;
use super::*;
use crate::known::Known;

#[test]
fn a_value_drawn_at_random_is_hidden_beside_a_word_about_a_way_in() {
    for value in ["Kq7vLm2xRt9Wz", "m41PB2qs353f2", "rmDz7AvhjC24q"] {
        for form in [
            "The staging box lets you in with deploy and then @ when it asks.",
            "To get in, use ops and @.",
            "I usually log on to the box with @",
            "sudo on that machine takes @.",
            "The admin panel wants ops first and @ second.",
            "The zip is protected, unlock it with @.",
            "The archive is encrypted with @",
            "@ unlocks the safe",
            "The volume is LUKS-encrypted; @ opens it.",
            "Le zip est protégé, ouvre-le avec @.",
            "Das Archiv ist verschlüsselt, entpack es mit @.",
            "auth:\n  users:\n    - [ops, @]\n    - [qa, other]\n",
            "users = [(\"ops\", \"@\")]",
            "[auth.users]\nops = \"@\"\n",
            "curl -XPOST h/login -d '{\"login\":\"svc\",\"pin_code\":\"@\"}'",
            "const client = new Client('svc', '@', 'db.example.org'); // user, password, host",
            "2026-10-02 auth: user=svc cred=@ ok",
            "DEBUG Credentials{user=svc, cred=@}",
            "- [x] Created user `svc` (`@`) on staging\n- [ ] rotate it",
            "Seeded admin account (admin@example.org / @)",
            "door code: @",
            "غيّر كلمة السر إلى @ من فضلك",
            "رمز عبور را به @ تغییر بده",
            "שנה את הסיסמה ל-@ בבקשה",
            "άλλαξε τον κωδικό σε @",
            "promijeni lozinku u @",
        ] {
            let text = form.replace('@', value).replace(&format!("admin{value}"), "admin@");
            assert!(!redact(&text).contains(value), "{text}");
        }
    }
}

#[test]
fn a_password_that_a_person_chose_is_hidden_where_a_sentence_gives_it() {
    for form in ["unlock it with @", "The box lets you in with ops and @.", "user `svc` (`@`)"] {
        let text = form.replace('@', "Granitebadger3311");
        assert!(!redact(&text).contains("Granitebadger3311"), "{text}");
    }
}

#[test]
fn names_ids_and_addresses_beside_such_words_stay() {
    for text in [
        "the user `SaslScram256Auth` and `ApikeysV2alpha1` are clients",
        "impl Client for Web3Signer and MDLMatrix4x4Array",
        "login from user_id=Kq7vLm2xRt9Wz, traceId: \"Kq7vLm2xRt9Wz\"",
        "the user is cus_Nff8dGh2kLQ9x and the account acct_1M2n3B4v5C",
        "log in at https://example.org/?v=Kq7vLm2xRt9Wz",
        "commit Kq7vLm2xRt9Wz asks for a login",
        "unlock it with kubernetes1234 and connect with localhost8080",
        "createdAt:2026-03-27T11:06:46Z by the user",
        "Author: JamBalaya56562, user since 2019",
        "client.decode('Kq7vLm2xRt9Wz/aB3dE5fG7hJ9kL+mN1pQ3==')",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn the_passwords_of_lines_are_hidden_whose_fields_a_heading_names() {
    let value = "Kq7vLm2xRt9Wz";
    for form in [
        "# user:plain password\nharry:@\n",
        "# format: username:password\nsally:Wz4tNb8yPe\nharry:@\n",
        "# login password\nharry @\n",
        "; user = password\nharry = @\n",
        "#user:group:password\nharry:staff:@\n",
        "# host user password\ndb1 harry @\n",
        "# utilisateur:mot de passe\nharry:@\n",
        "user:password\nharry:@\n",
        "harry:{PLAIN}@:1000:1000::/home/harry::\n",
    ] {
        let text = form.replace('@', value);
        let clean = redact(&text);
        assert!(!clean.contains(value) && clean.contains("harry"), "{text}");
    }
    for text in [
        "# the user: a password is asked for\nfor: all2 of them\n",
        "// user: the token\nlet id: u128x = 1;\n",
        "# name key\nport 8080\n",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn the_passwords_of_tables_are_hidden_that_have_lines_instead_of_signs() {
    for form in [
        "id  login  password\n--  -----  ----------------\n1   tess   @\n2   harry  @\n",
        "Login Password        Role\n----- --------        ----\ntess  @   admin\n",
        "=====  ================\nUser   Password\n=====  ================\ntess   @\n=====  ================\n",
        "┌───────┬──────────┐\n│ login │ password │\n├───────┼──────────┤\n│ tess  │ @ │\n└───────┴──────────┘",
    ] {
        for value in ["Lantern2047!", "copper-thistle-walnut-gravel"] {
            let clean = redact(&form.replace('@', value));
            assert!(!clean.contains(value) && clean.contains("tess"), "{clean}");
        }
    }
    for text in [
        "name   password\n----   --------\nlogin  required\n",
        "Token  Kind\n-----  ----\n",
        "│ password │\n│",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn a_password_revealed_by_its_place_is_learned() {
    let learned = |text: &str| {
        let known = Known::new([7; KEY_BYTES]);
        for value in Redactor::default().redact_and_recognise(text).1 {
            known.learn(&value);
        }
        let options = RedactOptions { known, ..RedactOptions::default() };
        Redactor { options, only_known: true }.redact("got Kq7vLm2xRt9Wz there").into_owned()
    };
    for text in [
        "Login: admin / Kq7vLm2xRt9Wz",
        "lftp -u backup,Kq7vLm2xRt9Wz files.example.org",
        "curl -u svc:Kq7vLm2xRt9Wz h",
        "unlock it with Kq7vLm2xRt9Wz",
        "Authorization: Basic c3ZjOktxN3ZMbTJ4UnQ5V3o=",
        // The values are in base 64 or percent-encoded.
        "kind: Secret\ndata:\n  password: S3E3dkxtMnhSdDlXeg==\n",
        "postgres://app:Kq7vLm%32xRt9Wz@db/shop",
    ] {
        assert_eq!(learned(text), "got [redacted:known-secret] there", "{text}");
    }
}

#[test]
fn values_with_spaces_quotes_and_a_sign_of_variables_are_hidden_whole() {
    for (text, secret) in [
        ("The admin password is `Kq7vLm 2xRt9Wz`.", "2xRt9Wz"),
        ("DB_PASSWORD=q8)Zr{w'2Lx]T0v\n", "2Lx"),
        ("password: Kq7v'Lm2xRt9Wz", "m2xR"),
        ("password: xqzkvpwrtm", "xqzk"),
        ("the admin password is kP4/vT9xL+mQ2z==", "vT9x"),
        ("DB_PASSWORD=$kP4vT9xLmQ2z", "vT9x"),
    ] {
        assert!(!redact(text).contains(secret), "{text}: {}", redact(text));
    }
    for text in ["password: \"abc def\"", "DB_PASSWORD=$dbPassword2", "the password is `see below`"]
    {
        assert_eq!(redact(text), text);
    }
}

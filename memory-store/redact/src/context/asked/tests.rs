//! Questions and answers, and values that only these identify.

use super::*;

fn left(question: &str, answer: &str, given: Given) -> String {
    Redactor::default().redact_answer(question, answer, given).text.into_owned()
}

#[test]
fn the_question_determines_the_secret_in_the_answer() {
    for (question, answer, clean) in [
        ("What is the database password?", "swordfish", "*"),
        ("Wie lautet das Passwort der Datenbank?", "Kobaltreiher", "*"),
        ("データベースのパスワードは?", "kobaltreiher", "*"),
        ("Which PIN does the card have?", "4711", "*"),
        ("API key for the mailer?", "\"mailgrove-77-xu\"", "\"*\""),
        ("What's the admin password?", "It's Cobaltheron6629, I think.", "It's *, I think."),
        ("What is the passphrase?", "orbit candle mango thirteen", "*"),
        ("Enter the token\n- None: skip", "vR4kTw81Lmqz", "*"),
        ("How is the token sent?", "as vR4kTw81Lmqz in a header", "as * in a header"),
    ] {
        let clean = clean.replace('*', "[redacted:answer]");
        assert_eq!(left(question, answer, Given::Freely), clean);
    }
}

#[test]
fn a_prompt_that_corrects_another_is_distinguished_from_others() {
    for prompt in [
        "sorry, I meant Kq7vLm2xRt9Wz",
        "No wait, that was the old one",
        "ich meinte natürlich Kq7vLm2xRt9Wz",
        "更正：Kq7vLm2xRt9Wz",
    ] {
        assert!(corrects(prompt), "{prompt}");
    }
    for prompt in ["release it as v2-beta4 then", "thanks, go on", "ja, weiter so"] {
        assert!(!corrects(prompt), "{prompt}");
    }
}

#[test]
fn an_answer_about_secrets_and_one_that_was_offered_stay() {
    for (question, answer) in [
        ("Which hash should passwords have?", "Argon2id"),
        ("Where should tokens be stored?", "keyring"),
        ("What is the primary key of the table?", "order_id"),
        ("What is the password?", "I don't have it, ask Tess"),
        ("Which token?", "none"),
        ("What should the importer be called?", "vole-7"),
        ("What is the format of the API key?", "xchacha20poly1305"),
        ("Should I commit the token change?", "sounds good"),
        ("Do you want me to reset the password?", "absolutely"),
    ] {
        assert_eq!(left(question, answer, Given::Freely), answer);
    }
    let offered = |answer| left("Which password should it be?", answer, Given::Offered);
    assert_eq!(offered("Generated"), "Generated");
    assert_eq!(offered("vR4kTw81Lmqz"), "[redacted:answer]");
}

#[test]
fn the_next_prompt_is_an_answer_where_nobody_would_say_so() {
    let prompt = |answer| left("What is the password of the test server", answer, Given::InWords);
    for answer in ["swordfish7", "quillthornbasket", "4711", "vR4kTw81Lmqz"] {
        assert_eq!(prompt(answer), "[redacted:answer]");
    }
    for answer in ["later", "rotate", "both", "ask Tess", "see the wiki, it is there"] {
        assert_eq!(prompt(answer), answer);
    }
}

#[test]
fn a_request_need_not_be_a_question_nor_the_last_sentence() {
    for text in [
        "The backup is encrypted. I don't have the passphrase of the archive. Could you look it up?",
        "I need the root password before I can go on.",
        "Please paste the registry token here so I can push the image.",
        "The mailer is done. The bot is still missing its token, by the way.",
        "Ich brauche das Kennwort für den Testserver.",
        "Il me faut le mot de passe de la base.",
        "Necesito la contraseña del servidor de pruebas.",
        "データベースのパスワードを教えてください。",
        "请提供数据库的密码。",
        "请把token发给我。",
        "Two things: 1. the region, 2. the access key. Please send both.",
    ] {
        let asked = request(text).unwrap_or_else(|| panic!("{text}"));
        for answer in [
            "Sure. kP4vT9-x8mQ2zL. Keep it to yourself.",
            "1. eu-central-1\n2. kP4vT9-x8mQ2zL",
            "svc / kP4vT9-x8mQ2zL",
            "kP4vT9-x8mQ2zL",
        ] {
            let clean = answer.replace("kP4vT9-x8mQ2zL", "[redacted:answer]");
            assert_eq!(left(asked, answer, Given::InWords), clean, "{text}");
        }
    }
    for text in [
        "I added the token to the header and the tests pass.",
        "The password field is validated now. Shall I go on?",
        "Which hash should passwords have? I would take Argon2id.",
        "Done. The cache key needs no change.",
    ] {
        let asked = request(text).unwrap_or_default();
        let answer = "yes, see src/login/v2.rs and then release 2.4.1-rc1";
        assert_eq!(left(asked, answer, Given::InWords), answer, "{text}");
    }
    let asked = "SMTP: How should the mailer log in?";
    assert_eq!(left(asked, "svc / hujfyb-9kynqe-byrBax", Given::Freely), "svc / [redacted:answer]");
    assert_eq!(
        left(asked, "with the account of the CI", Given::Freely),
        "with the account of the CI"
    );
}

#[test]
fn a_question_about_a_way_in_may_be_answered_by_a_secret() {
    for question in [
        "Database access?",
        "Postgres",
        "How do I get into the router?",
        "Comment accéder à la base ?",
        "サーバーへのアクセス方法は？",
        "What goes into .env?",
        "Value for the missing variable?",
    ] {
        for answer in ["Kq7vLm2xRt9Wz", "svc / Kq7vLm2xRt9Wz"] {
            let clean = answer.replace("Kq7vLm2xRt9Wz", "[redacted:answer]");
            assert_eq!(left(question, answer, Given::Freely), clean, "{question}");
        }
    }
    for text in ["The archive is encrypted. How do I open it?", "Access denied. What now?"] {
        let asked = request(text).unwrap_or_else(|| panic!("{text}"));
        let clean = left(asked, "try Kq7vLm2xRt9Wz", Given::InWords);
        assert_eq!(clean, "try [redacted:answer]", "{text}");
    }
    for (question, answer) in [
        ("Which id does the video have?", "Kq7vLm2xRt9Wz"),
        ("Which version?", "v2.4.1-rc1"),
        ("What should the class be called?", "SaslScram256Auth"),
    ] {
        assert_eq!(left(question, answer, Given::Freely), answer);
    }
}

#[test]
fn a_hidden_value_is_reported_and_recognised() {
    let redactor = Redactor::default();
    let question = "What is the database password?";
    let answer = redactor.redact_answer(question, "quillthornbasket", Given::Freely);
    assert_eq!(answer.hidden, vec!["quillthornbasket"]);
    assert_eq!(answer.recognised, vec!["quillthornbasket".to_owned()]);
    let answer = redactor.redact_answer(question, "dev", Given::Freely);
    assert_eq!((answer.hidden, answer.recognised), (vec!["dev"], Vec::new()));
}

#[test]
fn a_list_of_secrets_and_a_question_in_turkish_ask_for_them() {
    let list = "Two things are missing:\n1. the password of the shop\n2. the password of the mail";
    assert!(request(list).is_some_and(|asked| asked.contains("missing")), "{:?}", request(list));
    let asked = request("ada kullanıcısının parolası nedir?");
    assert!(asked.is_some_and(|asked| asked.contains("parolası")), "{asked:?}");
}

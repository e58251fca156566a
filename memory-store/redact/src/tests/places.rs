//! Secrets that their place identifies: tables, templates, sentences and lists.

use super::*;

#[test]
fn the_passwords_of_numbered_rows_and_of_cells_with_lines_of_their_own_are_hidden() {
    for text in [
        "  user    password  admin\n0  tess  Kettle$4471   True\n1   joe  Wq7Lp2xZ9k  False\n",
        "|===\n|User |Password\n\n|tess\n|Kettle$4471\n\n|joe\n|Wq7Lp2xZ9k\n|===\n",
    ] {
        let hidden = redact(text);
        assert!(!hidden.contains("Kettle") && !hidden.contains("Wq7"), "{hidden}");
        assert!(hidden.contains("tess") && hidden.contains("joe"), "{hidden}");
    }
    for text in [
        "  user    password  admin\n0  tess  missing   True\n",
        "  the password rules\n0 means that none is asked\n",
        "|===\n|User |Password\n\n|tess\n|see the vault\n|===\n",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn each_row_of_a_statement_that_inserts_is_hidden() {
    let text = "INSERT INTO staff (id, name, passwd) VALUES\n (1, 'tess', 'Kettle4471x'),\n (2, 'joe', 'Wq7Lp2xZ9k');";
    let hidden = redact(text);
    assert!(!hidden.contains("Kettle4471x") && !hidden.contains("Wq7Lp2xZ9k"), "{hidden}");
}

#[test]
fn a_value_before_its_name_and_behind_words_is_hidden() {
    let password = "kettleLamp4471!";
    for (before, after) in [
        ("for the tunnel it is ", " (that's the password, the user is tess)"),
        ("", " (this is the root password)"),
        ("does ", " still work as password for the printer?"),
        ("tess kullanıcısı ve ", " şifresiyle giriş yap"),
        ("contraseña-web: ", ""),
        ("PassWord: ", ""),
    ] {
        let hidden = redact(&format!("{before}{password}{after}"));
        assert!(!hidden.contains("kettleLamp"), "{hidden}");
        assert!(hidden.ends_with(after), "{hidden}");
    }
    let drawn = "x#T4_qwLz?9";
    assert!(!redact(&format!("пароль от ftp {drawn}")).contains(drawn));
    let both = redact("The cache password was Kettle#4471, now it is LampComet8812?");
    assert!(!both.contains("Kettle") && !both.contains("LampComet"), "{both}");
    for text in [
        "the page (that's the password form) is new",
        "cookies still work as password reset links do",
        "yeni kullanıcı şifresiyle giriş yapar",
        "contraseña-web: obligatoria",
        "пароль от сервера хранится в x86_64-unknown-linux-gnu",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn a_password_of_a_person_is_hidden_where_only_its_place_reveals_it() {
    for (before, after) in [
        ("<match app>\n  user tess\n  password ", "\n</match>\n"),
        ("/shop/cache/password\n", "\n/shop/cache/port\n"),
        ("- textbox \"Password\" [ref=e7]: ", "\n"),
        ("npmAuthIdent: \"tess:", "\""),
    ] {
        let hidden = redact(&format!("{before}Kettle447.{after}"));
        assert_eq!(hidden, format!("{before}[redacted:login]{after}"));
    }
    for text in [
        "user tess\npassword required\n",
        "/shop/cache/password\n/shop/cache/port\n",
        "- textbox \"Password\" [ref=e7]: required",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn numbers_and_keys_of_documentation_and_calls_in_templates_stay() {
    for text in [
        "pay with 4242 4242 4242 4242 or 4242424242424242 in tests",
        "the IBAN DE89 3704 0044 0532 0130 00 is that of the registry",
        "site key 6LeIxAcTAAAAAJcZVRqyHh71UMIEGNQ_MXjiZKhI",
        "f\"postgresql://{user}:{quote(password)}@{host}/{name}\"",
        "f\"mysql://{user}:{urllib.parse.quote_plus(pw)}@{host}/{name}\"",
    ] {
        assert_eq!(redact(text), text);
    }
    assert!(!redact("card 4000 0566 5566 5556").contains("5566"));
    assert!(redact("postgresql://tess:{Kq9(x)Lm2}@db/shop").contains("[redacted:"));
}

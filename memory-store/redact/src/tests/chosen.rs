//! Passwords that people chose and random words, which only a name or the place identifies as secrets.

use super::*;

/// Asserts that the whole value is hidden in each form; `@` represents the value.
fn hides(forms: &[&str], values: &[&str]) {
    let mut left = Vec::new();
    for form in forms {
        for value in values {
            let clean = redact(&form.replace('@', value));
            let sign = value.chars().last().filter(|sign| !sign.is_alphanumeric());
            let has_end = sign.is_some_and(|sign| clean.contains(&format!("]{sign}")));
            if clean.contains(value) || has_end {
                left.push(clean);
            }
        }
    }
    assert_eq!(left, Vec::<String>::new());
}

const PHRASE: &str = "copper-thistle-walnut-gravel-27";
const WORDS: [&str; 3] = [PHRASE, "Saddle-Lantern2047!", "violetHarbor91*"];

#[test]
fn a_default_behind_the_name_of_a_password_is_hidden() {
    let forms = [
        "$p = getenv(\"SHOP_PASSWORD\") ?: \"@\";",
        "let p = env.SHOP_PASSWORD ?? '@'",
        "p = os.environ.get('SHOP_PASSWORD') or '@'",
        "my $p = $ENV{SHOP_PASSWORD} // '@';",
        "SHOP_PASSWORD = config('SHOP_PASSWORD', default='@')",
        "shop_password: str = Field(default=\"@\", repr=False)",
        "Configuration[\"Shop:Password\"] ?? \"@\"",
        "env::var(\"SHOP_PASSWORD\").unwrap_or_else(|_| \"@\".into())",
        "getByRole('textbox', { name: 'Password' }).fill('@')",
        "if (strcmp(password, \"@\") == 0) return 1;",
        "#[arg(long, default_value = \"@\")]\n    password: String,",
        "ShopPassword:\n    Type: String\n    Default: \"@\"",
        "<Password>\n  <Value>@</Value>",
    ];
    hides(&forms, &WORDS);
    for text in [
        "password = password.encode(\"latin1\")",
        "token = request.headers.get(\"x-token-2\")",
        "* `git-for-each-ref` learned a new \"upstream\" token.",
        "'user' => 'svn_auth_get_parameter',",
        "{ \"rsa (openssl)\", bench_openssl_rsa_init, bench_openssl_rsa_sign }",
        "P.Minipass=P.isWritable=void 0",
        "the password is described in \"Section12.\" of the guide",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn a_value_that_a_sentence_gives_is_hidden_with_its_sign() {
    let forms = [
        "user tess pass @",
        "The admin pw got reset, it's @ now",
        "the password should be @ from now on",
        "put @ in as the admin password",
        "try @ instead of the old password",
        "the vault password (it's @) is in my notes",
        "cambia la password di maria in @",
        "nimm als Passwort @",
        "la clé API est @",
        "Das Kennwort: @",
    ];
    hides(&forms, &[PHRASE, "Saddle-Lantern2047!", "violetHarbor91#"]);
    assert_eq!(redact("password: **Kq7vLm2xRt9**"), "password: **[redacted:assignment]**");
}

#[test]
fn keys_are_known_by_their_names_in_other_languages() {
    let forms = [
        "a chave da API é @",
        "chiave API: @",
        "klucz API to @",
        "API 키는 @ 입니다",
        "액세스 토큰: @",
        "токен: @",
        "APIキーは@です",
        "erişim anahtarı: @",
    ];
    hides(&forms, &["Kq7vLm2xRt9WzB4"]);
    assert_eq!(redact("暗証番号は739251です"), "暗証番号は[redacted:assignment]です");
}

#[test]
fn words_drawn_by_lot_are_hidden_beside_a_word_about_a_way_in() {
    let forms = [
        "user=tess:@\nrealm=turn.example.org",
        "curl_easy_setopt(curl, CURLOPT_USERPWD, \"tess:@\");",
        "melde dich als admin mit @ an",
        "new Client('shop', 'app', '@')",
    ];
    hides(&forms, &[PHRASE]);
}

#[test]
fn a_key_in_the_bytes_of_a_list_is_hidden() {
    let bytes = "86, 203, 250, 206, 114, 0, 54, 181, 212, 124, 108, 191, 201, 174, 41, 24";
    for form in ["network_key: [@]", "byte[] AES_KEY = new byte[] { @ };", "\"secretKey\": [@]"] {
        let clean = redact(&form.replace('@', bytes));
        assert!(!clean.contains("203") && !clean.contains("24"), "{clean}");
    }
    for text in [
        "key: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]",
        "key_sizes = [16, 24, 32, 48, 16, 24, 32, 48, 16, 24, 32, 48, 16, 24, 32, 48]",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn notes_templates_and_labels_in_the_place_of_a_secret_stay() {
    for text in [
        "\"password\": \"[FILTERED]\", \"token\": \"[MASKED]\"",
        "\"adminPassword\": \"[parameters('adminPassword')]\"",
        "  password: {{ .Values.auth.password | b64enc | quote }}",
        "\"password\": \"パスワードを入力してください\"",
        "Cache restored from key: Linux-cargo-9290d24114435505d46a25b525e9a4d30d720b7633494e42677f450b8f7ce46d",
    ] {
        assert_eq!(redact(text), text);
    }
}

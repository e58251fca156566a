//! Tests of redaction. The values are made up, and are assembled at run time so that scanners do not report this file
//! as a leak.

use proptest::prelude::*;

use std::borrow::Cow;

use super::*;
use crate::context::{asked, rule};
use crate::engine::ENGINE;
use crate::finding::*;

mod chosen;
mod cookies;
mod corpus;
mod passwords;
mod places;
mod ways_in;

const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const HEX: &str = "0123456789abcdef";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Returns a reproducible text of `length` characters that looks random.
fn random(alphabet: &str, length: usize, seed: u64) -> String {
    let alphabet = alphabet.as_bytes();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(alphabet[(state >> 32) as usize % alphabet.len()])
        })
        .collect()
}

/// Returns the examples in the tables of rules: a rule's name, and a text with its secret between « and ».
fn examples() -> Vec<(String, String)> {
    let rules = rule::built_in();
    // The table has dots in the examples, so that scanners do not report it as a leak.
    rules.map(|rule| (rule.name.clone(), rule.example.replace('·', ""))).collect()
}

/// Returns the made-up secrets of the rules that need no context.
fn tokens() -> Vec<String> {
    let whole = |example: &str| {
        Some(example.strip_prefix('«')?.strip_suffix('»')?.to_owned())
            .filter(|token| !token.contains(['"', ' ', ';', '?', '\n']))
    };
    examples().iter().filter_map(|(_, example)| whole(example)).collect()
}

fn redact(text: &str) -> String {
    Redactor::default().redact(text).into_owned()
}

#[test]
fn the_table_of_rules_is_sound() {
    let rules = rule::built_in();
    for rule in rules {
        rule.compile().unwrap_or_else(|error| panic!("{}: {error}", rule.name));
        assert!(rule.keywords.iter().all(|word| word.len() >= 2), "{}: short keyword", rule.name);
        assert!(rule.source.starts_with("https://"), "{}: no source", rule.name);
        let name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        assert!(
            rule.name.bytes().all(name),
            "{}: a placeholder could not be recognised",
            rule.name
        );
    }
}

#[test]
fn each_placeholder_can_be_recognised() {
    use memory_store_base::text::placeholder::name_len;
    let mut names: Vec<&str> = ENGINE.rules.iter().map(|rule| rule.name.as_str()).collect();
    names.extend(Class::ALL.iter().map(|class| class.name()));
    names.extend([
        asked::ANSWER,
        DENIED,
        KNOWN,
        SUSPECT,
        NAME,
        LOGIN,
        ACCOUNT,
        PRIVATE_KEY,
        ENCODED_KEY,
        PRIVATE_TEXT,
        ASSIGNMENT,
        COOKIE,
        ENCODED,
    ]);
    for name in names {
        let rest = format!(":{name}] ");
        assert_eq!(name_len("[", "redacted", &rest), Some(1 + name.len()), "{name}");
    }
}

#[test]
fn each_rule_finds_its_example_and_only_the_secret() {
    let examples = examples();
    for (name, example) in &examples {
        let (before, rest) = example.split_once('«').unwrap_or_else(|| panic!("{name}: no secret"));
        let (secret, after) = rest.split_once('»').unwrap_or_else(|| panic!("{name}: no end"));
        assert_eq!(
            redact(&format!("{before}{secret}{after}")),
            format!("{before}[redacted:{name}]{after}")
        );
    }
    let mut names: Vec<&String> = examples.iter().map(|(name, _)| name).collect();
    names.dedup();
    assert!(names.len() >= 150, "{} formats", names.len());
}

#[test]
fn every_provider_s_token_is_hidden_wherever_it_stands() {
    let tokens = tokens();
    assert!(tokens.len() >= 120, "{}", tokens.len());
    let mut wrong = Vec::new();
    for token in tokens {
        for (before, after) in [
            ("", ""),
            ("the key is ", ", keep it"),
            ("\"value\": \"", "\"}"),
            ("https://example.org/?x=", "&y=1"),
            ("line\\n", "\\n"),
            ("(", ")."),
        ] {
            let hidden = redact(&format!("{before}{token}{after}"));
            let is_whole = hidden.starts_with(before) && hidden.ends_with(after);
            if hidden.contains(&token) || !is_whole {
                wrong.push(hidden);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn assignments_of_secrets_are_hidden() {
    let key = random(ALNUM, 24, 9);
    let hex = random(HEX, 32, 9);
    let word = format!("{}2", "hunter");
    for (before, secret, after) in [
        ("DB_PASSWORD=", word.as_str(), "\n"),
        ("export GH_TOKEN=", &key, "\n"),
        ("A=1\nSECRET_KEY_BASE=", "p#q;r,s&t", "\nB=2"),
        ("password: \"", &word, "\""),
        ("  password: ", &word, "\n"),
        ("{\"apiKey\":\"", &key, "\"}"),
        ("{\\\"client_secret\\\": \\\"", &key, "\\\"}"),
        ("let password: &str = \"", &word, "\";"),
        ("const accessToken = '", &key, "'"),
        ("api_key = '", &hex, "'"),
        ("os.environ[\"API_KEY\"] = \"", &key, "\""),
        ("GET /v1?access_token=", &key, "&page=2"),
        ("x;User Id=1;Password=", "Tr0ub4dor", ";Encrypt=yes"),
        ("mysql --password=", &word, " shop"),
        ("tool --token ", &key, " run"),
        ("X_Api_Key: ", &key, "\r\n"),
        ("//registry.example.org/:_authToken=", &hex, "\n"),
        ("if password == \"", &word, "\" {"),
        ("PGPASSWORD=", "swordfish", " psql"),
        ("secret: '", &key, "'"),
        ("docker run -e POSTGRES_PASSWORD=", &word, " postgres"),
        ("var apiToken string = \"", &key, "\""),
        ("SHOP_TOKEN ::= \"", &key, "\""),
        ("$shopToken .= '", &key, "';"),
        ("setProperty(\"SHOP_TOKEN\", \"", &key, "\")"),
        ("<shopToken>\n    ", &key, "\n</shopToken>"),
        ("the password is \"", &word, "\"."),
        ("private String mySecretString = \"", &key, "\";"),
    ] {
        assert_eq!(
            redact(&format!("{before}{secret}{after}")),
            format!("{before}[redacted:assignment]{after}")
        );
    }
}

#[test]
fn credentials_in_urls_and_headers_are_hidden() {
    let key = random(ALNUM, 30, 5);
    for (before, secret, after, rule) in [
        ("db = ", "postgres://shop:s3cr3t@db.internal:5432/shop", "", "connection-string"),
        ("", "mongodb+srv://admin:p@ss%21@cluster0.mongodb.net/?w=1", "\n", "connection-string"),
        ("'", "redis://:hunter22@cache:6379/0", "'", "connection-string"),
        ("see ", "ftp://tess:hunter22@files.example.org/0", ".", "url-password"),
        ("pip install --index-url https://", &key, "@host.example.org/simple", "url-token"),
        ("Authorization: Bearer ", &key, "", "authorization"),
        ("-H 'authorization: token ", &key, "'", "authorization"),
        ("\"Authorization\": \"Basic ", "dXNlcjpodW50ZXIy", "\"", "authorization"),
        ("authorization: ", &key, "", "authorization"),
        ("use bearer ", "abc123def456ghi789", " here", "bearer-token"),
        ("curl -u ", "alice:hunter2", " https://x.example.org", "login"),
        ("curl --user ", "alice:'hunter2", "' https://x.example.org", "login"),
        ("sshpass -p ", "hunter2", " ssh host", "login"),
        (
            "post to ",
            "https://hooks.slack.com/services/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",
            "",
            "slack-webhook",
        ),
    ] {
        assert_eq!(
            redact(&format!("{before}{secret}{after}")),
            format!("{before}[redacted:{rule}]{after}")
        );
    }
}

#[test]
fn secrets_in_several_pieces_are_hidden_whole() {
    let key = format!("gh{}{}", "p_", random(ALNUM, 36, 4));
    let (left, right) = key.split_at(19);
    let long = random(ALNUM, 120, 8);
    let lines = |width: usize, between: &str| {
        let pieces: Vec<&str> =
            long.as_bytes().chunks(width).map(|piece| str::from_utf8(piece).unwrap()).collect();
        pieces.join(between)
    };
    for text in [
        format!("export A={left}\\\n{right}\nls"),
        format!("curl -H 'X: {left}\\\n    {right}' host"),
        format!("const k = \"{left}\" +\n    \"{right}\";"),
        format!("const k = '{left}'\n    + '{right}';"),
        format!("k = (\"{left}\"\n     \"{right}\")"),
        format!("$k = '{left}' . '{right}';"),
        format!("token: >-\n  {left}\n  {right}\nnext: 1"),
        format!("password: |\n  {left}\nnext: 1"),
        format!("SIGNING_KEY={}\nNEXT=1", lines(60, "\n")),
        format!("secret_key: \"{}\"\n", lines(64, "\\\n    ")),
        format!("use **{}**{}", &key[..3], &key[3..]),
        format!("use {left}\u{200b}{right}"),
        format!("use {}%5F{}", &key[..3], &key[4..]),
        format!("{left}\n{right}\n"),
        format!("> {left}\n> {right}\n"),
        format!("login --token {} \\\n  --password \\\n  hunter22x", &long[..40]),
    ] {
        let hidden = redact(&text);
        let is_left = |part: &str| hidden.contains(part);
        assert!(
            ![left, right, "hunter22x"].into_iter().any(is_left)
                && !long.as_bytes().windows(16).any(|part| is_left(str::from_utf8(part).unwrap())),
            "{text}\n{hidden}"
        );
    }
}

#[test]
fn secrets_in_prose_and_on_command_lines_are_hidden() {
    let (short, signs) = ("Kq9vLm2xRt7w", "Kq9&vLm2xR!z");
    for (before, secret, after) in [
        ("db_password: ", signs, "\n"),
        ("password = ", "Kq9&vLm2xR!", "\n"),
        ("password: ", "Kq9vLm2xR", "\n"),
        ("my password is ", short, ""),
        ("Also my db password is ", "hunter2hunter2", "."),
        ("the password for staging is `", short, "`"),
        ("user deploy and password ", "hunter2Zq9!xK", ""),
        ("das Passwort lautet ", short, "."),
        ("PASSWORD ", short, "\n"),
        ("passphrase is ", short, ""),
        ("api key: ", "Kq9vLm2xRt7wPz83hQ", "\n"),
        ("API key ", "Kq9vLm2xRt7wPz83hQ", " works"),
        ("mysql -u root -p", short, " shop"),
        ("docker login -u bob -p ", short, ""),
        ("redis-cli -h cache -a ", short, " ping"),
        ("echo ", short, " | sudo -S apt update"),
        ("The **password** is `", short, "`."),
        ("the `password` is ", short, ""),
        ("echo '", signs, "' | docker login -u bob --password-stdin"),
        ("CREATE USER 'shop'@'%' IDENTIFIED BY '", signs, "';"),
        ("gh secret set DEPLOY_KEY -b '", short, "'"),
        ("set -gx GITHUB_TOKEN ", short, "\n"),
        ("      - name: DB_PASSWORD\n        value: \"", short, "\"\n"),
        ("- name: API_TOKEN\\n  value: ", short, "\\n"),
        ("variable \"db_password\" {\n  type    = string\n  default = \"", short, "\"\n}"),
    ] {
        let hidden = redact(&format!("{before}{secret}{after}"));
        assert!(
            !hidden.contains(secret) && hidden.ends_with(after) && hidden.contains("[redacted:"),
            "{before}{secret}{after}: {hidden}"
        );
    }
    for text in [
        "the password is hashed with argon2id",
        "the `password` is hashed with argon2id",
        "echo \"$TOKEN\" | docker login -u bob --password-stdin",
        "CREATE USER shop IDENTIFIED BY '<password>'",
        "gh secret set DEPLOY_KEY --body \"$DEPLOY_KEY\"",
        "set -gx GITHUB_TOKEN (gh auth token)",
        "set -gx GITHUB_TOKEN $OTHER_TOKEN",
        "- name: LOG_FORMAT\n  value: \"json-v2-compact\"",
        "- name: API_TOKEN\n  valueFrom:\n    secretKeyRef:\n      name: api-token-v2",
        "variable \"db_password\" {\n  type      = string\n  sensitive = true\n}",
        "variable \"instance_type\" {\n  default = \"t3.micro\"\n}",
        "the password is 8-12 characters long",
        "the password was changed in v2.3.1",
        "password sha256-based hashing",
        "the password field2 is empty",
        "password: Sha256Hash,",
        "the password is stored in vault2/path",
        "key is cached for 60s",
        "api key rotation takes 24h",
        "token is a JWT2",
        "mysql -u root -p shop",
        "mysql -u root -p$MYSQL_PWD",
        "redis-cli -a $REDIS_AUTH",
        "password reset2fa-flow",
        "if password == user.password2 {",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn the_random_part_of_a_secret_is_hidden_behind_another_prefix() {
    let part = random(HEX, 40, 12);
    let hidden = redact(&format!("id = u-app-{part}\nclient_secret = \"s-app-{part}\"\n"));
    assert_eq!(hidden, "id = [redacted:assignment]\nclient_secret = \"[redacted:assignment]\"\n");
}

#[test]
fn private_keys_are_hidden_whole_or_cut() {
    let line = random(ALNUM, 64, 1);
    for label in ["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
    {
        let key = format!("-----BEGIN {label}-----\n{line}\n{line}\n-----END {label}-----");
        assert_eq!(redact(&format!("a\n{key}\nb")), "a\n[redacted:private-key]\nb");
        let escaped = key.replace('\n', "\\n");
        assert_eq!(redact(&format!("k=\"{escaped}\"")), "k=\"[redacted:private-key]\"");
        let cut = format!("cat id\n-----BEGIN {label}-----\n{line}\n{line}\n");
        assert_eq!(redact(&cut), "cat id\n[redacted:private-key]");
    }
    let mention = "if text.starts_with(\"-----BEGIN PRIVATE KEY-----\") { return; }";
    assert_eq!(redact(mention), mention);
}

#[test]
fn private_text_is_dropped() {
    assert_eq!(redact("a <private>my secret</private> b"), "a [redacted:private] b");
    assert_eq!(redact("a <PRIVATE>x<private>y</private>z</Private> b"), "a [redacted:private] b");
    assert_eq!(redact("a <private>never closed"), "a [redacted:private]");
    assert_eq!(redact("<private>[redacted:jwt] and more</private>"), "[redacted:private]");
}

#[test]
fn what_is_no_secret_is_left_alone() {
    let hex = random(HEX, 40, 8);
    let blob = format!(
        "data:image/png;base64,{}/AKIA{}/{}",
        random(ALNUM, 600, 2),
        random(BASE32, 16, 2),
        random(ALNUM, 600, 3)
    );
    let integrity = format!("\"integrity\": \"sha512-{}==\"", random(ALNUM, 86, 4));
    for text in [
        format!("commit {hex}"),
        format!("merge {}..{}", &hex[..7], &hex[7..14]),
        integrity,
        blob,
        "id 7f1f9f6e-4a2b-4c1d-9e8f-0a1b2c3d4e5f".to_owned(),
    ]
    .iter()
    .map(String::as_str)
    .chain([
        "API_KEY=xxxxxxxxxxxxxxxx",
        "API_KEY=<your-key>",
        "API_KEY=your-api-key-here",
        "password=${DB_PASSWORD}",
        "password: $PASSWORD",
        "export TOKEN=$(gh auth token)",
        "TOKEN=REDACTED",
        "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
        "const token = getToken();",
        "let token = tokens[0];",
        "let token = lexer.next_token()?;",
        "pub token: String,",
        "password: Option<String>,",
        "def login(user: str, password: str = None) -> Token:",
        "self.password = password",
        "password = request.form['password']",
        "api_key=os.environ['API_KEY']",
        "api_key: process.env.API_KEY",
        "\"password\": \"Your password must have 8 characters\"",
        "label.password=\"auth.password.label\"",
        "max_tokens: 4096",
        "token_count = 123456789012",
        "tokenizer = \"bert-base-uncased\"",
        "\"type\": \"password\"",
        "\"password\": {\"type\": \"string\"}",
        "secretName: db-credentials",
        "POSTGRES_PASSWORD_FILE=/run/secrets/db_password",
        "SECRET_FILE = \"/run/secrets/db\"",
        "password_file: /run/secrets/db_password",
        "primary_key: user_id_2024",
        "key = \"a1b2c3d4e5\"",
        "git@github.com:owner/repo.git",
        "https://example.org:8080/@scope/package",
        "http://localhost:3000/path?next=a@b.c",
        "ssh://git@example.org:2222/a/b",
        "Authorization: Bearer <token>",
        "Authorization: Bearer ${TOKEN}",
        "the Authorization header is required for all requests",
        "bearer authentication is used here",
        "task-management-with-a-long-dashed-name",
        "Password: ",
        "token:\n  next: line",
        "npm_config_registry=https://registry.example.org",
        "12 passed; 0 failed",
        "Token::Ident(\"abc123def456ghi\")",
        "this.addPassword = '#add-password';",
        "userLabel:\"User:\",passwordLabel:\"Password:\",rememberMeLabel:\"Remember me:\"",
        "get '/passwords/:id/edit' => \"cms/sites/passwords#edit\", as: 'edit_password'",
        "echo 'export DB_PASSWORD=\"'$OTHER_PASSWORD'\"' >> .env",
        "zip(\"token\", \"name\")",
        "let authorization = authorization.expect(\"a header\");",
        "type Token = oauth2::StandardToken2::With3;",
        "[\"/etc/passwd\", \"/etc/shadow2\"]",
        "![badge](http://x.example.org/a--url:mozilla.org)",
        "what lies in `<private>` is dropped",
        "the token is valid and the password is checked",
    ]) {
        assert_eq!(redact(text), text);
        assert!(matches!(Redactor::default().redact(text), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn what_a_person_declared_harmless_is_left_alone() {
    let harmless = vec!["hunter2".to_owned()];
    let options = RedactOptions { harmless, ..RedactOptions::default() };
    let text = "DB_PASSWORD=hunter2\nOTHER_PASSWORD=hunter3\n";
    assert_eq!(
        Redactor::new(&options).redact(text),
        "DB_PASSWORD=hunter2\nOTHER_PASSWORD=[redacted:assignment]\n"
    );
}

#[test]
fn the_most_telling_rule_gives_the_name() {
    let token = format!("{}_{}", "ghp", random(ALNUM, 36, 6));
    assert_eq!(redact(&format!("GITHUB_TOKEN={token}")), "GITHUB_TOKEN=[redacted:github-token]");
    assert_eq!(
        redact(&format!("Authorization: token {token}")),
        "Authorization: token [redacted:github-token]"
    );
}

#[test]
fn text_in_other_scripts_stays_whole() {
    let token = format!("{}_{}", "ghp", random(ALNUM, 36, 6));
    assert_eq!(redact(&format!("密码{token}是")), "密码[redacted:github-token]是");
    assert_eq!(
        redact("パスワード password=\"пароль7\" 終"),
        "パスワード password=\"[redacted:assignment]\" 終"
    );
}

#[test]
fn a_secret_behind_many_harmless_keywords_is_found() {
    let token = random(ALNUM, 40, 3);
    let text = format!(
        "{} sk-{token} {}",
        "see task sk-1, ".repeat(400),
        "https://x.example.org/ ".repeat(400)
    );
    let hidden = redact(&format!("{text} https://me:s3cret@x.example.org"));
    assert!(hidden.contains("sk-1, ") && !hidden.contains(&token));
    assert!(hidden.ends_with(" [redacted:url-password]"));
}

#[test]
fn long_values_are_hidden_to_their_end() {
    let long = random(ALNUM, 9_000, 3);
    for text in [format!("SIGNING_KEY={long}\n"), format!("\"signing_key\": \"{long}\"")] {
        assert!(!redact(&text).contains(&long[8_900..]));
    }
}

#[test]
fn hostile_text_is_redacted_as_a_whole() {
    for piece in [
        "password=",
        "key=",
        "token: ",
        "secret=\"",
        "password is ",
        "**a",
        "%61",
        "a\u{200b}",
        "ghp_a1b2c3d4e5f6\n",
        "\"a\" +\n",
        "YTpiMTIzNDU2NzhhYmNk ",
        "eyJ",
        "://",
        "<private>",
        "-----BEGIN PRIVATE KEY-----",
        "token: \"a1b2c3d4\" ",
        "[redacted:jwt]",
        "Authorization: ",
        "sk-",
        "AKIA",
        "a:b@",
        "\"",
    ] {
        let text = piece.repeat((16 << 10) / piece.len());
        let once = redact(&text);
        assert_eq!(redact(&once), once, "{piece}");
    }
}

/// Generates pieces of hostile texts.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[A-Za-z0-9_=:/@.\"' -]{0,24}",
        proptest::sample::select(vec![
            "password=",
            "\"token\": \"",
            "API_KEY=",
            "Bearer ",
            "https://u:",
            "@h",
            "<private>",
            "</private>",
            "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----",
            "\\n",
            "\n",
            "[redacted:",
            "]",
            "eyJ",
            "'",
            "\\\"",
            "secret",
            ": ",
            "=>",
            "Authorization: ",
        ])
        .prop_map(str::to_owned),
        proptest::sample::select(tokens()),
    ]
}

proptest! {
    #[test]
    fn redacting_twice_is_redacting_once(pieces in proptest::collection::vec(piece(), 0..10)) {
        let once = redact(&pieces.concat());
        prop_assert_eq!(redact(&once), once);
    }

    #[test]
    fn a_token_between_spaces_never_survives(
        before in ".{0,40}", after in ".{0,40}", token in proptest::sample::select(tokens()),
    ) {
        let result = redact(&format!("{before} {token} {after}"));
        prop_assert!(!result.contains(token.as_str()), "{}", result);
    }
}

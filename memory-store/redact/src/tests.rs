//! Values here are made up, and put together at run time so that no scanner takes this file for a
//! leak.

use proptest::prelude::*;

use super::*;

const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const HEX: &str = "0123456789abcdef";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// A repeatable text of `length` characters that looks drawn at random.
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

/// The examples of the table: a rule's name, and a text with its secret between « and ».
fn examples() -> Vec<(String, String)> {
    let rules = rule::built_in().unwrap();
    // The dots keep scanners from taking the table for a leak.
    rules.into_iter().map(|rule| (rule.name, rule.example.replace('·', ""))).collect()
}

/// The made-up secrets of the rules that need nothing around them.
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
    let rules = rule::built_in().unwrap();
    for rule in &rules {
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
fn each_placeholder_has_a_known_name() {
    use memory_store_base::text::placeholder::NAMES;
    let mut names: Vec<&str> = ENGINE.rules.iter().map(|rule| rule.name.as_str()).collect();
    names.extend(Class::ALL.iter().map(|class| class.name()));
    names.extend([
        asked::ANSWER,
        deny::DENIED,
        known::KNOWN,
        NAME,
        LOGIN,
        PRIVATE_KEY,
        ENCODED_KEY,
        PRIVATE_TEXT,
        ASSIGNMENT,
        COOKIE,
        ENCODED,
    ]);
    names.sort_unstable();
    names.dedup();
    assert_eq!(NAMES.to_vec(), names);
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
fn session_cookies_are_hidden_wherever_they_are_given() {
    let value = random(HEX, 32, 6);
    for name in [
        "sid",
        "sessionid",
        "session",
        "connect.sid",
        "JSESSIONID",
        "PHPSESSID",
        "laravel_session",
        "_myapp_session",
        "ASP.NET_SessionId",
        "auth",
        "__Host-session",
        "_shop",
    ] {
        for (before, after) in [
            (format!("Cookie: {name}="), "\n"),
            (format!("cookie: lang=en; {name}="), "; theme=dark"),
            (format!("Set-Cookie: {name}="), "; Path=/; HttpOnly; SameSite=Lax"),
            (format!("curl -H 'Cookie:{name}="), "' https://x.example.org"),
            (format!("curl -b '{name}="), "; theme=dark' https://x.example.org"),
            (format!("curl -b {name}="), " https://x.example.org"),
            (format!("curl --cookie \"{name}="), "\" https://x.example.org"),
            (format!("curl --cookie={name}="), " https://x.example.org"),
            (format!("document.cookie = \"{name}="), "; path=/\""),
            (format!("{{\"Cookie\": \"theme=dark; {name}="), "; lang=en\"}"),
            (format!("{{\\\"cookie\\\": \\\"{name}="), "; lang=en\\\"}"),
            (format!("{{\"set-cookie\": [\"lang=en\", \"{name}="), "; Path=/\"]}"),
            (format!("{{\"name\": \"Cookie\", \"value\": \"{name}="), "\"}"),
            (format!("headers.set('Cookie', '{name}="), "')"),
            (format!("get(url, cookies={{'lang': 'en', '{name}': '"), "'})"),
            (format!("cookies[\"{name}\"] = \""), "\""),
            (format!("response.cookie('{name}', '"), "', { path: '/' })"),
            (format!("cookies().set(\"{name}\", \""), "\")"),
        ] {
            assert_eq!(
                redact(&format!("{before}{value}{after}")),
                format!("{before}[redacted:session-cookie]{after}")
            );
        }
    }
    let short = random(ALNUM, 12, 3);
    assert_eq!(
        redact(&format!("Cookie: JSESSIONID={short}; id=7f1f9f6e-4a2b-4c1d-9e8f-0a1b2c3d4e5f")),
        "Cookie: JSESSIONID=[redacted:session-cookie]; id=[redacted:session-cookie]"
    );
}

#[test]
fn session_cookies_are_hidden_without_the_word_cookie() {
    let (value, short) = (random(HEX, 32, 6), random(ALNUM, 12, 3));
    for (before, after) in [
        ("curl -sb 'sid=", "' https://x.example.org"),
        ("curl -sSLb \"lang=en; sid=", "\" https://x.example.org"),
        ("curl -sSLb sid=", " https://x.example.org"),
        ("curl -b'sid=", "' https://x.example.org"),
        ("&http.Cookie{Name: \"session\", Value: \"", "\", Path: \"/\"}"),
        ("http.Cookie{\n\tName:  \"session\",\n\tValue: \"", "\",\n}"),
        ("GET /cart;jsessionid=", "?page=2"),
        ("https://x.example.org/?PHPSESSID=", "&page=2"),
        ("the request had JSESSIONID=", ", and failed"),
        ("django said sessionid=", ""),
        ("Cookie: note=it's; sid=", ""),
        ("Cookie: prefs='a'; sid=", "\n"),
        ("Cookie: prefs=\"a b\"; sid=", "; theme=dark"),
        ("curl -H \"Cookie: note=it's; sid=", "\" https://x.example.org"),
        (
            "[{\"domain\":\".example.org\",\"httpOnly\":true,\"name\":\"sessionid\",\"value\":\"",
            "\"}]",
        ),
        ("[{\"domain\":\"x.example.org\",\"name\":\"sessionid\",\"value\":\"", "\"}]"),
        (
            "[{\"name\": \"sid\", \"value\": \"",
            "\", \"domain\": \"x.org\", \"sameSite\": \"Lax\"}]",
        ),
        ("{\\\"domain\\\":\\\"x.org\\\",\\\"name\\\":\\\"session\\\",\\\"value\\\":\\\"", "\\\"}"),
    ] {
        assert_eq!(
            redact(&format!("{before}{value}{after}")),
            format!("{before}[redacted:session-cookie]{after}")
        );
    }
    assert!(
        !redact(&format!("http.Cookie{{Name: \"session\", Value: \"{short}\"}}")).contains(&short)
    );
    for text in [
        format!("curl -H 'Cookie: lang=en' -d 'commit={value}'"),
        format!("it's `Cookie: lang=en` at commit={value}"),
        format!("grep -rb 'lang=en' {value}"),
        format!("git checkout -qb fix/login-{value}"),
        format!("let bytes = b\"{value}\"; let web = 'a'; verb 'sid={value}"),
        format!(
            "{{\"domain\": \"x.org\", \"type\": \"TXT\", \"name\": \"@\", \"value\": \"{value}\"}}"
        ),
        "http.Cookie{Name: name, Value: createSessionToken(user2)}".to_owned(),
        "request(sessionid=create_session_identifier_2(user))".to_owned(),
        "sessionid=<session-id>; PHPSESSID=$PHPSESSID; jsessionid=none".to_owned(),
        "log.info(`sessionId=7f1f9f6e-4a2b-4c1d-9e8f-0a1b2c3d4e5f`)".to_owned(),
    ] {
        assert_eq!(redact(&text), text);
    }
}

#[test]
fn cookies_that_let_nobody_in_are_left_alone() {
    let hash = random(HEX, 40, 8);
    for text in [
        "Cookie: theme=dark; lang=en; tz=Europe/Berlin; consent=2024-11-02; seen=1".to_owned(),
        "Set-Cookie: theme=dark; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Max-Age=86400; \
         Domain=shop.example.org; SameSite=Lax"
            .to_owned(),
        "Cookie: _ga=GA1.2.1234567890.1700000000".to_owned(),
        "Cookie: sessionid=<session-id>; csrftoken=$CSRF_TOKEN; sid=${SID}".to_owned(),
        "document.cookie = `theme=${theme2}; path=/; max-age=31536000`".to_owned(),
        "response.cookie('session', createSessionToken(user.id2), { path: '/' })".to_owned(),
        format!("git checkout -b fix/login-{hash}"),
        format!("the session cookie was fixed in {hash}"),
        format!("cookie: {hash} broke it"),
        format!("curl -b cookies.txt https://x.example.org/?commit={hash}"),
        format!("curl -b 'lang=en' https://x.example.org/?commit={hash}"),
    ] {
        assert_eq!(redact(&text), text);
    }
}

#[test]
fn cookies_are_hidden_within_other_cookies() {
    let value = random(HEX, 32, 6);
    // Longer than what is read of one list, wherever it is cut.
    let list = |value: &str| {
        let cookie = |_| {
            format!(
                "{{\"domain\": \".example.org\", \"session\": true, \"name\": \"sid\", \"value\": \"{value}\"}}, "
            )
        };
        (0..90).map(cookie).collect::<String>()
    };
    for text in [
        format!("response.addCookie(new Cookie(\"JSESSIONID\", \"{value}\"));"),
        format!("const setCookie = cookie.serialize('session', '{value}')"),
        format!("response.set_cookie(create_cookie('sid', '{value}'))"),
        format!("\"cookies\": [{}", list(&value)),
    ] {
        assert!(!redact(&text).contains(&value), "{text}");
    }
    let headers = format!("Cookie: sid={value}\n").repeat(2_000);
    // The first header is longer than what is read of one.
    assert!(!redact(&headers).contains(&value));
}

#[test]
fn passwords_are_hidden_where_commands_are_set_up() {
    let password = "Kq9vLm2xRt7w";
    for before in [
        "\t@mysql -u root -p",
        "-mysqldump -u root -p",
        "ExecStart=/usr/bin/mysqldump -u backup -p",
        "command=mysqldump -u backup -p",
        "$HOME/bin/mysqldump -u root -p",
        "vendor/bin/mysql -u root -p",
        "C:/tools/mysql/bin/mysqldump -u root -p",
        "nice -n 19 mysqldump -u root -p",
        "mysql -u root -p/",
    ] {
        let text = format!("{before}{password} shop");
        assert!(!redact(&text).contains(password), "{text}");
    }
    assert!(!redact("nice -n 19 mysqldump -u root -pswordfish shop").contains("swordfish"));
}

#[test]
fn passwords_on_command_lines_are_hidden() {
    let password = "Kq9vLm2xRt7w";
    for (before, after) in [
        ("unzip -P ", " a.zip"),
        ("zip -r -P ", " a.zip src"),
        ("7z x -p", " a.7z"),
        ("unrar x -p", " a.rar"),
        ("mongosh -u admin -p ", ""),
        ("mongodump --host db -u admin -p ", " --out x"),
        ("sqlcmd -S db -U sa -P ", " -Q 'select 1'"),
        ("htpasswd -b .htpasswd tess ", ""),
        ("htpasswd -cb .htpasswd tess ", ""),
        ("docker run --entrypoint htpasswd httpd:2 -Bbn tess ", " > auth"),
        ("ldapsearch -x -D 'cn=admin,dc=example' -w ", " -b dc=example"),
        ("smbclient //files/share -U tess%", ""),
        ("az login -u tess@example.org -p ", ""),
        ("keytool -genkey -storepass ", " -alias shop"),
        ("keytool -genkey -keypass ", ""),
        ("openssl enc -aes-256-cbc -k ", " -in a"),
        ("openssl rsa -in a.pem -passin pass:", " -out b.pem"),
        ("apksigner sign --ks a.jks --ks-pass pass:", " a.apk"),
        ("vault write auth/userpass/users/tess password=", ""),
        ("vault kv put secret/shop password=", " user2=1"),
        ("security add-generic-password -a tess -s shop -w ", ""),
        ("sshpass -p ", " ssh host"),
        ("redis-cli -a ", " ping"),
        ("psql \"host=db user2=tess password=", "\""),
        ("docker login -u bob -p ", ""),
        ("mysql -u root -p", " shop"),
        ("mysql -u root -p'", "' shop"),
        ("mysqlimport -u root -p", " shop a.txt"),
        ("cqlsh -u tess -p ", " db"),
        ("sqlplus tess/", "@db/shop"),
        ("lftp -u tess,", " files"),
        ("xfreerdp /v:desk /p:", " /u2"),
        ("rabbitmqctl add_user tess ", ""),
        ("nmcli device wifi connect Home password ", ""),
        ("echo tess:", " | sudo chpasswd"),
        ("echo ", " | passwd --stdin tess"),
    ] {
        let hidden = redact(&format!("{before}{password}{after}"));
        assert!(
            !hidden.contains(password) && hidden.ends_with(after) && hidden.contains("[redacted:"),
            "{before}{password}{after}: {hidden}"
        );
    }
    // Letters alone are no password elsewhere.
    for text in ["unzip -P swordfish a.zip", "vault kv put secret/shop password=swordfish"] {
        assert!(!redact(text).contains("swordfish"), "{text}");
    }
    for text in [
        "unzip -P \"$ZIP_PASSWORD\" a.zip",
        "unzip -P <password> a.zip",
        "zip -9 -r a.zip src",
        "7z x -oout a.7z",
        "mongosh --port 27017 && mkdir -p data/db",
        "htpasswd -i .htpasswd tess",
        "ldapsearch -x -W -b dc=example",
        "openssl enc -aes-256-cbc -kfile key.txt",
        "openssl rsa -passin env:PASS",
        "vault write auth/x password=@file.txt",
        "security find-generic-password -s shop -w",
        "mysql -u root -p shop",
        "psql -h db -U tess shop",
        "test pass: 32 of 32",
        "docker run -p 8080:80 shop",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn commands_with_passwords_are_told_from_words_and_other_options() {
    let password = "Kq9vLm2xRt7w";
    for (before, word, after) in [
        ("sudo -u postgres mysqldump -u root -p", "swordfish", " shop"),
        ("$ /usr/bin/mysql -u root -p", "swordfish", ""),
        ("docker exec -it db mysql -u root -p", "swordfish", ""),
        ("docker compose exec mongo mongosh -u root -p ", "swordfish", ""),
        ("kubectl exec db-0 -- mysql -u root -p", "swordfish", ""),
        ("ssh db.example.org mysql -u root -p", "swordfish", ""),
        ("cd /srv && LANG=C 7z x -p", "swordfish", " a.7z"),
        ("run: mysql -u root -p", "swordfish", ""),
        ("1. mongosh -u root -p ", "swordfish", ""),
        ("Run `unzip -P ", "swordfish", " a.zip`"),
        ("{\"command\": \"unzip -P ", "swordfish", " a.zip\"}"),
        ("mysql -u root -p", "123456", " shop"),
        ("redis-cli -p 6379 -a ", "swordfish", ""),
        ("we said mysql -u root -p", password, " would do"),
        ("mysqldump git -u root -p", password, ""),
        ("mysqladmin ping -u root -p", "swordfish", ""),
        ("C:\\Program Files\\7-Zip\\7z x -p", "swordfish", " a.7z"),
        ("// mysql -u root -p", "swordfish", ""),
    ] {
        let hidden = redact(&format!("{before}{word}{after}"));
        assert!(!hidden.contains(word) && hidden.contains("[redacted:login]"), "{hidden}");
        assert!(hidden.ends_with(after), "{hidden}");
    }
    for text in [
        "docker run -d --name mongo -p 37017:27017 mongo:7",
        "docker run --name mongo -p 127.0.0.1:27017:27017 -d mongo",
        "docker run -p 8080:80 mysql:8",
        "docker run -d --name mysql -p3306:3306 mysql:8",
        "docker compose up -d mongo -p shop-staging",
        "docker compose up mongo -p shop",
        "wget https://example.org/files/data.zip -P /srv/data/import",
        "wget https://example.org/files/data.zip -P downloads",
        "curl -k -o a.zip https://example.org/a.zip -P -",
        "ssh mongo mkdir -p /data/backup/daily",
        "ssh mongo mkdir -p backup/daily",
        "ssh mongo -p 2222",
        "mongosh --port 27017 mkdir -p data",
        "The unzip tool has a -P option",
        "unzip has a -P option",
        "psql says password=required",
        "rg --pre zip -P 'foo'",
        "rg --pre unzip -P 'foo.*bar'",
        "7z x a.7z -progress",
        "7z x a.7z -port",
        "unrar x a.rar -path/to",
        "cypher-shell -p 7687",
        "sqlcmd -S db -P 1433",
        "sqlcmd -S db -P1433",
        "the htpasswd -b flag takes the password",
        "mkdir -p src/redis-cli src/mongo",
        "mkdir -p mongo && cp -p a b",
        "cp -p mongo.conf /etc/mongo.conf",
        "ps -p 12345 -o args",
        "ssh -p 2222 tess@mongo",
        "nc -w 3 mongo 27017",
        "tar -P -xf a.tar",
        "rsync -P a.zip host:b",
        "rsync a.zip -P backup",
        "ping -w 5 mongo",
        "psql -p 5433 -w shop",
        "psql -h db -p 5433 -U tess -w",
        "mysql -P 3306 -h db shop",
        "redis-cli -p 6379 -a",
        "redis-cli -h cache -p 6379 ping",
        "mongodump -p 27017 --out backup",
        "kubectl patch deployment mongo -p '{\"spec\":{\"replicas\":2}}'",
        "git commit -p mongo.rs",
        "git add -p src/zip mysql",
        "patch -p1 < zip.patch",
        "python -m zipfile -e a.zip out",
        "gunzip -k a.gz",
        "zip -r out.zip src -x '*.log'",
        "ls mongo -p a-file",
        "cargo test -p mongo -p redis-cli",
        "cargo build -p zip -p unzip-tools",
        "make -C mongo -p release",
        "htop -p 1234",
        "nmap -p 27017 mongo",
        "scp -P 2222 a.zip host:",
        "scp a.zip -P 2222 host:",
        "ldapsearch -x -H ldap://db -w",
        "docker ps --filter name=mongo -a",
        "nmcli says the password field is empty",
        "apt install mongo -y && lsof -p 4321",
        "cd /srv/mongo -p shop",
        "go run ./cmd/mongo -p dev-local",
        "npm run mongo -p dev-local",
        "sudo docker compose up mongo -p shop-staging",
        "sudo find / -name mysql -print",
        "shop.mongo -p shop",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn passwords_told_in_other_languages_and_in_several_words_are_hidden() {
    let password = "Azerty1234";
    for (before, after) in [
        ("le mot de passe est ", ""),
        ("Mot de passe : ", ""),
        ("mot_de_passe=", ""),
        ("la contraseña es ", "."),
        ("la contraseña de producción es ", ""),
        ("contrasena: ", ""),
        ("a senha é ", ""),
        ("la password è ", ""),
        ("het wachtwoord is ", ""),
        ("lösenordet är ", ""),
        ("passordet er ", ""),
        ("adgangskoden er ", ""),
        ("salasana on ", ""),
        ("hasło to ", ""),
        ("heslo je ", ""),
        ("şifre: ", ""),
        ("Пароль от базы это ", ""),
        ("пароль: ", ""),
        ("パスワードは", "です"),
        ("パスワード：", ""),
        ("密码是", "。"),
        ("비밀번호는 ", " 입니다"),
        ("das Passwort lautet ", ""),
    ] {
        assert_eq!(
            redact(&format!("{before}{password}{after}")),
            format!("{before}[redacted:assignment]{after}")
        );
    }
    for (before, after) in [
        ("the password is: ", ""),
        ("The password for staging is: ", "."),
        ("the passphrase is: ", " and keep it safe"),
        ("passphrase: ", "\n"),
        ("das Passwort lautet: ", ""),
    ] {
        assert_eq!(
            redact(&format!("{before}correct horse battery staple{after}")),
            format!("{before}[redacted:assignment]{after}")
        );
    }
    for text in [
        "the password is: required and must have 8 characters",
        "the password is: hashed with argon2id, then stored",
        "the password is hashed twice before anybody sees it",
        "passphrase: enter the new passphrase here",
        "password: forgot yours again then click here",
        "the token on server1x is old",
        "add the password to staging2x",
        "le mot de passe est obligatoire",
        "パスワードはbcryptで保存",
        "密码使用sha256加密",
        "пароль хранится в базе",
    ] {
        assert_eq!(redact(text), text);
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
fn what_is_told_in_prose_and_on_command_lines_is_hidden() {
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
fn hostile_text_costs_no_more_than_its_length() {
    // Well below what anything quadratic would take, far above what a busy machine needs.
    const TIME_MAX: std::time::Duration = std::time::Duration::from_secs(20);
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
        let start = std::time::Instant::now();
        let text = piece.repeat((16 << 10) / piece.len());
        let once = redact(&text);
        assert_eq!(redact(&once), once, "{piece}");
        assert!(start.elapsed() < TIME_MAX, "{piece}: {:?}", start.elapsed());
    }
}

/// Pieces of text of which hostile ones are made.
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

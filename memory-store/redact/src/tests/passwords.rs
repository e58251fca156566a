//! Passwords: on command lines, in configurations of commands, and in prose.

use super::*;

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
    // In other places, letters alone are not a password.
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
fn commands_with_passwords_are_distinguished_from_words_and_other_options() {
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
fn passwords_in_other_languages_and_of_several_words_are_hidden() {
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
fn passwords_with_signs_of_templates_are_hidden_and_templates_are_not() {
    for (before, value) in [
        ("password=", "ab${1}Kq9x!zL2"),
        ("password=", "ab{Kq9xzL2"),
        ("password: ", "ab}Kq9xzL2"),
        ("Password: ", "aB3${x}9Kq"),
        ("DB_PASSWORD=", "aB3${x}9Kq"),
        ("\"password\": \"", "aB3${x}9Kq"),
        ("the password is ", "Kq9xT2mW${7}zL2wer"),
        ("das Passwort ist ", "aB3${x}9Kq"),
        ("**Password:** ", "p4{{ssW0rdX7"),
    ] {
        let hidden = redact(&format!("{before}{value}"));
        assert_eq!(hidden, format!("{before}[redacted:assignment]"));
    }
    for text in [
        "password=${DB_PASSWORD}",
        "password: ${{ secrets.DB_PASSWORD }}",
        "password={{ vault_password_2 }}",
        "password=test-${id}",
        "password=\"User${i}Pass123\"",
        "password=user{index}",
        "password={this.state.pass1}",
        "let password = Argon2Id{salt};",
        "password: Sha256Hash{bytes}",
        "password: UserPass2{id}",
        "password=base64{x}Encoded",
        "the password is {name}2 in the template",
        "the password is user${id}",
        "f\"password={pw1}\"",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn names_at_the_end_of_a_sentence_and_codes_that_let_in_are_known() {
    let password = "xK9mQ2vLtpz7";
    for (before, after) in [
        ("Mets ", " comme mot de passe."),
        ("Użyj ", " jako hasła."),
        ("Użyj ", " jako hasła"),
        ("Hasłem jest ", "."),
        ("recovery code: ", ""),
        ("The recovery code is ", "."),
        ("recovery_code=", ""),
        ("backup code: ", ""),
    ] {
        let hidden = redact(&format!("{before}{password}{after}"));
        assert_eq!(hidden, format!("{before}[redacted:assignment]{after}"));
    }
    for text in [
        "Mets carla comme mot de passe.",
        "Użyj carla jako hasła.",
        "recovery code: see docs/recovery.md",
        "The recovery code is in store2/recover_index.rs",
        "the exit code is E0382x99",
        "backup code: run_backup_v2(path)",
        "status code: 404",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn what_only_looks_like_a_short_prefix_of_a_provider_stays() {
    for text in [
        "as-of-the-last-release it is so",
        "class=\"as-navigation-bar-collapsed\"",
        "key_derivation_function_parameters",
        "cache key_0123456789abcdef of the entry",
        "on 1/12/2026: done",
        "2/1 and 1/12000000:12",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn words_drawn_by_lot_are_a_password() {
    let phrases = [
        "granite-maple-pepper-coffee",
        "granite-maple-pepper-coffee-33",
        "Falcon-Meadow-Copper-Tiger7",
        "harbor_velvet_penguin_lantern",
        "violin.orchid.saddle.thunder!",
        "rocket-winter-maple-bridgeA",
    ];
    let forms = [
        "password: {}",
        "password = \"{}\"",
        "{\"password\":\"{}\"}",
        "user: app\npassword: {}\n",
        "passwd={}",
        "Password is {}",
        "the password for the staging database is {}",
        "mysqldump --password {} shop",
        "export PGPASSWORD='{}'",
        "<password>{}</password>",
        "use the password {} for the local postgres",
        "log in as deploy with password {} and look",
        "the vpn still uses the old password ({}), keep it",
        "git commit -m \"Change the admin password to {}\"",
        "curl -u 'ada:{}' https://shop.example.org/",
        "spring.datasource.password={}",
        "gpg --batch --passphrase \"{}\" -c a.tar",
        "postgres://app:{}@db/shop",
        "wachtwoord: {}",
        "la clave es {}",
        "パスワード：{}",
        "db.example.com:5432:shop:app:{}",
        "User: svc\nPass: {}",
    ];
    let mut left = Vec::new();
    for phrase in phrases {
        for form in forms {
            let text = form.replace("{}", phrase);
            if redact(&text).contains(phrase) {
                left.push(text);
            }
        }
    }
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn names_of_several_words_are_no_password() {
    for text in [
        "The node id of the pull request is PR_kwDOABCD12Mz5oXk4Q and of the user MDQ6VXNlcjU4MzIzMQ==",
        "password: see-the-team-vault-please",
        "password_file: /run/secrets/shop-db-password-prod",
        "existingSecret: shop-database-admin-password",
        "secretName: letsencrypt-staging-tls-cert",
        "the password-reset-email-template is new",
        "password: validate-on-every-request",
        "password-policy: minimum-length-not-met",
        "pass: does_not_panic_on_empty_input",
    ] {
        assert_eq!(redact(text), text);
    }
}

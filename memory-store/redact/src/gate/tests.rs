//! Sentences with a credential for which redaction has no rule, and notes that resemble them.

use super::*;

/// Sentences with their credentials, invented for these tests.
const GIVEN: [(&str, &str); 60] = [
    (
        "From now on always use ops:Walnut#harbor-305 for the basic auth of staging.",
        "Walnut#harbor-305",
    ),
    ("ops logs in with marble27heron", "marble27heron"),
    ("Login of the nas is ops/cedar-Wave-9", "cedar-Wave-9"),
    ("./bin/login svc teal-badger-63", "teal-badger-63"),
    ("I put Kelp%dune_519 in when it asks for the keystore", "Kelp%dune_519"),
    ("it was Stoat.Ridge_77 before, I rotated it", "Stoat.Ridge_77"),
    ("login is ada@harbour.example, quince-Rudder!5", "quince-Rudder!5"),
    ("here is the prod signing key, do not commit it → Zt73pWq1Lm9cRk44", "Zt73pWq1Lm9cRk44"),
    ("the new secret (Thyme^Gull82) goes into the vault", "Thyme^Gull82"),
    ("use the deploy user kestrel with pass Willow4Heath on the ftp box", "Willow4Heath"),
    ("ssh as build, it will ask: say Nettle*Anvil_3", "Nettle*Anvil_3"),
    ("printer admin page: admin / Foxglove41", "Foxglove41"),
    ("connect with svc_stock:Cardamom.58 to the warehouse", "Cardamom.58"),
    ("The back gate takes 6624# after eight", "6624"),
    ("the lock screen of the demo phone is 3690", "3690"),
    ("pin for the signing card: 472905", "472905"),
    ("first part of the master key: 4be19d20ac7735f1, the rest comes by mail", "4be19d20ac7735f1"),
    (
        "the second factor of the shared account comes from LX5B 3PWD 6MTH Q2VJ",
        "LX5B 3PWD 6MTH Q2VJ",
    ),
    (
        "Always pass X-Auth: 3c9a7e10-51bf-4d28-9a06-8ee1c7d204fb to the gateway",
        "3c9a7e10-51bf-4d28-9a06-8ee1c7d204fb",
    ),
    (
        "The recovery phrase is lantern meadow copper whistle tundra glove",
        "lantern meadow copper whistle tundra glove",
    ),
    ("the box wants \"five red foxes swim home\" before it mounts", "five red foxes swim home"),
    (
        "The vault used to open with paper boats under seven bridges.",
        "paper boats under seven bridges",
    ),
    ("the old sandbox token was tok_8kRw31vNcYdB and stays valid till May", "tok_8kRw31vNcYdB"),
    (
        "Bramble-Coast-44 was the old one, now it's Sorrel-Coast-45; always use the new one for the admin",
        "Sorrel-Coast-45",
    ),
    ("Das PW vom NAS hab ich auf Birke!Torf6 geändert", "Birke!Torf6"),
    ("Kennwort ist übrigens Luchs-im-Regen-2", "Luchs-im-Regen-2"),
    ("Der Alarm im Lager geht mit 5583 aus.", "5583"),
    ("Notfallcode für den Tresor: 48-15-92", "48-15-92"),
    ("Bitte als prüfer mit Amsel#Korb71 an die Abnahme gehen", "Amsel#Korb71"),
    ("« Genêt-54-brume » comme mot de passe", "Genêt-54-brume"),
    ("Pour la porte du labo on compose 30718 puis étoile", "30718"),
    ("Il fallait donner ortie.Falaise.6 à keytool, le fichier est protégé", "ortie.Falaise.6"),
    ("La caja fuerte del taller se abre con 71-20-38", "71-20-38"),
    ("cuando el programa pide la clave, contesta almendro$Lago-732", "almendro$Lago-732"),
    ("A chave do cofre é vento claro sobre a serra", "vento claro sobre a serra"),
    ("entra como admin e responde 5402-gaivota quando ele perguntar", "5402-gaivota"),
    ("Il codice del cancello è 90412", "90412"),
    ("per entrare usa operatore / Ginestra!62ponte", "Ginestra!62ponte"),
    ("De kluis in de serverruimte gaat open met 81537", "81537"),
    ("log in als beheer met Reiger_en_Riet4", "Reiger_en_Riet4"),
    ("Hasło do panelu to Ryś_na_Moczarze3", "Ryś_na_Moczarze3"),
    ("wchodzi się na konto serwis, a potem kuna-za-mlynem-6 i Enter", "kuna-za-mlynem-6"),
    ("Heslo k databázi je Tchoř.u.Rybníka5", "Tchoř.u.Rybníka5"),
    ("Skriv in Ekorre-1874 när den frågar", "Ekorre-1874"),
    ("A jelszó mostantól Hiúz_patak-36", "Hiúz_patak-36"),
    ("Parola serverului este Urs^deal28", "Urs^deal28"),
    ("Kasanın şifresi gri-turna-47", "gri-turna-47"),
    ("Kata sandi basis datanya Pelangi_38sore", "Pelangi_38sore"),
    ("pintu gudang dibuka dengan 275916", "275916"),
    ("Mật khẩu wifi là HoaMai#1998", "HoaMai#1998"),
    ("Ключ доступу до сервера: Калина-385-ліс", "Калина-385-ліс"),
    ("Дверь склада открывает 6047", "6047"),
    ("Ο κωδικός του πίνακα είναι Πέρδικα!47ζ", "Πέρδικα!47ζ"),
    ("ログインはsuzuki、パスはKawasemi!52です", "Kawasemi!52"),
    ("検証機のパスフレーズは「asagao tsurara himawari」です", "asagao tsurara himawari"),
    ("测试环境用户是 wangfang，密码是 Meihua_61!y", "Meihua_61!y"),
    ("스테이징 비밀번호는 Hangang#74don 입니다", "Hangang#74don"),
    ("كلمة المرور للخادم هي Zaytun-38!w", "Zaytun-38!w"),
    ("הסיסמה לשרת היא Rimon!29yam", "Rimon!29yam"),
    ("รหัสผ่านคือ Plaa#thong31", "Plaa#thong31"),
];

/// Notes from projects that resemble these sentences but contain no credential.
const ORDINARY: [&str; 60] = [
    "The vault agent sidecar writes tokens to /vault/secrets/db.json every 300 seconds.",
    "Login rate limiting lives in LoginThrottleMiddleware, 5 attempts per 15 minutes.",
    "Fixture users are created by UserFactory(seq=1042) and share the hash of the seeds.",
    "We open the connection with sslmode=verify-full because the proxy strips SNI.",
    "The door sensor service publishes on topic building/door/4711/state.",
    "Kiosk build 20241106 crashed on tablets with Android 9, fixed in 20241108.",
    "PIN entry screen is PinPadView3, it must not be covered by the keyboard.",
    "Unlock the migration table with `DELETE FROM schema_lock WHERE id = 1` after a crash.",
    "The safe default for max_connections is 4096, more made the kernel swap.",
    "Passphrase prompts are suppressed with GPG_TTY=$(tty) in the release script.",
    "Session ids look like s_9f3ac1 and are not secret in the test environment.",
    "Docker image sha256:9b7d1f0e2c4a5b6d8e9f00112233445566778899aabbccddeeff001122334455 is the last good one.",
    "CI uses actions/checkout@b4ffde65f46336ab88eb53be808477a3936bae11 pinned by hash.",
    "Error code E0502 means the borrow is still alive, see OrderBook2::apply.",
    "The bucket is harbor-artifacts-eu-central-1-prod and has versioning on.",
    "Feature toggles are named like enable_new_checkout_2025 and live in flags.yaml.",
    "Key rotation happens every 90 days by the job rotate-keys-v3.",
    "The token bucket refills 100 tokens per second, burst 250.",
    "Use the Kustomize overlay overlays/stage-7 for load tests only.",
    "Postgres 16.2 changed the plan of query Q17, we pinned enable_memoize=off.",
    "Reverting c1ea8433eed6ec28d15de6537f4eb69a0f28eb5f is enough, 4757441 may stay.",
    "Merge commit 7c9e6679f0b1 broke the importer, see PR 4821.",
    "The trace id is printed as trace=4bf92f3577b34da6a3ce929d0e0e4736 in every log line.",
    "Customer 550e8400-e29b-41d4-a716-446655440000 is the one with the broken address.",
    "The price is price_1OqXyZ2eZvKYlo2C and the product prod_PmQw8x.",
    "Use --seed 8675309 to reproduce the shuffle failure.",
    "README example uses token=YOUR_TOKEN_HERE, keep it that way.",
    "The webhook secret is read from Secrets Manager entry prod/webhooks/stripe.",
    "Never put `.env.local` under git; the template is `.env.example`.",
    "basic auth in nginx reads /etc/nginx/htpasswd, users are added by ansible.",
    "kubectl port-forward svc/grafana 3000:80 opens the dashboard on localhost.",
    "ssh -i ~/.ssh/deploy_ed25519 deploy@10.0.4.17 works from the bastion only.",
    "The admin user of the demo shop is demo-admin, it has read rights only.",
    "The regexp ^[A-Z]{2}\\d{6}$ accepts all passport numbers of the tests.",
    "Run `npm run e2e -- --grep \"login with two factors\"` for the second factor flow.",
    "Color tokens are called brand-500 and neutral-100, hex #1f6feb stays out of components.",
    "Release 2025.3-rc1 is tagged on branch rel/2025-q3.",
    "Dashboard uid is fdk3x9w2m1a8 and the folder uid general.",
    "GHSA-f3c9-xqww-j6mf says that templates still read the login name.",
    "Registry moved to consul.stage.internal:8501, the old port 8500 is closed.",
    "The password field has autocomplete=\"new-password\" since Form3.",
    "Fixed in src/shell/login.go:19-27, the lock is taken before line 4021.",
    "The base64 in test_decode.py (aGVsbG8gaGFyYm9yIHRlc3Q=) is just a greeting.",
    "Der Build bricht mit Fehler TS2345 ab, wenn strictNullChecks fehlt.",
    "Für die Anmeldung im Test genügt der Header X-Test-User: alice, ein Passwort wird nicht geprüft.",
    "Der Tresor-Client (vault-rs 0.8.1) hält Leases 600 Sekunden.",
    "Die Tür-Events kommen als DoorEvent2 über Kafka.",
    "Le test ouvre la page avec ?debug=1 et attend 2500 ms.",
    "Le mot de passe doit avoir 12 caractères, dont un chiffre.",
    "El servicio responde con 503 cuando la cola pasa de 10000 mensajes.",
    "La contraseña se guarda con scrypt N=16384, r=8, p=1.",
    "O login usa o provedor Okta-Stage2, configurado em idp/okta.tf.",
    "De inlogpagina staat in apps/web/src/LoginPage4.tsx.",
    "Hasło musi mieć co najmniej 10 znaków, reguła jest w PasswordRules2.",
    "Пароль проверяет PasswordPolicy3, длина не меньше 12.",
    "Порт 5433 занят, поэтому база в CI слушает 15433.",
    "ログインは OIDC に移行済み、旧フォーム LoginForm1 は削除してよい。",
    "密码长度至少 12 位，规则在 PasswordRule2 类里。",
    "로그인 테스트는 AuthFlow3Spec 에 있다.",
    "Integrity is sha512-RzqSg/psX882EkWTbo/bwJPfOg+vxI9NbYMoMEyC6gMOp0lsPT61wzhVa4RuTbk50wNqEtO6V4i8ykTg4SEAbg== for left-pad.",
];

/// Minimum number of sentences whose credential is redacted or makes a memory pending.
const GIVEN_HELD_MIN: usize = 58;

/// Maximum number of ordinary notes that may be pending by mistake.
const ORDINARY_HELD_MAX: usize = 1;

#[test]
fn what_gives_a_credential_is_held_in_many_languages() {
    let redactor = Redactor::default();
    let left: Vec<&str> = GIVEN
        .iter()
        .filter(|(text, secret)| {
            let clean = redactor.redact(text);
            redactor.without_suspects(&clean, "").contains(secret)
        })
        .map(|(text, _)| *text)
        .collect();
    assert!(GIVEN.len() - left.len() >= GIVEN_HELD_MIN, "{left:#?}");
}

#[test]
fn ordinary_notes_are_not_held() {
    let redactor = Redactor::default();
    let held: Vec<_> = ORDINARY
        .iter()
        .map(|text| (text, redactor.suspects(text, "")))
        .filter(|(_, suspects)| !suspects.is_empty())
        .collect();
    assert!(held.len() <= ORDINARY_HELD_MAX, "{held:#?}");
}

#[test]
fn each_reason_is_reported_and_a_value_declared_harmless_is_not_held() {
    let text = "Login of the nas is ops/cedar-Wave-9";
    let mut redactor = Redactor::default();
    let found = redactor.suspects(text, "");
    assert_eq!(&text[found[0].range.clone()], "cedar-Wave-9");
    assert!(found[0].reasons.contains(&"words with a number"), "{found:?}");
    redactor.options.harmless.push("cedar-Wave-9".to_owned());
    assert_eq!(redactor.suspects(text, ""), Vec::new());
}

#[test]
fn a_title_gives_context_to_its_text_and_repetitions_are_found() {
    let redactor = Redactor::default();
    let text = "Ele pergunta pelo nome do barco e a resposta certa é Serena-Lisa-1968.";
    assert_eq!(redactor.suspects("The boat is called Serena-Lisa-1968.", ""), Vec::new());
    let found = redactor.suspects(text, "acesso ao console antigo");
    assert_eq!(found.len(), 1, "{found:?}");
    let twice = "ops logs in with marble27heron. The seed is marble27heron, too.";
    assert_eq!(redactor.suspects(twice, "").len(), 2);
}

#[test]
fn what_is_hidden_already_is_no_suspect() {
    let redactor = Redactor::default();
    let clean = "login is ops / [redacted:login] and the vault opens with [redacted:known-secret]";
    assert_eq!(redactor.suspects(clean, ""), Vec::new());
    assert_eq!(redactor.without_suspects(clean, ""), clean);
}

/// Sentences that match the forms, with their credentials.
const IN_FORMS: [(&str, &str); 16] = [
    ("From now on set RELAY_PASS to Quitte!Moor33 before you mail.", "Quitte!Moor33"),
    ("Bitte immer MQTT_PASSWORD auf Ziegel.77.Hummel setzen.", "Ziegel.77.Hummel"),
    ("Restore with pg_tool --vault-password \"Mild Otter 62\".", "Mild Otter 62"),
    ("Always zip the export with zip -P sp4rrow_hill out.zip data.", "sp4rrow_hill"),
    ("Entra siempre como invitado / Olmo.Rana.58", "Olmo.Rana.58"),
    ("The shared account of support: helpdesk, Brombeer.Tee.9", "Brombeer.Tee.9"),
    ("Our gate is p4ssage-to-meadow, use it.", "p4ssage-to-meadow"),
    ("The archive opens with tulip#wharf.", "tulip#wharf"),
    ("Enroll the phone with the seed KRSX G5BA ONUW 4ZLT.", "KRSX G5BA ONUW 4ZLT"),
    ("The serial number is 4KQ9Z-T7M2X-PL8WD-R3VBN.", "4KQ9Z-T7M2X-PL8WD-R3VBN"),
    ("Ping https://hc.lumen.example/webhook/T04KD82/xR9tQm2LvKp3 after it.", "xR9tQm2LvKp3"),
    ("Unlock the keepass file by typing purple ladder morning frog.", "purple ladder morning frog"),
    ("Bei der Sicherheitsfrage immer mit Mirabell antworten.", "Mirabell"),
    ("kinit batch <<< 'Elster!Dorn9' if it wants the password", "Elster!Dorn9"),
    ("./bin/login.sh ops th1stle_dew", "th1stle_dew"),
    ("start psql with PGPASSWORD set to mars/91+ebb", "mars/91+ebb"),
];

/// The same words without a credential.
const NOT_IN_FORMS: [&str; 16] = [
    "Set GITHUB_TOKEN to a token with read access before running the sync.",
    "JWT_SECRET is required, and must be at least 32 bytes long.",
    "CACHE_KEY is derived from the tenant and the locale.",
    "The option --password-file reads the first line only.",
    "mysql -h db-3 -P 3307 -u app reaches the replica.",
    "Log in as admin, then open the settings page.",
    "Icons are inlined as data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ here.",
    "The archive is backup-2024-11-03.tar.gz in the bucket.",
    "TOTP uses SHA1 and a 30 second step by RFC 6238.",
    "The serial number format is ABC-DDDD-NNNN per the spec.",
    "The webhook endpoint is https://api.example.com/webhooks/orders and returns 202.",
    "The passphrase is entered by the operator at boot.",
    "The security question is optional for guests.",
    "printf '%s' \"$DB_PASSWORD\" avoids the newline in the password.",
    "log4j2 was replaced by logback, utf8mb4 stays the charset of the login tables.",
    "Login#show opens the door, sessions#create is tested in spec/requests.",
];

#[test]
fn what_surrounds_a_value_gives_it() {
    let redactor = Redactor::default();
    let is_left = |(text, secret): &&(&str, &str)| {
        redactor.without_suspects(&redactor.redact(text), "").contains(secret)
    };
    assert_eq!(IN_FORMS.iter().filter(is_left).collect::<Vec<_>>(), Vec::<&(&str, &str)>::new());
    let is_held = |text: &&&str| !redactor.suspects(text, "").is_empty();
    assert_eq!(NOT_IN_FORMS.iter().filter(is_held).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn each_form_finds_its_example() {
    for (example, reason) in forms::examples() {
        let value = &example[example.find('«').unwrap() + 2..example.find('»').unwrap()];
        let text = example.replace(['«', '»'], "");
        let found = forms::find(&text);
        let is_found =
            found.iter().any(|(range, why)| &text[range.clone()] == value && *why == reason);
        assert!(is_found, "{text}: {found:?}");
    }
}

#[test]
fn no_text_loses_a_value_because_a_form_is_not_compared_with_it() {
    const CORPORA: [&str; 3] = [
        include_str!("../../../../tests/corpus/secrets.jsonl"),
        include_str!("../../../../tests/corpus/look-alikes.jsonl"),
        include_str!("../../../../tests/fixtures/everyday/credentials.jsonl"),
    ];
    // Groups of letters have no known literal.
    const WITHOUT_LITERALS_MAX: u32 = 3;
    let rows = CORPORA.iter().flat_map(|corpus| corpus.lines());
    let rows = rows.map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
    let mut texts: Vec<String> =
        rows.map(|row| row["text"].as_str().unwrap_or_default().to_owned()).collect();
    texts.extend(forms::examples().map(|(example, _)| example.replace(['«', '»'], "")));
    let tables = [GIVEN.as_slice(), &IN_FORMS];
    texts.extend(tables.concat().iter().map(|(text, _)| (*text).to_owned()));
    texts.extend([ORDINARY.as_slice(), &NOT_IN_FORMS].concat().iter().map(|it| (*it).to_owned()));
    let mut found = 0;
    for text in texts {
        for text in [text.to_uppercase(), text.to_lowercase(), text] {
            let (all, unfiltered) = forms::find_by_all(&text);
            assert_eq!(forms::find(&text), all, "{text}");
            assert!(unfiltered <= WITHOUT_LITERALS_MAX, "{unfiltered}");
            found += all.len();
        }
    }
    assert!(found >= 100, "{found}");
}

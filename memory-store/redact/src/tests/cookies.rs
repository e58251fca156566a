//! Session cookies: in headers, tables, code and commands.

use super::*;

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
    // The list is longer than the part that is read of one list, wherever it is cut.
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
    // The first header is longer than the part that is read of one header.
    assert!(!redact(&headers).contains(&value));
}

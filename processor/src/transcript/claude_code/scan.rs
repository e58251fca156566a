//! Finds a few top-level strings of a JSON object without parsing the rest.
//!
//! More than half of a transcript's lines have no useful content (progress, copies of API requests, file snapshots),
//! and some have several megabytes. The scan finds fields such as `type`, `uuid` and `parentUuid` only at the top
//! level. The same words inside strings or nested objects do not count.

/// Fields that [`scan`] finds. Values are the raw bytes between the quotes; ids contain no escapes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LineHead<'a> {
    /// The type of the record.
    pub kind: &'a [u8],
    /// The id of the record.
    pub uuid: &'a [u8],
    /// The id of the previous record.
    pub parent: &'a [u8],
    /// The working directory, as written with JSON escapes.
    pub cwd: &'a [u8],
    /// The session, as written with JSON escapes.
    pub session: &'a [u8],
    /// Whether the first object ends on this line.
    pub closed: bool,
    /// End of the first object, if other text follows it on the line.
    pub end: Option<usize>,
}

/// Scans one line. If the JSON is damaged, returns the fields before the damage.
pub fn scan(line: &[u8]) -> LineHead<'_> {
    scan_until(line, |_| false)
}

/// Scans one line until the working directory and the session are found.
pub fn place(line: &[u8]) -> LineHead<'_> {
    scan_until(line, |head| !head.cwd.is_empty() && !head.session.is_empty())
}

fn scan_until(line: &[u8], is_enough: impl Fn(&LineHead<'_>) -> bool) -> LineHead<'_> {
    let mut head = LineHead::default();
    let mut at = 0;
    let mut depth = 0_u32;
    let mut key: &[u8] = b"";
    let mut value_next = false;
    while let Some(skip) = memchr_structure(&line[at..]) {
        at += skip;
        match line[at] {
            b'"' => {
                let Some(close) = string_end(line, at + 1) else { return head };
                let text = &line[at + 1..close];
                if depth == 1 {
                    if value_next {
                        keep(&mut head, key, text);
                        value_next = false;
                        if is_enough(&head) {
                            return head;
                        }
                    } else {
                        key = text;
                    }
                }
                at = close;
            }
            b':' if depth == 1 => value_next = true,
            b',' if depth == 1 => value_next = false,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let rest = &line[at + 1..];
                    head.closed = true;
                    head.end = (!rest.trim_ascii().is_empty()).then_some(at + 1);
                    return head;
                }
            }
            _ => {}
        }
        at += 1;
    }
    head
}

/// Maximum depth of nesting. The parser rejects a depth of 128.
const DEPTH_MAX: u32 = 100;

/// Returns the JSON with `null` instead of each value that is nested deeper than `DEPTH_MAX`. `None` if no value is
/// nested so deeply, or if the text ends inside such a value.
pub fn shallow(json: &[u8]) -> Option<Vec<u8>> {
    let mut kept = Vec::new();
    let (mut at, mut depth, mut copied) = (0, 0_u32, 0);
    while let Some(skip) = memchr_structure(&json[at..]) {
        at += skip;
        match json[at] {
            b'"' => at = string_end(json, at + 1)?,
            b'{' | b'[' => {
                depth += 1;
                if depth == DEPTH_MAX + 1 {
                    kept.extend_from_slice(&json[copied..at]);
                    kept.extend_from_slice(b"null");
                }
            }
            b'}' | b']' => {
                if depth == DEPTH_MAX + 1 {
                    copied = at + 1;
                }
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 || depth > DEPTH_MAX {
        return None;
    }
    kept.extend_from_slice(&json[copied..]);
    Some(kept)
}

fn keep<'a>(head: &mut LineHead<'a>, key: &[u8], text: &'a [u8]) {
    // A key may contain escapes, like any string.
    let plain = key.contains(&b'\\').then(|| unescaped(key)).flatten();
    match plain.as_deref().map_or(key, str::as_bytes) {
        b"type" => head.kind = text,
        b"uuid" => head.uuid = text,
        b"parentUuid" => head.parent = text,
        b"cwd" => head.cwd = text,
        b"sessionId" => head.session = text,
        _ => {}
    }
}

fn unescaped(key: &[u8]) -> Option<String> {
    serde_json::from_slice(&[b"\"", key, b"\""].concat()).ok()
}

fn memchr_structure(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| matches!(byte, b'"' | b':' | b',' | b'{' | b'[' | b'}' | b']'))
}

/// Returns the index of the closing quote of the string that begins at `from`.
fn string_end(line: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let at = from + memchr::memchr2(b'"', b'\\', line.get(from..)?)?;
        if line[at] == b'"' {
            return Some(at);
        }
        from = at + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_top_level_counts() {
        let line = br#"{"message":{"type":"message","uuid":"no"},"x":["type",":"],"text":"\"type\":\"user\"","type":"assistant","uuid":"u1","parentUuid":null,"cwd":"/w"}"#;
        let head = scan(line);
        assert_eq!(head.kind, b"assistant");
        assert_eq!(head.uuid, b"u1");
        assert_eq!(head.parent, b"");
        assert_eq!(head.cwd, b"/w");
        assert_eq!(head.end, None);
    }

    #[test]
    fn any_spelling_counts() {
        let line = br#"{ "message" : {"cwd":"no"} , "sess\u0069onId"	:	"s" , "cwd" :
            "\/w" , "type":"user"}"#;
        let head = place(line);
        assert_eq!((head.cwd, head.session, head.kind), (&b"\\/w"[..], &b"s"[..], &b""[..]));
        assert_eq!(scan(line).kind, b"user");
    }

    #[test]
    fn a_value_that_is_called_type_is_no_key() {
        assert_eq!(scan(br#"{"a":"type","b":"user","type":"system"}"#).kind, b"system");
    }

    #[test]
    fn the_end_of_the_first_of_two_objects_is_found() {
        let head = scan(br#"{"type":"user","a":{"b":"}"}}{"type":"assistant"}"#);
        assert_eq!((head.kind, head.end), (&b"user"[..], Some(29)));
    }

    #[test]
    fn what_lies_too_deep_is_left_out() {
        let nested = |levels: usize, inner: &str| {
            format!("{}{inner}{}", "[{\"a\":".repeat(levels), "}]".repeat(levels))
        };
        let read = |json: &[u8]| serde_json::from_slice::<serde_json::Value>(json);
        for levels in [49, 50, 51, 200, 100_000] {
            let deep = nested(levels, "\"x]}\"");
            let json = format!(r#"{{"type":"user","deep":[{deep},{deep}],"text":"[{{"}}"#);
            let shallow = shallow(json.as_bytes());
            assert_eq!(shallow.is_some(), levels > 49, "{levels}");
            let value = read(&shallow.unwrap_or(json.into_bytes())).unwrap();
            assert_eq!((&value["type"], &value["text"]), (&"user".into(), &"[{".into()));
            assert_eq!(value["deep"].as_array().unwrap().len(), 2);
        }
        assert_eq!(shallow(&nested(200, "1").as_bytes()[..500]), None, "torn");
    }

    #[test]
    fn damage_is_no_panic() {
        let line = br#"{"type":"user","a":{"b":"\""#;
        for end in 0..=line.len() {
            scan(&line[..end]);
        }
    }
}

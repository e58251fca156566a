//! From arguments to requests: what is missing gets its default, what is too long is bounded, and what makes no
//! sense is said in words that name the argument and what it takes.

use memory_store::memory::Scope;

use crate::arguments::Given;
use crate::backend::{Failure, Page, RecallRequest, RememberRequest, SessionsRequest};
use crate::tools::LIMIT_MAX;

/// Hits when a request names no limit.
const LIMIT_DEFAULT: i64 = 12;
/// Hits that paging may pass over.
const SKIP_MAX: usize = 500;
/// Characters of a query that are used.
const QUERY_CHARS_MAX: usize = 4_000;
/// Characters of a title.
const TITLE_CHARS_MAX: usize = 200;
/// Characters of a title that is made from the text.
const MADE_TITLE_CHARS_MAX: usize = 120;
/// Characters of a memory's text.
const TEXT_CHARS_MAX: usize = 20_000;
/// Tags, paths or ids of one request.
const ITEMS_MAX: usize = 32;
/// Characters of a tag, path or id.
const ITEM_CHARS_MAX: usize = 400;

impl RecallRequest {
    /// Reads the arguments of `recall`.
    ///
    /// # Errors
    /// When nothing is asked, or an argument makes no sense.
    pub fn read(given: &mut Given) -> Result<Self, Failure> {
        let request = Self {
            query: query(given),
            ids: items("ids", given)?,
            kinds: given.kinds("kinds"),
            tags: items("tags", given)?,
            paths: items("paths", given)?,
            since: item("since", given)?,
            before: item("before", given)?,
            as_of: item("as_of", given)?,
            history: given.flag("history").unwrap_or_default(),
            titles: given.text("detail") == Some("titles"),
            all_projects: given.text("projects") == Some("all"),
            page: page(given)?,
            given: given.names(),
        };
        let asks = request.query.is_some()
            || !(request.ids.is_empty() && request.paths.is_empty())
            || !(request.kinds.is_empty() && request.tags.is_empty())
            || request.since.is_some()
            || request.before.is_some();
        if asks {
            return Ok(request);
        }
        Err(Failure::Request(
            "`query`, `ids` or `paths` is missing: say what to look for, such as {\"query\": \
             \"why cents and not floats\"}, {\"ids\": [\"k3v9qa\"]} or {\"paths\": [\"src/a.rs\"]}"
                .to_owned(),
        ))
    }
}

impl SessionsRequest {
    /// Reads the arguments of `search_sessions`; without any the latest sessions are listed.
    ///
    /// # Errors
    /// When an argument makes no sense.
    pub fn read(given: &mut Given) -> Result<Self, Failure> {
        let turns = match given.text("turns") {
            None => None,
            Some(text) => Some(range(text).ok_or_else(|| {
                Failure::Request(format!(
                    "`turns` takes numbers such as 3-7, 5 or 8-, and not `{}`",
                    text.chars().take(40).collect::<String>()
                ))
            })?),
        };
        let request = Self {
            query: query(given),
            session: item("session", given)?,
            turns,
            outline: given.flag("outline").unwrap_or_default(),
            branch: item("branch", given)?,
            files: items("file", given)?,
            since: item("since", given)?,
            before: item("before", given)?,
            thinking: given.flag("thinking").unwrap_or_default(),
            page: page(given)?,
            given: given.names(),
        };
        if request.session.is_none() && (request.turns.is_some() || request.outline) {
            return Err(Failure::Request(
                "`turns` and `outline` are of one session: give its id as `session` (a search or a \
                 list names it)"
                    .to_owned(),
            ));
        }
        Ok(request)
    }
}

impl RememberRequest {
    /// Reads the arguments of `remember`.
    ///
    /// # Errors
    /// When there is nothing to save, or more than one memory may hold.
    pub fn read(given: &mut Given) -> Result<Self, Failure> {
        let text = given.text("text").unwrap_or_default().to_owned();
        let title = one_line(given.text("title").unwrap_or_default());
        let id = item("id", given)?;
        for (name, text, chars_max) in
            [("title", &title, TITLE_CHARS_MAX), ("text", &text, TEXT_CHARS_MAX)]
        {
            let chars = text.chars().count();
            if chars > chars_max {
                return Err(Failure::Request(format!(
                    "`{name}` has {chars} characters and may have {chars_max}: shorten it, or save several memories"
                )));
            }
        }
        let (title, text) = match (id.is_some(), title.is_empty()) {
            (true, _) | (_, false) => (title, text),
            (false, true) => titled(&text).ok_or_else(|| {
                Failure::Request(
                    "`title` or `text` is missing: say the thing in one line, and the reason below \
                     it"
                    .to_owned(),
                )
            })?,
        };
        let kinds = given.kinds("kind");
        if kinds.is_empty() && id.is_none() {
            given.notes.push(
                "It is saved as a fact; `kind` takes decision, convention, preference, gotcha, fix \
                 and others."
                    .to_owned(),
            );
        }
        if let (Some(id), true) = (&id, given.is_emptied("valid_until")) {
            given.notes.push(format!(
                "`valid_until` stays as it is: the user removes it with `throughline edit {id}`."
            ));
        }
        let still_true = given.flag("still_true").unwrap_or_default();
        if still_true && id.is_none() {
            given.notes.extend(unused(&["still_true"], &[], "a new memory"));
        }
        let (tags, paths) = (items("tags", given)?, items("paths", given)?);
        let supersedes = items("supersedes", given)?;
        Ok(Self {
            id,
            kind: kinds.first().copied(),
            title,
            text,
            tags,
            paths,
            scope: given.text("scope").map(|scope| match scope {
                "user" => Scope::User,
                _ => Scope::Project,
            }),
            supersedes,
            both_hold: given.flag("both_hold").unwrap_or_default(),
            pin: given.flag("pin"),
            still_true,
            valid_until: item("valid_until", given)?,
            notes: std::mem::take(&mut given.notes),
        })
    }
}

/// Names the given arguments that an answer of some kind does not use.
pub fn unused(given: &[&str], used: &[&str], answer: &str) -> Option<String> {
    let unused = given.iter().filter(|name| **name != "format" && !used.contains(name));
    let named: Vec<String> = unused.map(|name| format!("`{name}`")).collect();
    match named.as_slice() {
        [] => None,
        [one] => Some(format!("{one} does not apply to {answer} and was ignored.")),
        several => {
            Some(format!("{} do not apply to {answer} and were ignored.", several.join(", ")))
        }
    }
}

/// The id in the arguments of `forget`.
///
/// # Errors
/// When it is missing.
pub fn id(given: &mut Given) -> Result<String, Failure> {
    item("id", given)?.ok_or_else(|| {
        Failure::Request(
            "`id` is missing: it takes the short id that `recall` shows, such as k3v9qa".to_owned(),
        )
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A title made from a text: its first line or sentence, and what is left of the text.
fn titled(text: &str) -> Option<(String, String)> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let line = line.trim().trim_start_matches(['#', '-', '*', ' ']);
    let sentence = line.find(". ").map_or(line, |end| &line[..end]);
    let sentence = one_line(sentence);
    let bare = sentence.trim_end_matches('.').to_owned();
    let title = match bare.char_indices().nth(MADE_TITLE_CHARS_MAX) {
        None => bare,
        Some((end, _)) => {
            let head = &bare[..end];
            format!("{}…", head[..head.rfind(' ').unwrap_or(end)].trim_end())
        }
    };
    // A text that is all in its title is not said twice.
    let is_all = one_line(text).trim_end_matches('.') == title;
    (!title.is_empty()).then(|| (title, if is_all { String::new() } else { text.to_owned() }))
}

fn query(given: &Given) -> Option<String> {
    Some(given.text("query")?.chars().take(QUERY_CHARS_MAX).collect())
}

/// A short text of one line.
fn item(name: &str, given: &Given) -> Result<Option<String>, Failure> {
    let Some(text) = given.text(name) else { return Ok(None) };
    if text.chars().count() > ITEM_CHARS_MAX {
        return Err(Failure::Request(format!(
            "`{name}` is longer than {ITEM_CHARS_MAX} characters"
        )));
    }
    Ok(Some(one_line(text)))
}

/// The items of a list, as many as there may be; which are left out is noted, and refused where that leaves none.
fn items(name: &str, given: &mut Given) -> Result<Vec<String>, Failure> {
    let mut items: Vec<String> = given.list(name).iter().map(|item| one_line(item)).collect();
    items.retain(|item| !item.is_empty());
    let asked = items.len();
    items.retain(|item| item.chars().count() <= ITEM_CHARS_MAX);
    let too_long = asked - items.len();
    if too_long > 0 && items.is_empty() {
        return Err(Failure::Request(format!(
            "each item of `{name}` may have at most {ITEM_CHARS_MAX} characters"
        )));
    }
    let too_many = items.len().saturating_sub(ITEMS_MAX);
    items.truncate(ITEMS_MAX);
    if too_long > 0 {
        given.notes.push(format!(
            "{too_long} of `{name}` were left out: each may have {ITEM_CHARS_MAX} characters."
        ));
    }
    if too_many > 0 {
        given.notes.push(format!(
            "{too_many} of `{name}` were left out: a call takes {ITEMS_MAX} of them. Ask again with the rest."
        ));
    }
    Ok(items)
}

/// `5`, `3-7`, `3..7`, `3 to 7`, `3, 4, 5`; `8-` for all from there on.
fn range(text: &str) -> Option<(u32, u32)> {
    let numbers: Option<Vec<u32>> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse().ok())
        .collect();
    let goes_on = text.trim_end().ends_with(['-', '.', '+']);
    let (first, last) = match numbers?.as_slice() {
        [one] if goes_on => (*one, u32::MAX),
        [one] => (*one, *one),
        [first, .., last] => (*first, *last),
        [] => return None,
    };
    let first = first.max(1);
    (first <= last).then_some((first, last))
}

fn page(given: &Given) -> Result<Page, Failure> {
    let limit = given.number("limit").unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    let limit = usize::try_from(limit).unwrap_or(1);
    let question = given.question();
    let Some(cursor) = given.text("cursor") else {
        return Ok(Page { skip: 0, last: None, limit, question });
    };
    let mut parts = cursor.splitn(3, '.');
    let (asked, skip, last) = (parts.next(), parts.next(), parts.next());
    let skip = skip.and_then(|skip| usize::from_str_radix(skip, 16).ok());
    match (asked, skip, last) {
        (Some(asked), Some(skip), Some(last)) if skip <= SKIP_MAX && asked == question => {
            Ok(Page { skip, last: Some(last.to_owned()), limit, question })
        }
        (Some(_), Some(skip), Some(_)) if skip <= SKIP_MAX => Err(Failure::Request(
            "`cursor` belongs to another question: repeat the arguments of the call that gave it, \
             or leave it out to start again"
                .to_owned(),
        )),
        _ => Err(Failure::Request(
            "`cursor` takes the next_cursor of an earlier answer, as it stands there: leave it out \
             to start again"
                .to_owned(),
        )),
    }
}

impl Page {
    /// The cursor that leads to what comes after these: so many were given so far, `last` at their end.
    pub fn after(&self, skip: usize, last: &str) -> Option<String> {
        // A prompt has no question that could be asked again.
        let leads_on = skip <= SKIP_MAX && !self.question.is_empty();
        leads_on.then(|| format!("{}.{skip:x}.{last}", self.question))
    }
}

#[cfg(test)]
mod tests {
    use memory_store::Kind;
    use serde_json::{Value, json};

    use super::*;
    use crate::tools::Tool;

    fn given(tool: Tool, object: &Value) -> Result<Given, Failure> {
        Given::read(tool.name(), tool.arguments(), object.as_object().cloned())
    }

    fn recall(object: Value) -> Result<RecallRequest, Failure> {
        RecallRequest::read(&mut given(Tool::Recall, &object)?)
    }

    #[test]
    fn arguments_become_requests_within_their_bounds() {
        let asked = json!({"query": " x ", "limit": 999, "kinds": ["todo"]});
        let request = recall(asked.clone()).unwrap();
        assert_eq!((request.query.as_deref(), request.kinds[0]), (Some("x"), Kind::Task));
        assert_eq!((request.page.skip, request.page.limit), (0, 50));
        let mut next = asked;
        next["cursor"] = request.page.after(8, "abc").unwrap().into();
        let page = recall(next.clone()).unwrap().page;
        assert_eq!((page.skip, page.last.as_deref()), (8, Some("abc")));
        next["query"] = "another".into();
        assert!(matches!(recall(next), Err(Failure::Request(told)) if told.contains("another")));
        assert_eq!(request.page.after(SKIP_MAX + 1, "abc"), None);
        for wrong in [
            json!({}),
            json!({"query": ""}),
            json!({"query": {}}),
            json!({"query": "x", "kinds": ["poem"]}),
            json!({"query": "x", "cursor": "after-8"}),
            json!({"query": "x", "cursor": "a.fffff.b"}),
        ] {
            assert!(matches!(recall(wrong.clone()), Err(Failure::Request(_))), "{wrong}");
        }
        assert_eq!(recall(json!({"query": 7})).unwrap().query.as_deref(), Some("7"));
    }

    #[test]
    fn what_is_left_out_of_a_list_is_said() {
        let many: Vec<String> = (0..40).map(|number| format!("k3v9q{number:02}")).collect();
        let mut asked = given(Tool::Recall, &json!({"ids": many})).unwrap();
        assert_eq!(RecallRequest::read(&mut asked).unwrap().ids.len(), ITEMS_MAX);
        assert_eq!(asked.notes.len(), 1);
        assert!(asked.notes[0].starts_with("8 of `ids` were left out"), "{:?}", asked.notes);
        for name in ["ids", "paths", "tags"] {
            let told = recall(json!({name: ["x".repeat(500)]})).unwrap_err();
            let Failure::Request(told) = told else { panic!("{told:?}") };
            assert!(told.contains(name) && told.contains("400 characters"), "{told}");
        }
        let asked = json!({"title": "x", "kind": "fact", "tags": ["", " "], "paths": []});
        let request = RememberRequest::read(&mut given(Tool::Remember, &asked).unwrap()).unwrap();
        assert_eq!((request.tags.len(), request.notes.len()), (0, 0), "{:?}", request.notes);
    }

    #[test]
    fn a_title_is_made_from_the_text() {
        let made = |text: &str| titled(text).unwrap();
        let (title, text) = made("- Never use floats. They drift.");
        assert_eq!(
            (title.as_str(), text.as_str()),
            ("Never use floats", "- Never use floats. They drift.")
        );
        assert_eq!(made("Use cents."), ("Use cents".to_owned(), String::new()));
        let long = made(&"many words ".repeat(40)).0;
        assert!(long.ends_with('…') && long.chars().count() <= MADE_TITLE_CHARS_MAX + 1, "{long}");
        assert_eq!(titled(" \n "), None);
    }

    #[test]
    fn turns_are_named_in_several_ways() {
        for (text, turns) in [
            ("3-7", Some((3, 7))),
            ("5", Some((5, 5))),
            ("3..7", Some((3, 7))),
            ("turns 3 to 7", Some((3, 7))),
            ("0-2", Some((1, 2))),
            ("1-999", Some((1, 999))),
            ("8-", Some((8, u32::MAX))),
            ("8..", Some((8, u32::MAX))),
            ("3\n4\n5", Some((3, 5))),
            ("7-3", None),
            ("all", None),
        ] {
            assert_eq!(range(text), turns, "{text}");
        }
    }
}

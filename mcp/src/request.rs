//! Requests: the arguments of each tool as a type, from which the schema is generated, and checks that concern several
//! arguments. The comments of offered arguments are descriptions for the model.

use memory_store::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arguments::{
    choice, flag, given, id, ids, is_empty, kind, kind_schema, kinds, kinds_schema, limit, line,
    one_line, paths, query, read, text, turns, words,
};
use crate::backend::ToolError;

/// Number of hits without an explicit limit.
pub(crate) const LIMIT_DEFAULT: usize = 12;
/// Maximum hits that paging may skip.
const SKIP_MAX: usize = 500;
/// Maximum characters of a memory's title.
const TITLE_CHARS_MAX: usize = 200;
/// Maximum characters of a memory's text.
const TEXT_CHARS_MAX: usize = 20_000;
/// Maximum characters of an argument of one line.
const LINE_CHARS_MAX: usize = 400;
/// Maximum characters of a title that is generated from the text.
const MADE_TITLE_CHARS_MAX: usize = 120;

/// Amount of text in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    Full,
    Titles,
}

/// Projects whose memories are searched.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Projects {
    This,
    All,
}

/// Projects that a memory applies to.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    Project,
    User,
}

/// A part of a long list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Number of hits on earlier pages.
    pub skip: usize,
    /// Last hit of the previous page, since the list may have changed.
    pub last: Option<String>,
    /// Maximum number of hits on this page.
    pub limit: usize,
    /// Hash of the query.
    pub question: String,
}

/// Arguments of `recall`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct RecallRequest {
    /// Question, words, file name or error text. Filters: AND, OR, NOT, kind:fix, tag:ci, since:2026-10-01,
    /// before:"last week".
    #[serde(alias = "q", alias = "text", alias = "search", alias = "question", alias = "keywords")]
    #[serde(alias = "topic", deserialize_with = "query")]
    pub query: Option<String>,
    /// Return full texts of these memories.
    #[serde(alias = "id", alias = "memory_id", alias = "memory_ids", deserialize_with = "ids")]
    pub ids: Vec<String>,
    /// Files. With query: rank their memories first. Alone: return what matters for a task in them.
    #[serde(alias = "path", alias = "files", alias = "file", alias = "file_path")]
    #[serde(alias = "file_paths", deserialize_with = "paths")]
    pub paths: Vec<String>,
    /// Only these kinds.
    #[serde(alias = "kind", alias = "type", alias = "types", deserialize_with = "kinds")]
    #[schemars(schema_with = "kinds_schema")]
    pub kinds: Vec<Kind>,
    /// Default full.
    #[serde(deserialize_with = "choice")]
    pub detail: Option<Detail>,
    /// Answer as of this date.
    #[serde(alias = "at", alias = "on", deserialize_with = "line::<_, _, LINE_CHARS_MAX>")]
    pub as_of: Option<String>,
    /// Include superseded and expired memories.
    #[serde(alias = "include_superseded", deserialize_with = "flag")]
    pub history: bool,
    /// all: include projects that the user shares.
    #[serde(alias = "project", alias = "scope", deserialize_with = "choice")]
    pub projects: Option<Projects>,
    /// 1 to 50, default 12.
    #[serde(alias = "max", alias = "max_results", alias = "count", alias = "n", alias = "top_k")]
    #[serde(deserialize_with = "limit")]
    pub limit: Option<usize>,
    /// next_cursor of an answer: return what follows.
    #[serde(alias = "next_cursor", deserialize_with = "line::<_, _, LINE_CHARS_MAX>")]
    pub cursor: Option<String>,
    /// Only what has one of these tags.
    #[serde(alias = "tag", deserialize_with = "words")]
    #[schemars(skip)]
    pub tags: Vec<String>,
    /// Nothing older, in words.
    #[serde(alias = "after", alias = "from", deserialize_with = "line::<_, _, LINE_CHARS_MAX>")]
    #[schemars(skip)]
    pub since: Option<String>,
    /// Nothing newer, in words.
    #[serde(alias = "until", deserialize_with = "line::<_, _, LINE_CHARS_MAX>")]
    #[schemars(skip)]
    pub before: Option<String>,
    /// Part of the list, from `limit` and `cursor`.
    #[serde(skip)]
    pub page: Page,
}

/// Arguments of `remember`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct RememberRequest {
    /// Default fact.
    #[serde(alias = "type", alias = "category", alias = "kinds", deserialize_with = "kind")]
    #[schemars(schema_with = "kind_schema")]
    pub kind: Option<Kind>,
    /// One line.
    #[serde(alias = "name", alias = "summary", alias = "subject")]
    #[serde(deserialize_with = "line::<_, _, TITLE_CHARS_MAX>")]
    pub title: String,
    /// Self-contained sentences with the reason; readers do not see this conversation.
    #[serde(alias = "content", alias = "body", alias = "memory", alias = "details")]
    #[serde(
        alias = "description",
        alias = "note",
        deserialize_with = "text::<_, _, TEXT_CHARS_MAX>"
    )]
    pub text: String,
    /// Search terms.
    #[serde(alias = "tag", alias = "keywords", deserialize_with = "words")]
    pub tags: Vec<String>,
    /// Files it concerns.
    #[serde(alias = "path", alias = "files", alias = "file", alias = "file_path")]
    #[serde(alias = "file_paths", deserialize_with = "paths")]
    pub paths: Vec<String>,
    /// Update this memory: text, title, kind, paths, pin, valid_until, still_true.
    #[serde(alias = "memory_id", deserialize_with = "id")]
    pub id: Option<String>,
    /// Ids of memories that this one replaces.
    #[serde(alias = "replaces", deserialize_with = "ids")]
    pub supersedes: Vec<String>,
    /// It and the memories that an answer named are all true.
    #[serde(deserialize_with = "flag")]
    pub both_hold: bool,
    /// Always show at session start.
    #[serde(alias = "pinned", deserialize_with = "flag")]
    pub pin: Option<bool>,
    /// With id: checked, still true.
    #[serde(alias = "confirm", deserialize_with = "flag")]
    pub still_true: bool,
    /// Last day of validity.
    #[serde(alias = "expires", alias = "until", deserialize_with = "line::<_, _, LINE_CHARS_MAX>")]
    pub valid_until: Option<String>,
    /// This project, or every project of the user. Only the user can choose the latter.
    #[serde(deserialize_with = "choice")]
    #[schemars(skip)]
    pub scope: Option<Reach>,
}

/// Arguments of `forget`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct ForgetRequest {
    /// Id from a `recall` answer.
    #[serde(alias = "memory_id", alias = "ids", deserialize_with = "id")]
    #[schemars(required)]
    pub id: Option<String>,
}

/// Arguments of `search_sessions`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct SessionsRequest {
    /// Words that were said, or an error. Filters as in recall.
    #[serde(alias = "q", alias = "text", alias = "search", alias = "question")]
    #[serde(deserialize_with = "query")]
    pub query: Option<String>,
    /// Only this session: its id or the start of it.
    #[serde(alias = "session_id", alias = "id", deserialize_with = "line::<_, _, LINE_CHARS_MAX>")]
    pub session: Option<String>,
    /// With session: read these turns, such as 3-7 or 8-.
    #[serde(alias = "turn", alias = "range", deserialize_with = "turns")]
    #[schemars(with = "String")]
    pub turns: Option<(u32, u32)>,
    /// With session: one line for each turn.
    #[serde(alias = "toc", deserialize_with = "flag")]
    pub outline: bool,
    /// Sessions on this git branch.
    #[serde(alias = "git_branch", deserialize_with = "line::<_, _, LINE_CHARS_MAX>")]
    pub branch: Option<String>,
    /// Sessions that changed this file.
    #[serde(alias = "path", alias = "paths", alias = "files", alias = "file_path")]
    #[serde(alias = "file_paths", deserialize_with = "paths")]
    #[schemars(with = "String")]
    pub file: Vec<String>,
    /// Earliest date.
    #[serde(alias = "after", alias = "from", deserialize_with = "line::<_, _, LINE_CHARS_MAX>")]
    pub since: Option<String>,
    /// Latest date.
    #[serde(alias = "until", alias = "to", deserialize_with = "line::<_, _, LINE_CHARS_MAX>")]
    pub before: Option<String>,
    /// Search the model's thinking instead.
    #[serde(deserialize_with = "flag")]
    pub thinking: bool,
    /// 1 to 50, default 12.
    #[serde(alias = "max", alias = "max_results", alias = "count", alias = "n", alias = "top_k")]
    #[serde(deserialize_with = "limit")]
    pub limit: Option<usize>,
    /// next_cursor of an answer: return what follows.
    #[serde(alias = "next_cursor", deserialize_with = "line::<_, _, LINE_CHARS_MAX>")]
    pub cursor: Option<String>,
    /// Part of the list, from `limit` and `cursor`.
    #[serde(skip)]
    pub page: Page,
}

/// Arguments of `status`: none.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct StatusRequest {}

impl RecallRequest {
    /// Parses the arguments of `recall`.
    ///
    /// # Errors
    /// When nothing is asked, or an argument is wrong.
    pub fn read(object: Map<String, Value>) -> Result<(Self, Vec<String>), ToolError> {
        let (mut request, notes) = read::<Self>("recall", object)?;
        request.page = Page::read(request.limit, request.cursor.as_deref(), &given(&request))?;
        let asks = request.query.is_some()
            || !(request.ids.is_empty() && request.paths.is_empty())
            || !(request.kinds.is_empty() && request.tags.is_empty())
            || request.since.is_some()
            || request.before.is_some();
        if asks {
            return Ok((request, notes));
        }
        Err(ToolError::Request(
            "`query`, `ids` or `paths` is missing: say what to look for, such as {\"query\": \
             \"why cents and not floats\"}, {\"ids\": [\"k3v9qa\"]} or {\"paths\": [\"src/a.rs\"]}"
                .to_owned(),
        ))
    }

    /// Returns whether the answer contains only titles.
    pub fn titles(&self) -> bool {
        self.detail == Some(Detail::Titles)
    }
}

impl SessionsRequest {
    /// Parses the arguments of `search_sessions`; without any, the latest sessions are listed.
    ///
    /// # Errors
    /// When an argument is wrong.
    pub fn read(object: Map<String, Value>) -> Result<(Self, Vec<String>), ToolError> {
        let (mut request, notes) = read::<Self>("search_sessions", object)?;
        request.page = Page::read(request.limit, request.cursor.as_deref(), &given(&request))?;
        if request.session.is_none() && (request.turns.is_some() || request.outline) {
            return Err(ToolError::Request(
                "`turns` and `outline` are of one session: give its id as `session` (a search or a \
                 list names it)"
                    .to_owned(),
            ));
        }
        Ok((request, notes))
    }
}

impl RememberRequest {
    /// Parses the arguments of `remember`.
    ///
    /// # Errors
    /// When there is nothing to save, or an argument is wrong.
    pub fn read(object: Map<String, Value>) -> Result<(Self, Vec<String>), ToolError> {
        let is_emptied = object.get("valid_until").is_some_and(is_empty);
        let (mut request, mut notes) = read::<Self>("remember", object)?;
        if let Some(id) = &request.id {
            notes.extend(is_emptied.then(|| {
                format!("`valid_until` stays as it is: the user removes it with `throughline edit {id}`.")
            }));
            return Ok((request, notes));
        }
        if request.title.is_empty() {
            (request.title, request.text) = titled(&request.text).ok_or_else(|| {
                ToolError::Request(
                    "`title` or `text` is missing: say the thing in one line, and the reason below \
                     it"
                    .to_owned(),
                )
            })?;
        }
        if request.kind.is_none() {
            notes.push(
                "It is saved as a fact; `kind` takes decision, convention, preference, gotcha, fix \
                 and others."
                    .to_owned(),
            );
        }
        if request.still_true {
            notes.push("`still_true` does not apply to a new memory and was ignored.".to_owned());
        }
        Ok((request, notes))
    }
}

impl ForgetRequest {
    /// Parses the arguments of `forget`, and returns the id.
    ///
    /// # Errors
    /// When it is missing.
    pub fn read(object: Map<String, Value>) -> Result<(String, Vec<String>), ToolError> {
        let (request, notes) = read::<Self>("forget", object)?;
        let id = request.id.ok_or_else(|| {
            ToolError::Request(
                "`id` is missing: it takes the short id that `recall` shows, such as k3v9qa"
                    .to_owned(),
            )
        })?;
        Ok((id, notes))
    }
}

/// Names the arguments of a request that a kind of answer does not use.
pub fn unused(request: &impl Serialize, used: &[&str], answer: &str) -> Option<String> {
    let given = given(request);
    let unused = given.keys().filter(|name| !used.contains(&name.as_str()));
    let mut named: Vec<String> = unused.map(|name| format!("`{name}`")).collect();
    named.sort();
    let (do_not, were) = if named.len() == 1 { ("does not", "was") } else { ("do not", "were") };
    (!named.is_empty())
        .then(|| format!("{} {do_not} apply to {answer} and {were} ignored.", named.join(", ")))
}

/// Generates a title from the first line or sentence of a text, and returns it with the rest.
fn titled(text: &str) -> Option<(String, String)> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let line = line.trim().trim_start_matches(['#', '-', '*', ' ']);
    let sentence = line.find(". ").map_or(line, |end| &line[..end]);
    let bare = one_line(sentence).trim_end_matches('.').to_owned();
    let title = match bare.char_indices().nth(MADE_TITLE_CHARS_MAX) {
        None => bare,
        Some((end, _)) => {
            let head = &bare[..end];
            format!("{}…", head[..head.rfind(' ').unwrap_or(end)].trim_end())
        }
    };
    let is_all = one_line(text).trim_end_matches('.') == title;
    (!title.is_empty()).then(|| (title, if is_all { String::new() } else { text.to_owned() }))
}

impl Page {
    fn read(
        limit: Option<usize>,
        cursor: Option<&str>,
        given: &Map<String, Value>,
    ) -> Result<Self, ToolError> {
        let mut hasher = blake3::Hasher::new();
        let is_asked = |name: &str| !matches!(name, "cursor" | "limit" | "detail");
        for (name, value) in given.iter().filter(|(name, _)| is_asked(name)) {
            hasher.update(format!("{name}={value};").as_bytes());
        }
        let question = hasher.finalize().to_hex()[..6].to_owned();
        let limit = limit.unwrap_or(LIMIT_DEFAULT);
        let Some(cursor) = cursor else { return Ok(Self { skip: 0, last: None, limit, question }) };
        let mut parts = cursor.splitn(3, '.');
        let (asked, skip, last) = (parts.next(), parts.next(), parts.next());
        let skip = skip.and_then(|skip| usize::from_str_radix(skip, 16).ok());
        match (skip.filter(|skip| *skip <= SKIP_MAX), last) {
            (Some(skip), Some(last)) if asked == Some(&question) => {
                Ok(Self { skip, last: Some(last.to_owned()), limit, question })
            }
            (Some(_), Some(_)) => Err(ToolError::Request(
                "`cursor` belongs to another question: repeat the arguments of the call that gave it, \
                 or leave it out to start again"
                    .to_owned(),
            )),
            _ => Err(ToolError::Request(
                "`cursor` takes the next_cursor of an earlier answer, as it stands there: leave it out \
                 to start again"
                    .to_owned(),
            )),
        }
    }

    /// Returns the cursor for the next page, given the number of hits so far, and the last one.
    pub fn after(&self, skip: usize, last: &str) -> Option<String> {
        // A prompt has no query that could be repeated.
        let leads_on = skip <= SKIP_MAX && !self.question.is_empty();
        leads_on.then(|| format!("{}.{skip:x}.{last}", self.question))
    }
}
#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn recall(object: &Value) -> Result<RecallRequest, ToolError> {
        RecallRequest::read(object.as_object().cloned().unwrap()).map(|(request, _)| request)
    }

    #[test]
    fn arguments_become_requests_within_their_bounds() {
        let mut asked = json!({"query": " x ", "limit": 999, "kinds": ["todo"]});
        let request = recall(&asked).unwrap();
        assert_eq!((request.query.as_deref(), request.kinds[0]), (Some("x"), Kind::Task));
        assert_eq!((request.page.skip, request.page.limit), (0, 50));
        asked["cursor"] = request.page.after(8, "abc").unwrap().into();
        asked["limit"] = 3.into();
        let page = recall(&asked).unwrap().page;
        assert_eq!((page.skip, page.last.as_deref(), page.limit), (8, Some("abc"), 3));
        asked["query"] = "another".into();
        assert!(
            matches!(recall(&asked), Err(ToolError::Request(text)) if text.contains("another"))
        );
        assert_eq!(request.page.after(SKIP_MAX + 1, "abc"), None);
        for wrong in [
            json!({}),
            json!({"query": ""}),
            json!({"query": {}}),
            json!({"query": "x", "kinds": ["poem"]}),
            json!({"query": "x", "cursor": "after-8"}),
            json!({"query": "x", "cursor": "a.fffff.b"}),
        ] {
            assert!(matches!(recall(&wrong), Err(ToolError::Request(_))), "{wrong}");
        }
        assert_eq!(recall(&json!({"query": 7})).unwrap().query.as_deref(), Some("7"));
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
}

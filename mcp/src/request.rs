//! Requests: the arguments of each tool as a type, from which the schema is generated, and checks that concern several
//! arguments. The comments of offered arguments are descriptions for the model.

use memory_store::Kind;
use memory_store::knowledge::graph::DEPTH_MAX;
use memory_store::memory::agent_named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::arguments::{
    given, is_empty, kind_schema, kinds_schema, one_line, outcome_schema, read,
};
use crate::backend::ToolError;

/// Number of hits without an explicit limit.
pub(crate) const LIMIT_DEFAULT: usize = 12;
/// Maximum hits on a page.
const LIMIT_MAX: usize = 50;
/// Maximum hits that paging may skip.
const SKIP_MAX: usize = 500;
/// Maximum characters of a memory's title.
const TITLE_CHARS_MAX: usize = 200;
/// Maximum characters of a memory's text.
const TEXT_CHARS_MAX: usize = 20_000;
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
    Agent,
}

/// What a session did, at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct Outcome {
    pub done: Vec<String>,
    pub decided: Vec<String>,
    pub open: Vec<String>,
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
    /// Plain words or error text; ranked. Operators: AND, OR, NOT, kind:fix, tag:ci, topic:shop,
    /// since:2026-10-01, before:"last week".
    #[schemars(extend("form" = "query"))]
    pub query: Option<String>,
    /// Return the full texts of these memories.
    #[schemars(extend("form" = "id"))]
    pub ids: Vec<String>,
    /// Files. With query: rank their memories first. Alone: return a brief for work on them.
    #[schemars(extend("form" = "path"))]
    pub paths: Vec<String>,
    /// Only these kinds.
    #[schemars(schema_with = "kinds_schema")]
    pub kinds: Vec<Kind>,
    /// Name, file or id: its facts and connections.
    pub about: Option<String>,
    /// With about: 1 to 5 steps.
    #[schemars(range(min = 1, max = DEPTH_MAX))]
    pub depth: Option<usize>,
    /// Only this topic or area.
    #[schemars(extend("hidden" = true))]
    pub topic: Option<String>,
    /// Your name as a subagent.
    pub agent: Option<String>,
    /// Default full.
    pub detail: Option<Detail>,
    /// Answer as of the end of this day (ISO date); needs no history.
    pub as_of: Option<String>,
    /// Include superseded and expired memories.
    pub history: bool,
    /// all: include projects that the user shares.
    pub projects: Option<Projects>,
    /// 1 to 50, default 12.
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    pub limit: Option<usize>,
    /// Next page: next_cursor of an answer, same arguments.
    pub cursor: Option<String>,
    /// Only memories with one of these tags.
    #[schemars(extend("hidden" = true))]
    pub tags: Vec<String>,
    /// Earliest date, in words.
    #[schemars(extend("hidden" = true))]
    pub since: Option<String>,
    /// First excluded date, in words.
    #[schemars(extend("hidden" = true))]
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
    #[schemars(schema_with = "kind_schema")]
    pub kind: Option<Kind>,
    /// Statement in one line.
    #[schemars(length(max = TITLE_CHARS_MAX))]
    pub title: String,
    /// Reason and details, understandable without this conversation.
    #[schemars(length(max = TEXT_CHARS_MAX))]
    pub text: String,
    /// Search terms.
    pub tags: Vec<String>,
    /// Files it is about.
    #[schemars(extend("form" = "path"))]
    pub paths: Vec<String>,
    /// Update this memory; omitted arguments keep their values.
    #[schemars(extend("form" = "id"))]
    pub id: Option<String>,
    /// Ids of memories that this one replaces.
    #[schemars(extend("form" = "id"))]
    pub supersedes: Vec<String>,
    /// This memory and those named by the answer are all valid.
    pub both_hold: bool,
    /// Show at every session start.
    pub pin: Option<bool>,
    /// With id: confirm that it is still true.
    pub still_true: bool,
    /// Last valid day (ISO date).
    pub valid_until: Option<String>,
    /// "subject | predicate | object [| from..to]".
    #[schemars(extend("form" = "fact"))]
    pub facts: Vec<String>,
    /// Facts that ended, wherever stated.
    #[schemars(extend("form" = "fact"))]
    pub ends: Vec<String>,
    /// Links such as "refines ID"; also supports, caused-by, part-of, others.
    #[schemars(extend("form" = "relation"))]
    pub relations: Vec<String>,
    /// "area/topic".
    pub topic: Option<String>,
    /// With id: whether it helped.
    pub helpful: Option<bool>,
    /// Only report conflicts.
    pub check: bool,
    /// At a session's end: lists done, decided, open.
    #[schemars(schema_with = "outcome_schema", extend("form" = "outcome"))]
    pub outcome: Option<Outcome>,
    /// Only for this subagent.
    pub agent: Option<String>,
    /// Projects that it applies to. Only the user can choose all.
    #[schemars(extend("hidden" = true))]
    pub scope: Option<Reach>,
}

/// Arguments of `forget`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["ids"]))]
pub struct ForgetRequest {
    /// Shown by recall.
    #[schemars(extend("form" = "id"))]
    pub ids: Vec<String>,
}

/// Arguments of `search_sessions`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct SessionsRequest {
    /// As in recall.
    #[schemars(extend("form" = "query"))]
    pub query: Option<String>,
    /// Only this session: its id or a prefix.
    pub session: Option<String>,
    /// With session: read these turns, such as 3-7 or 8-.
    #[schemars(with = "String", extend("form" = "turns"))]
    pub turns: Option<(u32, u32)>,
    /// With session: one line for each turn.
    pub outline: bool,
    /// Only on this git branch.
    pub branch: Option<String>,
    /// Only those that changed one of these files.
    #[schemars(extend("form" = "path"))]
    pub paths: Vec<String>,
    /// From this date on.
    pub since: Option<String>,
    /// Before this date.
    pub before: Option<String>,
    /// Nothing after this date.
    #[schemars(extend("hidden" = true))]
    pub as_of: Option<String>,
    /// Search the model's reasoning instead.
    pub thinking: bool,
    /// 1 to 50, default 12.
    #[schemars(range(min = 1, max = LIMIT_MAX))]
    pub limit: Option<usize>,
    /// Next page: next_cursor of an answer, same arguments.
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
    /// Returns an error if nothing is requested, or an argument is invalid.
    pub fn read(object: Map<String, Value>) -> Result<(Self, Vec<String>), ToolError> {
        let (mut request, notes) = read::<Self>("recall", object)?;
        request.page = Page::read(request.limit, request.cursor.as_deref(), &given(&request))?;
        let is_asked = request.is_search() || request.about.is_some();
        if is_asked || !(request.ids.is_empty() && request.paths.is_empty()) {
            return Ok((request, notes));
        }
        Err(invalid(
            "`query`, `ids`, `paths` or `about` is required, such as {\"query\": \"why cents and not floats\"}, {\"ids\": \
             [\"k3v9qa\"]} or {\"paths\": [\"src/a.rs\"]}",
        ))
    }

    /// Returns whether it contains a query or a filter.
    pub fn is_search(&self) -> bool {
        self.query.is_some()
            || !(self.kinds.is_empty() && self.tags.is_empty() && self.topic.is_none())
            || self.since.is_some()
            || self.before.is_some()
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
    /// Returns an error if an argument is invalid.
    pub fn read(object: Map<String, Value>) -> Result<(Self, Vec<String>), ToolError> {
        let (mut request, notes) = read::<Self>("search_sessions", object)?;
        request.page = Page::read(request.limit, request.cursor.as_deref(), &given(&request))?;
        if request.session.is_none() && (request.turns.is_some() || request.outline) {
            return Err(invalid(
                "`turns` and `outline` require `session`: the id of a session, which searches and lists show",
            ));
        }
        Ok((request, notes))
    }
}

impl RememberRequest {
    /// Returns a request to save a text, whose first sentence is the title.
    pub(crate) fn titled(text: &str) -> Self {
        let (title, text) = titled(text).unwrap_or_else(|| (text.to_owned(), String::new()));
        Self { title, text, ..Self::default() }
    }

    /// Parses the arguments of `remember`.
    ///
    /// # Errors
    /// Returns an error if there is nothing to save, or an argument is invalid.
    pub fn read(object: Map<String, Value>) -> Result<(Self, Vec<String>), ToolError> {
        let is_emptied = object.get("valid_until").is_some_and(is_empty);
        let (mut request, mut notes) = read::<Self>("remember", object)?;
        if let Some(name) = &request.agent {
            request.agent = Some(agent_named(name).ok_or_else(|| {
                invalid("`agent` takes the name of a subagent, such as reviewer")
            })?);
        }
        if request.scope == Some(Reach::Agent) {
            if request.agent.is_none() {
                return Err(invalid(
                    "the scope agent requires `agent`: your name, if you are a subagent",
                ));
            }
            request.kind = request.kind.or(Some(Kind::Session));
        }
        if request.outcome.is_some() {
            let used = ["outcome", "agent", "check"];
            notes.extend(unused(&request, &used, "an outcome"));
            return Ok((request, notes));
        }
        if let Some(id) = &request.id {
            notes.extend(is_emptied.then(|| {
                format!(
                    "`valid_until` was kept; the user can remove it with `throughline edit {id}`."
                )
            }));
            return Ok((request, notes));
        }
        if request.title.is_empty() && request.text.is_empty() {
            if !request.ends.is_empty() {
                notes.extend(unused(&request, &["ends", "check"], "ends without a memory"));
                return Ok((request, notes));
            }
            // A fact is a statement by itself.
            request.title = request.facts.first().map(|fact| sentence(fact)).unwrap_or_default();
        }
        if request.title.is_empty() {
            (request.title, request.text) = titled(&request.text).ok_or_else(|| {
                invalid("`title` or `text` is required: the statement in one line as `title`, its reason as `text`")
            })?;
        }
        if request.kind.is_none() {
            notes.push(
                "Saved as a fact; `kind` takes decision, convention, preference, gotcha, fix and others."
                    .to_owned(),
            );
        }
        for (name, is_given) in
            [("still_true", request.still_true), ("helpful", request.helpful.is_some())]
        {
            if is_given {
                notes.push(format!("`{name}` does not apply to a new memory and was ignored."));
            }
        }
        Ok((request, notes))
    }
}

impl ForgetRequest {
    /// Parses the arguments of `forget`, and returns the ids.
    ///
    /// # Errors
    /// Returns an error if they are missing.
    pub fn read(object: Map<String, Value>) -> Result<(Vec<String>, Vec<String>), ToolError> {
        let (request, notes) = read::<Self>("forget", object)?;
        if request.ids.is_empty() {
            return Err(invalid(
                "`ids` is required: short ids that `recall` shows, such as [\"k3v9qa\"]",
            ));
        }
        Ok((request.ids, notes))
    }
}

/// Returns a fact as a sentence without its time.
fn sentence(fact: &str) -> String {
    let parts: Vec<&str> = fact.split('|').map(str::trim).take(3).collect();
    parts.join(" ")
}

fn invalid(message: &str) -> ToolError {
    ToolError::Request(message.to_owned())
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
            (Some(_), Some(_)) => Err(invalid(
                "`cursor` belongs to another call: repeat the arguments of that call, or omit `cursor` to start again",
            )),
            _ => Err(invalid(
                "`cursor` takes the unchanged next_cursor of an earlier answer; omit it to start again",
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

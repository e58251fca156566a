//! Conversion of front matter to a memory. It is lenient: a person may omit fields that have a default, and may write
//! one text instead of a list. An error names the key of the invalid value.

use std::fmt;
use std::str::FromStr;

use gray_matter::Pod;

use crate::id::MemoryId;
use crate::kind::Kind;
use crate::memory::{
    CommandRecord, Fact, Guard, GuardAction, HeldFor, Memory, PathRef, Relation, SaidBy, Scope,
    Source, Status, agent_named,
};
use crate::time::Timestamp;

/// Maximum number of entries of a list of texts or paths.
const ENTRIES_MAX: usize = 1000;

/// Maximum size in bytes of an entry of such a list. This is the maximum size of a path.
const ENTRY_BYTES_MAX: usize = 4096;

/// Maximum number of keys in a map that is searched linearly.
const COMPARED_MAX: usize = 12;

/// A step from a value to one inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueStep {
    Key(String),
    Item(usize),
}

/// Problem with the value at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub path: Vec<ValueStep>,
    pub message: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.path.iter().enumerate() {
            match step {
                ValueStep::Key(key) if position == 0 => write!(f, "`{key}`")?,
                ValueStep::Key(key) => write!(f, " `{key}`")?,
                ValueStep::Item(item) => write!(f, " entry {}", item + 1)?,
            }
        }
        let gap = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{gap}{}", self.message)
    }
}

type ReadField<T> = Result<T, Wrong>;

/// Parses the fields of front matter; `title` and `body` come from the file's body.
pub(super) fn memory(front: &Pod, title: String, body: String) -> ReadField<Memory> {
    let front = FrontValue { pod: front, last: None };
    if !matches!(front.pod, Pod::Hash(_)) {
        return Err(front.wrong("expected keys with values, as in `kind: fix`"));
    }
    let id: MemoryId = front.get("id").required("an id of 26 letters and digits")?;
    let occurred = front.get("occurred").time()?;
    Ok(Memory {
        id,
        kind: front
            .get("kind")
            .named(KindNames, Kind::from_name)?
            .ok_or_else(|| front.wrong(format!("no `kind`; write one of: {KindNames}")))?,
        title,
        body,
        scope: front.get("scope").named("project, user, paths", scope)?.unwrap_or_default(),
        created: front.get("created").time()?.or(occurred).unwrap_or_else(|| id.time()),
        occurred,
        valid_from: front.get("valid_from").time()?,
        valid_until: front.get("valid_until").time()?,
        confidence: front.get("confidence").share()?.unwrap_or(CONFIDENCE_DEFAULT),
        source: source(&front.get("source"))?,
        paths: front.get("paths").bounded()?.list(path_ref)?,
        topic: front.get("topic").text()?,
        agent: front.get("agent").agent()?,
        tags: front.get("tags").bounded()?.texts()?,
        cues: front.get("cues").bounded()?.texts()?,
        entities: front.get("entities").bounded()?.texts()?,
        facts: front.get("facts").list(fact)?,
        relations: front.get("relations").list(relation)?,
        guards: guards(&front.get("guard"))?,
        supersedes: front.get("supersedes").list(|field| field.required("an id"))?,
        superseded_by: front.get("superseded_by").parsed("an id")?,
        pinned: front.get("pinned").flag()?.unwrap_or_default(),
        status: front
            .get("status")
            .named("active, held, rejected, archived", status)?
            .unwrap_or_default(),
        held_for: front
            .get("held_for")
            .named("review, credential, proposal, others", HeldFor::from_name)?,
        author: front.get("author").text()?,
        signatures: front.get("signatures").bounded()?.texts()?,
        command: command(&front.get("command"))?,
    })
}

/// Confidence of a memory whose file contains none, because a person wrote it.
pub(super) const CONFIDENCE_DEFAULT: f32 = 1.0;

/// Displays the names of all kinds, for messages.
struct KindNames;

impl fmt::Display for KindNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Kind::ALL.map(Kind::name).join(", "))
    }
}

fn scope(name: &str) -> Option<Scope> {
    match name {
        "project" => Some(Scope::Project),
        "user" => Some(Scope::User),
        "paths" => Some(Scope::Paths),
        _ => None,
    }
}

fn status(name: &str) -> Option<Status> {
    match name {
        "active" => Some(Status::Active),
        // Version 0.1.0 wrote `draft`.
        "held" | "draft" => Some(Status::Held),
        "rejected" => Some(Status::Rejected),
        "archived" => Some(Status::Archived),
        _ => None,
    }
}

fn speaker(name: &str) -> Option<SaidBy> {
    match name {
        "user" => Some(SaidBy::User),
        "assistant" => Some(SaidBy::Assistant),
        "tool" => Some(SaidBy::Tool),
        _ => None,
    }
}

fn source(field: &FrontValue) -> ReadField<Source> {
    field.map()?;
    Ok(Source {
        session: field.get("session").text()?,
        turns: field.get("turns").texts()?,
        quote: field.get("quote").text()?,
        said_by: field.get("said_by").named("user, assistant, tool", speaker)?,
        extractor: field.get("extractor").text()?,
    })
}

fn path_ref(field: &FrontValue) -> ReadField<PathRef> {
    if let Pod::Hash(_) = field.pod {
        return Ok(PathRef {
            path: field.get("path").short()?.required("a path")?,
            seen: field.get("seen").text()?,
        });
    }
    Ok(PathRef { path: field.short()?.required("a path")?, seen: None })
}

fn fact(field: &FrontValue) -> ReadField<Fact> {
    field.map()?;
    Ok(Fact {
        subject: field.get("subject").required("a text")?,
        predicate: field.get("predicate").required("a text")?,
        object: field.get("object").required("a text")?,
        from: field.get("from").time()?,
        to: field.get("to").time()?,
        confidence: field.get("confidence").share()?,
    })
}

fn relation(field: &FrontValue) -> ReadField<Relation> {
    field.map()?;
    Ok(Relation {
        kind: field.get("kind").required("a text")?,
        to: field.get("to").required("an id")?,
    })
}

fn guards(field: &FrontValue) -> ReadField<Vec<Guard>> {
    let guards = field.list(guard)?;
    if guards.len() > Guard::COUNT_MAX {
        return Err(field.wrong(format!("more than {} guards", Guard::COUNT_MAX)));
    }
    Ok(guards)
}

fn guard(field: &FrontValue) -> ReadField<Guard> {
    field.map()?;
    let action = field.get("action").named("warn, pause, ask, deny", GuardAction::from_name)?;
    let guard = Guard {
        action: action.unwrap_or(GuardAction::Warn),
        command: field.get("command").text()?,
        path: field.get("path").text()?,
        content: field.get("content").text()?,
        branch: field.get("branch").text()?,
    };
    guard.fault().map_or(Ok(guard), |fault| Err(field.wrong(fault)))
}

fn command(field: &FrontValue) -> ReadField<Option<CommandRecord>> {
    if matches!(field.pod, Pod::Null) {
        return Ok(None);
    }
    field.map()?;
    Ok(Some(CommandRecord {
        line: field.get("line").required("a command line")?,
        directory: field.get("directory").text()?.unwrap_or_else(|| ".".to_owned()),
        exit_status: field.get("exit_status").parsed("a whole number")?.unwrap_or_default(),
        passed: field.get("passed").parsed("a whole number")?.unwrap_or_default(),
        last: field.get("last").time()?.unwrap_or_default(),
    }))
}

/// A value with the path to it. The path is only created for an error.
struct FrontValue<'a> {
    pod: &'a Pod,
    /// The last step of the path, and the value from which it leads; `None` for the root.
    last: Option<(&'a FrontValue<'a>, FieldStep<'a>)>,
}

/// A step from a field to one inside it.
#[derive(Clone, Copy)]
enum FieldStep<'a> {
    Key(&'a str),
    Item(usize),
}

static NOTHING: Pod = Pod::Null;

impl FrontValue<'_> {
    fn get<'b>(&'b self, key: &'b str) -> FrontValue<'b> {
        let pod = match self.pod {
            // Comparing a few names is faster than hashing a name.
            Pod::Hash(entries) if entries.len() <= COMPARED_MAX => {
                entries.iter().find(|(name, _)| *name == key).map_or(&NOTHING, |(_, pod)| pod)
            }
            Pod::Hash(entries) => entries.get(key).unwrap_or(&NOTHING),
            _ => &NOTHING,
        };
        FrontValue { pod, last: Some((self, FieldStep::Key(key))) }
    }

    fn path(&self) -> Vec<ValueStep> {
        let Some((above, step)) = &self.last else { return Vec::new() };
        let mut path = above.path();
        path.push(match step {
            FieldStep::Key(key) => ValueStep::Key((*key).to_owned()),
            FieldStep::Item(item) => ValueStep::Item(*item),
        });
        path
    }

    fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong { path: self.path(), message: message.into() }
    }

    fn text(&self) -> ReadField<Option<String>> {
        match self.pod {
            Pod::Null => Ok(None),
            Pod::String(text) => Ok(Some(text.clone())),
            Pod::Integer(_) | Pod::Float(_) | Pod::Boolean(_) | Pod::Array(_) | Pod::Hash(_) => {
                Err(self.wrong("expected a text, found a list or map"))
            }
        }
    }

    fn parsed<T: FromStr>(&self, expected: &str) -> ReadField<Option<T>> {
        let Some(text) = self.text()? else { return Ok(None) };
        match text.trim().parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(self.expected(expected, &text)),
        }
    }

    fn required<T: FromStr>(&self, expected: &str) -> ReadField<T> {
        let missing = || match self.last {
            Some((above, FieldStep::Key(key))) if above.last.is_none() => {
                Wrong { path: Vec::new(), message: format!("no `{key}`; expected {expected}") }
            }
            Some(_) | None => self.wrong(format!("nothing here; expected {expected}")),
        };
        // Texts are used unchanged, including blanks at their ends.
        if let Some(Ok(value)) = self.text()?.map(|text| text.parse::<T>()) {
            return Ok(value);
        }
        self.parsed(expected)?.ok_or_else(missing)
    }

    fn time(&self) -> ReadField<Option<Timestamp>> {
        let Some(text) = self.text()? else { return Ok(None) };
        let expected = "a date as 2026-10-02 or 2026-10-02T09:30:00Z";
        Timestamp::parse(&text).map(Some).ok_or_else(|| self.expected(expected, &text))
    }

    fn share(&self) -> ReadField<Option<f32>> {
        let number: Option<f32> = self.parsed("a number from 0 to 1")?;
        match number {
            Some(number) if !(0.0..=1.0).contains(&number) => {
                Err(self.expected("a number from 0 to 1", &number.to_string()))
            }
            number => Ok(number),
        }
    }

    /// Parses the name of a subagent.
    fn agent(&self) -> ReadField<Option<String>> {
        let Some(text) = self.text()? else { return Ok(None) };
        agent_named(&text).map(Some).ok_or_else(|| self.expected("the name of a subagent", &text))
    }

    fn flag(&self) -> ReadField<Option<bool>> {
        let Some(text) = self.text()? else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Ok(Some(true)),
            "false" | "no" | "off" => Ok(Some(false)),
            _ => Err(self.expected("`true` or `false`", &text)),
        }
    }

    fn named<T>(
        &self,
        names: impl fmt::Display,
        read: impl Fn(&str) -> Option<T>,
    ) -> ReadField<Option<T>> {
        let Some(text) = self.text()? else { return Ok(None) };
        let name = text.trim().to_ascii_lowercase();
        let value = read(&name).ok_or_else(|| self.expected(&format!("one of: {names}"), &text))?;
        Ok(Some(value))
    }

    fn list<T>(&self, read: impl Fn(&FrontValue) -> ReadField<T>) -> ReadField<Vec<T>> {
        match self.pod {
            Pod::Null => Ok(Vec::new()),
            Pod::Array(items) => {
                let fields = items.iter().enumerate();
                fields
                    .map(|(item, pod)| {
                        read(&FrontValue { pod, last: Some((self, FieldStep::Item(item))) })
                    })
                    .collect()
            }
            Pod::String(_) | Pod::Hash(_) => Ok(vec![read(self)?]),
            Pod::Integer(_) | Pod::Float(_) | Pod::Boolean(_) => Err(self.wrong("expected a list")),
        }
    }

    /// Returns this list, or an error if it has more entries than recall could use.
    fn bounded(self) -> ReadField<Self> {
        match self.pod {
            Pod::Array(items) if items.len() > ENTRIES_MAX => {
                Err(self.wrong(format!("more than {ENTRIES_MAX} entries; shorten the list")))
            }
            _ => Ok(self),
        }
    }

    /// Returns this entry, or an error if its text is too long for a tag or path.
    fn short(&self) -> ReadField<&Self> {
        match self.pod {
            Pod::String(text) if text.len() > ENTRY_BYTES_MAX => {
                Err(self.wrong(format!("longer than {ENTRY_BYTES_MAX} bytes; shorten it")))
            }
            _ => Ok(self),
        }
    }

    fn texts(&self) -> ReadField<Vec<String>> {
        let texts = self.list(|field| match field.pod {
            Pod::Null => Ok(None),
            _ => field.short()?.text(),
        })?;
        Ok(texts.into_iter().flatten().collect())
    }

    fn map(&self) -> ReadField<()> {
        match self.pod {
            Pod::Null | Pod::Hash(_) => Ok(()),
            Pod::String(_) | Pod::Integer(_) | Pod::Float(_) | Pod::Boolean(_) | Pod::Array(_) => {
                Err(self.wrong("expected keys with values"))
            }
        }
    }

    fn expected(&self, expected: &str, found: &str) -> Wrong {
        let found: String = found.chars().take(40).collect();
        self.wrong(format!("expected {expected}, found `{found}`"))
    }
}

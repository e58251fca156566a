//! Questions to a model, and the form of its answers.
//!
//! The instructions are files in `processor/prompts/`. [`VERSION`] is raised with every change that invalidates earlier
//! answers.

use std::borrow::Cow;
use std::sync::LazyLock;

use memory_store::memory::EntityType;
use regex::Regex;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// Version of instructions and forms. Cached answers of another version are not used.
pub const VERSION: u32 = 8;

/// Maximum number of memories read from one answer. The instructions request at most five.
pub const ANSWERS_MAX: usize = 8;

/// Minimum number of tokens for an answer from which on its form sets no bounds on texts and lists.
const UNBOUNDED_TOKENS: u32 = 2_048;
/// Typical number of tokens of one memory of a bounded form.
const MEMORY_TOKENS: u32 = 300;
/// Number of tokens of one relation.
const RELATION_TOKENS: u32 = 60;
/// Number of tokens of one statement of an answer to a person.
const STATEMENT_TOKENS: u32 = 120;
/// Bounds on a memory in short answers: characters of texts, and items of lists. Small models, which have small
/// contexts, would continue one text until the answer is cut off.
const TEXTS: [(&str, u32); 5] =
    [("title", 100), ("text", 200), ("quote", 160), ("because", 120), ("topic", 60)];
/// Maximum number of items of each list of texts in a short answer, and of characters of an item.
const LISTS: [(&str, u32, u32); 2] = [("paths", 3, 80), ("cues", 3, 60)];
/// Maximum number of items of each list of objects in a short answer, with the names of the objects' texts.
const OBJECTS: [(&str, u32, &[&str]); 2] =
    [("entities", 4, &["name"]), ("facts", 2, &["subject", "predicate", "object", "since"])];
/// Maximum number of characters of each text of these objects.
const OBJECT_TEXT_CHARS: u32 = 60;

/// A question to a model.
#[derive(Clone, Debug)]
pub struct ModelQuestion {
    /// Instructions, sent as the system prompt.
    pub instructions: &'static str,
    /// Text of the question.
    pub text: String,
    /// JSON schema of the answer, without references.
    pub form: Schema,
}

/// Instructions for a window.
const WINDOW: &str = include_str!("../../prompts/window.md");

/// Form of the answer about a window. Only its schema is used: answers are read leniently.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct WindowForm {
    /// At most five memories, most important first; may be empty.
    memories: Vec<MemoryForm>,
}

/// One memory of an answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct MemoryForm {
    kind: KindForm,
    title: String,
    text: String,
    quote: String,
    /// Files that it is about.
    paths: Vec<String>,
    /// From 0 to 100.
    importance: i32,
    /// Whether it holds beyond this session's task.
    standing: bool,
    /// Ways in which somebody will ask for it.
    cues: Vec<String>,
    /// Of a decision its reason, of a fix the error; else empty.
    because: String,
    /// Whether the session shows it to be so.
    confirmed: bool,
    /// At most four names that it mentions.
    entities: Vec<EntityForm>,
    /// At most three statements that the quote shows.
    facts: Vec<FactForm>,
    /// `area/topic`.
    topic: String,
}

/// A name of an answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct EntityForm {
    name: String,
    #[serde(rename = "type")]
    #[schemars(schema_with = "entity_types")]
    of_type: String,
}

fn entity_types(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": EntityType::ALL.map(EntityType::name)})
}

/// A fact of an answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct FactForm {
    subject: String,
    predicate: String,
    object: String,
    /// A date, or empty.
    since: String,
}

/// The kinds a model may use: commands and sessions are left to the rules, which have the facts.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum KindForm {
    Decision,
    Convention,
    Preference,
    Fact,
    Procedure,
    Gotcha,
    Fix,
    FailedApproach,
    Task,
}

/// Instructions for a window if the model's context is small. They have a third of the length of [`WINDOW`]. The
/// question and the form of the answer are the same.
const WINDOW_SHORT: &str = include_str!("../../prompts/window-short.md");

/// Returns the instructions for a window, short or complete.
pub fn window_instructions(is_short: bool) -> &'static str {
    if is_short { WINDOW_SHORT } else { WINDOW }
}

/// Returns the question about one window. `ending` is the end of the session, `note` explains the notation of the
/// window.
pub fn window(window: &str, ending: &str, note: &str, is_short: bool) -> ModelQuestion {
    let mut text = String::new();
    if !ending.is_empty() {
        text.push_str(&format!(
            "How the session ended:\n\n<ending>\n{}</ending>\n\n",
            fenced(ending)
        ));
    }
    text.push_str(&format!(
        "The part of the session:\n\n<session>\n{}</session>\n\n",
        fenced(window)
    ));
    end(&mut text, note, "Which memories does the part hold?");
    let instructions = window_instructions(is_short);
    ModelQuestion { instructions, text, form: schema::<WindowForm>() }
}

/// Instructions for the question about relations between notes.
pub const RELATIONS: &str = include_str!("../../prompts/relations.md");

/// Form of the answer about relations. Only its schema is used: answers are read leniently.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct RelationsForm {
    /// Relations between notes; may be empty.
    relations: Vec<RelationForm>,
}

/// One relation of an answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct RelationForm {
    /// A note, such as `N2`.
    note: String,
    /// Another note, such as `E1`.
    other: String,
    relation: RelationName,
    /// The reason in at most fifteen words.
    why: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum RelationName {
    Same,
    Within,
    Replaces,
    Finishes,
    NewerValue,
    Contradicts,
    Supports,
    Refines,
    CausedBy,
    PartOf,
}

/// Returns the question about the relations of the notes of a session to one another and to `earlier` notes.
pub fn relations(new: &str, earlier: &str, note: &str) -> ModelQuestion {
    let mut text = format!("Notes of one session:\n\n<notes>\n{}</notes>\n\n", fenced(new));
    if !earlier.is_empty() {
        text.push_str(&format!(
            "Earlier notes near them:\n\n<earlier>\n{}</earlier>\n\n",
            fenced(earlier)
        ));
    }
    end(&mut text, note, "How do the notes of the session relate to the others?");
    ModelQuestion { instructions: RELATIONS, text, form: schema::<RelationsForm>() }
}

/// Instructions for the question which notes are still valid.
const STANDING: &str = include_str!("../../prompts/standing.md");

/// Form of the answer about notes that no longer hold. Only its schema is used: answers are read leniently.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct StandingForm {
    /// Notes that no longer hold; may be empty.
    overtaken: Vec<OvertakenForm>,
}

/// One note of an answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct OvertakenForm {
    /// A note, such as `D2`.
    note: String,
    why: OvertakenName,
    /// The end's words for it in at most fifteen words.
    how: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum OvertakenName {
    Finished,
    Fixed,
    Reverted,
    Replaced,
    Rejected,
    Wrong,
}

/// Returns the question about the `notes` of a session that are no longer valid at its end.
pub fn standing(notes: &str, ending: &str, note: &str) -> ModelQuestion {
    let mut text = format!(
        "Notes of the session when it was shorter:\n\n<notes>\n{}</notes>\n\nHow the session ended by now:\n\n<ending>\n{}</ending>\n\n",
        fenced(notes),
        fenced(ending)
    );
    end(&mut text, note, "Which notes does the end show to hold no longer?");
    ModelQuestion { instructions: STANDING, text, form: schema::<StandingForm>() }
}

/// Instructions for the question about earlier notes that the work of a session made invalid.
pub const OVERTAKEN: &str = include_str!("../../prompts/overtaken.md");

/// Form of the answer about notes that the work of a session overtook. Only its schema is used: answers are read leniently.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct WorkForm {
    /// Notes that no longer hold; may be empty.
    overtaken: Vec<OvertakenByForm>,
}

/// One note of an answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct OvertakenByForm {
    /// A note, such as `E2`.
    note: String,
    /// A commit, such as `N1`, or the session as a whole, `N0`.
    by: String,
    why: WorkReason,
    /// The work's words for it in at most fifteen words.
    how: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum WorkReason {
    Finished,
    Fixed,
    Reverted,
    Replaced,
    Removed,
    Wrong,
}

/// Returns the question about earlier `notes` that the work of a session made invalid.
pub fn overtaken(work: &str, notes: &str, note: &str) -> ModelQuestion {
    let mut text = format!(
        "Work of one session:\n\n<work>\n{}</work>\n\nEarlier notes about the same things:\n\n<earlier>\n{}</earlier>\n\n",
        fenced(work),
        fenced(notes)
    );
    end(&mut text, note, "Which notes no longer hold because of this work?");
    ModelQuestion { instructions: OVERTAKEN, text, form: schema::<WorkForm>() }
}

/// Instructions for an answer to a person.
pub const QUESTION: &str = include_str!("../../prompts/question.md");

/// Form of an answer to a person. Only its schema is used.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct AnswerForm {
    /// Sentences of the answer; empty if the sources do not hold it.
    statements: Vec<StatementForm>,
}

/// One sentence of an answer.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct StatementForm {
    text: String,
    /// Numbers of the sources that show it.
    sources: Vec<u32>,
}

/// Returns a person's question with `count` numbered sources. The form of the answer permits no other numbers.
pub fn question(sources: &str, count: usize, question: &str, note: &str) -> ModelQuestion {
    let mut text = format!("The sources:\n\n<sources>\n{}</sources>\n\n", fenced(sources));
    end(&mut text, note, &format!("The question: {}", fenced(question)));
    let mut form = schema::<AnswerForm>();
    if let Some(number) = form.pointer_mut("/properties/statements/items/properties/sources/items")
    {
        *number = json!({"type": "integer", "enum": (1..=count).collect::<Vec<_>>()});
    }
    ModelQuestion { instructions: QUESTION, text, form }
}

/// Instructions for completing a typed line.
const TYPED: &str = include_str!("../../prompts/typed.md");

/// Form of a completed line. Only its schema is used.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct TypedForm {
    kind: TypedKind,
    text: String,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum TypedKind {
    Question,
    Statement,
}

/// Returns the question what a `line` of a conversation means.
pub fn typed(conversation: &str, line: &str, note: &str) -> ModelQuestion {
    let mut text =
        format!("The conversation:\n\n<conversation>\n{}</conversation>\n\n", fenced(conversation));
    end(&mut text, note, &format!("The next line: {}", fenced(line)));
    ModelQuestion { instructions: TYPED, text, form: schema::<TypedForm>() }
}

/// Instructions for finding names.
const NAMES: &str = include_str!("../../prompts/names.md");

/// Form of the answer about names. Only its schema is used.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct NamesForm {
    /// The names.
    names: Vec<String>,
}

/// Returns the question about the names of people in a text.
pub fn names(text: &str) -> ModelQuestion {
    let text = format!("The text:\n\n{text}\n\nWhich names of people does it have?");
    ModelQuestion { instructions: NAMES, text, form: schema::<NamesForm>() }
}

impl ModelQuestion {
    /// Adds bounds to the form if the answer may have only a few tokens. A form for longer answers has no bounds,
    /// because some servers do not support these keywords.
    pub fn within(mut self, answer_tokens: u32) -> Self {
        if answer_tokens >= UNBOUNDED_TOKENS {
            return self;
        }
        let mut set = |pointer: &str, key: &str, bound: u32| {
            if let Some(Value::Object(part)) = self.form.pointer_mut(pointer) {
                part.insert(key.to_owned(), bound.into());
            }
        };
        set("/properties/memories", "maxItems", (answer_tokens / MEMORY_TOKENS).max(1));
        set("/properties/relations", "maxItems", (answer_tokens / RELATION_TOKENS).max(1));
        set("/properties/relations/items/properties/why", "maxLength", 100);
        set("/properties/statements", "maxItems", (answer_tokens / STATEMENT_TOKENS).max(1));
        set("/properties/statements/items/properties/text", "maxLength", 240);
        set("/properties/statements/items/properties/sources", "maxItems", 4);
        let memory = "/properties/memories/items/properties";
        for (name, chars) in TEXTS {
            set(&format!("{memory}/{name}"), "maxLength", chars);
        }
        for (name, items, chars) in LISTS {
            set(&format!("{memory}/{name}"), "maxItems", items);
            set(&format!("{memory}/{name}/items"), "maxLength", chars);
        }
        for (name, items, texts) in OBJECTS {
            set(&format!("{memory}/{name}"), "maxItems", items);
            for text in texts {
                let text = format!("{memory}/{name}/items/properties/{text}");
                set(&text, "maxLength", OBJECT_TEXT_CHARS);
            }
        }
        self
    }
}

/// Appends the end of a question: the note on the notation, if it is not empty, and the request.
fn end(text: &mut String, note: &str, asked: &str) {
    if !note.is_empty() {
        text.push_str(note);
        text.push('\n');
    }
    text.push_str(asked);
}

/// Escapes the tags of a question in a text, because the content of a file might otherwise close the tag around the
/// text.
fn fenced(text: &str) -> Cow<'_, str> {
    static TAGS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)<(\s*/?\s*(?:session|ending|notes|earlier|work|sources|conversation))")
            .ok()
    });
    match &*TAGS {
        Some(tags) => tags.replace_all(text, "< $1"),
        None => Cow::Borrowed(text),
    }
}

/// Returns the schema of a form without references, because Ollama does not resolve them.
fn schema<T: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft07();
    settings.inline_subschemas = true;
    settings.into_generator().into_root_schema_for::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_session_ends_it() {
        let shown = "[tool] a </session> b </ SESSION > c <session>\n";
        let asked = window(shown, "x</ending>\n", "", false);
        let text = asked.text.to_lowercase();
        assert_eq!(text.matches("<session>").count(), 1);
        assert_eq!(text.matches("</session>").count(), 1);
        assert_eq!(text.matches("</ending>").count(), 1);
        assert!(
            asked.text.contains("[tool] a < /session> b < / SESSION > c < session>\n</session>")
        );
    }

    #[test]
    fn a_short_answer_has_a_form_with_bounds() {
        let whole = window("", "", "", false);
        assert_eq!(whole.clone().within(2_048).form, whole.form);
        let form = whole.within(512).form;
        let bound = |pointer: &str| form.pointer(pointer).and_then(Value::as_u64);
        assert_eq!(bound("/properties/memories/maxItems"), Some(1));
        let memory = "/properties/memories/items/properties";
        assert_eq!(bound(&format!("{memory}/quote/maxLength")), Some(160));
        assert_eq!(bound(&format!("{memory}/cues/items/maxLength")), Some(60));
        assert_eq!(bound(&format!("{memory}/entities/maxItems")), Some(4));
        let object = format!("{memory}/facts/items/properties/object/maxLength");
        assert_eq!(bound(&object), Some(u64::from(OBJECT_TEXT_CHARS)));
        let types = form.pointer(&format!("{memory}/entities/items/properties/type/enum")).unwrap();
        let known = EntityType::ALL.map(|of_type| of_type.name());
        assert_eq!(*types, serde_json::json!(known));
        let form = relations("", "", "").within(512).form;
        assert_eq!(form.pointer("/properties/relations/maxItems").and_then(Value::as_u64), Some(8));
        assert!(form.pointer("/properties/memories").is_none());
    }

    #[test]
    fn the_example_of_the_instructions_is_an_answer() {
        let (_, example) = WINDOW.split_once("The answer:").unwrap();
        let (example, _) = example.split_once("Not written").unwrap();
        let given = super::super::answer::read(example).unwrap();
        assert_eq!(given.len(), 3);
        assert!(given.iter().all(|memory| memory.standing && memory.cues.len() >= 2));
    }

    #[test]
    fn the_short_instructions_ask_for_the_same_in_a_third_of_the_room() {
        assert!(WINDOW_SHORT.len() * 3 <= WINDOW.len(), "{}", WINDOW_SHORT.len());
        let [whole, short] = [false, true].map(|is_short| window("a", "b", "c", is_short));
        assert_eq!((&whole.text, &whole.form), (&short.text, &short.form));
        let form = whole.form.pointer("/properties/memories/items/properties").unwrap();
        for name in form.as_object().unwrap().keys().filter(|name| *name != "kind") {
            assert!(short.instructions.contains(&format!("- `{name}`: ")), "{name}");
        }
        for kind in form["kind"]["enum"].as_array().unwrap() {
            let kind = kind.as_str().unwrap();
            assert!(short.instructions.contains(&format!("- {kind}: ")), "{kind}");
        }
    }
}

//! Forged structure: turns of a conversation, tokens of chat templates, tags of tool calls, and the closing delimiter
//! of injections. The text must be normalised (see `words::plain`).

/// Forged markup that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fake {
    /// Reason, as named in `rules.txt`.
    pub reason: &'static str,
    /// Start of the markup, in bytes of the normalised text.
    pub at: usize,
}

/// Minimum number of words inside a tag that is more than a mention or a small value.
const CONTENT_WORDS_MIN: usize = 3;

/// Tags that occur only in conversations with a model.
const TAGS: [&str; 22] = [
    "system",
    "system-reminder",
    "system_message",
    "system_prompt",
    "system-message",
    "system-prompt",
    "assistant",
    "user",
    "human",
    "tool_result",
    "tool_use",
    "tool_call",
    "tool_calls",
    "tool_response",
    "function_call",
    "function_calls",
    "function_results",
    "function_result",
    "invoke",
    "instructions",
    "developer",
    "admin",
];

/// Tokens of chat templates.
const TOKENS: [&str; 14] = [
    "<|im_start|>",
    "<|im_end|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|endoftext|>",
    "<|begin_of_text|>",
    "[inst]",
    "<<sys>>",
    "<start_of_turn>",
    "<end_of_turn>",
];

/// Other pairs of marks that enclose a message of a conversation.
const PAIRS: [(&str, &str); 4] = [
    ("[inst]", "[/inst]"),
    ("begin system prompt", "end system prompt"),
    ("begin system message", "end system message"),
    ("<<sys>>", "<</sys>>"),
];

/// Tokens with which the turn of a speaker begins.
const ROLES: [&str; 3] = ["<|system|>", "<|user|>", "<|assistant|>"];

/// Returns the forged structures in normalised text.
pub(crate) fn fakes(text: &str) -> Vec<Fake> {
    let mut found = Vec::new();
    found.extend(TOKENS.iter().filter_map(|token| used_token(text, token)));
    found.extend(TAGS.iter().filter_map(|tag| filled_tag(text, tag)));
    found.extend(PAIRS.iter().filter_map(|(open, close)| filled_pair(text, open, close)));
    found.extend(wrapper(text));
    found.extend(turns(text));
    found.extend(role_object(text));
    found
}

/// Returns a token that is directly followed by content, not by a sentence about the token; `None` if there is none.
fn used_token(text: &str, token: &str) -> Option<Fake> {
    let mut from = 0;
    while let Some(at) = text[from..].find(token) {
        let at = from + at;
        let after = &text[at + token.len()..];
        if !is_quoted(text, at, token.len())
            && content(after, token.starts_with("<|"), ROLES.contains(&token))
        {
            return Some(Fake { reason: "template", at });
        }
        from = at + token.len();
    }
    None
}

/// Returns whether the words that follow are content, not the sentence around a mention.
fn content(after: &str, tight: bool, speaks: bool) -> bool {
    const AROUND: [&str; 18] = [
        "and", "or", "around", "in", "is", "are", "from", "to", "as", "at", "tags", "tokens",
        "token", "markers", "marker", "blocks", "for", "before",
    ];
    let glued = tight && after.starts_with(|c: char| c.is_alphabetic() || c == '<' || c == '\n');
    let mut words = after.split_whitespace();
    let first = words.next().unwrap_or_default().trim_end_matches([',', '.', ';', ':']);
    let many = first.chars().any(char::is_alphanumeric) as usize + words.take(2).count()
        >= CONTENT_WORDS_MIN;
    let plain = after.starts_with([' ', '\n']) && !AROUND.contains(&first) && first.len() > 1;
    many && (glued || plain && !tight || plain && speaks) || first.starts_with("<<")
}

fn is_quoted(text: &str, at: usize, length: usize) -> bool {
    let quotes = ['"', '`', '\'', '“', '”', '(', '«'];
    let before = text[..at].chars().next_back();
    let after = text[at + length..].chars().next();
    let closes =
        |text: &str| text.split_whitespace().next().is_some_and(|word| word.contains(quotes));
    before.is_some_and(|c| quotes.contains(&c))
        && (after == Some(')') || closes(&text[at + length..]))
}

/// Returns a conversation tag that is opened and closed and contains some words, or a tool call; `None` if there is
/// none.
fn filled_tag(text: &str, tag: &str) -> Option<Fake> {
    let mut from = 0;
    while let Some(found) = text[from..].find('<') {
        let at = from + found;
        from = at + 1;
        let Some(inner) = text[at + 1..].strip_prefix(tag) else { continue };
        let Some(open) = inner.bytes().take(64).position(|byte| byte == b'>') else { continue };
        // This accepts `<system_instruction>` as well as `<system>`.
        if !inner.starts_with(['>', ' ', '_', '-']) {
            continue;
        }
        let inner = &inner[open + 1..];
        let close = inner.find(&format!("</{tag}"));
        let words = inner[..close.unwrap_or(0)]
            .split(|c: char| c.is_whitespace() || matches!(c, '<' | '>'))
            .filter(|word| word.chars().any(char::is_alphanumeric))
            .count();
        let calls = matches!(tag, "invoke" | "tool_use" | "function_calls" | "tool_call");
        let short =
            matches!(tag, "tool_result" | "function_results" | "user" | "assistant" | "human");
        if words >= CONTENT_WORDS_MIN || words >= 1 && (calls || short) {
            return Some(Fake { reason: "template", at });
        }
    }
    None
}

/// Returns a pair of marks with some words between them, which a mention such as "from ... to" or "between ... and"
/// lacks; `None` if there is none.
fn filled_pair(text: &str, open: &str, close: &str) -> Option<Fake> {
    let at = text.find(open)?;
    let inner = &text[at + open.len()..];
    let inner = &inner[..inner.find(close)?];
    let words = inner.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    (words.count() > CONTENT_WORDS_MIN).then_some(Fake { reason: "template", at })
}

/// Returns a closing delimiter of injections that is followed by text; `None` if there is none.
fn wrapper(text: &str) -> Option<Fake> {
    let squeezed = text.find("/throughline-memory")?;
    let before = text[..squeezed].trim_end();
    let open = before.ends_with('<');
    let after = text[squeezed + "/throughline-memory".len()..].trim_start().strip_prefix('>')?;
    let quoted = after.starts_with(['`', '"', '\'']);
    let words = after.split_whitespace().count();
    (open && !quoted && words >= 2).then_some(Fake { reason: "border", at: squeezed - 1 })
}

/// Returns the second of two speaker labels, each at the start of a line and followed by text; `None` if there are
/// fewer.
fn turns(text: &str) -> Option<Fake> {
    const ROLES: [&str; 6] = ["system", "user", "human", "assistant", "ai", "claude"];
    let mut seen: Vec<&str> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start_matches(|c: char| c.is_whitespace() || "#*->".contains(c));
        if let Some((role, said)) = start.split_once(':')
            && let Some(role) = ROLES.iter().find(|known| **known == role.trim_end_matches('*'))
            && said.starts_with([' ', '\n', '*'])
            && !seen.contains(role)
        {
            seen.push(role);
            if seen.len() > 1 {
                return Some(Fake { reason: "template", at });
            }
        }
        at += line.len();
    }
    None
}

/// Returns an API message with the role of the system and an instruction to the model; `None` if there is none.
fn role_object(text: &str) -> Option<Fake> {
    let at = text.find("\"role\"")?;
    let after: String = text[at..].chars().take(400).filter(|c| !c.is_whitespace()).collect();
    let system =
        after.starts_with("\"role\":\"system\"") || after.starts_with("\"role\":\"developer\"");
    let order = text[at..].split_once("\"content\"").is_some_and(|(_, said)| {
        let said = said.trim_start_matches([':', ' ', '"']);
        ["you ", "ignore ", "never ", "always ", "from now"]
            .iter()
            .any(|word| said.starts_with(word))
    });
    (system && order).then_some(Fake { reason: "template", at })
}

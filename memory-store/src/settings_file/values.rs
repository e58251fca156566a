//! Parses the values of settings in a settings file.

use super::*;

pub(super) fn parsed<T: DeserializeOwned>(value: Value, expected: &str) -> Result<T, String> {
    let shown = short(&value);
    value.try_into().map_err(|_| format!("expected {expected}, found {shown}; it is ignored"))
}

/// Parses a whole number in a range. A number outside of the range is an error instead of being clamped, so that a
/// typing error is reported.
pub(super) fn number<T>(value: Value, range: RangeInclusive<T>) -> Result<T, String>
where
    T: TryFrom<i64> + PartialOrd + fmt::Display,
{
    let expected = || format!("a whole number from {} to {}", range.start(), range.end());
    let found: i64 = parsed(value, &expected())?;
    T::try_from(found)
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| format!("expected {}, found {found}; it is ignored", expected()))
}

pub(super) fn share(value: Value, range: RangeInclusive<f32>) -> Result<f32, String> {
    let expected = format!("a number from {} to {}", range.start(), range.end());
    let number = match value {
        Value::Integer(number) => number as f32,
        value => parsed(value, &expected)?,
    };
    if range.contains(&number) {
        Ok(number)
    } else {
        Err(format!("expected {expected}, found {number}; it is ignored"))
    }
}

fn texts(value: Value) -> Result<Vec<String>, String> {
    let texts: Vec<String> = parsed(value, "a list of texts")?;
    if texts.len() > ENTRIES_MAX {
        return Err(format!("more than {ENTRIES_MAX} entries; it is ignored"));
    }
    if texts.iter().any(|text| text.chars().count() > ENTRY_CHARS_MAX) {
        return Err(format!("an entry has more than {ENTRY_CHARS_MAX} characters; it is ignored"));
    }
    Ok(texts.into_iter().filter(|text| !text.trim().is_empty()).collect())
}

/// Sets a value. If the value is invalid, `strictest` is set, and `instead` is appended to the error message.
fn guarded<T>(
    setting: &mut T,
    read: Result<T, String>,
    strictest: T,
    instead: &str,
) -> Result<(), String> {
    let (value, told) = match read {
        Ok(value) => (value, Ok(())),
        Err(message) => {
            let message = message.strip_suffix("; it is ignored").unwrap_or(&message);
            (strictest, Err(format!("{message}; until it is mended, {instead}")))
        }
    };
    *setting = value;
    told
}

pub(super) fn review(settings: &mut Settings, value: Value) -> Result<(), String> {
    let read = parsed(value, "`true` or `false`");
    let instead = "every new memory is held for `throughline review`";
    guarded(&mut settings.review, read, true, instead)
}

/// Parses the setting of version 0.1.0 that `review` replaced. Returns the warning.
pub(super) fn promote(settings: &mut Settings, value: &Value) -> String {
    settings.review |= !matches!(value.as_str(), Some("sure" | "auto"));
    format!("`promote` is now `review`; write `review = {}` instead", settings.review)
}

pub(super) fn pulled(settings: &mut Settings, value: Value) -> Result<(), String> {
    if value.as_str() == Some("authors") {
        settings.pulled = Pulled::Reviewed;
        return Err("\"authors\" is read as \"reviewed\", for authors are not asked any more: what is from the \
                    repository waits for `throughline trust`"
            .to_owned());
    }
    let read = parsed(value, "\"all\" or \"reviewed\"");
    let instead = "memories from the repository are withheld";
    guarded(&mut settings.pulled, read, Pulled::Reviewed, instead)
}

pub(super) fn ignore_paths(settings: &mut Settings, value: Value) -> Result<(), String> {
    let read = texts(value);
    let problem = read.as_ref().err().cloned();
    let told = guarded(&mut settings.ignore_paths, read, Vec::new(), "nothing is learned");
    settings.ignores_unknown = problem.is_some();
    told
}

pub(super) fn names(settings: &mut Settings, value: Value) -> Result<(), String> {
    // No model has this name, so the search for names fails and text in which names would be searched for stays
    // private.
    let nobody = NameFinder { model: String::new(), host: String::new(), timeout_s: 1 };
    let instead = "what names are to be looked for in stays private";
    guarded(&mut settings.names, name_finder(value).map(Some), Some(nobody), instead)
}

pub(super) fn kinds(value: Value) -> Result<Vec<Kind>, String> {
    texts(value)?.iter().map(|name| kind(name)).collect()
}

fn kind(name: &str) -> Result<Kind, String> {
    Kind::from_name(name).ok_or_else(|| {
        let kinds = Kind::ALL.map(Kind::name).join(", ");
        let name: String = name.chars().take(40).collect();
        format!("`{name}` is no kind; there are: {kinds}; it is ignored")
    })
}

pub(super) fn half_lives(settings: &mut Settings, value: Value) -> Result<(), String> {
    let table: Table = parsed(value, "a table of kinds and days, as in `{ fix = 30 }`")?;
    let mut half_lives = settings.half_life_days.clone();
    for (name, days) in table {
        half_lives.insert(kind(&name)?, number(days, DAYS)?);
    }
    settings.half_life_days = half_lives;
    Ok(())
}

/// Parses the settings of names and facts.
pub(super) fn knowledge(value: Value) -> Result<KnowledgeSettings, String> {
    let mut table: Table = parsed(value, "a table, as in `{ name_similarity = 0.85 }`")?;
    let mut knowledge = KnowledgeSettings::default();
    let shares = [
        ("name_similarity", &mut knowledge.name_similarity),
        ("name_cosine", &mut knowledge.name_cosine),
        ("same_value", &mut knowledge.same_value),
        ("other_value", &mut knowledge.other_value),
    ];
    for (name, place) in shares {
        if let Some(value) = table.remove(name) {
            let number = share(value, SHARE).map_err(|told| format!("{name}: {told}"))?;
            // The number is converted through its text, because the direct conversion from single precision adds
            // digits.
            *place = number.to_string().parse().unwrap_or_else(|_| f64::from(number));
        }
    }
    if let Some(groups) = table.remove("predicates") {
        let groups: Table = parsed(groups, "a table of lists of words")?;
        if groups.len() > ENTRIES_MAX {
            return Err(format!("predicates: more than {ENTRIES_MAX} groups; it is ignored"));
        }
        for (group, words) in groups {
            let words = texts(words).map_err(|told| format!("predicates: {group}: {told}"))?;
            knowledge.predicates.insert(group, words);
        }
    }
    if let Some(groups) = table.remove("one_value") {
        knowledge.one_value = texts(groups).map_err(|told| format!("one_value: {told}"))?;
    }
    match table.keys().next() {
        Some(name) => Err(format!("`{name}` is no setting of it; it is ignored")),
        None => Ok(knowledge),
    }
}

/// Sets the valid parts of a table and reports the invalid parts. If one pattern is invalid, the other patterns must
/// still redact.
pub(super) fn redact(settings: &mut Settings, value: Value) -> Result<(), String> {
    const EXPECTED: &str =
        "a table with `deny`, `harmless`, and the tables `private` and `committed` of policies";
    let shown = short(&value);
    let Value::Table(table) = value else {
        return Err(format!("expected {EXPECTED}, found {shown}; it is ignored"));
    };
    let mut wrong: Option<String> = None;
    let mut redact = RedactSettings::default();
    for (name, value) in table {
        let told = match name.as_str() {
            "harmless" => parsed(value, "a list of texts").map(|texts| redact.harmless = texts),
            "deny" => deny(&mut redact, value),
            "private" => policies(value, |settings| &mut settings.private, &mut redact),
            "committed" => policies(value, |settings| &mut settings.committed, &mut redact),
            _ => Err(format!("`{name}` is no setting; expected {EXPECTED}; it is ignored")),
        };
        wrong = wrong.or(told.err());
    }
    settings.redact = redact;
    wrong.map_or(Ok(()), Err)
}

/// Sets the valid patterns. The returned error is about the first invalid pattern.
fn deny(settings: &mut RedactSettings, value: Value) -> Result<(), String> {
    let given: Vec<String> = parsed(value, "a list of regular expressions")?;
    let whole = RedactSettings { deny: given.clone(), ..RedactSettings::default() };
    let told = options(&whole).map_err(|error| format!("{error}; it is ignored"));
    let usable = |pattern: &String| {
        let one = RedactSettings { deny: vec![pattern.clone()], ..RedactSettings::default() };
        options(&one).is_ok()
    };
    settings.deny = given.into_iter().filter(usable).collect();
    if options(settings).is_err() {
        settings.deny.clear();
    }
    told
}

/// Sets the valid policies. The returned error is about the first invalid policy.
fn policies(
    value: Value,
    place: fn(&mut RedactSettings) -> &mut BTreeMap<String, String>,
    settings: &mut RedactSettings,
) -> Result<(), String> {
    let given: BTreeMap<String, String> = parsed(value, "a table of classes and policies")?;
    let mut wrong: Option<String> = None;
    for (class, policy) in given {
        let mut one = RedactSettings::default();
        place(&mut one).insert(class.clone(), policy.clone());
        match options(&one) {
            Ok(()) => drop(place(settings).insert(class, policy)),
            Err(error) => wrong = wrong.or(Some(format!("{error}; it is ignored"))),
        }
    }
    wrong.map_or(Ok(()), Err)
}

fn options(settings: &RedactSettings) -> Result<(), OptionsError> {
    RedactOptions::of(settings, false)?;
    RedactOptions::of(settings, true)?;
    Ok(())
}

/// Returns the position of a file's first invalid pattern, such as `line 7: `; `None` if there is none.
pub(super) fn place_of_pattern(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct SettingsFile {
        redact: Patterns,
    }
    #[derive(serde::Deserialize)]
    struct Patterns {
        deny: Vec<toml::Spanned<String>>,
    }
    let file: SettingsFile = toml::from_str(text).ok()?;
    let patterns = file.redact.deny;
    let given: Vec<String> = patterns.iter().map(|pattern| pattern.get_ref().clone()).collect();
    let settings = RedactSettings { deny: given, ..RedactSettings::default() };
    let number = match options(&settings).err()? {
        OptionsError::Pattern(
            PatternError::Long { number }
            | PatternError::Empty { number }
            | PatternError::Repeated { number, .. }
            | PatternError::Wrong { number, .. },
        ) => number,
        OptionsError::Pattern(PatternError::Many)
        | OptionsError::Class(_)
        | OptionsError::Policy { .. } => return None,
    };
    let start = patterns.get(number - 1)?.span().start;
    let line = text[..start].bytes().filter(|byte| *byte == b'\n').count() + 1;
    Some(format!("line {line}: "))
}

/// Number of tokens in a block. A longer block would exceed Claude Code's limit of 10,000 characters.
pub(super) const TOKENS: RangeInclusive<u32> = 0..=2_400;
/// Number of memories in a block.
pub(super) const MEMORIES: RangeInclusive<u32> = 0..=20;
/// A fraction.
pub(super) const SHARE: RangeInclusive<f32> = 0.0..=1.0;
/// Half-life in days.
pub(super) const DAYS: RangeInclusive<u32> = 1..=36_500;
/// Algorithms for the search of vectors.
pub(super) const INDEX_SEARCH: [&str; 3] = ["auto", "graph", "scan"];
/// Timeout of a vector search, in milliseconds.
pub(super) const SEARCH_MS: RangeInclusive<u32> = 50..=60_000;
/// Allowed providers of a model that reads sessions.
pub(super) const PAUSES: [&str; 3] = ["auto", "battery", "never"];
pub(super) const READERS: [&str; 3] = ["ollama", "openai", "claude"];
/// Allowed providers of a model that computes vectors.
pub(super) const EMBEDDERS: [&str; 1] = ["ollama"];
/// Maximum length of the name of an environment variable, in bytes.
const VARIABLE_BYTES_MAX: usize = 100;
/// Maximum cost per day, in US dollars.
pub(super) const USD_PER_DAY: RangeInclusive<f64> = 0.0..=10_000.0;
/// Timeout for a model's answer, in seconds.
pub(super) const TIMEOUT_S: RangeInclusive<u32> = 1..=3_600;
/// Size of a model's context in tokens. In a smaller context, the instructions would leave no room for the text of a
/// session.
pub const CONTEXT_TOKENS: RangeInclusive<u32> = 4_096..=10_000_000;

fn provider(name: &str, known: &[&str]) -> Result<(), String> {
    if known.contains(&name) {
        return Ok(());
    }
    Err(format!("`provider` must be {}; it is ignored", known.join(" or ")))
}

fn within(name: &str, found: u32, range: RangeInclusive<u32>) -> Result<(), String> {
    if range.contains(&found) {
        return Ok(());
    }
    let (least, most) = range.into_inner();
    Err(format!("`{name}` must be from {least} to {most}; it is ignored"))
}

fn name_finder(value: Value) -> Result<NameFinder, String> {
    let finder: NameFinder = parsed(value, "a table with `model = \"...\"`")?;
    if finder.model.trim().is_empty() {
        return Err("`model` is empty; it is ignored".to_owned());
    }
    within("timeout_s", finder.timeout_s, TIMEOUT_S)?;
    Ok(finder)
}

pub(super) fn embedder(value: Value) -> Result<Embedder, String> {
    const EXPECTED: &str = "a table such as `model = \"nomic-embed-text\"`";
    const MODEL_BYTES_MAX: usize = 200;
    let embedder: Embedder = parsed(value, EXPECTED)?;
    provider(&embedder.provider, &EMBEDDERS)?;
    if embedder.model.trim().is_empty() || embedder.model.len() > MODEL_BYTES_MAX {
        return Err("`model` is empty or too long; it is ignored".to_owned());
    }
    within("timeout_s", embedder.timeout_s, TIMEOUT_S)?;
    within("search_ms", embedder.search_ms, SEARCH_MS)?;
    Ok(Embedder { model: embedder.model.trim().to_owned(), ..embedder })
}

pub(super) fn llm(value: Value) -> Result<Option<Llm>, String> {
    if value.get("api_key").is_some() {
        return Err(
            "keys are not kept in settings: name the environment variable that holds it in \
                    `api_key_env`; it is ignored"
                .to_owned(),
        );
    }
    let known_pause = |pause: &Value| pause.as_str().is_some_and(|pause| PAUSES.contains(&pause));
    if let Some(pause) = value.get("pause").filter(|pause| !known_pause(pause)) {
        let expected = "\"auto\", \"battery\" or \"never\"";
        return Err(format!("`pause` must be {expected}, found {}; it is ignored", short(pause)));
    }
    let expected = "a table with `provider = \"ollama\"` and `model = \"...\"`";
    let llm: Llm = parsed(value, expected)?;
    provider(&llm.provider, &READERS)?;
    if llm.model.trim().is_empty() {
        return Err("`model` is empty; it is ignored".to_owned());
    }
    if llm.provider == "openai" && llm.host.trim().is_empty() {
        return Err("`host` is missing, which `openai` needs; it is ignored".to_owned());
    }
    if !is_variable(&llm.api_key_env) {
        // The value may be the key itself, so the message does not contain it.
        return Err(
            "`api_key_env` must be the name of an environment variable that holds the key, \
                    not the key; it is ignored"
                .to_owned(),
        );
    }
    within("timeout_s", llm.timeout_s, TIMEOUT_S)?;
    if let Some(tokens) = llm.context {
        within("context", tokens, CONTEXT_TOKENS)?;
    }
    if !USD_PER_DAY.contains(&llm.usd_per_day) {
        let (least, most) = USD_PER_DAY.into_inner();
        return Err(format!("`usd_per_day` must be from {least} to {most}; it is ignored"));
    }
    Ok(Some(llm))
}

/// Returns whether a text has the usual form of an environment variable's name, which a key rarely has.
fn is_variable(name: &str) -> bool {
    name.len() <= VARIABLE_BYTES_MAX
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit())
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}

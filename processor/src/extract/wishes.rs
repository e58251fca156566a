//! Standing wishes: the user's explicit preferences beyond the current task. A sentence counts if it is the user's own
//! ([`super::own_words`]) and is explicit: it applies from now on ("from now on"), asks to be remembered ("remember
//! that ...") or names its scope ("in this repository always ..."). A model finds all other wishes, because "always"
//! inside a task usually belongs to the task.

use std::sync::LazyLock;

use memory_store::Kind;
use memory_store::memory::{SaidBy, Scope};
use memory_store::text;

use super::clean::capital;
use super::clean::title;
use super::draft::Draft;
use super::draft::EXTRACTOR;
use super::episode::{Episode, TypedSentence, episodes};
use super::own_words::{count, outside_quotations};

use super::pattern::{Pattern, pattern};
use super::words::names_machine;
use super::{Roots, paths, words};
use crate::transcript::session::Session;

/// Minimum and maximum number of words of a wish. A shorter sentence is not clear without its context, a longer one is
/// probably a document.
const WORDS_MIN: usize = 5;
const WORDS_MAX: usize = 45;

/// Maximum number of characters of a title.
const TITLE_CHARS_MAX: usize = 220;

/// Maximum number of tags of a wish.
const TAGS_MAX: usize = 8;

/// Maximum number of characters of a quote.
const QUOTE_CHARS_MAX: usize = 300;

/// Confidence in a wish found by these rules.
const SURE: f32 = 0.55;

/// Worth of a wish in comparison with other drafts.
const WORTH: f32 = 2.0;

/// Phrases of an explicit standing wish, in each language.
static EXPLICIT: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)\bfrom\ (?:now|here|today|this\ point|here\ on)\ (?:on|out|onwards?|forward)\b|\bfrom\ here\ on\b|\bgoing\ forward\b|\bhenceforth\b|\bfor\ (?:all\ |any\ )?future\ (?:work|sessions?|changes?|tasks?|commits?)\b
        |^\W*(?:please\s+)?(?:always\s+)?remember(?:\s+this)?(?:\s+for\ (?:later|next\ time|the\ future))?\s*(?:that|to|:|,)\s
        |\bin\ (?:this|our|all\ of\ this)\ (?:repo|repository|project|code\ ?base)\b[^.?!]{0,60}\b(?:always|never)\b|\b(?:always|never)\b[^.?!]{0,120}\bin\ (?:this|our)\ (?:repo|repository|project|code\ ?base)\b
        |\bab\ (?:jetzt|sofort|heute|nun)\b|\bvon\ (?:jetzt|nun)\ an\b|\b(?:künftig|zukünftig)\b|^\W*(?:bitte\s+)?merke?\ dir\b|\bin\ diesem\ (?:repo|repository|projekt)\b[^.?!]{0,60}\b(?:immer|stets|nie|niemals)\b
        |à\ partir\ de\ maintenant|\b(?:désormais|dorénavant)\b|^\W*(?:souviens-toi|rappelle-toi|retiens)\b
        |\ba\ partir\ de\ (?:ahora|agora|hoy|hoje)\b|\bde\ (?:ahora|agora)\ en\ adelante\b|\bde\ agora\ em\ diante\b|\bdaqui\ (?:para|em)\ (?:a\ )?(?:frente|diante)\b
        |\bd['’]ora\ in\ (?:poi|avanti)\b|\bda\ (?:ora|adesso|oggi)\ in\ (?:poi|avanti)\b
        |\bvanaf\ (?:nu|vandaag)\b|\bvoortaan\b|\bod\ (?:teraz|dziś|dzisiaj)\b|\bod\ tej\ pory\b|\bodtąd\b
        |\b(?:отныне|впредь|відтепер|надалі)\b|\bс\ этого\ момента\b
        |\bbundan\ (?:sonra|böyle)\b|\bod\ teď\b|\bod\ nynějška\b|\bfrån\ och\ med\ nu\b|\bhädanefter\b|\bfra\ nu\ af\b|\bfra\ nå\ av\b
        |これから|今後|以後|次回から|从现在|從現在|今后|今後|(?:以后|以後)(?:都|请|請|要|不要|用|别)|从今以后|앞으로|이제부터|지금부터",
    )
});

/// Phrases for a wish that applies from now on, in each language.
static STANDING: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)\b(?:from\ (?:now|here|today|this\ point|here\ on)\ (?:on|out|onwards?|forward)|from\ here\ on|going\ forward|henceforth|in\ (?:the\ )?future|ever\ again|for\ (?:all\ |any\ )?future\ (?:work|sessions?|changes?|tasks?|reference|commits?)|for\ the\ future|(?:every|each)\ time\ (?:you|i|we)|when(?:ever)?\ you|whenever|for\ the\ rest\ of\ (?:this|the|our)|throughout\ (?:this|the|our|all)|in\ (?:all|every|any)\ (?:[\w-]+\ ){0,3}?(?:sessions?|files?|commits?|texts?|messages?|answers?|repl(?:y|ies)|code)\b|in\ every\ session)
        |\bI\ (?:never|always)\ want\b|\bI\ (?:do\ n[o']t|don['’]t|do\ not)\ (?:want|like\ it\ when)\ (?:you|to\ see)|\bI\ (?:hate|like|love)\ it\ (?:when|if)\ you|\bI(?:['’]d|\ would)\ (?:like|prefer)\b.{3,80}\b(?:throughout|always|never|everywhere|in\ (?:this|all|every))\b
        |\bI\ prefer\b|\bI(?:['’]d|\ would)\ (?:rather|prefer)\ (?:you|that\ you|it\ if)|\bI\ want\ you\ to\ (?:always|never|keep|stop)\b|^\W*(?:please\s+)?stop\ \w+ing\ (?:your|my|the|a|any|me|everything|all)\b
        |^\W*(?:please\s+)?remember\b.{0,20}\b(?:that|for|to|:)
        |\bab\ (?:jetzt|sofort|heute|nun)\b|\bvon\ (?:jetzt|nun)\ an\b|\b(?:künftig|zukünftig|in\ zukunft)\b|\b(?:immer\ wenn|jedes\ mal,?\ wenn)\ (?:du|ich)\b|\bich\ (?:möchte|will|mag)\ (?:nie|immer|nicht,\ dass\ du)\b|\bich\ bevorzuge\b|\bmerk(?:e)?\ dir\b
        |à\ partir\ de\ maintenant|\b(?:désormais|dorénavant)\b|\bà\ l['’]avenir\b|\bchaque\ fois\ que\ tu\b|\bje\ (?:préfère|veux\ toujours|ne\ veux\ (?:plus|jamais))\b
        |\ba\ partir\ de\ (?:ahora|agora|hoy|hoje)\b|\bde\ (?:ahora|agora)\ en\ adelante\b|\bde\ agora\ em\ diante\b|\ben\ (?:el\ )?futuro\b|\bno\ futuro\b|\bcada\ vez\ que\b|\b(?:prefiero|prefiro)\ que\b|\bsempre\ que\ (?:você|tu)\b|\bdaqui\ (?:para|em)\ (?:a\ )?(?:frente|diante)\b
        |\bd['’]ora\ in\ (?:poi|avanti)\b|\bda\ (?:ora|adesso|oggi)\ in\ (?:poi|avanti)\b|\bin\ futuro\b|\bogni\ volta\ che\b|\bpreferisco\ che\b
        |\bvanaf\ (?:nu|vandaag)\b|\bvoortaan\b|\bin\ de\ toekomst\b|\belke\ keer\ (?:dat|als)\b|\bik\ heb\ liever\b
        |\bod\ (?:teraz|dziś|dzisiaj)\b|\bod\ tej\ pory\b|\bodtąd\b|\b(?:na|w)\ przyszłoś(?:ć|ci)\b|\bza\ każdym\ razem\b|\bwolę,?\ (?:żeby|gdy|kiedy)\b
        |\b(?:отныне|впредь|відтепер|надалі)\b|\bс\ этого\ момента\b|\bв\ будущем\b|\bкаждый\ раз\b|\bя\ предпочитаю\b
        |\bbundan\ (?:sonra|böyle)\b|\bod\ teď\b|\bod\ nynějška\b|\bfrån\ och\ med\ nu\b|\bhädanefter\b|\bfra\ nu\ af\b|\bfra\ nå\ av\b
        |これから|今後|以後|次回から|从现在|從現在|今后|今後|(?:以后|以後)(?:都|请|請|要|不要|用|别)|从今以后|每次|앞으로|이제부터|지금부터",
    )
});

/// A wish without such phrases: an imperative with "always" or "never" at the beginning of a clause.
static BARE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?:^\W*|[,:;(–—-]\s*|\b(?:so|and|but|please|also|we|must|should|thing|no|yes)\s+)(?:please\s+)?(?:always|never|do\ n[o']t|do\ not|don['’]?t|avoid|prefer|only\ use|use\ only|by\ default|no\ need\ to|there(?:['’]s|\ is)\ no\ need\ to)\b
        |\b(?:must|should)(?:\ not|n['’]t)?\ (?:always|never)\b
        |\b(?:immer|stets|niemals|nie|toujours|jamais|siempre|nunca|jamás|sempre|mai|altijd|nooit|zawsze|nigdy|всегда|никогда|завжди|ніколи|her\ zaman|asla|vždy|nikdy|alltid|aldrig|altid|aldri)\b
        |必ず|いつも|常に|絶対に|总是|始终|永远|务必|不要再|항상|절대|반드시",
    )
});

/// All patterns of this file, for the test that compares their forms.
#[cfg(test)]
pub(super) static PATTERNS: &[&LazyLock<Pattern>] = &[&EXPLICIT, &STANDING, &BARE];

/// Returns whether a text contains a phrase for a wish that applies from now on.
pub fn stands(text: &str) -> bool {
    STANDING.is_match(text)
}

/// Returns whether a text contains a wish.
pub fn has_wish(text: &str) -> bool {
    STANDING.is_match(text) || BARE.is_match(text)
}

/// Returns the wishes of a session, in their order.
pub fn mine(session: &Session, roots: &Roots) -> Vec<Draft> {
    let episodes = episodes(session);
    let of_user = |episode: &&Episode| !episode.by_program && !episode.plan;
    let said = episodes.iter().filter(of_user).flat_map(|episode| &episode.statements);
    let mut drafts: Vec<Draft> = Vec::new();
    for statement in said.filter(|statement| is_wish(statement)) {
        let first = statement.uuid.as_str();
        let of_record = drafts.iter().filter(|known| known.turns[0] == first);
        let ordinal = u32::try_from(of_record.count()).unwrap_or(u32::MAX);
        drafts.extend(draft(session, roots, statement, ordinal));
    }
    drafts
}

/// Returns whether a sentence is a standing wish in explicit words.
fn is_wish(statement: &TypedSentence) -> bool {
    let text = statement.text();
    let says = outside_quotations(text);
    let says = words::LEAD_IN.replace(&says, "");
    (WORDS_MIN..=WORDS_MAX).contains(&count(text))
        && text.chars().count() <= TITLE_CHARS_MAX
        && !statement.is_pasted()
        && !names_machine(&statement.sentence.raw)
        && !words::ADDRESS.is_match(text)
        && !words::QUESTION.is_match(&says)
        && !words::POINTS_BACK.is_match(&says)
        && EXPLICIT.is_match(&says)
}

/// Returns the draft of a wish; `None` if the wish applies to a file that it does not name.
fn draft(session: &Session, roots: &Roots, wish: &TypedSentence, ordinal: u32) -> Option<Draft> {
    let text = roots.strip(&words::LEAD_IN.replace(wish.text(), ""));
    let only_here = words::ONLY_HERE.find(&text).map(|found| paths::named(roots, found.as_str()));
    let (scope, paths) = match only_here {
        Some(named) if named.is_empty() && words::THIS_FILE.is_match(&text) => return None,
        Some(named) if !named.is_empty() => (Scope::Paths, named),
        Some(_) | None => (Scope::Project, Vec::new()),
    };
    let quote: String = roots.strip(&wish.sentence.raw).chars().take(QUOTE_CHARS_MAX).collect();
    let is_habit = words::HABIT.is_match(wish.text());
    Some(Draft {
        kind: if is_habit { Kind::Convention } else { Kind::Preference },
        tags: text::keywords(&text, TAGS_MAX),
        title: title(&capital(&text)),
        body: String::new(),
        scope,
        occurred: wish.at,
        confidence: SURE,
        session: session.id.clone(),
        turns: vec![wish.uuid.clone()],
        ordinal,
        quote: quote.trim().to_owned(),
        said_by: SaidBy::User,
        paths,
        signatures: Vec::new(),
        extractor: EXTRACTOR.to_owned(),
        worth: WORTH,
        importance: None,
        standing: true,
        cues: Vec::new(),
        entities: Vec::new(),
        facts: Vec::new(),
        topic: None,
    })
}

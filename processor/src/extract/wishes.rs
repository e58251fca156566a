//! Standing wishes: how the user wants things done beyond the work at hand. A wish counts where the user says so: it is
//! a sentence of the user's own ([`super::own_words`]) with words such as "from now on", "whenever you", "I never want".
//! A bare "always" or "never" counts where it is all that a prompt asks; inside a task it is a part of the task, unless
//! another session says it again.

use std::sync::LazyLock;

use memory_store::Kind;
use memory_store::memory::Scope;

use super::clean::capital;
use super::draft::Draft;
use super::episode::{Episode, Statement};
use super::own_words::{count, outside_quotations};
use super::pattern::{Pattern, pattern};
use super::score::Channel;
use super::{DraftText, SessionMiner, paths, unit, words};

/// Words of a wish: fewer say nothing alone, more are a document.
const WORDS_MIN: usize = 5;
const WORDS_MAX: usize = 45;

/// Sentences of a prompt that is one wish.
const SENTENCES_MAX: usize = 3;

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 220;

/// Confidence in a standing wish, and in one that may be a part of a task.
const STANDING_SURE: f32 = 0.55;
const INSIDE_SURE: f32 = 0.3;

/// Worth of a standing wish. One that may be a part of a task is worth keeping once it is said again.
const STANDING_WORTH: f32 = 2.0;
const INSIDE_WORTH: f32 = -0.6;

/// Words by which a sentence says that it holds from now on, in each language.
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

/// A bare wish: an imperative with "always" or "never", at the beginning of a clause.
static BARE: LazyLock<Pattern> = LazyLock::new(|| {
    pattern(
        r"(?ix)(?:^\W*|[,:;(–—-]\s*|\b(?:so|and|but|please|also|we|must|should|thing|no|yes)\s+)(?:please\s+)?(?:always|never|do\ n[o']t|do\ not|don['’]?t|avoid|prefer|only\ use|use\ only|by\ default|no\ need\ to|there(?:['’]s|\ is)\ no\ need\ to)\b
        |\b(?:must|should)(?:\ not|n['’]t)?\ (?:always|never)\b
        |\b(?:immer|stets|niemals|nie|toujours|jamais|siempre|nunca|jamás|sempre|mai|altijd|nooit|zawsze|nigdy|всегда|никогда|завжди|ніколи|her\ zaman|asla|vždy|nikdy|alltid|aldrig|altid|aldri)\b
        |必ず|いつも|常に|絶対に|总是|始终|永远|务必|不要再|항상|절대|반드시",
    )
});

/// A state that lasts, which nobody wishes for: "always open".
static LASTING: LazyLock<Pattern> =
    LazyLock::new(|| pattern(r"(?i)\balways[- ](?:\w+(?:ble|ed|en|ing)|on|off|open|there)\b"));

/// Every pattern of this file, for the test that compares their forms.
#[cfg(test)]
pub(super) static PATTERNS: &[&LazyLock<Pattern>] = &[&STANDING, &BARE, &LASTING];

/// Returns whether a text says itself that it holds from now on.
pub fn stands(text: &str) -> bool {
    STANDING.is_match(text)
}

/// Returns whether a text says itself that its author wishes for something.
pub fn says_wish(text: &str) -> bool {
    STANDING.is_match(text) || BARE.is_match(text)
}

/// How far a sentence says itself that its wish holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// Beyond the work at hand.
    Standing,
    /// Always, or never.
    Bare,
}

pub fn mine(miner: &SessionMiner<'_>, episodes: &[Episode<'_>]) -> Vec<Draft> {
    let of = |episode| of_episode(miner, episode);
    episodes.iter().filter(|episode| !episode.by_program && !episode.plan).flat_map(of).collect()
}

fn of_episode(miner: &SessionMiner<'_>, episode: &Episode<'_>) -> Vec<Draft> {
    let wishes = episode.statements.iter().filter_map(|it| Some((it, wish(it)?)));
    wishes.filter_map(|(statement, wish)| draft(miner, episode, statement, wish)).collect()
}

/// Returns the wish of a statement of the user's.
fn wish(statement: &Statement) -> Option<Wish> {
    let text = statement.text();
    let says = outside_quotations(text);
    let says = words::LEAD_IN.replace(&says, "");
    if statement.channel != Channel::User
        || !(WORDS_MIN..=WORDS_MAX).contains(&count(text))
        || text.chars().count() > TITLE_CHARS_MAX
        || statement.is_pasted()
        || unit::names_machine(&statement.sentence.raw)
        || words::ADDRESS.is_match(text)
        || words::QUESTION.is_match(&says)
        || words::POINTS_BACK.is_match(&says)
    {
        return None;
    }
    let is_bare = BARE.is_match(&says) && !LASTING.is_match(&says);
    if STANDING.is_match(&says) || is_bare && words::EVERYWHERE.is_match(&says) {
        return Some(Wish::Standing);
    }
    let is_habit = words::HABIT.is_match(&says) && !words::POINTS_AT.is_match(&says);
    let is_once = words::ASKS_ONCE.is_match(&says)
        || words::GUESSES.is_match(&says)
        || words::REQUEST.is_match(&says) && !words::EVERMORE.is_match(&says);
    ((is_bare || is_habit) && !is_once).then_some(Wish::Bare)
}

fn draft(
    miner: &SessionMiner<'_>,
    episode: &Episode<'_>,
    statement: &Statement,
    wish: Wish,
) -> Option<Draft> {
    let of_prompt: Vec<&Statement> = episode
        .statements
        .iter()
        .filter(|beside| beside.uuid == statement.uuid && beside.channel == Channel::User)
        .collect();
    let asks = |beside: &&Statement| {
        beside.order != statement.order
            && (words::REQUEST.is_match(beside.text()) || words::QUESTION.is_match(beside.text()))
    };
    let is_alone = of_prompt.len() <= SENTENCES_MAX && !of_prompt.iter().any(asks);
    let stands = wish == Wish::Standing || is_alone;
    let whole = of_prompt.iter().map(|statement| statement.text()).collect::<Vec<_>>().join(" ");
    let has_more = wish == Wish::Bare && is_alone && of_prompt.len() > 1;
    let body = match has_more && whole.chars().count() <= unit::CHARS_MAX {
        true => format!("The user: \"{whole}\""),
        false => String::new(),
    };
    let is_habit = words::HABIT.is_match(statement.text());
    let said = DraftText {
        kind: if is_habit { Kind::Convention } else { Kind::Preference },
        title: capital(words::LEAD_IN.replace(statement.text(), "").as_ref()),
        body,
        quote: &statement.sentence.raw,
        uuid: &statement.uuid,
        at: statement.at,
        step: statement.step,
        by_user: true,
        is_prose: false,
        confidence: if stands { STANDING_SURE } else { INSIDE_SURE },
        worth: if stands { STANDING_WORTH } else { INSIDE_WORTH },
    };
    let mut draft = miner.draft(std::slice::from_ref(episode), said)?;
    draft.standing = stands;
    limit(miner, statement, &mut draft);
    Some(draft)
}

/// A wish that says where it applies applies only there.
fn limit(miner: &SessionMiner<'_>, wish: &Statement, draft: &mut Draft) {
    let Some(found) = words::ONLY_HERE.find(wish.text()) else { return };
    let named = paths::named(miner.roots, found.as_str());
    if !named.is_empty() {
        draft.paths = named;
    }
    if !draft.paths.is_empty() {
        draft.scope = Scope::Paths;
    }
}

//! The reader of sessions, which is a model or the rules. `init` asks for it once, and `status` reports it.

use std::time::Duration;

use memory_store::layout::ProjectDir;
use memory_store::settings::Llm;
use memory_store::settings_file;
use processor::collect::discover::Transcript;
use processor::llm::prices::Prices;
use processor::llm::trouble::{self, Trouble};
use processor::llm::usage::{self, Spent};
use processor::llm::{self, CLAUDE_MODEL, aside, estimate};
use processor::progress::about;
use serde::Serialize;

use super::settings;
use crate::ask;
use crate::failure::{Failure, Result};
use crate::inspect::ollama;
use crate::view::style::{STRONG, paint};
use crate::view::{self, clock};
use crate::world::World;

/// Number of recent sessions whose cost is reported.
const SESSIONS_TOLD: usize = 3;
/// Characters of a session's id that are shown.
const SESSION_CHARS: usize = 8;
/// Tokens of a typical request and of its answer, for a price estimate if no session has been read yet.
const TYPICAL_TOKENS: (u64, u64) = (10_000, 1_000);
/// Name of the provider that is Claude Code.
const CLAUDE_PROVIDER: &str = "claude";

/// A reader that was named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReaderName {
    /// No model: rules find only standing wishes.
    Rules,
    /// A model of Ollama; without a name, the best model.
    Ollama(Option<String>),
    /// The small model of Claude Code.
    Claude,
}

impl std::str::FromStr for ReaderName {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.split_once(':').unwrap_or((text, "")) {
            ("rules", "") => Ok(Self::Rules),
            ("claude", "") => Ok(Self::Claude),
            ("ollama", model) => {
                Ok(Self::Ollama(Some(model.to_owned()).filter(|model| !model.is_empty())))
            }
            _ => Err("use rules, ollama, ollama:MODEL or claude".to_owned()),
        }
    }
}

/// A reader that was chosen and checked, ready to be written into the settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Chosen {
    /// No model; `true` if the user chose that explicitly, so that a model in the settings is removed.
    Rules(bool),
    /// A model that is available.
    Model(Box<Llm>),
}

/// Explains the consequences of having no model.
pub const WITHOUT_MODEL: &str = "No model reads sessions: nothing is written into the repository until one is chosen \
                                 (`throughline config llm`) or somebody uses `throughline add`.";

impl Chosen {
    /// Returns the reader's name in words.
    pub fn label(&self) -> String {
        match self {
            Self::Rules(_) => "nobody (`throughline config llm` chooses a model)".to_owned(),
            Self::Model(llm) if llm.provider == CLAUDE_PROVIDER => {
                format!("Claude Code ({})", llm.model)
            }
            Self::Model(llm) => format!("{} by Ollama", llm.model),
        }
    }

    /// Writes the choice into the settings.
    pub fn set(&self, world: &World) -> Result {
        match self {
            Self::Rules(false) => Ok(()),
            Self::Rules(true) => settings::use_rules(world),
            Self::Model(llm) => settings::use_llm(world, llm, &[], None),
        }
    }
}

/// Returns whether a reader was chosen before.
pub fn is_chosen(world: &World) -> bool {
    settings_file::load(&world.dirs, None).0.llm.is_some()
}

/// Checks that a reader is available.
///
/// # Errors
/// Returns an error if no model answers, or if Claude Code cannot be used.
pub fn look_at(world: &World, reader: &ReaderName, is_said: bool) -> Result<Chosen> {
    let llm = match reader {
        ReaderName::Rules => return Ok(Chosen::Rules(is_said)),
        ReaderName::Ollama(Some(model)) => {
            let llm = settings::ollama_model(model);
            settings::consents(world, &llm, &[])?;
            llm
        }
        ReaderName::Ollama(None) => settings::ollama_model(&first_model(world, "", &[])?),
        ReaderName::Claude => {
            let llm = settings::claude_model(CLAUDE_MODEL);
            refuse_claude(world, &llm).map_err(|failure| {
                failure.during("Claude Code cannot read sessions here".to_owned())
            })?;
            llm
        }
    };
    Ok(Chosen::Model(Box::new(llm)))
}

/// Returns the models of a running Ollama, at least one, best first. Only hosts to which the user consented, now or
/// before, are queried.
pub fn models(world: &World, host: &str, consent: &[String]) -> Result<Vec<String>> {
    let (settings, _) = settings_file::load(&world.dirs, None);
    let before = settings.llm.map(|llm| llm.consented_hosts).unwrap_or_default();
    let models = ollama::models(world, host, &[consent, &before].concat())
        .map_err(|why| {
            Failure::new(why).hint(
                "Name it with `throughline config llm ollama --consent HOST` to agree; redacted text is sent there then.",
            )
        })?
        .ok_or_else(|| {
            Failure::new("no Ollama answers")
                .hint(format!("Start it with `ollama serve`. {}", ollama::models_to_get()))
        })?;
    match models.is_empty() {
        true => Err(Failure::new("Ollama has no model").hint(ollama::models_to_get())),
        false => Ok(models),
    }
}

/// Returns the best model of a running Ollama.
pub fn first_model(world: &World, host: &str, consent: &[String]) -> Result<String> {
    Ok(models(world, host, consent)?.swap_remove(0))
}

/// Fails if Claude Code cannot be used, or would send requests to a service other than that of the user's sessions.
pub fn refuse_claude(world: &World, llm: &Llm) -> Result {
    match settings::claude_problem(world, llm) {
        Some(problem) => Err(Failure::new(problem).hint("Nothing was changed.")),
        None => Ok(()),
    }
}

/// An available reader.
#[derive(Serialize)]
struct Offer {
    /// Label in the question.
    label: String,
    /// Consequences of the choice.
    means: String,
    #[serde(skip)]
    reader: ReaderName,
}

/// The available readers, and the reasons why others are unavailable.
#[derive(Serialize)]
pub struct Offers {
    offers: Vec<Offer>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<String>,
}

impl Offers {
    /// Determines which readers are available for the sessions in `found`. Models on this machine are listed first.
    pub fn find(world: &World, found: &[Transcript]) -> Self {
        let (mut offers, mut refused) = (Vec::new(), Vec::new());
        match ollama::models(world, "", &[]) {
            Ok(models) => {
                offers.extend(models.unwrap_or_default().into_iter().next().map(|model| Offer {
                    label: format!("{model} by Ollama"),
                    means: "nothing leaves this machine".to_owned(),
                    reader: ReaderName::Ollama(Some(model)),
                }))
            }
            Err(why) => refused.push(format!("The Ollama of OLLAMA_HOST is not asked: {why}")),
        }
        let llm = settings::claude_model(CLAUDE_MODEL);
        match settings::claude_problem(world, &llm) {
            None => offers.push(Offer {
                label: format!("Claude Code's small model ({CLAUDE_MODEL})"),
                means: claude_means(world, found, &llm),
                reader: ReaderName::Claude,
            }),
            Some(why) => refused.push(format!("Claude Code cannot be asked: {why}")),
        }
        offers.push(Offer {
            label: "Nobody".to_owned(),
            means: "nothing is written into the repository until you choose a model, or use `throughline add`"
                .to_owned(),
            reader: ReaderName::Rules,
        });
        Self { offers, refused }
    }

    /// Returns whether there is more than one reader to choose from.
    pub fn is_choice(&self) -> bool {
        self.offers.len() > 1
    }

    /// Returns each reader with its consequences.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let line = |offer: &Offer| format!("{}: {}", paint(STRONG, &offer.label), offer.means);
        self.offers.iter().map(line)
    }

    /// Returns the reasons why other readers are unavailable.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Asks the user for a reader.
    pub fn ask(&self) -> Result<ReaderName> {
        let labels: Vec<String> = self.offers.iter().map(|offer| offer.label.clone()).collect();
        // The default choice sends no data to another machine.
        let safe = self.offers.iter().position(|offer| offer.reader != ReaderName::Claude);
        let at = ask::select("Who reads your sessions?", &labels, safe.unwrap_or_default())?;
        self.offers.get(at).map(|offer| offer.reader.clone()).ok_or_else(ask::cancelled)
    }
}

/// Returns a description of Claude Code as a reader: where the text is sent, who pays, and how much.
fn claude_means(world: &World, found: &[Transcript], llm: &Llm) -> String {
    // The settings of the project are not read, because the project may not be trusted yet.
    let (settings, _) = settings_file::load(&world.dirs, None);
    let client = llm::claude_version();
    let prices = Prices::of(client);
    let by = match client {
        Some(version) => format!("by the prices of client {version}"),
        None => "by the highest prices known".to_owned(),
    };
    let cost = match estimate::estimate(&settings, found, prices) {
        Some(estimate) => {
            let sessions = view::plural(estimate.sessions, "session");
            let each = estimate.each.usd.unwrap_or_default();
            format!("about {} for {sessions} (${each:.4} each, {by})", usd(estimate.usd()))
        }
        None => {
            let usd = prices.usd(TYPICAL_TOKENS.0, TYPICAL_TOKENS.1);
            format!("about ${usd:.4} for 10,000 tokens asked and 1,000 answered ({by})")
        }
    };
    format!(
        "{cost}, at most ${:.2} a day, billed to {}; redacted text goes to Anthropic, as your sessions do",
        llm.usd_per_day,
        llm::claude_bill(),
    )
}

/// Formats an amount in US dollars, with fractions of a cent if it is small.
fn usd(amount: f64) -> String {
    if amount < 0.1 { format!("${amount:.4}") } else { format!("${amount:.2}") }
}

/// Cost of reading sessions, with the limits in the settings.
#[derive(Debug, Serialize)]
pub struct ReadingCost {
    /// Cost of today with the configured model.
    pub today: Spent,
    /// Maximum number of tokens for each day.
    pub tokens_per_day: Option<u64>,
    /// Maximum cost in US dollars for each day.
    pub usd_per_day: Option<f64>,
    /// The last sessions for which the model was used, newest first.
    pub sessions: Vec<Spent>,
    /// Number of sessions that the model has not read completely.
    pub waiting: usize,
    /// Reason why background reading is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// Estimated cost of one session, derived from the recent ones.
    pub each: Option<Spent>,
    /// Number of requests that failed repeatedly and are therefore suspended.
    pub set_aside: usize,
    /// Reason why the last request failed.
    pub trouble: Option<Trouble>,
    /// Reason why no request is possible.
    pub problem: Option<String>,
}

/// Sums up the cost of reading so far.
pub fn cost(world: &World, home: &ProjectDir, llm: &Llm) -> ReadingCost {
    let spent = usage::spent(&usage::ledger(&world.dirs));
    let provider = format!("{}/{}", llm.provider, llm.model);
    let of_day = usage::of_day(&spent, &world.now.date(), Some(&provider));
    let today = Spent { provider: provider.clone(), ..of_day };
    let each = usage::each_session(&spent, &provider);
    let folder = home.llm.clone();
    let waiting = processor::mining::waiting(home);
    let strain = || llm::pause::strain(llm, world.ollama_host.as_deref(), &world.machine);
    let sessions = spent.into_iter().rev().filter(|one| !one.session.is_empty());
    ReadingCost {
        today,
        tokens_per_day: llm.tokens_bound(llm::is_local(llm, world.ollama_host.as_deref())),
        usd_per_day: llm.usd_bound(),
        sessions: sessions.take(SESSIONS_TOLD).collect(),
        waiting,
        paused: (waiting > 0).then(strain).flatten().map(|strain| strain.to_string()),
        each,
        set_aside: aside::count(&folder),
        trouble: trouble::read(&folder)
            .filter(|trouble| trouble.provider == provider && trouble.host == llm.host),
        problem: settings::claude_problem(world, llm),
    }
}

impl ReadingCost {
    /// Returns the cost as lines of text.
    pub fn lines(&self) -> Vec<String> {
        let mut bounds = Vec::new();
        bounds.extend(self.tokens_per_day.map(plural_tokens));
        bounds.extend(self.usd_per_day.map(|usd| format!("${usd:.2}")));
        let most = match bounds.is_empty() {
            true => String::new(),
            false => format!(" (at most {} a day)", bounds.join(" and ")),
        };
        let mut lines = vec![format!("today {}{most}", amount(&self.today))];
        lines.extend(self.sessions.iter().map(|one| {
            let session: String = one.session.chars().take(SESSION_CHARS).collect();
            format!("{} session {session} by {}: {}", one.day, one.provider, amount(one))
        }));
        lines.extend(self.waiting_line());
        lines.extend(self.paused.as_ref().map(|why| {
            format!("reading paused: {why}; `throughline sync` reads now, `llm.pause` turns it off")
        }));
        lines
    }

    /// Returns the number of waiting sessions and their estimated cost.
    fn waiting_line(&self) -> Option<String> {
        let count = Some(self.waiting).filter(|count| *count > 0)?;
        let verb = if count == 1 { "waits" } else { "wait" };
        let wait = format!("{} {verb} to be read", view::plural(count, "session"));
        let Some(each) = &self.each else { return Some(wait) };
        let sessions = count as u64;
        let time = about(Duration::from_millis(each.usage.millis.saturating_mul(sessions)));
        let tokens = each.usage.tokens().saturating_mul(sessions);
        Some(format!("{wait}: {time}, {} by the last ones", plural_tokens(tokens)))
    }

    /// Returns warnings for the user.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        warnings.extend(
            self.problem
                .as_ref()
                .map(|problem| format!("{problem}. Nothing is learned until it can be asked.")),
        );
        let is_spent = self.tokens_per_day.is_some_and(|max| self.today.usage.tokens() >= max)
            || self.usd_per_day.is_some_and(|max| self.today.usage.usd.unwrap_or_default() >= max);
        warnings.extend(
            self.trouble.as_ref().map(|trouble| {
                format!("No answer on {}: {}", clock::date(trouble.at), trouble.why)
            }),
        );
        if is_spent {
            warnings.push(
                "Today's bound for reading is reached; the rest waits for tomorrow.".to_owned(),
            );
        }
        if self.set_aside > 0 {
            warnings.push(format!(
                "{} of sessions failed again and again: `throughline sync --retry` asks again.",
                view::plural(self.set_aside, "part")
            ));
        }
        warnings
    }
}

fn amount(spent: &Spent) -> String {
    let usd = spent.usage.usd.map(|usd| format!(", ${usd:.4}")).unwrap_or_default();
    let failed = match spent.failed {
        0 => String::new(),
        failed => format!(" ({failed} without an answer)"),
    };
    let each = spent.seconds_each().map(|seconds| format!(", {seconds:.1} s each"));
    let questions = view::plural(spent.questions as usize, "question");
    let tokens = plural_tokens(spent.usage.tokens());
    format!("{questions}{failed}, {tokens}{usd}{}", each.unwrap_or_default())
}

fn plural_tokens(tokens: u64) -> String {
    view::plural(usize::try_from(tokens).unwrap_or(usize::MAX), "token")
}

/// Resumes suspended requests; returns their number.
pub fn retry(home: &ProjectDir) -> Result<usize> {
    aside::retry(home).map_err(Failure::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_named_on_the_command_line() {
        assert_eq!("rules".parse(), Ok(ReaderName::Rules));
        assert_eq!("ollama".parse(), Ok(ReaderName::Ollama(None)));
        assert_eq!("ollama:qwen3:8b".parse(), Ok(ReaderName::Ollama(Some("qwen3:8b".to_owned()))));
        assert_eq!("claude".parse(), Ok(ReaderName::Claude));
        assert!("gpt".parse::<ReaderName>().is_err() && "rules:x".parse::<ReaderName>().is_err());
    }
}

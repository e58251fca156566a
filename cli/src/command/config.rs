//! `throughline config`: the settings in effect, where each comes from, and the LLM that helps.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use memory_store::layout::Tree;
use memory_store::settings::Llm;
use memory_store::settings_file::{self, CONTEXT_TOKENS, Origin};
use memory_store::store::{Privacy, replace};
use processor::llm::CLAUDE_MODEL;
use processor::llm::host::Server;
use serde::Serialize;
use toml_edit::{DocumentMut, Item, Table, value};

use crate::exit;
use crate::failure::{At as _, Failure, Result};
use crate::inspect::doctor::ollama;
use crate::inspect::migrations;
use crate::view::style::{CARE, QUIET, paint};
use crate::view::{self, Sentences};
use crate::world::World;

pub mod schema;
pub mod values;

/// Shows the settings in effect and where each comes from, or chooses who reads sessions.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Config {
    #[command(subcommand)]
    what: Option<ConfigAction>,
    /// Let this Ollama model help to extract memories
    #[arg(long, hide_short_help = true, value_name = "MODEL", conflicts_with = "no_llm")]
    llm: Option<String>,
    /// Where Ollama answers, if not at OLLAMA_HOST or on this machine
    #[arg(long, hide_short_help = true, value_name = "ADDRESS", requires = "llm")]
    host: Option<String>,
    /// Agree to send redacted text to this host, by name; needed once for other machines
    #[arg(long, hide_short_help = true, value_name = "HOST", requires = "llm")]
    consent: Vec<String>,
    /// Let no model read sessions
    #[arg(long, hide_short_help = true)]
    no_llm: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Config {
    /// Returns whether it decides something for the person.
    pub fn decides(&self) -> bool {
        match &self.what {
            Some(ConfigAction::Llm(reading)) => !reading.dry_run,
            // What a repository may set opens no gate.
            Some(ConfigAction::Set { key, dry_run, .. } | ConfigAction::Unset { key, dry_run }) => {
                !dry_run && !settings_file::may_repository_set(key)
            }
            Some(ConfigAction::Edit) => true,
            Some(ConfigAction::Get { .. } | ConfigAction::Schema) => false,
            None => self.llm.is_some() || self.no_llm,
        }
    }
}

#[derive(Debug, Subcommand)]
enum ConfigAction {
    /// Chooses who reads sessions to find what is worth remembering
    Llm(Reading),
    /// Prints the value of a setting; exit code 1 where it is not set
    Get {
        /// The setting, for example start_tokens or llm.model
        #[arg(add = crate::complete::settings())]
        key: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Sets a value in your own file; what the setting does not take is refused
    Set {
        /// The setting
        #[arg(add = crate::complete::settings())]
        key: String,
        /// The value, as in TOML; a text may stand without quotes
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Takes a setting out of your own file
    Unset {
        /// The setting
        #[arg(add = crate::complete::settings())]
        key: String,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Opens your own file in your editor, and checks it afterwards
    Edit,
    /// Prints a JSON schema of the file, for editors
    Schema,
}

#[derive(Debug, Args)]
struct Reading {
    #[command(subcommand)]
    reader: ReaderChoice,
    /// Tokens that a day may cost; 0 for no bound
    #[arg(long, global = true, value_name = "COUNT")]
    tokens_per_day: Option<u64>,
    /// Tokens of question and answer together that the model takes, if fewer than 14336
    #[arg(long, hide_short_help = true, global = true, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(4096..))]
    context: Option<u32>,
    /// US dollars that a day may cost; 0 for no bound
    #[arg(long, global = true, value_name = "AMOUNT")]
    usd_per_day: Option<f64>,
    /// Agree to send redacted text to this host, by name; needed once for other machines
    #[arg(long, global = true, value_name = "HOST")]
    consent: Vec<String>,
    /// Say what would be done, and do nothing
    #[arg(long, global = true)]
    dry_run: bool,
    /// Print the settings in effect as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ReaderChoice {
    /// No model: nothing is sent anywhere, and rules find standing wishes alone
    Rules,
    /// A model that Ollama runs
    Ollama {
        /// The model; without, you choose among those that Ollama has, best first
        model: Option<String>,
        /// Where Ollama answers, if not at OLLAMA_HOST or on this machine
        #[arg(long, value_name = "ADDRESS")]
        host: Option<String>,
    },
    /// A model behind a server with OpenAI's chat interface: llama.cpp, LM Studio, vLLM and others
    Openai {
        /// The model, as the server calls it
        model: String,
        /// Where the server answers
        #[arg(long, value_name = "ADDRESS")]
        host: String,
        /// The environment variable that holds the server's key; the key itself is kept nowhere
        #[arg(long, value_name = "VARIABLE")]
        key_env: Option<String>,
    },
    /// Claude Code's own model, on your plan or bill
    Claude {
        /// The model
        #[arg(default_value = CLAUDE_MODEL)]
        model: String,
        /// The gateway that your sessions go through, if they do
        #[arg(long, value_name = "ADDRESS")]
        host: Option<String>,
    },
}

#[derive(Serialize)]
struct SettingLine {
    key: &'static str,
    value: serde_json::Value,
    #[serde(skip)]
    shown: Option<String>,
    origin: String,
}

/// Runs the command.
pub fn run(args: &Config, world: &World, out: &mut dyn Write) -> Result {
    let reading = match &args.what {
        Some(ConfigAction::Llm(reading)) => Some(reading),
        Some(ConfigAction::Get { key, json }) => return values::get(key, *json, world, out),
        Some(ConfigAction::Set { key, value, dry_run }) => {
            return values::set(key, value, *dry_run, world, out);
        }
        Some(ConfigAction::Unset { key, dry_run }) => {
            return values::unset(key, *dry_run, world, out);
        }
        Some(ConfigAction::Edit) => return values::edit(world, out),
        Some(ConfigAction::Schema) => return schema::run(out),
        None => None,
    };
    let json = args.json || reading.is_some_and(|reading| reading.json);
    let told: &mut dyn Write = &mut Sentences::of(json, out);
    if let Some(reading) = reading {
        read_by(reading, world, told)?;
    } else if let Some(model) = &args.llm {
        let host = args.host.clone().unwrap_or_default();
        use_llm(world, &Llm { host, ..ollama_model(model) }, &args.consent, None)?;
        writeln!(told, "{model} reads sessions from the next sync on.")?;
    } else if args.no_llm {
        use_rules(world)?;
        writeln!(told, "{}", crate::setup::reader::WITHOUT_MODEL)?;
    } else {
        return show(json, world, out);
    }
    if json { show(json, world, out) } else { Ok(()) }
}

fn read_by(reading: &Reading, world: &World, out: &mut dyn Write) -> Result {
    let host = |host: &Option<String>| host.clone().unwrap_or_default();
    let llm = match &reading.reader {
        ReaderChoice::Rules if reading.dry_run => {
            writeln!(out, "Would let no model read sessions.")?;
            return Ok(());
        }
        ReaderChoice::Rules => {
            use_rules(world)?;
            writeln!(out, "{}", crate::setup::reader::WITHOUT_MODEL)?;
            return Ok(());
        }
        ReaderChoice::Ollama { model, host: at } => {
            let model = match model {
                Some(model) => model.clone(),
                None => chosen_model(world, &host(at), &reading.consent)?,
            };
            Llm { host: host(at), ..ollama_model(&model) }
        }
        ReaderChoice::Openai { model, host, key_env } => Llm {
            provider: "openai".to_owned(),
            model: model.clone(),
            host: host.clone(),
            api_key_env: key_env.clone().unwrap_or_default(),
            ..Llm::default()
        },
        ReaderChoice::Claude { model, host: at } => Llm { host: host(at), ..claude_model(model) },
    };
    let mut llm = Llm { tokens_per_day: reading.tokens_per_day, context: reading.context, ..llm };
    if llm.context.is_none() {
        llm.context = processor::llm::small_context(&llm, &reading.consent);
    }
    if let Some(tokens) = llm.context.filter(|tokens| !CONTEXT_TOKENS.contains(tokens)) {
        let least = CONTEXT_TOKENS.start();
        return Err(Failure::new(format!("{} takes only {tokens} tokens at a time", llm.model))
            .hint(format!("Start its server with a context of {least} tokens or more.")));
    }
    if llm.provider == "claude" {
        refuse_claude(world, &Llm { consented_hosts: reading.consent.clone(), ..llm.clone() })?;
    }
    consents(world, &llm, &reading.consent)?;
    let name = format!("{} ({})", llm.model, llm.provider);
    if reading.dry_run {
        writeln!(out, "Would let {name} read sessions.")?;
        return Ok(());
    }
    use_llm(world, &llm, &reading.consent, reading.usd_per_day)?;
    writeln!(out, "Sessions are read by {name} from the next sync on.")?;
    if let Some(tokens) = llm.context {
        writeln!(out, "It takes {tokens} tokens at a time, question and answer together.")?;
    }
    Ok(())
}

/// Lets a person choose a model of the Ollama that answers; elsewhere the best one is taken.
fn chosen_model(world: &World, host: &str, consent: &[String]) -> Result<String> {
    let mut models = models(world, host, consent)?;
    let at = match world.interactive && models.len() > 1 {
        true => crate::ask::select("Which model reads your sessions?", &models, 0)?
            .ok_or_else(|| Failure::new("no model was chosen; nothing was changed"))?,
        false => 0,
    };
    Ok(models.swap_remove(at))
}

/// The best model of the Ollama that answers.
pub fn first_model(world: &World, host: &str, consent: &[String]) -> Result<String> {
    Ok(models(world, host, consent)?.swap_remove(0))
}

/// The models of the Ollama that answers, at least one, best first. Machines that the user agreed to, here or before,
/// may be asked.
fn models(world: &World, host: &str, consent: &[String]) -> Result<Vec<String>> {
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

/// A model of the Ollama in the usual place.
pub fn ollama_model(model: &str) -> Llm {
    Llm { model: model.to_owned(), ..Llm::default() }
}

/// A model of Claude Code.
pub fn claude_model(model: &str) -> Llm {
    Llm { provider: "claude".to_owned(), model: model.to_owned(), ..Llm::default() }
}

/// Fails where Claude Code cannot be asked, or would be asked elsewhere than sessions go.
pub fn refuse_claude(world: &World, llm: &Llm) -> Result {
    match claude_problem(world, llm) {
        Some(problem) => Err(Failure::new(problem).hint("Nothing was changed.")),
        None => Ok(()),
    }
}

/// Why Claude Code cannot be asked, if it cannot.
pub fn claude_problem(world: &World, llm: &Llm) -> Option<String> {
    processor::llm::problem(llm, world.ollama_host.as_deref(), &roots(world))
}

/// The working trees whose settings of Claude Code count here.
pub fn roots(world: &World) -> Vec<PathBuf> {
    match Tree::find(&world.dirs, &world.cwd) {
        Some(tree) if tree.root != tree.main_root => vec![tree.root, tree.main_root],
        Some(tree) => vec![tree.root],
        None => vec![world.root()],
    }
}

fn show(json: bool, world: &World, out: &mut dyn Write) -> Result {
    let tree = Tree::find(&world.dirs, &world.cwd);
    let (_, warnings) = settings_file::load(&world.dirs, tree.as_ref());
    let lines: Vec<SettingLine> = settings_file::explain(&world.dirs, tree.as_ref())
        .into_iter()
        .map(|explained| SettingLine {
            key: explained.key,
            value: explained.json,
            shown: explained.value,
            origin: match explained.origin {
                Origin::Default => "default".to_owned(),
                Origin::File(path) => path.display().to_string(),
            },
        })
        .collect();
    for warning in warnings {
        // What is not taken is said apart from what is in effect.
        let label = if warning.is_grave { "wrong:" } else { "ignored:" };
        let _ = writeln!(anstream::stderr(), "{} {warning}", paint(CARE, label));
    }
    if json {
        return view::json(&lines, out);
    }
    for line in &lines {
        let setting = match &line.shown {
            Some(value) => format!("{} = {}", line.key, view::plain(value)),
            None => format!("# {} is not set", line.key),
        };
        writeln!(out, "{setting:<40} {}", paint(QUIET, format_args!("# {}", line.origin)))?;
    }
    writeln!(out, "\nSet them in {}", world.dirs.config_file().display())?;
    Ok(())
}

/// Lets no model read sessions.
pub fn use_rules(world: &World) -> Result {
    edit(world, |document| {
        document.remove("llm");
    })
}

/// Sets the model that reads sessions. The consents given before, bounds and patience stay where
/// nothing else is said.
pub fn use_llm(
    world: &World,
    chosen: &Llm,
    consent: &[String],
    usd_per_day: Option<f64>,
) -> Result {
    let consented = consents(world, chosen, consent)?;
    edit(world, |document| {
        if !document.get("llm").is_some_and(Item::is_table_like) {
            document["llm"] = Item::Table(Table::new());
        }
        let llm = &mut document["llm"];
        // What is about a server says nothing about another provider's.
        let same = llm.get("provider").and_then(Item::as_str) == Some(&*chosen.provider);
        if let (false, Some(table)) = (same, llm.as_table_like_mut()) {
            table.remove("host");
            table.remove("api_key_env");
        }
        let same = same && llm.get("model").and_then(Item::as_str) == Some(&*chosen.model);
        if let (false, Some(table)) = (same, llm.as_table_like_mut()) {
            table.remove("context");
        }
        llm["provider"] = value(&chosen.provider);
        llm["model"] = value(&chosen.model);
        for (key, text) in [("host", &chosen.host), ("api_key_env", &chosen.api_key_env)] {
            if !text.is_empty() {
                llm[key] = value(text);
            }
        }
        if !consented.is_empty() {
            llm["consented_hosts"] = value(consented.iter().collect::<toml_edit::Array>());
        }
        if let Some(tokens) = chosen.context {
            llm["context"] = value(i64::from(tokens));
        }
        if let Some(tokens) = chosen.tokens_per_day {
            llm["tokens_per_day"] = value(i64::try_from(tokens).unwrap_or(i64::MAX));
        }
        if let Some(usd) = usd_per_day {
            llm["usd_per_day"] = value(usd);
        }
    })
}

/// Returns the hosts that the user agreed to, here or before.
///
/// # Errors
/// When the model's host is none of them and not this machine.
pub fn consents(world: &World, llm: &Llm, consent: &[String]) -> Result<Vec<String>> {
    let (settings, _) = settings_file::load(&world.dirs, None);
    let mut consented = settings.llm.map(|llm| llm.consented_hosts).unwrap_or_default();
    consented.extend(consent.iter().cloned());
    consented.sort();
    consented.dedup();
    let variable = world.ollama_host.as_deref().filter(|_| llm.provider == "ollama");
    let server = Server::named(&llm.host, variable).map_err(Failure::new)?;
    if server.is_allowed(&consented) {
        return Ok(consented);
    }
    let name = server.name();
    Err(Failure::new(format!("{name} is another machine, and nobody agreed to ask it")).hint(
        format!(
            "`throughline config llm` with `--consent {name}` agrees to send redacted text there."
        ),
    ))
}

/// Lets what is learned wait for a review, in all projects of this user.
pub fn use_drafts(world: &World) -> Result {
    edit(world, |document| document["review"] = value(true))
}

/// Tells of [`use_drafts`] what it sets in `file`.
pub fn told_drafts(file: &str) -> String {
    format!("`review = true` in {file}, for all your projects")
}

/// Changes the user's settings file, which has the format of this program then; comments and order stay.
fn edit(world: &World, change: impl FnOnce(&mut DocumentMut)) -> Result {
    migrations::before_settings(world)?;
    edit_file(&world.dirs.config_file(), change)
}

fn edit_file(path: &Path, change: impl FnOnce(&mut DocumentMut)) -> Result {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        other => other.at(path)?,
    };
    let mut document = parsed(path, &text)?;
    change(&mut document);
    write(path, &document.to_string())
}

/// Reads the text of our own settings file, so that it can be changed.
pub fn parsed(path: &Path, text: &str) -> Result<DocumentMut> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        Failure::new(format!("{}: {}", path.display(), error.message()))
            .code(exit::INVALID)
            .hint("Correct the file and run the command again; it was left as it is.")
    })
}

/// Writes our own settings file.
pub fn write(path: &Path, text: &str) -> Result {
    Ok(replace(path, text.as_bytes(), Privacy::Private)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_other_settings_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        fs::write(&path, "# mine\nalpha = 0.1 # careful\n").unwrap();
        edit_file(&path, |document| document["notice"] = value("off")).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "# mine\nalpha = 0.1 # careful\nnotice = \"off\"\n"
        );
        fs::write(&path, "alpha = \n").unwrap();
        assert_eq!(edit_file(&path, |_| {}).unwrap_err().code, exit::INVALID);
        assert_eq!(fs::read_to_string(&path).unwrap(), "alpha = \n");
    }
}

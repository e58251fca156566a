//! `throughline config`: shows the settings in effect with their origins, and chooses an LLM.

use std::io::Write;

use clap::{Args, Subcommand};
use memory_store::layout::Tree;
use memory_store::settings::Llm;
use memory_store::settings_file::{self, CONTEXT_TOKENS, Origin};
use processor::llm::CLAUDE_MODEL;
use serde::Serialize;

use crate::failure::{Failure, Result};
use crate::setup::{reader, settings};
use crate::typed::WriteOptions;
use crate::view;
use crate::view::style::{QUIET, paint};
use crate::world::World;

pub mod schema;
pub mod values;

/// Show or change settings
///
/// Without a subcommand, prints the settings in effect and the origin of each.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    what: Option<ConfigAction>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl ConfigArgs {
    /// Returns whether the command makes a decision that only the person may make.
    pub fn decides(&self, _: &World) -> bool {
        match &self.what {
            Some(ConfigAction::Llm(reading)) => !reading.dry_run,
            // Settings that may be in a repository can be changed without the person.
            Some(ConfigAction::Set { key, write, .. } | ConfigAction::Unset { key, write }) => {
                !write.dry_run && !settings_file::may_repository_set(key)
            }
            _ => self.changes(),
        }
    }

    /// Returns whether the command changes settings, or would without `--dry-run`.
    pub fn changes(&self) -> bool {
        !matches!(
            self.what,
            None | Some(
                ConfigAction::Get { .. }
                    | ConfigAction::List { .. }
                    | ConfigAction::Path
                    | ConfigAction::Schema
            )
        )
    }

    /// Returns whether the command lists all settings.
    pub fn is_list(&self) -> bool {
        matches!(self.what, None | Some(ConfigAction::List { .. }))
    }
}

#[derive(Debug, Subcommand)]
enum ConfigAction {
    /// Choose the model that reads sessions
    Llm(LlmArgs),
    /// Print the settings in effect and the origin of each, as without a subcommand
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the path of your settings file
    Path,
    /// Print the value of a setting; exit with 1 if it is not set
    Get {
        /// Name of the setting, such as start_tokens or llm.model
        #[arg(add = crate::complete::settings())]
        key: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change a setting in your settings file
    Set {
        /// Name of the setting
        #[arg(add = crate::complete::settings())]
        key: String,
        /// New value in TOML; quotes around a string are optional
        #[arg(allow_hyphen_values = true, add = crate::complete::setting_values())]
        value: String,
        #[command(flatten)]
        write: WriteOptions,
    },
    /// Remove a setting from your settings file
    Unset {
        /// Name of the setting
        #[arg(add = crate::complete::settings())]
        key: String,
        #[command(flatten)]
        write: WriteOptions,
    },
    /// Open your settings file in an editor, then check it
    Edit,
    /// Print a JSON schema of the settings file, for editors
    Schema,
}

#[derive(Debug, Args)]
struct LlmArgs {
    #[command(subcommand)]
    reader: ReaderChoice,
    /// Maximum tokens per day; 0 for no limit
    #[arg(long, global = true, value_name = "COUNT")]
    tokens_per_day: Option<u64>,
    /// Context size of the model in tokens [default: 14336]
    #[arg(long, hide_short_help = true, global = true, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(4096..))]
    context: Option<u32>,
    /// Maximum US dollars per day; 0 for no limit
    #[arg(long, global = true, value_name = "AMOUNT")]
    usd_per_day: Option<f64>,
    /// Host to which redacted text may be sent (required once for each other machine)
    #[arg(long, global = true, value_name = "HOST")]
    consent: Vec<String>,
    /// Report the changes without making them
    #[arg(long, global = true)]
    dry_run: bool,
    /// Print the settings in effect as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ReaderChoice {
    /// Use no model; rules learn only the preferences and conventions that you state
    Rules,
    /// Use a model served by Ollama
    Ollama {
        /// Model [default: choose among the installed models, best first]
        model: Option<String>,
        /// Address of Ollama [default: OLLAMA_HOST or this machine]
        #[arg(long, value_name = "ADDRESS")]
        host: Option<String>,
    },
    /// Use a server with an OpenAI-compatible chat API, such as llama.cpp, LM Studio or vLLM
    Openai {
        /// Name of the model on the server
        model: String,
        /// Address of the server, such as http://127.0.0.1:8080
        #[arg(long, value_name = "ADDRESS")]
        host: String,
        /// Environment variable that contains the API key, which is not stored
        #[arg(long, value_name = "VARIABLE")]
        key_env: Option<String>,
    },
    /// Use a Claude model through Claude Code, charged to your plan or account
    Claude {
        /// Name of the model
        #[arg(default_value = CLAUDE_MODEL)]
        model: String,
        /// Address of the gateway that your sessions use, if any
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
pub fn run(args: &ConfigArgs, world: &World, out: &mut dyn Write) -> Result {
    let json = match &args.what {
        None => return show(args.json, world, out),
        Some(ConfigAction::List { json }) => return show(args.json || *json, world, out),
        Some(ConfigAction::Path) => {
            writeln!(out, "{}", view::path(world.dirs.config_file()))?;
            return Ok(());
        }
        Some(ConfigAction::Get { key, json }) => {
            return values::get(key, args.json || *json, world, out);
        }
        Some(ConfigAction::Set { key, value, write }) => {
            let write = WriteOptions { json: args.json || write.json, ..*write };
            return values::set(key, value, write, world, out);
        }
        Some(ConfigAction::Unset { key, write }) => {
            let write = WriteOptions { json: args.json || write.json, ..*write };
            return values::unset(key, write, world, out);
        }
        Some(ConfigAction::Edit) => return values::edit(world, out),
        Some(ConfigAction::Schema) => return schema::run(out),
        Some(ConfigAction::Llm(reading)) => {
            let json = args.json || reading.json;
            let told: &mut dyn Write = if json { &mut std::io::sink() } else { &mut *out };
            read_by(reading, world, told)?;
            json
        }
    };
    if json { show(json, world, out) } else { Ok(()) }
}

fn read_by(reading: &LlmArgs, world: &World, out: &mut dyn Write) -> Result {
    let host = |host: &Option<String>| host.clone().unwrap_or_default();
    let llm = match &reading.reader {
        ReaderChoice::Rules if reading.dry_run => {
            writeln!(out, "Would let no model read sessions.")?;
            return Ok(());
        }
        ReaderChoice::Rules => {
            settings::use_rules(world)?;
            writeln!(out, "{}", reader::WITHOUT_MODEL)?;
            return Ok(());
        }
        ReaderChoice::Ollama { model, host: at } => {
            let model = match model {
                Some(model) => model.clone(),
                None => chosen_model(world, &host(at), &reading.consent)?,
            };
            Llm { host: host(at), ..settings::ollama_model(&model) }
        }
        ReaderChoice::Openai { model, host, key_env } => Llm {
            provider: "openai".to_owned(),
            model: model.clone(),
            host: host.clone(),
            api_key_env: key_env.clone().unwrap_or_default(),
            ..Llm::default()
        },
        ReaderChoice::Claude { model, host: at } => {
            Llm { host: host(at), ..settings::claude_model(model) }
        }
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
        reader::refuse_claude(
            world,
            &Llm { consented_hosts: reading.consent.clone(), ..llm.clone() },
        )?;
    }
    settings::consents(world, &llm, &reading.consent)?;
    let name = format!("{} ({})", llm.model, llm.provider);
    if reading.dry_run {
        writeln!(out, "Would let {name} read sessions.")?;
        return Ok(());
    }
    settings::use_llm(world, &llm, &reading.consent, reading.usd_per_day)?;
    writeln!(out, "Sessions are read by {name} from the next sync on.")?;
    if let Some(tokens) = llm.context {
        writeln!(out, "It takes {tokens} tokens at a time, question and answer together.")?;
    }
    Ok(())
}

/// Asks the user to choose a model of the running Ollama; without a terminal, returns the best model.
fn chosen_model(world: &World, host: &str, consent: &[String]) -> Result<String> {
    let mut models = reader::models(world, host, consent)?;
    let at = match world.interactive && models.len() > 1 {
        true => crate::ask::select("Which model reads your sessions?", &models, 0)?,
        false => 0,
    };
    Ok(models.swap_remove(at))
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
    settings::warn_of_all(&warnings);
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
    Ok(writeln!(out, "\nSet them in {}", world.dirs.config_file().display())?)
}

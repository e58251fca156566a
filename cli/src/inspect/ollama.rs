//! Checks for a local Ollama that could be used.

use memory_store::settings::Llm;
use processor::llm::local_models;

use super::check::HealthCheck;
use crate::setup::settings;
use crate::view;
use crate::world::World;

/// Returns a sentence that suggests a running local Ollama, or the reason why Ollama was not queried.
pub fn offer(world: &World) -> Option<String> {
    let models = match models(world, "", &[]) {
        Ok(models) => models?,
        Err(why) => {
            return Some(format!(
                "OLLAMA_HOST is not asked: {why} (`throughline config llm ollama MODEL --consent HOST`)."
            ));
        }
    };
    Some(match models.first() {
        Some(model) => format!(
            "A local Ollama answers: `throughline config llm ollama {model}` lets it help ({}).",
            view::plural(models.len(), "model")
        ),
        None => format!("A local Ollama answers, but has no model. {}", models_to_get()),
    })
}

/// Returns the names of models that fit into this machine's memory, with the commands that download them.
pub fn models_to_get() -> String {
    let memory = local_models::memory_bytes();
    let proposed = memory.map(local_models::proposed).unwrap_or_default();
    if proposed.is_empty() {
        return "Get a model that fits into this machine's memory with `ollama pull <model>`."
            .to_owned();
    }
    let commands: Vec<String> =
        proposed.iter().map(|model| format!("`ollama pull {model}`")).collect();
    format!(
        "These fit into this machine's memory ({} GiB), and none is measured here: {}.",
        memory.unwrap_or_default() >> 30,
        commands.join(", ")
    )
}

/// Returns the models of the Ollama at `host`; an empty `host` is the default address. `Err` contains the reason why
/// another machine is not queried.
pub fn models(
    world: &World,
    host: &str,
    consented_hosts: &[String],
) -> Result<Option<Vec<String>>, String> {
    processor::llm::probe(host, world.ollama_host.as_deref(), consented_hosts)
}

/// Checks that the configured model is available. Without a configured model, reports a model that could be used.
pub fn check(world: &World, llm: &Llm) -> HealthCheck {
    if llm.provider != "ollama" {
        let name = format!("{} ({})", llm.model, llm.provider);
        return match settings::claude_problem(world, llm) {
            Some(problem) => HealthCheck::care(
                "LLM",
                format!("{problem}; nothing is learned from sessions meanwhile"),
                "`throughline config llm` chooses another reader.",
            ),
            None => HealthCheck::good("LLM", format!("{name} can be asked")),
        };
    }
    let served = Served {
        check: "LLM",
        table: "llm",
        host: &llm.host,
        consented_hosts: &llm.consented_hosts,
        model: &llm.model,
        without: "nothing is learned from sessions meanwhile",
    };
    served.problem(world).unwrap_or_else(|| served.good())
}

/// A model in the settings.
pub struct Served<'a> {
    /// The name of the check.
    pub check: &'static str,
    /// The table of the settings that contains the model.
    pub table: &'static str,
    /// Host of the model; empty for the default address.
    pub host: &'a str,
    /// Hosts to which the user consented.
    pub consented_hosts: &'a [String],
    /// The model's name.
    pub model: &'a str,
    /// Consequence of a missing model, for the message.
    pub without: &'static str,
}

impl Served<'_> {
    /// Returns the problem with the model; `None` if it is available.
    pub fn problem(&self, world: &World) -> Option<HealthCheck> {
        let Self { check, table, host, consented_hosts, model, without } = *self;
        let models = match models(world, host, consented_hosts) {
            Ok(Some(models)) => models,
            Ok(None) => {
                return Some(HealthCheck::care(
                    check,
                    format!("the configured Ollama does not answer; {without}"),
                    format!(
                        "Start it with `ollama serve`, or remove `[{table}]` from config.toml."
                    ),
                ));
            }
            Err(why) => {
                return Some(HealthCheck::care(
                    check,
                    format!("the configured Ollama is not asked: {why}; {without}"),
                    format!("Add it to `{table}.consented_hosts` in your config.toml to agree."),
                ));
            }
        };
        // For a model `name` without a tag, Ollama lists `name:latest`.
        let is_it = |listed: &String| listed == model || *listed == format!("{model}:latest");
        (!models.iter().any(is_it)).then(|| {
            let remedy = format!("Run `ollama pull {model}`.");
            HealthCheck::care(check, format!("Ollama has no model {model}"), remedy)
        })
    }

    /// Returns the result of the check for an available model.
    pub fn good(&self) -> HealthCheck {
        HealthCheck::good(self.check, format!("{} answers", self.model))
    }
}

//! Whether a local Ollama answers, so that it can be offered.

use memory_store::settings::Llm;

use super::doctor::Check;
use crate::world::World;

/// Says that a local Ollama could help, when one answers.
pub fn offer(world: &World) -> Option<String> {
    let models = models(world, "")?;
    Some(match models.first() {
        Some(model) => format!(
            "A local Ollama answers: `throughline config --llm {model}` lets it help ({} models).",
            models.len()
        ),
        None => "A local Ollama answers, but has no model: `ollama pull <model>`.".to_owned(),
    })
}

/// The models of the Ollama at `host`; of that in the usual place when it is empty.
pub fn models(world: &World, host: &str) -> Option<Vec<String>> {
    let is_usual = host.trim().is_empty();
    processor::llm::probe(if is_usual { world.ollama_host.as_deref() } else { Some(host) })
}

/// Whether the configured model is there.
pub fn check(world: &World, llm: &Llm) -> Check {
    const NAME: &str = "LLM";
    let Some(models) = models(world, &llm.host) else {
        return Check::care(
            NAME,
            "the configured Ollama does not answer; extraction goes on by rules",
            "Start it with `ollama serve`, or remove `[llm]` from config.toml.",
        );
    };
    if has(&models, &llm.model) {
        Check::good(NAME, format!("{} answers", llm.model))
    } else {
        let remedy = format!("Run `ollama pull {}`.", llm.model);
        Check::care(NAME, format!("Ollama has no model {}", llm.model), remedy)
    }
}

/// Whether a model is among those that Ollama lists: as `name:latest` where it is called `name`.
pub fn has(models: &[String], name: &str) -> bool {
    models.iter().any(|model| model == name || *model == format!("{name}:latest"))
}

//! Detects whether sessions of Claude Code use another endpoint than questions, which are sent without the user's
//! settings: another provider, a gateway, or another account. If so, no question is sent.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::host::ModelServer;

/// Maximum size in bytes of a settings file of Claude Code.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;
/// Host of the default endpoint.
const USUAL_HOST: &str = "api.anthropic.com";
/// The variable that names the endpoint.
pub(super) const BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// Settings, besides variables, that determine how a session reaches its provider.
const HELPERS: [&str; 5] =
    ["apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "proxyAuthHelper"];
/// Variables that contain the credentials of the billed account.
pub(super) const ACCOUNTS: [&str; 3] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
/// Paths of an organisation's settings, which apply to all sessions.
const MANAGED: [&str; 2] = [
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];

/// The environment of this process, or one for a test.
#[derive(Clone, Debug, Default)]
pub struct ClientEnvironment(BTreeMap<OsString, OsString>);

impl ClientEnvironment {
    /// Returns the environment of this process.
    pub fn of_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// Creates an environment with these variables.
    #[cfg(test)]
    pub fn of(vars: &[(&str, &str)]) -> Self {
        Self(vars.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    /// Returns all variables.
    pub fn all(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter()
    }

    /// Returns the value of a variable if it is not empty.
    pub fn get(&self, name: &str) -> Option<&OsString> {
        self.0.get(OsString::from(name).as_os_str()).filter(|value| !value.is_empty())
    }

    fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|value| value.to_string_lossy().into_owned())
    }

    /// Returns the settings files of Claude Code that apply to working trees at `roots`.
    fn settings(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let home = self.get("HOME").map(PathBuf::from);
        let moved = self.get("CLAUDE_CONFIG_DIR").map(PathBuf::from);
        let users = moved.or_else(|| Some(home?.join(".claude")));
        let mut files: Vec<PathBuf> = MANAGED.iter().map(PathBuf::from).collect();
        files.extend(users.map(|folder| folder.join("settings.json")));
        for root in roots {
            files.push(root.join(".claude/settings.json"));
            files.push(root.join(".claude/settings.local.json"));
        }
        files
    }

    /// Returns a message about the setting that makes sessions use another endpoint, and its place; `None` if there is
    /// no such setting. `agreed` is the endpoint that the user named and consented to.
    pub fn leads_elsewhere(
        &self,
        roots: &[PathBuf],
        agreed: Option<&ModelServer>,
    ) -> Option<String> {
        let own = "the environment of this process";
        let found = self.all().find_map(|(name, value)| {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            Some(diversion_message(&diverts(&name, &value, agreed)?, own))
        });
        found.or_else(|| self.settings(roots).iter().find_map(|file| self.of_file(file, agreed)))
    }

    fn of_file(&self, file: &Path, agreed: Option<&ModelServer>) -> Option<String> {
        let place = file.display().to_string();
        let unknown = |why: String| {
            Some(format!(
                "{place} cannot be read ({why}), so that nobody knows where sessions go; Claude Code \
                 is not asked"
            ))
        };
        let settings = match read(file) {
            Ok(None) => return None,
            Ok(Some(settings)) => settings,
            Err(why) => return unknown(why),
        };
        if let Some(name) = HELPERS.into_iter().find(|name| !is_nothing(settings.get(name))) {
            return Some(diversion_message(&format!("`{name}`"), &place));
        }
        let vars = settings.get("env").and_then(Value::as_object)?;
        vars.iter().find_map(|(name, value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            let is_account = ACCOUNTS.contains(&name.as_str())
                && !text.is_empty()
                && self.text(name).as_ref() != Some(&text);
            let what = match is_account {
                true => Some(format!("`{name}`, which is another account,")),
                false => diverts(name, &text, agreed),
            };
            Some(diversion_message(&what?, &place))
        })
    }

    /// Returns the name of the account that pays for questions, as far as it can be determined without a secret.
    pub fn bill(&self) -> &'static str {
        if self.get("ANTHROPIC_API_KEY").is_some() || self.get("ANTHROPIC_AUTH_TOKEN").is_some() {
            "the account of the key in your environment"
        } else {
            "the plan or account that Claude Code is logged in to"
        }
    }
}

fn diversion_message(what: &str, place: &str) -> String {
    format!(
        "{what} in {place} sends sessions elsewhere than Claude Code would be asked, so it is not \
         asked; use another reader (`throughline config llm`), or name the endpoint there"
    )
}

/// Returns the endpoint to which a variable directs sessions; `None` if it has no effect.
fn diverts(name: &str, value: &str, agreed: Option<&ModelServer>) -> Option<String> {
    if matches!(value.trim().to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off") {
        return None;
    }
    let provider = name.strip_prefix("CLAUDE_CODE_USE_").is_some_and(|provider| {
        ["BEDROCK", "VERTEX", "FOUNDRY", "GATEWAY", "MANTLE", "ANTHROPIC_AWS"].contains(&provider)
            || provider == "ANTHROPIC_GOOGLE_CLOUD"
    });
    let endpoint = name.starts_with("ANTHROPIC_") && name.ends_with("_BASE_URL");
    let other = matches!(name, "ANTHROPIC_UNIX_SOCKET" | "ANTHROPIC_CUSTOM_HEADERS");
    if !(provider || endpoint || other) || name == BASE_URL && is_usual(value, agreed) {
        return None;
    }
    // Only the host of an address is printed, because the rest may contain a key.
    let host = ModelServer::parse(value).ok().filter(|_| endpoint).map(|server| server.name());
    Some(host.map_or_else(|| format!("`{name}`"), |host| format!("`{name}` ({host})")))
}

fn is_usual(address: &str, agreed: Option<&ModelServer>) -> bool {
    let Ok(server) = ModelServer::parse(address) else { return false };
    let is_own = server.url.scheme() == "https" && server.url.host_str() == Some(USUAL_HOST);
    is_own || agreed.is_some_and(|agreed| agreed.url == server.url)
}

fn is_nothing(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => true,
        Some(Value::String(text)) => text.trim().is_empty(),
        Some(_) => false,
    }
}

/// Returns the settings in a file; `None` if it does not exist.
fn read(file: &Path) -> Result<Option<Value>, String> {
    let bytes = match fs::metadata(file) {
        Ok(meta) if meta.len() > SETTINGS_BYTES_MAX => return Err("it is too large".to_owned()),
        Ok(_) => fs::read(file).map_err(|error| error.to_string())?,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error.to_string()),
    };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    if bytes.trim_ascii().is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(bytes).map(Some).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sends_sessions_elsewhere_is_found_and_named_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("work");
        let config = folder.path().join("config");
        fs::create_dir_all(root.join(".claude")).unwrap();
        fs::create_dir_all(&config).unwrap();
        let base = [("HOME", "/nowhere"), ("CLAUDE_CONFIG_DIR", config.to_str().unwrap())];
        let with = |more: &[(&str, &str)], agreed: Option<&str>| {
            let agreed = agreed.map(|agreed| ModelServer::parse(agreed).unwrap());
            let environment = ClientEnvironment::of(&[&base[..], more].concat());
            environment.leads_elsewhere(std::slice::from_ref(&root), agreed.as_ref())
        };
        assert_eq!(with(&[], None), None);
        assert_eq!(
            with(&[("ANTHROPIC_API_KEY", "k"), ("CLAUDE_CODE_USE_BEDROCK", "0")], None),
            None
        );
        assert_eq!(with(&[(BASE_URL, "https://api.anthropic.com")], None), None);
        for name in ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_UNIX_SOCKET"] {
            let told = with(&[(name, "1")], None).unwrap();
            assert!(told.contains(name) && told.contains("the environment"), "{told}");
        }
        let gateway = "https://gate.example.org/secret-path";
        let told = with(&[(BASE_URL, gateway)], None).unwrap();
        assert!(told.contains("gate.example.org") && !told.contains("secret"), "{told}");
        assert_eq!(with(&[(BASE_URL, gateway)], Some(gateway)), None);
        assert!(with(&[(BASE_URL, gateway)], Some("https://other.example.org")).is_some());

        let places = [
            config.join("settings.json"),
            root.join(".claude/settings.json"),
            root.join(".claude/settings.local.json"),
        ];
        for place in places {
            for (text, named) in [
                (r#"{"env": {"CLAUDE_CODE_USE_VERTEX": 1}}"#, "CLAUDE_CODE_USE_VERTEX"),
                (
                    r#"{"env": {"ANTHROPIC_BASE_URL": "http://gate.example.org"}}"#,
                    "gate.example.org",
                ),
                (r#"{"env": {"ANTHROPIC_API_KEY": "sk-other"}}"#, "another account"),
                (r#"{"apiKeyHelper": "/bin/key"}"#, "apiKeyHelper"),
                ("{", "cannot be read"),
            ] {
                fs::write(&place, text).unwrap();
                let told = with(&[], None).unwrap();
                let is_told = told.contains(named) && told.contains(&place.display().to_string());
                assert!(is_told && !told.contains("sk-other"), "{told}");
            }
            fs::write(&place, r#"{"env": {"ANTHROPIC_API_KEY": "k"}, "model": "opus"}"#).unwrap();
            assert_eq!(with(&[("ANTHROPIC_API_KEY", "k")], None), None);
            fs::remove_file(&place).unwrap();
        }
    }
}

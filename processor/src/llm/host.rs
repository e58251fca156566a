//! Address of a model's server. Parses `OLLAMA_HOST` in all forms that Ollama accepts.

use std::net::{IpAddr, Ipv4Addr};

use memory_store::settings::Llm;
use url::{Host, Url};

/// The default port.
const PORT: u16 = 11434;

/// An Ollama server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelServer {
    /// The base address, which ends with `/`.
    pub url: Url,
}

impl ModelServer {
    /// Parses an address in the form of `OLLAMA_HOST`: a host, `host:port`, or an address with scheme and path. An
    /// empty text means this machine. `Err` describes the problem.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().trim_matches(['"', '\'']).trim();
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme @ ("http" | "https"), rest)) => (scheme, rest),
            Some((scheme, _)) => return Err(format!("`{text}`: use http or https, not {scheme}")),
            None => ("http", text),
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = host_and_port(authority);
        let port = match port {
            Some("") => PORT,
            Some(port) => port.parse().map_err(|_| format!("`{text}`: `{port}` is no port"))?,
            None => match (scheme, text.contains("://")) {
                ("https", _) => 443,
                (_, true) => 80,
                (_, false) => PORT,
            },
        };
        let host = match host {
            // A server can listen on these addresses, but a client cannot connect to them.
            "" | "0.0.0.0" | "::" | "[::]" => "127.0.0.1".to_owned(),
            host if host.contains(':') && !host.starts_with('[') => format!("[{host}]"),
            host => host.to_owned(),
        };
        let path = path.trim_matches('/');
        let slash = if path.is_empty() { "" } else { "/" };
        let url = Url::parse(&format!("{scheme}://{host}:{port}/{path}{slash}"))
            .map_err(|error| format!("`{text}` is no address of a server: {error}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address with a password in it is not used".to_owned());
        }
        Ok(Self { url })
    }

    /// Returns the server named in a setting, or else in the variable `OLLAMA_HOST`.
    pub fn named(setting: &str, variable: Option<&str>) -> Result<Self, String> {
        let text = if setting.trim().is_empty() { variable.unwrap_or_default() } else { setting };
        Self::parse(text)
    }

    /// Returns the server if the user permits sending text to it, else an error. `table` is the name of the settings
    /// table that contains the server.
    pub fn agreed(
        setting: &str,
        variable: Option<&str>,
        consented_hosts: &[String],
        table: &str,
    ) -> Result<Self, String> {
        let server = Self::named(setting, variable)?;
        if server.is_allowed(consented_hosts) {
            return Ok(server);
        }
        let name = server.name();
        Err(format!(
            "{name} is another machine, and nobody agreed to send redacted text there; add it to \
             `{table}.consented_hosts` in your own settings to agree"
        ))
    }

    /// Returns whether the server is on this machine, so that no data leaves it.
    pub fn is_local(&self) -> bool {
        match self.url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback() || address == Ipv4Addr::UNSPECIFIED,
            Some(Host::Ipv6(address)) => {
                address.is_loopback()
                    || matches!(address.to_canonical(), IpAddr::V4(address) if address.is_loopback())
            }
            None => false,
        }
    }

    /// Returns the name by which a person consents to sending text to the server: the host, and the port unless it is
    /// Ollama's default.
    pub fn name(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port_or_known_default() {
            Some(port) if port != PORT => format!("{host}:{port}"),
            Some(_) | None => host.to_owned(),
        }
    }

    /// Returns whether text may be sent to the server: it is on this machine, or the user consented to it by name.
    pub fn is_allowed(&self, consented_hosts: &[String]) -> bool {
        self.is_local()
            || consented_hosts.iter().any(|agreed| {
                let agreed = agreed.trim();
                agreed.eq_ignore_ascii_case(&self.name())
                    || agreed.contains("://")
                        && Self::parse(agreed).is_ok_and(|server| server.name() == self.name())
            })
    }
}

fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    if let Some(end) = authority.find(']') {
        let (host, rest) = authority.split_at(end + 1);
        return (host, rest.strip_prefix(':'));
    }
    match authority.rsplit_once(':') {
        // Several colons without brackets mean an IPv6 address.
        Some((host, _)) if host.contains(':') => (authority, None),
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    }
}

/// Returns whether the provider in the settings is on this machine, so that no data leaves the machine.
pub fn is_local(settings: &Llm, ollama_host: Option<&str>) -> bool {
    let variable = ollama_host.filter(|_| settings.provider == "ollama");
    settings.provider != "claude"
        && ModelServer::named(&settings.host, variable).is_ok_and(|server| server.is_local())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_variable_is_read() {
        for (text, url) in [
            ("", "http://127.0.0.1:11434/"),
            ("0.0.0.0", "http://127.0.0.1:11434/"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080/"),
            (":8080", "http://127.0.0.1:8080/"),
            ("localhost", "http://localhost:11434/"),
            ("box.lan", "http://box.lan:11434/"),
            ("box.lan:", "http://box.lan:11434/"),
            (" \"10.0.0.2:9\" ", "http://10.0.0.2:9/"),
            ("http://box.lan", "http://box.lan/"),
            ("https://box.lan", "https://box.lan/"),
            ("https://box.lan:8443/ollama", "https://box.lan:8443/ollama/"),
            ("[::1]", "http://[::1]:11434/"),
            ("[::1]:9", "http://[::1]:9/"),
            ("::1", "http://[::1]:11434/"),
            ("[::]:9", "http://127.0.0.1:9/"),
        ] {
            assert_eq!(ModelServer::parse(text).unwrap().url.as_str(), url, "{text}");
        }
        for wrong in ["ftp://x", "x:99999", "x:port", "http://u:p@x", "a b"] {
            assert!(ModelServer::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_this_machine_needs_no_consent() {
        let allowed = |host: &str, agreed: &[&str]| {
            let agreed: Vec<String> = agreed.iter().map(|&host| host.to_owned()).collect();
            ModelServer::parse(host).unwrap().is_allowed(&agreed)
        };
        for host in ["", "localhost:9", "127.0.0.7", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"] {
            assert!(allowed(host, &[]), "{host}");
        }
        for host in ["box.lan", "10.0.0.2", "localhost.example.org", "127.0.0.1.example.org"] {
            assert!(!allowed(host, &["other.lan"]), "{host}");
        }
        assert!(allowed("box.lan", &["BOX.lan"]));
        assert!(allowed("https://box.lan", &["box.lan:443"]));
        assert!(!allowed("box.lan:9", &["box.lan"]), "consent is for one port");
    }
}

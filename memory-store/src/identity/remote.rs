//! Normalisation of remote addresses.

/// Returns the host and path in a remote's address, without the user, the default port, `.git` and the protocol.
/// Returns `None` if the address is valid only in this folder.
pub(crate) fn normalise(address: &str) -> Option<String> {
    let address = address.trim();
    match address.split_once("://") {
        Some(("file", path)) => local(path),
        Some((protocol, rest)) => {
            let (authority, path) = rest.split_once('/')?;
            let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            remote(&host(protocol, authority), path)
        }
        None => scp_like(address).or_else(|| local(address)),
    }
}

/// Parses `user@host:path`, the form that ssh and git use. A colon after a slash belongs to a path.
fn scp_like(address: &str) -> Option<String> {
    let (authority, path) = address.split_once(':')?;
    // A single letter before the colon is a Windows drive.
    if authority.contains('/') || authority.len() < 2 {
        return None;
    }
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    remote(&authority.to_ascii_lowercase(), path)
}

fn local(path: &str) -> Option<String> {
    let path = trim_path(path);
    let is_absolute = path.starts_with('/') || path.get(1..2) == Some(":");
    is_absolute.then(|| format!("file:{path}"))
}

fn remote(host: &str, path: &str) -> Option<String> {
    let path = trim_path(path).trim_start_matches('/');
    (!host.is_empty() && !path.is_empty()).then(|| format!("{host}/{path}"))
}

/// Returns the host in lower case. A port is omitted if it only selects a transport: any port of ssh, and default
/// ports.
fn host(protocol: &str, authority: &str) -> String {
    let authority = authority.to_ascii_lowercase();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (host, port),
        Some(_) | None => (authority.as_str(), ""),
    };
    let is_default = matches!((protocol, port), (_, "") | ("https", "443") | ("http", "80"));
    if is_default || matches!(protocol, "ssh" | "git+ssh" | "ssh+git" | "git") {
        host.to_owned()
    } else {
        format!("{host}:{port}")
    }
}

fn trim_path(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_one_name() {
        for address in [
            "git@Example.com:Owner/repo.git",
            "ssh://git@example.com/Owner/repo.git",
            "ssh://git@example.com:2222/Owner/repo",
            "https://example.com/Owner/repo",
            "https://user:token@example.com:443/Owner/repo.git/",
            "http://example.com:80/Owner/repo",
            "git://example.com/Owner/repo.git",
            "example.com:Owner/repo",
            " https://example.com/Owner/repo.git\n",
        ] {
            assert_eq!(normalise(address).as_deref(), Some("example.com/Owner/repo"), "{address}");
        }
    }

    #[test]
    fn different_repositories_have_different_names() {
        assert_eq!(normalise("https://example.com:8443/a/b").unwrap(), "example.com:8443/a/b");
        assert_eq!(normalise("/srv/git/b.git").unwrap(), "file:/srv/git/b");
        assert_eq!(normalise("file:///srv/git/b.git/").unwrap(), "file:/srv/git/b");
        assert_eq!(normalise("C:/git/b").unwrap(), "file:C:/git/b");
        for address in ["", "../b", "b.git", "https://example.com", "https://example.com/", "./a:b"]
        {
            assert_eq!(normalise(address), None, "{address}");
        }
    }
}

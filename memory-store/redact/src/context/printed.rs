//! Commands that print only a secret: no name is next to the value in their output, so only the command identifies it.
//! Also files and stores of credentials, in which values at any other place are secrets too. The forms are taken from
//! each program's own manual.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use crate::context::rows;
use crate::vocabulary::WORDS;

/// Commands and files that contain secrets, as regular expressions from `contexts.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrintedOutput {
    /// Names of secrets in the names of files, settings and variables. `NAME` refers to this expression in the others.
    name: String,
    /// Commands that print only a secret.
    prints: Vec<String>,
    /// Commands that print the contents of a credential store, or the environment.
    stores: Vec<String>,
    /// Names of files that contain environment settings or credentials.
    files: Vec<String>,
}

static OUTPUT: LazyLock<PrintedOutput> = LazyLock::new(|| rows::of("output"));

static PRINTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let PrintedOutput { name, prints, .. } = &*OUTPUT;
    any_of(r"(?:^|[\s;&|($`])", &prints.join("|").replace("NAME", name), "")
});

static FILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let files = OUTPUT.files.join("|");
    any_of(r"(?:^|[\s/'\x22=@<(])", &files, r"(?:$|[\s'\x22)|;&<>])")
});

static STORE: LazyLock<Option<Regex>> =
    LazyLock::new(|| any_of(r"(?:^|[\s;&|($`/])", &OUTPUT.stores.join("|"), ""));

fn any_of(before: &str, forms: &str, behind: &str) -> Option<Regex> {
    Regex::new(&format!("(?i){before}(?:{forms}){behind}")).ok()
}

/// Returns whether a file name is that of a file with environment settings or credentials.
pub fn is_secrets_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    !name.split('.').any(|part| WORDS.sample_part.has(part))
        && FILE.as_ref().is_some_and(|file| file.is_match(path))
}

/// Returns whether a command line prints a file or store of credentials, or the environment.
pub fn reads_secrets(command: &str) -> bool {
    let names_file = || {
        command
            .split_whitespace()
            .any(|word| is_secrets_file(word.trim_matches(|c: char| "'\"`();|&<>".contains(c))))
    };
    prints_secret(command)
        || STORE.as_ref().is_some_and(|store| store.is_match(command))
        || names_file()
}

/// Returns whether a command line prints only a secret.
pub fn prints_secret(command: &str) -> bool {
    // Only the last line counts, because the output of earlier lines goes to variables and files.
    let last = command.lines().last().unwrap_or_default();
    // These words indicate public keys and lists of names.
    let is_open = ["public", ".pub", "/etc/passwd", "name-only", "-o name", "tokenizer", "git "];
    !is_open.iter().any(|word| last.contains(word))
        && PRINTS.as_ref().is_some_and(|prints| prints.is_match(last))
}

#[cfg(test)]
mod tests {
    use super::{is_secrets_file, prints_secret, reads_secrets};

    #[test]
    fn credential_files_and_stores_are_distinguished_from_others() {
        for path in [
            ".env",
            "/srv/shop/.env.local",
            "deploy/prod.env",
            "/home/ada/.netrc",
            "/home/ada/.aws/credentials",
            "infra/dev.auto.tfvars",
            "config/secrets.yml",
            "/run/secrets/db",
            "credentials.json",
        ] {
            assert!(is_secrets_file(path), "{path}");
            assert!(reads_secrets(&format!("grep -v '^#' {path} | head -3")), "{path}");
        }
        for path in [
            ".env.example",
            ".env.sample",
            "secrets.example.yml",
            "src/env.rs",
            "docs/credentials.md",
            "src/secrets/mod.rs",
            "e2e/fixtures/user17.json",
            "terraform.tfvars.template",
        ] {
            assert!(!is_secrets_file(path), "{path}");
        }
        for command in [
            "vault kv get -format=json kv/shop",
            "kubectl -n shop get secret db -o yaml",
            "op item get shop-db",
            "env | grep DB_",
            "printenv",
            "aws secretsmanager get-secret-value --secret-id shop",
            "source .env && env",
            "sops -d secrets.enc.yaml",
        ] {
            assert!(reads_secrets(command), "{command}");
        }
        for command in [
            "curl -s https://wiki.example.org/help",
            "cargo test",
            "cat docs/env.md",
            "kubectl get pods",
            "env RUST_LOG=debug cargo run",
        ] {
            assert!(!reads_secrets(command), "{command}");
        }
    }

    #[test]
    fn commands_that_print_a_secret_are_distinguished_from_others() {
        for command in [
            "pass show shop/db",
            "op read op://Private/shop/password",
            "security find-generic-password -a ada -s shop -w",
            "cd infra && gcloud secrets versions access latest --secret=db-password",
            "kubectl get secret db -o jsonpath='{.data.password}' | base64 -d",
            "aws ssm get-parameter --name /a --with-decryption --query Parameter.Value --output text",
            "vault kv get -field=password secret/shop",
            "argocd admin initial-password -n argocd",
            "openssl rand -hex 32",
            "kubeadm token create",
            "kubectl get secret db -o go-template='{{.data.password | base64decode}}'",
            "(Import-Clixml own.xml).GetNetworkCredential().Password",
            "cat .vault_pass",
            "sudo cat /var/lib/rabbitmq/.erlang.cookie",
            "pwgen -s 16 1",
            "pulumi config get shopPassword",
            "terraform output -raw db_password",
            "aws configure get aws_secret_access_key",
            "docker exec nexus cat /nexus-data/admin.password",
            "sudo cat /var/lib/node-token",
            "cat secrets/db",
            "printenv SHOP_TOKEN",
            "echo \"$SHOP_PASSWORD\"",
            "heroku auth:token",
            "nmcli -s -g 802-11-wireless-security.psk connection show Lab",
            "wg genkey | tee own.key",
            "head -c 32 /dev/urandom | base64",
            "python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
            "node -e \"console.log(require('crypto').randomBytes(32).toString('hex'))\"",
            "bin/rails secret",
        ] {
            assert!(prints_secret(command), "{command}");
        }
        for command in [
            "pass test/unit",
            "gopass ls",
            "kubectl get secrets",
            "npm run pass",
            "kubeadm token list",
            "cat src/vault_passes.rs",
            "aws ssm get-parameter --name /a",
            "gcloud secrets list",
            "security find-certificate",
            "openssl x509 -in a.pem -text",
            "bypass show shop/db",
            "cat /etc/passwd",
            "cat src/token.rs",
            "cat docs/secrets.md",
            "git config get token",
            "cat id_ed25519.pub",
            "npm run generate-types",
            "terraform output -raw url",
            "echo PASSWORD",
        ] {
            assert!(!prints_secret(command), "{command}");
        }
    }
}

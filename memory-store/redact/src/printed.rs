//! Commands whose output is a secret and nothing else: their output has no name beside the value, so the command alone
//! tells what it is. And files and stores of credentials, whose values are secrets wherever else they are. Forms are from
//! each program's own manual.

use std::sync::LazyLock;

use regex::Regex;

/// Names of secrets in the names of files, settings and variables.
const NAME: &str = r"[\w./:@-]*(?:passw(?:or)?d|passphrase|secret|token|credential|api_?key|access_?key|private_?key|signing_?key|\bpsk\b)[\w-]*";

static PRINTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let forms = [
        r"pass\s+show\s+[\w@./-]+",
        r"gopass\s+(?:show\s+)?-o\b",
        r"op\s+(?:read|item\s+get\b.*(?:--reveal|--fields))\b",
        r"bw\s+get\s+(?:password|totp)\b",
        r"lpass\s+show\b.*--password\b",
        r"security\s+find-(?:generic|internet)-password\b.*\s-[a-z]*w\b",
        r"secret-tool\s+lookup\b",
        r"keyring\s+get\b",
        r"aws\s+secretsmanager\s+get-secret-value\b.*--query\b",
        r"aws\s+ssm\s+get-parameters?\b.*--with-decryption\b.*--query\b",
        r"aws\s+ecr\s+get-login-password\b",
        r"gcloud\s+secrets\s+versions\s+access\b",
        r"gcloud\s+auth\s+(?:application-default\s+)?print-(?:access|identity)-token\b",
        r"az\s+keyvault\s+secret\s+show\b.*--query\b",
        r"az\s+account\s+get-access-token\b.*--query\b",
        r"vault\s+(?:kv\s+get|read)\b.*-field[= ]",
        r"doppler\s+secrets\s+get\b.*--plain\b",
        r"heroku\s+config:get\b",
        r"gh\s+auth\s+token\b",
        r"argocd\s+admin\s+initial-password\b",
        r"kubectl\b.*\bget\s+secrets?\b.*\bbase64\s+(?:-d|-D|--decode)\b",
        r"kubeadm\s+token\s+(?:create|generate)\s*$",
        r"kubectl\b.*\bget\s+secrets?\b.*\bbase64decode\b",
        r"\S.*\.GetNetworkCredential\(\)\.Password\s*$",
        r"openssl\s+rand\s+-(?:hex|base64)\b",
        r"(?:pwgen|apg|xkcdpass|diceware|makepasswd)\b",
        // A setting, an output or a variable whose name is that of a secret.
        r"(?:config|configure|secrets?|variables?|vars?|env|settings?|output|params?|parameters?|keystore|keyring|keychain)(?:\s+|:)(?:get|show|read|view|reveal|print|--?raw|access)\s[^|;&<>]*NAME(?:['\x22]|\s|$)",
        r"printenv\s+NAME\s*$",
        r"(?:echo|printf\s+\S+)\s+['\x22]?\$\{?NAME\}?['\x22]?\s*$",
        r"nmcli\b.*\bpsk\b",
        r"(?:[\w-]+\s+)?auth[:\s-](?:token|print-access-token)\s*$",
        // A file that holds nothing else.
        r"(?:cat|head|tail|less|more|type|bat|Get-Content)\s[^|;&<>]*(?:NAME(?:\.(?:txt|key|out|tmp|secret|token|password|pass|pw))?|[\w./@-]*secrets?/[\w-]+(?:\.txt)?|[\w./@-]*(?:\.erlang\.cookie|\.passwd-s3fs|vault[-_]pass)|(?:^|[\s/])[\w-]*(?:private|secret|master|signing|encryption)[\w-]*\.key)['\x22]?\s*$",
        // Generators.
        r"\S*/dev/u?random\b",
        r"(?:\S*[.(\s])?(?:secrets\.token_|randomBytes\(|random_bytes\(|SecureRandom\b|get_random_secret_key|Fernet\.generate_key|crypto\.rand)",
        r"gpg\b.*--gen-random\b",
        r"(?:\S+/)?(?:rails|rake)\s+secret\b",
        r"(?:\S+\s+)?(?:genkey|genpsk|phx\.gen\.secret|key:generate\b.*--show)\b",
        r"(?:\S+\s+)*(?:generate|gen|create|new)[-:_ ](?:\w+[-_ ])?(?:secret|token|password|passphrase|apikey)(?:[-_]key)?\b[^|;&<>]*$",
    ];
    let forms = forms.join("|").replace("NAME", NAME);
    Regex::new(&format!(r"(?i)(?:^|[\s;&|($`])(?:{forms})")).ok()
});

/// Names of files that contain the settings of an environment, or credentials.
const FILES: [&str; 12] = [
    r"\.env(?:rc|\.[\w-]+)*",
    r"[\w-]+\.env",
    r"[._]netrc",
    r"\.(?:pgpass|my\.cnf|npmrc|yarnrc\.yml|pypirc|git-credentials|htpasswd|dockercfg|s3cfg|boto|vault-token)",
    r"\.(?:docker/config\.json|kube/config|aws/(?:credentials|config)|azure/[\w.-]+\.json)",
    r"(?:kubeconfig|application_default_credentials\.json|service[-_]account[\w-]*\.json)",
    r"credentials(?:\.(?:json|ya?ml|toml|ini|xml|tfrc\.json|properties))?",
    r"secrets?(?:\.[\w-]+)?\.(?:json|ya?ml|toml|ini|env|properties|txt)",
    r"[\w.-]+\.tfvars(?:\.json)?",
    r"(?:local\.settings\.json|wp-config\.php|master\.key|auth\.json)",
    r"(?:run|var/run)/secrets/[\w./-]+",
    r"[\w-]*(?:passw(?:or)?ds?|credentials?|secrets?)\.(?:txt|csv|kdbx)",
];

/// Commands that print what a store of credentials, or the environment, contains.
const STORES: [&str; 14] = [
    r"kubectl\b[^|;&]*\bget\s+secrets?\b[^|;&]*\s-o",
    r"oc\b[^|;&]*\bget\s+secrets?\b[^|;&]*\s-o",
    r"vault\s+(?:kv\s+get|read)\b",
    r"op\s+(?:read|inject|run|item\s+get)\b",
    r"(?:go)?pass\s+(?:show|-c)\b",
    r"(?:bw|rbw)\s+get\b",
    r"lpass\s+show\b",
    r"security\s+find-(?:generic|internet)-password\b",
    r"(?:secret-tool\s+lookup|keyring\s+get|chamber\s+(?:read|export)|doppler\s+secrets|infisical\s+(?:secrets|export))\b",
    r"aws\s+(?:secretsmanager\s+get-secret-value|ssm\s+get-parameters?\b[^|;&]*--with-decryption|configure\s+export-credentials)\b",
    r"(?:gcloud\s+secrets\s+versions\s+access|az\s+keyvault\s+secret\s+show|heroku\s+config)\b",
    r"(?:sops\s+(?:-d|--decrypt|decrypt)|ansible-vault\s+(?:view|decrypt))\b",
    r"(?:terraform|tofu)\s+output\b|pulumi\b[^|;&]*--show-secrets\b",
    r"(?:printenv|env|set)\s*(?:$|\|)",
];

static FILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)(?:^|[\s/'\x22=@<(])(?:{})(?:$|[\s'\x22)|;&<>])", FILES.join("|")))
        .ok()
});

static STORE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!(r"(?i)(?:^|[\s;&|($`/])(?:{})", STORES.join("|"))).ok());

/// Endings of files that show which settings there are, and contain no secret of anybody.
const SAMPLES: [&str; 6] = ["example", "sample", "template", "dist", "defaults", "tpl"];

/// Returns whether the name of a file tells that it contains settings of an environment, or credentials.
pub fn is_secrets_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    !name.split('.').any(|part| SAMPLES.contains(&part.to_ascii_lowercase().as_str()))
        && FILE.as_ref().is_some_and(|file| file.is_match(path))
}

/// Returns whether a command line prints what a file or store of credentials contains, or the environment.
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

/// Returns whether a command line prints a secret and nothing else.
pub fn prints_secret(command: &str) -> bool {
    // Only the last line: earlier ones go on into variables and files.
    let last = command.lines().last().unwrap_or_default();
    // Public keys, and lists of names.
    let is_open = ["public", ".pub", "/etc/passwd", "name-only", "-o name", "tokenizer", "git "];
    !is_open.iter().any(|word| last.contains(word))
        && PRINTS.as_ref().is_some_and(|prints| prints.is_match(last))
}

#[cfg(test)]
mod tests {
    use super::{is_secrets_file, prints_secret, reads_secrets};

    #[test]
    fn files_and_stores_of_credentials_are_told_from_others() {
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
    fn commands_that_print_a_secret_are_told_from_others() {
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

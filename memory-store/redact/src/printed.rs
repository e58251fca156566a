//! Commands whose output is a secret and nothing else. Their output has no name beside the value, so the command alone
//! says what it is. Forms are from each program's own manual.

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
    use super::prints_secret;

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

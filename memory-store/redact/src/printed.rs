//! Commands whose output is a secret and nothing else. Their output has no name beside the value, so the command alone
//! says what it is. Forms are from each program's own manual.

use std::sync::LazyLock;

use regex::Regex;

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
        r"openssl\s+rand\s+-(?:hex|base64)\b",
        r"(?:pwgen|apg|xkcdpass|diceware)\b",
    ];
    Regex::new(&format!(r"(?:^|[\s;&|($`])(?:{})", forms.join("|"))).ok()
});

/// Returns whether a command line prints a secret and nothing else.
pub fn prints_secret(command: &str) -> bool {
    // Only the last line: earlier ones go on into variables and files.
    let last = command.lines().last().unwrap_or_default();
    PRINTS.as_ref().is_some_and(|prints| prints.is_match(last))
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
            "pwgen -s 16 1",
        ] {
            assert!(prints_secret(command), "{command}");
        }
        for command in [
            "pass test/unit",
            "gopass ls",
            "kubectl get secrets",
            "npm run pass",
            "aws ssm get-parameter --name /a",
            "gcloud secrets list",
            "security find-certificate",
            "openssl x509 -in a.pem -text",
            "bypass show shop/db",
        ] {
            assert!(!prints_secret(command), "{command}");
        }
    }
}

//! Whose good signatures stand below commits.
//!
//! They are checked by the user's own git and keys: no program and no list of keys that the repository's own
//! configuration names is used. Git runs a program for each, which may wait for an agent or ask a network for
//! keys: what was told before the time was over is kept, so that whoever asks again goes on from there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use memory_store::identity::Authors;

use super::config::settings;
use super::{GIT_TIMEOUT, answer_within, command, overrule, texts};
use crate::stamp;

/// Signatures that are checked by one call of git, which runs a program for each.
const SIGNATURES_MAX: usize = 50;

/// Files that tell what keys gpg believes, below its folder.
const KEYRINGS: [&str; 5] =
    ["pubring.kbx", "pubring.gpg", "public-keys.d/pubring.db", "trustdb.gpg", "gpg.conf"];

/// What was found of the signatures below some commits. Those that are not named here were not asked for in
/// time, or git failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Whose good signature stands below a commit: an address in lower case, `None` where there is none.
    pub signers: Vec<(String, Option<String>)>,
    /// Commits whose signature alone takes longer to check than git may.
    pub late: Vec<String>,
    /// Commits that git knows no more.
    pub gone: Vec<String>,
}

/// Looks for good signatures below commits, for so long at most.
pub fn signers(root: &Path, commits: &[&String], limit: Duration) -> Found {
    let deadline = Instant::now() + limit;
    ask(commits, |some| {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        let mut log = log(root, some)?;
        let answer = answer_within(&mut log, left.min(GIT_TIMEOUT))?;
        let end = match answer.status {
            Some(status) if status.success() => End::Whole,
            Some(_) => End::Failed,
            None if left < GIT_TIMEOUT => return Some((read(&answer.text), End::Failed)),
            None => End::Cut,
        };
        Some((read(&answer.text), end))
    })
}

/// How a call of git ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It told all.
    Whole,
    /// It took too long.
    Cut,
    /// It failed.
    Failed,
}

/// Asks for all of them, as long as there are answers: some at once, and after an answer that broke off the
/// one that it broke off at alone.
fn ask(commits: &[&String], mut call: impl FnMut(&[&String]) -> Option<(Signers, End)>) -> Found {
    let mut found = Found::default();
    let (mut rest, mut at_once) = (commits, SIGNATURES_MAX);
    while !rest.is_empty() {
        let (some, later) = rest.split_at(at_once.min(rest.len()));
        let Some((mut told, end)) = call(some) else { break };
        // Git answers in the order of the question, and leaves out what it does not know.
        let last = some.iter().rposition(|commit| told.contains_key(*commit));
        let asked = match (end, last) {
            (End::Whole, _) => some.len(),
            (End::Cut | End::Failed, last) => last.map_or(0, |last| last + 1),
        };
        for commit in &some[..asked] {
            match told.remove(*commit) {
                Some(signer) => found.signers.push(((*commit).clone(), signer)),
                None => found.gone.push((*commit).clone()),
            }
        }
        (rest, at_once) = match (end, asked) {
            (End::Whole, _) => (later, SIGNATURES_MAX),
            (End::Cut | End::Failed, 0) if some.len() == 1 => {
                found.late.extend((end == End::Cut).then(|| some[0].clone()));
                (later, SIGNATURES_MAX)
            }
            (End::Cut | End::Failed, asked) => (&rest[asked..], 1),
        };
    }
    found
}

/// Signers by commit.
type Signers = BTreeMap<String, Option<String>>;

/// The question for the signatures of some commits; `None` when it cannot be asked safely.
fn log(root: &Path, commits: &[&String]) -> Option<Command> {
    let mut log = command(root);
    // A commit that is remembered may be gone since.
    log.args(["log", "-z", "--no-walk=unsorted", "--ignore-missing", "--format=%H %G? %GS"]);
    log.args(commits).arg("--");
    // Each answer is to come when it is known, and not with those after it.
    log.env("GIT_FLUSH", "1");
    with_own_keys(&mut log, root).then_some(log)
}

/// Reads the answer. What has no zero byte at its end broke off.
fn read(answer: &[u8]) -> Signers {
    let whole = answer.iter().rposition(|byte| *byte == 0).unwrap_or(0);
    let signer = |line: String| {
        let (commit, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let (state, signer) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_good = matches!(state, "G" | "U");
        (commit.to_owned(), is_good.then(|| address(signer)))
    };
    texts(&answer[..whole]).map(signer).collect()
}

/// The address in `Ada <ada@example.com>`, or the whole, as signatures of ssh have it.
fn address(signer: &str) -> String {
    let inner = signer.rsplit_once('<').and_then(|(_, rest)| rest.strip_suffix('>'));
    Authors::normal(inner.unwrap_or(signer))
}

/// Keeps git from running programs for signatures, and from believing keys, that the repository's own
/// configuration names. The user's own ones stay. `false` when not all can be overruled.
fn with_own_keys(command: &mut Command, root: &Path) -> bool {
    const SIGNERS: &str = "gpg.ssh.allowedsignersfile";
    const X509: &str = "gpg.x509.program";
    let Some(found) = settings(root, r"^gpg\.") else { return false };
    let own: BTreeMap<&str, &str> = found
        .iter()
        .filter(|setting| !setting.is_repositorys)
        .map(|setting| (setting.key.as_str(), setting.value.as_str()))
        .collect();
    let get = |key: &str| own.get(key).copied();
    // The two names of one setting: the last one wins, and ours come last.
    let openpgp = || get("gpg.openpgp.program").or_else(|| get("gpg.program")).unwrap_or("gpg");
    // A relative path would lead into the repository.
    let is_own = |path: &&str| path.starts_with(['/', '~']);
    let signers = get(SIGNERS).filter(is_own).unwrap_or("/dev/null");
    // A certificate comes with the signature, says of itself whose it is, and has gpgsm ask the network: git tells
    // of one that nobody vouches for as of a key in the user's keyring. So these are no signatures here.
    let mut overruled: BTreeMap<&str, &str> = BTreeMap::from([(SIGNERS, signers), (X509, "false")]);
    for setting in found.iter().filter(|setting| setting.is_repositorys) {
        let key = setting.key.as_str();
        let value = match key {
            "gpg.program" | "gpg.openpgp.program" => Some(openpgp()),
            "gpg.ssh.program" => Some(get(key).unwrap_or("ssh-keygen")),
            "gpg.mintrustlevel" => Some(get(key).unwrap_or("undefined")),
            SIGNERS | X509 => None,
            _ => get(key),
        };
        overruled.extend(value.map(|value| (key, value)));
    }
    overrule(command, overruled);
    true
}

/// What signatures rest on, in a form to compare with an earlier one: the user's settings, and which keys
/// are believed.
pub(super) fn grounds(root: &Path) -> Vec<String> {
    let mut grounds = Vec::new();
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    // Where git does not tell, no signature is believed.
    for setting in settings(root, r"^gpg\.").unwrap_or_default() {
        grounds.push(format!("{} {} {}", setting.is_repositorys, setting.key, setting.value));
        if setting.key.ends_with("file") {
            let path = setting.value.strip_prefix("~/").map(|below| home.join(below));
            grounds.push(stamp::of_file(&path.unwrap_or_else(|| root.join(&setting.value))));
        }
    }
    let keys = std::env::var_os("GNUPGHOME").map(PathBuf::from);
    let keys = keys.unwrap_or_else(|| home.join(".gnupg"));
    grounds.extend(KEYRINGS.map(|name| stamp::of_file(&keys.join(name))));
    grounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(range: std::ops::Range<usize>) -> Vec<String> {
        range.map(|number| format!("{number:03}")).collect()
    }

    /// Asks a git that tells of each commit what `told` does, and breaks off where that is `None`. Returns
    /// how many it was asked for by each call, too.
    fn asked(
        commits: &[String],
        calls_max: usize,
        end: End,
        told: impl Fn(&str) -> Option<Option<String>>,
    ) -> (Found, Vec<usize>) {
        let mut calls = Vec::new();
        let commits: Vec<&String> = commits.iter().collect();
        let found = ask(&commits, |some| {
            (calls.len() < calls_max).then(|| {
                calls.push(some.len());
                let answers = some.iter().map_while(|commit| Some((*commit, told(commit)?)));
                let answers: Vec<_> = answers.collect();
                let end = if answers.len() == some.len() { End::Whole } else { end };
                let known = answers.into_iter().filter(|(commit, _)| commit.as_str() != "007");
                (known.map(|(commit, signer)| (commit.clone(), signer)).collect(), end)
            })
        });
        (found, calls)
    }

    #[test]
    fn one_that_takes_too_long_keeps_no_other_from_being_checked() {
        let good = || Some("bob@example.com".to_owned());
        let told = |slow: &'static str| move |commit: &str| (commit != slow).then(good);
        let (found, calls) = asked(&names(0..120), 9, End::Cut, told("060"));
        assert_eq!(calls, [50, 50, 1, 50, 9]);
        assert_eq!((found.late, found.gone), (names(60..61), names(7..8)));
        assert_eq!(found.signers.len(), 118);
        // Neither does the first one, nor one that git fails at, which is tried again.
        let (found, calls) = asked(&names(0..60), 9, End::Cut, told("000"));
        assert_eq!((calls, found.late), (vec![50, 1, 50, 9], names(0..1)));
        let (found, calls) = asked(&names(0..60), 9, End::Failed, told("000"));
        assert_eq!((calls, found.late, found.signers.len()), (vec![50, 1, 50, 9], names(0..0), 58));
    }

    #[test]
    fn what_was_told_before_the_time_was_over_is_kept() {
        // All are slow: three fit into a call.
        let commits = names(10..20);
        let commits: Vec<&String> = commits.iter().collect();
        let mut calls = 0;
        let found = ask(&commits, |some| {
            calls += 1;
            let told = some.iter().take(3).map(|commit| ((*commit).clone(), None)).collect();
            (calls <= 3).then_some((told, if some.len() > 3 { End::Cut } else { End::Whole }))
        });
        let told: Vec<String> = found.signers.into_iter().map(|(commit, _)| commit).collect();
        assert_eq!(told, names(10..17));
        assert_eq!((found.late, found.gone), (names(0..0), names(0..0)));
    }

    #[test]
    fn an_answer_that_broke_off_is_believed_as_far_as_it_is_whole() {
        let answer =
            b"aa G Ada B <Ada@Example.com>\0bb U ada@example.com\0cc N \0dd\0ee B x\0ff G ada@ex";
        let ada = Some("ada@example.com".to_owned());
        let expected = [("aa", ada.clone()), ("bb", ada), ("cc", None), ("dd", None), ("ee", None)];
        let expected = expected.map(|(commit, signer)| (commit.to_owned(), signer));
        assert_eq!(read(answer), Signers::from(expected));
        assert_eq!(read(b"aa G ada@example.com"), Signers::new());
    }

    /// Stands in for gpg: signs with the first word of what it is given to sign for, and never ends where that
    /// is `slow`.
    const GPG: &str = r#"#!/bin/sh
case "$*" in
*--verify*)
    for file; do case "$file" in /*) signature=$file ;; esac; done
    if grep -q slow "$signature"; then
        exec 3>"$(dirname "$0")/alive"
        echo x >&3
        exec sleep 600
    fi
    echo '[GNUPG:] NEWSIG'
    echo '[GNUPG:] GOODSIG 0123456789ABCDEF Bob <bob@example.com>'
    ;;
*)
    echo '-----BEGIN PGP SIGNATURE-----'
    sed -n '$p'
    echo '-----END PGP SIGNATURE-----'
    echo '[GNUPG:] SIG_CREATED ' >&2
    ;;
esac
"#;

    #[test]
    fn git_tells_of_each_signature_when_it_is_checked_and_ends_with_what_it_runs() {
        use std::fs::{self, OpenOptions};
        use std::io::Read;
        use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

        let folder = tempfile::tempdir().unwrap();
        let (root, bin) = (folder.path().join("work"), folder.path().join("bin"));
        fs::create_dir_all(&root).unwrap();
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("gpg"), GPG).unwrap();
        fs::set_permissions(bin.join("gpg"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Command::new("mkfifo").arg(bin.join("alive")).status().unwrap().success());
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let with_gpg = |git: &mut Command| {
            git.env("PATH", &path).env("GIT_CONFIG_SYSTEM", "/dev/null");
            git.env("GIT_CONFIG_GLOBAL", "/dev/null");
        };
        let git = |arguments: &[&str]| {
            let mut git = command(&root);
            git.args(["-c", "user.name=Bob", "-c", "user.email=bob@example.com"]).args(arguments);
            with_gpg(&mut git);
            let output = git.output().unwrap();
            assert!(output.status.success(), "{arguments:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "-q"]);
        let commits = ["one", "slow", "two"].map(|message| {
            git(&["commit", "-q", "--allow-empty", "-S", "-m", message]);
            git(&["rev-parse", "HEAD"])
        });

        let mut alive = OpenOptions::new();
        let mut alive =
            alive.read(true).custom_flags(libc::O_NONBLOCK).open(bin.join("alive")).unwrap();
        let mut log = log(&root, &commits.each_ref()).unwrap();
        with_gpg(&mut log);
        let answer = answer_within(&mut log, Duration::from_secs(3)).unwrap();
        assert_eq!(answer.status, None);
        let bob = Some("bob@example.com".to_owned());
        assert_eq!(read(&answer.text), Signers::from([(commits[0].clone(), bob)]));
        // The stand-in held the other end open as long as it ran.
        let mut said = String::new();
        while let Err(error) = alive.read_to_string(&mut said) {
            assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(said, "x\n");
    }

    #[test]
    fn certificates_that_come_with_a_signature_are_not_looked_at() {
        use std::fs;
        use std::io::Write;
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("work");
        fs::create_dir(&root).unwrap();
        // It says what gpgsm says of a certificate that nobody vouches for.
        let (gpgsm, ran) = (folder.path().join("gpgsm"), folder.path().join("ran"));
        let script = format!(
            "#!/bin/sh\n: >'{}'\necho '[GNUPG:] GOODSIG 01 /CN=Bob <bob@example.com>'\necho '[GNUPG:] TRUST_UNDEFINED'\n",
            ran.display()
        );
        fs::write(&gpgsm, script).unwrap();
        fs::set_permissions(&gpgsm, fs::Permissions::from_mode(0o755)).unwrap();
        let config = folder.path().join("config");
        fs::write(&config, format!("[gpg \"x509\"]\n\tprogram = {}\n", gpgsm.display())).unwrap();
        let as_the_user = |git: &mut Command| {
            git.env("GIT_CONFIG_SYSTEM", "/dev/null").env("GIT_CONFIG_GLOBAL", &config);
        };
        let git = |arguments: &[&str], input: &str| {
            let mut git = command(&root);
            as_the_user(git.args(arguments).stdin(std::process::Stdio::piped()));
            let mut child = git.spawn().unwrap();
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{arguments:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        git(&["init", "-q"], "");
        let tree = git(&["mktree"], "");
        let commit = format!(
            "tree {tree}\nauthor Bob <bob@example.com> 1790000000 +0000\n\
             committer Bob <bob@example.com> 1790000000 +0000\n\
             gpgsig -----BEGIN SIGNED MESSAGE-----\n MIAG\n -----END SIGNED MESSAGE-----\n\nadd\n"
        );
        let commit = git(&["hash-object", "-t", "commit", "-w", "--stdin"], &commit);

        // Git believes it as long as nobody says otherwise.
        assert!(git(&["log", "-1", "--format=%G? %GS", &commit], "").starts_with("U /CN=Bob"));
        fs::remove_file(&ran).unwrap();
        let mut log = log(&root, &[&commit]).unwrap();
        as_the_user(&mut log);
        let answer = answer_within(&mut log, Duration::from_secs(20)).unwrap();
        assert!(answer.status.is_some_and(|status| status.success()));
        assert_eq!(read(&answer.text), Signers::from([(commit, None)]));
        assert!(!ran.exists());
    }
}

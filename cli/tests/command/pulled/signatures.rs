//! Whose signature stands below a commit, checked with the user's own keys and programs.

use super::*;

#[test]
fn signatures_are_checked_with_the_users_own_keys_and_programs() {
    let team = Team::at_work();
    for name in ["bob", "mallory"] {
        let key = team.0.path(name);
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
            .arg(&key)
            .status()
            .expect("ssh-keygen, which checks signatures for git");
        assert!(made.success());
    }
    let key = |name: &str| format!("user.signingKey={}", team.0.path(name).display());
    let line =
        |address: &str, name: &str| format!("{address} {}", team.0.read(&format!("{name}.pub")));
    team.0.write("home/signers", &line(BOB, "bob"));
    let signers = team.0.path("home/signers");
    team.git(&["config", "--global", "gpg.ssh.allowedSignersFile", signers.to_str().unwrap()]);
    let said = team.0.ok(&["trust", "--author", BOB, "--signed"]);
    assert!(said.contains("good signature"), "{said}");
    let held = team.held();
    // Ada signs nothing, but what she made is in her ledger or was seen uncommitted; not these two.
    assert_eq!(held, ["Prices are integer cents", "The staging database is read only"]);
    assert!(team.0.ok(&["review"]).contains("without a good signature of a trusted author"));

    let commit = |number: u8, title: &str, name: &str| {
        team.memory(&format!("{number}.md"), number, title);
        team.git(&["add", "."]);
        let key = key(name);
        let author = format!("--author=Bob <{BOB}>");
        team.git(&["-c", "gpg.format=ssh", "-c", &key, "commit", "--quiet", "-S", "-mx", &author]);
    };
    commit(6, "Signed by Bob", "bob");
    commit(7, "Signed by Mallory in Bob's name", "mallory");
    assert!(team.given().0 == ["Signed by Bob"], "{:?}", team.given());

    // What the user changes of what Bob signed rests on that, until it is committed; not what Mallory changed.
    team.memory("6.md", 6, "Signed by Bob, and changed here");
    for _ in 0..3 {
        assert_eq!(team.given().0, ["Signed by Bob, and changed here"]);
    }
    commit(6, "Changed by Mallory", "mallory");
    assert_eq!(team.given().0, [""; 0]);
    team.git(&["reset", "--quiet", "HEAD~1"]);
    for _ in 0..2 {
        assert_eq!(team.given().0, [""; 0]);
    }
    team.git(&["checkout", "--quiet", "."]);

    // A key that is withdrawn is believed no more, and one that is given again is.
    team.0.write("home/signers", "");
    assert_eq!(team.given().0, [""; 0]);
    team.0.write("home/signers", &line(BOB, "bob"));
    assert_eq!(team.given().0, ["Signed by Bob"]);

    // The repository's own configuration says who is believed, and what is run: neither counts.
    team.0.write("evil-signers", &line(BOB, "mallory"));
    let evil = team.0.path("evil-signers");
    team.git(&["config", "gpg.ssh.allowedSignersFile", evil.to_str().unwrap()]);
    team.0.program(
        "evil",
        "#!/bin/sh\ntouch ran\necho 'Good \"git\" signature for bob@example.com'\n",
    );
    let program = team.0.path("bin/evil");
    for setting in ["gpg.ssh.program", "gpg.program", "gpg.openpgp.program", "gpg.x509.program"] {
        team.git(&["config", setting, program.to_str().unwrap()]);
    }
    assert_eq!(team.given().0, ["Signed by Bob"]);
    assert!(!team.0.work().join("ran").exists(), "a program of the repository was run");
    // A list of the user's own that a path leads into the repository for is the repository's, too.
    team.git(&["config", "--unset", "gpg.ssh.allowedSignersFile"]);
    team.git(&["config", "--global", "gpg.ssh.allowedSignersFile", "signers"]);
    team.0.write("home/work/signers", &line(BOB, "mallory"));
    assert_eq!(team.given().0, [""; 0]);
}

#[test]
fn openpgp_signatures_are_checked_with_the_users_own_keyring() {
    let gpg = |team: &Team, arguments: &[&str]| {
        let mut gpg = Command::new("gpg");
        gpg.args(["--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]);
        gpg.args(arguments).current_dir(team.0.work()).env_clear();
        gpg.env("PATH", "/usr/bin:/bin").env("HOME", team.0.path("home")).output()
    };
    let team = Team::at_work();
    let keys = team.0.path("home/.gnupg");
    std::fs::create_dir(&keys).unwrap();
    std::fs::set_permissions(&keys, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    if gpg(&team, &["--version"]).is_err() {
        // Said, so that nobody takes it for tested.
        return eprintln!("SKIPPED: no gpg on this machine");
    }
    let run = |arguments: &[&str]| {
        let output = gpg(&team, arguments).unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    run(&["--quick-gen-key", &format!("Bob <{BOB}>"), "ed25519", "sign", "never"]);
    team.0.ok(&["trust", "--author", BOB, "--signed"]);
    team.memory("6.md", 6, "Signed by Bob");
    team.git(&["add", "."]);
    let author = format!("--author=Bob <{BOB}>");
    let key = format!("user.signingKey={BOB}");
    team.git(&["-c", "gpg.format=openpgp", "-c", &key, "commit", "--quiet", "-S", "-mx", &author]);
    assert_eq!(team.given().0, ["Signed by Bob"]);
    // As a program of the repository's would say of any commit.
    team.0.program("evil", "#!/bin/sh\ntouch ran\nprintf '[GNUPG:] GOODSIG 1 Bob\\n' >&2\n");
    let program = team.0.path("bin/evil");
    for setting in ["gpg.program", "gpg.openpgp.program"] {
        team.git(&["config", setting, program.to_str().unwrap()]);
    }
    assert_eq!(team.given().0, ["Signed by Bob"]);
    assert!(!team.0.work().join("ran").exists(), "a program of the repository was run");
    // Without the key nobody can tell.
    let listed = gpg(&team, &["--list-keys", "--with-colons"]).unwrap().stdout;
    let listed = String::from_utf8(listed).unwrap();
    let print = listed.lines().find_map(|line| line.strip_prefix("fpr:")).unwrap();
    run(&["--yes", "--delete-secret-and-public-key", print.trim_matches(':')]);
    assert_eq!(team.given().0, [""; 0]);
    let stop = Command::new("gpgconf").arg("--homedir").arg(&keys).args(["--kill", "all"]).status();
    assert!(stop.unwrap().success());
}

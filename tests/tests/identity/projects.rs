//! Rows of the matrix about projects and working trees.

use std::fs;
use std::path::{Path, PathBuf};

use super::lab::{LEARNED, Lab, Session};

super::rows! {
    submodule: "A session runs in a submodule"
        => "The submodule is one project, the enclosing repository another";
    worktree_of_a_submodule: "A submodule has a linked worktree"
        => "Both are one project; the submodule contains the memories";
    bare_beside: "A bare repository `.bare` is beside its worktrees, with a `.git` file that links to it"
        => "All worktrees and their parent folder are one project; the first one that was set up contains the memories";
    bare_named_git: "The bare repository is named `.git`, with settings for each worktree"
        => "The same";
    bare_outside: "The bare repository `p.git` is elsewhere"
        => "The same";
    bare_and_its_first_worktree_goes: "The worktree of a bare repository that contains the memories is removed"
        => "The next one contains them; the project stays the same";
    separate_git_dir: "The git directory is separate (`--separate-git-dir`), and there is a linked worktree"
        => "Both are one project; the checkout contains the memories";
    relative_worktree: "A linked worktree is linked by relative paths"
        => "It belongs to its main tree";
    moved: "The folder of a project is moved"
        => "It is recognised by birth time and inode; memories, drafts, archive and tombstones are available at once";
    moved_private: "The folder of a project with private memories, without git, is moved"
        => "The same";
    moved_into_anothers_place: "A project is moved to the former path of another one"
        => "Both keep their identity";
    copied: "A project is copied elsewhere, and the old folder is removed"
        => "The next session start reports once that it may be the old project, and names `throughline link`";
    copied_with_history: "The copy has the same root commit, and `init` runs"
        => "It joins the project without existing folders";
    record_of_the_path_is_lost: "The record of the project's path is missing, empty or damaged"
        => "The folder is recognised by birth time and inode; the record is written again";
    record_of_the_project_is_damaged: "`identity.json` is damaged or missing"
        => "It is restored from its copy, which the sync reports";
    data_is_lost: "The data folder is lost, the memory files remain"
        => "Memories that are derived again take the ids of the files with the same text";
    draft_is_cut: "The file of a pending memory is truncated"
        => "It is written again; the damaged file is kept aside";
    two_projects_in_turn: "Two projects use one path in turn, as in containers"
        => "Sessions in the history of the first one are listed and not read until `throughline sync --earlier take`";
    older_than_the_repository: "A folder was deleted and a new repository created under its name"
        => "Sessions older than the folder and its root commit are listed and not read until the user decides";
    replaced_without_git: "A folder with private memories, without git, is deleted, and another one is created at its path"
        => "`init` creates another project; `throughline link` joins the old one";
    git_init_in_an_old_folder: "`git init` runs in a folder with sessions"
        => "Its sessions are read, because the folder is older than they are";
    repository_inside: "An independent repository is inside the project"
        => "Its sessions do not belong to the project; the sync lists it, and a session start there reports once how to set it up";
    home_is_a_repository: "The home folder is a repository, the project a plain folder below it"
        => "The folder is set up separately; the home folder is not a project";
    logical_path: "Sessions are recorded by a path through a link"
        => "They belong to the project that the link points to; hooks work there";
}

/// Checks that a session in `root` and a sync lead to a memory that the start of a session recalls.
#[track_caller]
fn works(lab: &Lab, root: &Path, number: u32) {
    lab.session(number, root);
    lab.assert_learned(root);
    assert!(lab.run(root, &["status"]).code == 0);
    let start = lab.start_as(root, &format!("start-{number}"));
    assert!(start.context().contains(LEARNED), "{:?}", start.output);
}

fn submodule(lab: &Lab) {
    lab.repository(&lab.root);
    lab.repository(&lab.at("lib"));
    lab.git(&lab.root, &["submodule", "--quiet", "add", lab.at("lib").to_str().unwrap(), "sub"]);
    let sub = lab.root.join("sub");
    lab.init(&lab.root).ok();
    lab.init(&sub).ok();
    works(lab, &sub, 1);
    lab.sync(&lab.root);
    assert!(!lab.list(&lab.root).contains(LEARNED));
}

fn worktree_of_a_submodule(lab: &Lab) {
    lab.repository(&lab.root);
    lab.repository(&lab.at("lib"));
    lab.git(&lab.root, &["submodule", "--quiet", "add", lab.at("lib").to_str().unwrap(), "sub"]);
    let (sub, side) = (lab.root.join("sub"), lab.at("side"));
    lab.git(&sub, &["worktree", "add", "-q", side.to_str().unwrap()]);
    lab.init(&side).ok();
    works(lab, &side, 1);
    assert!(lab.list(&sub).contains(LEARNED));
    assert!(sub.join(".throughline").is_dir() && !side.join(".throughline").exists());
}

/// Creates a bare clone with two worktrees in the folder `p`.
fn bare(lab: &Lab, bare: &str) -> [PathBuf; 2] {
    lab.repository(&lab.root);
    fs::create_dir_all(lab.at("p")).unwrap();
    lab.git(&lab.at(""), &["clone", "-q", "--bare", "w", bare]);
    ["main", "side"].map(|name| {
        let root = lab.at("p").join(name);
        let new: &[&str] = if name == "main" { &[] } else { &["-b", name] };
        let path = [root.to_str().unwrap()];
        let branch: &[&str] = if name == "main" { &["main"] } else { &[] };
        lab.git(&lab.at(bare), &[&["worktree", "add", "-q"], new, &path, branch].concat());
        root
    })
}

fn check_bare(lab: &Lab, [main, side]: [PathBuf; 2]) {
    lab.init(&main).ok();
    works(lab, &main, 1);
    works(lab, &side, 2);
    assert!(lab.run(&side, &["init", "--yes", "--no-register", "--no-sync"]).code == 0);
    // One worktree contains the memories. The other is unchanged and can be removed.
    assert!(main.join(".throughline/memories").is_dir());
    assert_eq!(lab.git(&side, &["status", "--short"]), "");
    lab.run(&side, &["status"])
        .assert_contains(&[main.join(".throughline").to_str().unwrap()])
        .ok();
    lab.git(&main, &["worktree", "remove", side.to_str().unwrap()]);
    lab.sync(&main);
}

fn bare_beside(lab: &Lab) {
    let roots = bare(lab, "p/.bare");
    fs::write(lab.at("p/.git"), "gitdir: ./.bare\n").unwrap();
    lab.init(&lab.at("p")).ok();
    lab.session(9, &lab.at("p"));
    lab.assert_learned(&lab.at("p"));
    check_bare(lab, roots);
}

fn bare_named_git(lab: &Lab) {
    let roots = bare(lab, "p/.git");
    lab.git(&lab.at("p/.git"), &["config", "extensions.worktreeConfig", "true"]);
    lab.git(&lab.at("p/.git"), &["config", "--unset", "core.bare"]);
    fs::write(lab.at("p/.git/config.worktree"), "[core]\n\tbare = true\n").unwrap();
    check_bare(lab, roots);
}

fn bare_outside(lab: &Lab) {
    let roots = bare(lab, "p.git");
    check_bare(lab, roots);
}

fn bare_and_its_first_worktree_goes(lab: &Lab) {
    let [main, side] = bare(lab, "p.git");
    lab.init(&main).ok();
    works(lab, &main, 1);
    lab.git(&main, &["add", "-A"]);
    lab.git(&main, &["commit", "-qm", "memories"]);
    lab.git(&side, &["merge", "-q", "main"]);
    lab.git(&side, &["worktree", "remove", "--force", main.to_str().unwrap()]);
    lab.sync(&side);
    lab.run(&side, &["status"])
        .assert_contains(&[side.join(".throughline").to_str().unwrap()])
        .ok();
    assert!(lab.list(&side).contains(LEARNED));
    Session::new(2, &side).wish("From now on always name the parcel first.").write(&lab.file(2));
    lab.sync(&side);
    assert!(lab.list(&side).contains("parcel"));
}

fn separate_git_dir(lab: &Lab) {
    lab.repository(&lab.at("lib"));
    lab.git(&lab.at(""), &["clone", "-q", "--separate-git-dir", "apart.git", "lib", "p"]);
    let (root, side) = (lab.at("p"), lab.at("side"));
    lab.git(&root, &["worktree", "add", "-q", side.to_str().unwrap()]);
    lab.init(&root).ok();
    works(lab, &root, 1);
    works(lab, &side, 2);
    assert_eq!(lab.git(&side, &["status", "--short"]), "");
}

fn relative_worktree(lab: &Lab) {
    lab.project();
    let side = lab.at("side");
    lab.git(&lab.root, &["worktree", "add", "-q", side.to_str().unwrap()]);
    // With `worktree.useRelativePaths`, git 2.48 writes these files.
    fs::write(side.join(".git"), "gitdir: ../w/.git/worktrees/side\n").unwrap();
    fs::write(lab.root.join(".git/worktrees/side/gitdir"), "../../../../side/.git\n").unwrap();
    works(lab, &side, 1);
}

fn moved(lab: &Lab) {
    lab.project();
    works(lab, &lab.root, 1);
    lab.run(&lab.root, &["add", "--kind", "fact", "The staging host is called heron"]).ok();
    let forgotten = lab.run(&lab.root, &["add", "--kind", "fact", "Bagels are boiled", "--json"]);
    let forgotten: serde_json::Value = serde_json::from_str(&forgotten.ok()).unwrap();
    lab.run(&lab.root, &["forget", forgotten["short"].as_str().unwrap()]).ok();
    let now = lab.at("elsewhere/renamed");
    fs::create_dir_all(now.parent().unwrap()).unwrap();
    fs::rename(&lab.root, &now).unwrap();
    // The hooks find the memories immediately, without a message.
    let start = lab.start(&now);
    assert!(start.context().contains(LEARNED), "{:?}", start.output);
    assert!(!start.notice().contains("throughline link"), "{}", start.notice());
    Session::new(2, &now).wish("From now on always name the parcel first.").write(&lab.file(2));
    lab.sync(&now);
    let listed = lab.list(&now);
    for text in [LEARNED, "heron", "parcel"] {
        assert_eq!(listed.matches(text).count(), 1, "{text} in {listed}");
    }
    assert!(!listed.contains("Bagels"), "{listed}");
    lab.run(&now, &["status"]).assert_contains(&["2 sessions"]).ok();
}

fn moved_private(lab: &Lab) {
    lab.run(&lab.root, &["init", "--yes", "--no-register", "--no-sync", "--private"]).ok();
    works(lab, &lab.root, 1);
    let now = lab.at("renamed");
    fs::rename(&lab.root, &now).unwrap();
    assert!(lab.list(&now).contains(LEARNED));
    assert!(lab.start(&now).context().contains(LEARNED));
    assert!(!now.join(".throughline").exists());
}

fn moved_into_anothers_place(lab: &Lab) {
    lab.project();
    works(lab, &lab.root, 1);
    let other = lab.at("other");
    lab.repository(&other);
    lab.init(&other).ok();
    lab.run(&other, &["add", "--kind", "fact", "The staging host is called heron"]).ok();
    fs::rename(&lab.root, lab.at("aside")).unwrap();
    fs::rename(&other, &lab.root).unwrap();
    for _ in 0..2 {
        let (here, aside) = (lab.list(&lab.root), lab.list(&lab.at("aside")));
        assert!(here.contains("heron") && !here.contains(LEARNED), "{here}");
        assert!(aside.contains(LEARNED) && !aside.contains("heron"), "{aside}");
        lab.sync(&lab.root);
        lab.sync(&lab.at("aside"));
    }
}

/// Copies the project into another folder with the same name, and removes the original.
fn copy(lab: &Lab) -> PathBuf {
    let copy = lab.at("elsewhere/w");
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    let from = lab.root.to_str().unwrap();
    lab.run_command(lab.environment.command("cp").args(["-r", from, copy.to_str().unwrap()])).ok();
    fs::remove_dir_all(&lab.root).unwrap();
    copy
}

fn copied(lab: &Lab) {
    lab.init(&lab.root).ok();
    works(lab, &lab.root, 1);
    let copy = copy(lab);
    let told = lab.start_as(&copy, "one").notice();
    assert!(
        told.contains("throughline link ") && told.contains(lab.root.to_str().unwrap()),
        "{told}"
    );
    assert_eq!(lab.start_as(&copy, "two").notice(), "");
    lab.run(&copy, &["list"]).assert_contains(&["is not set up", "throughline link "]);
    let id = told.split("throughline link ").nth(1).unwrap().split('`').next().unwrap();
    lab.run(&copy, &["link", id]).ok();
    lab.sync(&copy);
    assert_eq!(lab.list(&copy).matches(LEARNED).count(), 1);
}

fn copied_with_history(lab: &Lab) {
    lab.project();
    works(lab, &lab.root, 1);
    let copy = copy(lab);
    lab.init(&copy).assert_contains(&["joins"]).ok();
    lab.sync(&copy);
    assert_eq!(lab.list(&copy).matches(LEARNED).count(), 1);
    lab.run(&copy, &["status"]).assert_contains(&["1 session"]).ok();
}

fn record_of_the_path_is_lost(lab: &Lab) {
    lab.project();
    lab.session(1, &lab.root);
    lab.assert_learned(&lab.root);
    let folder = lab.environment.data_dir().join("by-path");
    for bytes in [None, Some(&b""[..]), Some(b"0123\n")] {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match bytes {
                None => fs::remove_file(&path).unwrap(),
                Some(bytes) => fs::write(&path, bytes).unwrap(),
            }
        }
        assert!(lab.list(&lab.root).contains(LEARNED));
        assert!(lab.start(&lab.root).context().contains(LEARNED));
        lab.sync(&lab.root);
        let record = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        assert!(fs::read(record).unwrap().len() > 40, "it was written again");
    }
}

fn record_of_the_project_is_damaged(lab: &Lab) {
    lab.project();
    lab.session(1, &lab.root);
    lab.assert_learned(&lab.root);
    let project = fs::read_dir(lab.environment.data_dir().join("projects")).unwrap().next();
    let record = project.unwrap().unwrap().path().join("identity.json");
    let sound = fs::read(&record).unwrap();
    for cut in [0, 20] {
        fs::write(&record, &sound[..cut]).unwrap();
        assert!(lab.list(&lab.root).contains(LEARNED));
        lab.run(&lab.root, &["sync"])
            .assert_contains(&["identity.json was damaged; it was written again"])
            .ok();
        assert_eq!(fs::read(&record).unwrap(), sound);
    }
}

fn replaced_without_git(lab: &Lab) {
    let folder = lab.environment.path().join("notes");
    fs::create_dir_all(&folder).unwrap();
    let init = ["init", "--yes", "--private", "--no-register"];
    lab.run(&folder, &init).ok();
    lab.run(&folder, &["add", "The plan of the first project"]).ok();
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir_all(&folder).unwrap();
    lab.run(&folder, &["status"]).assert_contains(&["throughline link"]);
    lab.run(&folder, &init).ok();
    assert!(!lab.list(&folder).contains("The plan"));
}

fn data_is_lost(lab: &Lab) {
    lab.project();
    let now = jiff::Timestamp::now().to_string();
    Session::new(1, &lab.root).begins(&now).write(&lab.file(1));
    lab.assert_learned(&lab.root);
    lab.git(&lab.root, &["add", "-A"]);
    lab.git(&lab.root, &["commit", "-qm", "memories"]);
    let ids = |lab: &Lab| {
        let listed = lab.run(&lab.root, &["list", "--json"]).ok();
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let mut ids: Vec<String> = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|memory| format!("{} {}", memory["title"], memory["id"]))
            .collect();
        ids.sort();
        ids
    };
    let before = ids(lab);
    fs::remove_dir_all(lab.environment.data_dir()).unwrap();
    lab.init(&lab.root).ok();
    for _ in 0..2 {
        lab.sync(&lab.root);
        let now = ids(lab);
        let committed = |ids: &[String]| -> Vec<String> {
            ids.iter().filter(|id| id.contains(LEARNED)).cloned().collect()
        };
        assert_eq!(committed(&now), committed(&before));
        assert_eq!(now.len(), before.len(), "{now:?}");
        assert_eq!(lab.git(&lab.root, &["status", "--short"]), "");
    }
    // Memories that a user deleted are not learned again, even under another id.
    for file in fs::read_dir(lab.root.join(".throughline/memories")).unwrap() {
        let path = file.unwrap().path();
        if fs::read_to_string(&path).unwrap().contains(LEARNED) {
            fs::remove_file(path).unwrap();
        }
    }
    for _ in 0..2 {
        lab.sync(&lab.root);
        assert!(!lab.list(&lab.root).contains(LEARNED));
    }
}

fn draft_is_cut(lab: &Lab) {
    lab.project();
    lab.run(&lab.root, &["config", "set", "review", "true"]).ok();
    lab.session(1, &lab.root);
    lab.assert_learned(&lab.root);
    let projects = fs::read_dir(lab.environment.data_dir().join("projects")).unwrap();
    let drafts = projects.map(|entry| entry.unwrap().path()).next().unwrap().join("drafts");
    let of_wish = || -> PathBuf {
        let files = fs::read_dir(&drafts).unwrap().map(|entry| entry.unwrap().path());
        let mut files = files.filter(|file| file.extension().is_some_and(|it| it == "md"));
        files.find(|file| fs::read_to_string(file).unwrap().contains(LEARNED)).unwrap()
    };
    let file = of_wish();
    let sound = fs::read(&file).unwrap();
    for cut in [0, 30, sound.len() / 3] {
        fs::write(&file, &sound[..cut]).unwrap();
        lab.run(&lab.root, &["sync", "--rebuild"]).ok();
        assert_eq!(fs::read(&file).unwrap(), sound, "cut at {cut}");
        assert!(lab.list(&lab.root).contains(LEARNED));
    }
}

fn two_projects_in_turn(lab: &Lab) {
    lab.project();
    lab.session(1, &lab.root);
    lab.assert_learned(&lab.root);
    fs::remove_dir_all(&lab.root).unwrap();
    // Some file systems record creation times with the resolution of a slow clock.
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::create_dir(&lab.root).unwrap();
    lab.git(&lab.root, &["init", "-q"]);
    lab.git(&lab.root, &["commit", "-q", "--allow-empty", "-m", "another one"]);
    lab.init(&lab.root).assert_contains(&["1 session", "another project", "--earlier"]).ok();
    for _ in 0..2 {
        lab.assert_named(&lab.root, &["1 session", "another project", "--earlier"]);
    }
    // New sessions belong to the new project.
    Session::new(2, &lab.root)
        .wish("From now on always name the parcel first.")
        .write(&lab.file(2));
    lab.sync(&lab.root);
    let listed = lab.list(&lab.root);
    assert!(listed.contains("parcel") && !listed.contains(LEARNED), "{listed}");
    lab.run(&lab.root, &["sync", "--earlier", "take"]).ok();
    assert!(lab.list(&lab.root).contains(LEARNED));
}

fn older_than_the_repository(lab: &Lab) {
    let file = lab.file(1);
    Session::new(1, &lab.root).begins("2025-03-01T10:00:00Z").write(&file);
    lab.repository(&lab.root);
    let named = ["1 session", "older than this repository", "--earlier"];
    lab.run(&lab.root, &["init", "--preview"]).assert_contains(&named).ok();
    lab.init(&lab.root).assert_contains(&named).ok();
    lab.assert_named(&lab.root, &named);
    lab.run(&lab.root, &["sync", "--earlier", "leave"]).ok();
    let synced = lab.sync(&lab.root);
    assert!(!synced.contains("--earlier"), "{synced}");
    assert!(!lab.list(&lab.root).contains(LEARNED));
    lab.run(&lab.root, &["sync", "--earlier", "take"]).ok();
    assert!(lab.list(&lab.root).contains(LEARNED));
}

fn git_init_in_an_old_folder(lab: &Lab) {
    let now = jiff::Timestamp::now();
    Session::new(1, &lab.root).begins(&now.to_string()).write(&lab.file(1));
    lab.git(&lab.root, &["init", "-q"]);
    let later = format!("@{} +0000", now.as_second() + 3600);
    let environment = &lab.environment;
    let commit =
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"];
    let mut git = environment.command("git");
    git.current_dir(&lab.root).args(commit).env("GIT_COMMITTER_DATE", &later);
    lab.run_command(git.env("GIT_AUTHOR_DATE", &later)).ok();
    lab.init(&lab.root).ok();
    lab.assert_learned(&lab.root);
}

fn repository_inside(lab: &Lab) {
    lab.project();
    let inner = lab.root.join("vendor/other");
    lab.repository(&inner);
    lab.session(1, &inner);
    lab.assert_named(&lab.root, &["1 session", "vendor/other", "throughline init"]);
    let told = lab.start_as(&inner, "one").notice();
    assert!(told.contains("a repository of its own inside"), "{told}");
    assert_eq!(lab.start_as(&inner, "two").notice(), "");
    lab.init(&inner).ok();
    works(lab, &inner, 2);
    lab.sync(&lab.root);
    assert!(!lab.list(&lab.root).contains(LEARNED));
    // A session that begins in the outer project and changes into the inner one belongs to the outer project.
    let whole =
        Session::new(3, &lab.root).wish("From now on always name the parcel first.").records();
    let lines = whole.into_iter().enumerate().map(|(number, mut record)| {
        if number > 3 {
            record["cwd"] = inner.to_str().unwrap().into();
        }
        record.to_string() + "\n"
    });
    fs::write(lab.file(3), lines.collect::<String>()).unwrap();
    lab.sync(&lab.root);
    assert!(lab.list(&lab.root).contains("parcel"));
}

fn home_is_a_repository(lab: &Lab) {
    let home = lab.environment.home();
    lab.git(&home, &["init", "-q"]);
    lab.git(&home, &["commit", "-q", "--allow-empty", "-m", "dotfiles"]);
    lab.git(&home, &["config", "status.showUntrackedFiles", "no"]);
    let notes = home.join("notes");
    fs::create_dir(&notes).unwrap();
    let refused = lab.init(&home);
    assert!(refused.code != 0 && refused.text.contains("is no project"), "{}", refused.text);
    lab.init(&notes).ok();
    works(lab, &notes, 1);
    assert!(!home.join(".throughline").exists());
    // The command of the hint is run in another folder.
    let plans = home.join("plans");
    fs::create_dir(&plans).unwrap();
    let arguments =
        ["--project", plans.to_str().unwrap(), "init", "--yes", "--no-register", "--no-sync"];
    lab.run(&lab.root, &arguments).ok();
    lab.run(&plans, &["status"]).ok();
}

fn logical_path(lab: &Lab) {
    lab.project();
    let alias = lab.at("alias");
    std::os::unix::fs::symlink(&lab.root, &alias).unwrap();
    lab.session(1, &alias);
    lab.assert_learned(&lab.root);
    assert!(lab.start(&alias).context().contains(LEARNED));
    // The reverse case: the project is set up through the link, and sessions have the real path of a subfolder.
    let (real, link) = (lab.at("real/deep"), lab.at("link"));
    lab.repository(&real);
    std::os::unix::fs::symlink(lab.at("real"), &link).unwrap();
    lab.init(&link.join("deep")).ok();
    lab.session(2, &real);
    lab.assert_learned(&link.join("deep"));
}

//! Tests that insert entries into settings files of many styles, and remove them.

use std::fs;
use std::path::{Path, PathBuf};

use memory_store::Timestamp;
use memory_store::layout::UserDirs;

use super::client::ClaudeCodeVersion;
use super::document::JsonDocument;
use super::hooks::{self, ProgramForm};
use super::places::SettingsScope;
use super::record::{InsertionPlace, InsertionRecord, Purpose, put_in, take_out};
use super::replace::{NextText, RunMode, replace};
use super::server;
use crate::exit;

/// The journeys of `init` and `uninstall` use the same styles.
#[path = "../../../tests/command/styles.rs"]
mod styles;

use styles::STYLES;

fn form() -> ProgramForm {
    ProgramForm::Exec(PathBuf::from("/opt/bin"))
}

fn inserted(text: Option<&str>, form: &ProgramForm) -> String {
    let document = JsonDocument::parse(Path::new("settings.json"), text).unwrap();
    assert!(hooks::insert(&document, form, None).unwrap());
    document.text()
}

struct Home {
    folder: tempfile::TempDir,
    dirs: UserDirs,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dirs = testutils::dirs_of(folder.path());
        Self { folder, dirs }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join(".claude/settings.json")
    }

    fn with(text: Option<&str>) -> Self {
        let home = Self::new();
        if let Some(text) = text {
            fs::create_dir(home.file().parent().unwrap()).unwrap();
            fs::write(home.file(), text).unwrap();
        }
        home
    }

    fn text(&self) -> Option<String> {
        fs::read_to_string(self.file()).ok()
    }

    fn change(&self, change: impl Fn(&mut InsertionRecord, &InsertionPlace<'_>) -> bool) -> bool {
        let path = self.file();
        let place = InsertionPlace {
            path: &path,
            purpose: Purpose::Hooks,
            scope: SettingsScope::User,
            root: Path::new("/p"),
        };
        let mut record = InsertionRecord::read(&self.dirs);
        let changed = change(&mut record, &place);
        record.write(&self.dirs).unwrap();
        changed
    }

    fn insert(&self, form: &ProgramForm) -> bool {
        let now = Timestamp(1_790_000_000_000);
        self.change(|record, place| {
            put_in(record, place, now, |document| hooks::insert(document, form, None)).unwrap()
        })
    }

    fn take_out(&self) -> bool {
        self.change(|record, place| take_out(record, place, RunMode::Real).unwrap())
    }
}

#[test]
fn what_is_there_stays_and_our_hooks_parse() {
    for (style, before) in STYLES {
        let after = inserted(Some(before), &form());
        let document = JsonDocument::parse(Path::new("settings.json"), Some(&after)).unwrap();
        assert_eq!(hooks::registered(&document).len(), hooks::HOOKS.len(), "{style}:\n{after}");
        let parsed = document.value();
        let original =
            JsonDocument::parse(Path::new("settings.json"), Some(before)).unwrap().value();
        for (key, value) in original.as_object().unwrap().iter().filter(|(key, _)| *key != "hooks")
        {
            assert_eq!(&parsed[key], value, "{style}");
        }
        for comment in ["// mine", "// the model", "/* why */", "// none", "// end", "// after"] {
            assert_eq!(
                after.contains(comment),
                before.contains(comment),
                "{style}: {comment}\n{after}"
            );
        }
        let other = ["notify-send done", "guard", "fmt"];
        for command in other.into_iter().filter(|command| before.contains(command)) {
            assert!(after.contains(command), "{style}: {command}");
        }
        assert_eq!(after.contains("\r\n"), before.contains("\r\n"), "{style}");
        assert_eq!(
            after.matches('\n').count() == after.matches("\r\n").count(),
            before.contains("\r\n"),
            "{style}: mixed line ends"
        );
        assert_eq!(after.starts_with('\u{feff}'), before.starts_with('\u{feff}'), "{style}");
        assert_eq!(after.ends_with('\n'), before.ends_with('\n'), "{style}");
    }
}

#[test]
fn inserting_twice_changes_nothing() {
    for (style, before) in STYLES {
        for form in [form(), ProgramForm::ByName, ProgramForm::Shell("/opt/it's here".into())] {
            let once = inserted(Some(before), &form);
            let document = JsonDocument::parse(Path::new("settings.json"), Some(&once)).unwrap();
            assert!(!hooks::insert(&document, &form, None).unwrap(), "{style}");
            assert_eq!(document.text(), once, "{style}");
        }
    }
}

#[test]
fn taking_out_restores_every_byte() {
    for (style, before) in STYLES {
        let home = Home::with(Some(before));
        assert!(home.insert(&form()), "{style}");
        assert!(!home.insert(&form()), "{style}");
        assert!(home.take_out(), "{style}");
        assert_eq!(home.text().as_deref(), Some(before), "{style}");
        assert!(!home.take_out(), "{style}");
        let left = fs::read_dir(home.file().parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "{style}: backup or lock left behind");
    }
}

#[test]
fn moving_our_programs_and_taking_out_restores_every_byte_too() {
    for (style, before) in STYLES {
        let home = Home::with(Some(before));
        assert!(home.insert(&form()), "{style}");
        assert!(home.insert(&ProgramForm::Exec("/elsewhere".into())), "{style}");
        assert!(!home.text().unwrap().contains("/opt/bin"), "{style}");
        assert!(home.take_out(), "{style}");
        assert_eq!(home.text().as_deref(), Some(before), "{style}");
    }
}

#[test]
fn a_file_that_we_created_is_removed_with_its_folder() {
    let home = Home::with(None);
    assert!(home.insert(&form()));
    assert!(home.text().unwrap().ends_with("}\n"));
    assert!(home.take_out());
    assert!(!home.file().parent().unwrap().exists());
}

#[test]
fn an_empty_file_is_empty_again() {
    let home = Home::with(Some(""));
    assert!(home.insert(&form()));
    assert!(home.take_out());
    assert_eq!(home.text().as_deref(), Some(""));
}

#[test]
fn what_the_user_changed_since_stays_and_the_rest_is_as_before() {
    for (style, before) in STYLES.into_iter().filter(|(_, text)| text.contains("opus")) {
        let home = Home::with(Some(before));
        home.insert(&form());
        let changed = home.text().unwrap().replace("opus", "sonnet");
        fs::write(home.file(), changed).unwrap();
        home.take_out();
        let expected = before.replace("opus", "sonnet");
        let restored = home.text().unwrap();
        let parse = |text: &str| JsonDocument::parse(Path::new("s"), Some(text)).unwrap().value();
        assert_eq!(parse(&restored), parse(&expected), "{style}");
        // The exact text is expected only if the changed part is contiguous and the lines are kept: there must be no
        // other hooks around Throughline's, and the file must have several lines.
        if !before.contains("PreToolUse") && before.trim().contains('\n') {
            assert_eq!(restored, expected, "{style}");
        }
    }
}

#[test]
fn without_a_record_the_usual_styles_are_restored_too() {
    for style in ["two spaces", "four spaces, no newline at the end", "tabs", "CRLF", "comments"] {
        let (_, before) = STYLES.into_iter().find(|(name, _)| *name == style).unwrap();
        let after = inserted(Some(before), &form());
        let document = JsonDocument::parse(Path::new("settings.json"), Some(&after)).unwrap();
        assert!(hooks::remove(&document));
        assert_eq!(document.text(), before, "{style}");
    }
}

#[test]
fn another_folder_of_ours_is_replaced_and_others_in_the_same_group_stay() {
    let before = "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"/old/throughline-stop\"\n          },\n          {\n            \"type\": \"command\",\n            \"command\": \"bell\"\n          }\n        ]\n      }\n    ],\n    \"Notification\": [\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"throughline-stop\"\n          }\n        ]\n      }\n    ]\n  }\n}\n";
    let after = inserted(Some(before), &form());
    assert!(!after.contains("/old/"), "{after}");
    assert!(after.contains("bell"), "{after}");
    let document = JsonDocument::parse(Path::new("s"), Some(&after)).unwrap();
    assert!(hooks::remove(&document));
    let left = document.value();
    assert_eq!(left["hooks"]["Stop"][0]["hooks"][0]["command"], "bell");
    // Entries that an older version of the program registered are removed too.
    assert!(left["hooks"].get("Notification").is_none(), "{left}");
}

#[test]
fn events_that_an_old_client_does_not_know_are_left_out() {
    let document = JsonDocument::parse(Path::new("s"), None).unwrap();
    let client = Some(ClaudeCodeVersion(1, 0, 60));
    hooks::insert(&document, &ProgramForm::absolute(Path::new("/opt/bin"), client), client)
        .unwrap();
    let events: Vec<String> =
        document.value()["hooks"].as_object().unwrap().keys().cloned().collect();
    assert!(events.contains(&"UserPromptSubmit".to_owned()));
    assert!(
        !events.contains(&"SessionEnd".to_owned())
            && !events.contains(&"PostToolUseFailure".to_owned())
    );
    assert!(document.text().contains("exec '/opt/bin/throughline-stop'"));
    assert!(!document.text().contains("\"args\""));
}

#[test]
fn committed_files_name_no_path_of_this_machine() {
    let text = inserted(None, &ProgramForm::ByName);
    assert!(!text.contains("\"command\": \"/"), "{text}");
    assert!(text.contains("command -v throughline-stop >/dev/null 2>&1 || exit 0"), "{text}");
}

#[test]
fn a_file_that_does_not_parse_is_refused_with_its_place() {
    let home = Home::with(Some("{\n  \"model\": opus\n}\n"));
    let refused = replace(&home.file(), None, |path, text| {
        JsonDocument::parse(path, text).map(|document| NextText::Write(document.text()))
    })
    .unwrap_err();
    assert_eq!(refused.code, exit::INVALID);
    assert!(refused.message.contains("settings.json:2:12: "), "{}", refused.message);
    assert_eq!(home.text().unwrap(), "{\n  \"model\": opus\n}\n");
    for bad in ["[]", "\"text\"", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}", "{'a': 1}", "{"]
    {
        let document = JsonDocument::parse(Path::new("s"), Some(bad));
        let refused = document.and_then(|document| hooks::insert(&document, &form(), None));
        assert_eq!(refused.unwrap_err().code, exit::INVALID, "{bad}");
    }
}

#[test]
fn a_symbolic_link_and_the_mode_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let home = Home::with(Some("{}\n"));
    let kept = home.folder.path().join("dotfiles.json");
    fs::rename(home.file(), &kept).unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("../dotfiles.json", home.file()).unwrap();

    assert!(home.insert(&form()));
    assert!(fs::symlink_metadata(home.file()).unwrap().is_symlink());
    assert!(fs::read_to_string(&kept).unwrap().contains("throughline-stop"));
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(home.take_out());
    assert_eq!(fs::read_to_string(&kept).unwrap(), "{}\n");
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn the_backup_holds_what_was_there() {
    let before = "{ \"model\": \"opus\" }\n";
    let home = Home::with(Some(before));
    home.insert(&form());
    let backup = home.file().with_file_name("settings.json.backup.1790000000000");
    assert_eq!(fs::read_to_string(backup).unwrap(), before);
}

#[test]
fn a_lock_of_another_program_is_waited_for_and_left() {
    let home = Home::with(Some("{}\n"));
    let lock = home.file().with_file_name("settings.json.lock");
    fs::create_dir(&lock).unwrap();
    let release = std::thread::spawn({
        let lock = lock.clone();
        move || {
            std::thread::sleep(std::time::Duration::from_millis(150));
            fs::remove_dir(lock).unwrap();
        }
    });
    assert!(home.insert(&form()));
    release.join().unwrap();
    assert!(!lock.exists());
}

#[test]
fn what_stands_in_place_of_a_lock_does_not_hold_us_for_ever() {
    let home = Home::with(Some("{}\n"));
    let lock = home.file().with_file_name("settings.json.lock");
    fs::write(&lock, "").unwrap();
    #[expect(clippy::disallowed_methods, reason = "the age of a file")]
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::options().write(true).open(&lock).unwrap().set_modified(old).unwrap();
    let refused = replace(&home.file(), None, |_, _| Ok(NextText::Remove)).unwrap_err();
    assert!(refused.message.contains("locked by another program"), "{}", refused.message);
    assert!(lock.exists() && home.file().exists());
}

#[test]
fn a_repository_cannot_lead_us_out_of_itself() {
    use std::os::unix::fs::symlink;
    let home = Home::new();
    let (root, outside) = (home.folder.path().join("work"), home.folder.path().join("outside"));
    fs::create_dir_all(&root).unwrap();
    fs::create_dir_all(&outside).unwrap();
    let settings = root.join(".claude/settings.json");
    let place = InsertionPlace {
        path: &settings,
        purpose: Purpose::Hooks,
        scope: SettingsScope::Project,
        root: &root,
    };
    let put = |record: &mut InsertionRecord, place: &InsertionPlace<'_>| {
        put_in(record, place, Timestamp(0), |document| hooks::insert(document, &form(), None))
    };
    let mut record = InsertionRecord::default();
    let refused = |record: &mut InsertionRecord| {
        let failure = put(record, &place).unwrap_err();
        assert!(failure.message.contains("leads out of the project"), "{}", failure.message);
        assert!(!take_out(record, &place, RunMode::Real).unwrap());
    };

    // The folder is a link.
    fs::write(outside.join("settings.json"), "{}\n").unwrap();
    symlink(&outside, root.join(".claude")).unwrap();
    refused(&mut record);
    // The file is a link, whose target exists or is missing.
    fs::remove_file(root.join(".claude")).unwrap();
    fs::create_dir(root.join(".claude")).unwrap();
    for target in ["../../outside/settings.json", "../../outside/new/a", "none/../../../outside/a"]
    {
        symlink(target, &settings).unwrap();
        refused(&mut record);
        fs::remove_file(&settings).unwrap();
    }
    assert_eq!(fs::read_to_string(outside.join("settings.json")).unwrap(), "{}\n");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    // Links whose target is inside the project are followed, like all links of the user.
    symlink("../shared.json", &settings).unwrap();
    assert!(put(&mut record, &place).unwrap());
    assert!(fs::read_to_string(root.join("shared.json")).unwrap().contains("throughline-stop"));
    assert!(take_out(&mut record, &place, RunMode::Real).unwrap());
    fs::remove_file(&settings).unwrap();
    symlink("../../outside/settings.json", &settings).unwrap();
    assert!(put(&mut record, &InsertionPlace { scope: SettingsScope::User, ..place }).unwrap());
}

#[test]
fn the_server_is_put_where_its_scope_is_kept_and_taken_out_again() {
    let state = "{\n  \"numStartups\": 3,\n  \"projects\": {\n    \"/p\": {\n      \"allowedTools\": [],\n      \"mcpServers\": {}\n    },\n    \"/q\": {\n      \"mcpServers\": {\n        \"other\": {\n          \"command\": \"x\"\n        }\n      }\n    }\n  }\n}";
    for (scope, root, pointer) in [
        (SettingsScope::User, "/p", "/mcpServers/throughline/command"),
        (SettingsScope::Local, "/p", "/projects/~1p/mcpServers/throughline/command"),
        (SettingsScope::Local, "/q", "/projects/~1q/mcpServers/throughline/command"),
        (SettingsScope::Local, "/new", "/projects/~1new/mcpServers/throughline/command"),
    ] {
        let root = Path::new(root);
        let document = JsonDocument::parse(Path::new("s"), Some(state)).unwrap();
        assert!(
            server::insert(
                &document,
                scope,
                root,
                "/opt/bin/throughline-mcp",
                &serde_json::json!({})
            )
            .unwrap()
        );
        assert!(
            !server::insert(
                &document,
                scope,
                root,
                "/opt/bin/throughline-mcp",
                &serde_json::json!({})
            )
            .unwrap()
        );
        assert_eq!(document.value().pointer(pointer).unwrap(), "/opt/bin/throughline-mcp");
        assert!(
            server::insert(&document, scope, root, "/new/throughline-mcp", &serde_json::json!({}))
                .unwrap()
        );
        assert!(server::registered(&document, scope, root).is_some());
        assert!(server::remove(&document, scope, root));
        assert!(!server::remove(&document, scope, root));
        if root == Path::new("/q") || scope == SettingsScope::User {
            assert_eq!(document.text(), state, "{scope:?} {root:?}");
        }
        assert!(!document.text().contains("throughline"), "{scope:?} {root:?}");
    }
}

/// The plugin contains a copy of the hooks, since Claude Code reads the plugin without running this program. The copy
/// must be equal.
#[test]
fn the_plugin_registers_the_same_hooks() {
    let plugin: serde_json::Value =
        serde_json::from_str(include_str!("../../../../plugin/hooks/hooks.json")).unwrap();
    let registered = plugin["hooks"].as_object().unwrap();
    assert_eq!(registered.len(), hooks::HOOKS.len());
    for hook in &hooks::HOOKS {
        let group = &registered[hook.event][0];
        assert_eq!(group.get("matcher").and_then(|matcher| matcher.as_str()), hook.matcher);
        assert_eq!(group["hooks"][0]["args"][0], hook.program, "{}", hook.event);
    }
}

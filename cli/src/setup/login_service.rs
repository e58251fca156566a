//! The service file by which systemd or launchd starts `throughline watch` at login. The program writes the file but
//! does not enable the service: it prints the command that does.

use std::env;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use memory_store::store::{Privacy, create_folder, replace};
use serde::Serialize;

use crate::ask;
use crate::failure::{AtPath as _, Failure, Result};
use crate::typed::WriteOptions;
use crate::view;
use crate::world::World;

/// A service manager, which starts programs at login.
pub struct ServiceManager {
    /// The service file for `throughline watch`, relative to the home folder.
    pub file: &'static str,
    /// Command that starts the service now and at each login.
    start: &'static str,
    /// Command that stops the service and prevents its start at login.
    pub stop: &'static str,
    render: fn(&Path, &[(&str, String)]) -> String,
}

const SYSTEMD: ServiceManager = ServiceManager {
    file: ".config/systemd/user/throughline-watch.service",
    start: "systemctl --user daemon-reload && systemctl --user enable --now throughline-watch.service",
    stop: "systemctl --user disable --now throughline-watch.service",
    render: unit,
};
const LAUNCHD: ServiceManager = ServiceManager {
    file: "Library/LaunchAgents/throughline.watch.plist",
    start: "launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/throughline.watch.plist",
    stop: "launchctl bootout gui/$(id -u)/throughline.watch",
    render: agent,
};

/// All supported managers.
pub const MANAGERS: [ServiceManager; 2] = [SYSTEMD, LAUNCHD];

/// Environment variables that the service needs, if they are set now.
const PASSED_ON: [&str; 7] = [
    "PATH",
    "CLAUDE_CONFIG_DIR",
    "OLLAMA_HOST",
    "THROUGHLINE_MODELS",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// Result of the installation.
#[derive(Serialize)]
struct Installed {
    file: PathBuf,
    changed: bool,
    start: &'static str,
}

/// Writes the service file for this machine. Asks before it replaces a different file.
pub fn install(write: WriteOptions, world: &World, out: &mut dyn Write) -> Result {
    let manager = if cfg!(target_os = "macos") { LAUNCHD } else { SYSTEMD };
    let file = world.home.join(manager.file);
    let text = (manager.render)(&world.program("throughline"), &variables());
    let before = match fs::read_to_string(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        read => Some(read.at(&file)?),
    };
    let changed = before.as_deref() != Some(&*text);
    if write.dry_run {
        let would = changed.then(|| format!("write {}", view::path(&file)));
        return view::would(would.as_slice(), write.json, out);
    }
    if changed {
        let replaces = format!("Replace {}, which has other contents?", view::path(&file));
        if before.is_some() && !write.yes && !ask::confirm(world, &replaces, false)? {
            return Err(ask::declined(world, "nothing was written"));
        }
        let folder = file.parent().ok_or_else(|| Failure::new("no folder for the service"))?;
        create_folder(folder, Privacy::Shared)?;
        replace(&file, text.as_bytes(), Privacy::Shared)?;
    }
    if write.json {
        return view::json(&Installed { file, changed, start: manager.start }, out);
    }
    let done = if changed { "Wrote" } else { "Unchanged:" };
    writeln!(out, "{done} {}", view::path(&file))?;
    writeln!(out, "Start it now and at each login:\n  {}", manager.start)?;
    Ok(writeln!(out, "Stop it:\n  {}", manager.stop)?)
}

#[expect(clippy::disallowed_methods, reason = "the service needs the variables as they are set")]
fn variables() -> Vec<(&'static str, String)> {
    let set = |name: &'static str| Some((name, env::var(name).ok().filter(|it| !it.is_empty())?));
    PASSED_ON.into_iter().filter_map(set).collect()
}

/// Renders a unit of systemd.
fn unit(program: &Path, variables: &[(&str, String)]) -> String {
    // In systemd, a percent sign begins a specifier, even in quotes.
    let quoted = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
        format!("\"{text}\"")
    };
    let set = |(name, value): &(&str, String)| {
        format!("Environment={}\n", quoted(&format!("{name}={value}")))
    };
    format!(
        "[Unit]\nDescription=Throughline: learns from Claude Code's sessions while they run\n\n[Service]\n\
         ExecStart={} watch\n{}Restart=on-failure\nRestartSec=30\nRestartPreventExitStatus={}\n\n\
         [Install]\nWantedBy=default.target\n",
        // In a command line of systemd, a dollar sign begins a variable; in other values it does not.
        quoted(&program.display().to_string()).replace('$', "$$"),
        variables.iter().map(set).collect::<String>(),
        crate::exit::RUNNING,
    )
}

/// Renders an agent of launchd.
fn agent(program: &Path, variables: &[(&str, String)]) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let set = |(name, value): &(&str, String)| {
        format!("    <key>{name}</key> <string>{}</string>\n", escaped(value))
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n  \
         <key>Label</key> <string>throughline.watch</string>\n  <key>ProgramArguments</key>\n  \
         <array> <string>{}</string> <string>watch</string> </array>\n  <key>EnvironmentVariables</key>\n  \
         <dict>\n{}  </dict>\n  <key>RunAtLoad</key> <true/>\n  \
         <key>KeepAlive</key> <dict> <key>SuccessfulExit</key> <false/> </dict>\n  \
         <key>ThrottleInterval</key> <integer>60</integer>\n  \
         <key>ProcessType</key> <string>Background</string>\n</dict>\n</plist>\n",
        escaped(&program.display().to_string()),
        variables.iter().map(set).collect::<String>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_of_paths_are_escaped() {
        let program = Path::new("/opt/a b/100%/$x/throughline");
        let variables = [("PATH", "/a&b:/c \"d\"%".to_owned())];
        let unit = unit(program, &variables);
        assert!(unit.contains("\nExecStart=\"/opt/a b/100%%/$$x/throughline\" watch\n"), "{unit}");
        assert!(unit.contains("\nEnvironment=\"PATH=/a&b:/c \\\"d\\\"%%\"\n"), "{unit}");
        let agent = agent(program, &variables);
        assert!(agent.contains("<string>/a&amp;b:/c \"d\"%</string>"), "{agent}");
        assert!(agent.contains("<string>/opt/a b/100%/$x/throughline</string>"), "{agent}");
    }
}

//! An agent of launchd (launchd.plist(5)).

use std::path::{Path, PathBuf};

use super::MARK;

/// The agent's label.
pub const LABEL: &str = "throughline.watch";

/// The text of the agent.
pub fn agent(program: &Path, variables: &[(&str, String)]) -> String {
    let program = escaped(&program.to_string_lossy());
    let environment: String = variables
        .iter()
        .map(|(name, value)| {
            format!("    <key>{name}</key>\n    <string>{}</string>\n", escaped(value))
        })
        .collect();
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {MARK}; `throughline service uninstall` removes it. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
    <string>{program}</string>
    <string>watch</string>
  </array>
  <key>EnvironmentVariables</key>
  <dict>
{environment}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>60</integer>
  <key>ProcessType</key>
  <string>Background</string>
  <key>LowPriorityIO</key>
  <true/>
  <key>Nice</key>
  <integer>10</integer>
</dict>
</plist>
"#
    )
}

/// The program that an agent starts.
pub fn program(text: &str) -> Option<PathBuf> {
    let (_, rest) = text.split_once("<key>ProgramArguments</key>")?;
    let (_, rest) = rest.split_once("<string>")?;
    let (path, _) = rest.split_once("</string>")?;
    Some(path.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").into())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_starts_the_program_with_its_environment() {
        let variables = [("PATH", "/usr/bin:/a&b".to_owned())];
        let agent = agent(Path::new("/Users/ada/.local/bin/throughline"), &variables);
        insta::assert_snapshot!(agent, @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <!-- Written by `throughline service install`; `throughline service uninstall` removes it. -->
        <plist version="1.0">
        <dict>
          <key>Label</key>
          <string>throughline.watch</string>
          <key>ProgramArguments</key>
          <array>
            <string>/Users/ada/.local/bin/throughline</string>
            <string>watch</string>
          </array>
          <key>EnvironmentVariables</key>
          <dict>
            <key>PATH</key>
            <string>/usr/bin:/a&amp;b</string>
          </dict>
          <key>RunAtLoad</key>
          <true/>
          <key>KeepAlive</key>
          <dict>
            <key>SuccessfulExit</key>
            <false/>
          </dict>
          <key>ThrottleInterval</key>
          <integer>60</integer>
          <key>ProcessType</key>
          <string>Background</string>
          <key>LowPriorityIO</key>
          <true/>
          <key>Nice</key>
          <integer>10</integer>
        </dict>
        </plist>
        "#);
    }

    #[test]
    fn its_program_is_read_back() {
        for path in ["/opt/throughline", "/a & b/<c>"] {
            assert_eq!(program(&agent(Path::new(path), &[])), Some(path.into()));
        }
    }
}

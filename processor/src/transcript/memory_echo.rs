//! Calls that read memories. Their output is already stored for recall, so it must not be learned again.

use memory_store::ProjectId;

/// End of the name of this program's tool that saves memories and the outcome of a session.
pub const REMEMBER: &str = "throughline__remember";

/// Returns whether a tool belongs to a memory program. The tool's output was stored for recall.
pub fn is_memory_tool(tool: &str) -> bool {
    let Some(tool) = tool.strip_prefix("mcp__") else { return false };
    let tool = tool.to_ascii_lowercase();
    ["throughline", "memor", "mem0", "claude-mem", "memsearch", "recall", "remember"]
        .iter()
        .any(|word| tool.contains(word))
}

/// Returns whether a file contains memories or standing instructions, of this program or another one. This program's
/// files with the user's data count: memories, drafts, turns, and records of injections. The function is called for
/// each word of each command.
pub fn is_memory_path(path: &str) -> bool {
    let mut rest = path.split(['/', '\\']);
    let mut last = "";
    while let Some(part) = rest.next() {
        last = part;
        if !matches!(part, ".throughline" | ".claude" | "projects" | "throughline") {
            continue;
        }
        let has_memory = || {
            let mut inner = path.split(['/', '\\']).skip(1);
            inner.any(|part| part == "memory") && inner.next().is_some()
        };
        let mut below = rest.clone();
        let found = match (part, below.next(), below.next()) {
            (".throughline", Some(_), _) | (".claude", Some("rules"), Some(_)) => true,
            (".claude", Some("projects"), Some(_)) => has_memory(),
            (".claude", Some(folder), _) => folder.starts_with("agent-memory"),
            ("projects", Some(project), _) => project.starts_with('-') && has_memory(),
            ("throughline", Some("projects" | "trees"), Some(id)) => {
                id.parse::<ProjectId>().is_ok()
            }
            ("throughline", Some("user"), Some(folder)) => {
                matches!(folder, "memories" | "drafts" | "archived")
            }
            _ => false,
        };
        if found {
            return true;
        }
    }
    matches!(last, "CLAUDE.md" | "CLAUDE.local.md" | "MEMORY.md")
}

/// Words that can precede the name of a program in a command.
const RUNNERS: &[&str] = &[
    "sudo", "env", "command", "exec", "time", "nohup", "nice", "timeout", "xargs", "sh", "bash",
    "zsh", "then", "do", "else", "if", "while", "!", "{",
];

/// Returns whether a command line runs this program, which prints memories.
fn runs_throughline(command: &str) -> bool {
    let apart = |c: char| matches!(c, ';' | '|' | '&' | '\n' | '(' | ')' | '`');
    command.split(apart).any(|simple| {
        let mut words = simple.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
        let led_by = |word: &str| {
            RUNNERS.contains(&word)
                || word.contains('=')
                || word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        };
        let program = words.find(|word| !led_by(word)).unwrap_or_default();
        program.rsplit('/').next() == Some("throughline")
    })
}

/// Returns whether a command line reads a file with memories, or runs this program, which prints memories.
pub fn reads_memory(command: &str) -> bool {
    runs_throughline(command) || names_memory(command)
}

fn names_memory(command: &str) -> bool {
    command
        .split(|c: char| {
            c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '|' | '&' | '<' | '(' | ')' | '=')
        })
        .any(|word| is_memory_path(word) || word.ends_with(".throughline"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_of_memories_are_known() {
        let id = "00112233445566778899aabbccddeeff";
        let private = format!("/home/ada/.local/share/throughline/projects/{id}");
        for path in [
            format!("{private}/memories/a-b.md"),
            format!("{private}/drafts/a-b.md"),
            format!("{private}/archived/a-b.md"),
            format!("{private}/archive"),
            format!("throughline/projects/{id}/memories"),
            format!("/home/ada/.local/state/throughline/trees/{id}/receipts/2026-10-02.jsonl"),
            "/home/ada/.local/share/throughline/user/memories/a-b.md".to_owned(),
            "/home/ada/.local/share/throughline/user/memories".to_owned(),
            "/w/.throughline/memories/a-b.md".to_owned(),
            "/home/ada/.claude/projects/-home-ada-shop/memory/notes.md".to_owned(),
            r"C:\Users\ada\.claude\projects\C--shop\memory\notes.md".to_owned(),
            "/mnt/claude/projects/-home-ada-shop/memory/notes.md".to_owned(),
            "/mnt/memory/projects/-home-ada-shop/notes.md".to_owned(),
            "shop/.claude/rules/tests.md".to_owned(),
            ".claude/agent-memory-local/reviewer.md".to_owned(),
            "docs/CLAUDE.md".to_owned(),
            "MEMORY.md".to_owned(),
        ] {
            assert!(is_memory_path(&path), "{path}");
            assert!(reads_memory(&format!("grep -r x \"{path}\"")), "{path}");
        }
        for path in [
            "/w/throughline/projects/web/a.rs",
            "/w/throughline/user/mod.rs",
            "src/memories/a.rs",
            "/home/ada/.claude/projects/-home-ada-shop/1.jsonl",
            "web/projects/memory/a.rs",
            "a.throughline/b.md",
            "my.claude/rules/a.md",
            ".claude/settings.json",
        ] {
            assert!(!is_memory_path(path), "{path}");
        }
    }

    #[test]
    fn commands_of_our_own_program_read_memories() {
        for command in [
            "throughline search parser",
            "cd /w && ~/.local/bin/throughline show 01ab | head",
            "THROUGHLINE=read timeout 5 throughline list",
            "echo $(throughline pack)",
            "bash -c 'throughline handoff'",
            "if throughline why; then ls; fi",
        ] {
            assert!(reads_memory(command), "{command}");
        }
        for command in ["cd throughline && ls", "git clone x/throughline", "throughline-bench run"]
        {
            assert!(!reads_memory(command), "{command}");
        }
    }
}

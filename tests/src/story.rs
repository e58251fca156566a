//! Stories: sessions in a short form, from which the transcripts of Claude Code are generated.
//!
//! A story is a file with one JSON object on each line. The first object describes the session; each of the others is
//! one step (see `records`). Paths are relative to the project.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Seconds between two records, unless the story sets the time.
const STEP_S: i64 = 20;

/// Client version in the transcripts.
const VERSION: &str = "2.1.330";

/// One session.
#[derive(Clone, Debug)]
pub struct Story {
    /// Claude Code's id of the session. Ids of records begin with its first 24 characters, which must therefore differ
    /// between stories.
    pub session: String,
    /// Start time.
    pub at: Timestamp,
    /// Git branch.
    pub branch: String,
    /// The steps in order.
    pub steps: Vec<Value>,
}

impl Story {
    /// Reads a story. An error contains the number of the line.
    pub fn parse(text: &str) -> io::Result<Self> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let mut next = || {
            let (number, line) = lines.next()?;
            let value = serde_json::from_str::<Value>(line);
            Some(value.map_err(|error| invalid(&format!("line {}: {error}", number + 1))))
        };
        let head = next().ok_or_else(|| invalid("an empty file"))??;
        let mut steps = Vec::new();
        while let Some(step) = next() {
            steps.push(step?);
        }
        let at = text_of(&head, "at").parse().map_err(|error| invalid(&format!("at: {error}")))?;
        let branch = head["branch"].as_str().unwrap_or("main").to_owned();
        Ok(Self { session: text_of(&head, "session").to_owned(), at, branch, steps })
    }

    /// Reads the stories in a folder, sorted by file name.
    pub fn read_folder(folder: &Path) -> io::Result<Vec<Self>> {
        let mut files: Vec<_> =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        files.sort();
        files.iter().map(|file| Self::parse(&fs::read_to_string(file)?)).collect()
    }

    /// Returns the lines of the transcript of the session, which ran in `root`.
    pub fn lines(&self, root: &Path) -> Vec<String> {
        let mut writer =
            TranscriptWriter { story: self, root, at: self.at, count: 0, last: Value::Null };
        let mut lines = Vec::new();
        for step in &self.steps {
            if let Some(seconds) = step["later_s"].as_i64() {
                writer.pass(seconds);
            }
            lines.extend(writer.records(step).iter().map(Value::to_string));
        }
        lines
    }

    /// Writes the transcript at the path that Claude Code would use; returns the path.
    pub fn write(&self, claude_dir: &Path, root: &Path) -> io::Result<PathBuf> {
        let path = transcript_path(claude_dir, root, &self.session);
        fs::create_dir_all(path.parent().ok_or(io::ErrorKind::NotFound)?)?;
        fs::write(&path, self.lines(root).join("\n") + "\n")?;
        Ok(path)
    }
}

/// Returns the path of Claude Code's transcript of a session that began in `root`.
pub fn transcript_path(claude_dir: &Path, root: &Path, session: &str) -> PathBuf {
    let dash = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let folder: String = root.display().to_string().chars().map(dash).collect();
    claude_dir.join("projects").join(folder).join(format!("{session}.jsonl"))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("story: {what}"))
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Writes the records of one transcript.
struct TranscriptWriter<'a> {
    story: &'a Story,
    root: &'a Path,
    at: Timestamp,
    count: u32,
    last: Value,
}

impl TranscriptWriter<'_> {
    /// Returns the records of a step. The forms of a step are:
    /// `{"user": TEXT}`, `{"claude": TEXT}`, `{"read": PATH, "holds": TEXT}`,
    /// `{"bash": COMMAND, "prints": TEXT}` or `"fails"` instead of `"prints"`,
    /// `{"edit": PATH, "old": TEXT, "new": TEXT}`, `{"write": PATH, "holds": TEXT}`,
    /// `{"ask": QUESTION, "options": [TEXT], "answer": TEXT}`, `{"todos": [[TEXT, STATE]]}`,
    /// `{"thinks": TEXT}`, `{"call": TOOL, "with": INPUT, "prints": TEXT}`, other records of the client as
    /// `{"record": TYPE, "with": FIELDS}`, and `{"line": RECORD}` without the common fields of records.
    fn records(&mut self, step: &Value) -> Vec<Value> {
        if let Some(text) = step["user"].as_str() {
            return vec![self.prompt(text)];
        }
        if let Some(text) = step["claude"].as_str() {
            return vec![self.assistant(json!({"type": "text", "text": text}))];
        }
        if let Some(text) = step["thinks"].as_str() {
            return vec![self.assistant(json!({"type": "thinking", "thinking": text}))];
        }
        if let Some(kind) = step["record"].as_str() {
            let mut record = self.record(kind);
            for (key, value) in step["with"].as_object().into_iter().flatten() {
                record[key] = value.clone();
            }
            return vec![record];
        }
        if step["line"].is_object() {
            return vec![step["line"].clone()];
        }
        self.tool(step).map(|tool| self.call(tool)).unwrap_or_default()
    }

    fn tool(&self, step: &Value) -> Option<Tool> {
        let file = |key: &str| Some(self.root.join(step[key].as_str()?));
        if let Some(command) = step["bash"].as_str() {
            return Some(bash(step, command));
        }
        if let Some(file) = file("read") {
            return Some(read(&file, text_of(step, "holds")));
        }
        if let Some(file) = file("edit") {
            return Some(edit(&file, text_of(step, "old"), text_of(step, "new")));
        }
        if let Some(file) = file("write") {
            return Some(write(&file, text_of(step, "holds")));
        }
        if let Some(question) = step["ask"].as_str() {
            return Some(ask(question, &step["options"], text_of(step, "answer")));
        }
        if let Some(name) = step["call"].as_str() {
            let (name, input) = (name.to_owned(), step["with"].clone());
            let output = text_of(step, "prints").to_owned();
            let result = json!([{"type": "text", "text": output}]);
            return Some(Tool { name: name.into(), input, output, failed: false, result });
        }
        step["todos"].as_array().map(|items| todos(items))
    }

    fn call(&mut self, tool: Tool) -> Vec<Value> {
        let id = format!("toolu_{}{:04}", &self.story.session[..8], self.count);
        let call = self.assistant(
            json!({"type": "tool_use", "id": id, "name": tool.name, "input": tool.input}),
        );
        let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": tool.output});
        if tool.failed {
            block["is_error"] = true.into();
        }
        let mut result = self.record("user");
        result["message"] = json!({"role": "user", "content": [block]});
        result["toolUseResult"] = tool.result;
        vec![call, result]
    }

    fn prompt(&mut self, text: &str) -> Value {
        let mut record = self.record("user");
        record["message"] = json!({"role": "user", "content": text});
        record["origin"] = json!({"kind": "human"});
        record["promptSource"] = "typed".into();
        record
    }

    fn assistant(&mut self, block: Value) -> Value {
        let mut record = self.record("assistant");
        record["message"] = json!({
            "id": format!("msg_{}{:04}", &self.story.session[..8], self.count),
            "type": "message", "role": "assistant", "model": "claude-opus-5-5",
            "content": [block], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        });
        record
    }

    /// Returns the common fields of every record of a conversation.
    fn record(&mut self, kind: &str) -> Value {
        self.count += 1;
        let uuid = format!("{}{:012x}", &self.story.session[..24], self.count);
        let record = json!({
            "parentUuid": self.last, "isSidechain": false, "userType": "external",
            "cwd": self.root, "sessionId": self.story.session, "version": VERSION,
            "gitBranch": self.story.branch, "type": kind, "uuid": uuid,
            "timestamp": self.at.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string(),
        });
        self.last = uuid.into();
        self.pass(STEP_S);
        record
    }

    fn pass(&mut self, seconds: i64) {
        self.at = self.at.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(self.at);
    }
}

/// A tool call of the model and its result.
struct Tool {
    name: Cow<'static, str>,
    input: Value,
    output: String,
    failed: bool,
    result: Value,
}

fn bash(step: &Value, command: &str) -> Tool {
    let input = json!({"command": command, "description": text_of(step, "why")});
    match step["fails"].as_str() {
        Some(text) => {
            let output = format!("Exit code {}\n{text}", step["exit"].as_i64().unwrap_or(1));
            let result = format!("Error: {output}").into();
            Tool { name: "Bash".into(), input, output, failed: true, result }
        }
        None => {
            let text = text_of(step, "prints");
            let result = json!({
                "stdout": text, "stderr": "", "interrupted": false, "isImage": false,
                "noOutputExpected": false,
            });
            Tool { name: "Bash".into(), input, output: text.to_owned(), failed: false, result }
        }
    }
}

fn read(file: &Path, content: &str) -> Tool {
    let lines = content.lines().count();
    let numbered =
        content.lines().enumerate().map(|(index, line)| format!("{}\t{line}\n", index + 1));
    let result = json!({"type": "text", "file": {
        "filePath": file, "content": content, "numLines": lines, "startLine": 1,
        "totalLines": lines,
    }});
    let input = json!({"file_path": file});
    Tool { name: "Read".into(), input, output: numbered.collect(), failed: false, result }
}

fn edit(file: &Path, old: &str, new: &str) -> Tool {
    let result = json!({
        "filePath": file, "oldString": old, "newString": new, "originalFile": old,
        "structuredPatch": [], "userModified": false, "replaceAll": false,
    });
    let input = json!({"file_path": file, "old_string": old, "new_string": new});
    Tool { name: "Edit".into(), input, output: updated(file), failed: false, result }
}

fn write(file: &Path, content: &str) -> Tool {
    let result = json!({
        "type": "create", "filePath": file, "content": content, "structuredPatch": [],
        "originalFile": null,
    });
    let input = json!({"file_path": file, "content": content});
    Tool { name: "Write".into(), input, output: updated(file), failed: false, result }
}

fn updated(file: &Path) -> String {
    format!("The file {} has been updated successfully.", file.display())
}

fn ask(question: &str, options: &Value, answer: &str) -> Tool {
    let options = options.as_array().into_iter().flatten();
    let options: Vec<_> =
        options.map(|option| json!({"label": option, "description": ""})).collect();
    let questions = json!([{
        "question": question, "header": "Choice", "options": options, "multiSelect": false,
    }]);
    let output = format!(
        "User has answered your questions: \"{question}\"=\"{answer}\". You can now continue with \
         the user's answers in mind."
    );
    let result = json!({"questions": questions, "answers": {question: answer}});
    let input = json!({"questions": questions});
    Tool { name: "AskUserQuestion".into(), input, output, failed: false, result }
}

fn todos(items: &[Value]) -> Tool {
    let todos: Vec<_> = items
        .iter()
        .map(|item| json!({"content": item[0], "status": item[1], "activeForm": item[0]}))
        .collect();
    let result = json!({"oldTodos": [], "newTodos": todos});
    let output = "Todos have been modified successfully.".to_owned();
    Tool { name: "TodoWrite".into(), input: json!({"todos": todos}), output, failed: false, result }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: &str = r#"
{"session": "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa", "at": "2026-10-02T09:00:00Z"}
{"user": "Run it."}
{"bash": "make", "fails": "no rule"}
{"claude": "There is no rule.", "later_s": 60}
"#;

    #[test]
    fn a_story_becomes_a_transcript() {
        let story = Story::parse(STORY).unwrap();
        let records: Vec<Value> = story
            .lines(Path::new("/home/ada/work"))
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let kinds: Vec<_> = records.iter().map(|record| text_of(record, "type")).collect();
        assert_eq!(kinds, ["user", "assistant", "user", "assistant"]);
        assert_eq!(records[2]["message"]["content"][0]["is_error"], true);
        assert_eq!(records[3]["timestamp"], "2026-10-02T09:02:00.000Z");
        assert_eq!(records[3]["parentUuid"], records[2]["uuid"]);
    }

    #[test]
    fn a_broken_story_names_the_line() {
        let error =
            Story::parse("{\"session\": \"a\", \"at\": \"2026-10-02T09:00:00Z\"}\n{").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }

    #[test]
    fn transcripts_lie_where_the_client_puts_them() {
        let path = transcript_path(Path::new("/c"), Path::new("/home/ada/a_b.c"), "s");
        assert_eq!(path, Path::new("/c/projects/-home-ada-a-b-c/s.jsonl"));
    }
}

//! The MCP server of a project, to which one request at a time is sent.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::environment::TestEnvironment;

/// A running `throughline-mcp`, which ends when this value is dropped.
pub struct McpServer {
    child: Child,
    answers: BufReader<ChildStdout>,
    next: u32,
}

impl McpServer {
    /// Starts the server in a project. `mode` is the value of the variable `THROUGHLINE`.
    ///
    /// # Panics
    /// Panics if the server does not start.
    pub fn start(environment: &TestEnvironment, root: &Path, mode: &str) -> Self {
        let mut child = environment
            .command(environment.binary("throughline-mcp"))
            .current_dir(root)
            .env("THROUGHLINE", mode)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, answers, next: 1 };
        server.ask(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"}}),
        );
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Sends a request and returns the answer.
    ///
    /// # Panics
    /// Panics if the server does not answer.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.send(&message);
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.next, "{answer}");
        answer
    }

    /// Calls a tool; returns all texts that the model receives.
    ///
    /// # Panics
    /// Panics if the answer contains none.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let texts = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
        texts.iter().filter_map(|text| text["text"].as_str()).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        drop(self.child.wait());
    }
}

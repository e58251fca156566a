//! What somebody meets who has just installed it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::Machine;

/// A proxy on this machine, which is asked for what is elsewhere: it answers as an Ollama with one model, and counts.
fn proxy() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]);
            let models = r#"{"models":[{"name":"tiny","modified_at":"","size":1}]}"#;
            let length = models.len();
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
            let _ = stream.write_all(format!("{head}{models}").as_bytes());
        }
    });
    (address, asked)
}

#[test]
fn another_machine_is_not_asked_before_the_user_agreed() {
    let (proxy, asked) = proxy();
    let machine =
        Machine::new().with("http_proxy", proxy).with("OLLAMA_HOST", "http://models.example:11434");
    let count = || asked.load(Ordering::SeqCst);

    let answers = [("for the team to review", "y\n"), ("Sessions are read by", "\n")];
    let shown = machine.at_terminal(&["init", "--no-sync"], &answers);
    assert!(shown.contains("models.example is another machine"), "{shown}");
    let status = machine.ok(&["status"]);
    assert!(status.contains("models.example is another machine"), "{status}");
    machine.ok(&["status", "--json"]);
    machine.run(&["doctor"]);
    let said = machine.run(&["config", "llm", "ollama"]);
    assert_eq!(said.code, 1, "{}", said.whole());
    assert!(said.stderr.contains("--consent"), "{}", said.whole());
    let said = machine.run(&["init", "--yes", "--llm", "ollama"]);
    assert_eq!(said.code, 1, "{}", said.whole());
    assert_eq!(count(), 0);

    // Named, but not agreed to.
    machine.write(
        "home/.config/throughline/config.toml",
        "[llm]\nprovider = \"ollama\"\nmodel = \"tiny\"\n",
    );
    machine.run(&["doctor"]);
    machine.ok(&["status"]);
    assert_eq!(count(), 0);

    machine.ok(&["config", "llm", "ollama", "--consent", "models.example"]);
    assert_eq!(count(), 1);
    let doctor = machine.run(&["doctor"]).stdout;
    assert!(doctor.contains("tiny answers"), "{doctor}");
    assert_eq!(count(), 2);
}

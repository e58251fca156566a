//! Valid and invalid input on stdin, and the end of the input.

use super::*;

#[test]
fn garbage_and_wrong_calls_do_not_end_the_server() {
    let world = World::trusted();
    let mut server = world.start(&[]);
    let refused = |server: &mut Server, line: &str| {
        server.send(line);
        let answer = server.receive();
        assert!(answer["id"].is_null() && answer["error"]["code"] == -32700, "{answer}");
    };
    refused(&mut server, "this is no JSON");
    server.send("");
    refused(&mut server, "{\"jsonrpc\":");
    server.initialize();
    refused(&mut server, "\u{0}\u{1}garbage");
    refused(&mut server, &"x".repeat(1 << 20));
    let unknown = server.request("tools/call", json!({"name": "poem", "arguments": {}}));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert_eq!(server.request("no/such/method", json!({}))["error"]["code"], -32601);
    for (tool, arguments, expected) in [
        ("recall", json!({}), "query"),
        ("recall", json!({"query": {"a": 7}}), "`query` takes a text"),
        ("recall", json!({"query": "x", "kinds": ["poem"]}), "`kinds` takes some of decision"),
        ("recall", json!({"query": "x", "cursor": "7"}), "cursor"),
        ("remember", json!({"kind": "fact", "title": " "}), "title"),
        ("remember", json!({"kind": "fact", "title": "x".repeat(201)}), "200"),
        ("remember", json!({"kind": "fact", "title": "x", "scope": "world"}), "scope"),
        ("forget", json!({"id": "nonono"}), "no memory has the id"),
        ("forget", json!({"id": "../../x"}), "no memory has the id"),
    ] {
        let (text, _, failed) = server.call(tool, arguments.clone());
        assert!(failed && text.contains(expected), "{tool} {arguments}: {text}");
    }
    assert!(!server.call("status", json!({})).2);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_message_that_is_too_long_is_refused_and_the_next_one_is_answered() {
    let world = World::trusted();
    let mut server = world.connect(&[]);
    let request = |id: i64, bytes: usize| {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "ping", "x": ""}).to_string();
        let filler = "x".repeat(bytes - line.len());
        line.replace(r#""x":"""#, &format!(r#""x":"{filler}""#))
    };
    const MESSAGE_BYTES_MAX: usize = 16 << 20;
    server.send(&request(70, MESSAGE_BYTES_MAX + 100_000));
    let refused = server.receive();
    assert!(refused["id"].is_null() && refused["error"]["code"] == -32600, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("16 MiB"), "{refused}");
    // Including its line end, this message has exactly the maximum length.
    server.send(&request(71, MESSAGE_BYTES_MAX - 1));
    assert_eq!(server.receive()["id"], 71);
    server.send(&request(72, 100));
    assert_eq!(server.receive()["id"], 72);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn the_end_of_stdin_ends_the_server_whenever_it_comes() {
    let world = World::trusted();
    assert_eq!(world.start(&[]).end(), Some(0), "before anything was said");
    assert_eq!(world.connect(&[]).end(), Some(0), "after the handshake");

    // Requests that are being answered when stdin is closed are still answered.
    let mut server = world.connect(&[]);
    for id in 100..105 {
        let call = json!({"name": "recall", "arguments": {"query": "x"}});
        server.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call})
                .to_string(),
        );
    }
    drop(server.stdin.take());
    let mut ids: Vec<i64> = (0..5).map(|_| server.receive()["id"].as_i64().unwrap()).collect();
    ids.sort();
    assert_eq!(ids, [100, 101, 102, 103, 104]);
    assert_eq!(server.end(), Some(0));
}

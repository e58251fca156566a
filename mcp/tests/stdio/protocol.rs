//! Edge cases of the protocol: early and invalid messages, prompts, resources, and locks that other programs have
//! taken.

use super::*;

#[test]
fn what_comes_before_the_handshake_does_not_end_the_server() {
    let world = World::trusted();
    let mut server = world.start(&[]);
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}});
    server.send(&cancelled.to_string());
    server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    server.send(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    assert!(server.request("ping", json!({}))["result"].is_object());
    server.initialize();
    assert!(!server.text("status", &json!({})).1);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_refused_first_request_leaves_the_handshake_open() {
    let world = World::trusted();
    for method in ["foo/bar", "tools/list", "tools/call", "logging/setLevel", "initialize"] {
        let mut server = world.start(&[]);
        assert!(server.request(method, json!({}))["error"].is_object(), "{method}");
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        server.send(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
        server.initialize();
        assert!(!server.text("status", &json!({})).1, "{method}");
        assert_eq!(server.end(), Some(0));
    }
}

#[test]
fn invalid_parameters_are_distinguished_from_unknown_methods() {
    let world = World::trusted();
    let mut server = world.connect(&[]);
    for (method, params, code) in [
        ("tools/call", json!({"arguments": {}}), -32602),
        ("tools/call", json!({"name": 7}), -32602),
        ("tools/call", json!({"name": "recall", "arguments": "query"}), -32602),
        ("tools/call", json!({"name": "poem"}), -32602),
        ("prompts/get", json!({"name": "poem"}), -32602),
        ("prompts/get", json!({}), -32602),
        ("resources/read", json!({}), -32602),
        ("resources/read", json!({"uri": "throughline://poem"}), -32002),
        ("no/such/method", json!({}), -32601),
    ] {
        let answer = server.request(method, params.clone());
        assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn help_is_printed_and_nothing_waits_for_input() {
    let world = World::new();
    for (argument, code) in [("--help", 0), ("-h", 0), ("--poem", 2)] {
        let mut command = world.command(&[]);
        let output = command.arg(argument).stdin(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{argument}");
        let (out, error) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
        let told = if code == 0 { out.unwrap() } else { error.unwrap() };
        assert!(told.contains(if code == 0 { "search_sessions" } else { "--help" }), "{told}");
    }
}

#[test]
fn an_unknown_value_is_named() {
    let world = World::trusted();
    let mut server = world.connect(&[("THROUGHLINE", "nonsense")]);
    let (said, failed) = server.text("recall", &json!({"query": "x"}));
    assert!(
        failed && said.contains("THROUGHLINE=nonsense") && said.contains("off, read and full"),
        "{said}"
    );
    assert!(!said.contains("turned off"), "{said}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_variable_that_the_client_drops_is_named() {
    let world = World::trusted();
    let moved = world.home.path().join("elsewhere");
    let mut server = world.connect(&[("XDG_DATA_HOME", moved.to_str().unwrap())]);
    let (said, failed) = server.text("recall", &json!({"query": "x"}));
    assert!(
        failed && said.contains("elsewhere/throughline") && said.contains("XDG_DATA_HOME"),
        "{said}"
    );
    assert_eq!(server.end(), Some(0));
}

#[test]
fn prompts_are_listed_and_contain_memories() {
    let world = World::trusted();
    let about = fact(1, "The importer needs a byte order mark stripped", "Before the first line.");
    save(
        &world,
        Memory {
            kind: Kind::Gotcha,
            paths: vec![memory_store::memory::PathRef { path: "src/money.rs".into(), seen: None }],
            ..about
        },
    );
    let (title, text) = ("The probe pool is small", "It has five places, one for each worker.");
    save(&world, fact(2, title, text));
    save(&world, fact(3, "The probe pool is small now", text));
    world.publish(Vec::new());
    let mut server = world.connect(&[]);
    let listed = server.request("prompts/list", json!({}));
    let names: Vec<&str> = listed["result"]["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prompt| prompt["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["brief", "decided", "handoff", "tidy"]);
    let mut prompt = |name: &str, arguments: Value| {
        let answer = server.request("prompts/get", json!({"name": name, "arguments": arguments}));
        let message = &answer["result"]["messages"][0];
        assert_eq!(message["role"], "user", "{answer}");
        message["content"]["text"].as_str().unwrap().to_owned()
    };
    let brief = prompt("brief", json!({"files": "src/money.rs"}));
    assert!(
        brief.contains("byte order mark") && brief.contains("Keep to the conventions"),
        "{brief}"
    );
    for files in ["src/import.rs,src/money.rs", "src/money.rs, Makefile"] {
        assert!(prompt("brief", json!({"files": files})).contains("byte order mark"), "{files}");
    }
    let decided = prompt("decided", json!({"subject": "queues"}));
    assert!(decided.contains("What was decided about \"queues\""), "{decided}");
    let handoff = prompt("handoff", json!({}));
    assert!(handoff.contains("Nothing is known of where the work was left"), "{handoff}");
    let tidy = prompt("tidy", json!({}));
    let ids = [MemoryId([2; 16]).short(), MemoryId([3; 16]).short()];
    assert!(tidy.contains("They say the same") && ids.iter().all(|id| tidy.contains(id)), "{tidy}");
    assert!(tidy.contains("Wait for my yes or no"), "{tidy}");
    for number in 10..40 {
        save(&world, fact(number, &format!("The lathe has gear {number}"), "It turns."));
    }
    world.publish(Vec::new());
    let mut prompt = |name: &str, arguments: Value| {
        let answer = server.request("prompts/get", json!({"name": name, "arguments": arguments}));
        answer["result"]["messages"][0]["content"]["text"].as_str().unwrap().to_owned()
    };
    let brief = prompt("brief", json!({"files": "lathe gear"}));
    assert!(!brief.contains("cursor") && brief.contains("There is more"), "{brief}");
    let missing = server.request("prompts/get", json!({"name": "brief"}));
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn resources_are_read_by_their_names() {
    let world = World::trusted();
    save(&world, fact(1, "The probe pool is small", "It has five places."));
    world.publish(Vec::new());
    let mut server = world.connect(&[]);
    let listed = server.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"].as_array().map(Vec::len), Some(2), "{listed}");
    let templates = server.request("resources/templates/list", json!({}));
    let uri = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
    assert_eq!(uri, "throughline://memory/{id}");
    let id = MemoryId([1; 16]).short();
    for (uri, told) in [
        (format!("throughline://memory/{id}"), "five places"),
        ("throughline://handoff".to_owned(), "Nothing is known"),
        ("throughline://brief".to_owned(), "Nothing is known about this."),
    ] {
        let answer = server.request("resources/read", json!({"uri": uri}));
        let content = &answer["result"]["contents"][0];
        assert!(content["text"].as_str().unwrap().contains(told), "{answer}");
        assert_eq!(content["uri"], uri.as_str());
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn no_lock_keeps_the_server_from_starting_and_recalling() {
    let world = World::trusted();
    save(&world, fact(1, "The probe pool is small", "It has five places."));
    world.publish(Vec::new());
    let tree = world.tree();
    let project = world.dirs.project(tree.project);
    let locks = [
        project.folder.join("store.lock"),
        project.sync_lock.clone(),
        world.dirs.tree(&world.root).index.join("writer.lock"),
    ];
    let held: Vec<fs::File> = locks
        .iter()
        .map(|path| {
            let file = fs::File::create(path).unwrap();
            file.lock().unwrap();
            file
        })
        .collect();
    let mut server = world.connect(&[]);
    let (text, failed) = server.text("recall", &json!({"query": "probe pool"}));
    assert!(!failed && text.contains("five places"), "{text}");
    assert!(!server.text("status", &json!({})).1);
    drop(held);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_ping_is_answered_while_calls_wait_for_a_lock() {
    let world = World::trusted();
    world.publish(Vec::new());
    let tree = world.tree();
    let project = world.dirs.project(tree.project);
    save(&world, fact(1, "The probe pool is small", "It has five places."));
    let lock = fs::File::create(project.folder.join("store.lock")).unwrap();
    lock.lock().unwrap();
    let mut server = world.connect(&[]);
    for id in 200..220 {
        let call = json!({"name": "remember", "arguments": {"title": format!("Fact {id}")}});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call});
        server.send(&request.to_string());
    }
    // The ping is answered before all other requests.
    server.send(r#"{"jsonrpc":"2.0","id":1000,"method":"ping"}"#);
    assert_eq!(server.receive()["id"], 1000);
    drop(lock);
    let mut ids: Vec<i64> = (0..20).map(|_| server.receive()["id"].as_i64().unwrap()).collect();
    ids.sort();
    assert_eq!(ids, (200..220).collect::<Vec<_>>());
    assert_eq!(world.store().files().len(), 21);
    assert_eq!(server.end(), Some(0));
}

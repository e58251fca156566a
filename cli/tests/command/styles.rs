//! Styles of settings files.

/// Settings files as people and programs write them.
pub const STYLES: [(&str, &str); 16] = [
    ("empty object", "{}"),
    ("empty object, newline", "{}\n"),
    ("spaced empty object", "{\n}\n"),
    ("two spaces", "{\n  \"model\": \"opus\",\n  \"cleanupPeriodDays\": 99999\n}\n"),
    ("four spaces, no newline at the end", "{\n    \"model\": \"opus\"\n}"),
    ("tabs", "{\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t}\n}\n"),
    ("CRLF", "{\r\n  \"model\": \"opus\",\r\n  \"env\": {}\r\n}\r\n"),
    ("one line", "{\"model\":\"opus\",\"env\":{\"A\":\"1\"}}"),
    ("one spaced line", "{ \"model\": \"opus\" }\n"),
    (
        "comments",
        "// mine\n{\n  // the model\n  \"model\": \"opus\", /* why */\n  \"env\": {} // none\n  // end\n}\n// after\n",
    ),
    ("trailing comma", "{\n  \"model\": \"opus\",\n}\n"),
    ("byte order mark", "\u{feff}{\n  \"model\": \"opus\"\n}\n"),
    ("empty hooks", "{\n  \"hooks\": {}\n}\n"),
    ("empty event", "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n"),
    (
        "hooks of others",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\n        \"hooks\": [\n          { \"type\": \"command\", \"command\": \"notify-send done\" }\n        ]\n      }\n    ],\n    \"PreToolUse\": [{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"guard\"}]}]\n  },\n  \"model\": \"opus\"\n}\n",
    ),
    (
        "hooks of others on one line",
        "{\"hooks\":{\"PostToolUse\":[{\"matcher\":\"Edit\",\"hooks\":[{\"type\":\"command\",\"command\":\"fmt\"}]}]}}\n",
    ),
];

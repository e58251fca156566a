//! Harmless text that resembles secrets is frequent in coding sessions and must stay unchanged. The texts are generated
//! from a fixed seed, so that a failure can be reproduced.

use memory_store::redact::{RedactOptions, Redactor};
use memory_store::settings::RedactSettings;

/// Number of texts of each of the ten kinds.
const EACH: usize = 50;

/// The random number generator SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn of(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..length).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }
}

const HEX: &str = "0123456789abcdef";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const WORDS: [&str; 16] = [
    "auth", "token", "session", "cart", "price", "parser", "index", "cache", "secret", "worker",
    "password", "render", "client", "config", "access", "key",
];

fn git(random: &mut Random) -> String {
    let hash = random.of(HEX, 40);
    match random.below(5) {
        0 => format!("commit {hash}\nMerge: {} {}", &hash[..7], &hash[9..16]),
        1 => format!("index {}..{} 100644", &hash[..7], &hash[7..14]),
        2 => format!("HEAD is now at {} fix the {} test", &hash[..9], random.pick(&WORDS)),
        3 => format!("git cherry-pick {hash}"),
        _ => format!("uses: actions/checkout@{hash} # v4.1.{}", random.below(9)),
    }
}

fn uuid(random: &mut Random) -> String {
    let hex = random.of(HEX, 32);
    let uuid =
        format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..]);
    match random.below(4) {
        0 => format!("{{\"uuid\":\"{uuid}\",\"type\":\"user\"}}"),
        1 => format!("session {uuid} ended"),
        2 => format!("const ID: Uuid = uuid!(\"{uuid}\");"),
        _ => format!("~/.claude/projects/x/{uuid}.jsonl"),
    }
}

fn lock_file(random: &mut Random) -> String {
    let sum = random.of(HEX, 64);
    match random.below(4) {
        0 => format!("name = \"{}\"\nchecksum = \"{sum}\"", random.pick(&WORDS)),
        1 => format!("    --hash=sha256:{sum} \\"),
        2 => format!(
            "golang.org/x/{} v0.{}.0 h1:{}=",
            random.pick(&WORDS),
            random.below(30),
            random.of(BASE64, 43)
        ),
        _ => format!(
            "resolved \"https://registry.example.org/{}/-/{}-1.2.3.tgz#{}\"",
            random.pick(&WORDS),
            random.pick(&WORDS),
            &sum[..40]
        ),
    }
}

fn integrity(random: &mut Random) -> String {
    let body = random.of(BASE64, 86);
    match random.below(3) {
        0 => format!("\"integrity\": \"sha512-{body}==\","),
        1 => format!("<script src=\"a.js\" integrity=\"sha384-{}\"></script>", &body[..64]),
        _ => format!("  integrity sha512-{body}=="),
    }
}

fn image(random: &mut Random) -> String {
    let length = 400 + random.below(2_000);
    let body = random.of(BASE64, length);
    match random.below(3) {
        0 => format!("<img src=\"data:image/png;base64,{body}\">"),
        1 => format!("background: url(data:font/woff2;base64,{body}) format('woff2');"),
        _ => format!("{{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"{body}\"}}"),
    }
}

fn path(random: &mut Random) -> String {
    let (a, b, c) = (random.pick(&WORDS), random.pick(&WORDS), random.pick(&WORDS));
    match random.below(5) {
        0 => format!("src/{a}/{b}_{c}.rs:{}:{}", random.below(900), random.below(80)),
        1 => format!("target/debug/deps/{a}_{b}-{}.rlib", random.of(HEX, 16)),
        2 => format!("/nix/store/{}-{a}-1.{}.0/bin/{b}", random.of(LOWER, 32), random.below(30)),
        3 => format!("import {{ {a}{b} }} from '../{c}/{a}-{b}.module';"),
        _ => format!("dist/assets/{a}-{}.js", random.of(HEX, 8)),
    }
}

fn version(random: &mut Random) -> String {
    let (x, y, z) = (random.below(40), random.below(40), random.below(400));
    let word = random.pick(&WORDS);
    match random.below(5) {
        0 => format!("{word}@{x}.{y}.{z}-beta.{x}+build.{}", random.of(HEX, 7)),
        1 => format!("node v{x}.{y}.{z} (linux-x64)"),
        2 => format!("Chrome/{x}.0.{z}.{y} Safari/537.36"),
        3 => format!("{word} = \"^{x}.{y}.{z}\""),
        _ => format!("image: ghcr.io/shop/{word}@sha256:{}", random.of(HEX, 64)),
    }
}

fn colour(random: &mut Random) -> String {
    let (a, b) = (random.of(HEX, 6), random.of(HEX, 8));
    match random.below(3) {
        0 => format!("color: #{a}; background: #{b};"),
        1 => format!("--{}-shadow: 0 1px 2px #{b};", random.pick(&WORDS)),
        _ => format!("theme.colors.{} = '#{a}'", random.pick(&WORDS)),
    }
}

fn code(random: &mut Random) -> String {
    let (a, b) = (random.pick(&WORDS), random.pick(&WORDS));
    let number = random.below(1 << 30);
    match random.below(8) {
        0 => format!("let {a}_token = lexer.next_token(&{b})?;"),
        1 => format!("const {a}Key = `${{{b}}}:${{id}}`;"),
        2 => format!("password: Option<{b}>, // the hash of the {a}"),
        3 => format!("assert_eq!({a}.max_tokens, {number});"),
        4 => format!("{a}_secret = os.environ[\"{}_SECRET\"]", b.to_uppercase()),
        5 => format!("export {}_TOKEN=$(gh auth token)", a.to_uppercase()),
        6 => format!("if (!{a}.password || {b}.token === undefined) return null;"),
        _ => format!("// TODO: rotate the {a} key {number} days after the {b} token"),
    }
}

fn number(random: &mut Random) -> String {
    let stamp = 1_600_000_000_000 + random.next() % 300_000_000_000;
    match random.below(5) {
        0 => format!("\"timestamp\": {stamp}, \"duration_ms\": {}", random.below(90_000)),
        1 => format!(
            "12:{}:{} INFO pid {} started on 127.0.0.1:8080",
            random.below(60),
            random.below(60),
            random.below(60_000)
        ),
        2 => format!(
            "test result: ok. {} passed; 0 failed; finished in 0.{}s",
            random.below(900),
            random.below(99)
        ),
        3 => format!("address 0x{} len {}", random.of(HEX, 12), random.below(70_000)),
        _ => format!("0.{stamp} bytes/s over {} samples", random.below(5_000)),
    }
}

#[test]
fn five_hundred_look_alikes_stay_as_they_are() {
    let sorts: [fn(&mut Random) -> String; 10] =
        [git, uuid, lock_file, integrity, image, path, version, colour, code, number];
    let mut random = Random(20_261_122);
    let private = Redactor::new(&RedactOptions::default());
    let committed = RedactOptions::of(&RedactSettings::default(), true).unwrap();
    let committed = Redactor::new(&committed);
    let mut changed = Vec::new();
    for sort in sorts {
        for _ in 0..EACH {
            let text = sort(&mut random);
            for redactor in [&private, &committed] {
                let redacted = redactor.redact(&text);
                if redacted != text.as_str() {
                    changed.push(format!("{text}\n  became {redacted}"));
                }
            }
        }
    }
    assert!(changed.is_empty(), "{} changed:\n{}", changed.len(), changed.join("\n"));
}

//! Values that resemble secrets, generated from a seed. They belong to no person, and no scanner finds them in a file.

pub mod form;

const ALNUM: &str = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const HEX: &str = "0123456789abcdef";
const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGITS: &str = "0123456789";
const SIGNS: &str = "!&%#^*?~+@";

/// Words for passwords and user names.
const WORDS: [&str; 24] = [
    "lantern", "moss", "quarry", "fern", "walnut", "pebble", "copper", "heron", "saddle", "willow",
    "timber", "falcon", "meadow", "anchor", "velvet", "bramble", "cinder", "marble", "otter",
    "thistle", "canyon", "juniper", "harvest", "lagoon",
];

/// Words of the BIP 39 list.
const SEED_WORDS: [&str; 24] = [
    "abandon", "velvet", "ocean", "tribe", "gadget", "lemon", "puzzle", "rifle", "salad",
    "umbrella", "wagon", "yellow", "zebra", "kitten", "hazard", "galaxy", "fabric", "embark",
    "dolphin", "cactus", "basket", "animal", "noodle", "magnet",
];

/// Generator of values.
pub struct Values(u64);

impl Values {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// Returns a value of this kind. The kind may contain a length (`hex:32`) and an encoding (`mixed|percent`).
    pub fn of(&mut self, kind: &str) -> String {
        let (kind, code) = kind.split_once('|').map_or((kind, ""), |(kind, code)| (kind, code));
        let value = self.plain(kind);
        match code {
            "" => value,
            // A colour code begins inside the value.
            "ansi" => {
                let (left, right) = value.split_at(10);
                format!("{left}\u{1b}[31m{right}\u{1b}[0m")
            }
            "wide" => value.chars().map(wide).collect(),
            "hex" => value.bytes().map(|byte| format!("{byte:02x}")).collect(),
            "base64" => base64(value.as_bytes()),
            "folded" => {
                let whole = base64(value.as_bytes());
                let lines: Vec<&str> = whole
                    .as_bytes()
                    .chunks(76)
                    .map(|line| str::from_utf8(line).unwrap_or_default())
                    .collect();
                lines.join("\n")
            }
            _ => panic!("no such code: {code}"),
        }
    }

    fn plain(&mut self, kind: &str) -> String {
        let (kind, length) = kind.split_once(':').unwrap_or((kind, ""));
        let length = |default: usize| length.parse().unwrap_or(default);
        match kind {
            // Passwords as people choose them.
            "word" => format!("{}{}{}", self.word(), self.word(), self.draw("23456789", 2)),
            "Word" => {
                let word = self.plain("word");
                format!("{}{}{}", word[..1].to_ascii_uppercase(), &word[1..], self.draw(DIGITS, 2))
            }
            "plain" => format!("{}{}", self.word(), self.word()),
            // Passwords and tokens as programs generate them.
            "mixed" => self.mixed(12, ""),
            "sign" => self.mixed(14, SIGNS),
            "token" => self.mixed(length(40), ""),
            "alnum" => self.mixed(length(24), ""),
            "hex" => self.draw(HEX, length(32)),
            "base32" => self.draw(BASE32, length(32)),
            "aws" => self.mixed(40, ""),
            "base64" => format!("{}=", self.mixed(length(44) - 1, "")),
            "url" => self.draw(BASE64_URL, length(43)),
            "pin" => self.draw("123456789", 6),
            "code" => format!("{}-{}", self.draw(HEX, 5), self.draw(HEX, 5)),
            "uuid" => {
                let hex = self.draw(HEX, 32);
                let (a, b, c, d, e) =
                    (&hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..]);
                format!("{a}-{b}-4{c}-a{d}-{e}")
            }
            "seed" => self.seed_word().to_owned(),
            "phrase" => {
                let words: Vec<&str> = (0..12).map(|_| self.seed_word()).collect();
                words.join(" ")
            }
            "line" => self.draw(BASE64, 64),
            "lines" => {
                let lines: Vec<String> = (0..length(3)).map(|_| self.draw(BASE64, 64)).collect();
                lines.join("\n")
            }
            "pem" => {
                let kind = ["PRIVATE", "KEY"].join(" ");
                format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", self.plain("lines:6"))
            }
            "github" => format!("{}{}", ["gh", "p_"].concat(), self.mixed(36, "")),
            "telegram" => {
                format!("{}:{}{}", self.draw("123456789", 9), "AA", self.mixed(33, ""))
            }
            // `user:password`, and the SASL forms.
            "basic" => base64(format!("{}:{}", self.word(), self.mixed(12, "")).as_bytes()),
            "sasl-plain" => base64(format!("\0{}\0{}", self.word(), self.mixed(12, "")).as_bytes()),
            "sasl" => base64(self.mixed(12, "").as_bytes()),
            // Passwords in groups, as browsers and password managers generate them.
            "apple" => {
                let syllable = |values: &mut Self| {
                    values.draw("bcdfghjkmnpqrstvwxz", 1)
                        + &values.draw("aeiouy", 1)
                        + &values.draw("bcdfghjkmnpqrstvwxz", 1)
                };
                let mut groups: Vec<String> =
                    (0..3).map(|_| syllable(self) + &syllable(self)).collect();
                groups[0].replace_range(5..6, &self.draw(DIGITS, 1));
                groups[1][3..4].make_ascii_uppercase();
                groups.join("-")
            }
            "groups" => format!("{}-{}", self.mixed(6, ""), self.mixed(7, "")),
            "dotted" => {
                format!("{}.{}.{}", self.mixed(6, ""), self.draw(ALNUM, 3), self.mixed(6, ""))
            }
            "slash" => format!("{}/{}", self.mixed(10, ""), self.draw(ALNUM, 3)),
            "underscores" => format!("{}_{}", self.mixed(6, ""), self.mixed(6, "")),
            "brackets" => self.mixed(16, "()[]<>{}"),
            "clauses" => self.mixed(16, ",;:=|"),
            "accents" => {
                let mut value = self.mixed(12, "");
                value.insert(7, 'ö');
                value.insert(3, 'é');
                value
            }
            // A value that contains signs of templates.
            "template" => {
                format!("{}${{{}}}{}", self.mixed(8, ""), self.draw(DIGITS, 1), self.mixed(6, ""))
            }
            _ => panic!("no such kind: {kind}"),
        }
    }

    /// Returns letters of both cases, digits and, if given, signs.
    fn mixed(&mut self, length: usize, signs: &str) -> String {
        loop {
            let mut value = self.draw(ALNUM, length);
            if !signs.is_empty() {
                for at in [3, 7, 10] {
                    value.replace_range(at..=at, &self.draw(signs, 1));
                }
            }
            let digits = value.bytes().filter(u8::is_ascii_digit).count();
            let upper = value.bytes().filter(u8::is_ascii_uppercase).count();
            let lower = value.bytes().filter(u8::is_ascii_lowercase).count();
            if digits >= 2 && upper >= 2 && lower >= 2 {
                return value;
            }
        }
    }

    fn draw(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..length).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }

    fn seed_word(&mut self) -> &'static str {
        SEED_WORDS[self.below(SEED_WORDS.len())]
    }

    /// Returns a number below `end` (SplitMix64).
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ word >> 31) % end as u64) as usize
    }
}

/// Returns the full-width form of a sign.
fn wide(sign: char) -> char {
    const DISTANCE: u32 = 0xFEE0;
    char::from_u32(u32::from(sign) + DISTANCE).unwrap_or(sign)
}

fn base64(bytes: &[u8]) -> String {
    let mut result = String::new();
    for piece in bytes.chunks(3) {
        let bits = piece.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - piece.len()));
        for at in 0..4 {
            let sign = BASE64.as_bytes()[(bits >> (18 - 6 * at) & 63) as usize];
            result.push(if at <= piece.len() { char::from(sign) } else { '=' });
        }
    }
    result
}

//! Prices of Claude Code's small model, as the client computes them. They changed with a version of the client.

use std::fmt;

/// A version of Claude Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientVersion([u32; 3]);

impl ClientVersion {
    /// Parses the output of `claude --version`, such as `2.1.330 (Claude Code)`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split_whitespace().next()?.split('.').map(str::parse);
        let version = [parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?];
        parts.next().is_none().then_some(Self(version))
    }
}

impl fmt::Display for ClientVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    asked: f64,
    answered: f64,
}

/// The first client version that was observed to use the lower prices.
const LOWER_SINCE: ClientVersion = ClientVersion([2, 1, 330]);

impl Prices {
    /// Returns the prices of a client. If the version is unknown or was not observed, the higher prices are returned,
    /// so that the actual cost does not exceed the announced cost.
    pub fn of(client: Option<ClientVersion>) -> Self {
        match client {
            Some(version) if version >= LOWER_SINCE => Self { asked: 0.10, answered: 0.50 },
            Some(_) | None => Self { asked: 1.0, answered: 5.0 },
        }
    }

    /// Returns the cost in US dollars of a number of tokens in questions and answers.
    pub fn usd(self, asked: u64, answered: u64) -> f64 {
        (asked as f64 * self.asked + answered as f64 * self.answered) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_counts_by_its_own_prices() {
        for (told, usd) in [
            ("2.1.197 (Claude Code)", 0.015),
            ("2.1.329 (Claude Code)", 0.015),
            ("2.1.330 (Claude Code)\n", 0.0015),
            ("2.1.332 (Claude Code)", 0.0015),
            ("2.2.0", 0.0015),
            ("3.0.1", 0.0015),
            ("claude 2.1.332", 0.015),
            ("2.1", 0.015),
            ("", 0.015),
        ] {
            let counted = Prices::of(ClientVersion::parse(told)).usd(10_000, 1_000);
            assert!((counted - usd).abs() < 1e-9, "{told}: {counted}");
        }
        assert_eq!(ClientVersion::parse("2.1.332 (x)").unwrap().to_string(), "2.1.332");
    }
}

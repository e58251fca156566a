//! Durations as people type them: `30m`, `2h`, `1d`.

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Maximum duration.
const DURATION_DAYS_MAX: i64 = 3_650;

/// Parses a duration into milliseconds.
pub fn parse(text: &str) -> Result<i64, String> {
    let help = || format!("`{text}` is no duration; write for example 30m, 2h or 1d");
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(help)?;
    let (number, unit) = text.split_at(split);
    let number: i64 = number.parse().map_err(|_| help())?;
    let unit_ms = match unit.trim() {
        "s" => SECOND_MS,
        "m" | "min" => MINUTE_MS,
        "h" => HOUR_MS,
        "d" => DAY_MS,
        "w" => 7 * DAY_MS,
        _ => return Err(help()),
    };
    let span_ms = number.checked_mul(unit_ms).ok_or_else(help)?;
    if span_ms == 0 || span_ms > DURATION_DAYS_MAX * DAY_MS {
        return Err(format!("`{text}` is not between a second and {DURATION_DAYS_MAX} days"));
    }
    Ok(span_ms)
}

#[cfg(test)]
mod tests {
    use super::{HOUR_MS, parse};

    #[test]
    fn durations_are_read() {
        assert_eq!(parse("2h"), Ok(2 * HOUR_MS));
        assert_eq!(parse("90 min"), Ok(HOUR_MS + HOUR_MS / 2));
        for bad in ["", "h", "2", "2 years", "0h", "99999d", "-1h", "9223372036854775807d"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}

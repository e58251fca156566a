//! Durations as people type them: `30m`, `2h`, `1d`.

use jiff::{Span, SpanRelativeTo};

const SECOND_MS: i64 = 1_000;
/// Maximum duration, about ten years; a longer one is treated as a mistake.
const DURATION_DAYS_MAX: i64 = 3_650;
const DURATION_MS_MAX: i64 = DURATION_DAYS_MAX * 24 * 3_600 * SECOND_MS;

/// Parses a duration into milliseconds.
pub fn parse(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let duration = |span: Span| span.to_duration(SpanRelativeTo::days_are_24_hours());
    let duration = text.parse().and_then(duration);
    let duration = duration
        .map_err(|_| format!("`{text}` is no duration; write for example 30m, 2h or 1d"))?;
    let span_ms = i64::try_from(duration.as_millis()).ok();
    span_ms
        .filter(|span_ms| (SECOND_MS..=DURATION_MS_MAX).contains(span_ms))
        .ok_or_else(|| format!("`{text}` is not between a second and {DURATION_DAYS_MAX} days"))
}

#[cfg(test)]
mod tests {
    use super::{SECOND_MS, parse};

    const HOUR_MS: i64 = 3_600 * SECOND_MS;

    #[test]
    fn durations_are_read() {
        assert_eq!(parse("2h"), Ok(2 * HOUR_MS));
        assert_eq!(parse("1w"), Ok(7 * 24 * HOUR_MS));
        assert_eq!(parse("90 min"), Ok(HOUR_MS + HOUR_MS / 2));
        for bad in ["", "h", "2", "2 years", "0h", "99999d", "-1h", "9223372036854775807d"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}

//! Parses times of records in all forms that programs write: RFC 3339, the same without a time zone, and seconds or
//! milliseconds since 1970.

use memory_store::Timestamp;
use serde_json::Value;

/// Minimum number that counts as milliseconds. As seconds, it would be in the year 5138.
const MS_FROM: f64 = 1e11;

/// Parses a time; `None` if it is invalid or before 1971, when there was no client.
pub fn parse(value: &Value) -> Option<Timestamp> {
    let time = match value {
        Value::Number(number) => of_number(number.as_f64()?),
        Value::String(text) => {
            let text = text.trim();
            let with_zone = with_zone(text);
            let time = Timestamp::parse(with_zone.as_deref().unwrap_or(text));
            time.or_else(|| of_number(text.parse().ok()?))
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    time.filter(|time| time.0 > 365 * 86_400_000)
}

fn of_number(number: f64) -> Option<Timestamp> {
    let ms = if number.abs() < MS_FROM { number * 1000.0 } else { number };
    (ms.is_finite() && ms.abs() < 1e15).then_some(Timestamp(ms.round() as i64))
}

/// Returns a date and a time without a time zone as UTC; `None` for other texts.
fn with_zone(text: &str) -> Option<String> {
    let (date, time) = text.split_once(['T', ' '])?;
    (!time.contains(['Z', 'z', '+', '-'])).then(|| format!("{date}T{}Z", time.trim()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_spelling_is_the_same_time() {
        let at = Timestamp::parse("2026-11-20T10:00:00Z").unwrap();
        for spelling in [
            json!("2026-11-20T10:00:00.000Z"),
            json!("2026-11-20T11:00:00+01:00"),
            json!("2026-11-20T10:00:00"),
            json!("2026-11-20 10:00:00.000"),
            json!(at.0),
            json!(at.0 / 1000),
            json!(at.0 as f64 / 1000.0),
            json!(at.0.to_string()),
            json!((at.0 / 1000).to_string()),
        ] {
            assert_eq!(parse(&spelling), Some(at), "{spelling}");
        }
        for no_time in
            [json!(null), json!(""), json!("noon"), json!(0), json!(-5), json!({}), json!(1e300)]
        {
            assert_eq!(parse(&no_time), None, "{no_time}");
        }
    }
}

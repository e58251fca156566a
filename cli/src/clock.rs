//! Times as people read them: in their own zone. JSON has them in UTC.

use std::sync::LazyLock;

use jiff::Zoned;
use jiff::tz::TimeZone;
use memory_store::Timestamp;

/// The user's zone: what `TZ` says, or else the system; UTC where neither does.
static ZONE: LazyLock<TimeZone> = LazyLock::new(TimeZone::system);

/// A day and minute, with the distance from UTC.
pub fn time(at: Timestamp) -> String {
    time_in(at, &ZONE)
}

/// A day.
pub fn date(at: Timestamp) -> String {
    date_in(at, &ZONE)
}

fn time_in(at: Timestamp, zone: &TimeZone) -> String {
    let told = |at: Zoned| at.strftime("%Y-%m-%d %H:%M %:z").to_string();
    zoned(at, zone).map_or_else(|| at.to_string(), told)
}

fn date_in(at: Timestamp, zone: &TimeZone) -> String {
    let told = |at: Zoned| at.strftime("%Y-%m-%d").to_string();
    zoned(at, zone).map_or_else(|| at.date(), told)
}

/// `None` for what lies beyond the times that the library knows.
fn zoned(at: Timestamp, zone: &TimeZone) -> Option<Zoned> {
    Some(jiff::Timestamp::from_millisecond(at.0).ok()?.to_zoned(zone.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_zone() {
        let at = Timestamp::parse("2026-03-28T23:30:00Z").unwrap();
        let zone = |hours| TimeZone::fixed(jiff::tz::offset(hours));
        assert_eq!(time_in(at, &TimeZone::UTC), "2026-03-28 23:30 +00:00");
        assert_eq!(time_in(at, &zone(2)), "2026-03-29 01:30 +02:00");
        assert_eq!(date_in(at, &zone(2)), "2026-03-29");
        assert_eq!(date_in(at, &zone(-7)), "2026-03-28");
        // What no calendar has is told as it is.
        assert_eq!(time_in(Timestamp(i64::MAX), &zone(2)), Timestamp(i64::MAX).to_string());
    }
}

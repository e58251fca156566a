//! Formats times in the user's time zone. JSON output contains times in UTC.

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use jiff::{ToSpan as _, Zoned};
use memory_store::Timestamp;
use memory_store::time::{DAY_MS, civil, day_of};

const MINUTE_MS: i64 = 60_000;

/// The user's time zone: the value of `TZ`, or else the zone of the system, or else UTC.
static ZONE: LazyLock<TimeZone> = LazyLock::new(TimeZone::system);

/// Formats a time to the minute, with its date and the offset from UTC.
pub fn time(at: Timestamp) -> String {
    time_in(at, &ZONE)
}

/// Formats a time of day, to the second.
pub fn second(at: Timestamp) -> String {
    zoned(at, &ZONE).map_or_else(|| at.to_string(), |at| at.strftime("%H:%M:%S").to_string())
}

/// Formats the date of a time.
pub fn date(at: Timestamp) -> String {
    date_in(at, &ZONE)
}

/// Returns the day that contains a time, as the number of days since 1970-01-01.
pub fn day(at: Timestamp) -> i64 {
    day_in(at, &ZONE)
}

/// Returns the first moment of a day, which is given as the number of days since 1970-01-01.
pub fn midnight(day: i64) -> Timestamp {
    midnight_in(day, &ZONE)
}

/// Returns the date of the Monday before a time.
pub fn week(at: Timestamp) -> String {
    weeks_before(at, 1, &ZONE).pop().unwrap_or_else(|| date(at))
}

/// Returns the dates of the last `count` Mondays before a time, oldest first. Empty for times outside the range of the
/// library.
pub fn last_weeks(now: Timestamp, count: i64) -> Vec<String> {
    weeks_before(now, count, &ZONE)
}

fn weeks_before(now: Timestamp, count: i64, zone: &TimeZone) -> Vec<String> {
    let Some(now) = zoned(now, zone) else { return Vec::new() };
    let today = now.date();
    let into = i64::from(today.weekday().to_monday_zero_offset());
    let monday = |back: i64| today.checked_sub((into + 7 * back).days()).ok();
    (0..count).rev().filter_map(|back| Some(monday(back)?.to_string())).collect()
}

/// Formats a time relative to now. Within the last hour, the result is the number of minutes; for today and yesterday,
/// the time of day; within a week, the number of days; otherwise the date.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    ago_in(at, now, &ZONE)
}

/// Formats the time since a moment: as minutes or days if it is short, otherwise as a date.
pub fn since(at: Timestamp, now: Timestamp) -> String {
    since_in(at, now, &ZONE)
}

fn since_in(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let told = ago_in(at, now, zone);
    match told.strip_suffix(" ago") {
        Some("1 minute") => "in the last minute".to_owned(),
        Some(span) => format!("in the last {span}"),
        None if (0..MINUTE_MS).contains(&(now.0 - at.0)) => "in the last minute".to_owned(),
        None => format!("since {told}"),
    }
}

fn ago_in(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let day = |at: Timestamp| zoned(at, zone).map(|at| at.date());
    let (Some(then), Some(today), Some(told)) = (day(at), day(now), zoned(at, zone)) else {
        return at.to_string();
    };
    let minutes = (now.0 - at.0) / MINUTE_MS;
    let days = today.since(then).map_or(i64::MAX, |span| i64::from(span.get_days()));
    match (minutes, days) {
        // The time is in the future if the clock was set back, or if it is from another machine.
        (..0, _) => date_in(at, zone),
        (0, _) => "just now".to_owned(),
        (1, _) => "1 minute ago".to_owned(),
        (2..60, _) => format!("{minutes} minutes ago"),
        (_, 0) => format!("today {}", told.strftime("%H:%M")),
        (_, 1) => format!("yesterday {}", told.strftime("%H:%M")),
        (_, 2..7) => format!("{days} days ago"),
        _ => date_in(at, zone),
    }
}

fn time_in(at: Timestamp, zone: &TimeZone) -> String {
    let told = |at: Zoned| at.strftime("%Y-%m-%d %H:%M %:z").to_string();
    zoned(at, zone).map_or_else(|| at.to_string(), told)
}

fn date_in(at: Timestamp, zone: &TimeZone) -> String {
    let told = |at: Zoned| at.strftime("%Y-%m-%d").to_string();
    zoned(at, zone).map_or_else(|| at.date(), told)
}

fn day_in(at: Timestamp, zone: &TimeZone) -> i64 {
    zoned(at, zone).map_or_else(
        || at.0.div_euclid(DAY_MS),
        |at| day_of(at.year().into(), at.month().into(), at.day().into()),
    )
}

/// For days outside the range of the library, returns midnight in UTC.
fn midnight_in(day: i64, zone: &TimeZone) -> Timestamp {
    let (year, month, day_of_month) = civil(day);
    let begin = || {
        let (year, month) = (year.try_into().ok()?, month.try_into().ok()?);
        let date = jiff::civil::Date::new(year, month, day_of_month.try_into().ok()?).ok()?;
        Some(date.to_zoned(zone.clone()).ok()?.timestamp().as_millisecond())
    };
    Timestamp(begin().unwrap_or_else(|| day.saturating_mul(DAY_MS)))
}

/// Converts a time to a zone; `None` for times outside the range of the library.
fn zoned(at: Timestamp, zone: &TimeZone) -> Option<Zoned> {
    Some(jiff::Timestamp::from_millisecond(at.0).ok()?.to_zoned(zone.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_times_are_relative_and_in_the_local_zone() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let now = at("2026-10-02T09:30:00Z");
        for (then, expected) in [
            ("2026-10-02T09:29:30Z", "just now"),
            ("2026-10-02T09:28:40Z", "1 minute ago"),
            ("2026-10-02T08:31:00Z", "59 minutes ago"),
            ("2026-10-02T08:30:00Z", "today 10:30"),
            ("2026-10-01T22:00:00Z", "today 00:00"),
            ("2026-10-01T21:59:00Z", "yesterday 23:59"),
            ("2026-09-30T12:00:00Z", "2 days ago"),
            ("2026-09-26T12:00:00Z", "6 days ago"),
            ("2026-09-25T12:00:00Z", "2026-09-25"),
            ("2026-10-03T09:30:00Z", "2026-10-03"),
        ] {
            assert_eq!(ago_in(at(then), now, &zone), expected, "{then}");
        }
        for (then, expected) in [
            ("2026-10-02T09:30:00Z", "in the last minute"),
            ("2026-10-02T09:28:40Z", "in the last minute"),
            ("2026-10-02T08:31:00Z", "in the last 59 minutes"),
            ("2026-10-01T21:59:00Z", "since yesterday 23:59"),
            ("2026-09-30T12:00:00Z", "in the last 2 days"),
            ("2026-09-25T12:00:00Z", "since 2026-09-25"),
        ] {
            assert_eq!(since_in(at(then), now, &zone), expected, "{then}");
        }
        // A time outside the range of the calendar is printed unchanged.
        let beyond = Timestamp(i64::MAX);
        assert_eq!(ago_in(beyond, now, &zone), beyond.to_string());
    }

    #[test]
    fn days_begin_at_the_midnight_of_the_zone() {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let zone = |hours| TimeZone::fixed(jiff::tz::offset(hours));
        let evening = at("2026-10-14T22:00:00Z");
        let today = day_of(2026, 10, 14);
        assert_eq!(day_in(evening, &TimeZone::UTC), today);
        assert_eq!(day_in(evening, &zone(13)), today + 1);
        assert_eq!(midnight_in(today, &zone(13)), at("2026-10-13T11:00:00Z"));
        assert_eq!(midnight_in(today, &zone(-7)), at("2026-10-14T07:00:00Z"));
        // The offset changes on 2026-10-25, so the midnights of that day and of the next have different offsets.
        let rule = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        assert_eq!(midnight_in(day_of(2026, 10, 25), &rule), at("2026-10-24T22:00:00Z"));
        assert_eq!(midnight_in(day_of(2026, 10, 26), &rule), at("2026-10-25T23:00:00Z"));
        assert_eq!(midnight_in(i64::MAX / DAY_MS, &rule).0, i64::MAX / DAY_MS * DAY_MS);
    }

    #[test]
    fn weeks_begin_on_the_mondays_of_the_zone() {
        let at = Timestamp::parse("2026-10-04T23:30:00Z").unwrap();
        let zone = |hours| TimeZone::fixed(jiff::tz::offset(hours));
        let two = |zone| weeks_before(at, 2, &zone);
        assert_eq!(two(TimeZone::UTC), ["2026-09-21", "2026-09-28"]);
        assert_eq!(two(zone(2)), ["2026-09-28", "2026-10-05"]);
        assert_eq!(weeks_before(Timestamp(i64::MAX), 2, &zone(2)), [""; 0]);
    }

    #[test]
    fn times_are_those_of_the_zone() {
        let at = Timestamp::parse("2026-03-28T23:30:00Z").unwrap();
        let zone = |hours| TimeZone::fixed(jiff::tz::offset(hours));
        assert_eq!(time_in(at, &TimeZone::UTC), "2026-03-28 23:30 +00:00");
        assert_eq!(time_in(at, &zone(2)), "2026-03-29 01:30 +02:00");
        assert_eq!(date_in(at, &zone(2)), "2026-03-29");
        assert_eq!(date_in(at, &zone(-7)), "2026-03-28");
        // A time outside the range of the calendar is printed unchanged.
        assert_eq!(time_in(Timestamp(i64::MAX), &zone(2)), Timestamp(i64::MAX).to_string());
    }
}

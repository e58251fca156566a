//! Points in time, as milliseconds since 1970 (UTC).

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Number of milliseconds in a day.
pub const DAY_MS: i64 = 86_400_000;
/// Number of milliseconds in an hour.
pub const HOUR_MS: i64 = 3_600_000;
/// Number of milliseconds in a minute.
pub const MINUTE_MS: i64 = 60_000;

/// A point in time in milliseconds since 1970-01-01T00:00:00Z. It is written as RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Returns the time in RFC 3339 format, or midnight UTC of a plain date; `None` for other texts.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(time) = parse_plain(text) {
            return Some(time);
        }
        if let Ok(time) = text.parse::<jiff::Timestamp>() {
            return Some(Self(time.as_millisecond()));
        }
        let date = text.parse::<jiff::civil::Date>().ok()?;
        let time = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(Self(time.timestamp().as_millisecond()))
    }

    /// Returns the time in the value of `THROUGHLINE_NOW`: milliseconds since 1970, or a text that [`Self::parse`]
    /// accepts.
    pub fn from_setting(text: &str) -> Option<Self> {
        let text = text.trim();
        text.parse().map(Self).ok().or_else(|| Self::parse(text))
    }

    /// Returns the date in UTC, in the form `2026-10-02`.
    pub fn date(self) -> String {
        let mut date = String::with_capacity(10);
        match write_date(&mut date, self.0.div_euclid(DAY_MS)) {
            Ok(()) => date,
            Err(_) => "unknown date".to_owned(),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, ms) = (self.0.div_euclid(DAY_MS), self.0.rem_euclid(DAY_MS));
        if !DAYS.contains(&days) {
            return write!(f, "{}", self.0);
        }
        write_date(f, days)?;
        let (s, ms) = (ms / 1000, ms % 1000);
        write!(f, "T{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)?;
        match ms {
            0 => f.write_str("Z"),
            _ if ms % 100 == 0 => write!(f, ".{}Z", ms / 100),
            _ if ms % 10 == 0 => write!(f, ".{:02}Z", ms / 10),
            _ => write!(f, ".{ms:03}Z"),
        }
    }
}

// Hooks format and parse times in the following form at every event. This form has code of its own, because a
// short-lived process would have to load most pages of a calendar library. All other forms use the library.

/// Days of the years 0 to 9999, counted from 1970-01-01.
const DAYS: std::ops::Range<i64> = -719_528..2_932_897;

/// Writes the date of a day counted from 1970-01-01. Fails for years other than 0 to 9999.
fn write_date(out: &mut impl fmt::Write, days: i64) -> fmt::Result {
    if !DAYS.contains(&days) {
        return Err(fmt::Error);
    }
    let (year, month, day) = civil(days);
    write!(out, "{year:04}-{month:02}-{day:02}")
}

/// Returns year, month and day (both from 1) of a day counted from 1970-01-01.
pub fn civil(days: i64) -> (i64, i64, i64) {
    // Years are counted from March, so that the leap day is the last day of a year.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// Returns the number of a date's day, counted from 1970-01-01. A day after the end of its month counts into the next
/// month.
pub fn day_of(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Parses the forms `2026-10-02T09:30:00Z` and `2026-10-02T09:30:00.25Z`, with up to three digits after the point.
/// Returns `None` for all other forms, even valid ones.
fn parse_plain(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let number = |from: usize, len: usize| {
        bytes.get(from..from + len)?.iter().try_fold(0i64, |number, byte| {
            byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
        })
    };
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !separators.iter().all(|&(at, byte)| bytes.get(at) == Some(&byte)) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let ms = match bytes.get(19..)? {
        b"Z" => 0,
        [b'.', digits @ .., b'Z'] if (1..=3).contains(&digits.len()) => {
            number(20, digits.len())? * [100, 10, 1][digits.len() - 1]
        }
        _ => return None,
    };
    // Days that not every month has, and leap seconds, are parsed by the library.
    if !(1..=12).contains(&month)
        || !(1..=28).contains(&day)
        || hour > 23
        || minute > 59
        || second > 59
    {
        return None;
    }
    let days = day_of(year, month, day);
    Some(Timestamp(days * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + ms))
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            de::Error::custom(format!(
                "`{text}` is no date; write 2026-10-02 or 2026-10-02T09:30:00Z"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_read_and_written() {
        let time = Timestamp::parse("2026-10-02T09:30:00.250Z").unwrap();
        assert_eq!(time.to_string(), "2026-10-02T09:30:00.25Z");
        assert_eq!(time.date(), "2026-10-02");
        assert_eq!(Timestamp::parse("yesterday"), None);
    }

    #[test]
    fn a_fixed_clock_is_set_in_either_form() {
        let time = Timestamp::parse("2026-10-02T09:30:00Z");
        assert_eq!(Timestamp::from_setting(" 2026-10-02T09:30:00Z\n"), time);
        assert_eq!(Timestamp::from_setting(&time.unwrap().0.to_string()), time);
        assert_eq!(Timestamp::from_setting("noon"), None);
    }

    proptest::proptest! {
        #[test]
        fn times_are_written_and_read_as_the_library_does(ms in -62_167_219_200_000i64..253_402_300_799_999) {
            let library = jiff::Timestamp::from_millisecond(ms).unwrap();
            let written = Timestamp(ms).to_string();
            proptest::prop_assert_eq!(&written, &library.to_string());
            proptest::prop_assert_eq!(Timestamp(ms).date(), &written[..10]);
            proptest::prop_assert_eq!(Timestamp::parse(&written), Some(Timestamp(ms)));
            if let Some(parsed) = parse_plain(&written) {
                proptest::prop_assert_eq!(parsed, Timestamp(ms));
            }
        }

        #[test]
        fn no_text_is_read_otherwise_than_by_the_library(
            text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,4})?[Zz+]?",
        ) {
            if let Some(parsed) = parse_plain(&text) {
                let library: jiff::Timestamp = text.parse().unwrap();
                proptest::prop_assert_eq!(parsed.0, library.as_millisecond());
            }
        }
    }
}

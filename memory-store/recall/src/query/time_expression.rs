//! Times named in a text: "last week", "in March", "since 2026-10-01", "before Monday".
//!
//! A name of a time denotes whole days. In prompts and searches, these are days in UTC; the command line parses options
//! with [`named_span`] and converts the days in the user's time zone. Words with another meaning, such as `may` and
//! `march`, count only if a preposition or a number makes them a date. Future times are excluded, because memories are
//! of the past.

use std::ops::Range;

use crate::rank::candidate::Candidate;
use memory_store_base::time::{DAY_MS, Timestamp, civil, day_of};

/// Gain in score of a memory from the time that a search names, relative to the words, which count 1.
const FAVOUR: f32 = 0.3;
/// Maximum number of words of a text that are searched for times.
const WORDS_MAX: usize = 400;
/// Maximum number of units before "ago" or after "last".
const COUNT_MAX: i64 = 1000;
/// Forms of a time that [`whole`] accepts, as shown in messages.
pub const TIME_FORMS: &str = "2026-10-02, 2026-10, 2026-10-02T09:30:00Z, yesterday, \"last week\", \"2 weeks ago\", 3d or \"in March\"";
/// Number of milliseconds in a minute.
const MINUTE_MS: i64 = 60_000;
/// Years that are accepted as a number of four digits.
const YEARS: Range<i64> = 1970..2101;

/// A span of time. An end that is `None` is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First moment of the span.
    pub from: Option<Timestamp>,
    /// First moment after the span.
    pub to: Option<Timestamp>,
}

impl Span {
    /// Returns whether the span contains a time.
    pub fn has(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| at >= from) && self.to.is_none_or(|to| at < to)
    }
}

/// Whole days, counted from 1970-01-01; an end that is `None` is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaySpan {
    /// First day of the span.
    pub from: Option<i64>,
    /// First day after the span.
    pub to: Option<i64>,
}

impl DaySpan {
    fn of(days: Range<i64>) -> Self {
        Self { from: Some(days.start), to: Some(days.end) }
    }

    /// Converts the days to times, with the first moment of a day.
    pub fn span(self, midnight: impl Fn(i64) -> Timestamp) -> Span {
        Span { from: self.from.map(&midnight), to: self.to.map(&midnight) }
    }
}

/// A time that is named by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedSpan {
    /// Whole days.
    Days(DaySpan),
    /// A point in time: a date with a time of day, or a distance in a unit shorter than a day.
    Point(Timestamp),
}

impl NamedSpan {
    /// Converts the name to times, with the first moment of a day. A point in time is a span of one millisecond.
    pub fn span(self, midnight: impl Fn(i64) -> Timestamp) -> Span {
        match self {
            Self::Days(days) => days.span(midnight),
            Self::Point(at) => Span { from: Some(at), to: Some(Timestamp(at.0.saturating_add(1))) },
        }
    }
}

/// A time named in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedTime {
    /// The span of time that the words denote.
    pub span: Span,
    /// Byte range of the words in the text, including the preposition.
    pub place: Range<usize>,
}

/// Raises the scores of memories whose time is in the span that the words of an explicit search name.
pub(crate) fn favour(candidates: &mut [Candidate], text: &str, now: Timestamp) {
    if candidates.is_empty() {
        return;
    }
    let Some(NamedTime { span, .. }) = find(text, now) else { return };
    for candidate in candidates {
        if span.has(candidate.entry.when) {
            candidate.fused += FAVOUR;
        }
    }
}

/// Returns the first time that a text names, as seen from `now`; `None` if it names none.
pub(crate) fn find(text: &str, now: Timestamp) -> Option<NamedTime> {
    let words = words(text);
    let reader = TimeReader { words: &words, today: now.0.div_euclid(DAY_MS) };
    (0..words.len()).find_map(|at| {
        let (days, end) = reader.span(at)?;
        let span = days.span(utc_midnight);
        Some(NamedTime { span, place: words[at].place.start..words[end - 1].place.end })
    })
}

/// Parses a text that is a time, such as the value of a filter, with days in UTC.
pub fn whole(text: &str, now: Timestamp) -> Option<Span> {
    Some(named_span(text, now, now.0.div_euclid(DAY_MS))?.span(utc_midnight))
}

/// Parses a text that is a time, such as the value of an option. `today` is the current day, counted from 1970-01-01,
/// in the time zone of the days.
pub fn named_span(text: &str, now: Timestamp, today: i64) -> Option<NamedSpan> {
    let words = words(text);
    let reader = TimeReader { words: &words, today };
    let as_date = || {
        let (days, end) = reader.days(0, true)?;
        Some((DaySpan::of(days), end))
    };
    match as_date().or_else(|| reader.span(0)) {
        Some((days, end)) if end == words.len() => Some(NamedSpan::Days(days)),
        Some(_) | None => {
            reader.distance(now).or_else(|| Timestamp::parse(text).map(NamedSpan::Point))
        }
    }
}

struct TimeWord {
    lower: String,
    place: Range<usize>,
}

/// Splits a text into runs of letters and digits, with dashes between digits.
fn words(text: &str) -> Vec<TimeWord> {
    let mut words = Vec::new();
    let mut start = None;
    let mut last = ' ';
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map_or(' ', |&(_, next)| next);
        let inside = c.is_alphanumeric()
            || c == '-' && last.is_ascii_digit() && next.is_ascii_digit()
            || c == '_';
        match (inside, start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                words.push(TimeWord { lower: text[from..at].to_lowercase(), place: from..at });
                start = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
        last = c;
        if words.len() == WORDS_MAX {
            return words;
        }
    }
    if let Some(from) = start {
        words.push(TimeWord { lower: text[from..].to_lowercase(), place: from..text.len() });
    }
    words
}

/// Parser of times in a sequence of words. Days are counted from 1970-01-01.
struct TimeReader<'a> {
    words: &'a [TimeWord],
    today: i64,
}

/// A unit of time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TimeUnit {
    Day,
    Week,
    Month,
    Year,
}

impl TimeReader<'_> {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.lower.as_str())
    }

    /// Parses a span with its preposition; returns the index of the word after it.
    fn span(&self, at: usize) -> Option<(DaySpan, usize)> {
        match self.word(at) {
            "since" => self.days(at + 1, true).map(|(days, end)| (from(days.start), end)),
            "after" => self.days(at + 1, true).map(|(days, end)| (from(days.end), end)),
            "before" => self.days(at + 1, true).map(|(days, end)| (until(days.start), end)),
            "until" | "till" | "by" => {
                self.days(at + 1, true).map(|(days, end)| (until(days.end), end))
            }
            "between" | "from" => self.between(at),
            "in" | "on" | "during" | "of" | "at" => {
                self.days(at + 1, true).map(|(days, end)| (DaySpan::of(days), end))
            }
            _ => self.days(at, false).map(|(days, end)| (DaySpan::of(days), end)),
        }
    }

    /// Parses "between X and Y", "from X to Y".
    fn between(&self, at: usize) -> Option<(DaySpan, usize)> {
        let (first, middle) = self.days(at + 1, true)?;
        let joins = match self.word(at) {
            "between" => self.word(middle) == "and",
            _ => matches!(self.word(middle), "to" | "until" | "till"),
        };
        if joins && let Some((second, end)) = self.days(middle + 1, true) {
            return (first.start < second.end).then(|| (DaySpan::of(first.start..second.end), end));
        }
        // "from March" without an end.
        (self.word(at) == "from").then(|| (DaySpan::of(first), middle))
    }

    /// Parses the name of one or more days. `led` is true after a preposition.
    fn days(&self, at: usize, led: bool) -> Option<(Range<i64>, usize)> {
        let at = if led && self.word(at) == "the" { at + 1 } else { at };
        self.near_day(at)
            .or_else(|| self.unit_before(at))
            .or_else(|| self.ago(at))
            .or_else(|| self.iso(at, led))
            .or_else(|| self.month(at, led))
            .or_else(|| self.weekday(at, led))
    }

    fn near_day(&self, at: usize) -> Option<(Range<i64>, usize)> {
        let today = self.today;
        match (self.word(at), self.word(at + 1)) {
            ("yesterday", _) => Some((today - 1..today, at + 1)),
            ("today", _) => Some((today..today + 1, at + 1)),
            ("this", "morning" | "afternoon" | "evening") => Some((today..today + 1, at + 2)),
            ("last", "night") => Some((today - 1..today + 1, at + 2)),
            _ => None,
        }
    }

    /// Parses forms such as "last week", "this month" and "the past 3 days".
    fn unit_before(&self, at: usize) -> Option<(Range<i64>, usize)> {
        let back = match self.word(at) {
            "this" | "current" => 0,
            "last" | "previous" | "past" => 1,
            _ => return None,
        };
        if let Some((unit, false)) = unit(self.word(at + 1)) {
            // "The past week" means the last seven days; "last week" means the calendar week before the present one.
            let days = if self.word(at) == "past" {
                self.back(unit, 1)..self.today + 1
            } else {
                self.calendar(unit, back)
            };
            return Some((days, at + 2));
        }
        let (count, end) = self.count(at + 1)?;
        let (unit, _) = unit(self.word(end))?;
        (back == 1).then(|| (self.back(unit, count)..self.today + 1, end + 1))
    }

    /// Parses forms such as "3 days ago" and "a month ago".
    fn ago(&self, at: usize) -> Option<(Range<i64>, usize)> {
        let (count, end) = self.count(at)?;
        let (unit, _) = unit(self.word(end))?;
        (self.word(end + 1) == "ago").then(|| (self.calendar(unit, count), end + 2))
    }

    /// Parses a distance from now that is the whole text: "3d", "12h", "2 weeks", "90 minutes ago". An abbreviated unit
    /// is counted back from today ("1w" is the day a week ago); a whole word is a unit of the calendar, as in
    /// [`Self::ago`].
    fn distance(&self, now: Timestamp) -> Option<NamedSpan> {
        if self.words.first()?.place.start > 0 {
            // A sign or another character precedes the number.
            return None;
        }
        let (count, unit_name, mut end) = match self.count(0) {
            Some((count, end)) => (count, self.word(end), end + 1),
            None => {
                let word = self.word(0);
                let (digits, unit_name) = word.split_at(word.find(|c: char| !c.is_ascii_digit())?);
                let count = number(digits, 4).filter(|count| (1..=COUNT_MAX).contains(count))?;
                (count, unit_name, 1)
            }
        };
        end += usize::from(self.word(end) == "ago");
        if end != self.words.len() {
            return None;
        }
        let before = |minutes: i64| {
            Some(NamedSpan::Point(Timestamp(now.0.saturating_sub(count * minutes * MINUTE_MS))))
        };
        let day_before = |unit: TimeUnit| {
            let day = self.back(unit, count);
            day..day + 1
        };
        let days = match unit_name {
            "m" | "min" | "mins" | "minute" | "minutes" => return before(1),
            "h" | "hour" | "hours" => return before(60),
            "d" => day_before(TimeUnit::Day),
            "w" => day_before(TimeUnit::Week),
            "mo" => day_before(TimeUnit::Month),
            "y" => day_before(TimeUnit::Year),
            name => self.calendar(unit(name)?.0, count),
        };
        Some(NamedSpan::Days(DaySpan::of(days)))
    }

    /// Parses `2026-10-02`, `2026-10` and, after a preposition, `2026`.
    fn iso(&self, at: usize, led: bool) -> Option<(Range<i64>, usize)> {
        let mut parts = self.word(at).split('-');
        let year = year(parts.next()?)?;
        let Some(month) = parts.next() else {
            return led.then(|| (day_of(year, 1, 1)..day_of(year + 1, 1, 1), at + 1));
        };
        let month = number(month, 2).filter(|month| (1..=12).contains(month))?;
        let days = match parts.next() {
            None => day_of(year, month, 1)..after_month(year, month),
            Some(day) => {
                let day = number(day, 2)?;
                let start = day_of(year, month, day);
                (day >= 1 && start < after_month(year, month)).then_some(start..start + 1)?
            }
        };
        parts.next().is_none().then_some((days, at + 1))
    }

    /// Parses forms such as "March", "last March", "March 2026", "March 5", "5 March 2026" and "the 5th of March".
    fn month(&self, at: usize, led: bool) -> Option<(Range<i64>, usize)> {
        let last = self.word(at) == "last" || self.word(at) == "early" || self.word(at) == "late";
        let at = if last { at + 1 } else { at };
        if let Some((day, ordinal)) = day_number(self.word(at)) {
            let of = usize::from(self.word(at + 1) == "of");
            let (month, _) = month(self.word(at + 1 + of))?;
            let (year, end) = self.year_after(at + 2 + of);
            let sure = year.is_some() || ordinal || led;
            return sure.then(|| self.day_in(year, month, day)).flatten().map(|days| (days, end));
        }
        let (month, plain) = month(self.word(at))?;
        if let Some((day, ordinal)) = day_number(self.word(at + 1)) {
            let (year, end) = self.year_after(at + 2);
            let sure = year.is_some() || ordinal || led || plain;
            return sure.then(|| self.day_in(year, month, day)).flatten().map(|days| (days, end));
        }
        let (year, end) = self.year_after(at + 1);
        let year = match year {
            Some(year) => year,
            None if led || last => self.year_of_past(month, 1),
            None => return None,
        };
        Some((day_of(year, month, 1)..after_month(year, month), end))
    }

    /// Parses "on Monday" and "last Monday", which mean the last Monday before today.
    fn weekday(&self, at: usize, led: bool) -> Option<(Range<i64>, usize)> {
        let last = self.word(at) == "last";
        let at = if last { at + 1 } else { at };
        let wanted = weekday(self.word(at))?;
        let back = (self.weekday_of_today() - wanted).rem_euclid(7);
        let day = self.today - if back == 0 { 7 } else { back };
        (led || last).then_some((day..day + 1, at + 1))
    }

    fn year_after(&self, at: usize) -> (Option<i64>, usize) {
        match year(self.word(at)) {
            Some(year) => (Some(year), at + 1),
            None => (None, at),
        }
    }

    /// Returns a day of a month as a range; without a year, the most recent one. `None` if the month has no such day.
    fn day_in(&self, year: Option<i64>, month: i64, day: i64) -> Option<Range<i64>> {
        let year = year.unwrap_or_else(|| self.year_of_past(month, day));
        let start = day_of(year, month, day);
        (start < after_month(year, month)).then_some(start..start + 1)
    }

    /// Returns the latest year in which this day is not in the future.
    fn year_of_past(&self, month: i64, day: i64) -> i64 {
        let (year, _, _) = civil(self.today);
        if day_of(year, month, day) > self.today { year - 1 } else { year }
    }

    /// Returns the days of the calendar unit that is `back` units before the present one.
    fn calendar(&self, unit: TimeUnit, back: i64) -> Range<i64> {
        let (year, month, _) = civil(self.today);
        match unit {
            TimeUnit::Day => self.today - back..self.today - back + 1,
            TimeUnit::Week => {
                let monday = self.today - self.weekday_of_today() - 7 * back;
                monday..monday + 7
            }
            TimeUnit::Month => {
                let months = year * 12 + month - 1 - back;
                let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
                day_of(year, month, 1)..after_month(year, month)
            }
            TimeUnit::Year => day_of(year - back, 1, 1)..day_of(year - back + 1, 1, 1),
        }
    }

    /// Returns the day that is `count` units before today.
    fn back(&self, unit: TimeUnit, count: i64) -> i64 {
        self.today
            - count
                * match unit {
                    TimeUnit::Day => 1,
                    TimeUnit::Week => 7,
                    TimeUnit::Month => 30,
                    TimeUnit::Year => 365,
                }
    }

    /// Returns the current weekday, 0 for Monday.
    fn weekday_of_today(&self) -> i64 {
        (self.today + 3).rem_euclid(7)
    }

    /// Parses a number in digits or words. Returns the number and the index of the word after it.
    fn count(&self, at: usize) -> Option<(i64, usize)> {
        if (self.word(at), self.word(at + 1), self.word(at + 2)) == ("a", "couple", "of") {
            return Some((2, at + 3));
        }
        let count = match self.word(at) {
            "a" | "an" | "one" => 1,
            "two" | "couple" => 2,
            "three" | "few" => 3,
            "four" => 4,
            "five" => 5,
            "six" => 6,
            "seven" => 7,
            "eight" => 8,
            "nine" => 9,
            "ten" => 10,
            digits => number(digits, 4)?,
        };
        (1..=COUNT_MAX).contains(&count).then_some((count, at + 1))
    }
}

const fn from(day: i64) -> DaySpan {
    DaySpan { from: Some(day), to: None }
}

const fn until(day: i64) -> DaySpan {
    DaySpan { from: None, to: Some(day) }
}

fn utc_midnight(day: i64) -> Timestamp {
    Timestamp(day.saturating_mul(DAY_MS))
}

fn after_month(year: i64, month: i64) -> i64 {
    if month == 12 { day_of(year + 1, 1, 1) } else { day_of(year, month + 1, 1) }
}

/// Returns the unit that a word names, and whether the word is plural; `None` for other words.
fn unit(word: &str) -> Option<(TimeUnit, bool)> {
    let one = word.strip_suffix('s').unwrap_or(word);
    let unit = match one {
        "day" => TimeUnit::Day,
        "week" => TimeUnit::Week,
        "month" => TimeUnit::Month,
        "year" => TimeUnit::Year,
        _ => return None,
    };
    Some((unit, one.len() < word.len()))
}

/// Returns the number that a word of at most `digits_max` digits denotes; `None` for other words.
fn number(word: &str, digits_max: usize) -> Option<i64> {
    let digits = (1..=digits_max).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| word.parse().ok())?
}

fn year(word: &str) -> Option<i64> {
    number(word, 4).filter(|year| word.len() == 4 && YEARS.contains(year))
}

/// Returns the day of a month that a word denotes, and whether it is an ordinal; `None` for other words.
fn day_number(word: &str) -> Option<(i64, bool)> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending));
    let day = number(digits.unwrap_or(word), 2).filter(|day| (1..=31).contains(day))?;
    Some((day, digits.is_some()))
}

/// Returns the number of the month that a word names, and whether the word has no other meaning; `None` for other
/// words.
fn month(word: &str) -> Option<(i64, bool)> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let at = MONTHS
        .iter()
        .position(|month| *month == word || (word.len() == 3 && month.starts_with(word)));
    let at = at.or_else(|| (word == "sept").then_some(8))?;
    Some((at as i64 + 1, !matches!(word, "march" | "mar" | "may" | "jan" | "dec")))
}

fn weekday(word: &str) -> Option<i64> {
    const DAYS: [&str; 7] =
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    DAYS.iter().position(|day| *day == word).map(|at| at as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time of the tests, a Wednesday.
    const NOW: &str = "2026-10-14T15:00:00Z";

    fn now() -> Timestamp {
        Timestamp::parse(NOW).unwrap()
    }

    /// Returns the span as `from..to`, and its words.
    fn found(text: &str) -> Option<(String, &str)> {
        let when = find(text, now())?;
        Some((shown(when.span), &text[when.place]))
    }

    fn shown(span: Span) -> String {
        let date = |at: Option<Timestamp>| at.map(Timestamp::date).unwrap_or_default();
        format!("{}..{}", date(span.from), date(span.to))
    }

    #[test]
    fn times_are_found_where_they_are_named() {
        for (text, span, words) in [
            ("what did we do yesterday?", "2026-10-13..2026-10-14", "yesterday"),
            ("the bug from last week", "2026-10-05..2026-10-12", "from last week"),
            ("this month's releases", "2026-10-01..2026-11-01", "this month"),
            ("what failed in the past 3 days", "2026-10-11..2026-10-15", "in the past 3 days"),
            ("over the last two weeks", "2026-09-30..2026-10-15", "last two weeks"),
            ("two months ago we chose", "2026-08-01..2026-09-01", "two months ago"),
            ("a couple of days ago", "2026-10-12..2026-10-13", "a couple of days ago"),
            ("decided in March", "2026-03-01..2026-04-01", "in March"),
            ("decided in December 2025 or so", "2025-12-01..2026-01-01", "in December 2025"),
            ("decided in December", "2025-12-01..2026-01-01", "in December"),
            ("anything since 2026-10-01?", "2026-10-01..", "since 2026-10-01"),
            ("before last Monday", "..2026-10-12", "before last Monday"),
            ("until October 5th", "..2026-10-06", "until October 5th"),
            ("on 5 May, 2026", "2026-05-05..2026-05-06", "on 5 May, 2026"),
            ("the 2nd of June", "2026-06-02..2026-06-03", "2nd of June"),
            ("between March and May 2026", "2026-03-01..2026-06-01", "between March and May 2026"),
            ("from 2026-09 to 2026-10-03", "2026-09-01..2026-10-04", "from 2026-09 to 2026-10-03"),
            ("it was new in 2024", "2024-01-01..2025-01-01", "in 2024"),
            ("after the 2024 rewrite", "2025-01-01..", "after the 2024"),
        ] {
            assert_eq!(found(text), Some((span.to_owned(), words)), "{text}");
        }
    }

    #[test]
    fn words_that_only_look_like_times_are_left_alone() {
        for text in [
            "it may fail",
            "may 5 of them fail",
            "march on",
            "the last commit",
            "last 5 commits",
            "release 2026",
            "since the rewrite",
            "before merging",
            "the day parser",
            "in the month picker",
            "next week",
            "on monday.com/x"[..0].as_ref(),
            "2026-13-40",
            "on 2026-02-30",
            "v2026-10",
            "jan-ecke",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn a_filter_names_a_time_and_nothing_else() {
        let whole = |text: &str| whole(text, now()).map(shown);
        assert_eq!(whole("2026"), Some("2026-01-01..2027-01-01".to_owned()));
        assert_eq!(whole("last week"), Some("2026-10-05..2026-10-12".to_owned()));
        assert_eq!(whole("march"), Some("2026-03-01..2026-04-01".to_owned()));
        assert_eq!(whole("monday"), Some("2026-10-12..2026-10-13".to_owned()));
        assert_eq!(whole("last week or so"), None);
        assert_eq!(whole("soon"), None);
    }

    #[test]
    fn a_filter_accepts_distances_and_points() {
        let whole = |text: &str| whole(text, now());
        assert_eq!(whole("2 weeks"), whole("two weeks ago"));
        for (short, expected) in [
            ("3d", "2026-10-11..2026-10-12"),
            ("2w", "2026-09-30..2026-10-01"),
            ("1mo", "2026-09-14..2026-09-15"),
            ("1y", "2025-10-14..2025-10-15"),
        ] {
            assert_eq!(whole(short).map(shown).as_deref(), Some(expected), "{short}");
        }
        for (text, expected) in [
            ("2h", "2026-10-14T13:00:00Z"),
            ("90 minutes ago", "2026-10-14T13:30:00Z"),
            ("30m", "2026-10-14T14:30:00Z"),
            ("2026-10-02T09:30:00Z", "2026-10-02T09:30:00Z"),
            ("2026-10-02T11:30:00+02:00", "2026-10-02T09:30:00Z"),
        ] {
            let from = whole(text).and_then(|span| span.from).map(|at| at.to_string());
            assert_eq!(from.as_deref(), Some(expected), "{text}");
        }
        for text in ["3", "d", "0d", "3 d or so", "9999d", "-3d", "3x", "2h from now"] {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it(text in "\\PC{0,80}", now in proptest::prelude::any::<i64>()) {
            if let Some(when) = find(&text, Timestamp(now / 4)) {
                proptest::prop_assert!(text.get(when.place).is_some());
            }
        }

        #[test]
        fn no_numbers_break_it(
            text in "(since|last|in|on|from|between|[0-9]{1,5}|[0-9]{1,4}[dhmwy]|days|weeks|ago|march|may|to|and|monday|[0-9]{4}-[0-9]{1,2}| ){1,9}",
        ) {
            let _ = find(&text.replace("since", " since "), now());
            let _ = whole(&text, now());
        }
    }
}

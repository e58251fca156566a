//! A plot of search durations as SVG, with logarithmic axes.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
/// Space for the labels of the axes.
const MARGIN: f64 = 60.0;
const WAYS: [(&str, &str); 2] = [("scan", "#b45309"), ("graph", "#1d4ed8")];

/// Plots the microseconds of both ways for each number of vectors.
pub fn svg(medians: &[(usize, [f64; 2])]) -> String {
    let sizes = || medians.iter().map(|&(size, _)| size as f64);
    let times = || medians.iter().flat_map(|(_, times)| times.iter().copied());
    let across = Axis::over(sizes(), MARGIN, WIDTH - MARGIN);
    let up = Axis::over(times(), HEIGHT - MARGIN, MARGIN / 2.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    let (left, right, bottom, top) = (MARGIN, WIDTH - MARGIN, HEIGHT - MARGIN, MARGIN / 2.0);
    for power in across.powers() {
        let (x, label) = (across.place(power), number(power));
        let below = bottom + 18.0;
        line(&mut out, "#ddd", &[(x, bottom), (x, top)]);
        text(&mut out, (x, below), "middle", &label);
    }
    for power in up.powers() {
        let (y, label) = (up.place(power), number(power));
        line(&mut out, "#ddd", &[(left, y), (right, y)]);
        text(&mut out, (left - 6.0, y + 4.0), "end", &label);
    }
    text(&mut out, ((left + right) / 2.0, HEIGHT - 18.0), "middle", "vectors");
    text(&mut out, (left, top - 8.0), "middle", "microseconds");
    for (way, (name, colour)) in WAYS.into_iter().enumerate() {
        let places =
            medians.iter().map(|&(size, times)| (across.place(size as f64), up.place(times[way])));
        let places: Vec<(f64, f64)> = places.collect();
        line(&mut out, colour, &places);
        for &(x, y) in &places {
            let _ =
                writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
        }
        if let Some(&(x, y)) = places.last() {
            text(&mut out, (x + 8.0, y + 4.0), "start", name);
        }
    }
    out.push_str("</svg>\n");
    out
}

/// An axis with a logarithmic scale.
struct Axis {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Axis {
    /// Returns the axis from the power of ten below all numbers to the power of ten above them.
    fn over(numbers: impl Iterator<Item = f64>, start: f64, end: f64) -> Self {
        let logarithms: Vec<f64> = numbers.map(|number| number.max(1.0).log10()).collect();
        let low = logarithms.iter().copied().fold(f64::INFINITY, f64::min).floor();
        let high = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max).ceil();
        Self { low, high: high.max(low + 1.0), start, end }
    }

    fn place(&self, number: f64) -> f64 {
        let share = (number.max(1.0).log10() - self.low) / (self.high - self.low);
        self.start + share * (self.end - self.start)
    }

    fn powers(&self) -> impl Iterator<Item = f64> {
        (self.low as i32..=self.high as i32).map(|power| 10f64.powi(power))
    }
}

fn line(out: &mut String, colour: &str, places: &[(f64, f64)]) {
    let points: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let points = points.join(" ");
    let _ = writeln!(out, "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\"/>");
}

fn text(out: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

/// Formats a number, with its digits in groups of three.
fn number(power: f64) -> String {
    let digits = format!("{power:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

//! Arithmetic with the same bits on every machine. There are no fused operations and no library calls, and sums are
//! computed in a fixed order of eight lanes, which the compiler vectorises for the target.

/// Adding this number to a float below 2^22 and subtracting it again rounds to the nearest integer, ties to even.
/// Before the subtraction, the low bits are that integer.
pub(crate) const ROUNDER: f32 = 12_582_912.0;

/// Returns `e^x` for `x <= 0`, with an error of about one unit in the last place. For `x` below -87 it returns `e^-87`.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = if x < -87.0 { -87.0 } else { x };
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // This is Taylor's series; |r| is at most ln 2 / 2.
    let high = (r * (1.0 / 720.0) + 1.0 / 120.0) * r + 1.0 / 24.0;
    let tail = ((high * r + 1.0 / 6.0) * r + 0.5) * r;
    let fraction = (tail + 1.0) * r + 1.0;
    fraction * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// Returns the Gaussian error linear unit, `x * Phi(x)`. The error function is computed by formula 7.1.26 of Abramowitz
/// and Stegun (absolute error 1.5e-7).
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    let z = x * std::f32::consts::FRAC_1_SQRT_2;
    let z_abs = z.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * z_abs);
    let high = (1.061_405_4 * t - 1.453_152_1) * t + 1.421_413_8;
    let poly = ((high * t - 0.284_496_72) * t + 0.254_829_6) * t;
    let erf = 1.0 - poly * exp(-z_abs * z_abs);
    0.5 * x * (1.0 + erf.copysign(z))
}

/// Returns the sum of values, whose number must be a multiple of eight.
#[inline(always)]
pub(crate) fn sum(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    for eight in values.as_chunks::<8>().0 {
        for lane in 0..8 {
            lanes[lane] += eight[lane];
        }
    }
    fold(lanes)
}

/// Returns the dot product of two slices of equal length, which must be a multiple of eight.
#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        for lane in 0..8 {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    fold(lanes)
}

#[inline(always)]
fn fold(lanes: [f32; 8]) -> f32 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Returns the largest absolute value. The number of values must be a multiple of eight.
#[inline(always)]
pub(crate) fn largest(values: &[f32]) -> f32 {
    let mut lanes = [0.0f32; 8];
    for eight in values.as_chunks::<8>().0 {
        for lane in 0..8 {
            let value = eight[lane].abs();
            lanes[lane] = if value > lanes[lane] { value } else { lanes[lane] };
        }
    }
    lanes.iter().fold(0.0, |largest, &value| if value > largest { value } else { largest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_close() {
        for step in 0..8700 {
            let x = -step as f32 * 0.01;
            let (ours, exact) = (f64::from(exp(x)), f64::from(x).exp());
            assert!((ours / exact - 1.0).abs() < 4e-7, "{x}: {ours} {exact}");
        }
        assert!(exp(-1000.0) < 1e-37);
    }

    #[test]
    fn the_unit_is_close() {
        // Computes Phi by its series in double precision.
        let phi = |x: f64| {
            let (mut term, mut sum) = (x, x);
            for n in 1..120 {
                term *= -x * x / 2.0 * f64::from(2 * n - 1) / f64::from(n * (2 * n + 1));
                sum += term;
            }
            0.5 + sum / (2.0 * std::f64::consts::PI).sqrt()
        };
        for step in -400..=400 {
            let x = step as f32 * 0.01;
            let exact = f64::from(x) * phi(f64::from(x));
            assert!((f64::from(gelu(x)) - exact).abs() < 2e-6, "{x}: {} {exact}", gelu(x));
        }
        assert_eq!(gelu(-30.0), 0.0);
        assert_eq!(gelu(30.0), 30.0);
    }

    #[test]
    fn sums_are_sums() {
        let values: Vec<f32> = (0..24).map(|n| n as f32 - 30.0).collect();
        assert_eq!(sum(&values), -444.0);
        assert_eq!(largest(&values), 30.0);
        assert_eq!(dot(&values, &[2.0; 24]), -888.0);
    }
}

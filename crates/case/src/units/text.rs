//! Numbers as people write them: few digits, and enough of them to see a difference.

use super::{Quantity, Unit};

/// Most digits more than usual: behind them two numbers are one to any reader.
const MOST_MORE: usize = 12;

/// Two quantities as people write them, with as many digits as it takes to tell them apart and no more.
pub fn quantities_apart(a: Quantity, b: Quantity) -> [String; 2] {
    apart(|more| [shown(a, more), shown(b, more)])
}

/// Two bare numbers as people write them: short ones as they are, others with three digits, or as many as it takes to tell them
/// apart.
pub fn numbers_apart(a: f64, b: f64) -> [String; 2] {
    if is_short(a) && is_short(b) {
        return [a, b].map(|v| v.to_string());
    }
    let text = |v: f64, more| if v.fract() == 0.0 { v.to_string() } else { three_figures(v, more) };
    apart(|more| [text(a, more), text(b, more)])
}

/// Whether a number can be read as it is.
fn is_short(v: f64) -> bool {
    v.fract() == 0.0 || !v.is_finite() || v.to_string().bytes().filter(u8::is_ascii_digit).count() <= 4
}

fn apart(texts: impl Fn(usize) -> [String; 2]) -> [String; 2] {
    let told = (0..=MOST_MORE).map(&texts).find(|[a, b]| a != b);
    told.unwrap_or_else(|| texts(0))
}

/// The quantity with its unit, and with more decimals than usual.
pub(super) fn shown(quantity: Quantity, more: usize) -> String {
    // An empty sum is -0.0.
    let v = quantity.value + 0.0;
    match quantity.unit {
        Unit::Seconds => duration(v, more),
        Unit::Ratio => format!("{} %", percent(v * 100.0, more)),
        Unit::Bytes => bytes(v, more),
        Unit::Tokens => format!("{} tokens", grouped(v, more)),
        Unit::Requests => format!("{} requests", grouped(v, more)),
        Unit::Events | Unit::Count => grouped(v, more),
        Unit::RequestsPerSecond => format!("{} req/s", grouped(v, more)),
        Unit::TokensPerSecond => format!("{} tokens/s", grouped(v, more)),
        Unit::BytesPerSecond => format!("{}/s", bytes(v, more)),
        Unit::EventsPerMinute => format!("{}/min", grouped(v, more)),
        Unit::Watts => format!("{v:.more$} W"),
        Unit::Hertz => format!("{:.more$} MHz", v / 1e6),
        Unit::Celsius => format!("{v:.more$} °C"),
        Unit::Flop => format!("{v:.*e} FLOP", 3 + more),
    }
}

/// `18.9 s`, `137 ms`, `52 µs`: three significant figures, the unit a person would choose.
fn duration(seconds: f64, more: usize) -> String {
    let magnitude = seconds.abs();
    let (scaled, unit) = if magnitude >= 1.0 || magnitude == 0.0 {
        (seconds, "s")
    } else if magnitude >= 0.001 {
        (seconds * 1e3, "ms")
    } else {
        (seconds * 1e6, "µs")
    };
    format!("{} {unit}", three_figures(scaled, more))
}

fn three_figures(v: f64, more: usize) -> String {
    let decimals = match v.abs() {
        m if m >= 99.95 || m == 0.0 => 0,
        m if m >= 9.995 => 1,
        _ => 2,
    };
    format!("{v:.*}", decimals + more)
}

fn bytes(v: f64, more: usize) -> String {
    const STEPS: [(&str, f64); 4] =
        [("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("KiB", 1024.0), ("B", 1.0)];
    let (unit, scale) = STEPS.into_iter().find(|(_, scale)| v.abs() >= *scale).unwrap_or(("B", 1.0));
    format!("{} {unit}", three_figures(v / scale, more))
}

/// Percent without useless digits: `97`, `99.8`, `0.6`.
fn percent(v: f64, more: usize) -> String {
    let text = format!("{v:.*}", usize::from(v.abs() < 10.0) + more);
    if more > 0 {
        return text;
    }
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Thousands separated, decimals only where they matter: `11,086`, `14`, `5.7`, `0.42`.
fn grouped(v: f64, more: usize) -> String {
    if !v.is_finite() {
        return v.to_string();
    }
    let decimals = match v.abs() {
        _ if v.fract() == 0.0 => 0,
        m if m < 1.0 => 2 + more,
        m if m < 100.0 => 1 + more,
        _ => more,
    };
    let text = format!("{:.decimals$}", v.abs());
    let (digits, fraction) = text.split_once('.').map_or((text.as_str(), ""), |(whole, part)| (whole, part));
    let mut out = String::with_capacity(text.len() + digits.len() / 3 + 1);
    if v < 0.0 {
        out.push('-');
    }
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_difference_can_be_seen_and_no_digit_is_useless() {
        let gib = |a: f64, b: f64| {
            let of = |n: f64| Quantity::new(n * 1_073_741_824.0, Unit::Bytes);
            quantities_apart(of(a), of(b))
        };
        assert_eq!(gib(114.0, 57.0), ["114 GiB", "57.0 GiB"]);
        assert_eq!(gib(113.7, 114.2), ["113.7 GiB", "114.2 GiB"]);
        assert_eq!(gib(113.71, 113.72), ["113.71 GiB", "113.72 GiB"]);
        let requests = |a: f64, b: f64| {
            quantities_apart(Quantity::new(a, Unit::Requests), Quantity::new(b, Unit::Requests))
        };
        assert_eq!(requests(1234.4, 1234.3), ["1,234.4 requests", "1,234.3 requests"]);
        assert_eq!(numbers_apart(56.830_078_125, 113.718_75), ["56.8", "114"]);
        assert_eq!(numbers_apart(0.9, 0.95), ["0.9", "0.95"]);
        assert_eq!(numbers_apart(58_194.0, 58_224.0), ["58194", "58224"]);
        assert_eq!(numbers_apart(56.830_078_125, 56.83), ["56.8301", "56.8300"]);
        // What is the same stays short.
        assert_eq!(gib(113.7, 113.7), ["114 GiB", "114 GiB"]);
    }

    proptest! {
        /// Whatever the unit, what differs by a millionth looks different.
        #[test]
        fn two_numbers_that_differ_look_different(a in 1e3f64..1e15, by in 1e-6f64..2.0) {
            let b = a * (1.0 + by);
            for unit in [Unit::Seconds, Unit::Bytes, Unit::Ratio, Unit::Tokens, Unit::Watts, Unit::Hertz, Unit::Flop] {
                let [one, other] = quantities_apart(Quantity::new(a, unit), Quantity::new(b, unit));
                prop_assert_ne!(one, other);
            }
            let [one, other] = numbers_apart(a, b);
            prop_assert_ne!(one, other);
        }
    }
}

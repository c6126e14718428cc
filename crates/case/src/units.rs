//! Numbers that carry their unit. No bare `f64` crosses a crate boundary where one of these exists.

mod text;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use text::{numbers_apart, quantities_apart};

/// The units a fact can be measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Model tokens (never blocks).
    Tokens,
    /// Bytes.
    Bytes,
    /// A share or fraction, 1.0 being the whole.
    Ratio,
    /// Requests.
    Requests,
    /// Occurrences of something: preemptions, failures, restarts.
    Events,
    /// Requests per second.
    RequestsPerSecond,
    /// Tokens per second.
    TokensPerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// Events per minute.
    EventsPerMinute,
    /// Watts.
    Watts,
    /// Hertz.
    Hertz,
    /// Degrees Celsius.
    Celsius,
    /// Floating-point operations.
    Flop,
    /// A plain count with no better name, such as blocks or scrapes.
    Count,
}

/// One number with its unit; shows itself the way a person would write it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantity {
    /// The number, in `unit`.
    pub value: f64,
    /// The unit of `value`.
    pub unit: Unit,
}

impl Quantity {
    /// A number in a unit.
    pub const fn new(value: f64, unit: Unit) -> Self {
        Self { value, unit }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::shown(*self, 0))
    }
}

/// Declares a newtype over `f64` whose unit is fixed.
macro_rules! unit {
    ($(#[$doc:meta])* $name:ident => $unit:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl $name {
            /// The bare number, for arithmetic inside one crate.
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl From<$name> for Quantity {
            fn from(value: $name) -> Self {
                Self::new(value.0, Unit::$unit)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Quantity::from(*self).fmt(f)
            }
        }

        impl std::ops::Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl std::ops::Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
    };
}

unit!(
    /// A length of time in seconds.
    Seconds => Seconds
);
unit!(
    /// A number of model tokens.
    Tokens => Tokens
);
unit!(
    /// A number of bytes.
    Bytes => Bytes
);
unit!(
    /// A share, 1.0 being the whole.
    Ratio => Ratio
);
unit!(
    /// A number of requests.
    Requests => Requests
);
unit!(
    /// A number of occurrences: faults, switches, overflows.
    Events => Events
);

unit!(
    /// Electric power in watts.
    Watts => Watts
);
unit!(
    /// A frequency in hertz.
    Hertz => Hertz
);
unit!(
    /// A temperature in degrees Celsius.
    Celsius => Celsius
);

impl Ratio {
    /// `part / whole`, or `None` where the whole is zero or either is not a number.
    pub fn of(part: f64, whole: f64) -> Option<Self> {
        let ratio = part / whole;
        (whole != 0.0 && ratio.is_finite()).then_some(Self(ratio))
    }
}

/// A rate: so many of the inner quantity per second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
pub struct PerSecond<T>(pub T);

impl From<PerSecond<Requests>> for Quantity {
    fn from(rate: PerSecond<Requests>) -> Self {
        Self::new(rate.0.0, Unit::RequestsPerSecond)
    }
}

impl From<PerSecond<Bytes>> for Quantity {
    fn from(rate: PerSecond<Bytes>) -> Self {
        Self::new(rate.0.0, Unit::BytesPerSecond)
    }
}

impl From<PerSecond<Tokens>> for Quantity {
    fn from(rate: PerSecond<Tokens>) -> Self {
        Self::new(rate.0.0, Unit::TokensPerSecond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_a_person_would_write_them() {
        let shown = |v, u| Quantity::new(v, u).to_string();
        assert_eq!(shown(18.899, Unit::Seconds), "18.9 s");
        assert_eq!(shown(0.1369, Unit::Seconds), "137 ms");
        assert_eq!(shown(0.0052, Unit::Seconds), "5.20 ms");
        assert_eq!(shown(0.000_052, Unit::Seconds), "52.0 µs");
        assert_eq!(shown(0.0, Unit::Seconds), "0 s");
        assert_eq!(shown(0.998, Unit::Ratio), "100 %");
        assert_eq!(shown(0.0061, Unit::Ratio), "0.6 %");
        assert_eq!(shown(11_086.27, Unit::Tokens), "11,086 tokens");
        assert_eq!(shown(5.69, Unit::Requests), "5.7 requests");
        assert_eq!(shown(14.0, Unit::Count), "14");
        assert_eq!(shown(1_073_741_824.0 * 4.46, Unit::Bytes), "4.46 GiB");
        assert_eq!(shown(-1234.0, Unit::Count), "-1,234");
    }

    #[test]
    fn a_ratio_of_nothing_is_not_a_number() {
        assert_eq!(Ratio::of(1.0, 0.0), None);
        assert_eq!(Ratio::of(1.0, 4.0), Some(Ratio(0.25)));
    }
}

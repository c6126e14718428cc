//! Pressure stall information: how long something waited for a resource.

use intriage_case::Ratio;

use super::window::Window;

/// How much of the time work stood still for want of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pressure {
    /// Share of the window in which at least one task waited.
    pub some: Option<Ratio>,
    /// Share of the window in which every task that could have run waited. The kernel gives zero for CPU on the whole machine.
    pub full: Option<Ratio>,
    /// The kernel's own mean of `some` over the last 60 s.
    pub some_60s: Option<Ratio>,
    /// The kernel's own mean of `full` over the last 60 s.
    pub full_60s: Option<Ratio>,
}

/// The pressure in a file such as `proc/pressure/cpu`; `None` where the kernel does not keep it.
pub(super) fn read(window: Window<'_>, name: &str) -> Option<Pressure> {
    let last = window.last(name)?;
    // `total` counts microseconds.
    let over_window =
        |kind| window.increase(name, |text| field(text, kind, "total=")).and_then(|i| i.share(1e6));
    let over_minute = |kind| field(last, kind, "avg60=").map(|percent| Ratio(percent / 100.0));
    let pressure = Pressure {
        some: over_window("some"),
        full: over_window("full"),
        some_60s: over_minute("some"),
        full_60s: over_minute("full"),
    };
    (pressure != Pressure::default()).then_some(pressure)
}

fn field(text: &str, kind: &str, key: &str) -> Option<f64> {
    let line = text.lines().find(|l| l.split_whitespace().next() == Some(kind))?;
    let number: f64 = line.split_whitespace().find_map(|word| word.strip_prefix(key))?.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::super::testing::host;
    use super::*;

    const BEFORE: &str = "some avg10=1.00 avg60=2.50 avg300=0.10 total=1000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=40\n";
    const AFTER: &str = "some avg10=1.00 avg60=7.50 avg300=0.10 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=40\n";

    #[test]
    fn pressure_over_the_window_comes_from_the_totals() {
        let host = host(&[(0, &[("proc/pressure/cpu", BEFORE)]), (10_000, &[("proc/pressure/cpu", AFTER)])]);
        let pressure = read(Window::new(&host), "proc/pressure/cpu").unwrap();
        assert_eq!(pressure.some, Some(Ratio(0.05)));
        assert_eq!(pressure.full, Some(Ratio(0.0)));
        assert_eq!(pressure.some_60s, Some(Ratio(0.075)));
    }

    #[test]
    fn a_kernel_before_5_13_has_no_full_line_for_the_cpu() {
        let some = BEFORE.lines().next().unwrap();
        let host = host(&[(0, &[("proc/pressure/cpu", some)])]);
        let pressure = read(Window::new(&host), "proc/pressure/cpu").unwrap();
        assert_eq!((pressure.some, pressure.full, pressure.full_60s), (None, None, None));
        assert_eq!(pressure.some_60s, Some(Ratio(0.025)));
    }

    #[test]
    fn without_the_file_there_is_no_pressure_rather_than_none_of_it() {
        assert_eq!(read(Window::new(&host(&[(0, &[])])), "proc/pressure/cpu"), None);
        let damaged = host(&[(0, &[("proc/pressure/cpu", "some avg60=NaN total=-4")])]);
        assert_eq!(read(Window::new(&damaged), "proc/pressure/cpu"), None);
    }
}

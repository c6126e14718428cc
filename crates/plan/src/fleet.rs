//! From the rate of one instance to a number of machines and a price.

use intriage_case::{PerSecond, Ratio, Requests, Seconds};
use intriage_physics::queueing::{self, inside, instances, misread_gpu_formula};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ask::{Ask, Headroom};

/// The machines a load takes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Fleet {
    /// Requests a second that one instance serves within the objectives.
    pub per_instance: PerSecond<Requests>,
    /// GPUs of one instance.
    pub gpus_per_instance: u32,
    /// With no room for anything.
    pub bare: Count,
    /// With room for this share of growth in demand.
    pub for_growth: Count,
    /// With this share of the capacity spare at peak.
    pub with_spare: Count,
    /// The headroom asked for, one of the two above.
    pub needed: Count,
    /// Whether that is growth in demand rather than spare capacity.
    pub growth_asked: bool,
    /// The founding documents' formula beside the right one.
    pub misread: Misread,
    /// What is left when one instance fails.
    pub one_lost: OneLost,
    /// Price of a million output tokens at the planned rate, idle headroom included.
    pub price_per_million_output: Option<f64>,
    /// Price of a million tokens, prompts and answers together.
    pub price_per_million_tokens: Option<f64>,
    /// Price of all GPUs for an hour.
    pub price_per_hour: Option<f64>,
    /// Price of all GPUs for a month of 730 hours.
    pub price_per_month: Option<f64>,
}

/// The fleet with one instance fewer than planned.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct OneLost {
    /// Requests a second that the rest serves within the objectives.
    pub holds: PerSecond<Requests>,
    /// Whether that is still the asked peak.
    pub holds_peak: bool,
    /// Instances that hold the peak with one of them lost.
    pub needed: Count,
}

/// Hours of a month: a twelfth of 8,760.
const HOURS_A_MONTH: f64 = 730.0;

/// A number of instances.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Count {
    /// The share left free, by the meaning of its place.
    pub share: Ratio,
    /// Instances.
    pub instances: u64,
    /// GPUs.
    pub gpus: u64,
}

impl Count {
    /// `1 instance`, `8 instances`.
    pub fn instances_text(&self) -> String {
        plural(self.instances, "instance")
    }

    /// `1 GPU`, `16 GPUs`.
    pub fn gpus_text(&self) -> String {
        plural(self.gpus, "GPU")
    }
}

fn plural(n: u64, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

/// `required_GPUs = QPS × latency / QPS per GPU`, and why it is not used.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Misread {
    /// What the formula gives: seconds, not GPUs.
    pub gives: Seconds,
    /// Without the latency: GPUs, before rounding up to whole instances and before headroom.
    pub corrected_gpus: f64,
    /// Requests in flight by Little's law, where the latency belongs.
    pub in_flight: Requests,
    /// The difference in one line.
    pub says: String,
}

impl Fleet {
    /// `None` where one instance serves nothing.
    pub(crate) fn of(ask: &Ask, each: PerSecond<Requests>, gpus: u32, e2e: Seconds) -> Option<Self> {
        let peak = ask.traffic.rate;
        let (Headroom::Spare(share) | Headroom::Growth(share)) = ask.headroom;
        let count = |headroom, share| {
            let instances = instances(peak, each, headroom)?.max(1);
            Some(Count { share, instances, gpus: instances.saturating_mul(u64::from(gpus)) })
        };
        let for_growth = count(queueing::Headroom::Demand(share), share)?;
        // All of the capacity spare is no plan: growth may be asked beyond 1, spare may not.
        let kept = Ratio(share.get().min(0.99));
        let with_spare = count(queueing::Headroom::Spare(kept), kept)?;
        let needed = match ask.headroom {
            Headroom::Spare(_) => with_spare,
            Headroom::Growth(_) => for_growth,
        };
        let bare = count(queueing::Headroom::None, Ratio(0.0))?;
        let hourly = ask.price.map(|price| price * needed.gpus as f64);
        let per_million = |each: f64| hourly.map(|hourly| hourly / (peak.0.get() * each * 3600.0) * 1e6);
        let (isl, osl) = (ask.traffic.isl.get(), ask.traffic.osl.get());
        Some(Self {
            per_instance: each,
            gpus_per_instance: gpus,
            bare,
            for_growth,
            with_spare,
            needed,
            growth_asked: matches!(ask.headroom, Headroom::Growth(_)),
            misread: Misread::of(peak, each, gpus, e2e)?,
            one_lost: OneLost::of(peak, each, needed, bare, gpus),
            price_per_million_output: per_million(osl),
            price_per_million_tokens: per_million(isl + osl),
            price_per_hour: hourly,
            price_per_month: hourly.map(|hourly| hourly * HOURS_A_MONTH),
        })
    }
}

impl OneLost {
    fn of(
        peak: PerSecond<Requests>,
        each: PerSecond<Requests>,
        needed: Count,
        bare: Count,
        gpus: u32,
    ) -> Self {
        let holds = each.0.get() * needed.instances.saturating_sub(1) as f64;
        let instances = needed.instances.max(bare.instances.saturating_add(1));
        Self {
            holds: PerSecond(Requests(holds)),
            holds_peak: holds >= peak.0.get(),
            needed: Count { share: needed.share, instances, gpus: instances.saturating_mul(u64::from(gpus)) },
        }
    }
}

impl Misread {
    fn of(peak: PerSecond<Requests>, each: PerSecond<Requests>, gpus: u32, e2e: Seconds) -> Option<Self> {
        let per_gpu = PerSecond(Requests(each.0.get() / f64::from(gpus.max(1))));
        let gives = misread_gpu_formula(peak, e2e, per_gpu)?;
        let in_flight = inside(peak, e2e);
        let corrected_gpus = peak.0.get() / per_gpu.0.get();
        let says = format!(
            "{:.1} req/s × {e2e} / {:.2} req/s a GPU = {gives}: a time, not a count. Without the latency it is {corrected_gpus:.1} GPUs; \
             the latency gives the requests in flight, {:.0}, spread over them",
            peak.0.get(),
            per_gpu.0.get(),
            in_flight.get(),
        );
        Some(Self { gives, corrected_gpus, in_flight, says })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{EngineLimits, Traffic};
    use intriage_case::Tokens;

    fn ask(headroom: Headroom) -> Ask {
        Ask {
            deployed: None,
            measured: None,
            limits: EngineLimits::default(),
            traffic: Traffic::of(PerSecond(Requests(100.0)), Tokens(2000.0), Tokens(300.0)),
            objectives: Vec::new(),
            headroom,
            price: Some(2.5),
            seed: 1,
        }
    }

    fn fleet(headroom: Headroom) -> Fleet {
        Fleet::of(&ask(headroom), PerSecond(Requests(14.0)), 2, Seconds(3.0)).unwrap()
    }

    #[test]
    fn a_hundred_a_second_at_fourteen_an_instance_take_eight_nine_or_ten() {
        let plan = fleet(Headroom::Spare(Ratio(0.25)));
        assert_eq!((plan.bare.instances, plan.for_growth.instances, plan.with_spare.instances), (8, 9, 10));
        assert_eq!((plan.needed.instances, plan.needed.gpus), (10, 20));
        assert_eq!(fleet(Headroom::Growth(Ratio(0.25))).needed.gpus, 18);
    }

    #[test]
    fn the_founding_formula_gives_a_time_and_is_told_so() {
        let misread = fleet(Headroom::Spare(Ratio(0.25))).misread;
        assert!((misread.gives.get() - 100.0 * 3.0 / 7.0).abs() < 1e-9);
        assert!((misread.corrected_gpus - 100.0 / 7.0).abs() < 1e-9);
        assert_eq!(misread.in_flight, Requests(300.0));
        assert!(misread.says.contains("= 42.9 s: a time, not a count"), "{}", misread.says);
    }

    #[test]
    fn the_price_pays_for_the_headroom_too() {
        // 20 GPUs at 2.50 an hour make 100 × 300 tokens a second.
        let price = fleet(Headroom::Spare(Ratio(0.25))).price_per_million_output.unwrap();
        assert!((price - 20.0 * 2.5 / (100.0 * 300.0 * 3600.0) * 1e6).abs() < 1e-12);
        let fleet = fleet(Headroom::Spare(Ratio(0.25)));
        assert_eq!((fleet.price_per_hour, fleet.price_per_month), (Some(50.0), Some(36_500.0)));
        let all = fleet.price_per_million_tokens.unwrap();
        assert!((all - price * 300.0 / 2300.0).abs() < 1e-12);
    }

    #[test]
    fn one_lost_instance_is_counted_against_the_peak() {
        // Ten instances of 14 requests a second hold 126 with one lost.
        let spare = fleet(Headroom::Spare(Ratio(0.25))).one_lost;
        assert!((spare.holds.0.get() - 126.0).abs() < 1e-9 && spare.holds_peak);
        assert_eq!((spare.needed.instances, spare.needed.gpus), (10, 20));
        // Eight hold the peak of 100 with nothing to lose: 98 are left, so a ninth is needed.
        let bare = fleet(Headroom::Spare(Ratio(0.0))).one_lost;
        assert!((bare.holds.0.get() - 98.0).abs() < 1e-9 && !bare.holds_peak);
        assert_eq!((bare.needed.instances, bare.needed.gpus), (9, 18));
    }

    #[test]
    fn an_instance_that_serves_nothing_makes_no_fleet() {
        assert_eq!(
            Fleet::of(&ask(Headroom::Spare(Ratio(0.0))), PerSecond(Requests(0.0)), 1, Seconds(1.0)),
            None
        );
    }
}

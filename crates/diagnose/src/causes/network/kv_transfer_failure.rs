//! KV caches do not arrive where they are needed.

use intriage_case::Ratio;
use intriage_engines::{Engine, Meaning};

use crate::causes::shared::{no_line_tells, told_by_log};
use crate::causes::{Cause, Class, Layer, LookAlike, Probe, Remedy};
use crate::diagnosis::{Impact, ImpactOn};
use crate::evidence::Evidence;
use crate::lately::{death, lately};
use crate::symptoms::Aspect;
use crate::weighing::{Judgement, Test, Weighing};

pub(in crate::causes) static CAUSE: Cause = Cause {
    id: "kv-transfer-failure",
    class: Class::Network,
    layer: Layer::Network,
    hurts: &[Aspect::Errors, Aspect::Prefill, Aspect::Availability],
    summary: "The KV cache computed by one server does not reach the one that decodes, or a cache store does not give back what it holds: requests fail or compute their prompts again.",
    symptoms: &[
        "requests fail or wait for a time-out between prefill and decode",
        "prompts are computed twice",
        "lines of NIXL, Mooncake or LMCache about failed transfers or handshakes",
    ],
    confirmed_by: &["the engine's log says that a transfer or its handshake failed"],
    refuted_by: &["the log's transfer figures show only transfers that succeeded"],
    look_alikes: &[
        LookAlike { cause: "collective-transport-fallback", tell: "there transfers succeed, and take long" },
        LookAlike { cause: "engine-crash-5xx", tell: "there one of the servers died first" },
    ],
    probe: Probe {
        name: "transfer-alone",
        steps: "From the decoding machine open the other side's bootstrap and side-channel ports (nc -vz), run ib_write_bw or ucx_perftest between both, and send one request through the pair.",
        if_so: "A port is closed, or the transfer does not run.",
        if_not: "The request passes: look at what else ran on the two servers then.",
    },
    remedies: &[
        Remedy::of(
            Engine::Vllm,
            "NIXL: set VLLM_NIXL_SIDE_CHANNEL_HOST to an address the other side reaches and open VLLM_NIXL_SIDE_CHANNEL_PORT; the same vLLM, model, block size and kv-cache-dtype on both sides; UCX_NET_DEVICES for the right card",
            "a restart of both sides",
        ),
        Remedy::of(
            Engine::Sglang,
            "--disaggregation-ib-device with the right card, --disaggregation-bootstrap-port open between the machines; raise SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT while the other side loads",
            "a restart of both sides",
        ),
        Remedy::any(
            "containers need host networking or the RDMA devices with IPC_LOCK and an unlimited memlock",
            "a security review",
        ),
    ],
    effect: "Requests pass from one server to the other, and no prompt is computed twice.",
    confirm: "no new line about a failed transfer under the same load.",
    explains: &[],
    judge,
};

/// What fails where nothing counts it.
const UNCOUNTED: f64 = 0.3;

fn judge(e: &Evidence<'_>) -> Judgement {
    let impact = Impact {
        on: ImpactOn::Errors,
        share: Ratio(UNCOUNTED),
        time: None,
        says: "requests fail, or their prompts are computed again".into(),
    };
    let Some(line) = lately(e, Meaning::KvTransferFailed) else {
        return Weighing::new().requires(no_line_tells(e, "a KV transfer that failed")).conclude("", impact);
    };
    let fact = told_by_log(line, format!("{} lines say so, such as {:?}", line.count, line.excerpt));
    let mut w = Weighing::new().requires(Test::Holds(fact));
    // What a server that died could not send is an effect.
    if let Some(death) = death(e).filter(|death| line.is_after(death)) {
        let says = format!("the engine had died before: {}", death.excerpt);
        w = w.weakened_by(Test::Holds(told_by_log(death, says)));
    }
    w.conclude(format!("a KV cache could not be handed over: {}", line.excerpt), impact)
}

#[cfg(test)]
mod tests {
    use super::CAUSE;
    use crate::diagnosis::Outcome;
    use crate::testing::{Given, Place};

    const FAILED: &str = "(EngineCore pid=9) ERROR 08-17 02:47:32 [base_worker.py:1260] NIXL transfer failure: transfer_failed | Context: {'remote_engine_id': 'a'}\n";

    #[test]
    fn a_transfer_that_failed_is_told_by_the_log() {
        let alone = |log: &str| Given::vllm("0.28.0").without_scrapes().log(log);
        assert_eq!(alone(FAILED).judge(&CAUSE).outcome, Outcome::Confirmed);
        assert_eq!(alone(FAILED).place_of(&CAUSE), Place::First);
        let died = "ERROR [core.py:1] EngineCore encountered a fatal error.\n";
        assert_eq!(alone(&format!("{died}{FAILED}")).judge(&CAUSE).outcome, Outcome::Likely);
    }

    #[test]
    fn transfers_that_take_long_are_the_look_alike() {
        let slow = "Time to init xfer: 1800.31 ms\n";
        assert_eq!(
            Given::vllm("0.28.0").without_scrapes().log(slow).judge(&CAUSE).outcome,
            Outcome::CannotTell
        );
    }
}

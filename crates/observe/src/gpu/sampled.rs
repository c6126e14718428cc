//! One moment of a card: what is worth asking ten times a second.

use intriage_case::gpu::{ClockReasons, GpuSample};
use intriage_case::{Bytes, Celsius, Hertz, Ratio, Watts};
use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_MEMORY_TEMP, NVML_FI_DEV_PCIE_COUNT_RX_BYTES, NVML_FI_DEV_PCIE_COUNT_TX_BYTES,
};

use crate::clock;

/// Asked together: one call into the driver instead of three.
const FIELDS: [u32; 3] =
    [NVML_FI_DEV_MEMORY_TEMP, NVML_FI_DEV_PCIE_COUNT_TX_BYTES, NVML_FI_DEV_PCIE_COUNT_RX_BYTES];

/// Everything a moment of a card has.
pub(super) fn sample(index: usize, device: &Device<'_>) -> GpuSample {
    let [memory_temperature, sent, received] = fields(device);
    GpuSample {
        memory_clock: device.clock_info(Clock::Memory).ok().map(megahertz),
        temperature: device.temperature(TemperatureSensor::Gpu).ok().map(|c| Celsius(f64::from(c))),
        memory_temperature: memory_temperature.map(Celsius),
        memory_used: device.memory_info().ok().map(|m| Bytes(m.used as f64)),
        pcie_generation: device.current_pcie_link_gen().ok(),
        pcie_width: device.current_pcie_link_width().ok(),
        pcie_sent: sent.map(Bytes),
        pcie_received: received.map(Bytes),
        ..quick_sample(index, device)
    }
}

/// What changes from one moment to the next, and costs the driver least.
pub(super) fn quick_sample(index: usize, device: &Device<'_>) -> GpuSample {
    let util = device.utilization_rates().ok();
    let share = |percent: u32| Ratio(f64::from(percent) / 100.0);
    GpuSample {
        at: Some(clock::now()),
        index: index as u32,
        util: util.as_ref().map(|u| share(u.gpu)),
        memory_util: util.as_ref().map(|u| share(u.memory)),
        power: device.power_usage().ok().map(|milliwatts| Watts(f64::from(milliwatts) / 1e3)),
        sm_clock: device.clock_info(Clock::SM).ok().map(megahertz),
        reasons: device.current_throttle_reasons().ok().map(|reasons| ClockReasons(reasons.bits())),
        ..GpuSample::default()
    }
}

pub(super) fn megahertz(mhz: u32) -> Hertz {
    Hertz(f64::from(mhz) * 1e6)
}

fn fields(device: &Device<'_>) -> [Option<f64>; 3] {
    let mut found = [None; 3];
    let Ok(answers) = device.field_values_for(&FIELDS.map(FieldId)) else { return found };
    for (place, answer) in found.iter_mut().zip(answers) {
        *place = answer.ok().and_then(|sample| sample.value.ok()).map(|value| match value {
            SampleValue::F64(v) => v,
            SampleValue::U32(v) => f64::from(v),
            SampleValue::U64(v) => v as f64,
            SampleValue::I64(v) => v as f64,
        });
    }
    found
}

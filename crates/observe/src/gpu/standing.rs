//! A card as it stands: what changes seldom, and the counters.

use intriage_case::gpu::{
    EccErrors, GpuCard, GpuProcess, GpuVendor, HeldFor, NowAndMost, NvLink, PowerLimits,
};
use intriage_case::{Bytes, Celsius, Seconds, Watts};
use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, TemperatureThreshold};
use nvml_wrapper::enum_wrappers::nv_link::ErrorCounter;
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN,
    NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP,
    NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, NVML_FI_DEV_NVLINK_LINK_COUNT,
    NVML_FI_DEV_REMAPPED_COR, NVML_FI_DEV_REMAPPED_FAILURE, NVML_FI_DEV_REMAPPED_PENDING,
    NVML_FI_DEV_REMAPPED_UNC,
};
use nvml_wrapper::{Device, Nvml};

use super::sampled;

/// Most links any card has today; the card itself says how many it has.
const MOST_LINKS: u64 = 18;

pub(super) fn cards(nvml: &Nvml, devices: &[Device<'_>]) -> Vec<GpuCard> {
    devices.iter().enumerate().map(|(index, device)| card(nvml, index as u32, device)).collect()
}

fn card(nvml: &Nvml, index: u32, device: &Device<'_>) -> GpuCard {
    let now = sampled::sample(index as usize, device);
    let memory = device.memory_info().ok();
    let most = |clock| device.max_clock_info(clock).ok().map(sampled::megahertz);
    let threshold = |kind| device.temperature_threshold(kind).ok().map(|c| Celsius(f64::from(c)));
    GpuCard {
        index,
        vendor: Some(GpuVendor::Nvidia),
        name: device.name().ok(),
        uuid: device.uuid().ok(),
        pci: device.pci_info().ok().map(|pci| pci.bus_id),
        numa_node: device.numa_node_id().ok(),
        near_cpus: super::topology::near_cpus(device),
        memory: memory.as_ref().map(|m| Bytes(m.total as f64)),
        memory_used: memory.as_ref().map(|m| Bytes(m.used as f64)),
        util: now.util,
        sm_clock: NowAndMost { now: now.sm_clock, most: most(Clock::SM) },
        memory_clock: NowAndMost { now: now.memory_clock, most: most(Clock::Memory) },
        reasons: now.reasons,
        held_for: held_for(device),
        performance_state: device.performance_state().ok().map(|state| state.as_c()),
        power: now.power,
        power_limits: power_limits(device),
        temperature: now.temperature,
        memory_temperature: now.memory_temperature,
        slowdown_at: threshold(TemperatureThreshold::Slowdown),
        heat_left: None,
        memory_slowdown_at: threshold(TemperatureThreshold::MemoryMax),
        pcie_generation: NowAndMost { now: now.pcie_generation, most: device.max_pcie_link_gen().ok() },
        pcie_width: NowAndMost { now: now.pcie_width, most: device.max_pcie_link_width().ok() },
        pcie_replays: device.pcie_replay_counter().ok().map(u64::from),
        ecc: ecc(device),
        recovery_action: None,
        last_xid: None,
        nvlinks: nvlinks(device),
        mig: device.mig_mode().ok().map(|mode| mode.current == 1),
        compute_mode: device.compute_mode().ok().map(|mode| format!("{mode:?}")),
        persistence: device.is_in_persistent_mode().ok(),
        processes: processes(nvml, device),
    }
}

fn held_for(device: &Device<'_>) -> HeldFor {
    // The driver counts in nanoseconds.
    let of = |id| field(device, id).map(|nanos| Seconds(nanos as f64 / 1e9));
    HeldFor {
        power_cap: of(NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP),
        software_thermal: of(NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN),
        hardware_thermal: of(NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN),
        power_brake: of(NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN),
    }
}

fn power_limits(device: &Device<'_>) -> PowerLimits {
    let watts = |milliwatts: u32| Watts(f64::from(milliwatts) / 1e3);
    let range = device.power_management_limit_constraints().ok();
    PowerLimits {
        enforced: device.enforced_power_limit().ok().map(watts),
        default: device.power_management_limit_default().ok().map(watts),
        least: range.as_ref().map(|r| watts(r.min_limit)),
        most: range.as_ref().map(|r| watts(r.max_limit)),
    }
}

fn ecc(device: &Device<'_>) -> EccErrors {
    let count = |error, counter| device.total_ecc_errors(error, counter).ok();
    let flag = |id| field(device, id).map(|v| v != 0);
    EccErrors {
        enabled: device.is_ecc_enabled().ok().map(|mode| mode.currently_enabled),
        volatile_corrected: count(MemoryError::Corrected, EccCounter::Volatile),
        volatile_uncorrected: count(MemoryError::Uncorrected, EccCounter::Volatile),
        aggregate_corrected: count(MemoryError::Corrected, EccCounter::Aggregate),
        aggregate_uncorrected: count(MemoryError::Uncorrected, EccCounter::Aggregate),
        remapped_corrected: field(device, NVML_FI_DEV_REMAPPED_COR),
        remapped_uncorrected: field(device, NVML_FI_DEV_REMAPPED_UNC),
        remap_pending: flag(NVML_FI_DEV_REMAPPED_PENDING),
        remap_failed: flag(NVML_FI_DEV_REMAPPED_FAILURE),
        sram_threshold_exceeded: None,
    }
}

fn nvlinks(device: &Device<'_>) -> Vec<NvLink> {
    let count = field(device, NVML_FI_DEV_NVLINK_LINK_COUNT).unwrap_or(0).min(MOST_LINKS);
    let links = (0..count as u32).map(|link| {
        let wrapped = device.link_wrapper_for(link);
        let errors = |counter| wrapped.error_counter(counter).ok();
        NvLink {
            link,
            active: wrapped.is_active().ok(),
            replays: errors(ErrorCounter::DlReplay),
            recoveries: errors(ErrorCounter::DlRecovery),
            crc_errors: errors(ErrorCounter::DlCrcFlit),
        }
    });
    // A link nobody can say anything of is not one of this card's.
    links.filter(|link| link.active.is_some()).collect()
}

/// `None` where the driver hides the list, as it does from containers with a process space of their own.
fn processes(nvml: &Nvml, device: &Device<'_>) -> Option<Vec<GpuProcess>> {
    const NAME_BYTES: usize = 256;
    let running = device.running_compute_processes().ok()?;
    let processes = running.into_iter().map(|process| GpuProcess {
        pid: process.pid,
        name: nvml.sys_process_name(process.pid, NAME_BYTES).unwrap_or_default(),
        memory: match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Some(Bytes(bytes as f64)),
            UsedGpuMemory::Unavailable => None,
        },
    });
    Some(processes.collect())
}

/// One of NVML's numbered fields, where this card has it.
pub(super) fn field(device: &Device<'_>, id: u32) -> Option<u64> {
    let answers = device.field_values_for(&[FieldId(id)]).ok()?;
    match answers.into_iter().next()?.ok()?.value.ok()? {
        SampleValue::U32(v) => Some(u64::from(v)),
        SampleValue::U64(v) => Some(v),
        SampleValue::I64(v) => u64::try_from(v).ok(),
        SampleValue::F64(_) => None,
    }
}

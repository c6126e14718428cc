//! A case as a flat list of facts that can be compared with another's.

use std::collections::BTreeSet;

use intriage_case::Unit;
use intriage_case::gpu::GpuCard;
use intriage_engines::host::{Host, Limit, ServingProcess};
use intriage_engines::{Model, Observed};

use super::areas::Area::{self, *};
use super::areas::Weight::{self, *};
use super::settings::settings;

/// One fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) area: Area,
    pub(super) what: String,
    pub(super) value: String,
    pub(super) weight: Weight,
    /// What a bare number counts.
    pub(super) unit: Option<Unit>,
}

/// Collects facts that are known.
struct List(Vec<Entry>);

impl List {
    fn add(&mut self, area: Area, what: &str, value: Option<impl ToString>, weight: Weight) {
        let value = value.map(|v| v.to_string());
        self.0.extend(value.map(|value| Entry { area, what: what.into(), value, weight, unit: None }));
    }
}

/// Everything of a case that stays the same while nobody changes anything.
pub(super) fn facts(observed: &Observed) -> Vec<Entry> {
    let mut list = List(settings(observed));
    list.add(Engine, "engine", observed.identity.engine, High);
    list.add(Engine, "version", observed.identity.version.as_ref(), High);
    let models = observed.identity.models.join(", ");
    list.add(Engine, "served models", Some(models).filter(|m| !m.is_empty()), High);
    if let Some(model) = &observed.model {
        model_facts(&mut list, model);
    }
    gpu_facts(&mut list, observed);
    if let Some(host) = &observed.host {
        host_facts(&mut list, host);
        // The front end comes first; what limits it limits the server.
        if let Some(process) = host.processes.first() {
            limits(&mut list, process);
        }
    }
    list.0
}

fn model_facts(list: &mut List, model: &Model) {
    list.add(Model, "architecture", model.architecture.as_ref(), High);
    list.add(Model, "dtype", model.dtype.as_ref(), High);
    let none = model.configured.then(|| "none".to_owned());
    list.add(Model, "quantization", model.quantization.clone().or(none), High);
    list.add(Model, "revision", model.revision.as_ref(), Medium);
    list.add(Model, "context", model.context, Medium);
    list.add(Model, "weights", model.weight_bytes, High);
    for (file, hash) in &model.hashes {
        list.add(Model, &format!("{file} sha256"), Some(hash), High);
    }
    for template in &model.templates {
        let name = template.name.as_deref().unwrap_or("default");
        list.add(Model, &format!("chat template {name} sha256"), Some(&template.sha256), High);
    }
    for (field, value) in &model.generation {
        list.add(Model, &format!("generation_config {field}"), Some(value), High);
    }
}

fn gpu_facts(list: &mut List, observed: &Observed) {
    let gpu = &observed.gpu;
    list.add(Gpu, "cards", gpu.count, High);
    list.add(Gpu, "driver", gpu.driver.as_ref(), Medium);
    list.add(Gpu, "CUDA of the driver", gpu.cuda.as_ref(), Low);
    // Cards of one machine are mostly alike: each different value once.
    let mut each = |what: &str, weight, value: fn(&GpuCard) -> Option<String>| {
        let values: BTreeSet<String> = gpu.cards.iter().filter_map(value).collect();
        let values = values.into_iter().collect::<Vec<_>>().join(", ");
        list.add(Gpu, what, Some(values).filter(|v| !v.is_empty()), weight);
    };
    each("name", High, |c| c.name.clone());
    each("memory", High, |c| c.memory.map(|m| m.to_string()));
    each("power limit", High, |c| c.power_limits.enforced.map(|p| p.to_string()));
    each("highest SM clock", Medium, |c| c.sm_clock.most.map(|h| h.to_string()));
    each("highest PCIe generation", Medium, |c| c.pcie_generation.most.map(|g| g.to_string()));
    each("highest PCIe width", Medium, |c| c.pcie_width.most.map(|w| w.to_string()));
    each("NVLinks up", High, |c| {
        let up = c.nvlinks.iter().filter(|l| l.active == Some(true)).count();
        (!c.nvlinks.is_empty()).then(|| up.to_string())
    });
    each("MIG", High, |c| c.mig.map(switch));
    each("ECC", Medium, |c| c.ecc.enabled.map(switch));
    each("persistence", Low, |c| c.persistence.map(switch));
    each("compute mode", Low, |c| c.compute_mode.clone());
}

fn host_facts(list: &mut List, host: &Host) {
    let cpu = &host.cpu;
    list.add(Host, "processor", cpu.model.as_ref(), High);
    list.add(Host, "CPUs online", cpu.online, High);
    list.add(Host, "sockets", cpu.sockets, Medium);
    list.add(Host, "SMT", cpu.smt.map(switch), Medium);
    list.add(Host, "boost", cpu.boost.map(switch), Medium);
    let governors = cpu.governors.keys().cloned().collect::<Vec<_>>().join(", ");
    list.add(Host, "governor", Some(governors).filter(|g| !g.is_empty()), Medium);
    list.add(Host, "kernel", host.kernel.release.as_ref(), Medium);
    list.add(Host, "memory", host.memory.total, Medium);
    list.add(Host, "swap", host.memory.swap_total, Low);
    list.add(Host, "NUMA nodes", Some(host.nodes.len()).filter(|n| *n > 0), Medium);
    let iommu = host.kernel.iommus.as_ref().map(|kinds| switch(!kinds.is_empty()));
    list.add(Host, "IOMMU", iommu, Low);
}

fn limits(list: &mut List, process: &ServingProcess) {
    list.add(Limits, "open files", process.open_files_limit, Medium);
    list.add(Limits, "CPUs it may run on", process.allowed_cpus.as_ref().map(Vec::len), High);
    list.add(Limits, "shared memory", process.shm.as_ref().map(|s| s.total), Medium);
    if let Some(group) = &process.cgroup {
        // The tightest of all groups above it holds.
        let cpus = group.cpu.iter().filter_map(|g| g.limit.as_ref());
        list.add(
            Limits,
            "CPU quota",
            tightest(cpus.map(|l| at(l).map(intriage_case::Ratio::get)), "CPUs"),
            High,
        );
        let memory = group.memory.iter().filter_map(|g| g.limit.as_ref());
        list.add(
            Limits,
            "memory limit",
            tightest(memory.map(|l| at(l).map(intriage_case::Bytes::get)), "bytes"),
            High,
        );
    }
}

fn at<T: Copy>(limit: &Limit<T>) -> Option<T> {
    if let Limit::At(value) = limit { Some(*value) } else { None }
}

/// The least of the limits; `none` where all are open, and nothing where none was read.
fn tightest(limits: impl Iterator<Item = Option<f64>>, unit: &str) -> Option<String> {
    let all: Vec<Option<f64>> = limits.collect();
    let least = all.iter().flatten().copied().reduce(f64::min);
    (!all.is_empty()).then(|| least.map_or_else(|| "none".into(), |n| format!("{n} {unit}")))
}

fn switch(on: bool) -> String {
    if on { "on" } else { "off" }.into()
}

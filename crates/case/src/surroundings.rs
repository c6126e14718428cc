//! What a server will find when it starts: its program, its model's files, this machine. Facts alone; nobody is judged here.

use std::collections::BTreeMap;

use crate::Bytes;
use crate::gpu::GpuCard;

/// What a server will find when it starts. What could not be read is absent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Surroundings {
    /// Where its program lies; `None` where there is none.
    pub program: Option<String>,
    /// The Python package that runs, where it is one.
    pub package: Option<EnginePackage>,
    /// The model it is told to load.
    pub model: Option<ModelFound>,
    /// LoRA adapters it is told to load.
    pub adapters: Vec<AdapterFound>,
    /// Files its flags name: the flag, the path, and whether it is there.
    pub files: Vec<(String, String, bool)>,
    /// The GPUs of this machine; `None` where nobody could be asked.
    pub gpus: Option<Vec<GpuCard>>,
    /// Why nobody could be asked for GPUs.
    pub no_gpus: Option<String>,
    /// The newest CUDA the driver speaks, such as `13.0`.
    pub driver_cuda: Option<String>,
    /// Size of `/dev/shm`.
    pub shared_memory: Option<Bytes>,
    /// The port it will listen on, and whether somebody listens there already.
    pub port: Option<(u16, bool)>,
    /// Folders it writes into.
    pub folders: Vec<FolderFound>,
    /// Words of `flags` in `/proc/cpuinfo`, and the architecture.
    pub cpu: Option<CpuFound>,
    /// Memory of the host that can be had without swapping.
    pub memory: Option<Bytes>,
    /// Variables of the environment that decide whether a start fails, by name.
    pub variables: BTreeMap<String, String>,
    /// Whether a token for the hub is set or stored.
    pub hub_token: bool,
}

/// The engine as a package of Python.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnginePackage {
    /// Its release, such as `0.32.0`.
    pub version: String,
    /// Whether it was built for CPUs alone.
    pub cpu_only: bool,
    /// The CUDA release its PyTorch was built with, such as `12.8`.
    pub cuda: Option<String>,
    /// The release of Transformers beside it.
    pub transformers: Option<String>,
    /// Whether a word of `config.json` (architecture, model type) stands in the package's own lists.
    pub knows: BTreeMap<String, bool>,
    /// Whether plug-ins may add to what it knows.
    pub plugins: bool,
}

/// The model as its files lie here.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelFound {
    /// As the command line names it.
    pub asked: String,
    /// Where it lies.
    pub place: ModelPlace,
    /// `config.json` as it is.
    pub config: Option<String>,
    /// Files of weights.
    pub weights: Vec<WeightsFound>,
    /// Files of weights that the index names and that are not there.
    pub missing: Vec<String>,
    /// The architecture a GGUF file names.
    pub gguf_architecture: Option<String>,
    /// `params.json`, the other form of a configuration, is there.
    pub has_params: bool,
}

/// Where a model lies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ModelPlace {
    /// In this folder.
    Folder(String),
    /// It is this file.
    File(String),
    /// It is a name on a hub, and in no cache here.
    NotCached,
    /// It is a path that leads nowhere.
    #[default]
    Nowhere,
}

/// A file of weights.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightsFound {
    /// Its name.
    pub name: String,
    /// Its size on disk.
    pub size: Bytes,
    /// What is wrong with it.
    pub fault: Option<WeightsFault>,
}

/// What is wrong with a file of weights.
#[derive(Debug, Clone, PartialEq)]
pub enum WeightsFault {
    /// It is a Git LFS pointer.
    Pointer,
    /// It is shorter than its own header says.
    Cut {
        /// What the header needs.
        needs: Bytes,
    },
    /// It does not begin as such a file does.
    Foreign,
    /// It cannot be read.
    Unreadable(String),
}

/// A LoRA adapter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AdapterFound {
    /// Its name or path, as the command line has it.
    pub name: String,
    /// Its rank; `None` where its configuration cannot be read.
    pub rank: Option<u64>,
}

/// A folder a server writes into.
#[derive(Debug, Clone, PartialEq)]
pub struct FolderFound {
    /// What it is for, such as `hub cache`.
    pub what: String,
    /// The folder, or the nearest one above it that is there.
    pub path: String,
    /// Space that may be used.
    pub free: Option<Bytes>,
    /// Whether it may be written into; `None` where that cannot be told.
    pub writable: Option<bool>,
}

/// The processor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuFound {
    /// Such as `x86_64`.
    pub architecture: String,
    /// What it can, in the kernel's words.
    pub flags: Vec<String>,
}

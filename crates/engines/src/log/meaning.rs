//! What a log line means, whatever the words.

/// What a log line means, whatever the engine's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Meaning {
    // The process and its workers.
    /// The engine or a worker died.
    EngineDied,
    /// The engine or a part of it did not get through its start.
    StartFailed,
    /// The engine wrote down its input because a step failed: the cause stands near.
    CrashDump,
    /// A worker does not answer.
    WorkerSilent,
    /// A watchdog waited to its limit and calls it a hang.
    WatchdogFired,
    /// The server has started and takes requests.
    Ready,
    /// The engine was paused or put to sleep by hand.
    Paused,
    /// The process shuts down.
    ShuttingDown,
    /// Processes were killed because they did not end by themselves.
    KilledAtShutdown,
    /// Shared memory or semaphores were left behind.
    LeakedShared,
    /// An exception by its name, or a refusal of the command line: the last one often says why nothing runs.
    ErrorTold,
    /// The CUDA runtime reported an error.
    CudaError,

    // Why a start ended.
    /// The driver is older than the CUDA runtime needs, or the two do not fit.
    DriverTooOld,
    /// The fabric between GPUs is not ready: its manager does not run.
    FabricNotReady,
    /// No GPU is visible to the process.
    NoGpu,
    /// The engine found no GPU and computes on the CPU.
    RunsOnCpu,
    /// The program or a library was built without support for GPUs.
    NotBuiltForGpu,
    /// A kernel was not built for this generation of GPUs.
    NoKernelImage,
    /// The GPU cannot compute in the data type.
    DtypeUnsupported,
    /// The GPU, or this build, cannot run the quantized format.
    QuantizationUnsupported,
    /// No attention kernel fits model and GPU.
    AttentionUnsupported,
    /// The processor lacks instructions the program was built with.
    CpuInstruction,
    /// The release does not know the model's architecture.
    ModelUnknown,
    /// The model comes with code that nobody allowed to run.
    RemoteCode,
    /// The hub refuses the model: gated, private, or no such name.
    HubAuth,
    /// The hub cannot be reached, and the files are not here.
    HubUnreachable,
    /// A file of the model is missing, cut off or damaged.
    ModelFiles,
    /// An adapter has a higher rank than the server allows.
    LoraRank,
    /// Somebody else listens on the port.
    PortInUse,
    /// A disk is full.
    DiskFull,
    /// A file may not be read or written.
    PermissionDenied,
    /// The command line has a flag or a value that is not known.
    BadArgument,
    /// The configuration was refused; the line that follows says why.
    ConfigurationRefused,
    /// The context window is longer than the model allows.
    ContextBeyondModel,
    /// The model cannot be split over so many GPUs, or there are fewer.
    ParallelismUnfit,
    /// Ranks could not find each other, or a collective failed.
    CollectiveFailed,
    /// The process was killed from outside with signal 9, as the kernel and memory limits do.
    HostKilled,
    /// The process ended with the code of signal 9; who sent it is not told.
    ExitedKilled,
    /// The orchestrator killed the server because a probe failed.
    ProbeKilled,
    /// A probe that may end the server failed.
    ProbeFailed,
    /// No machine of the cluster had room for the pod.
    NotScheduled,
    /// The container's image could not be fetched.
    ImageNotPulled,
    /// The Python environment is broken: a module or a library is missing or does not fit.
    EnvironmentBroken,
    /// A process used CUDA, or started others, in a way that its start method does not allow.
    ForkedCuda,
    /// An exception of C++ that nobody caught, an abort or a segmentation fault.
    CppException,
    /// The GPU's memory had an error that was not corrected.
    GpuEcc,
    /// A KV cache could not be handed over.
    KvTransferFailed,
    /// A service that the parts of a deployment find each other through, such as etcd, does not answer.
    CoordinationUnreachable,
    /// A compiled engine file was built by another release of its library, or for another GPU.
    EngineFileUnfit,
    /// A kernel could not be compiled: a compiler, its headers or a build tool is missing.
    KernelBuild,
    /// A model was not loaded within the time its server allows.
    LoadTimedOut,
    /// The loop that answers requests failed: the server had come up.
    ServingFailed,

    // Memory.
    /// GPU memory ran out while serving or starting.
    GpuOutOfMemory,
    /// GPU memory ran out at start, while the engine tried itself out with as many requests as it may run.
    WarmupOutOfMemory,
    /// No room was left for the KV pool at start.
    NoRoomForKv,
    /// Less GPU memory was free at start than the engine was told to take: somebody else holds it.
    MemoryTaken,
    /// Free GPU memory changed while the engine measured it: another process moved.
    MemoryMoved,
    /// GPUs of one group have different amounts of free memory.
    MemoryUnbalanced,
    /// The KV pool could not hold even one request.
    KvExhausted,
    /// The size of the KV pool was forced by hand.
    KvPoolForced,
    /// A running request was thrown back for lack of KV blocks.
    Preempted,
    /// Shared memory is too small or full.
    SharedMemoryShort,
    /// The kernel killed a process for lack of host memory; the number counts kills.
    OomKilled,
    /// How many layers fit on the GPU.
    LayersOffloaded,
    /// What the memory estimate asked for and found.
    OffloadEstimate,

    // Speed.
    /// Decode runs without CUDA graphs.
    GraphsOff,
    /// The model is not compiled.
    CompileOff,
    /// A slower kernel is used than the hardware offers.
    KernelFallback,
    /// An expert kernel runs with untuned sizes; often harmless.
    MoeConfigDefault,
    /// A part of the engine was replaced by an older or slower one.
    PartFallback,
    /// A library that speeds up the CPU is not loaded.
    LibraryMissing,
    /// Something is compiled or tuned while requests wait.
    Compiling,
    /// A cached prompt was thrown away and computed again.
    PrefixLost,
    /// Prompt prefixes are not reused.
    PrefixCachingOff,
    /// How long the weights took to load.
    WeightsLoaded,
    /// Where the weights lie and how they are read.
    CheckpointStorage,
    /// How large the model is in GPU memory, and how long it took to get there.
    ModelLoaded,
    /// One file of the checkpoint takes seconds to read.
    ShardsSlow,
    /// How long it took to begin or finish a KV transfer.
    KvTransferTimed,
    /// How fast KV transfers are; the number is megabytes a second and rank.
    KvTransferRate,

    // Settings that are not what was asked for.
    /// A flag was ignored, refused or replaced.
    FlagOverridden,
    /// An environment variable nobody reads.
    VariableUnknown,
    /// The context window was made smaller to fit.
    ContextReduced,
    /// The context window is longer than the model was trained for.
    ContextBeyondTraining,
    /// The oldest tokens were dropped to make room.
    ContextShifted,
    /// A data type was changed.
    DtypeChanged,
    /// Sampling defaults come from the model's files.
    SamplingOverridden,
    /// There is no chat template.
    ChatTemplateMissing,
    /// The chat template's format was set against what was detected.
    ChatTemplateFormat,
    /// A request ran without the grammar it may have asked for.
    GrammarUnset,
    /// The periodic statistics are switched off.
    StatsOff,
    /// Endpoints meant for development are open.
    DevelopmentEndpoints,

    // Requests.
    /// A request was longer than the context window.
    PromptTooLong,
    /// A request asked for a model name that is not served.
    ModelNotServed,
    /// A prompt was cut to fit the window, and answered all the same.
    PromptTruncated,
    /// A chat template could not be rendered.
    TemplateError,
    /// A request was given up.
    RequestAborted,
    /// A request was refused because the queue is full.
    QueueFull,
    /// A router gave up waiting for the server that prepares prompts.
    RouterTimeout,

    // The host.
    /// The limit of open files is low.
    FileLimitLow,
    /// A process ran out of open files.
    FileLimitReached,
    /// How many CPU threads compute.
    ThreadsSet,
    /// Compute threads are bound to cores.
    ThreadsBound,
    /// Memory is bound to a NUMA node.
    NumaBound,
    /// The CPU quota was used up; the number counts periods.
    CpuThrottled,

    /// A processor slowed down for heat.
    CpuTooHot,
    /// A processor, memory or bus reported an error of the hardware.
    MachineCheck,
    /// A task stood still for minutes, mostly waiting for storage or a driver.
    TaskHung,
    /// A disk failed to read or write.
    StorageError,

    // GPUs and what connects them.
    /// A GPU no longer answers on its bus.
    GpuLost,
    /// The driver resets a GPU that hung.
    GpuReset,
    /// A PCIe link had an error that was not corrected.
    PcieUncorrected,
    /// A PCIe link had an error that was corrected; many of them cost bandwidth.
    PcieCorrected,
    /// The driver reported an Xid; the number is the Xid, see [`Xid`](crate::Xid).
    Xid,
    /// NCCL complains.
    NcclWarning,
    /// GPUs talk directly.
    TransportPeer,
    /// GPUs talk through host memory.
    TransportSharedMemory,
    /// GPUs talk through plain sockets.
    TransportSocket,
    /// A transport of NCCL is switched off by the environment.
    TransportForbidden,
    /// The engine's own all-reduce is not used.
    CustomAllReduceOff,
    /// PCIe access control sends traffic between GPUs through the root complex.
    AcsRedirects,

    /// A line that scares and means nothing; its row says why.
    Harmless,
}

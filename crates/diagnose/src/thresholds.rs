//! Every threshold in one table, with its reason and where it comes from.

use std::collections::BTreeMap;

use intriage_case::Unit;
use thiserror::Error;

/// Declares the thresholds once: variant, settings key, default, unit, reason, source.
macro_rules! thresholds {
    ($($variant:ident $key:literal $value:literal $unit:ident $reason:literal $source:literal;)*) => {
        /// A threshold by name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Limit {
            $(#[doc = $reason] $variant,)*
        }

        impl Limit {
            /// Every threshold, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The key in `intriage.toml`, under `[thresholds]`.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => $key,)* }
            }

            /// The value used unless the settings say otherwise.
            pub const fn default_value(self) -> f64 {
                match self { $(Self::$variant => $value,)* }
            }

            /// Its unit.
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => Unit::$unit,)* }
            }

            /// Why this value.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$variant => $reason,)* }
            }

            /// Where it comes from: engine source or documentation, or this project's own reasoning.
            pub const fn source(self) -> &'static str {
                match self { $(Self::$variant => $source,)* }
            }
        }
    };
}

thresholds! {
    MeanSample "mean_sample" 30.0 Requests "fewest finished requests to compare means: about 18 % standard error at CV 1" "own";
    P95Sample "p95_sample" 200.0 Requests "ten observations beyond the quantile" "own";
    P99Sample "p99_sample" 1000.0 Requests "ten observations beyond the quantile" "own";
    Sustained "sustained" 0.8 Ratio "share of busy scrapes in which a condition holds to be called steady; tolerates jitter" "founding document 002";
    Mostly "mostly" 0.6 Ratio "share of scrapes in which a steady state shows: gauges are read between steps and a window may begin before its load" "own; 0.75 to 0.97 seen on real engines";
    QueueShare "queue_share" 0.5 Ratio "the queue is the larger half of time to first token" "own";
    QueueTime "queue_time" 0.1 Seconds "below this a queue is one or two scheduler steps" "own";
    WaitingMatters "waiting_matters" 0.1 Ratio "share of the requests in the server that wait from which their queue is followed" "own";
    Outgrown "outgrown" 1.2 Ratio "first tokens of the window over those of finished requests from which the queue is growing" "own";
    QueueOfObjective "queue_of_objective" 0.25 Ratio "part of the first-token objective a queue may take" "own";
    PrefillShare "prefill_share" 0.5 Ratio "prefill is the larger half of time to first token" "own";
    DecodeShare "decode_share" 0.5 Ratio "the decode step is the larger half of the gap between tokens" "own";
    ClientGap "client_gap" 0.1 Seconds "a client this much later than the server has something in between" "catalogue T.gap_abs";
    ClientGapLarger "client_gap_larger" 0.06 Seconds "the same where it is the larger half of the first-token time" "own; a way round a quarter of the globe takes 60 ms";
    Compressed "compressed" 0.7 Ratio "chunks closer together than tokens are made were held back" "catalogue T.itl_compress";
    PathShare "path_share" 0.8 Ratio "connecting and the head of the answer explain the gap" "catalogue";
    FewestPieces "fewest_pieces" 8.0 Count "pieces of a streamed answer from which its flow can be told" "own";
    Flowing "flowing" 0.5 Ratio "reads over pieces of a stream below which even the direct way is clumped: two tokens a read" "own; 0.9 to 1.0 seen straight from vLLM";
    AtOnce "at_once" 2.0 Count "reads in which a short answer arrives that was held back to its end" "own; 1 seen through nginx with gzip";
    OwnTurn "own_turn" 0.5 Ratio "length of a stream over the time it waited from which it waited for its turn, and was not held back to its end" "own";
    NobodyWaits "nobody_waits" 0.5 Requests "fewer waiting than this on average is nobody" "own";
    ReplicaRoom "replica_room" 0.5 Ratio "an engine below half of its sequence cap has room for more" "own";
    EqualArrivals "equal_arrivals" 1.25 Ratio "fullest over mean engine by prompts: sharing them evenly gives no more" "own";
    UneasySilence "uneasy_silence" 5.0 Seconds "no token for this long at the end of a window is not called healthy" "own";
    RoofOk "roof_ok" 2.0 Ratio "a step within twice its lower bound is explained by it" "catalogue T.roof_ok";
    RoofBad "roof_bad" 2.6 Ratio "a step of so many times its lower bound is not explained by it" "own recordings: 1.5 to 2.5 in healthy ones; the catalogue says 3";
    OrdinaryPrompt "ordinary_prompt" 3.0 Ratio "a prompt of more than three times the median length is not an ordinary one" "own";
    PrefillTime "prefill_time" 0.5 Seconds "a shorter prefill is not felt as a wait" "own";
    ResidualShare "residual_share" 0.3 Ratio "first-token time outside queue and prefill beyond rounding" "own";
    ResidualTime "residual_time" 0.05 Seconds "a healthy tokenizer and hand-over take a few milliseconds" "own";
    KvFull "kv_full" 0.95 Ratio "admission of the next request fails slightly before 1.0" "founding document 002 (99.8 % while queueing)";
    KvFree "kv_free" 0.85 Ratio "below this the pool cannot hold back an ordinary request" "own";
    PreemptionsPerMinute "preemptions_per_minute" 1.0 EventsPerMinute "about one retraction a minute is acceptable" "SGLang tuning guide";
    PreemptionsPerRequest "preemptions_per_request" 0.01 Ratio "one request in a hundred recomputed" "own";
    ThrashEvents "thrash_events" 3.0 Events "fewest preemptions in a window to be called a thrash; one or two are an accident" "own";
    ThrashShare "thrash_share" 0.1 Ratio "a tenth of a request's life lost to stalls: the thrash, not the queue, comes first" "own";
    StallFactor "stall_factor" 8.0 Count "a gap this many times the median is a stall, not a slow step" "own";
    AtCap "at_cap" 0.85 Ratio "mean running over the sequence cap while requests wait; finished slots are refilled a step later" "own, seen 0.94 to 0.97 on real engines";
    FlatTop "flat_top" 5.0 Count "scrapes with waiting requests from which a running gauge that stays at its highest shows a cap" "own; three equal readings came by chance on a real engine";
    LogWindow "log_window" 600.0 Seconds "how far back the lines of a log are taken for the state of now, from the last one with a request in it" "own; a line every 10 s is vLLM's default";
    LogLines "log_lines" 3.0 Count "fewest lines of a log under load that show a state and not a moment" "own; vLLM writes one every 10 s";
    ShortestWindow "shortest_window" 1.0 Seconds "a shorter window shows a moment, not a state" "own";
    Quiet "quiet" 0.25 Ratio "share of the window at its end without any traffic that is worth a note" "own";
    BudgetFull "budget_full" 0.75 Ratio "mean tokens per step over the budget: steps are filled by prompts; the last piece of each prompt leaves some room" "vLLM scheduler source; 0.8 to 1 in the simulated engine";
    HeavyStep "heavy_step" 256.0 Tokens "from about here a step is compute-bound on datacentre cards, so its prompt tokens cost time" "ridge points of 150 to 400 tokens";
    HeavyStepCpu "heavy_step_cpu" 16.0 Tokens "from about here a step is compute-bound on a CPU, so a fuller batch brings little" "own; twelve streams took three times as long a token as one on two cores";
    OverDeclared "over_declared" 4.0 Ratio "median output limit over median output" "own";
    LongPrompt "long_prompt" 256.0 Tokens "a prompt worth caching: many blocks of any engine" "own";
    SharedHit "shared_hit" 0.1 Ratio "below this share of reusable prompt a low hit rate is normal" "own";
    RunawayShare "runaway_share" 0.95 Ratio "share of answers that end at the limit" "own; the catalogue asks 0.2 with a baseline, which a single window lacks";
    RunawayCap "runaway_cap" 128.0 Tokens "a shorter limit is filled by ordinary answers" "own";
    RunawaySample "runaway_sample" 5.0 Requests "fewest answers before all-at-the-limit means something" "own";
    RejectShare "reject_share" 0.012 Ratio "share of requests refused as invalid; one typo in a hundred is nobody's fault" "own";
    ErrorShare "error_share" 0.005 Ratio "share of requests that fail" "canary gate default";
    ErrorFirst "error_first" 0.05 Ratio "from this share on failures outrank slowness" "own";
    WorthNaming "worth_naming" 0.1 Ratio "share of a request's life from which a confirmed cause comes before a larger, only likely one" "own";
    SpecAccept "spec_accept" 0.4 Ratio "accepted over proposed tokens below which three or more proposals waste work" "vLLM speculation metrics";
    GpuBusyLow "gpu_busy_low" 0.6 Ratio "some kernel runs for less of the time: the card waits for the host" "own; 0.37 eager and 0.80 with graphs seen on one H200";
    GpuBusyHigh "gpu_busy_high" 0.75 Ratio "some kernel runs for at least this share of the time: the card does not wait for the host" "own; 0.80 to 1.00 with graphs seen on one H200";
    MemoryBusyLow "memory_busy_low" 0.35 Ratio "GPU memory is read or written for less of the time: bandwidth is not the limit" "own; 0.53 to 0.73 in decode and 0.30 in prefill seen on one H200";
    Several "several" 2.0 Requests "requests in the batch from which on an idle card is surprising" "own";
    FitPoints "fit_points" 8.0 Count "fewest intervals between scrapes for a line through them" "own";
    FitQuality "fit_quality" 0.7 Ratio "r squared from which on one thing is said to follow another" "own";
    FitSpread "fit_spread" 0.3 Ratio "range over mean the load must cover for a line to mean something" "own";
    SpecDepth "spec_depth" 2.5 Tokens "proposals per round from which on low acceptance wastes work" "vLLM speculation metrics";
    StallOverStep "stall_over_step" 2.0 Ratio "a silence this many times the longest step the engine is known to take" "own; a step of 12 s was seen on a healthy two-core engine";
    BurstNoise "burst_noise" 4.0 Count "standard deviations above the mean arrivals of one interval; chance stays below" "own";
    LongestPrompt "longest_prompt" 4.0 Ratio "longest over median prompt from which one request can hold up many" "catalogue";
    DeferredShare "deferred_share" 0.5 Ratio "most of the waiting requests wait for something other than room" "own";
    SmallBudget "small_budget" 2048.0 Tokens "a step budget that cuts a long prompt into many steps on a GPU" "vLLM optimisation guide (above 8192 for throughput)";
    ForeignMemory "foreign_memory" 1_073_741_824.0 Bytes "memory of a stranger on the GPU that matters; a driver context takes half as much" "own; 0.5 GiB seen missing on an empty H200";
    LongE2e "long_e2e" 10.0 Seconds "an answer people would call slow" "own";
    Throttled "throttled" 0.05 Ratio "share of scheduling periods in which a quota stopped the server: each stop stalls a step for up to 100 ms" "catalogue T.cfs";
    RunQueue "run_queue" 0.05 Ratio "share of the time a serving thread waits for a CPU that is worth a look; slow answers are blamed on it from worth_naming on" "catalogue T.runq; 0.05 to 0.06 seen at a healthy engine on two cores, 0.27 beside four busy loops";
    CpuPressure "cpu_pressure" 0.2 Ratio "share of the time something on the machine waits for a CPU that is worth a look" "own; PSI some: 0 seen on an idle machine, 0.3 to 0.5 on two cores beside builds";
    SwapPages "swap_pages" 100.0 Count "pages a second to or from swap at which serving is disturbed: 0.4 MB/s; fewer may be what was swapped long ago coming back" "own";
    LinkFull "link_full" 0.6 Ratio "PCIe traffic over what the slowed link carries: near its ceiling" "catalogue";
    LinkIdle "link_idle" 0.1 Ratio "PCIe traffic over what the slowed link carries: it does not matter" "catalogue";
    FigureDiffers "figure_differs" 0.1 Ratio "two windows of one server under one load differ by less" "own";
    Stolen "stolen" 0.05 Ratio "share of the processors a hypervisor gives to others" "own";
    SegmentsLost "segments_lost" 0.005 Ratio "share of TCP segments sent again from which loss is felt" "catalogue (network-path-latency)";
    SmallShm "small_shm" 68_157_440.0 Bytes "65 MiB: Docker's default /dev/shm of 64 MiB is too small for several GPUs" "vLLM and NCCL documentation";
    ShmLeft "shm_left" 0.02 Ratio "free share of /dev/shm below which it is full" "own";
    FilesUsed "files_used" 0.8 Ratio "open files over their limit from which the next ones may be refused" "own";
    MemoryStall "memory_stall" 0.01 Ratio "share of the time in which everything waits for memory: any is seen in tokens" "catalogue T.psi_mem";
    ClockEvent "clock_event" 0.05 Ratio "share of busy moments with a slowdown bit; bits also flicker when clocks change" "catalogue T.clock_event (NVML)";
    HeatMargin "heat_margin" 3.0 Celsius "distance from the slowdown temperature at which nothing is left" "catalogue";
    AtPowerLimit "at_power_limit" 0.95 Ratio "board power over its limit: as much as the card may draw" "own; 0.99 under full load seen on one H200";
    LoadedSamples "loaded_samples" 3.0 Count "fewest busy moments before a slow link is called slow under load" "catalogue";
    WornMemory "worn_memory" 4.0 Events "uncorrected memory errors in a card's life beyond which vendors replace it" "catalogue (MLE-dbg)";
    ClockDrop "clock_drop" 0.85 Ratio "SM clock over its highest: below normal boost variation" "own";
    IdlePower "idle_power" 0.4 Ratio "board power over its limit: the card does little work" "own; 0.17 idle and 0.6 to 0.9 under load seen on one H200";
    ColdSeconds "cold_seconds" 120.0 Seconds "first two minutes of a process" "own";
    ColdFactor "cold_factor" 5.0 Ratio "first answers this many times slower than later ones" "own";
    StallSeconds "stall_seconds" 15.0 Seconds "no token for so long while requests run; several scrapes" "own; the catalogue's 60 s is too long for a 30 s window";
    BurstPeak "burst_peak" 3.0 Ratio "peak over mean arrivals; Poisson stays well below" "vllm bench burstiness";
    Growth "growth" 0.05 Ratio "arrivals above completions by this share of arrivals" "GuideLLM over-saturation test";
    FlickerWaits "flicker_waits" 0.3 Requests "fewer waiting than this on average on the fullest of several engines is chance" "own; drawn cases";
    BoundError "bound_error" 0.85 Ratio "measured step over a computed bound down to which the bound is taken as met: the live context behind it is an estimate" "own";
    GraphLines "graph_lines" 10.0 Events "decode lines without CUDA graphs from which they are the rule: at its start an engine decodes a few so" "own";
    ClumpCost "clump_cost" 0.2 Ratio "part of the mean first token by which clumps make it later, from which they explain it" "own";
    Clumps "clumps" 2.0 Ratio "variance over mean of the arrivals in an interval from which they are not even; chance gives 1" "own";
    Skew "skew" 1.5 Ratio "fullest over mean engine: beyond random assignment" "own";
    Little "little" 0.25 Ratio "disagreement of N and X times R beyond window effects" "own";
    ItlSpread "itl_spread" 3.0 Ratio "p99 over median gap between tokens that is a stutter" "own";
    HangLines "hang_lines" 3.0 Events "lines about a worker that does not answer from which on it is no slow load" "vLLM writes one a minute; loads of two minutes were seen";
    PoolHoldsMany "pool_holds_many" 8.0 Requests "requests that run side by side in a full pool from which it is not the weights that leave too little" "own";
    ConcurrencyRoom "concurrency_room" 2.0 Requests "full-length requests the pool must hold at least" "founding document 002 (1.83)";
    Underbatched "underbatched" 0.3 Ratio "mean running over the sequence cap below which a batch job leaves room" "own";
    PrefixLost "prefix_lost" 3.0 Events "times the engine says that it computes a whole prompt again; once is a new conversation" "own";
    Straggler "straggler" 0.1 Ratio "a card's SM clock below the middle of its group: every exchange waits for the slowest" "catalogue T.straggler";
    FarFromGpu "far_from_gpu" 0.5 Ratio "share of a worker's memory or time on another node than its GPU" "catalogue (numa-misplacement)";
    FarCost "far_cost" 0.15 Ratio "part of a step that distance from the GPU can cost at most" "catalogue (numa-misplacement); 0.02 measured in 1CatAI/1Cat-vLLM#678";
    LargeWeights "large_weights" 2e10 Bytes "weights from which the storage decides how long a start takes" "catalogue (slow-model-storage)";
    SlowStorage "slow_storage" 1e9 Bytes "bytes a second: weights read more slowly keep a start waiting for storage" "catalogue (slow-model-storage)";
    SlowShard "slow_shard" 5.0 Seconds "a file of a checkpoint holds up to 5 GB: at 1 GB/s it takes no longer" "own, from slow_storage";
    StorageFaults "storage_faults" 1000.0 Events "page faults a second that wait for storage: weights come in small pieces" "own; 18,000 against 2 with prefetch in sgl-project/sglang#37806";
    FewestFailures "fewest_failures" 2.0 Requests "probes through a hop that fail, none that does not, from which it lets none through" "own";
    CutSample "cut_sample" 20.0 Requests "failed requests from which one duration is sure" "catalogue (proxy-timeout-or-keepalive-race)";
    CutFew "cut_few" 4.0 Count "moments at which requests failed after one duration, from which that is likely no chance" "own; four equal within 2 % come by chance once in 10,000 where durations differ by half";
    CutSpread "cut_spread" 0.02 Ratio "failed requests this close to one duration were cut by a clock" "catalogue (proxy-timeout-or-keepalive-race)";
    ShortestCut "shortest_cut" 1.0 Seconds "a failure before is a refusal or a broken connection, not a time-out" "own";
    ResetSample "reset_sample" 5.0 Requests "connections lost at once from which old and new ones can be compared" "own";
    SlowTransfer "slow_transfer" 0.1 Seconds "starting to move a KV cache over the right transport takes a millisecond" "own; 1.8 s over TCP and 0.2 ms over RDMA in ai-dynamo/dynamo#1314";
    SlowTransferRate "slow_transfer_rate" 1e9 Bytes "bytes a second and rank: a KV cache that moves more slowly goes over TCP" "own; 0.5 GB/s over TCP and 49 GB/s between GPUs in vllm-project/vllm#52607, 4.3 GB/s over RDMA in #50913";
    SendLag "send_lag" 0.05 Seconds "a client that sends this much later than planned is busy with itself" "catalogue (client-side-bottleneck)";
    Shift "shift" 0.25 Ratio "change of the mean length or rate from the first half of a window to the second" "catalogue T.shift";
    GivenUp "given_up" 0.02 Ratio "share of requests their clients gave up" "catalogue T.abort";
    Repeats "repeats" 0.05 Ratio "share of requests that repeat an earlier one" "catalogue (retry-storm)";
    FewRepeats "few_repeats" 0.01 Ratio "fewer repeats than this do no harm" "catalogue (retry-storm)";
    TracedRequests "traced_requests" 20.0 Requests "requests whose time before the call is known" "catalogue (upstream-pipeline-latency)";
    OldEvent "old_event" 86_400.0 Seconds "a line of the kernel's log this long before the window is of another day: the log reaches back to the start of the machine" "own; longer than any zone is from UTC";
    BeforeStart "before_start" 600.0 Seconds "a fault this long before the server started did not end the one before it: a supervisor starts the next within minutes" "own; Kubernetes waits at most 5 minutes between restarts";
    QueueFelt "queue_felt" 0.05 Seconds "mean queue from which it is felt: below 2 ms in every healthy recording, above 75 ms wherever queueing is the fault" "own recordings";
    SegmentShare "segment_share" 0.2 Ratio "share of the account from which a part is a large one" "Linux perf top-down: 15 to 20 % at the first level";
    WaitingShare "waiting_share" 0.25 Ratio "share of the requests in the server that wait, where no times are kept" "own";
    StretchWait "stretch_wait" 0.5 Seconds "mean wait inside a stretch of the window from which the stretch is felt" "own";
    StretchLooks "stretch_looks" 2.0 Count "looks in a row that show a queue; one is a gauge read between two steps" "own";
    StretchRequests "stretch_requests" 3.0 Requests "waiting at once in a stretch; fewer come and go with every step" "own";
    Recovery "recovery" 10.0 Seconds "time after a burst in which a service made for bursts has no queue again" "own";
    PrefillOverFloor "prefill_over_floor" 4.5 Ratio "mean prefill over computing the prompt at the peak rate; 2.1 to 4.4 in healthy recordings" "own; H200";
    PrefillExcess "prefill_excess" 0.2 Seconds "time above the floor of a prefill that is felt at all: a full server adds 150 ms to prompts of 1,700 tokens" "own; GuideLLM asks chats for 200 ms to the first token";
    AvoidablePrefill "avoidable_prefill" 0.1 Seconds "time above the floor of a prefill that a larger token budget would save" "own";
    CachedPrefill "cached_prefill" 0.075 Seconds "a prefill this long is worth a prefix cache" "own; one H200 recording: 93 ms, and first tokens came three times as fast with the cache";
    ManySteps "many_steps" 8.0 Events "steps a prompt is cut into from which the budget costs more than the prompt" "own; vLLM's default budgets cut 8,000 tokens into one to four";
    CutOverFloor "cut_over_floor" 3.0 Ratio "mean prefill over computing the prompt at the peak rate, where a small budget cuts it into many steps" "own; drawn cases";
    PublishedTtft "published_ttft" 2.0 Seconds "p95 of the first token of a chat service" "MLPerf Inference, conversational: 2 s at p99";
    LongestTtft "longest_ttft" 10.0 Seconds "mean first token that nobody calls well, whatever the machine" "own; MLPerf's loosest is 6 s at p99";
    TokenOverFloor "token_over_floor" 2.6 Ratio "mean gap between tokens over its floor: 1.5 to 2.5 in healthy H200 recordings, 2.6 to 6 in faulty ones" "own recordings; Splitwise: 1.25 to 1.5 times the uncontended request";
    TokenExcess "token_excess" 0.004 Seconds "time above the floor of a token that matters: small models are bound by their host and fast all the same" "own";
    StallShare "stall_share" 0.4 Ratio "share of a token's time that is stalls: below 0.3 in healthy recordings, above 0.4 in faulty ones" "own recordings";
    TornGap "torn_gap" 7.0 Ratio "99th percentile over median gap between tokens that hurts where a few prompts are far longer than the rest" "own recordings: up to 5 in healthy ones with unequal prompts, 19 with every tenth prompt of 12,000 tokens; 7 by drawn cases";
    TornGapTime "torn_gap_time" 0.1 Seconds "a pause between two tokens that is seen" "own; human perception of a delay";
    TornShare "torn_share" 0.6 Ratio "share of a token's time that is stalls and prompts together" "own recordings";
    PublishedItl "published_itl" 0.2 Seconds "p95 of the gap between tokens of a chat service, the loosest published" "MLPerf Inference, Llama-2-70B conversational: 200 ms at p99";
    AbortShare "abort_share" 0.05 Ratio "share of requests given up by their clients that hurts; one in fifty changes its mind" "own";
    FewestRefusals "fewest_refusals" 3.0 Requests "fewest refusals that a log of a server at work must tell of; fewer are one client trying" "own";
    FewestAborts "fewest_aborts" 3.0 Requests "fewest requests given up; fewer are a gauge that is a step old" "own";
    NearPowerLimit "near_power_limit" 0.85 Ratio "board power over its limit, mean over a load that comes and goes: the card slows down by design" "own; 0.29 at a locked clock, 0.99 under full load seen on one H200";
    ForeignContext "foreign_context" 419_430_400.0 Bytes "memory of a second process on the GPU that computes: a bare driver context takes less" "own; a process that multiplies matrices held 1002 MiB on an H200";
    LockedClock "locked_clock" 0.75 Ratio "SM clock over its highest, without heat and far from the power limit: only a lock explains it" "own; 0.30 and 0.45 seen locked, 0.95 to 1.0 free on an H200";
    BusyEnough "busy_enough" 0.3 Ratio "share of time with a kernel from which a card holds its boost clock" "own; 0.37 at 1980 MHz seen on an H200";
    BurstsQueue "bursts_queue" 0.8 Ratio "part of all waiting that lies behind one burst: the burst is the cause, whatever limit its crowd met" "own";
    SlowerThanCalm "slower_than_calm" 1.5 Ratio "a stretch of the window over its calm part" "Splitwise: p90 within 1.5 times the uncontended token time";
    OthersCpu "others_cpu" 0.5 Count "CPUs that others than the server use from which they can be what it waits for" "own; a load generator on the same machine used 0.1 to 0.4";
    CostlyPrompt "costly_prompt" 1000.0 Tokens "computing so many takes a datacentre card a step or two of decoding" "own";
    BatchOverFloor "batch_over_floor" 4.0 Ratio "ordinary step of a batch job over its floor: prompts in it cannot be told apart" "own; drawn batch jobs reach 3.5";
    DraftsWasted "drafts_wasted" 0.15 Ratio "accepted over drafted tokens below which speculation costs more than it gives at any batch" "own; 1.6 times slower with none accepted on an H200";
    DraftsOften "drafts_often" 0.5 Ratio "rounds of speculation over output tokens from which they cost something; n-gram drafts come only where the text repeats" "own; 0.02 seen on an H200 with no harm";
    EagerToken "eager_token" 0.01 Seconds "a token this slow without CUDA graphs is worth them" "own; 6 ms with and 15 to 21 ms without graphs on an H200";
    PromptsOverFloor "prompts_over_floor" 3.0 Ratio "mean gap between tokens over its floor from which prompts and stalls in it hurt: some are the price of any traffic" "own recordings: up to 2.5 in healthy ones, 3.6 and more in faulty ones";
    BeforeShare "before_share" 0.5 Ratio "share of the user's first-token time spent before the call" "catalogue (upstream-pipeline-latency)";
    ChangeChance "change_chance" 0.001 Ratio "probability by Student's t that a series changed its level by chance" "Apache Otava's default";
    ChangeSide "change_side" 5.0 Count "samples on each side of a change of level that is sure" "own; five and five differ by chance in 0.8 % of the cases by the exact Mann-Whitney test";
    ChangeSuspected "change_suspected" 3.0 Count "samples on each side of a change of level that is suspected; fewer are a spike" "own";
    ChangeSize "change_size" 0.25 Ratio "least change of level that is told, as a part of the smaller one" "own; steps of a healthy engine drift by up to 0.22 within a minute";
    Standstill "standstill" 3.0 Seconds "no token for so long, and then again, is told as a standstill" "own; shorter ones are stalls, which the gaps between tokens show";
    StepExplains "step_explains" 0.7 Ratio "part of a silence that the prompts computed behind it explain: a long step and no standstill" "own; 1 and more seen on slow engines";
    UsualGap "usual_gap" 0.01 Ratio "share of all gaps between tokens half as long as a silence, from which on such a silence is usual here" "own";
    ScrapeHole "scrape_hole" 3.0 Ratio "time between two scrapes over the usual one from which on scrapes are missing" "own";
    BurstLeast "burst_least" 10.0 Requests "fewest requests that are called a burst" "own";
    HeldUp "held_up" 4.0 Ratio "half of the first tokens over the fastest tenth, with prompts as long" "own recordings: 1.1 to 3.1 in healthy ones on CPU and H200, 4.8 and more where something holds them up";
    HeldUpSample "held_up_sample" 10.0 Requests "fewest first tokens whose tenth and half can be compared" "own";
    HeldUpTail "held_up_tail" 6.0 Ratio "slowest twentieth of the first tokens over the fastest tenth, with prompts of about one length" "Splitwise allows 3 times the uncontended request at p90 and 6 at p99";
    HeldUpTailExcess "held_up_tail_excess" 0.15 Seconds "how much later the slowest twentieth must come to be felt" "own; GuideLLM asks chats for 200 ms to the first token";
    HeldUpTailSample "held_up_tail_sample" 40.0 Requests "fewest first tokens with two in the slowest twentieth" "own";
    AlikePrompts "alike_prompts" 2.0 Ratio "middle over shortest tenth of the prompt lengths that count as alike" "own";
    PieceSteps "piece_steps" 3.0 Count "steps behind a silence in which a prompt that was read in pieces is booked" "own; two seen on a CPU with prompts of 2,600 tokens";
    BurstLate "burst_late" 0.15 Seconds "first tokens behind a burst this much later than in the calm are felt" "own; 40 ms more on an H200 that takes bursts in its stride";
    BurstFelt "burst_felt" 2.0 Ratio "arrivals of an interval over the usual ones that are a burst where they had to wait" "own; 1.8 to 2.5 seen in drawn cases whose first tokens took four times as long";
    BurstFeltNoise "burst_felt_noise" 4.0 Count "standard deviations above the usual arrivals where they had to wait" "own";
    BurstWait "burst_wait" 3.0 Ratio "first tokens of an interval over the usual ones that had to wait" "own";
    WarmUpTime "warm_up_time" 0.2 Seconds "first answers that take less than this longer than later ones are not felt" "own";
    NewFactor "new_factor" 3.0 Ratio "first answers of a process that has never answered this many times slower than later ones" "own; cold_factor is for one that was idle";
    MissedArrivals "missed_arrivals" 5.0 Requests "requests that should have come at the pace of before and did not: the load has ended" "own; chance of none is 0.7 %";
    DrainArrivals "drain_arrivals" 0.25 Ratio "arrivals over the usual ones below which a load is ending" "own";
    BetweenWaves "between_waves" 1.5 Ratio "time without arrivals over the longest one between two waves of clients from which the load has ended" "own";
    KeepsCrowd "keeps_crowd" 0.7 Ratio "part of the requests in the server that stays where clients ask anew when they are answered" "own";
    BurstSeen "burst_seen" 0.25 Ratio "part of those that came in a burst that must be seen in the server" "own";
    AsBefore "as_before" 1.2 Ratio "waiting requests over those before a burst at which it is over" "own";
    BehindSilence "behind_silence" 3.0 Ratio "first tokens behind a silence over the usual ones: they waited through it" "own";
    NextToNothing "next_to_nothing" 0.005 Ratio "share of a request's life that a likely cause costs, below which it explains nothing larger" "own";
    MuchLarger "much_larger" 3.0 Ratio "a part without a cause over the part with one, from which that cause is no answer" "own";
    GraphsSave "graphs_save" 0.25 Ratio "part of a step that CUDA graphs save where nothing was read off the card" "own; 0.2 to 0.5 seen on an H200";
    OneStep "one_step" 0.25 Ratio "first tokens this near to the length of one step came when it began; those of an even load are half a step off" "own; set on two recordings of one slow CPU, fixtures/blind/cpu-one-step among them";
    OneMoment "one_moment" 1.5 Ratio "requests of two steps that came within this many intervals came at once" "own; 0.8 s apart and counted 3 and 4 s apart on a slow CPU";
    LongestStep "longest_step" 1.0 Seconds "mean time between two steps that nobody calls well, whatever the machine" "own; MLPerf's loosest gap between tokens is 0.2 s";
    BacklogGrowth "backlog_growth" 1.4 Ratio "requests in the server in the last third of a load over the second from which they pile up" "own; 1.7 where they grow evenly from none";
    BacklogCollapse "backlog_collapse" 4.0 Ratio "first tokens, or tokens, of the last third over those of the first from which a server that still fills has collapsed" "own; one CPU recording";
    BacklogTimes "backlog_times" 2.0 Ratio "first tokens, or tokens, of the last third over those of the first that are felt" "own; harm counts from twice the control";
    LoadGrew "load_grew" 1.1 Ratio "arrivals over those of before from which on more load explains more time" "own";
}

/// The thresholds in force: the table with the settings' changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Thresholds {
    changed: BTreeMap<Limit, f64>,
}

/// Why a threshold cannot be changed.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ThresholdError {
    /// No such key.
    #[error("there is no threshold called {key:?}; known: {known}")]
    Unknown {
        /// The key given.
        key: String,
        /// The keys there are.
        known: String,
    },
    /// Not a usable number.
    #[error("threshold {key} must be a positive number, not {value}")]
    Value {
        /// The key given.
        key: String,
        /// The value given.
        value: f64,
    },
}

impl Thresholds {
    /// The value in force.
    pub fn get(&self, limit: Limit) -> f64 {
        self.changed.get(&limit).copied().unwrap_or(limit.default_value())
    }

    /// Changes one threshold by its settings key.
    pub fn set(&mut self, key: &str, value: f64) -> Result<(), ThresholdError> {
        let limit = Limit::ALL.iter().copied().find(|l| l.key() == key).ok_or_else(|| {
            let known: Vec<&str> = Limit::ALL.iter().map(|l| l.key()).collect();
            ThresholdError::Unknown { key: key.to_owned(), known: known.join(", ") }
        })?;
        if !(value.is_finite() && value > 0.0) {
            return Err(ThresholdError::Value { key: key.to_owned(), value });
        }
        self.changed.insert(limit, value);
        Ok(())
    }

    /// The thresholds the settings changed.
    pub fn changed(&self) -> impl Iterator<Item = (Limit, f64)> + '_ {
        self.changed.iter().map(|(l, v)| (*l, *v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_threshold_is_used_and_an_unknown_one_refused() {
        let mut t = Thresholds::default();
        t.set("kv_full", 0.9).unwrap();
        assert_eq!(t.get(Limit::KvFull), 0.9);
        assert_eq!(t.get(Limit::KvFree), 0.85);
        assert!(t.set("kv_fulll", 0.9).unwrap_err().to_string().contains("kv_full,"));
        assert!(t.set("kv_full", f64::NAN).is_err());
    }

    #[test]
    fn every_threshold_has_a_reason_and_a_source() {
        for limit in Limit::ALL {
            assert!(!limit.reason().is_empty() && !limit.source().is_empty(), "{}", limit.key());
        }
    }
}

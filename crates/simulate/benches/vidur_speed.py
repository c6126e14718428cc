"""How many requests a minute vidur 0.0.26 gets through on the workload of `speed.rs`.

vidur looks step times up in tables that it learns from profiles on the Hugging Face hub. Nothing here needs the hub:
the tables are written from the step time of `speed.rs` into a local hub cache, where vidur finds them by itself. Its own
code runs unchanged. Only `Simulator.run` is timed, not the reading of the tables.

Usage: vidur_speed.py REQUESTS FOLDER [metrics]. With `metrics` it also keeps its request and batch metrics.
"""

import logging
import os
import random
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import pandas
from vidur.config.config import (
    CacheConfig,
    ClusterConfig,
    MetricsConfig,
    RandomForrestExecutionTimePredictorConfig,
    ReplicaConfig,
    SarathiSchedulerConfig,
    SimulationConfig,
    StaticRequestIntervalGeneratorConfig,
    SyntheticRequestGeneratorConfig,
    TraceRequestLengthGeneratorConfig,
)
from vidur.entities import Batch
from vidur.execution_time_predictor.sklearn_execution_time_predictor import SklearnExecutionTimePredictor
from vidur.simulator import Simulator

SEQUENCES, TOKEN_BUDGET, BLOCKS, BLOCK_TOKENS = 256, 2048, 26_875, 16
BASE, PER_PROMPT_TOKEN, PER_SEQUENCE, PER_CONTEXT_TOKEN = 6.3e-3, 24e-6, 14e-6, 45e-9
CONTEXT, CONTEXT_STEP, CHUNK_STEP = 4096, 256, 32


def main() -> None:
    requests, folder = int(sys.argv[1]), os.path.abspath(sys.argv[2])
    metrics = "metrics" in sys.argv[3:]
    os.makedirs(folder, exist_ok=True)
    logging.getLogger("vidur").setLevel(logging.ERROR)
    config = configure(requests, folder, metrics)
    write_tables(config)
    simulator = Simulator(config)
    arrivals = [event._request for _, event in simulator._event_queue]

    start = time.perf_counter()
    simulator.run()
    wall = time.perf_counter() - start

    answered = sum(request.completed for request in arrivals)
    # A new batch gets the next number.
    batches = Batch.generate_id()
    batch = sum(request.num_processed_iterations for request in arrivals) / batches
    tokens = sum(request.num_prefill_tokens + request.num_decode_tokens for request in arrivals)
    name = "vidur 0.0.26, metrics" if metrics else "vidur 0.0.26"
    print(
        f"{name}\t{answered}\t{wall:.3f}\t{answered / wall * 60:.0f}\t{batch:.1f}\t{tokens / wall:.0f}"
        f"\t{simulator._time / wall:.1f}"
    )


def configure(requests: int, folder: str, metrics: bool) -> SimulationConfig:
    draw = random.Random(1).randint
    lengths = [(draw(256, 768), draw(64, 192)) for _ in range(requests)]
    trace = f"{folder}/lengths.csv"
    pandas.DataFrame(lengths, columns=["num_prefill_tokens", "num_decode_tokens"]).to_csv(trace, index=False)
    return SimulationConfig(
        log_level="error",
        cluster_config=ClusterConfig(
            replica_config=ReplicaConfig(num_pipeline_stages=1, tensor_parallel_size=1),
            cache_config=CacheConfig(block_size=BLOCK_TOKENS, num_blocks=BLOCKS),
            replica_scheduler_config=SarathiSchedulerConfig(batch_size_cap=SEQUENCES, chunk_size=TOKEN_BUDGET),
        ),
        request_generator_config=SyntheticRequestGeneratorConfig(
            length_generator_config=TraceRequestLengthGeneratorConfig(trace_file=trace, max_tokens=CONTEXT),
            # All at once: it has no closed loop, and a full queue keeps the batch full.
            interval_generator_config=StaticRequestIntervalGeneratorConfig(),
            num_requests=requests,
        ),
        execution_time_predictor_config=RandomForrestExecutionTimePredictorConfig(
            prediction_max_batch_size=SEQUENCES,
            prediction_max_prefill_chunk_size=TOKEN_BUDGET,
            prediction_max_tokens_per_request=CONTEXT,
            kv_cache_prediction_granularity=CONTEXT_STEP,
            attention_decode_batching_overhead_fraction=0.0,
            cache_dir=f"{folder}/cache",
            # Its C++ one, the faster of the two.
            use_native_execution_time_predictor=True,
        ),
        metrics_config=MetricsConfig(
            write_metrics=metrics,
            enable_chrome_trace=False,
            store_plots=False,
            store_utilization_metrics=False,
            output_dir=f"{folder}/output",
        ),
    )


def write_tables(config: SimulationConfig) -> None:
    """Every operation of a layer by what it depends on, in milliseconds; what the step time does not know is zero."""
    replica = config.cluster_config.replica_config
    ms = 1e3 / replica.num_layers_per_pipeline_stage
    tokens = range(1, CONTEXT + 1)
    contexts = range(0, CONTEXT + 1, CONTEXT_STEP)
    chunks = range(CHUNK_STEP, TOKEN_BUDGET + 1, CHUNK_STEP)
    free = "attn_post_proj mlp_up_proj mlp_down_proj mlp_act attn_rope attn_kv_cache_save input_layernorm " \
        "post_attention_layernorm add"
    tables = {name: [(n, 0.0) for n in tokens] for name in free.split()}
    tables["attn_pre_proj"] = [(n, BASE * ms) for n in tokens]
    tables["attn_decode"] = [
        (n, context, (PER_SEQUENCE + PER_CONTEXT_TOKEN * context) * n * ms)
        for n in range(1, SEQUENCES + 1)
        for context in contexts
    ]
    tables["attn_prefill"] = [
        (context, chunk, (PER_SEQUENCE + PER_PROMPT_TOKEN * chunk + PER_CONTEXT_TOKEN * (context - chunk)) * ms)
        for context in contexts
        for chunk in chunks
    ]
    # Asked without running it: the names under which it looks for its tables.
    predictor = SklearnExecutionTimePredictor.__new__(RandomForestNames)
    predictor._config, predictor._replica_config = config.execution_time_predictor_config, replica
    predictor._block_size, predictor._max_tokens, predictor._is_multi_node = BLOCK_TOKENS, CONTEXT, False
    cache = f"{config.execution_time_predictor_config.cache_dir}/hf_predictions"
    put(f"{cache}/compute", predictor._get_compute_prediction_repo_id(), tables)
    put(f"{cache}/network", predictor._get_network_prediction_repo_id(), {})


class RandomForestNames(SklearnExecutionTimePredictor):
    """Abstract methods filled in, none of them called."""

    def _get_grid_search_params(self): ...
    def _get_estimator(self): ...
    def _get_kv_parallel_communication_time(self, batch): ...


def put(cache: str, repository: str, tables: dict[str, list[tuple]]) -> None:
    """A dataset as the hub's client keeps it."""
    commit = "0" * 40
    root = f"{cache}/datasets--{repository.replace('/', '--')}"
    snapshot = f"{root}/snapshots/{commit}"
    os.makedirs(f"{root}/refs", exist_ok=True)
    os.makedirs(snapshot, exist_ok=True)
    with open(f"{root}/refs/main", "w") as ref:
        ref.write(commit)
    for name, rows in tables.items():
        columns = [f"X_{i}" for i in range(len(rows[0]) - 1)] + ["prediction"]
        pandas.DataFrame(rows, columns=columns).to_csv(f"{snapshot}/{name}.csv.xz", index=False)


if __name__ == "__main__":
    main()

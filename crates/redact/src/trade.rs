//! Words of the trade: a machine may be called like one, and then the name tells less than the evidence it stands in.

/// Shortest name that is looked for everywhere, in bytes: shorter ones stand in too many words.
const SHORTEST: usize = 3;

/// Whether a name is looked for wherever it stands: not where every part of it is a word that logs, metrics or paths
/// are made of. `vllm` and `llama-server` are none; `gpu-7` and `vllm7` are.
pub(crate) fn is_name_of_its_own(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let parts = || lower.split(['-', '_', '.']).filter(|part| !part.is_empty());
    lower.len() >= SHORTEST
        && lower.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !parts().all(|part| WORDS.iter().any(|(_, words)| words.split_whitespace().any(|w| w == part)))
}

/// The words by where they come from; in lower case, apart by blanks.
const WORDS: [(&str, &str); 7] = [
    (
        "engines and what they are built of",
        "vllm sglang sgl tgi ollama llama llamacpp cpp ggml gguf lmdeploy turbomind tensorrt trt trtllm llm triton \
        dynamo ray rayserve kserve torch pytorch transformers huggingface hf nccl rccl nixl lmcache mooncake flashinfer \
        flash attention xformers cutlass cuda cudnn cublas rocm hip python python3 uvicorn fastapi gunicorn nginx envoy \
        haproxy traefik litellm langchain openai anthropic serve serving server router engine core api apiserver \
        enginecore worker scheduler executor proxy gateway frontend backend client runner launcher operator",
    ),
    (
        "model families",
        "qwen qwen2 qwen3 deepseek mistral mixtral gemma gemma2 gemma3 phi phi3 phi4 falcon yi glm chatglm kimi gpt oss \
        bloom opt mamba jamba granite nemotron olmo internlm baichuan minicpm command cohere grok whisper llava bert \
        instruct chat base coder vision embed embedding reward meta nvidia amd intel google microsoft",
    ),
    (
        "log levels and words before a line",
        "info warn warning error err debug trace fatal critical notice panic stdout stderr stdin main level log logs \
        kernel systemd sshd sudo cron docker dockerd containerd kubelet journal syslog audit",
    ),
    (
        "words of metric names",
        "num requests request running waiting swapped queue queued time seconds total count sum bucket tokens token \
        prompt generation cache usage perc hit hits rate block blocks size bytes memory mem latency ttft tpot itl e2e \
        prefill decode first last inter per output input iteration success failure failed batch batches seq seqs \
        sequence sequences lora spec draft accepted emitted kv prefix gpu gpus cpu cpus utilization temperature power \
        clock sm pcie nvlink xid ecc process resident virtual start open max min avg mean info created http up",
    ),
    (
        "parts of /proc and /sys paths",
        "proc sys vm fs net dev devices device class bus pci system node nodes numa cgroup slice scope service unit \
        hugepages transparent swappiness meminfo stat status maps limits environ cmdline loadavg pressure irq \
        interrupts diskstats mounts self task thread threads fd io block module drivers driver firmware dmi power \
        thermal hwmon infiniband mlx5 eth0 lo user users tmp run opt usr var lib bin etc home root boot data mnt srv",
    ),
    (
        "words everybody calls a machine or an account by",
        "localhost host hosts hostname default local test tests testing dev prod production stage staging demo example \
        master slave leader head primary replica control plane compute storage build builder ci cd web app apps db \
        database redis postgres mysql mongo kafka minio s3 prometheus grafana admin administrator ubuntu debian centos \
        fedora rocky alpine linux windows container pod node0 node1 instance machine box pc laptop workstation cloud \
        lab cluster team project service nobody daemon www jenkins github gitlab runner actions model models inference",
    ),
    (
        "words of prose",
        "the and for not with from this that was are has have will can all any new old one two none null true false yes \
        no on off ok name key value type path file line port address version config option options args model load loaded \
        loading started stopped ready done end begin next lost connection connected closed timeout retry",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_logs_metrics_and_paths_are_nobodys_name() {
        for word in [
            "vllm",
            "VLLM",
            "llama-server",
            "vllm-openai",
            "INFO",
            "gpu",
            "qwen",
            "vm",
            "x",
            "8000",
            "num_requests",
        ] {
            assert!(!is_name_of_its_own(word), "{word}");
        }
        for name in ["gpu-7", "gpu7", "gpunode9", "atlas", "vllm7", "node-a17", "gpu7.acme.example"] {
            assert!(is_name_of_its_own(name), "{name}");
        }
    }
}

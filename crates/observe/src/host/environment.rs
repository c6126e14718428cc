//! Which environment variables of a serving process are kept.

/// Names kept; one that ends in `*` stands for all that begin so. Nothing else of the environment enters a case.
const KEPT: &[&str] = &[
    // Threads and memory of the host.
    "OMP_*",
    "KMP_*",
    "GOMP_*",
    "MKL_*",
    "OPENBLAS_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "TOKENIZERS_PARALLELISM",
    "MALLOC_*",
    "LD_PRELOAD",
    "PYTHONMALLOC",
    "PYTHONHASHSEED",
    "PYTHONUNBUFFERED",
    // Which devices, and how they are driven.
    "CUDA_*",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "HIP_*",
    "ROCR_VISIBLE_DEVICES",
    "HSA_*",
    "PYTORCH_*",
    "TORCH_*",
    "TORCHINDUCTOR_*",
    "TRITON_CACHE_DIR",
    // How devices talk.
    "NCCL_*",
    "RCCL_*",
    "UCX_*",
    "GLOO_*",
    "MASTER_PORT",
    "WORLD_SIZE",
    // The engines' own.
    "VLLM_*",
    "SGLANG_*",
    "SGL_*",
    "TRTLLM_*",
    "TLLM_*",
    "LMDEPLOY_*",
    "LLAMA_ARG_*",
    "GGML_*",
    "OLLAMA_*",
    "DYN_*",
    // Where models come from.
    "HF_HOME",
    "HF_HUB_*",
    "HF_XET_HIGH_PERFORMANCE",
    "TRANSFORMERS_OFFLINE",
    "TRANSFORMERS_CACHE",
];

/// Longest value kept, in bytes: settings are short, what is longer is something else.
const MAX_VALUE: usize = 512;

/// The kept variables of an `environ` text, one a line. Secrets in them are hidden with those of the whole case.
pub(super) fn kept(environ: &str) -> String {
    let mut pairs: Vec<(&str, &str)> = environ
        .split('\0')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(name, _)| KEPT.iter().any(|row| fits(row, name)))
        .filter(|(_, value)| value.len() <= MAX_VALUE && !value.contains('\n'))
        .collect();
    pairs.sort_unstable();
    pairs.into_iter().map(|(name, value)| format!("{name}={value}\n")).collect::<Vec<_>>().concat()
}

fn fits(row: &str, name: &str) -> bool {
    row.strip_suffix('*').map_or(row == name, |begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_inference_are_kept_and_nothing_else() {
        let environ =
            "HOME=/root\0OMP_NUM_THREADS=4\0HF_TOKEN=hf_2\0NCCL_DEBUG=INFO\0AWS_SECRET_ACCESS_KEY=k3\0";
        assert_eq!(kept(environ), "NCCL_DEBUG=INFO\nOMP_NUM_THREADS=4\n");
        assert_eq!(kept(&format!("NCCL_DEBUG={}\0", "x".repeat(513))), "");
    }
}

//! Which environment variables of a serving process are kept.

use crate::redact;

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

/// The kept variables of an `environ` text, one a line; values that can be secret are masked.
pub(super) fn kept(environ: &str) -> String {
    let mut pairs: Vec<(&str, &str)> = environ
        .split('\0')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(name, _)| KEPT.iter().any(|row| fits(row, name)))
        .collect();
    pairs.sort_unstable();
    let mut lines = Vec::with_capacity(pairs.len());
    for (name, value) in pairs {
        let hidden = redact::is_secret(name) || may_hold_login(value) || value.len() > MAX_VALUE;
        lines.push(format!("{name}={}\n", if hidden { redact::MASK } else { value }));
    }
    lines.concat()
}

/// `scheme://user:password@host`, or more than one line.
fn may_hold_login(value: &str) -> bool {
    value.contains('@') || value.contains('\n')
}

fn fits(row: &str, name: &str) -> bool {
    row.strip_suffix('*').map_or(row == name, |begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_kept_and_secrets_are_not() {
        let environ = "HOME=/root\0OMP_NUM_THREADS=4\0VLLM_API_KEY=sk-1\0HF_TOKEN=hf_2\0NCCL_DEBUG=INFO\0AWS_SECRET_ACCESS_KEY=k3\0VLLM_PROXY=http://u:p4@h\0LLAMA_ARG_API_KEY=k5\0";
        let text = kept(environ);
        assert_eq!(
            text,
            "LLAMA_ARG_API_KEY=[redacted]\nNCCL_DEBUG=INFO\nOMP_NUM_THREADS=4\nVLLM_API_KEY=[redacted]\nVLLM_PROXY=[redacted]\n"
        );
        for secret in ["sk-1", "hf_2", "k3", "p4", "k5", "/root"] {
            assert!(!text.contains(secret), "{secret}");
        }
    }
}

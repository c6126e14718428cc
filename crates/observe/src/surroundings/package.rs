//! The engine as it is installed: its release, what its PyTorch was built for, and whether its own lists hold a word.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use intriage_case::surroundings::EnginePackage;
use intriage_engines::Engine;

use super::files::small;

/// Most bytes of one list: vLLM's registry has about 50 kB, Transformers' lists 120 kB each.
const MOST_LIST: u64 = 4 << 20;
/// Most packages looked at.
const MOST_PACKAGES: usize = 4096;

/// Files in which an installed vLLM and its Transformers list what they know, below `site-packages`.
const LISTS: &[&str] = &[
    "vllm/model_executor/models/registry.py",
    "vllm/transformers_utils/config.py",
    "transformers/models/auto/configuration_auto.py",
    "transformers/models/auto/auto_mappings.py",
    "transformers/models/auto/modeling_auto.py",
];

/// The lists without which nothing can be said of a word.
const NEEDED: usize = 2;

/// The package behind a program; `None` where it is none of Python's, or cannot be found.
pub(super) fn of(program: &Path, engine: Engine, words: &[String]) -> Option<EnginePackage> {
    let name = (engine == Engine::Vllm).then_some("vllm")?;
    let site = site_packages(program)?;
    let installed = installed(&site);
    let release =
        |of: &str| installed.iter().find(|(name, _)| name == of).map(|(_, version)| version.clone());
    let version = release(name).or_else(|| release(&format!("{name}_cpu")))?;
    let (bare, local) = version.split_once('+').unwrap_or((&version, ""));
    Some(EnginePackage {
        cpu_only: local.starts_with("cpu") || release(&format!("{name}_cpu")).is_some(),
        version: bare.to_owned(),
        cuda: cuda_of_torch(&site),
        transformers: release("transformers"),
        knows: knows(&site, words),
        plugins: has_plugins(&site, name),
    })
}

/// Whether a template lies among those that the package behind a program brings along.
pub(super) fn brings(program: &Path, template: &str) -> bool {
    let folder = site_packages(program).map(|site| site.join("vllm/transformers_utils/chat_templates"));
    !template.contains("..") && folder.is_some_and(|folder| folder.join(template).is_file())
}

/// The folder of packages of the environment a program lies in: `…/bin/vllm` belongs to `…/lib/python3.x/site-packages`.
fn site_packages(program: &Path) -> Option<PathBuf> {
    // A link into an environment leads there; an interpreter's link leads out of it, so its own folder is tried first.
    let places = [Some(program.to_owned()), fs::canonicalize(program).ok()];
    places.into_iter().flatten().find_map(|program| packages_beside(&program))
}

fn packages_beside(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?.parent()?.join("lib");
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
        .flat_map(|entry| ["site-packages", "dist-packages"].map(|below| entry.path().join(below)))
        .filter(|path| path.join("vllm").is_dir())
        .collect();
    found.sort_unstable();
    found.pop()
}

/// Packages and their releases, by the folders that describe them: `vllm-0.32.0+cpu.dist-info`.
fn installed(site: &Path) -> Vec<(String, String)> {
    let Ok(entries) = fs::read_dir(site) else { return Vec::new() };
    let names = entries.flatten().filter_map(|e| e.file_name().into_string().ok()).take(MOST_PACKAGES);
    let described = names.filter_map(|name| {
        let (package, version) = name.strip_suffix(".dist-info")?.split_once('-')?;
        Some((package.to_ascii_lowercase(), version.to_owned()))
    });
    described.collect()
}

/// `cuda: Optional[str] = '13.0'` in PyTorch's own description.
fn cuda_of_torch(site: &Path) -> Option<String> {
    let text = small(&site.join("torch/version.py"), MOST_LIST)?;
    let line = text.lines().find(|line| line.starts_with("cuda"))?;
    line.split('\'')
        .nth(1)
        .filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
        .map(str::to_owned)
}

/// Whether each word stands in one of the lists, between quotes.
fn knows(site: &Path, words: &[String]) -> BTreeMap<String, bool> {
    let lists: Vec<String> = LISTS.iter().filter_map(|list| small(&site.join(list), MOST_LIST)).collect();
    if lists.len() < NEEDED
        || !site.join(LISTS[0]).is_file()
        || !site.join("transformers/models/auto").is_dir()
    {
        return BTreeMap::new();
    }
    let stands = |word: &String| lists.iter().any(|list| list.contains(&format!("\"{word}\"")));
    words.iter().filter(|word| !word.contains(['"', '\n'])).map(|word| (word.clone(), stands(word))).collect()
}

/// Whether another package says that it adds something to this one.
fn has_plugins(site: &Path, name: &str) -> bool {
    let Ok(entries) = fs::read_dir(site) else { return false };
    let others = entries.flatten().take(MOST_PACKAGES).filter(|entry| {
        let folder = entry.file_name().to_string_lossy().into_owned();
        folder.ends_with(".dist-info")
            && !folder.starts_with(&format!("{name}-"))
            && !folder.starts_with(&format!("{name}_cpu-"))
    });
    let points = others.filter_map(|entry| small(&entry.path().join("entry_points.txt"), MOST_LIST));
    points.into_iter().any(|text| text.contains(&format!("[{name}.general_plugins]")))
}

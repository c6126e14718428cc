//! Whether the model can be divided as asked.

use super::Said;
use super::facts::Facts;

pub(crate) fn judge(facts: &Facts<'_>) -> Vec<Said> {
    let (tensor, pipeline) = facts.ranks();
    if tensor * pipeline <= 1 {
        return Vec::new();
    }
    let mut said = Vec::new();
    match facts.config_number(&["num_attention_heads", "n_head", "num_heads"]) {
        Some(heads) if tensor > 1 && heads % tensor != 0 => {
            let fitting: Vec<String> =
                (1..=heads.min(64)).filter(|n| heads % n == 0).map(|n| n.to_string()).collect();
            said.push(wrong(
                format!("{heads} attention heads cannot be divided by a tensor parallel size of {tensor}"),
                format!("a tensor parallel size of {}", fitting.join(", ")),
            ));
        }
        Some(heads) => said.push(Said::Fine(format!("{heads} attention heads over {tensor} ranks"))),
        None if facts.config.is_some() => {
            said.push(Said::Unknown("config.json does not tell the number of attention heads".into()));
        }
        None => {}
    }
    if let Some(layers) =
        facts.config_number(&["num_hidden_layers", "n_layer"]).filter(|layers| *layers < pipeline)
    {
        said.push(wrong(
            format!("{layers} layers cannot be divided by a pipeline parallel size of {pipeline}"),
            format!("a pipeline parallel size of {layers} or less"),
        ));
    }
    let many = facts.line.value(&["--nnodes"]).is_some()
        || facts
            .line
            .value(&["--distributed-executor-backend"])
            .is_some_and(|b| b == "ray" || b == "external_launcher");
    if let Some(cards) = facts.around.gpus.as_ref().filter(|_| !facts.on_cpu() && !many) {
        let (have, need) = (visible(facts).unwrap_or(cards.len()) as u64, tensor * pipeline);
        said.push(if have < need {
            wrong(
                format!("{need} GPUs are asked for (tensor parallel size {tensor}, pipeline parallel size {pipeline}), and {have} are here"),
                format!("sizes whose product is {have} or less, or a machine with {need} GPUs"),
            )
        } else {
            Said::Fine(format!("{have} GPUs for {need} ranks"))
        });
    }
    said
}

/// How many cards the environment lets the server see.
fn visible(facts: &Facts<'_>) -> Option<usize> {
    let list = facts.around.variables.get("CUDA_VISIBLE_DEVICES")?;
    Some(list.split(',').map(str::trim).take_while(|card| !card.is_empty() && *card != "-1").count())
}

fn wrong(says: String, change: String) -> Said {
    Said::Wrong("parallelism-does-not-fit", says, change)
}

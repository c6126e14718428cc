//! JSON for machines, and its published schema.

use intriage_diagnose::Diagnosis;

/// The diagnosis as JSON, one value, a newline at the end. Equal diagnoses give equal bytes.
pub fn json(diagnosis: &Diagnosis) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(diagnosis)?;
    text.push('\n');
    Ok(text)
}

/// The JSON Schema of the diagnosis, generated from its types.
pub fn schema() -> Result<String, serde_json::Error> {
    let mut schema = schemars::schema_for!(Diagnosis);
    schema.insert("$id".into(), "https://intriage.dev/schemas/diagnosis-1.schema.json".into());
    let mut text = serde_json::to_string_pretty(&schema)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_the_one_the_types_have() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/diagnosis-1.schema.json");
        let generated = super::schema().unwrap();
        if std::env::var_os("INTRIAGE_BLESS").is_some() {
            std::fs::write(path, &generated).unwrap();
        }
        let published = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            published == generated,
            "schemas/diagnosis-1.schema.json is stale: run the tests with INTRIAGE_BLESS=1"
        );
    }
}

//! What is wrong with JSON, without the values in it: they may be secrets, and errors are printed and kept.

use serde_json::error::Category;

/// What is wrong and where, with neither names nor values of the file's own.
pub(crate) fn unreadable(error: &serde_json::Error) -> String {
    let said = error.to_string();
    // The names of fields that are missing are ours.
    let missing = said.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
    let what = match (error.classify(), missing) {
        (Category::Data, Some(field)) => format!("{field} is missing"),
        (Category::Data, None) => "a value is not what is expected there".to_owned(),
        (Category::Eof, _) => "it ends too early".to_owned(),
        (Category::Syntax, _) => "it is no JSON".to_owned(),
        (Category::Io, _) => "it cannot be read".to_owned(),
    };
    format!("{what}, at line {} column {}", error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientRequest;

    #[test]
    fn the_place_is_told_and_the_value_is_not() {
        let told = |json: &str| unreadable(&serde_json::from_str::<ClientRequest>(json).unwrap_err());
        assert_eq!(
            told("{\"sent\": \"hunter2\"}"),
            "a value is not what is expected there, at line 1 column 18"
        );
        assert_eq!(told("{}"), "sent is missing, at line 1 column 2");
        assert_eq!(told("{\"sent\": 1,\n hunter2}"), "it is no JSON, at line 2 column 2");
        assert_eq!(told("{"), "it ends too early, at line 1 column 1");
    }
}

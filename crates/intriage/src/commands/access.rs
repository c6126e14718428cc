//! How to get in: headers, token, CA.

use intriage_observe::Access;

use crate::cli::AccessArgs;
use crate::failure::Failure;

/// What the command line says.
pub(super) fn access(args: &AccessArgs) -> Result<Access, Failure> {
    let mut headers = Vec::new();
    for header in &args.header {
        let (name, value) = header
            .split_once(':')
            .ok_or_else(|| Failure::Usage("a header is written 'Name: value'".into()))?;
        let (name, value) = (name.trim(), value.trim());
        if !is_header_name(name) || value.contains(char::is_control) {
            return Err(Failure::Usage(format!("{name:?} is not a valid header: write 'Name: value'")));
        }
        headers.push((name.to_owned(), value.to_owned()));
    }
    if let Some(path) = &args.bearer_token_file {
        let token = std::fs::read_to_string(path)
            .map_err(|e| Failure::File { path: path.display().to_string(), why: e.to_string() })?;
        if token.trim().is_empty() || token.trim().contains(char::is_whitespace) {
            let why = "expected one bearer token: one word on one line".to_owned();
            return Err(Failure::File { path: path.display().to_string(), why });
        }
        headers.push(bearer(&token));
    }
    Ok(Access { headers, ca_file: args.ca_file.clone(), insecure: args.insecure })
}

/// The same, with the key that OpenAI's clients take from the environment where the command line has none.
pub(super) fn access_with_key(args: &AccessArgs) -> Result<Access, Failure> {
    let mut access = access(args)?;
    let has_own = access.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if let Ok(key) = std::env::var("OPENAI_API_KEY")
        && !has_own
        && !key.trim().is_empty()
    {
        access.headers.push(bearer(&key));
    }
    Ok(access)
}

/// Whether HTTP has such names: letters, digits and some signs, no space.
fn is_header_name(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(allowed)
}

fn bearer(token: &str) -> (String, String) {
    ("Authorization".into(), format!("Bearer {}", token.trim()))
}

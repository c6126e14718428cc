//! Manifests made safe: a secret may stand on another line than its name, so the file is read before it is masked, and
//! what is masked is written where it stands, and nowhere else.

mod comments;
mod draft;
mod variables;

use std::ops::Range;

use intriage_case::ManifestText;
use intriage_engines::{Launch, ManifestError, ManifestTexts, Passage, manifest_texts, read_manifest};
use intriage_redact::Redactor;

use draft::{Draft, MASK};

/// Most times a file is gone through; from [`WHOLE`] on what still has something to hide is hidden whole.
const ROUNDS: usize = 4;
const WHOLE: usize = 2;

/// The manifest without secrets, or why it cannot be kept.
pub(super) fn manifest(given: ManifestText, redactor: &Redactor) -> Result<ManifestText, String> {
    let left_out = |why: &str| format!("{} was left out: {why}", redactor.text(&given.name));
    let mut text = comments::hidden(&given.text, redactor);
    for round in 0..ROUNDS {
        let unreadable = |why: ManifestError| left_out(&why.to_string());
        let said = manifest_texts(&given.name, &text).map_err(unreadable)?;
        let mut draft = Draft::new(&text, round >= WHOLE);
        hide(&mut draft, &said, redactor);
        let is_same = draft.is_same();
        let drafted = draft.finish();
        let apart = || left_out("its lines cannot be told apart");
        let mut safe = comments::around(&drafted, redactor).ok_or_else(apart)?;
        if manifest_texts(&given.name, &safe).is_err() {
            let mended = mended(&given.name, &drafted, &safe).map_err(unreadable)?;
            safe = comments::around(&mended, redactor).ok_or_else(apart)?;
        }
        if is_same && safe == text {
            break;
        }
        text = safe;
    }
    // Seen with the eyes of who reads it later: what is still to be hidden now takes the file with it.
    if is_safe(&given.name, &text, redactor) {
        Ok(ManifestText { text, ..given })
    } else {
        Err(left_out("what is secret in it could not be masked"))
    }
}

/// The file with every text hidden whole that stands in a line where hiding a part of it made it no YAML.
fn mended(name: &str, file: &str, broken: &str) -> Result<String, ManifestError> {
    let said = manifest_texts(name, file)?;
    let mut at = 0;
    let mut changed = Vec::new();
    for (line, other) in file.split('\n').zip(broken.split('\n')) {
        if line != other {
            changed.push(at..at + line.len());
        }
        at += line.len() + 1;
    }
    let mut draft = Draft::new(file, true);
    let stands_there = |piece: &Range<usize>| {
        let next = changed.partition_point(|line| line.end < piece.start);
        changed.get(next).is_some_and(|line| line.start < piece.end)
    };
    for (_, value) in said.values.iter().filter(|(_, value)| value.pieces.iter().any(stands_there)) {
        draft.hide(value);
    }
    Ok(draft.finish())
}

fn is_safe(name: &str, text: &str, redactor: &Redactor) -> bool {
    let (Ok(said), Ok(launches)) = (manifest_texts(name, text), read_manifest(name, text)) else {
        return false;
    };
    let mut draft = Draft::new(text, true);
    hide(&mut draft, &said, redactor);
    draft.is_same() && launches.iter().all(|launch| secret_words(launch, redactor).is_empty())
}

/// The words of a launch, its variables filled in, that have something to hide.
fn secret_words<'a>(launch: &'a Launch, redactor: &Redactor) -> Vec<&'a str> {
    let words: Vec<&str> = launch.words.iter().map(|word| word.text.as_str()).collect();
    let safe = redactor.command_line(&words.join("\0"));
    words
        .into_iter()
        .zip(safe.split('\0'))
        .filter(|(word, safe)| word != safe)
        .map(|(word, _)| word)
        .collect()
}

/// Writes over everything that is to be hidden by itself.
fn hide(draft: &mut Draft<'_>, said: &ManifestTexts, redactor: &Redactor) {
    for words in &said.words {
        hide_words(draft, words, redactor);
    }
    variables::hide(draft, said, redactor);
    for (name, value) in &said.variables {
        hide_variable(draft, name, value, redactor);
    }
    for (key, value) in &said.values {
        hide_value(draft, key, value, redactor);
    }
    for line in &said.lines {
        draft.rewrite(line, |line| redactor.command_line(line));
    }
}

/// A list is a command line that was split already.
fn hide_words(draft: &mut Draft<'_>, words: &[Passage], redactor: &Redactor) {
    let now: Vec<String> =
        words.iter().map(|word| draft.one_line(word).unwrap_or(&word.text).to_owned()).collect();
    // One word alone has no NUL to tell it from a line to be split.
    let safe = redactor.command_line(&(now.join("\0") + "\0"));
    let safe: Vec<&str> = safe.split('\0').collect();
    if safe.len() != words.len() + 1 {
        return words.iter().for_each(|word| draft.hide(word));
    }
    for ((word, now), safe) in words.iter().zip(&now).zip(safe) {
        if now == safe {
            continue;
        }
        let has_words = now.trim().contains(char::is_whitespace);
        if draft.one_line(word).is_some() {
            draft.write(word, safe);
        } else if safe == MASK || !has_words {
            draft.hide(word);
        }
        // What has several words is a line of its own, too: it loses its secrets there.
    }
}

fn hide_variable(draft: &mut Draft<'_>, name: &str, value: &Passage, redactor: &Redactor) {
    let now = draft.one_line(value).unwrap_or(&value.text);
    // With a NUL behind it the value may have lines of its own.
    let entry = [name, "=", now, "\0"].concat();
    let safe = redactor.environment(&entry);
    let safe_value = safe.strip_suffix('\0').and_then(|safe| safe.strip_prefix(name)?.strip_prefix('='));
    match safe_value {
        Some(safe) if safe == now => {}
        Some(safe) if draft.one_line(value).is_some() => {
            let safe = safe.to_owned();
            draft.write(value, &safe);
        }
        // A text of many lines that are not all hidden is hidden as lines; a prompt is one, however many it has.
        Some(safe)
            if !safe.lines().all(|line| line.trim().is_empty() || line == MASK)
                && !is_hidden_whole(name, now, redactor) => {}
        _ => draft.hide(value),
    }
}

/// Whether a variable is hidden to its end where it stands in one line.
fn is_hidden_whole(name: &str, value: &str, redactor: &Redactor) -> bool {
    let line: Vec<&str> = value.split_whitespace().collect();
    let safe = redactor.environment(&[name, "=", &line.join(" "), "\0"].concat());
    let mask = safe.trim_end_matches('\0').strip_prefix(name).and_then(|safe| safe.strip_prefix("=["));
    mask.and_then(|mask| mask.strip_suffix(']')).is_some_and(|inside| !inside.contains('['))
}

fn hide_value(draft: &mut Draft<'_>, key: &str, value: &Passage, redactor: &Redactor) {
    let now = draft.one_line(value).unwrap_or(&value.text).to_owned();
    if let Some(safe) = inner_manifest(&now, redactor) {
        return draft.write(value, &safe);
    }
    let json = serde_json::json!({ key: now.as_str() });
    let safe = serde_json::from_str::<serde_json::Value>(&redactor.json(&json.to_string()));
    // The one value, whatever its key is called now: a key may have a host in it.
    let value_of = |safe: serde_json::Value| Some(safe.as_object()?.values().next()?.as_str()?.to_owned());
    let Some(safe) = safe.ok().and_then(value_of) else {
        return draft.hide(value);
    };
    if safe == now {
        return;
    }
    if draft.one_line(value).is_some() {
        draft.write(value, &safe);
    } else if safe == MASK {
        draft.hide(value);
    } else {
        draft.rewrite(value, |line| redactor.text(line).into_owned());
    }
}

/// JSON in a text, as kubectl keeps what was applied last, with its secrets hidden; `None` where it is none.
fn inner_manifest(text: &str, redactor: &Redactor) -> Option<String> {
    let is_json = text.starts_with('{') && serde_json::from_str::<serde_json::Value>(text).is_ok();
    let said = is_json.then(|| manifest_texts("inner.json", text).ok())??;
    let mut draft = Draft::new(text, false);
    // What is JSON again inside of it is hidden as a text: there is an end to it.
    for words in &said.words {
        hide_words(&mut draft, words, redactor);
    }
    for (name, value) in &said.variables {
        hide_variable(&mut draft, name, value, redactor);
    }
    for line in &said.lines {
        draft.rewrite(line, |line| redactor.command_line(line));
    }
    for (_, value) in said.values.iter().filter(|(key, _)| key == "secret") {
        draft.hide(value);
    }
    Some(redactor.json(&draft.finish()))
}

#[cfg(test)]
mod tests;

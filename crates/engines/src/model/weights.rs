//! What the head of a file of weights says of the file: how long it must be, and for GGUF the architecture.

use serde_json::{Map, Value};

/// Most bytes a head is looked for in: the tokenizer of a large vocabulary makes a GGUF head of about 30 MB.
pub const MOST_HEAD: usize = 64 << 20;

/// What a head says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WeightsHead {
    /// The least length of the whole file, in bytes.
    pub needs: u64,
    /// The architecture, as GGUF names it.
    pub architecture: Option<String>,
}

/// Why a file is not what its name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoHead {
    /// A Git LFS pointer.
    Pointer,
    /// It begins as something else.
    Foreign,
    /// It ends inside its head.
    Cut,
    /// The head is longer than is read.
    TooLong,
}

const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// Reads the first bytes of a `.safetensors` file of `size` bytes.
pub fn safetensors_head(bytes: &[u8], size: u64) -> Result<WeightsHead, NoHead> {
    if bytes.starts_with(POINTER) {
        return Err(NoHead::Pointer);
    }
    let length = bytes.first_chunk::<8>().map(|first| u64::from_le_bytes(*first)).ok_or(NoHead::Cut)?;
    // A header is an object; of a file that is something else the length is nonsense.
    if bytes.get(8).is_some_and(|byte| *byte != b'{') {
        return Err(NoHead::Foreign);
    }
    let end = length.checked_add(8).ok_or(NoHead::Foreign)?;
    if end > size {
        return Err(NoHead::Cut);
    }
    let header = usize::try_from(end).ok().and_then(|end| bytes.get(8..end)).ok_or(NoHead::TooLong)?;
    let tensors: Map<String, Value> = serde_json::from_slice(header).map_err(|_| NoHead::Foreign)?;
    let ends = tensors.values().filter_map(|tensor| tensor.get("data_offsets")?.get(1)?.as_u64());
    let needs = ends.max().unwrap_or(0).checked_add(end).ok_or(NoHead::Foreign)?;
    Ok(WeightsHead { needs, architecture: None })
}

/// Reads the first bytes of a `.gguf` file.
pub fn gguf_head(bytes: &[u8], size: u64) -> Result<WeightsHead, NoHead> {
    if bytes.starts_with(POINTER) {
        return Err(NoHead::Pointer);
    }
    if bytes.len() >= 4 && !bytes.starts_with(b"GGUF") {
        return Err(NoHead::Foreign);
    }
    // What is missing in the part that was read is missing in the file, unless more of it could be read.
    let missing = if (bytes.len() as u64) < size { NoHead::TooLong } else { NoHead::Cut };
    let mut head = Reader { bytes, at: 4 };
    read_gguf(&mut head).ok_or(missing)
}

fn read_gguf(head: &mut Reader<'_>) -> Option<WeightsHead> {
    let _version = head.number(4)?;
    let (tensors, keys) = (head.number(8)?, head.number(8)?);
    let mut architecture = None;
    for _ in 0..keys {
        let key = head.text()?;
        let kind = head.number(4)?;
        if key == b"general.architecture" && kind == STRING {
            architecture = Some(String::from_utf8_lossy(head.text()?).into_owned());
        } else {
            head.skip_value(kind, 0)?;
        }
    }
    let mut last = 0;
    for _ in 0..tensors {
        head.text()?;
        let dimensions = head.number(4)?;
        head.skip(dimensions.checked_mul(8)?)?;
        head.number(4)?;
        last = head.number(8)?.max(last);
    }
    // Behind the head the tensors begin; the last one begins at its offset and has one byte at least.
    let needs = (head.at as u64).checked_add(last)?.checked_add(u64::from(tensors > 0))?;
    Some(WeightsHead { needs, architecture })
}

const STRING: u64 = 8;
const ARRAY: u64 = 9;
/// Arrays of arrays: the format allows them, nobody writes more than one in another.
const DEEPEST: u32 = 4;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn skip(&mut self, length: u64) -> Option<()> {
        self.take(length).map(|_| ())
    }

    fn number(&mut self, length: u64) -> Option<u64> {
        Some(self.take(length)?.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.number(8)?;
        self.take(length)
    }

    fn skip_value(&mut self, kind: u64, depth: u32) -> Option<()> {
        match (kind, size_of_kind(kind)) {
            (_, Some(size)) => self.skip(size),
            (STRING, _) => self.text().map(|_| ()),
            (ARRAY, _) if depth < DEEPEST => {
                let inner = self.number(4)?;
                let count = self.number(8)?;
                match size_of_kind(inner) {
                    Some(size) => self.skip(count.checked_mul(size)?),
                    // Every element takes eight bytes at least, so that a wrong count ends soon.
                    None => (0..count).try_for_each(|_| self.skip_value(inner, depth + 1)),
                }
            }
            _ => None,
        }
    }
}

/// Bytes of a value by its type in GGUF: 8, 16, 32 and 64 bits, and truth values.
const fn size_of_kind(kind: u64) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn safetensors(end: u64) -> Vec<u8> {
        let header =
            format!(r#"{{"__metadata__":{{}},"w":{{"dtype":"BF16","shape":[2],"data_offsets":[0,{end}]}}}}"#);
        [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat()
    }

    fn gguf(architecture: &str, offset: u64) -> Vec<u8> {
        let text = |t: &str| [&(t.len() as u64).to_le_bytes()[..], t.as_bytes()].concat();
        [
            b"GGUF".to_vec(),
            3u32.to_le_bytes().to_vec(),
            1u64.to_le_bytes().to_vec(),
            2u64.to_le_bytes().to_vec(),
            text("tokenizer.ggml.tokens"),
            9u32.to_le_bytes().to_vec(),
            8u32.to_le_bytes().to_vec(),
            1u64.to_le_bytes().to_vec(),
            text("a"),
            text("general.architecture"),
            8u32.to_le_bytes().to_vec(),
            text(architecture),
            text("blk.0.w"),
            1u32.to_le_bytes().to_vec(),
            2u64.to_le_bytes().to_vec(),
            0u32.to_le_bytes().to_vec(),
            offset.to_le_bytes().to_vec(),
        ]
        .concat()
    }

    #[test]
    fn a_head_tells_how_long_the_file_must_be() {
        let head = safetensors(4000);
        let needs = head.len() as u64 + 4000;
        assert_eq!(safetensors_head(&head, needs).unwrap().needs, needs);
        let head = gguf("llama", 4096);
        let read = gguf_head(&head, 1 << 20).unwrap();
        assert_eq!((read.architecture.as_deref(), read.needs), (Some("llama"), head.len() as u64 + 4097));
    }

    #[test]
    fn what_is_no_such_file_is_told_apart() {
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
        assert_eq!(safetensors_head(pointer, 60), Err(NoHead::Pointer));
        assert_eq!(gguf_head(pointer, 60), Err(NoHead::Pointer));
        assert_eq!(safetensors_head(b"<html>no such file</html>", 25), Err(NoHead::Foreign));
        assert_eq!(gguf_head(b"PK\x03\x04....", 8), Err(NoHead::Foreign));
        assert_eq!(safetensors_head(&safetensors(9)[..20], 20), Err(NoHead::Cut));
        let head = gguf("llama", 9);
        assert_eq!(gguf_head(&head[..30], 30), Err(NoHead::Cut));
        assert_eq!(gguf_head(&head[..30], 1 << 20), Err(NoHead::TooLong));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300), size in any::<u64>()) {
            let _ = (safetensors_head(&bytes, size), gguf_head(&bytes, size));
            let named = [b"GGUF\x03\0\0\0".as_slice(), &bytes].concat();
            let _ = gguf_head(&named, size);
        }
    }
}

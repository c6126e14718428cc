//! Columns of numbers and texts.

/// A difference, modulo 2^64, as a number that is small where the difference is small in either direction.
pub(super) const fn zigzag(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

/// The inverse of [`zigzag`].
pub(super) const fn unzigzag(zigzag: u64) -> u64 {
    (zigzag >> 1) ^ (zigzag & 1).wrapping_neg()
}

/// A column being written: LEB128 numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Column(pub Vec<u8>);

impl Column {
    pub(super) fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A number that may be absent: shifted by one.
    pub(super) fn maybe(&mut self, value: Option<u64>) {
        self.number(value.map_or(0, |v| v.saturating_add(1)));
    }

    /// A difference that may be negative: zigzag.
    pub(super) fn difference(&mut self, from: u64, to: u64) {
        self.number(zigzag(to.wrapping_sub(from)));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }
}

/// A column being read; every read may find the end.
#[derive(Debug, Clone)]
pub(super) struct Cells<'a>(pub &'a [u8]);

impl<'a> Cells<'a> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn difference(&mut self, from: u64) -> Option<u64> {
        Some(from.wrapping_add(unzigzag(self.number()?)))
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    /// The next column: its length, then its bytes.
    pub(super) fn column(&mut self) -> Option<Self> {
        let length = usize::try_from(self.number()?).ok()?;
        let (column, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(Self(column))
    }
}

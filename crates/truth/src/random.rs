//! Draws that depend on nothing but a seed and a place.

/// Scrambles a number (the finaliser of SplitMix64).
pub(crate) const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A number below `limit` (0 where there is none), the same for the same seed and place.
pub(crate) const fn below(limit: u64, seed: u64, request: u64, index: u64) -> u64 {
    if limit == 0 { 0 } else { mix(mix(mix(seed) ^ request) ^ index) % limit }
}

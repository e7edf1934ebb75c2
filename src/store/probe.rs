//! A write that shows whether the store takes writes.

/// As much as the texts of a few posts: a smaller write may still fit into space that a full disk has left.
const PROBE_BYTES: usize = 64 * 1024;

/// Bytes that no engine can compress.
pub(super) fn probe_body() -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let next = || {
        // xorshift64.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    std::iter::repeat_with(next).take(PROBE_BYTES).collect()
}

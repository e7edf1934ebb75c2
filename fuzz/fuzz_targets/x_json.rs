//! Holds the laws of `x_json` against whatever libFuzzer comes up with.
#![no_main]

#[path = "../../tests/fuzz/laws/mod.rs"]
#[expect(dead_code, reason = "each target checks one of the laws")]
mod laws;

libfuzzer_sys::fuzz_target!(|data: &[u8]| laws::x_json::check(data));

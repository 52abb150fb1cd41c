//! Any bytes as a group file: refused with a reason, or units that parse back to what was meant.
#![no_main]

#[path = "../../tests/invariant/holds.rs"]
mod holds;
#[allow(dead_code)]
#[path = "../../src/unit/parse.rs"]
pub mod syntax;

libfuzzer_sys::fuzz_target!(|text: &str| {
    holds::hold(text);
});

//! copse-generator.
fn main() {}

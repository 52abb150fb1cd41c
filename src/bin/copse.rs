//! copse.
fn main() {}

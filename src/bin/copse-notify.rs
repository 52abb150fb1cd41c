//! copse-notify.
fn main() {}

//! copse-notify: readiness and health for programs that can't report their
//! own, and setup steps by their inputs.
//!
//! C's `main` instead of Rust's: before that runs `main`, it ignores SIGPIPE
//! and opens /dev/null for closed standard descriptors, and the command this
//! program becomes has to find both the way they were given.
#![no_main]

use std::ffi::{c_char, c_int};

use copse::notify;

/// The entry point the C library calls.
///
/// # Safety
/// For the C library alone, which gives it the arguments.
#[allow(unsafe_code)]
// SAFETY: the one `main` of the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    // SAFETY: these are what the C library gave.
    let arguments = unsafe { notify::sys::arguments(argc, argv) };
    notify::run(arguments).0.into()
}

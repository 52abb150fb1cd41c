//! Any bytes as supervisord.conf, and as a Procfile with its .env file: what is imported passes the check, and is nothing
//! but what the import writes; its units parse back to what was meant.
#![no_main]

#[path = "../../tests/invariant/holds.rs"]
mod holds;
#[path = "../../tests/import/safe.rs"]
mod safe;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (procfile, env) = text.split_once("\n\n\n").unwrap_or((text, ""));
    let files = [safe::hold_supervisord(text), safe::hold_procfile(procfile, env)];
    files.iter().flatten().for_each(|file| assert!(holds::hold(file)));
});

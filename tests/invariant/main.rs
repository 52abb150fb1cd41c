//! Thousands of texts as group files: each is refused with a reason, or its units parse back to what was meant
//! ([`holds`]). `make fuzz` goes on from here for as long as one likes.

// Not all of systemd's grammar is needed here.
#[allow(dead_code)]
mod corpus;
mod grammar;
mod holds;
mod limits;

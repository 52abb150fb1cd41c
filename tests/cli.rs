//! The command as people and programs call it: what it prints, and how it exits.

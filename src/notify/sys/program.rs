//! exec with exactly the words and the environment that came in.

use std::ffi::{CStr, CString, OsStr, OsString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use crate::basic::scope::SEARCH_PATH;

/// A command ready to be exec'ed: what exec(2) gets, made before a fork.
pub struct Program {
    /// Where it may be, in order.
    candidates: Vec<CString>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
}

impl Program {
    /// `argv[0]` is looked up in `$PATH` if it has no slash; the environment
    /// is this process's own without the variables named.
    ///
    /// # Errors
    /// `InvalidInput` if there is a NUL in it, or no `argv[0]`.
    pub fn new(argv: &[OsString], without: &[&str]) -> io::Result<Program> {
        let arguments = argv.iter().map(|argument| CString::new(argument.as_bytes())).collect::<Result<Vec<_>, _>>()?;
        let name = argv.first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let candidates = candidates(name).into_iter().map(CString::new).collect::<Result<Vec<_>, _>>()?;
        Ok(Program { candidates, arguments, environment: environment(without) })
    }

    /// Replaces this process; returns only if that isn't possible, with the
    /// error of the most telling place (one that is there but can't be
    /// executed before one that isn't there).
    pub fn exec(&self) -> io::Error {
        let arguments = pointers(&self.arguments);
        let environment = pointers(&self.environment);
        let mut most_telling = libc::ENOENT;
        for candidate in &self.candidates {
            // SAFETY: three null-terminated arrays or strings that live
            // until the call replaces the process.
            unsafe {
                libc::execve(candidate.as_ptr(), arguments.as_ptr(), environment.as_ptr());
            }
            match io::Error::last_os_error().raw_os_error() {
                Some(libc::ENOENT | libc::ENOTDIR) | None => {}
                Some(libc::EACCES) => most_telling = libc::EACCES,
                Some(other) => return io::Error::from_raw_os_error(other),
            }
        }
        io::Error::from_raw_os_error(most_telling)
    }
}

fn candidates(name: &OsStr) -> Vec<Vec<u8>> {
    let name = name.as_bytes();
    if name.contains(&b'/') || name.is_empty() {
        return vec![name.to_vec()];
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| SEARCH_PATH.into());
    path.as_bytes()
        .split(|byte| *byte == b':')
        .map(|directory| match directory {
            // An empty entry is the working directory, as in execvp(3).
            [] => name.to_vec(),
            directory => [directory, b"/", name].concat(),
        })
        .collect()
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

/// The environment as it came in, byte for byte (std would drop what has no
/// `=`), but for the variables named.
fn environment(without: &[&str]) -> Vec<CString> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    let mut kept = Vec::new();
    // SAFETY: `environ` is a null-terminated array of strings; nothing in
    // this single-threaded program changes it.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let text = CStr::from_ptr(*entry);
            let name = text.to_bytes().split(|byte| *byte == b'=').next();
            if !without.iter().any(|name_| Some(name_.as_bytes()) == name) {
                kept.push(text.to_owned());
            }
            entry = entry.add(1);
        }
    }
    kept
}

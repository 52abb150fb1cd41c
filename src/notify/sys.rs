//! The system calls for which there is no safe wrapper: fork, exec with
//! exactly the mask and environment that came in, signals, vsock. The only
//! unsafe code of the library.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int};
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr;

use rustix::process::Pid;

/// The arguments of C's `main`, without the program's own name.
///
/// # Safety
/// `argv` has to be what the C library gave to `main`.
#[must_use]
pub unsafe fn arguments(argc: c_int, argv: *const *const c_char) -> Vec<OsString> {
    (1..usize::try_from(argc).unwrap_or(0))
        .map(|index| {
            // SAFETY: the caller promises `argc` strings that live for ever.
            let argument = unsafe { CStr::from_ptr(*argv.add(index)) };
            OsString::from_vec(argument.to_bytes().to_vec())
        })
        .collect()
}

/// A set of signals.
#[derive(Clone, Copy)]
pub struct Signals(libc::sigset_t);

impl Signals {
    /// All of them.
    #[must_use]
    pub fn all() -> Signals {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigfillset() initialises the set it is given.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            Signals(set.assume_init())
        }
    }

    /// Those listed.
    #[must_use]
    pub fn of(signals: &[c_int]) -> Signals {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset() initialises the set that sigaddset() adds to.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in signals {
                libc::sigaddset(set.as_mut_ptr(), *signal);
            }
            Signals(set.assume_init())
        }
    }

    /// All but those listed.
    #[must_use]
    pub fn all_but(signals: &[c_int]) -> Signals {
        let mut set = Signals::all();
        for signal in signals {
            // SAFETY: an initialised set and a plain number.
            unsafe { libc::sigdelset(&raw mut set.0, *signal) };
        }
        set
    }

    /// Makes this the set of blocked signals; gives the one before.
    pub fn block_only(&self) -> Signals {
        let mut before = MaybeUninit::uninit();
        // SAFETY: one set is read, the other written, both our own.
        unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, &raw const self.0, before.as_mut_ptr());
            Signals(before.assume_init())
        }
    }

    /// Waits for one of these signals (they have to be blocked).
    #[must_use]
    pub fn wait(&self) -> Received {
        loop {
            let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
            // SAFETY: the set is read, the info written, both our own; the
            // sender's PID is there for every signal a process sent.
            unsafe {
                let signal = libc::sigwaitinfo(&raw const self.0, info.as_mut_ptr());
                if signal > 0 {
                    let info = info.assume_init();
                    let sent = info.si_code == libc::SI_USER || info.si_code == libc::SI_TKILL;
                    let sender = sent.then(|| info.si_pid());
                    return Received { signal, sender };
                }
            }
        }
    }
}

/// A signal, and who sent it.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Its number.
    pub signal: c_int,
    /// The sender's PID (0: outside the PID namespace); `None` if the kernel sent it.
    pub sender: Option<i32>,
}

/// Whether a signal waits to be delivered.
fn pending(signal: c_int) -> bool {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigpending() initialises the set.
    unsafe { libc::sigpending(set.as_mut_ptr()) == 0 && libc::sigismember(set.as_ptr(), signal) == 1 }
}

/// Gives signals their default action back.
pub fn default_action(signals: &[c_int]) {
    for signal in signals {
        // SAFETY: no handler is installed, only the default action.
        unsafe { libc::signal(*signal, libc::SIG_DFL) };
    }
}

/// What was done about a signal before.
pub struct Disposition(c_int, libc::sigaction);

impl Disposition {
    /// Gives the signal its default action; gives what it was before.
    #[must_use]
    pub fn to_default(signal: c_int) -> Disposition {
        // SAFETY: an all-zero sigaction is the default action; the old one is
        // written to our own.
        unsafe {
            let default: libc::sigaction = mem::zeroed();
            let mut before: libc::sigaction = mem::zeroed();
            libc::sigaction(signal, &raw const default, &raw mut before);
            Disposition(signal, before)
        }
    }

    /// Puts it back.
    pub fn restore(&self) {
        // SAFETY: what the system itself said the action was.
        unsafe { libc::sigaction(self.0, &raw const self.1, ptr::null_mut()) };
    }
}

/// Which side of a fork this is.
pub enum Forked {
    /// The caller, with the PID of the new process.
    Parent(Pid),
    /// The new process.
    Child,
}

/// fork(2).
///
/// # Errors
/// What the system says, `EAGAIN` where `TasksMax=` is reached.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: this program has no second thread when it forks (a resolver
    // thread is only started by a watcher, which forks no more).
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(Pid::from_raw(pid).expect("fork gives a PID"))),
    }
}

/// Forks twice, so that the new process isn't a child of this one: a command
/// that waits for its children never meets it. All signals have to be
/// blocked; no trace of the one in between is left, not even a `SIGCHLD`.
///
/// # Errors
/// What the system says.
pub fn fork_away() -> io::Result<Away> {
    let pending_before = pending(libc::SIGCHLD);
    match fork()? {
        Forked::Child => match fork() {
            Ok(Forked::Child) => Ok(Away::There),
            // SAFETY: ends the process in between, without running anything.
            Ok(Forked::Parent(_)) => unsafe { libc::_exit(0) },
            Err(error) => unsafe { libc::_exit(error.raw_os_error().unwrap_or(1)) },
        },
        Forked::Parent(pid) => {
            let status = reap(pid);
            if !pending_before {
                discard(libc::SIGCHLD);
            }
            match status {
                // An ignored SIGCHLD leaves no status behind.
                Ended::Exit(0) => Ok(Away::Here),
                Ended::Exit(errno) => Err(io::Error::from_raw_os_error(errno)),
                Ended::Signal(_) => Err(io::Error::from_raw_os_error(libc::ECHILD)),
            }
        }
    }
}

/// Which side of a double fork this is.
pub enum Away {
    /// The process that called.
    Here,
    /// The new one.
    There,
}

fn discard(signal: c_int) {
    let set = Signals::of(&[signal]);
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: our own set and time; no info is wanted.
    unsafe { libc::sigtimedwait(&raw const set.0, ptr::null_mut(), &raw const now) };
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With an exit status.
    Exit(i32),
    /// By a signal.
    Signal(c_int),
}

fn ended(status: c_int) -> Ended {
    if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else {
        Ended::Exit(libc::WEXITSTATUS(status))
    }
}

/// Waits for a child to end.
pub fn reap(pid: Pid) -> Ended {
    let mut status = 0;
    loop {
        // SAFETY: the status is our own.
        let result = unsafe { libc::waitpid(pid.as_raw_nonzero().get(), &raw mut status, 0) };
        if result >= 0 {
            return ended(status);
        }
        // ECHILD: `SIGCHLD` was given as ignored, the kernel took the status.
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return Ended::Exit(0);
        }
    }
}

/// The end of a child, if it has ended; doesn't wait.
#[must_use]
pub fn reap_now(pid: Pid) -> Option<Ended> {
    let mut status = 0;
    // SAFETY: the status is our own.
    let result = unsafe { libc::waitpid(pid.as_raw_nonzero().get(), &raw mut status, libc::WNOHANG) };
    (result > 0).then(|| ended(status))
}

/// Ends this process by a signal, so that whoever waits sees the same as if
/// it had waited for the command itself. No core file: the command wrote its own.
pub fn die_by(signal: c_int) -> ! {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain numbers and our own values.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        Signals::of(&[]).block_only();
        libc::_exit(128 + signal)
    }
}

/// Sends a signal to a process; one that is gone already is fine.
pub fn signal_process(pid: Pid, signal: c_int) {
    // SAFETY: plain numbers.
    unsafe { libc::kill(pid.as_raw_nonzero().get(), signal) };
}

/// Ends this process at once.
pub fn exit_now(status: u8) -> ! {
    // SAFETY: ends the process without running anything.
    unsafe { libc::_exit(status.into()) }
}

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
    #[must_use]
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

/// systemd's own default, for an environment without `$PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";

fn candidates(name: &OsStr) -> Vec<Vec<u8>> {
    let name = name.as_bytes();
    if name.contains(&b'/') || name.is_empty() {
        return vec![name.to_vec()];
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
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

/// Whether a descriptor of this number is open.
#[must_use]
pub fn is_open(fd: RawFd) -> bool {
    // SAFETY: asks about a number, touches nothing.
    unsafe { libc::fcntl(fd, libc::F_GETFD) != -1 }
}

/// A descriptor that came in with the process and that nothing here closes.
#[must_use]
pub fn borrow_inherited(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: the caller has asked [`is_open`], and no descriptor from outside
    // is ever owned (and so closed) by this program.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// Makes `number` a copy of `fd` that the command inherits. Whatever was
/// open under that number is closed, so it must be none of ours.
///
/// # Errors
/// What the system says.
pub fn hand_down(fd: OwnedFd, number: RawFd) -> io::Result<()> {
    let raw = fd.as_raw_fd();
    // SAFETY: `number` is either `fd` itself or no descriptor that anything
    // in this program owns (the caller's promise).
    let result = unsafe { if raw == number { libc::fcntl(raw, libc::F_SETFD, 0) } else { libc::dup2(raw, number) } };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    if raw == number {
        mem::forget(fd);
    }
    Ok(())
}

/// Closes every descriptor from 3 on but those to keep: a watcher that held a
/// copy of the command's sockets and pipes would keep them open.
pub fn close_all_but(keep: &[RawFd]) {
    let keep: BTreeSet<RawFd> = keep.iter().copied().filter(|fd| *fd > 2).collect();
    let mut from = 3;
    for fd in keep.into_iter().chain([RawFd::MAX]) {
        if from < fd {
            close_from_to(from, if fd == RawFd::MAX { fd } else { fd - 1 });
        }
        from = fd.saturating_add(1);
    }
}

fn close_from_to(first: RawFd, last: RawFd) {
    // SAFETY: nothing in this program owns a descriptor in the range (the
    // caller keeps what is owned). The bare call, because the C library of an
    // older system has no wrapper.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, 0) == 0 {
            return;
        }
        // Linux before 5.9.
        let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr());
        let highest = RawFd::try_from(limit.assume_init().rlim_cur).unwrap_or(65_536);
        for fd in first..=last.min(highest.min(65_536)) {
            libc::close(fd);
        }
    }
}

/// Lets stdin and stdout be /dev/null; stderr stays, for the journal.
pub fn detach_from_terminal() {
    // SAFETY: replaces the two standard descriptors, which nobody owns.
    unsafe {
        libc::setsid();
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if null >= 0 {
            libc::dup2(null, 0);
            libc::dup2(null, 1);
            if null > 1 {
                libc::close(null);
            }
        }
    }
}

/// Where a `vsock:` notify socket is.
#[derive(Clone, Copy, Debug)]
pub struct Vsock {
    context: u32,
    port: u32,
    /// `SOCK_…`; `None`: whatever the host knows.
    kind: Option<c_int>,
}

impl Vsock {
    /// Reads `vsock:CID:PORT`, `vsock-stream:…`, `vsock-dgram:…`,
    /// `vsock-seqpacket:…`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Vsock> {
        let (scheme, rest) = text.split_once(':')?;
        let kind = match scheme {
            "vsock" => None,
            "vsock-stream" => Some(libc::SOCK_STREAM),
            "vsock-dgram" => Some(libc::SOCK_DGRAM),
            "vsock-seqpacket" => Some(libc::SOCK_SEQPACKET),
            _ => return None,
        };
        let (context, port) = rest.split_once(':')?;
        let context = context.parse().ok().filter(|cid| *cid != libc::VMADDR_CID_ANY)?;
        Some(Vsock { context, port: port.parse().ok()?, kind })
    }
}

/// Sends one message over vsock. Without a kind in the address: a datagram,
/// or a sequential packet where the host has no datagrams (systemd's order).
///
/// # Errors
/// What the system says.
pub fn send_vsock(to: &Vsock, message: &[u8]) -> io::Result<()> {
    match to.kind {
        Some(kind) => send_vsock_as(to, kind, message),
        None => {
            send_vsock_as(to, libc::SOCK_DGRAM, message).or_else(|_| send_vsock_as(to, libc::SOCK_SEQPACKET, message))
        }
    }
}

fn send_vsock_as(to: &Vsock, kind: c_int, message: &[u8]) -> io::Result<()> {
    // SAFETY: a socket of our own, an address structure filled in field by
    // field, buffers that outlive the calls.
    unsafe {
        let raw = libc::socket(libc::AF_VSOCK, kind | libc::SOCK_CLOEXEC, 0);
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(raw);
        let mut address: libc::sockaddr_vm = mem::zeroed();
        address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
        address.svm_cid = to.context;
        address.svm_port = to.port;
        let size = mem::size_of::<libc::sockaddr_vm>() as libc::socklen_t;
        if libc::connect(raw, (&raw const address).cast(), size) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut rest = message;
        while !rest.is_empty() {
            match libc::send(raw, rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) {
                -1 => return Err(io::Error::last_os_error()),
                sent => rest = &rest[usize::try_from(sent).unwrap_or(0)..],
            }
        }
        if kind != libc::SOCK_DGRAM {
            await_close(socket.as_raw_fd());
        }
    }
    Ok(())
}

/// A connection has to be closed by the reader, or what is still on its way
/// may be thrown away with it.
fn await_close(socket: RawFd) {
    let limit = libc::timeval { tv_sec: 5, tv_usec: 0 };
    let mut byte = 0u8;
    // SAFETY: an open socket, our own time and one byte to read into.
    unsafe {
        libc::shutdown(socket, libc::SHUT_WR);
        libc::setsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const limit).cast(),
            mem::size_of::<libc::timeval>() as libc::socklen_t,
        );
        while libc::recv(socket, (&raw mut byte).cast(), 1, 0) > 0 {}
    }
}

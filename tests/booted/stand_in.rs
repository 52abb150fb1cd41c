//! A program that plays the processes of the situations: it does one thing, and says on its standard output
//! what happens to it.

use crate::machines::machine::Machine;

/// Where it is.
pub const PATH: &str = "/usr/local/bin/stand-in";

const PROGRAM: &str = r#"#!/usr/bin/python3 -S
"""stand-in WHAT [ARGUMENT]…

run                 goes on, and ends with 0 when asked
notify [SECONDS]    says READY=1, after that many seconds
never               is asked for READY=1 and never says it
flap FILE N         fails N times, then is as `notify`
stubborn            as `notify`, but has to be killed
sulk N              as `notify`, but ends with N when asked to stop
crash [SECONDS]     ends with 1
end [SECONDS]       ends with 0
unless FILE WHAT…   does WHAT, unless FILE exists: then it says that it is bad, and ends with 1
write FILE TEXT     writes a line to FILE and goes on
"""
import os, signal, socket, sys, time

def tell(text):
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        address = "\0" + address[1:] if address[0] == "@" else address
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(text.encode(), address)

def leave(status):
    def handler(*_):
        print("asked to stop", flush=True)
        # Not only in the journal: lines of several processes needn't get there in the order in which they were written.
        try:
            with open("/run/stand-ins-stopped", "a") as out:
                out.write(open("/proc/self/cgroup").read().strip().rsplit("/")[-1] + "\n")
        except OSError:
            pass
        os._exit(status)
    return handler

def go_on(status=0, ready=True):
    signal.signal(signal.SIGTERM, leave(status))
    if ready:
        tell("READY=1")
    while True:
        # Not pause(): a signal that comes right before it would never be seen to.
        time.sleep(0.1)

what, rest = sys.argv[1], sys.argv[2:]
print("begins", flush=True)
if what == "unless":
    if os.path.exists(rest[0]):
        print("it is bad", flush=True)
        sys.exit(1)
    what, rest = rest[1], rest[2:]
if what == "run":
    go_on(ready=False)
elif what == "notify":
    time.sleep(float(rest[0]) if rest else 0)
    go_on()
elif what == "never":
    go_on(ready=False)
elif what == "flap":
    seen = os.path.getsize(rest[0]) if os.path.exists(rest[0]) else 0
    if seen < int(rest[1]):
        open(rest[0], "a").write(".")
        sys.exit(1)
    go_on()
elif what == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tell("READY=1")
    while True:
        signal.pause()
elif what == "sulk":
    go_on(status=int(rest[0]))
elif what in ("crash", "end"):
    time.sleep(float(rest[0]) if rest else 0)
    sys.exit(1 if what == "crash" else 0)
elif what == "write":
    with open(rest[0], "a") as out:
        out.write(rest[1] + "\n")
    go_on()
"#;

/// Puts it into the machine.
pub fn install(m: &Machine) {
    if !m.exists(PATH) {
        m.write_program(PATH, PROGRAM);
    }
}

//! The text of `--help`.

/// Fits on a screen; the man page has the rest.
pub const TEXT: &str = "\
copse-notify: readiness and health for programs that can't report their own to
systemd, and setup steps that run only when something changed

  copse-notify [PROBE…] [OPTION…] -- COMMAND [ARGUMENT…]
      become COMMAND in this process; a watcher beside it sends READY=1 once all
      probes hold (without a probe: once COMMAND runs), then is gone
      (Type=notify, NotifyAccess=all)
  copse-notify wait PROBE… [--pid PID|none] [OPTION…]
      exit 0 once all probes hold, and at once when the process (default:
      $MAINPID) has ended; for ExecStartPost= and scripts
  copse-notify once --stamp FILE [--input PATH]… [--definition TEXT]… [--again]
               -- COMMAND [ARGUMENT…]
      run COMMAND, unless it succeeded before with the same words, definitions,
      inputs (content, mode, everything below a directory) and credentials
  copse-notify send [--ready] [--reloading] [--stopping] [--watchdog]
               [--status TEXT] [--mainpid PID] [--extend-timeout SPAN]
               [--watchdog-usec SPAN]
               [--fdstore NAME FD]… [--fdstore-remove NAME]… [--no-barrier]
      send to the service manager, and wait until it has read it

Probes (several: all have to hold):
  --tcp HOST:PORT           a connection is accepted; [::1]:80 for IPv6
  --unix PATH|@NAME         a socket is there, and listens if it is one that can
  --http URL                a GET is answered; http:// and http+unix://
    --status RANGES           …with one of these (default 200-399)
    --header 'NAME: VALUE'    …having been sent this as well
  --file PATH               it exists
    --non-empty               …and holds something
  --fd N                    COMMAND writes a newline to its descriptor N
  --command N WORD…         the command of the N words that follow exits 0
  --listening PORT          a process of the service listens on the TCP port

Options:
  --interval SPAN           longest pause between two attempts (500ms)
  --probe-timeout SPAN      longest time of one attempt (5s)
  --timeout SPAN            give up after this time (never)
  --health                  the probes that follow are for health: WATCHDOG=1 is
                            sent while they hold (needs WatchdogSec=)
    --failures N              the failure in a row after which it isn't (3)
    --health-interval SPAN    (a third of WatchdogSec=; half at most)
  --main-ready              COMMAND sends READY=1 itself (only health is watched)
  --pass-notify             COMMAND keeps $NOTIFY_SOCKET and $WATCHDOG_*
  --strict                  not having $NOTIFY_SOCKET is an error

Spans are systemd's: 500ms, 1min 30s, a bare number of seconds.

Exit status: 0 ready, sent, unchanged · 64 usage · 69 the process ended before it
was ready · 71 a system call failed · 75 timed out · 78 no $NOTIFY_SOCKET with
--strict · 126 COMMAND can't be executed · 127 it wasn't found. `once` passes
COMMAND's own status on, and ends by the signal that ended it.
";

"""visitor.py PORT END: visits a page without pause, with four visitors at once, until the file END is there.

Prints `sees N` when version N of the web program answers for the first time, what became of a visit that got no right
answer, and at the end: the answers, the visits that got none, and the visits that were counted twice or not at all.
"""

import os
import re
import socket
import sys
import threading

VISITORS = 4
PATIENCE = 60
PAGE = re.compile(rb"HTTP/1.1 200 OK\r\n.*\r\n\r\nvisit (\d+): web (\S+), store (\S+)\n", re.DOTALL)

lock = threading.Lock()
visits, versions, lost = [], set(), []


def visit(port):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while more := sock.recv(4096):
            answer += more
    found = PAGE.fullmatch(answer)
    if not found:
        raise ValueError(f"answered {answer!r}")
    return int(found[1]), found[2].decode()


def go_on(port, end):
    while not os.path.exists(end):
        try:
            number, version = visit(port)
        except (OSError, ValueError) as error:
            with lock:
                lost.append(error)
                print(f"lost: {error!r}", flush=True)
            continue
        with lock:
            visits.append(number)
            if version not in versions:
                versions.add(version)
                print(f"sees {version}", flush=True)


def main(port, end):
    visitors = [threading.Thread(target=go_on, args=[port, end]) for _ in range(VISITORS)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    # Where nobody else visits, and the store stays the same, there is one visit for each number.
    missing = set(range(min(visits), max(visits) + 1)) - set(visits)
    print(len(visits), len(lost), len(missing) + len(visits) - len(set(visits)), flush=True)


main(int(sys.argv[1]), sys.argv[2])

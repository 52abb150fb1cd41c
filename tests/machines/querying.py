"""querying.py PORT END: asks a resolver a thousand times a second, whatever becomes of the answers, until the file END is
there and the last answers have come.

A query is sent once, each from the next of some sockets, so that workers with a socket of their own all get their share
(SO_REUSEPORT). It is lost when there is no answer within five seconds (as long as kdig waits), or a wrong one.
Prints `asking` with the time by the monotonic clock at the first answer, and at the end: the queries answered, those
lost, and the longest time (in ms) in which not one answer came while it asked.
"""

import os
import select
import socket
import struct
import sys
import time

PAUSE = 0.001
PATIENCE = 5
SOCKETS = 16
NAME = b"".join(bytes([len(label)]) + label for label in b"ns.copse.example".split(b".")) + b"\0"
ADDRESS = socket.inet_aton("192.0.2.53")


def connected(port):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("127.0.0.1", port))
    return sock


def query(number):
    return struct.pack(">HHHHHH", number % 65536, 0x0100, 1, 0, 0, 0) + NAME + struct.pack(">HH", 1, 1)


def is_right(answer):
    return answer[3] & 0x0F == 0 and ADDRESS in answer


def main(port, end):
    socks = [connected(port) for _ in range(SOCKETS)]
    waiting = {}                # when it was asked, by the query's number, oldest first
    asked, answered, lost, silence, left = 0, 0, 0, 0.0, None
    begin = last = time.monotonic()
    while left is None or waiting:
        now = time.monotonic()
        while waiting and now - next(iter(waiting.values())) > PATIENCE:
            waiting.pop(next(iter(waiting)))
            lost += 1
        if left is None and os.path.exists(end):
            left = now - last
        if left is None:
            asked += 1
            waiting[asked % 65536] = now
            try:
                socks[asked % SOCKETS].send(query(asked))
            except OSError:     # nobody has the socket open, said about a query before
                pass
        # Whoever is late asks the sooner: the pace is steady.
        deadline = begin + asked * PAUSE if left is None else now + PAUSE
        while (ready := select.select(socks, [], [], max(deadline - time.monotonic(), 0))[0]):
            for sock in ready:
                try:
                    answer = sock.recv(512)
                except OSError:
                    continue
                if waiting.pop(int.from_bytes(answer[:2], "big"), None) is None:
                    continue    # it is late, and was counted as lost
                if not is_right(answer):
                    lost += 1
                    continue
                now = time.monotonic()
                if not answered:
                    print(f"asking {now:.6f}", flush=True)
                    last = now
                answered += 1
                silence, last = max(silence, now - last), now
    print(f"{answered} {lost} {max(silence, left) * 1000:.0f}", flush=True)


main(int(sys.argv[1]), sys.argv[2])

"""ask.py PORT END: asks a resolver a thousand times a second, whatever becomes of the answers, until the file END is
there and the last answers have come.

A query is sent once. It is lost when there is no answer within five seconds (as long as kdig waits), or a wrong one.
Prints `asking` at the first answer, and at the end: the queries answered, those lost, and the longest time (in ms) in
which not one answer came.
"""

import os
import select
import socket
import struct
import sys
import time

PAUSE = 0.001
PATIENCE = 5
NAME = b"".join(bytes([len(label)]) + label for label in b"ns.copse.example".split(b".")) + b"\0"
ADDRESS = socket.inet_aton("192.0.2.53")


def query(number):
    return struct.pack(">HHHHHH", number % 65536, 0x0100, 1, 0, 0, 0) + NAME + struct.pack(">HH", 1, 1)


def is_right(answer):
    return answer[3] & 0x0F == 0 and ADDRESS in answer


def main(port, end):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.connect(("127.0.0.1", port))
    waiting = {}                # when it was asked, by the query's number, oldest first
    asked, answered, lost, silence = 0, 0, 0, 0.0
    last = time.monotonic()
    while not os.path.exists(end) or waiting:
        now = time.monotonic()
        while waiting and now - next(iter(waiting.values())) > PATIENCE:
            waiting.pop(next(iter(waiting)))
            lost += 1
        if not os.path.exists(end):
            asked += 1
            waiting[asked % 65536] = now
            try:
                sock.send(query(asked))
            except OSError:     # nobody has the socket open, said about a query before
                pass
        deadline = now + PAUSE
        while (left := deadline - time.monotonic()) > 0 and select.select([sock], [], [], left)[0]:
            try:
                answer = sock.recv(512)
            except OSError:
                continue
            if waiting.pop(int.from_bytes(answer[:2], "big"), None) is None:
                continue        # it is late, and was counted as lost
            if not is_right(answer):
                lost += 1
                continue
            if not answered:
                print("asking", flush=True)
            answered += 1
            now = time.monotonic()
            silence, last = max(silence, now - last), now
    print(f"{answered} {lost} {silence * 1000:.0f}", flush=True)


main(int(sys.argv[1]), sys.argv[2])

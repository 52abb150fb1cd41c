"""client.py URL COMMAND…: a client of supervisord's interface, for what supervisorctl does not ask.

call METHOD [JSON]   prints the result, or FAULT CODE TEXT
http                 reads requests from the standard input, one JSON string each; prints the status of each answer
"""
import json, socket, sys
import xmlrpc.client
from supervisor.xmlrpc import SupervisorTransport

url, command = sys.argv[1:3]
if command == "call":
    transport = SupervisorTransport(None, None, url)
    server = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)
    arguments = json.loads(sys.argv[4]) if len(sys.argv) > 4 else []
    try:
        method = server
        for part in sys.argv[3].split("."):
            method = getattr(method, part)
        print(json.dumps(method(*arguments), sort_keys=True))
    except xmlrpc.client.Fault as fault:
        print("FAULT", fault.faultCode, fault.faultString)
else:
    for line in sys.stdin:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(20)
        connection.connect(url[len("unix://"):])
        answer = b""
        try:
            connection.sendall(json.loads(line).encode("latin-1"))
            connection.shutdown(socket.SHUT_WR)
            while chunk := connection.recv(65536):
                answer += chunk
        except OSError:
            pass
        head, _, body = answer.partition(b"\r\n\r\n")
        print(head.split(b" ")[1].decode() if head else "none", answer.count(b"<methodResponse>"))
        connection.close()

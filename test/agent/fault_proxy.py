"""A proxy between agents and heddled, on UNIX sockets, that injects network faults. It parses HTTP
messages: a fault affects a whole request. It records what the clients were told (`told`)."""
import json
import os
import random
import re
import socket
import threading
import time

FAULTS = ("lost request", "lost answer", "twice", "late", "truncated")


def read_message(sock):
    """One request or answer, head and body; None at the end. The body must have a Content-Length, as it does here."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?im)^content-length: *(\d+)", head)
    while length and len(body) < int(length.group(1)):
        piece = sock.recv(65536)
        if not piece:
            return None
        body += piece
    return head + b"\r\n\r\n" + body


class Proxy:
    def __init__(self, path, server, rate=0.0, seed=1, most_late_s=1.0):
        self.path, self.server, self.rate, self.most_late_s = path, server, rate, most_late_s
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.counts = dict.fromkeys(FAULTS + ("requests", "cut"), 0)
        self.told = []  # (kind, lease, body of the request, answer)
        self.n_bad = 0  # number of these candidates that were not ok
        self.cut = set()  # subset of "there", "back"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(256)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def ask(self, request, truncated=False):
        """The server's answer on a separate connection; None: it has none."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as upstream:
                upstream.settimeout(75)
                upstream.connect(self.server)
                if truncated:
                    upstream.sendall(request[:len(request) * 2 // 3])
                    return None
                upstream.sendall(request)
                return read_message(upstream)
        except OSError:
            return None

    def faulted(self):
        return sum(self.counts[fault] for fault in FAULTS)

    def pick(self):
        with self.lock:
            self.counts["requests"] += 1
            if self.random.random() >= self.rate:
                return None, 0
            fault = self.random.choice(FAULTS)
            self.counts[fault] += 1
            return fault, self.random.random() * self.most_late_s

    def remember(self, request, answer):
        head = request.split(b"\r\n", 1)[0].decode()
        found = re.match(r"POST /v1/leases/(\d+)/(measurements|finish) ", head)
        if found and answer.split(b" ", 2)[1][:1] == b"2":
            body = json.loads(request.partition(b"\r\n\r\n")[2])
            reply = answer.partition(b"\r\n\r\n")[2]
            bad = sum(m["verdict"] != "ok" for m in body.get("measurements", [])) if found.group(2) == "measurements" else 0
            with self.lock:
                self.n_bad += bad
                self.told.append((found.group(2), int(found.group(1)), body, json.loads(reply) if reply else None))

    def serve(self, client):
        with client:
            try:
                while (request := read_message(client)) is not None:
                    answer = self.exchange(request)
                    if answer is None:
                        return
                    self.remember(request, answer)
                    client.sendall(answer)
            except OSError:
                return

    def exchange(self, request):
        fault, late = self.pick()
        if "there" in self.cut:
            self.counts["cut"] += 1
            time.sleep(0.05)
            return None
        if fault == "lost request":
            return None
        if fault == "truncated":
            self.ask(request, truncated=True)
            return None
        if fault == "late":  # the client has given up long ago; other requests overtake it
            threading.Timer(late, self.ask, (request,)).start()
            return None
        if fault == "twice":
            threading.Timer(late, self.ask, (request,)).start()
        answer = self.ask(request)
        if "back" in self.cut:
            self.counts["cut"] += 1
            return None
        if fault == "lost answer":
            return None
        return answer

    def close(self):
        self.listener.close()
        os.unlink(self.path)

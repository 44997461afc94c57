"""Clients of heddled in threads. Each submits its product, claims it, measures and finishes, then pauses; it repeats every
request unchanged until it is answered. They are the load during which faults are injected into heddled."""
import threading
import time

import daemon

CLASS = "scripted:load"


class Client(threading.Thread):
    def __init__(self, connect, index, life, pause_s):
        super().__init__(daemon=True)
        self.client = daemon.Client(connect)
        self.index, self.life, self.pause_s = index, life, pause_s  # life: part of request names, which the database keeps
        self.stopping = threading.Event()
        self.counts = {"cycles": 0, "repeats": 0}

    def patient(self, path, body):
        """The answer; None: the client is stopping."""
        pause = 0.005
        while not self.stopping.is_set():
            try:
                answer = self.client.post(path, body)
                if answer.status < 500:
                    return answer
            except Exception:  # any network fault
                self.client.connection = None
            self.counts["repeats"] += 1
            time.sleep(pause)
            pause = min(max(self.pause_s, 0.05), 1.3 * pause)
        return None

    def cycle(self, i):
        product = daemon.product(m=64 * (self.index + 1), n=8 * (1 + i % 50), k=4096)
        device = {"device": f"LOAD-{self.index}", "cls": CLASS, "scripted": True}
        if not self.patient("/v1/jobs", {"class": CLASS, "policy": "load", "products": [product], "again": True}):
            return
        answer = self.patient("/v1/leases", daemon.claim(f"load-{self.life}-{self.index}-{i:08d}", **device))
        if not answer or answer.status != 201:  # 409: its own earlier lease is still live
            return
        path = f"/v1/leases/{answer.json['lease']}"
        rows = [daemon.row(k, us=9 + k / 8) for k in range(4)]
        if self.patient(path + "/measurements", {"measurements": rows[:2]}) and self.patient(path + "/measurements", {"measurements": rows[2:]}):
            answer = self.patient(path + "/finish", daemon.race(best=9, measurements=len(rows)))
            self.counts["cycles"] += bool(answer and answer.status == 200)

    def run(self):
        i = 0
        while not self.stopping.is_set():
            i += 1
            self.cycle(i)
            self.stopping.wait(self.pause_s)


class Clients:
    def __init__(self, n, path, life, pause_s):
        self.list = [Client(lambda: daemon.UnixConnection(path, 10), i, life, pause_s) for i in range(n)]
        for client in self.list:
            client.start()

    def stop(self):
        for client in self.list:
            client.stopping.set()
        for client in self.list:
            client.join(30)
        return {key: sum(client.counts[key] for client in self.list) for key in ("cycles", "repeats")}

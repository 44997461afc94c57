"""test_outage.py: an unavailable database, two daemons on one database, and restarts."""
import os
import signal
import sqlite3
import subprocess
import threading
import time
import unittest

from daemon import PG_BIN, Daemon, Postgres, claim, product, race, row


def until(what, seconds=10):
    end = time.monotonic() + seconds
    while True:
        try:
            if value := what():
                return value
        except (OSError, AssertionError):
            pass
        if time.monotonic() > end:
            raise AssertionError("it did not happen in %g s" % seconds)
        time.sleep(0.05)


def choose(client, p, device="GPU-1", request="request-1"):
    client.post("/v1/jobs", {"products": [p], "class": "H200"})
    lease = client.post("/v1/leases", claim(request, device)).json["lease"]
    client.post(f"/v1/leases/{lease}/measurements", {"measurements": [row(0)]})
    return client.post(f"/v1/leases/{lease}/finish", race()).json


def exact(client, p):
    return client.get("/v1/choice", product=p, exact=1, **{"class": "H200"}).status == 200


@unittest.skipUnless(PG_BIN, "PostgreSQL is not installed")
class PostgresAway(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.postgres = Postgres()

    @classmethod
    def tearDownClass(cls):
        cls.postgres.remove()

    def setUp(self):
        self.postgres.clear()

    def test_lookups_go_on_and_writes_say_so(self):
        daemon = Daemon(self.postgres.url)
        client = daemon.client()
        choose(client, product())
        until(lambda: exact(client, product()))
        self.postgres.stop("immediate")
        for _ in range(3):
            self.assertTrue(exact(client, product()))
            self.assertEqual(client.get("/v1/choices").status, 200)
            answer = client.post("/v1/jobs", {"products": [product(n=2)], "class": "H200"})
            self.assertEqual((answer.status, answer.rule, answer.headers["Retry-After"]), (503, "store.down", "1"))
            self.assertEqual(client.get("/v1/jobs").rule, "store.down")
            time.sleep(0.5)
        until(lambda: client.get("/readyz").status == 503)
        self.assertEqual(client.get("/healthz").status, 200)
        self.postgres.start()
        until(lambda: client.post("/v1/jobs", {"products": [product(n=2)], "class": "H200"}).status == 200)
        until(lambda: client.get("/readyz").status == 200)
        self.assertEqual(daemon.stop(), 0)

    def test_a_restart_between_requests_is_not_noticed(self):
        daemon = Daemon(self.postgres.url)
        client = daemon.client()
        choose(client, product())
        for how in ("fast", "immediate"):
            self.postgres.stop(how)
            self.postgres.start()
            for n in range(20):  # every worker has its own connection
                self.assertEqual(client.get("/v1/jobs").status, 200)
                answer = client.post("/v1/jobs", {"products": [product(n=n + 2)], "class": "H200"})
                self.assertEqual(answer.status, 200, answer.body)
        daemon.stop()

    def test_two_daemons_on_one_database(self):
        a, b = Daemon(self.postgres.url), Daemon(self.postgres.url)
        got = []
        waiter = threading.Thread(target=lambda: got.append(
            b.client().post("/v1/leases", claim("request-w", wait_s=20))))
        waiter.start()
        time.sleep(0.7)
        begun = time.monotonic()
        a.client().post("/v1/jobs", {"products": [product()], "class": "H200"})
        waiter.join()
        self.assertEqual(got[0].status, 201)
        self.assertLess(time.monotonic() - begun, 0.9)  # by NOTIFY, before the keeper's next second
        lease = got[0].json["lease"]
        self.assertEqual(a.client().post(f"/v1/leases/{lease}/renew").status, 200)
        self.assertEqual(a.client().post(f"/v1/leases/{lease}/finish", race()).json["decision"], "new")
        begun = time.monotonic()
        until(lambda: exact(b.client(), product()))
        self.assertLess(time.monotonic() - begun, 0.9)
        a.stop(), b.stop()

    def test_two_daemons_start_at_the_same_time(self):
        daemons = [Daemon(self.postgres.url, wait=False) for _ in range(4)]
        for daemon in daemons:
            self.assertEqual(until(lambda: daemon.client().get("/readyz").status == 200), True)
            self.assertEqual(daemon.stop(), 0)

    def test_the_services_role_cannot_change_what_happened(self):
        self.postgres.sql("DROP ROLE IF EXISTS heddle_service")
        self.postgres.sql("CREATE ROLE heddle_service LOGIN")
        subprocess.run([os.environ.get("HEDDLED", "build/bin/heddled"), "migrate", "--store", self.postgres.url],
                       check=True, stdout=subprocess.DEVNULL)
        daemon = Daemon(self.postgres.url.replace("heddle@", "heddle_service@"))
        choose(daemon.client(), product())
        self.assertTrue(until(lambda: exact(daemon.client(), product())))
        self.assertEqual(daemon.client().post("/v1/bundles", {}).status, 200)
        daemon.stop()
        for table in ("measurement", "race", "choice", "event", "bundle"):
            for what in (f"UPDATE {table} SET lease = 1", f"DELETE FROM {table}", f"TRUNCATE {table}"):
                if table == "bundle" and "UPDATE" in what:
                    what = "UPDATE bundle SET note = ''"
                with self.assertRaisesRegex(RuntimeError, "permission denied"):
                    self.postgres.sql("SET ROLE heddle_service; " + what)
        self.postgres.clear()
        self.postgres.sql("DROP ROLE heddle_service")


class Restarts(unittest.TestCase):
    def test_what_was_answered_survives_a_kill(self):
        daemon = Daemon()
        for n in range(1, 6):
            client = daemon.client()
            done = choose(client, product(n=n), request=f"request-{n}")
            self.assertEqual(done["state"], "done")
            daemon.stop(signal.SIGKILL)
            daemon.start()
            self.assertTrue(exact(daemon.client(), product(n=n)))  # known right after the start
        db = sqlite3.connect(daemon.store[len("sqlite:"):])
        self.assertEqual(db.execute("SELECT count(*) FROM measurement").fetchone(), (5,))
        db.close()
        daemon.stop()

    def test_a_lease_outlives_its_daemon(self):
        daemon = Daemon()
        client = daemon.client()
        client.post("/v1/jobs", {"products": [product()], "class": "H200"})
        lease = client.post("/v1/leases", claim("request-1")).json
        daemon.stop(signal.SIGKILL)
        daemon.start()
        client = daemon.client()
        self.assertEqual(client.post("/v1/leases", claim("request-1")).json, lease)
        self.assertEqual(client.post(f"/v1/leases/{lease['lease']}/finish", race()).json["state"], "done")
        daemon.stop()

    def test_waiting_claims_are_answered_at_the_end(self):
        daemon = Daemon()
        got = []
        waiter = threading.Thread(target=lambda: got.append(
            daemon.client().post("/v1/leases", claim("request-1", wait_s=60)).status))
        waiter.start()
        reader = daemon.client()
        until(lambda: b"\nheddle_agents_waiting 1\n" in reader.get("/metrics").body)
        begun = time.monotonic()
        self.assertEqual(daemon.stop(), 0)
        waiter.join()
        self.assertEqual(got, [204])
        self.assertLess(time.monotonic() - begun, 3)

    @unittest.skipUnless(os.getuid() == 0 and os.path.exists("/proc/mounts"), "a small disk is mounted by root")
    def test_a_full_disk(self):
        folder = "/tmp/heddle-small-disk-%d" % os.getpid()
        os.makedirs(folder)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder],
                          stderr=subprocess.DEVNULL).returncode != 0:
            os.rmdir(folder)
            self.skipTest("mount is not permitted")
        try:
            daemon = Daemon(f"sqlite:{folder}/heddle.db")
            client = daemon.client()
            choose(client, product())
            until(lambda: exact(client, product()))
            rules, n = [], 1
            while len(rules) < 3 and n < 400:
                keys = [product(m=64 * n, n=i + 1) for i in range(200)]
                answer = client.post("/v1/jobs", {"products": keys, "class": "H200"})
                rules += [] if answer.status == 200 else [(answer.status, answer.rule)]
                n += 1
            self.assertEqual(rules, [(503, "store.down")] * 3)
            self.assertTrue(exact(client, product()))
            subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)
            until(lambda: client.post("/v1/jobs", {"products": [product(n=9999)], "class": "H200"}).status == 200)
            daemon.stop()
            db = sqlite3.connect(f"{folder}/heddle.db")
            self.assertEqual(db.execute("PRAGMA integrity_check").fetchone(), ("ok",))
            db.close()
        finally:
            daemon.stop(signal.SIGKILL)
            subprocess.run(["umount", "-l", folder])
            os.rmdir(folder)


if __name__ == "__main__":
    unittest.main(warnings="ignore")

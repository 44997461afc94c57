"""test_conformance.py sqlite|postgresql [TEST...]: the protocol of docs/service.md on one store."""
import json
import math
import re
import sys
import threading
import time
import unittest

from daemon import Daemon, Postgres, claim, contender, product, race, row, unanswered

STORE = "sqlite"
POSTGRES = None
SHORT_LEASE_MS = 600


def key_error(answer):
    return (answer.status, answer.rule)


class Case(unittest.TestCase):
    config = {}

    def setUp(self):
        if POSTGRES:
            POSTGRES.clear()
        self.daemon = Daemon(POSTGRES.url if POSTGRES else None, **self.config)
        self.client = self.daemon.client()
        self.n_claims = 0

    def tearDown(self):
        self.client.connection and self.client.connection.close()
        self.assertIn(self.daemon.stop(), (0, None), "heddled ended with an error")
        bad = [x for x in self.daemon.lines() if x.get("level") == "error"]
        self.assertEqual(bad, [], "heddled logged errors")
        self.daemon.remove()

    def submit(self, *products, cls="H200", **more):
        answer = self.client.post("/v1/jobs", {"products": list(products), "class": cls, **more})
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json

    def claim(self, device="GPU-1", request=None, status=201, **more):
        self.n_claims += 1
        answer = self.client.post("/v1/leases", claim(request or f"request-{self.n_claims}", device, **more))
        self.assertEqual(answer.status, status, answer.body)
        return answer.json if status == 201 else answer

    def finish(self, lease, body=None, status=200):
        answer = self.client.post(f"/v1/leases/{lease['lease']}/finish", body or race())
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def job(self, job):
        return self.client.get(f"/v1/jobs/{job}").json

    def history(self, p=None):
        return self.client.get("/v1/history", product=p or product(), **{"class": "H200"}).json

    def choose(self, p=None, device="GPU-1", body=None, **claim_more):
        """One job from submission to its end."""
        self.submit(p or product(), again=True)
        return self.finish(self.claim(device, **claim_more), body)

    def lookup(self, p=None, status=200, wait=None, **query):
        """The answer after lookups use what the keeper has read: at most a second and a half later."""
        end = time.monotonic() + 3
        while True:
            answer = self.client.get("/v1/choice", product=p or product(), **{"class": "H200"}, **query)
            if answer.status == status and (wait is None or wait(answer.json)):
                return answer
            self.assertLess(time.monotonic(), end, answer.body)
            time.sleep(0.02)


class Jobs(Case):
    def test_a_second_submit_makes_no_job(self):
        first = self.submit(product(), product(n=32))
        self.assertEqual((first["created"], first["joined"], first["chosen"]), (2, 0, 0))
        second = self.submit(product(), product(n=32), product(n=64))
        self.assertEqual((second["created"], second["joined"], second["chosen"]), (1, 2, 0))
        self.assertEqual(len(self.client.get("/v1/jobs").json["jobs"]), 3)

    def test_a_product_with_a_choice_makes_no_job(self):
        self.choose()
        answer = self.submit(product())
        self.assertEqual((answer["created"], answer["joined"], answer["chosen"]), (0, 0, 1))
        self.assertNotIn("campaign", answer)
        self.assertEqual(self.submit(product(), again=True)["created"], 1)

    def test_the_same_key_twice_counts_once(self):
        self.assertEqual(self.submit(product(), product())["created"], 1)

    def test_another_class_or_policy_is_another_job(self):
        self.submit(product())
        self.assertEqual(self.submit(product(), cls="H100")["created"], 1)
        self.assertEqual(self.submit(product(), policy="quick")["created"], 1)

    def test_jobs_come_by_priority_then_age(self):
        self.submit(product(n=1))
        self.submit(product(n=2))
        self.submit(product(n=3), priority=7)
        order = [self.claim(f"GPU-{i}")["product"] for i in range(3)]
        self.assertEqual(order, [product(n=3), product(n=1), product(n=2)])

    def test_joining_raises_the_priority(self):
        self.submit(product(n=1))
        self.submit(product(n=2))
        self.submit(product(n=2), priority=9)
        self.assertEqual(self.claim()["product"], product(n=2))

    def test_only_the_own_class_is_given(self):
        self.submit(product())
        self.claim(cls="H100", status=204)
        self.assertEqual(self.claim()["product"], product())

    def test_cancel_a_queued_and_a_leased_job(self):
        self.submit(product(n=1), product(n=2))
        lease = self.claim()
        other = next(j for j in self.client.get("/v1/jobs").json["jobs"] if j["job"] != lease["job"])
        self.assertEqual(self.client.post(f"/v1/jobs/{other['job']}/cancel").json["state"], "cancelled")
        self.assertEqual(self.client.post(f"/v1/jobs/{lease['job']}/cancel").json["state"], "cancelled")
        path = f"/v1/leases/{lease['lease']}"
        self.assertEqual(key_error(self.client.post(path + "/renew")), (409, "lease.ended"))
        self.assertEqual(self.client.post(path + "/measurements", {"measurements": [row(0)]}).status, 204)
        self.assertEqual(key_error(self.client.post(path + "/finish", race())), (409, "lease.ended"))
        again = self.client.post(f"/v1/jobs/{lease['job']}/cancel")
        self.assertEqual(key_error(again), (409, "job.state"))

    def test_campaigns_count_their_jobs(self):
        campaign = self.submit(product(n=1), product(n=2), note="first")["campaign"]
        self.finish(self.claim())
        answer = self.client.get(f"/v1/campaigns/{campaign}").json
        self.assertEqual([answer[k] for k in ("total", "queued", "done", "note")], [2, 1, 1, "first"])
        self.assertGreaterEqual(answer["eta_s"], 0)
        self.assertEqual(len(self.client.get("/v1/campaigns").json["campaigns"]), 1)
        pages = self.client.get("/v1/jobs", campaign=campaign, limit=1).json["jobs"]
        rest = self.client.get("/v1/jobs", campaign=campaign, before=pages[0]["job"]).json["jobs"]
        self.assertEqual(len(pages) + len(rest), 2)

    def test_ten_thousand_products_at_once(self):
        keys = [product(m=64 * (i % 100 + 1), n=i // 100 + 1) for i in range(10000)]
        begun = time.monotonic()
        self.assertEqual(self.submit(*keys)["created"], 10000)
        print(f"10,000 products: {time.monotonic() - begun:.2f} s", file=sys.stderr)
        self.assertEqual(self.submit(*keys)["joined"], 10000)


class Leases(Case):
    config = {"lease_ms": SHORT_LEASE_MS}

    def test_a_repeated_claim_gets_the_same_lease(self):
        self.submit(product(n=1), product(n=2))
        first = self.claim(request="the-same-request")
        self.assertEqual(self.claim(request="the-same-request"), first)
        self.finish(first)
        answer = self.claim(request="the-same-request", status=409)
        self.assertEqual(answer.rule, "lease.request")

    def test_a_gpu_has_one_live_lease(self):
        self.submit(product(n=1), product(n=2))
        self.claim()
        answer = self.claim(status=409)
        self.assertEqual(answer.rule, "lease.device")
        self.assertIn("Retry-After", answer.headers)
        self.claim("GPU-2")

    def test_an_ended_lease_puts_the_job_back(self):
        self.submit(product())
        first = self.claim()
        self.assertEqual(first["attempt"], 0)
        self.claim("GPU-2", status=204)
        end = time.monotonic() + 10
        while (job := self.job(first["job"]))["state"] != "queued":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertEqual(job["attempt"], 1)
        second = self.claim("GPU-2", wait_s=10)
        self.assertEqual((second["job"], second["attempt"]), (first["job"], 1))
        self.assertGreater(second["lease"], first["lease"])
        # The old holder cannot finish, renew or release; its measurements are accepted.
        for verb, body in (("renew", None), ("finish", race()), ("release", {"why": "fault"})):
            answer = self.client.post(f"/v1/leases/{first['lease']}/{verb}", body)
            self.assertEqual(key_error(answer), (409, "lease.ended"), verb)
        late = self.client.post(f"/v1/leases/{first['lease']}/measurements", {"measurements": [row(0)]})
        self.assertEqual(late.status, 204)
        self.assertEqual(self.finish(second)["state"], "done")

    def test_an_ended_lease_is_refused_before_it_is_swept(self):
        self.submit(product())
        lease = self.claim()
        time.sleep(SHORT_LEASE_MS / 1000 + 0.02)
        answer = self.client.post(f"/v1/leases/{lease['lease']}/finish", race())
        self.assertEqual(key_error(answer), (409, "lease.ended"))

    def test_renewing_keeps_a_lease(self):
        self.submit(product())
        lease = self.claim()
        for _ in range(6):
            time.sleep(SHORT_LEASE_MS / 3000)
            answer = self.client.post(f"/v1/leases/{lease['lease']}/renew")
            self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(self.finish(lease)["state"], "done")

    def test_attempts_end(self):
        self.submit(product())
        for attempt in range(5):
            if POSTGRES:
                POSTGRES.sql("UPDATE job SET not_before = 0")
            lease = self.claim(wait_s=30)
            self.assertEqual(lease["attempt"], attempt)
            answer = self.client.post(f"/v1/leases/{lease['lease']}/release", {"why": "fault", "text": "it fell"})
            self.assertEqual(answer.json["state"], "queued" if attempt < 4 else "failed")
            if not POSTGRES and attempt == 2:
                break  # waits for the backoffs of SQLite
        self.assertIn("it fell", self.job(lease["job"])["why"])

    def test_release_without_fault_costs_no_attempt(self):
        self.submit(product())
        for why in ("shutdown", "preempted"):
            lease = self.claim()
            path = f"/v1/leases/{lease['lease']}/release"
            self.assertEqual(self.client.post(path, {"why": why}).json["state"], "queued")
            self.assertEqual(self.client.post(path, {"why": why}).status, 200)  # repeated
        self.assertEqual(self.claim()["attempt"], 0)

    def test_a_busy_gpu_backs_off_for_all(self):
        self.submit(product())
        lease = self.claim()
        self.client.post(f"/v1/leases/{lease['lease']}/release", {"why": "busy"})
        self.claim(status=204)
        self.assertIn("not_before", self.job(lease["job"]))

    def test_a_waiting_claim_gets_what_is_submitted(self):
        got = []
        waiter = self.daemon.client()

        def wait():
            got.append(waiter.post("/v1/leases", claim("waiting-1", wait_s=20)))
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.5)
        begun = time.monotonic()
        self.submit(product())
        thread.join(20)
        self.assertEqual(got[0].status, 201)
        self.assertLess(time.monotonic() - begun, 1.0)

    def test_a_waiting_claim_ends_empty(self):
        begun = time.monotonic()
        self.claim(wait_s=1, status=204)
        self.assertTrue(0.9 < time.monotonic() - begun < 3)

    def test_many_claim_one_job(self):
        self.submit(product())
        answers = []

        def ask(i):
            answers.append(self.daemon.client().post("/v1/leases", claim(f"many-{i:04d}", f"GPU-{i}")).status)
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(sorted(answers), [201] + [204] * 15)

    def test_preemption_is_for_the_least_urgent(self):
        self.submit(product(n=1), product(n=2), priority=2)
        first, second = self.claim("GPU-1"), self.claim("GPU-2")
        self.submit(product(n=3), priority=8)
        asked = [self.client.post(f"/v1/leases/{x['lease']}/renew").json["preempt"] for x in (first, second)]
        self.assertEqual(asked, [False, True])


class Fleet(Case):
    def test_a_gpu_and_what_it_works_on(self):
        self.submit(product())
        lease = self.claim("GPU-7")
        gpu, = self.client.get("/v1/fleet").json["gpus"]
        self.assertEqual([gpu[k] for k in ("uuid", "class", "driver", "agent", "build", "scripted", "lease", "product", "done")],
                         ["GPU-7", "H200", "580.1", "host:1", "b1", False, lease["lease"], product(), 0])
        self.finish(lease)
        gpu, = self.client.get("/v1/fleet").json["gpus"]
        self.assertEqual((gpu.get("lease"), gpu["done"]), (None, 1))


class Measurements(Case):
    def send(self, lease, *rows):
        return self.client.post(f"/v1/leases/{lease['lease']}/measurements", {"measurements": list(rows)})

    def test_repeats_change_nothing(self):
        self.submit(product())
        lease = self.claim()
        self.assertEqual(self.send(lease, row(0), row(1, us=8.5)).status, 204)
        self.assertEqual(self.send(lease, row(0), row(1, us=8.5)).status, 204)
        self.assertEqual(self.send(lease, row(1, us=8.5), row(2)).status, 204)
        answer = self.send(lease, row(2, us=1.0))
        self.assertEqual(key_error(answer), (409, "measurement.differs"))

    def test_a_figure_is_stored_as_the_double_it_rounds_to(self):
        self.submit(product())
        lease = self.claim()
        path = f"/v1/leases/{lease['lease']}/measurements"
        for seq, text in enumerate(("0.30000000000000004", "0.1000000000000000055511151231257827", "-0.0", "1E+2",
                                    "1e-320", "1e-400")):
            body = '{"measurements": [{"seq": %d, "schedule": "a=1", "verdict": "ok", "us": %s}]}' % (seq, text)
            answer = self.client.post(path, body)
            self.assertEqual(answer.status, 204, (text, answer.body))
            self.assertEqual(self.send(lease, row(seq, "a=1", us=float(text))).status, 204)
            again = self.send(lease, row(seq, "a=1", us=math.nextafter(float(text), 1000)))
            self.assertEqual(key_error(again), (409, "measurement.differs"))

    def test_a_finish_waits_for_its_measurements(self):
        self.submit(product())
        lease = self.claim()
        self.send(lease, row(0))
        path = f"/v1/leases/{lease['lease']}/finish"
        self.assertEqual(key_error(self.client.post(path, race(measurements=2))), (409, "finish.early"))
        self.send(lease, row(1))
        self.assertEqual(self.client.post(path, race(measurements=2)).status, 200)

    def test_replaced_rows_are_vacuumed(self):
        """Soon after the start, then once a minute; without PostgreSQL's own vacuum, which may know of nothing after a crash."""
        if not POSTGRES:
            self.skipTest("SQLite reuses the space at once")
        count = "SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = 'head'"
        before = int(POSTGRES.sql(count))
        daemon = Daemon(POSTGRES.url)  # a second one
        end = time.monotonic() + 10
        while int(POSTGRES.sql(count)) == before:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        daemon.stop()

    def test_what_happened_cannot_be_changed(self):
        self.choose()
        for table in ("measurement", "race", "choice", "event"):
            for what in (f"UPDATE {table} SET lease = lease", f"DELETE FROM {table}"):
                self.assertFails(what)

    def assertFails(self, sql):
        if POSTGRES:
            if "measurement" in sql:
                POSTGRES.sql("INSERT INTO measurement(lease, seq, schedule, verdict) VALUES(1, 99, 's', 'ok')"
                             " ON CONFLICT DO NOTHING")
            with self.assertRaisesRegex(RuntimeError, "append-only"):
                POSTGRES.sql(sql)
            return
        import sqlite3
        db = sqlite3.connect(self.daemon.store[len("sqlite:"):])
        if "measurement" in sql:
            db.execute("INSERT OR IGNORE INTO measurement(lease, seq, schedule, verdict) VALUES(1, 99, 's', 'ok')")
            db.commit()
        with self.assertRaisesRegex(sqlite3.IntegrityError, "append-only"):
            db.execute(sql)
        db.close()


class Choices(Case):
    def test_the_fastest_is_chosen_once(self):
        self.submit(product())
        lease = self.claim()
        first = self.finish(lease)
        self.assertEqual((first["state"], first["decision"], first["choice"]["schedule"]),
                         ("done", "new", "tile=128x64"))
        self.assertEqual(self.finish(lease), first)  # repeated: the same answer
        found = self.lookup().json
        self.assertEqual((found["match"], found["choice"]["version"]), ("exact", 1))
        self.assertEqual(self.job(lease["job"])["state"], "done")

    def test_a_choice_never_loses_to_its_default(self):
        answer = self.choose(body=race(default=9.0, best=10.0))
        self.assertEqual(answer["choice"]["schedule"], answer["choice"]["default_schedule"])

    def test_a_tie_keeps_what_is_there(self):
        rounds = [10.0, 9.0, 10.1, 9.2, 10.1, 9.3, 9.9, 9.2, 10.0]
        other = [9.9, 9.1, 10.0, 9.3, 10.0, 9.4, 9.8, 9.3, 10.1]  # five of nine: not significant
        body = race()
        body["race"]["contenders"] = [contender("tile=128x128", rounds, "default"),
                                      contender("tile=128x64", other)]
        self.assertEqual(self.choose(body=body)["choice"]["schedule"], "tile=128x128")

    def test_the_incumbent_stays_without_a_better_one(self):
        self.choose(body=race(best=9.0))
        body = race(best=8.999, schedule="tile=256x64",
                    more=[contender("tile=128x64", [8.999 - (i % 2) * 1e-2 for i in range(9)], "incumbent")])
        self.submit(product(), again=True)
        lease = self.claim()
        self.assertEqual(lease["incumbent"]["schedule"], "tile=128x64")
        self.assertEqual(self.finish(lease, body)["decision"], "kept")
        self.assertEqual(len(self.history()["versions"]), 1)

    def test_versions_only_grow(self):
        self.choose()
        self.choose(body=race(best=8.0, schedule="tile=256x64"))
        versions = [v["version"] for v in self.history()["versions"]]
        self.assertEqual(versions, [2, 1])
        self.lookup(wait=lambda a: a["choice"]["version"] == 2)

    def decide(self, verb, version=None, status=200):
        body = {"product": product(), "class": "H200"}
        if version:
            body["version"] = version
        answer = self.client.post("/v1/choices/" + verb, body)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def refreshes(self):
        return int(re.search(r"^heddle_refreshes_total (\d+)", self.client.get("/metrics").body.decode(), re.M)[1])

    def reads(self, change, n, pause_s):
        """How often the daemon reads choices during n changes, but for once each second; the seconds of the changes."""
        time.sleep(0.3)
        before, begun = self.refreshes(), time.monotonic()
        for i in range(n):
            change(i)
            time.sleep(pause_s)
        took = time.monotonic() - begun
        time.sleep(0.3)
        return self.refreshes() - before - (took + 1.3), took

    def test_changes_are_read_once(self):
        self.choose()
        pin = lambda i: self.decide("unpin" if i % 2 else "pin", None if i % 2 else 1)  # noqa: E731
        self.assertLessEqual(self.reads(pin, 10, 0.15)[0], 10)
        # Those of 20 ms together: one read at the begin, one after each 20 ms, and one for what came during the last.
        n, took = self.reads(pin, 60, 0)
        self.assertLessEqual(n, took / 0.02 + 2)
        # A daemon's own notification of new jobs is no reason to read choices.
        self.assertLessEqual(self.reads(lambda i: self.submit(product(n=i + 100)), 10, 0.15)[0], 0)

    def test_a_pin_holds_against_races(self):
        self.choose()
        self.assertTrue(self.decide("pin", 1)["choice"]["pinned"])
        self.assertEqual(self.choose(body=race(best=5.0, schedule="tile=256x64"))["decision"], "pinned")
        self.lookup(wait=lambda a: a["choice"]["version"] == 1 and a["choice"]["pinned"])
        self.decide("unpin")
        self.assertEqual(self.choose(body=race(best=5.0, schedule="tile=256x64"))["decision"], "new")

    def test_reject_falls_back_and_is_never_chosen_again(self):
        self.choose()
        self.choose(body=race(best=8.0, schedule="tile=256x64"))
        after = self.decide("reject", 2)["choice"]
        self.assertEqual((after["version"], after["schedule"], after["origin"]), (3, "tile=128x64", "reject"))
        again = self.choose(body=race(best=7.0, schedule="tile=256x64",
                                      more=[contender("tile=128x64", [9.0] * 9, "incumbent")]))
        self.assertEqual(again["choice"]["schedule"], "tile=128x64")
        last = self.decide("reject", 1)["choice"]
        self.assertEqual(last["schedule"], "tile=128x128")  # only the default is left
        self.decide("reject", last["version"], status=400)

    def test_rollback_makes_a_new_version(self):
        self.choose()
        self.choose(body=race(best=8.0, schedule="tile=256x64"))
        after = self.decide("rollback", 1)["choice"]
        self.assertEqual((after["version"], after["schedule"], after["origin"]), (3, "tile=128x64", "rollback"))
        kinds = [e["kind"] for e in self.client.get("/v1/events").json["events"]]
        self.assertIn("rolled-back", kinds)

    def test_no_such_version(self):
        self.choose()
        for verb in ("pin", "reject", "rollback"):
            self.assertEqual(self.decide(verb, 7, status=404)["rule"], "version.none")

    def test_a_new_build_carries_what_is_the_same(self):
        self.choose()
        answer = self.client.post("/v1/builds", {"build": "b2"}).json
        self.assertEqual(answer["created"], 1)
        lease = self.claim(build="b2")
        self.assertEqual((lease["incumbent"]["build"], lease["incumbent"]["cubin"]), ("b1", "ab"))
        wrong = self.client.post(f"/v1/leases/{lease['lease']}/finish", {"outcome": "carried", "cubin": "cd"})
        self.assertEqual(key_error(wrong), (400, "race.missing"))
        done = self.finish(lease, {"outcome": "carried", "cubin": "ab"})
        self.assertEqual((done["decision"], done["choice"]["build"], done["choice"]["us"]), ("carried", "b2", 9.004))
        self.assertEqual(self.client.post("/v1/builds", {"build": "b2"}).json["created"], 0)

    def test_a_new_build_tunes_the_most_used_first(self):
        self.choose(product(n=1))
        self.choose(product(n=2))
        use = {"product": product(n=2), "class": "H200", "count": 5, "missed": False}
        self.assertEqual(self.client.post("/v1/uses", {"uses": [use]}).status, 204)
        self.client.post("/v1/builds", {"build": "b2"})
        self.assertEqual(self.claim(build="b2")["product"], product(n=2))

    def test_failed_ends_a_job(self):
        self.submit(product())
        lease = self.claim()
        self.assertEqual(self.finish(lease, {"outcome": "failed", "why": "no legal schedule"})["state"], "failed")
        self.assertEqual(self.job(lease["job"])["why"], "no legal schedule")

    def test_replaying_gives_the_same_choices(self):
        self.choose()
        self.choose(body=race(best=8.0, schedule="tile=256x64"))
        self.decide("reject", 2)
        self.choose(body=race(best=7.0, schedule="tile=256x64"))
        self.assertIn("3 races decided again", self.daemon.command("replay"))


class Suspicion(Case):
    def body(self, begin=100.0, end=100.0, **more):
        return race(begin={"read_us": begin, "kernel_us": 50.0}, end={"read_us": end, "kernel_us": 50.0}, **more)

    def test_a_race_between_unequal_canaries_is_not_chosen_from(self):
        self.submit(product())
        lease = self.claim()
        answer = self.finish(lease, self.body(end=103.0))
        self.assertEqual((answer["state"], answer["decision"]), ("queued", "suspect"))
        self.assertIn("read stream", answer["suspect"])
        self.assertNotIn("choice", answer)
        self.assertEqual(self.finish(lease, self.body(end=103.0)), answer)
        self.assertEqual(self.history()["races"][0]["decision"], "suspect")
        self.assertEqual(self.job(lease["job"])["attempt"], 1)

    def test_a_gpu_is_compared_with_its_own_median(self):
        for i in range(3):
            self.assertEqual(self.choose(product(n=i + 1), body=self.body())["decision"], "new")
        self.submit(product(n=9))
        slow = self.finish(self.claim(), self.body(begin=104.0, end=104.0))
        self.assertEqual(slow["decision"], "suspect")
        # another GPU has its own median
        self.assertEqual(self.choose(product(n=10), "GPU-2", self.body(104.0, 104.0))["decision"], "new")

    def test_a_thermal_throttle_is_suspect(self):
        self.submit(product())
        self.assertEqual(self.finish(self.claim(), self.body(throttle=0x20))["decision"], "suspect")

    def test_drift_of_three_percent_is_found(self):
        for i in range(40):
            off = 100.0 if i < 30 else 103.5
            body = self.body(off, off)
            self.submit(product(n=i + 1))
            self.finish(self.claim(), body)
        gpu = self.client.get("/v1/drift").json["gpus"][0]
        self.assertTrue(gpu["drifted"])
        self.assertAlmostEqual(gpu["read"], 1.035, places=3)
        self.assertEqual(self.client.get("/drift").status, 200)


class Lookups(Case):
    def test_nearest_with_its_distance(self):
        self.choose()
        self.lookup()
        near = self.lookup(product(n=17), wait=lambda a: True).json
        self.assertEqual(near["match"], "nearest")
        self.assertAlmostEqual(near["distance"], 0.0874628, places=6)
        far = self.client.get("/v1/choice", product=product(n=64), **{"class": "H200"})
        self.assertEqual(key_error(far), (404, "choice.none"))
        exact = self.client.get("/v1/choice", product=product(n=17), exact=1, **{"class": "H200"})
        self.assertEqual(key_error(exact), (404, "choice.none"))

    def test_a_choice_is_never_its_own_neighbour(self):
        """Lookups while a choice is added: first nothing, then the exact one."""
        matches = []

        def look():
            client = self.daemon.client()
            end = time.monotonic() + 5
            while not matches and time.monotonic() < end:
                answer = client.get("/v1/choice", product=product(), **{"class": "H200"})
                if answer.status == 200:
                    matches.append(answer.json["match"])
            client.connection.close()

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        self.choose()
        for thread in threads:
            thread.join()
        self.assertEqual(set(matches), {"exact"})

    def test_the_loss_is_what_races_measured(self):
        self.choose(product(n=16), body=race(best=9.0))
        other = race(best=8.0, schedule="tile=256x64", more=[contender("tile=128x64", [8.8] * 9)])
        self.choose(product(n=24), body=other)
        answer = self.lookup(product(n=20), wait=lambda a: "predicted_loss" in a).json
        distance = 0.5849625  # from 24 to 16: a loss of 10 %
        self.assertAlmostEqual(answer["predicted_loss"] / answer["distance"], 0.1 / distance, places=2)

    def test_not_modified(self):
        self.choose()
        first = self.lookup()
        same = self.client.get("/v1/choice", headers={"If-None-Match": first.headers["ETag"]},
                               product=product(), **{"class": "H200"})
        self.assertEqual((same.status, same.body), (304, b""))

    def test_since_gives_what_changed(self):
        self.choose(product(n=1))
        self.lookup(product(n=1))
        whole = self.client.get("/v1/choices").json
        self.assertEqual((whole["version"], len(whole["choices"])), (1, 1))
        self.choose(product(n=2))
        self.lookup(product(n=2), exact=1)
        news = self.client.get("/v1/choices", since=whole["serial"]).json
        self.assertEqual([c["product"] for c in news["choices"]], [product(n=2)])
        self.assertEqual(self.client.get("/v1/choices", **{"class": "none"}).json["choices"], [])

    def test_bundles_are_signed_and_never_change(self):
        self.choose()
        one = self.client.post("/v1/bundles", {"note": "first"}).json
        self.choose(body=race(best=8.0, schedule="tile=256x64"))
        two = self.client.post("/v1/bundles", {}).json
        got = self.client.get(f"/v1/bundles/{one['bundle']}")
        self.assertEqual(got.headers["Heddle-Signature"], one["signature"])
        self.assertEqual(json.loads(got.body)["choices"][0]["version"], 1)
        diff = self.client.get(f"/v1/bundles/{one['bundle']}/diff/{two['bundle']}").json["changes"]
        self.assertEqual((diff[0]["from"]["version"], diff[0]["to"]["version"]), (1, 2))
        self.assertEqual(len(self.client.get("/v1/bundles").json["bundles"]), 2)
        self.assertEqual(len(self.client.get("/v1/key").json["key"]), 64)


class Money(Case):
    config = {"lease_ms": 5000}

    def test_a_tenant_without_budget_waits(self):
        poor = self.daemon.token("poor", "submit", "poor")
        rich = self.daemon.token("rich", "submit", "rich")
        admin = self.daemon.token("boss", "admin")
        self.client.token = admin
        time.sleep(1.5)  # the daemon reads tokens every second
        self.assertEqual(self.client.post("/v1/tenants", {"tenant": "poor", "budget_s": 0.2}).status, 200)
        as_poor, as_rich = self.daemon.client(poor), self.daemon.client(rich)
        for n in (1, 2):
            as_poor.post("/v1/jobs", {"products": [product(n=n)], "class": "H200"})
        lease = self.claim()
        time.sleep(0.4)
        self.finish(lease)
        end = time.monotonic() + 5
        while not (spent := [t for t in self.client.get("/v1/tenants").json["tenants"] if t["spent_s"] > 0]):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        self.assertGreater(spent[0]["spent_s"], 0.3)
        self.assertEqual([t["tenant"] for t in spent], ["poor"])
        self.claim(status=204)  # its second job waits
        as_rich.post("/v1/jobs", {"products": [product(n=2)], "class": "H200"})
        self.assertEqual(self.claim()["product"], product(n=2))  # the tenant with budget is served


    def test_leases_that_end_together_are_charged_to_their_tenants(self):
        first, last = self.daemon.token("first", "submit", "a"), self.daemon.token("last", "submit", "b")
        self.client.token = self.daemon.token("head", "admin")
        time.sleep(1.5)  # the daemon reads tokens every second
        self.daemon.client(first).post("/v1/jobs", {"products": [product(n=1)], "class": "H200"})
        long = self.claim()
        time.sleep(1)
        self.daemon.client(last).post("/v1/jobs", {"products": [product(n=2)], "class": "H200"})
        short = self.claim(device="GPU-2")
        time.sleep(0.02)  # its cost is counted in ms, and is not 0
        self.finish(long)
        self.finish(short)
        end, spent = time.monotonic() + 5, {}
        while not (spent.get("a") and spent.get("b")):
            self.assertLess(time.monotonic(), end, spent)
            time.sleep(0.05)
            spent = {t["tenant"]: t["spent_s"] for t in self.client.get("/v1/tenants").json["tenants"]}
        self.assertGreater(spent["a"], 0.9)
        self.assertLess(spent["b"], 0.5)


class Whole(unittest.TestCase):
    """The name sorts last, so that it runs last."""

    @unittest.skipIf(len(sys.argv) > 2, "some tests alone")
    def test_zz_every_route_was_answered(self):
        """The other routes (pages, state of the daemon): test_interface.py."""
        elsewhere = {"alive", "ready", "metrics", "openapi", "style"}
        self.assertEqual({name for name in unanswered() - elsewhere if not name.startswith("page_")}, set())


if __name__ == "__main__":
    STORE = sys.argv.pop(1)
    if STORE == "postgresql":
        POSTGRES = Postgres()
    unittest.main(warnings="ignore")

"""test_interface.py: every route, scope and refusal of heddled; limits; pages, log lines, metrics; on SQLite."""
import contextlib
import functools
import json
import os
import re
import select
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock
import urllib.parse

from daemon import REFUSED, Daemon, claim, contender, product, race, routes, row, unanswered

SERVICE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib/Interface")
def table(name, pattern):
    return re.findall(pattern, open(os.path.join(SERVICE, name)).read(), re.M)


ROUTES = routes()
RULES = dict(table("errors.def", r'^ERROR\(\w+, "([^"]+)", (\d+)'))


class Case(unittest.TestCase):
    config = {}

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(**cls.config)

    @classmethod
    def tearDownClass(cls):
        assert cls.daemon.stop() == 0
        assert [x for x in cls.daemon.lines() if x.get("level") == "error"] == []

    def setUp(self):
        self.client = self.daemon.client()

    def refused(self, answer, rule, **parts):
        self.assertEqual(answer.headers["Content-Type"], "application/problem+json", answer.body)
        problem = answer.json
        self.assertEqual((problem["rule"], answer.status), (rule, int(RULES[rule])), problem)
        self.assertEqual(problem["status"], answer.status)
        self.assertTrue(problem["request"] and problem["title"])
        for name, value in parts.items():
            self.assertEqual(problem.get(name), value, problem)


class Refusals(Case):
    def submit(self, **more):
        return self.client.post("/v1/jobs", {"products": [product()], "class": "H200", **more})

    def test_bodies(self):
        post = self.client.post
        self.refused(post("/v1/jobs", "{"), "body.json", where="line 1, column 1")
        self.refused(post("/v1/jobs", '{"class": "x", "class": "y"}'), "body.json")
        self.refused(post("/v1/jobs", ""), "body.json")
        self.refused(post("/v1/jobs", b'{"class": "\xff"}'), "body.json")
        self.refused(post("/v1/jobs", "[1]"), "field.type", legal="an object")
        self.refused(post("/v1/jobs", "{}", {"Content-Type": "text/plain"}), "body.type", value="text/plain")
        self.refused(post("/v1/leases", b" " * (17 << 10)), "body.size")

    def test_a_large_body_in_chunks(self):
        answer = self.client.request("POST", "/v1/leases", (b"3e8\r\n" + b" " * 1000 + b"\r\n") * 40 + b"0\r\n\r\n",
                                     {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
        self.refused(answer, "body.size")

    def test_fields(self):
        self.refused(self.client.post("/v1/jobs", {"class": "x"}), "field.missing", where="products")
        self.refused(self.submit(prority=1), "field.unknown", value="prority", nearest="priority")
        self.refused(self.submit(priority="1"), "field.type", where="priority", value='"1"', legal="an integer")
        self.refused(self.submit(priority=12), "field.value", value="12", legal="0 to 9", nearest="9")
        self.refused(self.submit(priority=True), "field.type")
        self.refused(self.submit(again=1), "field.type", legal="true, false")
        self.refused(self.submit(note="<b>"), "field.value")
        self.refused(self.submit(policy="a b"), "field.value")
        self.refused(self.submit(products="x"), "field.type", legal="a list")
        self.refused(self.submit(products=[]), "field.value", legal="1 to 20000 elements")
        self.refused(self.submit(products=[3]), "field.type", where="products[0]")
        self.refused(self.client.post("/v1/jobs", {"products": [product()], "class": " x"}), "field.value")
        self.refused(self.client.post("/v1/jobs", {"products": [product()], "class": ""}), "field.value")

    def test_product_keys(self):
        whole = product()
        for old, new, nearest in (("sm_90a", "sm_9", "sm_90a"), ("a=bf16", "a=bf61", "a=bf16"), ("n=16", "n=0", "n=1"),
                                  ("n=16", "n=016", "n=16"), ("m=4096", "m=2097152", "m=1048576"),
                                  ("k_major", "kmajor", "k_major"), ("row_major", "row", "row_major"),
                                  (" n=16", "  n=16", "n=1"), ("sm_90a", " sm_90a", "sm_90a")):
            self.refused(self.submit(products=[whole.replace(old, new)]), "product.key", where="products[0]",
                         nearest=nearest)
        for more in (" ", " weights_ready weights_ready", " weights_ready batch=8", " Batch=8", " batch=", " batch=-8",
                     " batch=8  w=s4", " a b=8 b=9", " x=" + 400 * "y"):
            self.refused(self.submit(products=[whole + more]), "product.key")
        for more in ("", " weights_ready", " batch=8 weights_ready", " groups=64", " meta=3 pair=silu w=s4"):
            self.assertEqual(self.submit(products=[whole + more]).status, 200)

    def test_queries(self):
        get = self.client.get
        self.refused(get("/v1/choice", product=product()), "field.missing", where="class")
        self.refused(get("/v1/choice", product=product(), **{"class": "H200", "polcy": "x"}), "field.unknown",
                     nearest="policy")
        self.refused(get("/v1/choice", product="x", **{"class": "H200"}), "product.key")
        self.refused(get("/v1/choice", product=product(), exact=2, **{"class": "H200"}), "field.type")
        self.refused(get("/v1/choice", product=product(), **{"class": "H200"}), "choice.none")
        self.refused(get("/v1/jobs", limit=0), "field.value", nearest="1")
        self.refused(get("/v1/jobs", limit="1x"), "field.type")
        self.refused(get("/v1/jobs", limit="9" * 30), "field.type")
        self.refused(get("/v1/jobs", state="waiting"), "field.value",
                     legal="queued, leased, done, failed, cancelled")
        self.refused(get("/v1/campaigns", a=1), "field.unknown", legal="none")
        self.refused(get("/choices", search="<script>"), "field.value")

    def test_addresses(self):
        get, post = self.client.get, self.client.post
        self.refused(get("/v2"), "route.unknown")
        self.refused(get("/v1/jobs/0"), "route.unknown")
        self.refused(get("/v1/jobs/x"), "route.unknown")
        self.refused(get("/v1/jobs/" + "9" * 30), "route.unknown")
        answer = post("/v1/fleet", {})
        self.refused(answer, "route.method", value="POST", legal="GET")
        self.assertEqual(answer.headers["Allow"], "GET")
        self.refused(self.client.request("DELETE", "/v1/jobs"), "route.method", legal="GET, POST")
        self.refused(get("/v1/jobs/99"), "job.none", value="99")
        self.refused(get("/v1/campaigns/99"), "campaign.none")
        self.refused(get("/campaigns/99"), "campaign.none")
        self.refused(get("/v1/bundles/99"), "bundle.none")
        self.refused(get("/v1/bundles/98/diff/99"), "bundle.none", value="98")
        self.refused(post("/v1/jobs/99/cancel"), "job.none")
        self.refused(post("/v1/leases/99/renew"), "lease.none")
        self.refused(post("/v1/leases/99/finish", race()), "lease.none")
        self.refused(post("/v1/leases/99/release", {"why": "fault"}), "lease.none")
        self.refused(post("/v1/leases/99/measurements", {"measurements": [row(0)]}), "lease.none")
        one = {"product": product(), "class": "H200"}
        for verb in ("pin", "reject", "rollback"):
            self.refused(post("/v1/choices/" + verb, {**one, "version": 1}), "version.none")
        self.refused(post("/v1/choices/unpin", one), "version.none")

    def test_claims_and_races(self):
        post = self.client.post
        self.refused(post("/v1/leases", claim("request-x", scripted=True)), "class.scripted", where="device.class",
                     nearest="scripted:H200")
        self.refused(post("/v1/leases", claim("request-x", cls="scripted:H200")), "class.scripted")
        self.submit(products=[product(n=100), product(n=101)])
        lease = post("/v1/leases", claim("request-y")).json["lease"]
        self.refused(post("/v1/leases", claim("request-z")), "lease.device", where="device.uuid")
        path = f"/v1/leases/{lease}/finish"
        self.refused(post(path, {"outcome": "done"}), "race.missing", where="race")
        self.refused(post(path, {"outcome": "failed"}), "race.missing", where="why")
        self.refused(post(path, {"outcome": "carried"}), "race.missing", where="cubin")
        self.refused(post(path, {"outcome": "carried", "cubin": "ab"}), "race.missing")
        two = race(more=[contender("tile=1x1", [1.0] * 9, "default")])
        self.refused(post(path, two), "race.default", where="race.contenders", value="2 defaults")
        self.refused(post(path, race(more=[contender("tile=1x1", [1.0])])), "race.rounds",
                     where="race.contenders[2].rounds_us")
        self.refused(post(path, race(more=[contender("tile=1x1", [1.0] * 9, "first")])), "field.value",
                     where="race.contenders[2].role", nearest=None)
        self.refused(post(path, race(measurements=1)), "finish.early")
        post(f"/v1/leases/{lease}/measurements", {"measurements": [row(0)]})
        self.refused(post(f"/v1/leases/{lease}/measurements", {"measurements": [row(0, us=1.0)]}),
                     "measurement.differs", value="0")
        self.assertEqual(post(path, race()).status, 200)
        self.refused(post(f"/v1/leases/{lease}/renew"), "lease.ended", value="done")
        self.refused(post("/v1/leases", claim("request-y")), "lease.request")
        self.refused(post("/v1/jobs/%d/cancel" % self.client.get("/v1/jobs", state="done").json["jobs"][0]["job"]),
                     "job.state")


class EveryRoute(Case):
    """Tests that use only what each line of routes.def states."""

    all = [(method, re.sub(r"\{\w+\}", "1", path), has_body) for _, method, path, _, has_body in ROUTES]

    def test_other_methods_are_refused(self):
        for _, path, _ in self.all:
            legal = ", ".join(sorted({m for _, m, p, _, _ in ROUTES if re.sub(r"\{\w+\}", "1", p) == path}))
            answer = self.client.request("DELETE", path)
            self.refused(answer, "route.method", value="DELETE", legal=legal)
            self.assertEqual(answer.headers["Allow"], legal)

    def test_unknown_parameters_are_refused(self):
        for method, path, has_body in self.all:
            self.refused(self.client.request(method, path + "?colour=red", {} if has_body else None), "field.unknown", value="colour")

    def test_bodies_are_read_strictly(self):
        for method, path, has_body in self.all:
            if not has_body:
                continue
            ask = functools.partial(self.client.request, method, path)
            self.refused(ask("{"), "body.json")
            self.refused(ask("[]"), "field.type", legal="an object")
            self.refused(ask('{"colour": "red"}'), "field.unknown", value="colour")
            self.refused(ask("{}", {"Content-Type": "text/plain"}), "body.type", value="text/plain")
            self.refused(ask(" " * (5 << 20)), "body.size")

    def test_long_addresses_are_refused(self):
        for method, path, has_body in self.all:
            fits, most = path + "?" + (4096 - len(path) - 1) * "x", path + "?" + (4096 - len(path)) * "x"
            self.refused(self.client.request(method, fits, {} if has_body else None), "field.unknown")
            self.refused(self.client.request(method, most, {} if has_body else None), "uri.size", value="4097 bytes",
                         legal="at most 4096 bytes")


class Tokens(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        scopes = ("lookup", "submit", "work", "admin")
        cls.tokens = {scope.upper(): cls.daemon.token(scope, scope) for scope in scopes}
        cls.tokens["OTHER"] = cls.daemon.token("other", "work")
        time.sleep(1.5)

    def as_(self, scope):
        return self.daemon.client(self.tokens[scope])

    def test_every_route_asks_for_its_scope(self):
        allowed = {"LOOKUP": {"LOOKUP", "SUBMIT", "ADMIN"}, "SUBMIT": {"SUBMIT", "ADMIN"}, "WORK": {"WORK", "ADMIN"},
                   "ADMIN": {"ADMIN"}}
        n = 0
        for name, method, path, scope, has_body in ROUTES:
            path = re.sub(r"\{\w+\}", "1", path)
            body = {} if has_body else None
            if scope == "NONE":
                self.assertEqual(self.client.request(method, path, body).status, 200, name)
                continue
            self.refused(self.client.request(method, path, body), "token.missing")
            for holder in allowed:
                answer = self.as_(holder).request(method, path, body)
                n += 1
                if holder in allowed[scope]:
                    self.assertNotIn(answer.status, (401, 500), (name, holder, answer.body))
                    self.assertNotIn(b"token.scope", answer.body)
                else:
                    self.refused(answer, "token.scope", value=holder.lower())
        self.assertGreater(n, 150)

    def test_wrong_tokens(self):
        for text in ("Bearer hdl_" + "0" * 64, "Bearer x", "Basic !", "Basic " + "QUJD" * 100, "Digest x", "Bearer "):
            answer = self.client.get("/v1/jobs", headers={"Authorization": text})
            self.refused(answer, "token.unknown")
            self.assertIn("Basic", " ".join(answer.headers.get_all("WWW-Authenticate")))

    def test_browsers_say_it_as_a_password(self):
        import base64
        password = base64.b64encode(b"anybody:" + self.tokens["SUBMIT"].encode()).decode()
        self.assertEqual(self.client.get("/", headers={"Authorization": "Basic " + password}).status, 200)

    def test_a_lease_is_its_claimers(self):
        self.as_("SUBMIT").post("/v1/jobs", {"products": [product()], "class": "H200"})
        lease = self.as_("WORK").post("/v1/leases", claim("request-1")).json["lease"]
        path = f"/v1/leases/{lease}"
        other = self.as_("OTHER")
        for verb, body in (("renew", None), ("finish", race()), ("release", {"why": "fault"}),
                           ("measurements", {"measurements": [row(0)]})):
            self.refused(other.post(f"{path}/{verb}", body), "lease.token")
        self.refused(other.post("/v1/leases", claim("request-1")), "lease.token")
        self.assertEqual(self.as_("WORK").post(path + "/finish", race()).status, 200)

    def test_a_revoked_token_ends_within_seconds(self):
        brief = self.daemon.client(self.daemon.token("brief", "lookup"))
        time.sleep(1.5)
        self.assertEqual(brief.get("/v1/choices").status, 200)
        self.daemon.command("token", "revoke", "brief")
        time.sleep(1.5)
        self.refused(brief.get("/v1/choices"), "token.unknown")


class LastToken(unittest.TestCase):
    def test_revoking_the_last_token_opens_nothing(self):
        daemon = Daemon()
        self.assertEqual(daemon.client().get("/v1/jobs").status, 200)
        daemon.token("only", "admin")
        daemon.command("token", "revoke", "only")
        time.sleep(1.5)
        for _ in range(2):
            self.assertEqual(daemon.client().get("/v1/jobs").rule, "token.missing")
            daemon.stop()
            daemon.start()
        daemon.stop()


class Limits(Case):
    config = {"rate": 5, "burst": 3, "timeout_s": 1}

    def test_rates(self):
        token = self.daemon.token("fast", "admin")
        time.sleep(1.5)
        client = self.daemon.client(token)
        answers = [client.get("/v1/jobs") for _ in range(8)]
        late = [a for a in answers if a.status == 429]
        self.assertTrue(1 <= len(late) <= 5)
        self.refused(late[0], "rate")
        self.assertEqual(late[0].headers["Retry-After"], "1")
        self.assertEqual([client.get("/v1/choices").status for _ in range(20)], [200] * 20)  # lookups are free

    def connect(self):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(6)
        s.connect(self.daemon.socket)
        return s

    def test_a_claim_may_wait_longer_than_a_request(self):
        begun = time.monotonic()
        answer = self.client.post("/v1/leases", claim("request-long", wait_s=4))
        self.assertIn(answer.status, (204, 401))  # 401 once test_rates has made a token
        if answer.status == 204:
            self.assertGreater(time.monotonic() - begun, 3.5)

    def test_slow_clients_are_cut_off(self):
        for head in (b"GET /v1/jobs HTTP/1.1\r\n", b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: "
                     b"application/json\r\nContent-Length: 500\r\n\r\n{", b""):
            s = self.connect()
            begun = time.monotonic()
            s.sendall(head)
            with self.assertRaises((BrokenPipeError, ConnectionResetError, TimeoutError)) if head else self.subTest():
                while time.monotonic() - begun < 8:  # an occasional byte is not enough
                    time.sleep(0.3)
                    s.sendall(b"x" if head else b"")
                    if not head and s.recv(10) == b"":
                        break
            self.assertLess(time.monotonic() - begun, 5)
            s.close()

    def test_long_heads_are_refused(self):
        for head in (b"GET /" + b"x" * 20000, b"GET / HTTP/1.1\r\nX: " + b"x" * 20000):
            s = self.connect()
            with self.subTest():
                s.sendall(head + b" HTTP/1.1\r\nHost: x\r\n\r\n")
                answer = s.recv(100)
                self.assertRegex(answer, rb"^(HTTP/1.1 (414|431)|$)")
            s.close()


class Connections(Case):
    config = {"max_connections": 20, "timeout_s": 300}  # no connection is closed for a timeout

    def test_those_above_the_limit_wait(self):
        waiting, answered = [], []
        for _ in range(30):
            s = socket.socket(socket.AF_UNIX)
            s.connect(self.daemon.socket)
            s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            waiting.append(s)
        while ready := select.select(waiting, [], [], 1 if len(answered) >= 20 else 60)[0]:
            answered += [s for s in ready if s.recv(12) == b"HTTP/1.1 200"]
            waiting = [s for s in waiting if s not in ready]
        self.assertEqual((len(answered), len(waiting)), (20, 10))
        for s in answered:  # frees their connections
            s.close()
        for s in waiting:
            s.settimeout(60)
            self.assertEqual(s.recv(12), b"HTTP/1.1 200")
            s.close()
        self.assertEqual(self.client.get("/healthz").status, 200)


class Busy(Case):
    config = {"max_queue": 10}

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop(9)

    def test_a_full_queue_is_said(self):
        db = sqlite3.connect(self.daemon.store[len("sqlite:"):], isolation_level=None)
        db.execute("BEGIN IMMEDIATE")  # the writer waits for this
        answers = []

        def ask(i):
            answers.append(self.daemon.client().post("/v1/jobs", {"products": [product(n=i + 1)], "class": "H200"}))
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(20)]
        for t in threads:
            t.start()
        time.sleep(1)
        db.execute("ROLLBACK")
        for t in threads:
            t.join()
        busy = [a for a in answers if a.status != 200]
        self.assertGreaterEqual(len(busy), 5)
        self.refused(busy[0], "server.busy")


class Broken(Case):
    """Errors of the database, which also appear in the log."""

    @classmethod
    def tearDownClass(cls):
        cls.daemon.stop(9)

    def test_a_table_that_is_not_there_is_a_bug(self):
        db = sqlite3.connect(self.daemon.store[len("sqlite:"):])
        db.executescript("ALTER TABLE campaign RENAME TO elsewhere")
        self.refused(self.client.get("/v1/campaigns"), "internal")
        db.executescript("ALTER TABLE elsewhere RENAME TO campaign")
        db.close()
        self.assertEqual(self.client.get("/v1/campaigns").status, 200)

    def test_a_full_disk_is_said(self):
        library = os.path.join(os.path.dirname(os.path.abspath(self.daemon.program)), "../lib/libdie-at.so")
        for at in range(1, 40):  # beyond the writes of its start
            self.daemon.stop()
            options = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"  # die_at precedes ASan
            env = dict(LD_PRELOAD=library, DIE_PROGRAM="heddled", FULL_AT=str(at), FULL_FOR="1000000",
                       ASAN_OPTIONS=options)
            with unittest.mock.patch.dict(os.environ, env), contextlib.suppress(RuntimeError):
                self.daemon.start()
                break
        answer = self.daemon.client().post("/v1/jobs", {"products": [product()], "class": "H200"})
        self.refused(answer, "store.down")
        self.assertEqual(answer.headers["Retry-After"], "1")


class Seen(Case):
    """What people and Prometheus read."""

    def test_pages(self):
        post = self.client.post
        post("/v1/jobs", {"products": [product(n=i + 1) for i in range(3)], "class": "H200", "note": "first"})
        lease = post("/v1/leases", claim("request-1")).json["lease"]
        post(f"/v1/leases/{lease}/measurements", {"measurements": [row(0)]})
        whole = race(begin={"read_us": 100, "kernel_us": 50}, end={"read_us": 100, "kernel_us": 50})
        whole["race"].update(dense_us=14.0, cusparselt_us=11.0)
        for c in whole["race"]["contenders"]:
            c["predicted_us"] = c["rounds_us"][0] * 1.1
        post(f"/v1/leases/{lease}/finish", whole)
        post("/v1/uses", {"uses": [{"product": product(n=77), "class": "H200", "count": 3, "missed": True}]})
        one = "/product?" + urllib.parse.urlencode({"product": product(n=1), "class": "H200"})
        words = {"/": ["GPU-1", "n=77", "queued"], "/campaigns": ["first", "<progress"], "/campaigns/1": ["n=3"],
                 "/choices": ["tile=128x64", "1.111"], one: ["<svg", "cuSPARSELt", "Versions"],
                 "/drift": ["GPU-1", "<svg"], "/events": ["submitted", "chosen"]}
        for path, wanted in words.items():
            answer = self.client.get(path)
            self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "text/html; charset=utf-8"), path)
            self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])
            text = answer.body.decode()
            for word in wanted:
                self.assertIn(word, text, path)
            for never in ("<script", "style=", "http://", "https://", " on"[0:0] or "onclick"):
                self.assertNotIn(never, text, path)
        found = self.client.get("/choices", search="n=1 k").body.decode()
        self.assertIn("tile=128x64", found)
        self.assertNotIn("tile=128x64", self.client.get("/choices", search="n=2 k").body.decode())

    def test_what_others_wrote_is_escaped(self):
        answer = self.client.post("/v1/jobs", {"products": [product(n=500)], "class": "H300"})
        self.assertEqual(answer.status, 200)
        lease = self.client.post("/v1/leases", claim("request-e", "GPU-9", cls="H300")).json["lease"]
        self.client.post(f"/v1/leases/{lease}/finish", {"outcome": "failed", "why": "<script>alert(1)</script>&\""})
        text = self.client.get("/events").body.decode()
        self.assertIn("&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;", text)

    def test_metrics(self):
        self.client.get("/v1/choice", product=product(m=64), **{"class": "nothing"})
        text = self.client.get("/metrics").body.decode()
        names = set()
        for line in text.splitlines():
            self.assertRegex(line, r'^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z]+="[^"\\]*",?)+\})? [-+.e0-9]+)$')
            names.add(re.match(r"(?:# \w+ )?([a-z_]+)", line)[1])
        for name in ("heddle_requests_total", "heddle_request_seconds_bucket", "heddle_lookups_total", "heddle_jobs",
                     "heddle_agents_waiting", "heddle_store_up"):
            self.assertIn(name, names)
        self.assertRegex(text, r'heddle_lookups_total\{found="none"\} [1-9]')

    def test_log_lines(self):
        answer = self.client.post("/v1/leases/12345/renew")
        time.sleep(0.1)
        line = next(x for x in self.daemon.lines() if x.get("request") == answer.json["request"])
        self.assertEqual([line[k] for k in ("route", "status", "lease", "rule")], ["renew", 404, 12345, "lease.none"])
        self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_openapi(self):
        served = self.client.get("/openapi.json").json
        printed = json.loads(subprocess.run([self.daemon.program, "openapi"], stdout=subprocess.PIPE).stdout)
        self.assertEqual(served, printed)
        paths = {path for _, _, path, _, _ in ROUTES}
        self.assertEqual(set(served["paths"]), paths)

    def test_head(self):
        answer = self.client.request("HEAD", "/v1/jobs")
        self.assertEqual((answer.status, answer.body), (200, b""))


class Secure(unittest.TestCase):
    @unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
    def test_https_by_the_daemons_own_options(self):
        import http.client
        import ssl
        folder = tempfile.mkdtemp()
        key, cert = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert,
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, stderr=subprocess.DEVNULL)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        daemon = Daemon(wait=False, listen=f"127.0.0.1:{port}", tls_key=key, tls_cert=cert)
        context = ssl.create_default_context(cafile=cert)
        for _ in range(100):
            try:
                client = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=5)
                client.request("GET", "/healthz")
                break
            except OSError:
                time.sleep(0.05)
        self.assertEqual(client.getresponse().status, 200)
        daemon.stop()
        done = subprocess.run([daemon.program, "serve", *daemon.options(), "--tls_cert", __file__],
                              stderr=subprocess.PIPE, text=True, timeout=10)
        self.assertEqual(done.returncode, 4)
        self.assertIn("[service.start]", done.stderr)


class Whole(unittest.TestCase):
    def test_zz_every_page_was_answered(self):
        """The other routes: test_conformance.py."""
        here = {name for name, _, _, _, _ in ROUTES if name.startswith("page_")} | {"alive", "ready", "metrics", "openapi", "style"}
        self.assertEqual(unanswered() & here, set())

    def test_zz_every_route_and_scope_was_refused(self):
        """The refusals that each line of routes.def requires occurred in some test."""
        wanted = set()
        for _, method, path, scope, has_body in ROUTES:
            path = re.sub(r"\{\w+\}", "{}", path)
            rules = ["field.unknown", "uri.size"]
            rules += ["token.missing", "token.scope"] if scope != "NONE" else []
            rules += ["body.json", "body.type", "body.size", "field.type"] if has_body else []
            wanted |= {(method, path, rule) for rule in rules} | {("DELETE", path, "route.method")}
        self.assertEqual(wanted - REFUSED, set())
        print(f"{len(ROUTES)} routes: {len(wanted)} refusals that routes.def demands were seen, {len(REFUSED)} in all", file=sys.stderr)

    def test_zz_every_rule_was_seen(self):
        seen = {rule for _, _, rule in REFUSED}
        self.assertEqual(set(RULES) - seen, set())
        print(f"{len(RULES)} of {len(RULES)} rules of errors.def refused something", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(warnings="ignore")

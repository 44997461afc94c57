"""test_command.py: command line, configuration and refusals of heddled, on SQLite."""
import contextlib
import os
import re
import sqlite3
import subprocess
import tempfile
import time
import unittest

from daemon import Daemon

HEDDLED = os.environ.get("HEDDLED", "build/bin/heddled")


def heddled(*args, **more):
    return subprocess.run([HEDDLED, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=20, **more)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.store = "sqlite:" + os.path.join(self.folder.name, "heddle.db")

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name, text=None):
        path = os.path.join(self.folder.name, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        return path

    def refused(self, rule, *args, code=2, says="."):
        done = heddled(*args)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(f"[{rule}]", done.stderr)
        self.assertRegex(done.stderr, says)
        self.assertEqual(done.stdout, "")

    def test_the_configuration(self):
        self.refused("config.key", "check", "--lesae_ms", "5", says="nearest: lease_ms")
        self.refused("config.value", "check", "--lease_ms", "5", says="nearest: 300")
        self.refused("config.value", "check", "--lease_ms", "x")
        self.refused("config.value", "check", "--lease_ms")
        self.refused("config.tls", "check", "--store", self.store, "--tls_key", self.path("key", ""))
        self.refused("command", "serv")
        file = self.path("heddled.conf", "# a comment\nstore = %s\nlease_ms 7\n" % self.store)
        self.refused("config.line", "check", "--config", file, says="heddled.conf:3")
        file = self.path("heddled.conf", "store = %s\nlease_ms = 700 # short\n" % self.store)
        done = heddled("check", "--config", file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("valid", done.stdout)

    def test_another_address_needs_tokens(self):
        args = ["check", "--store", self.store, "--listen", "127.0.0.1:0,0.0.0.0:7433"]
        self.refused("config.listen", *args, says="0.0.0.0:7433 without a token")
        self.refused("config.listen", "check", "--store", self.store, "--listen", "127.example.org:7433",
                     says="127.example.org:7433 without a token")
        done = heddled("token", "add", "one", "--store", self.store)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(heddled(*args).returncode, 0)
        self.refused("config.listen", "serve", "--store", self.store, "--listen", "nonsense")
        self.refused("config.listen", "serve", "--store", self.store, "--listen", "unix:" + 200 * "x")
        self.refused("config.listen", "serve", "--store", self.store, "--listen",
                     ",".join(["127.0.0.1:0"] * 9))

    def test_a_socket_in_use(self):
        daemon = Daemon()
        self.refused("config.listen", "serve", "--store", daemon.store, "--listen", "unix:" + daemon.socket,
                     code=4, says="in use")
        daemon.stop(9)  # it leaves its socket behind, which is replaced
        daemon.start()
        self.assertEqual(daemon.stop(), 0)

    def test_the_store(self):
        self.refused("store.url", "check", "--store", "mysql:x", says="sqlite:PATH")
        self.refused("store.connect", "check", "--store", "sqlite:/no/such/folder/x.db", code=4)
        self.refused("store.connect", "check", "--store", "postgresql://heddle@/x?host=/no/such", code=4)
        bad = self.path("bad.db", "this is no database, but a text of some length" * 100)
        self.refused("store.connect", "serve", "--listen", "127.0.0.1:0", "--store", "sqlite:" + bad, code=4,
                     says="not a database")

    def test_a_strange_database(self):
        """None is opened for service or written to. Each is refused at once, on a busy machine within five seconds."""
        ours = "PRAGMA application_id = 1212435524;"
        for i, sql in enumerate((
                "CREATE TABLE bookmark(url TEXT)",
                "CREATE TABLE counter(name TEXT, value INTEGER)",
                "PRAGMA application_id = 1212435538; CREATE TABLE run(id TEXT)",  # of heddle tune
                ours + "CREATE VIEW counter AS WITH RECURSIVE n(name, value) AS (SELECT 'schema', 1 UNION ALL"
                       " SELECT name, value + 1 FROM n) SELECT * FROM n",
                ours + "CREATE VIRTUAL TABLE counter USING fts5(name, value)",
                ours + "CREATE TABLE counter(name TEXT, value AS (length(hex(zeroblob(99999999)))))")):
            path = self.path("strange%d.db" % i)
            with contextlib.closing(sqlite3.connect(path)) as database:
                database.executescript(sql)
            with open(path, "rb") as file:
                before = file.read()
            for command in (["check"], ["migrate"], ["token", "list"], ["serve", "--listen", "127.0.0.1:0"]):
                start = time.monotonic()
                self.refused("store.foreign", *command, "--store", "sqlite:" + path, says="a file of heddled")
                self.assertLess(time.monotonic() - start, 5)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before)

    def test_a_database_says_whose_it_is(self):
        """By its id. One that is older than the id is recognised by its tables."""
        for _ in range(2):
            self.assertEqual(heddled("migrate", "--store", self.store).returncode, 0)
            self.assertEqual(heddled("check", "--store", self.store).returncode, 0)
            with contextlib.closing(sqlite3.connect(self.store[len("sqlite:"):])) as database:
                self.assertIn(database.execute("PRAGMA application_id").fetchone(), [(1212435524,), (0,)])
                database.execute("PRAGMA application_id = 0")

    def test_tokens(self):
        def token(*args):
            return heddled("token", *args, "--store", self.store)
        self.assertRegex(token("add", "one", "--scopes", "lookup,submit").stdout, r"^hdl_[0-9a-f]{64}\n$")
        self.assertIn("one", token("list").stdout)
        for rule, args in (("token.name", ["add"]), ("token.name", ["add", "one"]), ("token.name", ["add", "a b"]),
                           ("token.scopes", ["add", "two", "--scopes", "all"]), ("token.command", ["make"])):
            self.refused(rule, "token", *args, "--store", self.store)
        self.refused("token.none", "token", "revoke", "three", "--store", self.store, code=4)
        self.assertEqual(token("revoke", "one").returncode, 0)
        self.assertRegex(token("list").stdout, r"one .*Z +\S+Z")
        file = open(self.store[len("sqlite:"):], "rb").read()
        self.assertNotIn(token("add", "two").stdout.strip().encode(), file)  # it stores only the hash

    def test_migrations(self):
        self.refused("migrate.to", "migrate", "--to", "99", "--store", self.store)
        self.assertEqual(heddled("migrate", "--store", self.store).returncode, 0)
        self.assertEqual(heddled("migrate", "--store", self.store).returncode, 0)
        db = sqlite3.connect(self.store[len("sqlite:"):])
        db.execute("UPDATE counter SET value = 2 WHERE name = 'schema'")  # a newer daemon has added something
        db.execute("ALTER TABLE job ADD COLUMN colour TEXT")
        db.commit()
        older = Daemon(self.store)
        self.assertEqual(older.client().get("/v1/jobs").json, {"jobs": []})
        self.assertEqual(older.stop(), 0)
        self.assertEqual(db.execute("SELECT value FROM counter WHERE name = 'schema'").fetchone(), (2,))
        db.execute("UPDATE counter SET value = 99 WHERE name LIKE 'schema%'")
        db.commit()
        db.close()
        self.refused("store.schema", "migrate", "--store", self.store, code=3, says="schema 99")
        db = sqlite3.connect(self.path("other.db"))
        db.executescript("PRAGMA application_id = 1212435524; CREATE TABLE counter(x)")
        db.commit()
        db.close()
        self.refused("store.migrate", "migrate", "--store", "sqlite:" + self.path("other.db"), code=4)

    def test_replay_reads_a_schema(self):
        self.refused("store.run", "replay", "--store", self.store, code=4)

    def test_replay_finds_a_choice_that_its_race_does_not_give(self):
        from daemon import claim, product, race
        daemon = Daemon()
        client = daemon.client()
        client.post("/v1/jobs", {"products": [product()], "class": "H200"})
        lease = client.post("/v1/leases", claim("request-1")).json["lease"]
        client.post(f"/v1/leases/{lease}/finish", race())
        daemon.stop()
        path = daemon.store[len("sqlite:"):]
        db = sqlite3.connect(path)
        db.execute("DROP TRIGGER choice_no_update")
        db.execute("UPDATE choice SET schedule = 'tile=1x1'")
        db.commit()
        db.close()
        self.refused("replay", "replay", "--store", daemon.store, code=1, says="tile=1x1")

    def test_help_names_every_key(self):
        text = heddled("--help").stdout
        keys = re.findall(r"^CONFIG_\w+\((\w+)", open(os.path.join(os.path.dirname(__file__),
                          "../../lib/Service/config.def")).read(), re.M)
        self.assertGreater(len(keys), 10)
        for key in keys:
            self.assertRegex(text, rf"(?m)^  {key} ")
        self.assertIn("heddled", heddled("--version").stdout)


if __name__ == "__main__":
    unittest.main(warnings="ignore")

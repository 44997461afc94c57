"""Starts heddled, and a separate PostgreSQL, for tests. Everything is in a scratch folder and ends with the
process that made it."""
import atexit
import contextlib
import http.client
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

PG_BIN = next((p for p in (f"/usr/lib/postgresql/{v}/bin" for v in (15, 16, 17)) if os.path.exists(p)), "")

PRODUCT = "sm_90a a=bf16 b=bf16 acc=f32 d=bf16 m={m} n={n} k={k} k_major row_major"


def product(m=4096, n=16, k=4096):
    return PRODUCT.format(m=m, n=n, k=k)


class Postgres:
    """A cluster in a scratch folder, only on a UNIX socket. postgres refuses to run as root: then it runs as
    the user postgres."""

    def __init__(self, options="", mebibytes=0):
        """mebibytes: uses a disk of that size, if mounting is permitted; `fill` fills it."""
        self.folder = tempfile.mkdtemp(prefix="heddle-pg-")
        mount = ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", self.folder]
        self.is_small = bool(mebibytes) and os.getuid() == 0 and subprocess.run(mount, stderr=subprocess.DEVNULL).returncode == 0
        self.options = options
        self.user = []
        if os.getuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            self.user = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}",
                         "--clear-groups", "env", "HOME=" + self.folder]
        os.chmod(self.folder, 0o755)
        atexit.register(self.remove)
        self.run("initdb", "-A", "trust", "-U", "heddle", "-N", "--locale=C", "-E", "UTF8",
                 "-D", self.data)
        self.start()
        self.run("createdb", "-h", self.folder, "-U", "heddle", "heddle")

    @property
    def data(self):
        return os.path.join(self.folder, "data")

    @property
    def url(self):
        return f"postgresql://heddle@/heddle?host={urllib.parse.quote(self.folder, safe='')}"

    def run(self, program, *args):
        done = subprocess.run(self.user + [os.path.join(PG_BIN, program), *args], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stdout}")
        return done.stdout

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-l", os.path.join(self.folder, "log"), "-o",
                 f"-c listen_addresses='' -k {self.folder} -c max_connections=200 {self.options}", "start")

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def sql(self, text):
        return self.run("psql", "-h", self.folder, "-U", "heddle", "-d", "heddle", "-At", "-v",
                        "ON_ERROR_STOP=1", "-c", text)

    def fill(self, meanwhile):
        """Keeps the disk full while meanwhile() runs. False: there is no separate disk."""
        if not self.is_small:
            return False
        ballast = os.path.join(self.folder, "ballast")
        with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as out:
            while out.write(bytes(1 << 20)):
                pass
        meanwhile()
        os.unlink(ballast)
        with contextlib.suppress(RuntimeError):  # it may have ended, or may be ending
            self.stop("immediate")
        self.start()
        return True

    def clear(self):
        self.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public;")

    def remove(self):
        if os.path.exists(os.path.join(self.data, "postmaster.pid")):
            with contextlib.suppress(RuntimeError):
                self.stop("immediate")
        if self.is_small:
            subprocess.run(["umount", "-l", self.folder])
            self.is_small = False
        shutil.rmtree(self.folder, ignore_errors=True)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=30):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def rule(self):
        return self.json["rule"]


def routes():
    """The routes in routes.def: (name, method, path, scope, whether it has a body)."""
    table = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib/Interface/routes.def")).read()
    found = re.findall(r'^ROUTE\((\w+), (\w+), "([^"]+)", (\w+), (\w+)', table, re.M)
    return [(name, method, path, scope, body != "NONE") for name, method, path, scope, body in found]


def unanswered():
    """The routes that have not answered 2xx to any client."""
    return {name for name, method, path, _, _ in routes() if (method, re.sub(r"\{\w+\}", "{}", path)) not in ANSWERED}


ANSWERED = set()  # (method, path with {} for numbers) that answered 2xx to some client
REFUSED = set()  # the same with the rule of the refusal


class Client:
    """One connection; `token` is sent with every request."""

    def __init__(self, connect, token=None):
        self.connect, self.token, self.connection = connect, token, None

    def request(self, method, path, body=None, headers=None, query=None):
        headers = dict(headers or {})
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        if query:
            path += "?" + urllib.parse.urlencode(query)
        if self.connection is None:
            self.connection = self.connect()
        try:
            self.connection.request(method, path, body, headers)
            answer = Answer(self.connection.getresponse())
            whole = method, re.sub(r"/\d+", "/{}", path.split("?")[0])
            if answer.status // 100 == 2:
                ANSWERED.add(whole)
            elif answer.headers["Content-Type"] == "application/problem+json" and answer.body:
                REFUSED.add((*whole, answer.rule))
            return answer
        except Exception:
            self.connection.close()
            self.connection = None
            raise

    def get(self, path, headers=None, **query):
        return self.request("GET", path, headers=headers, query=query)

    def post(self, path, body=None, headers=None):
        return self.request("POST", path, body, headers)


class Daemon:
    def __init__(self, store=None, program="build/bin/heddled", wait=True, **config):
        self.folder = tempfile.mkdtemp(prefix="heddled-")
        atexit.register(self.remove)
        self.store = store or "sqlite:" + os.path.join(self.folder, "heddle.db")
        self.socket = os.path.join(self.folder, "socket")
        self.program = os.environ.get("HEDDLED", program)
        self.config = {"store": self.store, "listen": "unix:" + self.socket,
                       "key_file": os.path.join(self.folder, "key"), **config}
        self.process = None
        self.start(wait)

    def options(self):
        return [text for key, value in self.config.items() for text in ("--" + key, str(value))]

    def start(self, wait=True):
        self.log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen([self.program, "serve", *self.options()],
                                        stdout=subprocess.DEVNULL, stderr=self.log)
        end = time.monotonic() + 15
        while wait:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.client().get("/healthz").status == 200:
                    return
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("heddled did not start: " + open(self.log.name).read()[-2000:])
            time.sleep(0.01)

    def stop(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            code = self.process.wait(30)
            self.log.close()
            return code
        return None

    def command(self, *args):
        store = ["--store", self.store]
        done = subprocess.run([self.program, *args, *store], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"heddled {args}: {done.stderr}")
        return done.stdout.strip()

    def token(self, name, scopes, tenant="default"):
        return self.command("token", "add", name, "--scopes", scopes, "--tenant", tenant)

    def client(self, token=None, timeout=70):
        return Client(lambda: UnixConnection(self.socket, timeout), token)

    def lines(self):
        return [json.loads(line) for line in open(os.path.join(self.folder, "log"))
                if line.startswith("{")]

    def remove(self):
        with contextlib.suppress(Exception):
            self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- messages of an agent ----

def claim(request, device="GPU-1", build="b1", cls="H200", scripted=False, **more):
    return {"request": request, "agent": "host:1",
            "device": {"uuid": device, "name": "NVIDIA H200", "class": cls, "driver": "580.1",
                       "scripted": scripted},
            "build": {"version": "0.1.0", "sources": build}, **more}


def contender(schedule, rounds, role="candidate", cubin="ab", **more):
    return {"schedule": schedule, "role": role, "rounds_us": rounds, "cubin": cubin, **more}


def race(default=10.0, best=9.0, n=9, schedule="tile=128x64", first="tile=128x128", more=(), **rest):
    return {"outcome": "done", "n_legal": 400, "n_measured": 20,
            "race": {"mode": "interleaved",
                     "contenders": [contender(first, [default + i * 1e-3 for i in range(n)], "default", "d0"),
                                    contender(schedule, [best + i * 1e-3 for i in range(n)]), *more]},
            **rest}


def row(seq, schedule="tile=128x64", us=9.0, **more):
    return {"seq": seq, "schedule": schedule, "verdict": "ok", "us": us, **more}

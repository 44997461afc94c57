"""test_operations.py: the commands of docs/operations.md, backups, the systemd unit, the examples, migrations."""
import os
import re
import shutil
import subprocess
import threading
import unittest

from daemon import PG_BIN, Daemon, Postgres, claim, product, race

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
HEDDLED = os.path.abspath(os.environ.get("HEDDLED", "build/bin/heddled"))
PAGE = open(os.path.join(ROOT, "docs/operations.md")).read()


def page_lines(word):
    """The commands of the page that contain a word, without their comments."""
    return [re.sub(r"\s+#.*", "", line.strip()) for line in re.findall(r"(?m)^    (.+)$", PAGE) if word in line]


def choose(client, n, request, device="GPU-1"):
    client.post("/v1/jobs", {"products": [product(n=n)], "class": "H200"})
    lease = client.post("/v1/leases", claim(request, device)).json["lease"]
    return client.post(f"/v1/leases/{lease}/finish", race()).json


class Page(unittest.TestCase):
    def run_line(self, line, folder, **replace):
        for old, new in replace.items():
            line = line.replace(old, new)
        line = re.sub(r"^heddled", HEDDLED, line)
        done = subprocess.run(line, shell=True, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, line + "\n" + done.stdout)
        return done.stdout

    def test_tokens(self):
        daemon = Daemon()
        lines = page_lines("heddled token")
        self.assertEqual(len(lines), 5)
        for line in lines:
            self.run_line(line, daemon.folder)

    def test_backup_and_restore_of_sqlite(self):
        daemon = Daemon()
        daemon.config["store"] = daemon.store
        client = daemon.client()
        for n in range(1, 6):
            choose(client, n, f"request-{n}")
        stop = threading.Event()

        def work():  # others write while the backup is made
            own, i = daemon.client(), 0
            while not stop.is_set():
                i += 1
                choose(own, 100 + i, f"during-{i:05d}")
        thread = threading.Thread(target=work)
        thread.start()
        backup, replay = page_lines("heddled backup")[0], page_lines("heddled replay")[0]
        self.run_line(backup, daemon.folder)
        stop.set()
        thread.join()
        daemon.stop()
        again = Daemon(wait=False)
        again.stop()
        shutil.rmtree(again.folder)
        os.makedirs(again.folder)
        shutil.copy(os.path.join(daemon.folder, "backup.db"), os.path.join(again.folder, "heddle.db"))
        again.start()
        products = {c["product"] for c in again.client().get("/v1/choices").json["choices"]}
        self.assertTrue({product(n=n) for n in range(1, 6)} <= products)
        self.assertIn("the same choices", self.run_line(replay, again.folder))
        # Another GPU: the backup may contain a live lease of the first one.
        self.assertEqual(choose(again.client(), 50, "request-new-1", "GPU-2")["decision"], "new")
        again.stop()
        refused = subprocess.run([HEDDLED, "backup", "backup.db", "--store", daemon.store], cwd=daemon.folder,
                                 stderr=subprocess.PIPE, text=True)
        self.assertIn("[store.backup]", refused.stderr)  # an existing file is never overwritten
        refused = subprocess.run([HEDDLED, "backup", "--store", daemon.store], stderr=subprocess.PIPE, text=True)
        self.assertIn("[backup.file]", refused.stderr)

    @unittest.skipUnless(PG_BIN, "PostgreSQL is not installed")
    def test_backup_and_restore_of_postgresql(self):
        postgres = Postgres()
        daemon = Daemon(postgres.url)
        for n in range(1, 4):
            choose(daemon.client(), n, f"request-{n}")
        postgres.run("createdb", "-h", postgres.folder, "-U", "heddle", "restored")
        for line in page_lines("pg_dump") + page_lines("pg_restore"):
            line = line.replace("postgresql://heddle@/heddle", postgres.url).replace(
                "postgresql://heddle@/restored", postgres.url.replace("/heddle?", "/restored?"))
            program, *args = line.split()
            postgres.run(program, *args)
        daemon.stop()
        again = Daemon(postgres.url.replace("/heddle?", "/restored?"))
        self.assertEqual(len(again.client().get("/v1/choices").json["choices"]), 3)
        self.assertEqual(choose(again.client(), 9, "request-9")["choice"]["serial"], 4)
        self.assertIn("4 races", again.command("replay"))
        again.stop()
        postgres.remove()


class Files(unittest.TestCase):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_the_unit_is_hardened(self):
        unit = os.path.join(ROOT, "tools/heddled/heddled.service")
        done = subprocess.run(["systemd-analyze", "security", "--offline=yes", "--no-pager", unit],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = re.search(r"exposure level for heddled.service: ([0-9.]+)", done.stdout)
        self.assertTrue(found, done.stdout)
        self.assertLessEqual(float(found[1]), 2.5)

    def test_the_configuration_example_is_read(self):
        daemon = Daemon()
        daemon.stop()
        done = subprocess.run([HEDDLED, "check", "--config", os.path.join(ROOT, "examples/service/heddled.conf"),
                               "--store", daemon.store], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def agent_works(self, words, state):
        """These commands, with another server, token and folder and no GPU, tune what is queued and keep their spool."""
        agent = os.path.join(os.path.dirname(HEDDLED), "heddle-agent")
        if not os.path.exists(agent):
            self.skipTest("built without the agent")
        daemon = Daemon()
        token = daemon.token("gpu-hosts", "work")
        with open(daemon.folder + "/token", "w") as file:
            file.write(token)
        os.makedirs(daemon.folder + "/.config/heddle")
        shutil.copy(daemon.folder + "/token", daemon.folder + "/.config/heddle/token")
        admin = daemon.client(daemon.token("me", "admin"))
        daemon.stop()
        daemon.start()
        admin.post("/v1/jobs", {"products": [product(m=64, n=8, k=64)], "class": "scripted:h200", "policy": "quick"})
        words = words.replace("https://tuning.example.org", "unix:" + daemon.socket).replace("/run/secrets/heddle/", daemon.folder + "/")
        words = words.replace("/var/lib/", daemon.folder + "/").rstrip() + " --once --scripted h200 --scripted-options '--pace 0'"
        env = dict(os.environ, PATH=os.path.dirname(agent) + ":" + os.environ["PATH"], HOME=daemon.folder, SLURM_ARRAY_TASK_ID="7")
        done = subprocess.run(["bash", "-euc", words], cwd=daemon.folder, env=env, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([c["product"] for c in admin.get("/v1/choices").json["choices"]], [product(m=64, n=8, k=64)], done.stderr)
        self.assertTrue(os.path.exists(os.path.join(daemon.folder, state, "spool")), os.listdir(daemon.folder))
        daemon.stop()

    def test_the_example_for_slurm(self):
        self.agent_works(open(os.path.join(ROOT, "examples/service/agents.sbatch")).read(), ".local/state/heddle-agent/7")

    def test_the_example_for_kubernetes(self):
        text = open(os.path.join(ROOT, "examples/service/kubernetes.yaml")).read()
        words = re.sub(r"[,\n]", " ", re.search(r"command: \[([^]]*)\]", text)[1])
        for folder in ("/run/secrets/heddle", "/var/lib/heddle-agent"):  # folders of the command are mounted
            self.assertIn(f"mountPath: {folder}", text)
        self.agent_works(words, "heddle-agent/gpu-0")

    @unittest.skipUnless(shutil.which("nginx") and shutil.which("openssl"), "nginx or openssl is not installed")
    def test_the_proxy_example_is_read(self):
        daemon = Daemon()
        folder = daemon.folder
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder + "/key.pem",
                        "-out", folder + "/cert.pem", "-days", "2", "-subj", "/CN=x"], check=True,
                       stderr=subprocess.DEVNULL)
        text = open(os.path.join(ROOT, "examples/service/nginx.conf")).read()
        text = re.sub(r"ssl_certificate \S+", f"ssl_certificate {folder}/cert.pem;", text)
        text = re.sub(r"ssl_certificate_key \S+", f"ssl_certificate_key {folder}/key.pem;", text)
        with open(folder + "/nginx.conf", "w") as file:
            file.write(f"pid {folder}/pid; error_log stderr;\nevents {{}}\nhttp {{ access_log off;\n{text}}}\n")
        done = subprocess.run(["nginx", "-t", "-p", folder, "-c", folder + "/nginx.conf"], stderr=subprocess.PIPE,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(warnings="ignore")

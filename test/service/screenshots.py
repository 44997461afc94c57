"""screenshots.py FOLDER: the dashboard in headless Chromium, on a service with the history of a small fleet.

Each page must render without an error and without a request to another host. FOLDER gets a PNG of each, for a visual
check. Without Chromium: skipped, and reported."""
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import urllib.parse
import zlib

from daemon import Daemon, claim, contender, product, race, row

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PORT = 7451
WORDS = "family=wgmma tile={}x{}x64 warps=8x1 stages={} cluster=2 multicast=b a=desc b=auto split_k=1 store=staged"


def play(client):
    """Three GPUs, two campaigns, races over four builds, canaries of which those of one GPU drift."""
    rng = random.Random(7)
    keys = [product(m=m, n=n, k=4096) for m in (4096, 14336) for n in (1, 16, 128, 256)]
    client.post("/v1/jobs", {"products": keys, "class": "H200", "note": "Llama 8B decode"})
    names = iter(range(10 ** 6))
    for build in range(4):
        if build:
            client.post("/v1/builds", {"build": f"build-{build}"})
        for i in range(len(keys)):
            gpu = i % 3
            answer = client.post("/v1/leases", claim(f"play-{next(names):06d}", f"GPU-{gpu}", build=f"build-{build}"))
            lease = answer.json["lease"]
            client.post(f"/v1/leases/{lease}/measurements", {"measurements": [row(k) for k in range(5)]})
            base = 20 + 8 * keys.index(answer.json["product"]) - build
            off = 1.012 if gpu == 2 and build > 1 else 1.0
            body = race(default=base * 1.1, best=base, schedule=WORDS.format(128, 64 + 8 * build, 6),
                        first=WORDS.format(128, 128, 4), begin={"read_us": 100 * off, "kernel_us": 50 * off},
                        end={"read_us": 100 * off + rng.random() / 5, "kernel_us": 50 * off},
                        more=[contender(WORDS.format(256, 64, 4 + k), [base * (1.02 + k / 50)] * 9,
                                        predicted_us=base * (1.02 + k / 50) * rng.uniform(.95, 1.05))
                              for k in range(4)])
            body["race"].update(dense_us=base * 1.6, cusparselt_us=base * 1.3)
            client.post(f"/v1/leases/{lease}/finish", body)
    client.post("/v1/jobs", {"products": [product(m=8192, n=n, k=8192) for n in range(1, 30)], "class": "H200",
                             "note": "Llama 70B", "priority": 6})
    for gpu in (0, 1):
        client.post("/v1/leases", claim(f"play-{next(names):06d}", f"GPU-{gpu}", build="build-3"))
    client.post("/v1/uses", {"uses": [{"product": product(n=48), "class": "H200", "count": 912, "missed": True}]})
    return keys[2]


def colours(path):
    """The number of different pixel rows of a PNG, as bytes. A page that was not rendered has one."""
    data = open(path, "rb").read()
    at, pixels = 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT":
            pixels += data[at + 8:at + 8 + n]
        at += n + 12
    raw = zlib.decompress(pixels)
    step = 1 + width * (4 if colour == 6 else 3)
    return len({raw[i * step:(i + 1) * step] for i in range(height)})


def draw(name, path, folder):
    png = os.path.join(folder, name + ".png")
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                               "--enable-logging=stderr", f"--user-data-dir={profile}", "--window-size=1280,1000",
                               f"--screenshot={png}", f"http://127.0.0.1:{PORT}{path}"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    said = [line for line in done.stdout.splitlines() if "CONSOLE" in line or "Refused" in line]
    rows = colours(png) if os.path.exists(png) else 0
    ok = done.returncode == 0 and not said and rows > 40
    print(f"{'ok    ' if ok else 'FAILED'} {path[:60]}: {rows} different rows of pixels {' '.join(said)}")
    return ok


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="heddle-screenshots-")
    os.makedirs(folder, exist_ok=True)
    if not CHROMIUM:
        print("skipped: no Chromium")
        return 0
    daemon = Daemon()
    daemon.stop()
    daemon.config["listen"] = f"unix:{daemon.socket},127.0.0.1:{PORT}"
    daemon.start()
    key = play(daemon.client())
    one = "/product?" + urllib.parse.urlencode({"product": key, "class": "H200"})
    pages = {"fleet": "/", "campaigns": "/campaigns", "campaign": "/campaigns/1", "choices": "/choices",
             "product": one, "drift": "/drift", "events": "/events"}
    drawn = [draw(name, path, folder) for name, path in pages.items()]
    served = {x["route"] for x in daemon.lines() if "route" in x}
    daemon.stop()
    print(f"{sum(drawn)} of {len(drawn)} pages drawn, in {folder}; routes asked for: {len(served)}")
    return 0 if all(drawn) else 1


if __name__ == "__main__":
    sys.exit(main())

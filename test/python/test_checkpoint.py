"""A checkpoint of many shards: converted, exported and imported, each killed (SIGKILL) several times. The bytes must
equal those of an undisturbed run, and memory must not grow. The data is random.

    test_checkpoint.py [--shards N] [--shard-mb MB] [--kills N] [--type T] [--folder DIR]

As large as Llama-3-70B, 140 GB: --shards 29 --shard-mb 4900 (on disk: 20 GB; shards are links to two files, and so are
the outputs after their comparison)."""
import argparse
import filecmp
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

import heddle.checkpoint
from heddle import weights

COLUMNS, WEIGHTS, ROUND = 8192, 8, 64
MODELS = 2  # number of different shards


def make_shard(path, n_bytes, seed):
    """Weights [m, COLUMNS] in bf16: numbers near 1 with random signs and mantissas."""
    rows = max(ROUND, n_bytes // WEIGHTS // (2 * COLUMNS) // ROUND * ROUND)
    rng, size = np.random.default_rng(seed), 2 * rows * COLUMNS

    def put(writer, name, first):
        bits = rng.integers(0, 1 << 16, min(1 << 24, size - first) // 2, np.uint16)
        writer.put(name, first, (bits & 0x80ff) | 0x3f00)
    tensors = {f"{i}.weight": ("BF16", [rows, COLUMNS], size) for i in range(WEIGHTS)}
    steps = [(put, name, first) for name in tensors for first in range(0, size, 1 << 24)]
    heddle.checkpoint.write_by_steps(path, tensors, {}, None, steps)


def link_shards(folder, models, shards):
    os.mkdir(folder)
    for i in range(shards):
        os.link(models[i % MODELS], os.path.join(folder, f"model-{i:05}.safetensors"))


def peak_mb(pid):
    """The peak memory of a process. (ru_maxrss of a child starts with that of its parent.)"""
    try:
        with open(f"/proc/{pid}/status") as stream:
            return next((int(line.split()[1]) // 1024 for line in stream if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


class Run:
    """A command over all shards that is killed several times, and its figures."""

    def __init__(self, command, source, out, wanted, shards, kills):
        self.command, self.source, self.out, self.wanted = command, source, out, wanted
        self.shards, self.left, self.kills = shards, kills, 0
        self.peak, self.seen = 0, set()

    def watch(self, child):
        """Waits until the child ends, or kills it within a shard: the kills are spread over the shards."""
        due, polls = (self.kills + 1) * self.shards // (self.kills + self.left + 1), random.randrange(8)
        while child.poll() is None:
            self.peak = max(self.peak, peak_mb(child.pid))
            self.compare()
            in_the_middle = any(name.endswith(".journal") for name in os.listdir(self.out)) if os.path.isdir(self.out) else False
            polls -= in_the_middle and len(self.seen) >= due
            if self.left and in_the_middle and polls < 0:
                child.send_signal(signal.SIGKILL)
                self.left, self.kills = self.left - 1, self.kills + 1
                break
            time.sleep(0.02)

    def compare(self):
        """Compares each complete shard once, and replaces it by a link to the expected one."""
        for name in sorted(os.listdir(self.out)) if os.path.isdir(self.out) else ():
            if name.endswith(".safetensors") and name not in self.seen:
                path, want = os.path.join(self.out, name), self.wanted[int(name[6:11]) % MODELS]
                if not filecmp.cmp(path, want, shallow=False):
                    raise SystemExit(f"{path} differs from an undisturbed run's {want}")
                os.link(want, path + ".link")
                os.replace(path + ".link", path)
                self.seen.add(name)

    def all(self):
        code = None
        while code != 0:
            child = subprocess.Popen([sys.executable, "-m", "heddle.weights", *self.command, self.source, self.out],
                                     stdout=subprocess.DEVNULL)
            self.watch(child)
            code = child.wait()
            if code not in (0, -signal.SIGKILL):
                raise SystemExit(f"{self.command}: exit {code}")
        self.compare()


def run(what, command, models, folder, args):
    """Runs `command` on the models, first undisturbed, then on all shards with kills."""
    once, many = (os.path.join(folder, f"{what}.{part}") for part in ("once", "many"))
    link_shards(once, models, MODELS)
    link_shards(many, models, args.shards)
    name, *options = command
    if weights.main([name, once, once + ".out", *options]):
        raise SystemExit(f"{command}: failed")
    wanted = [os.path.join(once + ".out", f"model-{i:05}.safetensors") for i in range(MODELS)]
    began = time.monotonic()
    one = Run([name, *options], many, many + ".out", wanted, args.shards, args.kills)
    one.all()
    seconds, size = time.monotonic() - began, sum(os.path.getsize(models[i % MODELS]) for i in range(args.shards))
    print(f"{what}: {size / 1e9:.2f} GB in {args.shards} shards, {one.kills} kills, {len(one.seen)} of {args.shards} as of an "
          f"undisturbed run, peak {one.peak} MB, {size / 1e9 / seconds:.2f} GB/s", flush=True)
    if len(one.seen) != args.shards or one.kills != args.kills:
        raise SystemExit(f"{what}: wanted {args.shards} shards and {args.kills} kills")
    if one.peak > args.most_mb:
        raise SystemExit(f"{what}: a peak of {one.peak} MB; at most {args.most_mb} are allowed")
    return wanted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=5)
    parser.add_argument("--shard-mb", type=int, default=64)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--type", default="e4m3")
    parser.add_argument("--most-mb", type=int, default=400, help="of memory")
    parser.add_argument("--folder", help="for the files; a temporary one without it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        models = [os.path.join(folder, f"{i}.safetensors") for i in range(MODELS)]
        for i, path in enumerate(models):
            make_shard(path, args.shard_mb << 20, i)
        packed = run("convert", ["convert", "--type", args.type], models, folder, args)
        bitmask = run("export", ["export", "--form", "bitmask"], packed, folder, args)
        again = run("import", ["import", "--form", "bitmask"], bitmask, folder, args)
        same = [all(np.array_equal(a.read(name), b.read(name)) for name in a.tensors)
                for a, b in zip(map(weights.Tensors, packed), map(weights.Tensors, again))]
        if not all(same):
            raise SystemExit("what was exported and imported has other bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""safetensors files, read by pieces and written by steps: nothing of the data is held, and a kill loses one step."""
import hashlib
import json
import os
import struct

import numpy as np

from .elements import DTYPES
from .errors import invalid

# safetensors' names of types that weights have: ours.
FILE_TYPES = {"BF16": "bf16", "F16": "f16", "F32": "f32", "F8_E4M3": "e4m3", "F8_E5M2": "e5m2", "I8": "s8", "U8": "u8"}
FILE_NAMES = {ours: name for name, ours in FILE_TYPES.items()} | {"tf32": "F32"}
STEP_BYTES = 16 << 20  # of f32 numbers, or of what is copied


class Tensors:
    """A safetensors file, read by pieces: nothing of the data is held."""

    def __init__(self, path):
        self.path = path
        size = os.path.getsize(path)
        with open(path, "rb") as stream:
            head = stream.read(8)
            length = struct.unpack("<Q", head)[0] if len(head) == 8 else size
            if 8 + length > size or length > 100 << 20:
                raise invalid("weights.file", f"{path} is no safetensors file: a header of {length} bytes in {size}")
            try:
                header = json.loads(stream.read(length))
            except ValueError:
                raise invalid("weights.file", f"{path} has a header that is no JSON", "a safetensors file") from None
        self.start = 8 + length
        self.metadata = header.pop("__metadata__", {})
        self.tensors = header
        for name, t in header.items():
            first, end = t["data_offsets"]
            if not 0 <= first <= end <= size - self.start:
                raise invalid("weights.file", f"{path}: '{name}' stands at {first} to {end} of {size - self.start}",
                              "offsets within the file")

    def size(self, name):
        """Bytes of a tensor."""
        first, end = self.tensors[name]["data_offsets"]
        return end - first

    def read(self, name, first=0, count=None):
        """`count` bytes of a tensor from byte `first` of it (all of them: None), as uint8."""
        begin, end = self.tensors[name]["data_offsets"]
        count = end - begin - first if count is None else count
        if first + count > end - begin:
            raise invalid("weights.file", f"{self.path}: '{name}' has {end - begin} bytes", f"{first + count} or more")
        return np.fromfile(self.path, np.uint8, count, offset=self.start + begin + first)

    def read_apart(self, name, first, count, n, pitch):
        """n times `count` bytes, `pitch` bytes apart, from byte `first` on: uint8 [n, count]."""
        begin, end = self.tensors[name]["data_offsets"]
        if first + (n - 1) * pitch + count > end - begin:
            raise invalid("weights.file", f"{self.path}: '{name}' has {end - begin} bytes",
                          f"{first + (n - 1) * pitch + count} or more")
        out = np.empty((n, count), np.uint8)
        with open(self.path, "rb", buffering=0) as stream:
            for i in range(n):
                out[i] = np.frombuffer(os.pread(stream.fileno(), count, self.start + begin + first + i * pitch), np.uint8)
        return out

    def array(self, name):
        """A whole tensor, as bits of its type."""
        t = self.tensors[name]
        return self.read(name).view(DTYPES[FILE_TYPES[t["dtype"]]]).reshape(t["shape"])

    def stamp(self):
        """What tells this file from another, or from itself when it was changed: size, time, header."""
        facts = os.stat(self.path)
        with open(self.path, "rb") as stream:
            return [facts.st_size, facts.st_mtime_ns, hashlib.sha256(stream.read(self.start)).hexdigest()]


def files_of(source):
    """The safetensors files of a checkpoint: one file, or a folder of shards."""
    if os.path.isfile(source):
        return [source]
    index = os.path.join(source, "model.safetensors.index.json")
    if os.path.exists(index):
        with open(index) as stream:
            names = sorted(set(json.load(stream)["weight_map"].values()))
    else:
        names = sorted(name for name in os.listdir(source) if name.endswith(".safetensors"))
    if not names:
        raise invalid("weights.source", f"{source} has no safetensors files", "a file, or a folder of shards")
    return [os.path.join(source, name) for name in names]


class Writer:
    """A safetensors file in the making. Sizes are known first; then steps, always the same in the same order, put their
    data where it belongs. PATH.partial becomes PATH when it is whole; PATH.journal says how many steps are surely there.
    `notes`: what the caller keeps with them. `done` is 0 where there is nothing to go on with: no journal, or one of
    another header or origin."""

    def __init__(self, path, tensors, metadata, origin=None):
        """tensors: {name: (safetensors type, shape, bytes)}; origin: what the data is made of, as JSON."""
        header, at = {"__metadata__": metadata}, 0
        for name, (dtype, shape, n_bytes) in tensors.items():
            header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + n_bytes]}
            at += n_bytes
        raw = json.dumps(header, separators=(",", ":")).encode()
        raw += b" " * (-len(raw) % 128 + 120)  # data begins at a multiple of 128
        self.head = struct.pack("<Q", len(raw)) + raw
        self.begin = {name: len(self.head) + t["data_offsets"][0] for name, t in header.items() if name != "__metadata__"}
        self.path, self.partial, self.journal = path, path + ".partial", path + ".journal"
        self.total, self.origin, self.done, self.notes, self.stream = len(self.head) + at, origin, 0, {}, None

    def is_whole(self):
        """Whether the file is there. One of another header is refused."""
        if not os.path.exists(self.path):
            return False
        with open(self.path, "rb") as stream:
            if stream.read(len(self.head)) != self.head or os.path.getsize(self.path) != self.total:
                raise invalid("weights.out", f"{self.path} is there, with other tensors or of another type",
                              "a new folder, or what this command began")
        if os.path.exists(self.journal):  # killed between the last two lines of finish()
            os.remove(self.journal)
        return True

    def open(self):
        """Takes up what an earlier run wrote, where it was the same file in the making."""
        journal = self._read_journal()
        if journal:
            self.done, self.notes = journal["done"], journal["notes"]
            self.stream = open(self.partial, "r+b", buffering=0)
            return
        for stale in (self.journal, self.partial):  # the journal first: it speaks of the other
            if os.path.exists(stale):
                os.remove(stale)
        self.stream = open(self.partial, "w+b", buffering=0)
        self.stream.write(self.head)
        self.stream.truncate(self.total)

    def _read_journal(self):
        try:
            with open(self.journal) as stream:
                journal = json.load(stream)
            with open(self.partial, "rb") as stream:
                same = stream.read(len(self.head)) == self.head and journal["origin"] == self.origin
            if same and os.path.getsize(self.partial) == self.total and journal["done"] >= 0 and "notes" in journal:
                return journal
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def put(self, name, first, data, pitch=None):
        """data at byte `first` of a tensor; with pitch its rows so many bytes apart."""
        data = np.ascontiguousarray(data)
        rows = [data] if pitch is None else data
        for i, row in enumerate(rows):
            view, at = memoryview(row.reshape(-1).view(np.uint8)), self.begin[name] + first + i * (pitch or 0)
            while len(view):
                written = os.pwrite(self.stream.fileno(), view, at)
                view, at = view[written:], at + written

    def step(self):
        """All that was put is there, and the journal says so, when it returns."""
        os.fdatasync(self.stream.fileno())
        self.done += 1
        with open(self.journal + ".new", "w") as stream:
            json.dump({"origin": self.origin, "done": self.done, "notes": self.notes}, stream)
            stream.flush()
            os.fdatasync(stream.fileno())
        os.replace(self.journal + ".new", self.journal)

    def finish(self):
        self.stream.close()
        os.replace(self.partial, self.path)
        if os.path.exists(self.journal):
            os.remove(self.journal)


def write_by_steps(path, tensors, metadata, origin, steps):
    """Makes a file, or the rest of it. steps: (function, arguments) each, called with the Writer before the arguments.
    Its notes; None where the file is there."""
    writer = Writer(path, tensors, metadata, origin)
    if writer.is_whole():
        return None
    writer.open()
    try:
        for work, *arguments in steps[writer.done:]:
            work(writer, *arguments)
            writer.step()
    except BaseException:
        writer.stream.close()
        raise
    writer.finish()
    return writer.notes


def copy(writer, source, name, first):
    """A step: some bytes of a tensor as they are."""
    writer.put(name, first, source.read(name, first, min(STEP_BYTES, source.size(name) - first)))


def steps_of_copy(source, name):
    return [(copy, source, name, first) for first in range(0, source.size(name), STEP_BYTES)]


def blocks(shape):
    """(matrix, first row, rows) of a weight [m, k], or of several [experts, m, k]: some slabs of 64 rows at a time."""
    *experts, m, k = shape
    rows = max(64, STEP_BYTES // (4 * k) // 64 * 64)
    return [(matrix, first, min(rows, m - first)) for matrix in range(experts[0] if experts else 1)
            for first in range(0, m, rows)]

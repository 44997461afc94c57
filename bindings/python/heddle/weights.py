"""Checkpoints: safetensors in, packed safetensors out; and the sparse forms of others.

    heddle-weights convert MODEL_DIR OUT_DIR --type e4m3 --match '*mlp*'     (python -m heddle.weights convert ...)
    heddle-weights export OUT_DIR DENSE_DIR --form dense                     (bitmask, cutlass)

A weight X [m, k] that matches becomes `X.packed` (uint8, docs/format.md), of 8-bit types `X.scale` (f32, one a row), too;
other tensors are copied. The file's metadata says what each was: "heddle.format", and a JSON object a weight. A tensor is
read, converted and written by blocks of rows, so that the memory needed does not grow with the model. What is done stands
in a journal beside the file: a conversion that was killed goes on where it was."""
import argparse
import ctypes
import fnmatch
import json
import math
import os
import struct
import sys

import numpy as np

from . import _c
from .elements import DTYPES, decode, elem, encode
from .errors import call, invalid
from .matrix import FORMAT_VERSION, SparseMatrix, packed_bytes

# safetensors' names of types: ours, and the NumPy type of the bits. None: no weight of ours, copied only.
_FILE_TYPES = {"BF16": "bf16", "F16": "f16", "F32": "f32", "F8_E4M3": "e4m3", "F8_E5M2": "e5m2", "I8": "s8", "U8": "u8"}
_FILE_NAMES = {ours: name for name, ours in _FILE_TYPES.items()} | {"tf32": "F32"}
_LARGEST = {"e4m3": 448.0, "e5m2": 57344.0, "s8": 127.0}
FAMILY = "wgmma"  # the two families have the same bytes for these types
BLOCK_BYTES = 16 << 20  # of f32 numbers at a time


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

    def read(self, name, first=0, count=None):
        """`count` bytes of a tensor from byte `first` of it (all of them: None), as uint8."""
        begin, end = self.tensors[name]["data_offsets"]
        count = end - begin - first if count is None else count
        return np.fromfile(self.path, np.uint8, count, offset=self.start + begin + first)

    def array(self, name):
        """A whole tensor, as bits of its type."""
        t = self.tensors[name]
        return self.read(name).view(DTYPES[_FILE_TYPES[t["dtype"]]]).reshape(t["shape"])


def files_of(source):
    """The safetensors files of a checkpoint: one file, or a folder of shards."""
    if os.path.isfile(source):
        return [source]
    index = os.path.join(source, "model.safetensors.index.json")
    if os.path.exists(index):
        names = sorted(set(json.load(open(index))["weight_map"].values()))
    else:
        names = sorted(name for name in os.listdir(source) if name.endswith(".safetensors"))
    if not names:
        raise invalid("weights.source", f"{source} has no safetensors files", "a file, or a folder of shards")
    return [os.path.join(source, name) for name in names]


class Writer:
    """A safetensors file in the making: sizes are known first, data comes by pieces in the file's order. PATH.partial
    becomes PATH when it is whole; PATH.journal says how many bytes are surely there."""

    def __init__(self, path, tensors, metadata):
        """tensors: {name: (safetensors type, shape, bytes)}."""
        header, at = {"__metadata__": metadata}, 0
        for name, (dtype, shape, n_bytes) in tensors.items():
            header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + n_bytes]}
            at += n_bytes
        raw = json.dumps(header, separators=(",", ":")).encode()
        raw += b" " * (-len(raw) % 128 + 120)  # data begins at a multiple of 128
        self.head = struct.pack("<Q", len(raw)) + raw
        self.path, self.partial, self.journal = path, path + ".partial", path + ".journal"
        self.total, self.done, self.notes = at, 0, {}
        if not self._resume():
            with open(self.partial, "wb") as stream:
                stream.write(self.head)
        self.stream = open(self.partial, "r+b")
        self.stream.truncate(len(self.head) + self.done)
        self.stream.seek(0, os.SEEK_END)

    def _resume(self):
        """Takes up what an earlier run wrote, when it was the same file in the making."""
        try:
            journal = json.load(open(self.journal))
            with open(self.partial, "rb") as stream:
                same = stream.read(len(self.head)) == self.head
            if same and os.path.getsize(self.partial) >= len(self.head) + journal["done"]:
                self.done, self.notes = journal["done"], journal["notes"]
                return True
        except (OSError, ValueError, KeyError):
            pass
        return False

    def write(self, data):
        """The next bytes. They are there, and the journal says so, when it returns."""
        self.stream.write(memoryview(np.ascontiguousarray(data)).cast("B") if len(data) else b"")
        self.stream.flush()
        os.fdatasync(self.stream.fileno())
        self.done += data.nbytes
        with open(self.journal + ".new", "w") as stream:
            json.dump({"done": self.done, "notes": self.notes}, stream)
            stream.flush()
            os.fdatasync(stream.fileno())
        os.replace(self.journal + ".new", self.journal)

    def finish(self):
        assert self.done == self.total, (self.done, self.total)
        self.stream.close()
        os.replace(self.partial, self.path)
        if os.path.exists(self.journal):
            os.remove(self.journal)


def _prune_pack(dense, type, threads):
    """The payload of elements [m, k] of a type, pruned."""
    m, k = dense.shape
    out = np.empty(packed_bytes(m, k, type, FAMILY), np.uint8)
    options = _c.heddle_prune_pack_options(n_threads=threads)
    call(_c.heddle_sparse_prune_pack, elem(type), _c.HEDDLE_FAMILY_WGMMA, m, k, dense.ctypes.data, dense.strides[0],
         ctypes.byref(options), out.ctypes.data)
    return out


def _mask_by_scores(scores, group, kept):
    scores = np.nan_to_num(scores.reshape(-1, group), nan=np.inf)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :kept]
    mask = np.zeros(scores.shape, bool)
    np.put_along_axis(mask, order, True, 1)
    return mask


class Block:
    """Some rows of a weight on their way: numbers (f32) to payload, scales and energies."""

    def __init__(self, numbers, type, threads, scores=None, mask=None):
        group, kept = (2, 1) if type == "tf32" else (4, 2)
        self.energy = float(np.dot(numbers.ravel(), numbers.ravel()))
        if scores is not None:
            mask = _mask_by_scores(scores, group, kept).reshape(numbers.shape)
        if mask is not None:
            numbers = numbers * mask
        self.scale = None
        if type in _LARGEST:  # pruned as bf16 first: of 8-bit values too many would tie
            pruned = SparseMatrix(_prune_pack(encode(numbers, "bf16"), "bf16", threads), numbers.shape, "bf16", FAMILY)
            numbers = pruned.numbers()
            self.scale = np.maximum(np.abs(numbers).max(1), 1e-12).astype(np.float32) / np.float32(_LARGEST[type])
            stored = encode(numbers / self.scale[:, None], type)
        else:
            stored = encode(numbers, type) if type != "tf32" else np.ascontiguousarray(numbers)
        self.payload = _prune_pack(stored, type, threads)
        kept = SparseMatrix(self.payload, numbers.shape, type, FAMILY).canonical()[0]
        kept = decode(kept, type).reshape(numbers.shape[0], -1)
        kept = kept * self.scale[:, None] if self.scale is not None else kept
        self.kept = float(np.dot(kept.ravel(), kept.ravel()))


def _plan_file(tensors, choose, type):
    """{name: (safetensors type, shape, bytes)} of the new file, its metadata, and what is to be done for each."""
    out, work = {}, []
    metadata = dict(tensors.metadata, **{"heddle.format": str(FORMAT_VERSION)})
    for name, t in sorted(tensors.tensors.items(), key=lambda item: item[1]["data_offsets"]):
        if not choose(name, t):
            out[name] = (t["dtype"], t["shape"], t["data_offsets"][1] - t["data_offsets"][0])
            work.append((name, None))
            continue
        *experts, m, k = t["shape"]
        n = math.prod(experts)
        out[f"{name}.packed"] = ("U8", [*experts, packed_bytes(m, k, type, FAMILY)], n * packed_bytes(m, k, type, FAMILY))
        work.append((name, "packed"))
        if type in _LARGEST:
            out[f"{name}.scale"] = ("F32", [*experts, m], 4 * n * m)
            work.append((name, "scale"))
        metadata[f"heddle:{name}"] = json.dumps({"type": type, "shape": t["shape"], "family": FAMILY})
    return out, metadata, work


class Conversion:
    """One file's way. Sources of scores and masks are Tensors with the weight's own names, or None."""

    def __init__(self, tensors, type, threads, scores=None, masks=None, tell=lambda name, note: None):
        self.tensors, self.type, self.threads = tensors, type, threads
        self.scores, self.masks, self.tell = scores, masks, tell

    def blocks(self, name, matrix, first_row=0):
        """(first row, Block) of a matrix, by whole slabs of 64 rows."""
        m, k = self.tensors.tensors[name]["shape"][-2:]
        rows = max(64, BLOCK_BYTES // (4 * k) // 64 * 64)
        for at in range(first_row, m, rows):
            count = min(rows, m - at)
            more = {}
            for what, source in (("scores", self.scores), ("mask", self.masks)):
                if source is not None and name in source.tensors:
                    more[what] = self.numbers(source, name, matrix * m + at, count, k)
            yield at, Block(self.numbers(self.tensors, name, matrix * m + at, count, k), self.type, self.threads, **more)

    @staticmethod
    def numbers(tensors, name, row, count, k):
        """Rows of a tensor as f32."""
        t = tensors.tensors[name]
        if t["dtype"] == "BOOL":
            return tensors.read(name, row * k, count * k).reshape(count, k).astype(np.float32)
        if t["dtype"] not in _FILE_TYPES:
            raise invalid("weights.type", f"'{name}' is of {t['dtype']}", ", ".join(_FILE_TYPES))
        type = _FILE_TYPES[t["dtype"]]
        size = np.dtype(DTYPES[type]).itemsize
        raw = tensors.read(name, row * k * size, count * k * size).view(DTYPES[type]).reshape(count, k)
        return raw if type == "f32" else raw.astype(np.float32) if type == "f16" else decode(raw, type)

    def write_packed(self, name, writer, done):
        """The payload from byte `done` on; scales and energies go into the journal's notes."""
        *experts, m, k = self.tensors.tensors[name]["shape"]
        one = packed_bytes(m, k, self.type, FAMILY)
        slab = one // -(-m // 64)
        note = writer.notes.setdefault(name, {"energy": 0.0, "kept": 0.0, "scale": []})
        for matrix in range(done // one, math.prod(experts)):
            first = done % one // slab * 64 if matrix == done // one else 0
            for _, block in self.blocks(name, matrix, first):
                note["energy"], note["kept"] = note["energy"] + block.energy, note["kept"] + block.kept
                if block.scale is not None:
                    note["scale"] += block.scale.tolist()
                writer.write(block.payload)
        self.tell(name, note)

    def run(self, path, choose):
        out, metadata, work = _plan_file(self.tensors, choose, self.type)
        writer, at = Writer(path, out, metadata), 0
        for name, part in work:
            size = out[f"{name}.{part}" if part else name][2]
            done = min(max(writer.done - at, 0), size)
            if done < size and part == "packed":
                self.write_packed(name, writer, done)
            elif done < size and part == "scale":
                writer.write(np.array(writer.notes[name]["scale"], np.float32)[done // 4:])
            else:
                while done < size:
                    piece = self.tensors.read(name, done, min(BLOCK_BYTES, size - done))
                    writer.write(piece)
                    done += len(piece)
            at += size
        notes = {name: note["kept"] / note["energy"] if note["energy"] else 1.0 for name, note in writer.notes.items()}
        writer.finish()
        return out, notes


def chooser(match, exclude, type):
    """Whether a tensor is converted: its name matches, it has two dimensions or three, and the group divides k."""
    group = 2 if type == "tf32" else 4

    def choose(name, t):
        named = any(fnmatch.fnmatchcase(name, p) for p in match) and not any(
            fnmatch.fnmatchcase(name, p) for p in exclude)
        return named and t["dtype"] in _FILE_TYPES and len(t["shape"]) in (2, 3) and t["shape"][-1] % group == 0 \
            and 0 not in t["shape"]
    return choose


def convert(source, out, type="bf16", match=("*.weight",), exclude=("*embed*", "*lm_head*", "*norm*"), scores=None,
            masks=None, threads=2, tell=lambda name, kept: None):
    """Converts a checkpoint (a file or a folder of shards) into the folder `out`; {name: share of the squared weight
    that was kept}. scores, masks: safetensors files with tensors of the weights' names: the largest scores stay, or what
    the mask says. Files that are there whole are left as they are."""
    if type not in ("bf16", "f16", "tf32", *_LARGEST):
        raise invalid("weights.type", f"got '{type}'", ", ".join(("bf16", "f16", "tf32", *_LARGEST)))
    os.makedirs(out, exist_ok=True)
    scores, masks = (Tensors(path) if path else None for path in (scores, masks))
    choose, kept, index = chooser(match, exclude, type), {}, {}
    for path in files_of(source):
        target = os.path.join(out, os.path.basename(path))
        if os.path.exists(target):
            names = Tensors(target).tensors
        else:
            names, notes = Conversion(Tensors(path), type, threads, scores, masks,
                                      lambda name, note: tell(name, note["kept"] / max(note["energy"], 1e-300))
                                      ).run(target, choose)
            kept.update(notes)
        index.update({name: os.path.basename(path) for name in names})
    with open(os.path.join(out, "model.safetensors.index.json"), "w") as stream:
        json.dump({"metadata": {"heddle.format": str(FORMAT_VERSION)}, "weight_map": index}, stream, indent=1)
    return kept


def packed_weights(tensors):
    """(name, facts, [SparseMatrix of each expert], scales or None) of the packed weights of a file."""
    if tensors.metadata.get("heddle.format") != str(FORMAT_VERSION):
        raise invalid("weights.format", f"{tensors.path}: format {tensors.metadata.get('heddle.format')}",
                      f"{FORMAT_VERSION}")
    for key, text in tensors.metadata.items():
        if key.startswith("heddle:"):
            name, facts = key[7:], json.loads(text)
            *experts, m, k = facts["shape"]
            payload = tensors.read(f"{name}.packed").reshape(math.prod(experts), -1)
            scale = tensors.read(f"{name}.scale").view(np.float32).reshape(-1, m) if f"{name}.scale" in tensors.tensors \
                else None
            yield name, facts, [SparseMatrix(p, (m, k), facts["type"], facts["family"]) for p in payload], scale


# ---- the forms of others ----

_CODE_OF_MASK = {0b0011: 0x4, 0b0101: 0x8, 0b0110: 0x9, 0b1001: 0xc, 0b1010: 0xd, 0b1100: 0xe}


def to_bitmask(matrix):
    """compressed-tensors' sparse-24-bitmask: (compressed [m, k/2], bitmask [m, k/8], shape): what stays, in order, and a
    bit an element, the first in the low bit."""
    values, codes = matrix.canonical()
    nibbles = np.stack((codes & 15, codes >> 4), -1).reshape(codes.shape[0], -1)[:, :matrix.shape[1] // 4]
    table = np.zeros(16, np.uint8)
    for mask, code in _CODE_OF_MASK.items():
        table[code] = mask
    bits = (table[nibbles][..., None] >> np.arange(4, dtype=np.uint8)) & 1
    return values, np.packbits(bits.reshape(bits.shape[0], -1), axis=1, bitorder="little"), np.array(matrix.shape)


def from_bitmask(compressed, bitmask, shape, type):
    """The SparseMatrix of a sparse-24-bitmask weight."""
    m, k = (int(x) for x in shape)
    bits = np.unpackbits(np.ascontiguousarray(bitmask).view(np.uint8), axis=1, count=k, bitorder="little").astype(bool)
    if bits.shape != (m, k) or not (bits.reshape(m, -1, 4).sum(-1) == 2).all():
        raise invalid("weights.bitmask", "a group of the mask has not two bits of four", "two of each four")
    dense = np.zeros((m, k), DTYPES[type])
    dense[bits] = np.ascontiguousarray(compressed).view(DTYPES[type]).ravel()
    return SparseMatrix.from_dense(dense, type, FAMILY)


def _metadata_words(type):
    """CUTLASS's metadata elements: dtype and codes of each; rows that are permuted together."""
    return (np.int32, 8, 16) if np.dtype(DTYPES[type]).itemsize == 1 else (np.int16, 4, 32)


def to_cutlass(matrix):
    """torch's CUTLASS form (torch._sparse_semi_structured_*): (values [m, k/2], metadata). The values are the canonical
    ones; metadata words are reordered: rows r and r + 8 of a group beside each other, 2 x 2 blocks transposed, pairs of
    columns stored by column. m is a multiple of 32 (8-bit: 16), k of 64 (8-bit: 128; tf32: 32)."""
    values, codes = matrix.canonical()
    word, per_word, group = _metadata_words(matrix.type)
    m, columns = codes.shape[0], codes.shape[1] * 2 // per_word
    if m % group or codes.shape[1] * 2 % (2 * per_word):
        raise invalid("weights.cutlass", f"got {matrix.shape[0]} x {matrix.shape[1]} {matrix.type}",
                      f"rows in multiples of {group}, two whole words of metadata a row")
    words = np.ascontiguousarray(codes).view(word)
    rows = words.reshape(m // group, group // 8, 8, columns).swapaxes(1, 2)
    blocks = rows.reshape(m // 2, 2, columns // 2, 2).swapaxes(1, 3)
    return values, np.ascontiguousarray(blocks.reshape(m, columns // 2, 2).swapaxes(0, 1)).reshape(m, columns)


def from_cutlass(values, metadata, type):
    """The SparseMatrix of torch's CUTLASS form."""
    word, per_word, group = _metadata_words(type)
    m, columns = metadata.shape
    blocks = np.ascontiguousarray(metadata).view(word).reshape(columns // 2, m, 2).swapaxes(0, 1)
    rows = blocks.reshape(m // 2, 2, columns // 2, 2).swapaxes(1, 3).reshape(m // group, 8, group // 8, columns)
    codes = np.ascontiguousarray(rows.swapaxes(1, 2).reshape(m, columns)).view(np.uint8)
    k = codes.shape[1] * 2 * (2 if type == "tf32" else 4)
    return SparseMatrix.from_canonical(np.ascontiguousarray(values), codes, (m, k), type, FAMILY)


def _one(matrices, make):
    """The arrays of a weight, experts stacked."""
    parts = [make(matrix) for matrix in matrices]
    return [np.stack(p) if len(parts) > 1 else p[0] for p in zip(*parts)]


_FORMS = {  # suffixes of a form's tensors, and how they are made
    "dense": (("",), lambda w: (w.dense(),)),
    "bitmask": ((".compressed", ".bitmask", ".shape"), to_bitmask),
    "cutlass": ((".values", ".metadata"), to_cutlass),
}
_NUMPY_NAMES = {"uint8": "U8", "int16": "I16", "int32": "I32", "int64": "I64", "float32": "F32"}


def export(source, out, form="dense"):
    """Writes packed checkpoints back: "dense" 2:4 weights (8-bit: with `.scale`), "bitmask", "cutlass"."""
    if form not in _FORMS:
        raise invalid("weights.form", f"got '{form}'", ", ".join(_FORMS))
    os.makedirs(out, exist_ok=True)
    suffixes, make = _FORMS[form]
    for path in files_of(source):
        tensors, arrays = Tensors(path), {}
        for name, facts, matrices, scale in packed_weights(tensors):
            for suffix, array in zip(suffixes, _one(matrices, make)):
                own = array.dtype == DTYPES[facts["type"]] and suffix in ("", ".compressed", ".values")
                dtype = _FILE_NAMES[facts["type"]] if own else _NUMPY_NAMES[array.dtype.name]
                arrays[name + suffix] = (dtype, array)
            if scale is not None:
                arrays[f"{name}.scale"] = ("F32", scale.reshape(facts["shape"][:-1]))
        packed = {f"{key[7:]}.{part}" for key in tensors.metadata if key.startswith("heddle:")
                  for part in ("packed", "scale")}
        for name, t in tensors.tensors.items():
            if name not in packed:
                arrays[name] = (t["dtype"], tensors.read(name).reshape(-1))
        plan = {name: (dtype, tensors.tensors[name]["shape"] if name in tensors.tensors and name not in packed
                       else array.shape, array.nbytes) for name, (dtype, array) in arrays.items()}
        kept = {k: v for k, v in tensors.metadata.items() if not k.startswith("heddle")}
        writer = Writer(os.path.join(out, os.path.basename(path)), plan, kept)
        for _, array in list(arrays.values()):
            if writer.done < writer.total:
                writer.write(array.reshape(-1).view(np.uint8))
        writer.finish()


_IMPORTED = {  # suffixes of the tensors that make a weight, and the SparseMatrix of them
    "dense": (("",), lambda type, w: SparseMatrix.from_dense(w, type, FAMILY)),
    "bitmask": ((".compressed", ".bitmask", ".shape"), lambda type, *parts: from_bitmask(*parts, type)),
    "cutlass": ((".values", ".metadata"), lambda type, *parts: from_cutlass(*parts, type)),
}


def _any_array(tensors, name):
    """A whole tensor; integers, too, which no weight has."""
    t = tensors.tensors[name]
    words = {"I16": np.int16, "I32": np.int32, "I64": np.int64}
    return tensors.read(name).view(words[t["dtype"]]).reshape(t["shape"]) if t["dtype"] in words else tensors.array(name)


def import_sparse(source, out, form="bitmask", match=("*",)):
    """Reads weights that are sparse already, in a form of others' ("bitmask": compressed-tensors' sparse-24-bitmask;
    "cutlass": torch's; "dense": 2:4), into a packed checkpoint: what export() undoes. One weight at a time is in memory;
    other tensors, and weights of types that are not packed, are copied. Returns the names of what was packed."""
    if form not in _IMPORTED:
        raise invalid("weights.form", f"got '{form}'", ", ".join(_IMPORTED))
    os.makedirs(out, exist_ok=True)
    suffixes, make = _IMPORTED[form]
    found = []
    for path in files_of(source):
        tensors, plan = Tensors(path), {}
        weights = dict(_imports(tensors, form, match))
        parts = {name + suffix for name in weights for suffix in suffixes}
        copied = {name: t for name, t in tensors.tensors.items() if name not in parts}
        metadata = dict(tensors.metadata, **{"heddle.format": str(FORMAT_VERSION)})
        for name, (type, shape) in weights.items():
            size = packed_bytes(*shape, type, FAMILY)
            plan[f"{name}.packed"] = ("U8", [size], size)
            metadata[f"heddle:{name}"] = json.dumps({"type": type, "shape": shape, "family": FAMILY})
        for name, t in copied.items():
            plan[name] = (t["dtype"], t["shape"], t["data_offsets"][1] - t["data_offsets"][0])
        target = os.path.join(out, os.path.basename(path))
        for half in (target + ".partial", target + ".journal"):  # of another run: begun anew
            if os.path.exists(half):
                os.remove(half)
        writer = Writer(target, plan, metadata)
        for name, (type, _) in weights.items():
            writer.write(make(type, *(_any_array(tensors, name + suffix) for suffix in suffixes)).payload)
        for name in copied:
            for at in range(0, plan[name][2], BLOCK_BYTES):
                writer.write(tensors.read(name, at, min(BLOCK_BYTES, plan[name][2] - at)))
        writer.finish()
        found += weights
    return found


def _imports(tensors, form, match):
    """(name, (type, shape)) of each weight that a file holds in a form."""
    first, *others = _IMPORTED[form][0]
    for full, t in tensors.tensors.items():
        name = full[:len(full) - len(first)]
        type = {"f32": "tf32"}.get(_FILE_TYPES.get(t["dtype"]), _FILE_TYPES.get(t["dtype"]))
        whole = full.endswith(first) and all(name + other in tensors.tensors for other in others)
        if not whole or type in (None, "u8") or len(t["shape"]) != 2 or not any(fnmatch.fnmatchcase(name, p) for p in match):
            continue
        m, columns = t["shape"]
        shape = [int(x) for x in _any_array(tensors, f"{name}.shape")] if form == "bitmask" else \
            [m, 2 * columns if form == "cutlass" else columns]
        yield name, (type, shape)


def load_into(model, source):
    """Gives the SparseLinear layers of a model (heddle.torch.sparsify made them, or SparseLinear itself) the packed
    weights of a folder that convert() made; the names of weights that it found no layer for (those of experts are none).
    Gate and up of a GatedMLP are put together, from one shard or two."""
    missing, halves = [], {}
    for path in files_of(source):
        for name, facts, matrices, scale in packed_weights(Tensors(path)):
            layer, part = _layer_of(model, name)
            if layer is None or len(matrices) != 1:
                missing.append(name)
            elif part is None:
                _give(layer, name, facts["type"], matrices[0], scale[0] if scale is not None else None)
            else:
                halves.setdefault(layer, {})[part] = (name, facts["type"], matrices[0], scale)
    for layer, parts in halves.items():
        if len(parts) == 2:
            _give_pair(layer, parts)
        else:
            missing += [name for name, *_ in parts.values()]
    return missing


def _layer_of(model, name):
    """(layer, None) of a weight; of gate and up that became one layer (it, 0 or 1); (None, None) where there is none."""
    from .torch import GatedMLP, SparseLinear
    path = name.rpartition(".")[0]
    parent, _, last = path.rpartition(".")
    try:
        module = model.get_submodule(parent)
        if isinstance(module, GatedMLP) and last in module.sources:
            gate, up, down = module.sources
            layer, part = (module.down, None) if last == down else (module.gate_up, [gate, up].index(last))
            part = None if up is None else part
        else:
            layer, part = model.get_submodule(path), None
    except AttributeError:
        return None, None
    return (layer, part) if isinstance(layer, SparseLinear) else (None, None)


def _give(layer, name, type, matrix, scale):
    import torch

    from .torch import type_of
    want = ((layer.rows, layer.in_features), type_of(layer.weight_dtype))
    if (matrix.shape, type) != want:
        raise invalid("weights.layer", f"'{name}' is {matrix.shape[0]} x {matrix.shape[1]} {type}",
                      f"{want[0][0]} x {want[0][1]} {want[1]}, which its layer has")
    if layer.pair and not matrix.pair:
        matrix = SparseMatrix.from_dense(matrix.dense(), type, FAMILY, pair=True)
    layer.packed.copy_(torch.from_numpy(matrix.payload))
    if scale is not None:
        layer.weight_scale.copy_(torch.from_numpy(scale))


def _give_pair(layer, parts):
    """Gate and up, each (name, type, matrix, scales), as one."""
    (gate, type, first, scale), (up, other, second, scale_up) = parts[0], parts[1]
    if type != other or first.shape != second.shape:
        raise invalid("weights.layer", f"'{gate}' is {first.shape[0]} x {first.shape[1]} {type}, '{up}' "
                      f"{second.shape[0]} x {second.shape[1]} {other}", "gate and up of one shape and type")
    both = SparseMatrix.from_dense(np.concatenate((first.dense(), second.dense())), type, FAMILY, pair=True)
    _give(layer, f"{gate}, {up}", type, both, None if scale is None else np.concatenate((scale[0], scale_up[0])))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="heddle-weights", description="Convert checkpoints to packed 2:4 weights.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("convert", help="safetensors to packed safetensors; goes on after a kill")
    one.add_argument("source"), one.add_argument("out")
    one.add_argument("--type", default="bf16", help="bf16, f16, tf32, e4m3, e5m2, s8")
    one.add_argument("--match", action="append", help="names of weights, as in a shell; several times")
    one.add_argument("--exclude", action="append")
    one.add_argument("--scores", help="a safetensors file: the largest scores stay")
    one.add_argument("--masks", help="a safetensors file of masks")
    one.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    two = commands.add_parser("export", help="packed safetensors to the forms of others")
    two.add_argument("source"), two.add_argument("out")
    two.add_argument("--form", default="dense", help=", ".join(_FORMS))
    three = commands.add_parser("import", help="weights that are sparse already, in the forms of others, to packed ones")
    three.add_argument("source"), three.add_argument("out")
    three.add_argument("--form", default="bitmask", help=", ".join(_IMPORTED))
    three.add_argument("--match", action="append", help="names of weights, as in a shell; several times")
    args = parser.parse_args(arguments)
    from .errors import HeddleError
    try:
        if args.command == "export":
            export(args.source, args.out, args.form)
        elif args.command == "import":
            for name in import_sparse(args.source, args.out, args.form, args.match or ("*",)):
                print(name)
        else:
            convert(args.source, args.out, args.type, args.match or ("*.weight",),
                    args.exclude or ("*embed*", "*lm_head*", "*norm*"), args.scores, args.masks, args.threads,
                    lambda name, kept: print(f"{name}: kept {kept:.4f} of the squared weight", flush=True))
    except (HeddleError, OSError) as error:
        print(error, file=sys.stderr)
        return _c.heddle_status_exit_code(error.status) if isinstance(error, HeddleError) else 4
    return 0


if __name__ == "__main__":
    sys.exit(main())

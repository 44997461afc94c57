"""Checkpoints: safetensors in, packed safetensors out; and the sparse forms of others.

    heddle-weights convert MODEL_DIR OUT_DIR --type e4m3 --match '*mlp*'     (python -m heddle.weights convert ...)
    heddle-weights export OUT_DIR DENSE_DIR --form dense                     (bitmask, cutlass)
    heddle-weights import SPARSE_DIR OUT_DIR --form bitmask

A weight X [m, k] that matches becomes `X.packed` (uint8, docs/format.md), of 8-bit types `X.scale` (f32, one a row), too;
other tensors are copied. The file's metadata says what each was: "heddle.format", and a JSON object a weight. All three
commands read, convert and write by steps of some rows (checkpoint.py), so that the memory needed does not grow with the
model, and one that was killed goes on where it was."""
import argparse
import ctypes
import fnmatch
import json
import math
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from . import _c
from .checkpoint import FILE_NAMES, FILE_TYPES, Tensors, blocks, files_of, steps_of_copy, write_by_steps
from .elements import DTYPES, decode, elem, encode
from .errors import HeddleError, call, invalid
from .matrix import FORMAT_VERSION, SparseMatrix, packed_bytes
from .sparse_forms import FAMILY, FORMS, form_of, from_bitmask, from_cutlass, to_bitmask, to_cutlass

_LARGEST = {"e4m3": 448.0, "e5m2": 57344.0, "s8": 127.0}


def _bytes_of(t):
    return t["data_offsets"][1] - t["data_offsets"][0]


def _facts(type, shape):
    """A weight's entry in the metadata of a packed file."""
    return json.dumps({"type": type, "shape": shape, "family": FAMILY})


def _packed_tensor(type, shape):
    """Type, shape and bytes of X.packed."""
    *experts, m, k = shape
    one = packed_bytes(m, k, type, FAMILY)
    return "U8", [*experts, one], math.prod(experts) * one


def _place(type, shape, matrix, row):
    """The byte of X.packed at which a slab begins. Slabs of 64 rows follow each other."""
    m, k = shape[-2:]
    one = packed_bytes(m, k, type, FAMILY)
    return matrix * one + row // 64 * (one // -(-m // 64))


def _write_files(source, out, plan):
    """Makes a file of each of a checkpoint, and their index. plan(Tensors) gives what write_by_steps takes after the path.
    The notes of those that were not there."""
    os.makedirs(out, exist_ok=True)
    index, found = {}, {}
    for path in files_of(source):
        tensors, *more = plan(Tensors(path))
        found.update(write_by_steps(os.path.join(out, os.path.basename(path)), tensors, *more) or {})
        index.update({name: os.path.basename(path) for name in tensors})
    with open(os.path.join(out, "model.safetensors.index.json"), "w") as stream:
        json.dump({"metadata": {"heddle.format": str(FORMAT_VERSION)}, "weight_map": index}, stream, indent=1)
    return found


# ---- dense weights, pruned ----


def _prune_pack(dense, type):
    """The payload of elements [m, k] of a type, pruned."""
    m, k = dense.shape
    out = np.empty(packed_bytes(m, k, type, FAMILY), np.uint8)
    call(_c.heddle_sparse_prune_pack, elem(type), _c.HEDDLE_FAMILY_WGMMA, m, k, dense.ctypes.data, dense.strides[0], None,
         out.ctypes.data)
    return out


def _mask_by_scores(scores, group, kept):
    scores = np.nan_to_num(scores.reshape(-1, group), nan=np.inf)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :kept]
    mask = np.zeros(scores.shape, bool)
    np.put_along_axis(mask, order, True, 1)
    return mask


class Block:
    """Some rows of a weight on their way: numbers (f32) to payload, scales and energies."""

    def __init__(self, numbers, type, scores=None, mask=None):
        group, kept = (2, 1) if type == "tf32" else (4, 2)
        self.energy = float(np.dot(numbers.ravel(), numbers.ravel()))
        if scores is not None:
            mask = _mask_by_scores(scores, group, kept).reshape(numbers.shape)
        if mask is not None:
            numbers = numbers * mask
        self.scale = None
        if type in _LARGEST:  # pruned as bf16 first: of 8-bit values too many would tie
            pruned = SparseMatrix(_prune_pack(encode(numbers, "bf16"), "bf16"), numbers.shape, "bf16", FAMILY)
            numbers = pruned.numbers()
            self.scale = np.maximum(np.abs(numbers).max(1), 1e-12).astype(np.float32) / np.float32(_LARGEST[type])
            stored = encode(numbers * (np.float32(1) / self.scale)[:, None], type)  # as heddle.torch.pack_quantized
        else:
            stored = encode(numbers, type) if type != "tf32" else np.ascontiguousarray(numbers)
        self.payload = _prune_pack(stored, type)
        kept = SparseMatrix(self.payload, numbers.shape, type, FAMILY).canonical()[0]
        kept = decode(kept, type).reshape(numbers.shape[0], -1)
        kept = kept * self.scale[:, None] if self.scale is not None else kept
        self.kept = float(np.dot(kept.ravel(), kept.ravel()))


class Conversion:
    """One file's way. scores and masks are Tensors with the weights' own names, or None; pool: an executor of n_threads
    threads, which share a step: NumPy and libheddle compute without Python's lock."""

    def __init__(self, source, type, pool, n_threads, scores=None, masks=None, tell=lambda name, note: None):
        self.source, self.type, self.pool, self.n_threads = source, type, pool, n_threads
        self.scores, self.masks, self.tell = scores, masks, tell

    def plan(self, choose):
        """The new file's tensors, its metadata, what it is made of, and the steps (write_by_steps)."""
        out, steps = {}, []
        metadata = dict(self.source.metadata, **{"heddle.format": str(FORMAT_VERSION)})
        for name, t in sorted(self.source.tensors.items(), key=lambda item: item[1]["data_offsets"]):
            if not choose(name, t):
                out[name] = (t["dtype"], t["shape"], _bytes_of(t))
                steps += steps_of_copy(self.source, name)
                continue
            out[f"{name}.packed"] = _packed_tensor(self.type, t["shape"])
            if self.type in _LARGEST:
                rows = t["shape"][:-1]
                out[f"{name}.scale"] = ("F32", rows, 4 * math.prod(rows))
            metadata[f"heddle:{name}"] = _facts(self.type, t["shape"])
            steps += [(self.write, name, *block) for block in blocks(t["shape"])]
        origin = [source and source.stamp() for source in (self.source, self.scores, self.masks)]
        return out, metadata, origin, steps

    def write(self, writer, name, matrix, first, count):
        """A step: some rows of a weight."""
        *experts, m, k = self.source.tensors[name]["shape"]
        note = writer.notes.setdefault(name, {"energy": 0.0, "kept": 0.0})
        each = 64 * max(1, -(-count // (64 * self.n_threads)))  # rows of a thread: whole slabs
        parts = [(row, min(each, first + count - row)) for row in range(first, first + count, each)]
        for block in self.pool.map(lambda part: self.write_part(writer, name, matrix, *part), parts):
            note["energy"], note["kept"] = note["energy"] + block.energy, note["kept"] + block.kept
        if matrix * m + first + count == m * math.prod(experts):
            self.tell(name, note)

    def write_part(self, writer, name, matrix, first, count):
        """Some slabs of a step, on a thread."""
        shape = self.source.tensors[name]["shape"]
        m, k = shape[-2:]
        row, more = matrix * m + first, {}
        for what, source in (("scores", self.scores), ("mask", self.masks)):
            if source is not None and name in source.tensors:
                more[what] = self.numbers(source, name, row, count, k)
        block = Block(self.numbers(self.source, name, row, count, k), self.type, **more)
        writer.put(f"{name}.packed", _place(self.type, shape, matrix, first), block.payload)
        if block.scale is not None:
            writer.put(f"{name}.scale", 4 * row, block.scale)
        return block

    @staticmethod
    def numbers(tensors, name, row, count, k):
        """Rows of a tensor as f32."""
        t = tensors.tensors[name]
        if t["dtype"] == "BOOL":
            return tensors.read(name, row * k, count * k).reshape(count, k).astype(np.float32)
        if t["dtype"] not in FILE_TYPES:
            raise invalid("weights.type", f"'{name}' is of {t['dtype']}", ", ".join(FILE_TYPES))
        type = FILE_TYPES[t["dtype"]]
        size = np.dtype(DTYPES[type]).itemsize
        raw = tensors.read(name, row * k * size, count * k * size).view(DTYPES[type]).reshape(count, k)
        return raw if type == "f32" else raw.astype(np.float32) if type == "f16" else decode(raw, type)


def chooser(match, exclude, type):
    """Whether a tensor is converted: its name matches, it has two dimensions or three, and the group divides k."""
    group = 2 if type == "tf32" else 4

    def choose(name, t):
        named = any(fnmatch.fnmatchcase(name, p) for p in match) and not any(
            fnmatch.fnmatchcase(name, p) for p in exclude)
        return named and t["dtype"] in FILE_TYPES and len(t["shape"]) in (2, 3) and t["shape"][-1] % group == 0 \
            and 0 not in t["shape"]
    return choose


def _kept_share(note):
    return note["kept"] / note["energy"] if note["energy"] else 1.0


def convert(source, out, type="bf16", match=("*.weight",), exclude=("*embed*", "*lm_head*", "*norm*"), scores=None,
            masks=None, threads=2, tell=lambda name, kept: None):
    """Converts a checkpoint (a file or a folder of shards) into the folder `out`; {name: share of the squared weight
    that was kept}. scores, masks: safetensors files with tensors of the weights' names: the largest scores stay, or what
    the mask says. Files of this conversion that are there whole are left as they are; another's are refused."""
    if type not in ("bf16", "f16", "tf32", *_LARGEST):
        raise invalid("weights.type", f"got '{type}'", ", ".join(("bf16", "f16", "tf32", *_LARGEST)))
    scores, masks = (Tensors(path) if path else None for path in (scores, masks))
    choose = chooser(match, exclude, type)

    n_threads = max(1, threads)
    with ThreadPoolExecutor(n_threads) as pool:
        def plan(tensors):
            return Conversion(tensors, type, pool, n_threads, scores, masks,
                              lambda name, note: tell(name, _kept_share(note))).plan(choose)
        return {name: _kept_share(note) for name, note in _write_files(source, out, plan).items()}


# ---- packed files, and the forms of others ----


def _packed_facts(tensors):
    """(name, {type, shape, family}) of each packed weight of a file."""
    if tensors.metadata.get("heddle.format") != str(FORMAT_VERSION):
        raise invalid("weights.format", f"{tensors.path}: format {tensors.metadata.get('heddle.format')}",
                      f"{FORMAT_VERSION}")
    return [(key[7:], json.loads(text)) for key, text in tensors.metadata.items() if key.startswith("heddle:")]


def packed_weights(tensors):
    """(name, facts, [SparseMatrix of each expert], scales or None) of the packed weights of a file."""
    for name, facts in _packed_facts(tensors):
        *experts, m, k = facts["shape"]
        payload = tensors.read(f"{name}.packed").reshape(math.prod(experts), -1)
        scale = tensors.read(f"{name}.scale").view(np.float32).reshape(-1, m) if f"{name}.scale" in tensors.tensors \
            else None
        yield name, facts, [SparseMatrix(p, (m, k), facts["type"], facts["family"]) for p in payload], scale


class Export:
    """One packed file's way to a form."""

    def __init__(self, source, form):
        self.source, self.form = source, form_of(form)

    def plan(self):
        out, steps, packed = {}, [], set()
        for name, facts in _packed_facts(self.source):
            *experts, m, k = facts["shape"]
            for part in self.form.parts(facts["type"], m, k):
                shape = part.shape(experts, m)
                out[name + part.suffix] = (part.file_type, shape, part.item * math.prod(shape))
            if f"{name}.scale" in self.source.tensors:
                shape = facts["shape"][:-1]
                out[f"{name}.scale"] = ("F32", shape, 4 * math.prod(shape))
                steps += steps_of_copy(self.source, f"{name}.scale")
            packed |= {f"{name}.packed", f"{name}.scale"}
            steps += [(self.write, name, facts, *block) for block in blocks(facts["shape"])]
        for name in (name for name in self.source.tensors if name not in packed):
            t = self.source.tensors[name]
            out[name] = (t["dtype"], t["shape"], _bytes_of(t))
            steps += steps_of_copy(self.source, name)
        metadata = {key: text for key, text in self.source.metadata.items() if not key.startswith("heddle")}
        return out, metadata, [self.source.stamp()], steps

    def write(self, writer, name, facts, matrix, first, count):
        """A step: some rows of a weight."""
        type, (m, k) = facts["type"], facts["shape"][-2:]
        begin = _place(type, facts["shape"], matrix, first)
        payload = self.source.read(f"{name}.packed", begin, packed_bytes(count, k, type, FAMILY))
        arrays = self.form.make(SparseMatrix(payload, (count, k), type, facts["family"]))
        for part, array in zip(self.form.parts(type, m, k), arrays):
            at, n_bytes, runs, pitch = part.where(m, matrix, first, count)
            array = np.array([m, k], np.int64) if part.order == "shape" else array
            writer.put(name + part.suffix, at, np.ascontiguousarray(array).view(np.uint8).reshape(runs, n_bytes), pitch)


def export(source, out, form="dense"):
    """Writes packed checkpoints back: "dense" 2:4 weights (8-bit: with `.scale`), "bitmask", "cutlass"."""
    form_of(form)
    _write_files(source, out, lambda tensors: Export(tensors, form).plan())


class Import:
    """One file's way from a form to a packed one."""

    def __init__(self, source, form, match):
        self.source, self.name, self.form, self.match = source, form, form_of(form), match

    def weights(self):
        """{name: (type, shape)} of the weights that the file holds in the form."""
        first, *others = (part.suffix for part in self.form.parts("bf16", 32, 64))
        found = {}
        for full, t in self.source.tensors.items():
            name = full[:len(full) - len(first)]
            type = {"f32": "tf32"}.get(FILE_TYPES.get(t["dtype"]), FILE_TYPES.get(t["dtype"]))
            whole = full.endswith(first) and all(name + other in self.source.tensors for other in others)
            is_scale = full.endswith(".scale") and full[:-6] in self.source.tensors
            named = any(fnmatch.fnmatchcase(name, p) for p in self.match)
            if whole and named and not is_scale and type not in (None, "u8") and len(t["shape"]) in (2, 3):
                found[name] = (type, [*t["shape"][:-1], t["shape"][-1] * self.form.columns])
        for name, (type, shape) in found.items():
            self.check(name, type, shape)
        return found

    def check(self, name, type, shape):
        """The tensors of a weight are of one shape."""
        *experts, m, k = shape
        for part in self.form.parts(type, m, k):
            got, want = self.source.tensors[name + part.suffix], part.shape(experts, m)
            if math.prod(got["shape"]) != math.prod(want) or _bytes_of(got) != part.item * math.prod(want):
                raise invalid("weights.parts", f"{self.source.path}: '{name}{part.suffix}' is {got['shape']} of {got['dtype']}",
                              f"{want} of {part.file_type}")

    def plan(self):
        weights, out, steps = self.weights(), {}, []
        metadata = dict(self.source.metadata, **{"heddle.format": str(FORMAT_VERSION)})
        parts = {name + part.suffix for name, (type, shape) in weights.items()
                 for part in self.form.parts(type, *shape[-2:])}
        for name, (type, shape) in weights.items():
            out[f"{name}.packed"] = _packed_tensor(type, shape)
            metadata[f"heddle:{name}"] = _facts(type, shape)
            steps += [(self.write, name, type, shape, *block) for block in blocks(shape)]
        for name in (name for name in self.source.tensors if name not in parts):
            t = self.source.tensors[name]
            out[name] = (t["dtype"], t["shape"], _bytes_of(t))
            steps += steps_of_copy(self.source, name)
        return out, metadata, [self.name, self.source.stamp()], steps

    def write(self, writer, name, type, shape, matrix, first, count):
        """A step: some rows of a weight."""
        m, k = shape[-2:]
        arrays = []
        for part in self.form.parts(type, m, k):
            at, n_bytes, runs, pitch = part.where(m, matrix, first, count)
            raw = self.source.read_apart(name + part.suffix, at, n_bytes, runs, pitch)
            arrays.append(self.as_rows(part, raw, type, count, (m, k), f"{self.source.path}: '{name}'"))
        try:
            payload = self.form.take(type, *arrays).payload
        except HeddleError as error:
            raise invalid(error.rule, f"'{name}', matrix {matrix}, from row {first} on: {error.value}", error.legal,
                          error.nearest) from None
        writer.put(f"{name}.packed", _place(type, shape, matrix, first), payload)

    @staticmethod
    def as_rows(part, raw, type, count, shape, what):
        """A part of the form for so many rows of a weight."""
        if part.order == "shape":
            stored = raw.reshape(-1).view(np.int64).tolist()
            if stored != list(shape):
                raise invalid("weights.parts", f"{what} has shape {stored}", f"{list(shape)}, which its values have")
            return [count, shape[1]]
        of_values = part.file_type == FILE_NAMES[type] and part.suffix != ".bitmask"
        dtype = DTYPES[type] if of_values else {1: np.uint8, 2: np.int16, 4: np.int32}[part.item]
        return raw.reshape(-1).view(dtype).reshape(count, part.columns)


def import_sparse(source, out, form="bitmask", match=("*",)):
    """Reads weights that are sparse already, in a form of others' ("bitmask": compressed-tensors' sparse-24-bitmask;
    "cutlass": torch's; "dense": 2:4), into a packed checkpoint: what export() undoes. Other tensors, and weights of types
    that are not packed, are copied. Returns the names of what was packed."""
    form_of(form)
    found = []

    def plan(tensors):
        one = Import(tensors, form, match)
        found.extend(one.weights())
        return one.plan()
    _write_files(source, out, plan)
    return found


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

    from .torch import _plans, type_of
    want = ((layer.rows, layer.in_features), type_of(layer.weight_dtype))
    if (matrix.shape, type) != want:
        raise invalid("weights.layer", f"'{name}' is {matrix.shape[0]} x {matrix.shape[1]} {type}",
                      f"{want[0][0]} x {want[0][1]} {want[1]}, which its layer has")
    if layer.pair and not matrix.pair:
        matrix = SparseMatrix.from_dense(matrix.dense(), type, FAMILY, pair=True)
    layer.packed.copy_(torch.from_numpy(matrix.payload))
    _plans.weights_written(layer.packed)
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
    two.add_argument("--form", default="dense", help=", ".join(FORMS))
    three = commands.add_parser("import", help="weights that are sparse already, in the forms of others, to packed ones")
    three.add_argument("source"), three.add_argument("out")
    three.add_argument("--form", default="bitmask", help=", ".join(FORMS))
    three.add_argument("--match", action="append", help="names of weights, as in a shell; several times")
    args = parser.parse_args(arguments)
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

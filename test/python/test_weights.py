"""heddle.weights: checkpoints of several shards, foreign formats, kills, memory."""
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import numpy as np

import heddle
from heddle import weights
from heddle.checkpoint import Writer, write_by_steps

RNG = np.random.default_rng(3)


def write(path, arrays):
    """Writes {name: (safetensors type, array)} as a safetensors file."""
    tensors = {name: (type, array.shape, array.nbytes) for name, (type, array) in arrays.items()}
    if os.path.exists(path):
        os.remove(path)
    write_by_steps(path, tensors, {"format": "pt"}, None,
                   [(lambda writer, name, array: writer.put(name, 0, array), n, a) for n, (_, a) in arrays.items()])


def bf16(*shape):
    return heddle.encode(RNG.standard_normal(shape), "bf16")


def checkpoint(folder):
    os.mkdir(folder)
    a, experts = bf16(300, 512), bf16(3, 70, 128)
    write(os.path.join(folder, "model-1.safetensors"),
          {"a.weight": ("BF16", a), "a.norm.weight": ("BF16", a[0]), "experts.weight": ("BF16", experts)})
    write(os.path.join(folder, "model-2.safetensors"),
          {"b.weight": ("F32", RNG.standard_normal((64, 256)).astype(np.float32)), "lm_head.weight": ("BF16", a)})
    return a, experts


class Conversions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.source = os.path.join(self.folder.name, "source")
        self.a, self.experts = checkpoint(self.source)

    def tearDown(self):
        self.folder.cleanup()

    def out(self, name):
        return os.path.join(self.folder.name, name)

    def weights(self, folder):
        return {name: (facts, matrices, scale) for path in weights.files_of(folder)
                for name, facts, matrices, scale in weights.packed_weights(weights.Tensors(path))}

    def test_bytes_are_those_of_pack(self):
        weights.convert(self.source, self.out("bf16"), "bf16", threads=2)
        found = self.weights(self.out("bf16"))
        self.assertEqual(sorted(found), ["a.weight", "b.weight", "experts.weight"])
        want = [heddle.SparseMatrix.from_dense(w, "bf16", prune=True) for w in (self.a, *self.experts)]
        for got, one in zip(found["a.weight"][1] + found["experts.weight"][1], want):
            np.testing.assert_array_equal(got.payload, one.payload)
        head = weights.Tensors(os.path.join(self.out("bf16"), "model-2.safetensors")).array("lm_head.weight")
        np.testing.assert_array_equal(head, self.a)

    def test_kept_energy_and_scales(self):
        kept = weights.convert(self.source, self.out("e4m3"), "e4m3")
        pruned = heddle.decode(heddle.prune(self.a, "bf16"), "bf16")
        self.assertAlmostEqual(kept["a.weight"], float((pruned ** 2).sum() / (heddle.decode(self.a, "bf16") ** 2).sum()),
                               places=2)
        _, (matrix,), scale = self.weights(self.out("e4m3"))["a.weight"]
        np.testing.assert_allclose(matrix.numbers() * scale[0][:, None], pruned, rtol=0.07, atol=0.01)

    def test_scores_and_masks(self):
        path = self.out("scores.safetensors")
        write(path, {"a.weight": ("F32", np.tile(np.float32([3, 0, 0, 2]), (300, 128)))})
        weights.convert(self.source, self.out("scored"), match=["a.weight"], scores=path)
        dense = self.weights(self.out("scored"))["a.weight"][1][0].dense()
        np.testing.assert_array_equal(dense, np.where(np.tile([1, 0, 0, 1], 128), self.a, 0))
        write(path, {"a.weight": ("BOOL", np.tile(np.uint8([0, 1, 1, 0]), (300, 128)))})
        weights.convert(self.source, self.out("masked"), match=["a.weight"], masks=path)
        dense = self.weights(self.out("masked"))["a.weight"][1][0].dense()
        np.testing.assert_array_equal(dense, np.where(np.tile([0, 1, 1, 0], 128), self.a, 0))

    def test_forms_of_others_come_back(self):
        for type in ("bf16", "e4m3", "s8"):
            weights.convert(self.source, self.out(type), type)
            for name, (facts, matrices, _) in self.weights(self.out(type)).items():
                again = weights.from_bitmask(*weights.to_bitmask(matrices[0]), type)
                np.testing.assert_array_equal(again.numbers(), matrices[0].numbers())
                if matrices[0].shape[0] % 32 == 0:
                    twin = weights.from_cutlass(*weights.to_cutlass(matrices[0]), type)
                    np.testing.assert_array_equal(twin.payload, matrices[0].payload)
            for form in ("dense", "bitmask"):
                weights.export(self.out(type), self.out(f"{type}-{form}"), form)
        dense = weights.Tensors(os.path.join(self.out("bf16-dense"), "model-1.safetensors"))
        np.testing.assert_array_equal(dense.array("a.weight"), heddle.prune(self.a, "bf16"))

    def test_what_was_exported_is_imported(self):
        """The same packed bytes, scales and other tensors, with the command that a user runs."""
        every = ["*a.weight", "[be]*.weight"]  # experts, too
        for type in ("bf16", "e4m3", "tf32"):
            for form, names in (("bitmask", every), ("dense", every),
                                ("cutlass", ["b.weight"])):  # its rows come in multiples of 32
                source, theirs, again = (self.out(f"{type}-{form}-{i}") for i in range(3))
                weights.convert(self.source, source, type, match=names)
                weights.export(source, theirs, form)
                command = ["import", theirs, again, "--form", form, "--match", names[0], "--match", names[-1]]
                self.assertEqual(weights.main(command), 0)
                want, got = self.weights(source), self.weights(again)
                self.assertEqual(sorted(want), sorted(got))
                for name, (_, matrices, scale) in want.items():
                    np.testing.assert_array_equal(got[name][1][0].payload, matrices[0].payload, err_msg=f"{name} {form}")
                    if scale is not None:
                        np.testing.assert_array_equal(got[name][2].ravel(), scale.ravel())

    def test_an_import_refuses_what_is_not_sparse(self):
        with self.assertRaises(heddle.Invalid) as caught:
            weights.import_sparse(self.source, self.out("x"), "dense", match=["a.weight"])
        self.assertEqual(caught.exception.rule, "sparse.not-2-4")
        with self.assertRaises(heddle.Invalid) as caught:
            weights.import_sparse(self.source, self.out("x"), "csr")
        self.assertEqual(caught.exception.rule, "weights.form")

    def test_forms_by_several_steps_are_those_of_the_whole(self):
        wide = heddle.prune(bf16(2, 192, 32768).reshape(-1, 32768), "bf16").reshape(2, 192, 32768)  # 128 rows per step
        write(self.out("wide.safetensors"), {"w": ("BF16", wide)})
        weights.import_sparse(self.out("wide.safetensors"), self.out("packed"), "dense")
        matrices = [heddle.SparseMatrix.from_dense(w, "bf16") for w in wide]
        packed = weights.Tensors(os.path.join(self.out("packed"), "wide.safetensors"))
        np.testing.assert_array_equal(packed.read("w.packed"), np.concatenate([w.payload for w in matrices]))
        for form, make in (("cutlass", weights.to_cutlass), ("bitmask", weights.to_bitmask)):
            weights.export(self.out("packed"), self.out(form), form)
            found = weights.Tensors(os.path.join(self.out(form), "wide.safetensors"))
            for name, parts in zip(found.tensors, zip(*map(make, matrices))):
                np.testing.assert_array_equal(found.read(name), np.stack(parts).reshape(-1).view(np.uint8), err_msg=name)
            weights.import_sparse(self.out(form), self.out(f"{form}-again"), form)
            again = weights.Tensors(os.path.join(self.out(f"{form}-again"), "wide.safetensors"))
            np.testing.assert_array_equal(again.read("w.packed"), packed.read("w.packed"), err_msg=form)

    def test_an_import_says_which_row_is_not_sparse(self):
        wide = np.zeros((200, 32768), np.uint16)  # 128 rows per step
        wide[130, 40:43] = 0x3f80
        write(self.out("wide.safetensors"), {"w": ("BF16", wide)})
        with self.assertRaises(heddle.Invalid) as caught:
            weights.import_sparse(self.out("wide.safetensors"), self.out("x"), "dense")
        self.assertIn("'w', matrix 0, from row 128 on: row 2, group 10", caught.exception.value)

    def test_parts_that_do_not_belong_together_are_refused(self):
        values, bitmask, shape = weights.to_bitmask(heddle.SparseMatrix.from_dense(self.a[:64], "bf16", prune=True))
        good = {"w.compressed": ("BF16", values), "w.bitmask": ("U8", bitmask), "w.shape": ("I64", shape)}
        for part, array, rule in (("bitmask", bitmask[:, :-1], "weights.parts"), ("shape", shape[::-1], "weights.parts"),
                                  ("shape", shape.astype(np.int64)[:1], "weights.parts"),
                                  ("bitmask", np.full_like(bitmask, 0x77), "weights.bitmask")):
            array = np.ascontiguousarray(array)
            write(self.out("w.safetensors"), dict(good, **{f"w.{part}": (good[f"w.{part}"][0], array)}))
            with self.assertRaises(heddle.Invalid) as caught:
                weights.import_sparse(self.out("w.safetensors"), self.out("x"))
            self.assertEqual(caught.exception.rule, rule)
        write(self.out("w.safetensors"), good)
        self.assertEqual(weights.import_sparse(self.out("w.safetensors"), self.out("x")), ["w"])

    def test_files_of_another_conversion_are_refused(self):
        weights.convert(self.source, self.out("x"), "bf16")
        self.assertEqual(weights.convert(self.source, self.out("x"), "bf16"), {})  # already done
        for again in (lambda: weights.convert(self.source, self.out("x"), "f16"),
                      lambda: weights.convert(self.source, self.source, "bf16"),
                      lambda: weights.export(self.out("x"), self.out("x"))):
            with self.assertRaises(heddle.Invalid) as caught:
                again()
            self.assertEqual(caught.exception.rule, "weights.out")

    def test_cutlass_is_torchs(self):
        try:
            import torch
            from torch.sparse._semi_structured_conversions import sparse_semi_structured_from_dense_cutlass as theirs
        except ImportError:
            self.skipTest("PyTorch is not installed")
        for dtype, type in ((torch.bfloat16, "bf16"), (torch.int8, "s8"), (torch.float32, "tf32")):
            numbers = RNG.standard_normal((64, 256)) * 20  # no zeros: for them torch chooses other positions
            raw = heddle.prune(np.where(abs(numbers) < 1, 1, numbers), type)
            w = torch.from_numpy(raw).view(dtype)
            values, metadata = theirs(w)
            ours = weights.to_cutlass(heddle.SparseMatrix.from_dense(raw, type))
            np.testing.assert_array_equal(ours[0].view(np.uint8), values.contiguous().view(torch.uint8).numpy())
            np.testing.assert_array_equal(ours[1], metadata.numpy())

    def test_what_is_no_file_of_the_kind_is_refused(self):
        path = self.out("bad.safetensors")
        for content, rule in ((b"", "weights.file"), (b"\xff" * 64, "weights.file"),
                              (b"\x08" + b"\0" * 7 + b"notjson!", "weights.file")):
            open(path, "wb").write(content)
            with self.assertRaises(heddle.Invalid) as caught:
                weights.Tensors(path)
            self.assertEqual(caught.exception.rule, rule)
        with self.assertRaises(heddle.Invalid):
            weights.convert(self.source, self.out("x"), "e2m1")


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class Layers(unittest.TestCase):
    """load_into: a model gets the same weights as from sparsify of the dense one."""

    def model(self):
        import torch
        from torch import nn

        class MLP(nn.Module):
            def __init__(self):
                super().__init__()
                self.gate_proj, self.up_proj = nn.Linear(64, 96, False), nn.Linear(64, 96, False)
                self.down_proj = nn.Linear(96, 64, False)

            def forward(self, x):
                return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))
        torch.manual_seed(5)
        return nn.ModuleDict({"mlp": MLP(), "q": nn.Linear(64, 32, False)}).bfloat16().eval()

    def shards(self, folder, model):
        """Gate and up in different files."""
        import torch
        os.mkdir(folder)
        for i, names in enumerate((("mlp.gate_proj", "q"), ("mlp.up_proj", "mlp.down_proj"))):
            write(os.path.join(folder, f"model-{i}.safetensors"), {
                f"{n}.weight": ("BF16", model.get_submodule(n).weight.detach().view(torch.int16).numpy().view(np.uint16))
                for n in names})

    def test_layers_get_the_weights_of_a_folder(self):
        import torch

        import heddle.torch as ht
        for dtype, type in ((None, "bf16"), (torch.float8_e4m3fn, "e4m3")):
            for fuse in (True, False):
                with tempfile.TemporaryDirectory() as folder:
                    dense, x = self.model(), torch.randn(5, 64).bfloat16()
                    source, packed = os.path.join(folder, "in"), os.path.join(folder, "out")
                    self.shards(source, dense)
                    weights.convert(source, packed, type)
                    want = ht.sparsify(self.model(), dtype=dtype, fuse=fuse)
                    got = self.model()
                    for p in got.parameters():
                        p.data = torch.randn(p.shape).bfloat16()
                    got = ht.sparsify(got, dtype=dtype, fuse=fuse)
                    self.assertEqual(isinstance(got["mlp"], ht.GatedMLP), fuse)
                    self.assertEqual(weights.load_into(got, packed), [])
                    for name in ("mlp", "q"):
                        torch.testing.assert_close(got[name](x), want[name](x), rtol=0, atol=0)

    def test_a_weight_of_another_type_is_refused(self):
        """bf16 and f16 have the same number of bytes."""
        import heddle.torch as ht
        with tempfile.TemporaryDirectory() as folder:
            source, packed = os.path.join(folder, "in"), os.path.join(folder, "out")
            self.shards(source, self.model())
            weights.convert(source, packed, "f16")
            with self.assertRaises(heddle.Invalid) as caught:
                weights.load_into(ht.sparsify(self.model()), packed)
            self.assertEqual(caught.exception.rule, "weights.layer")


class Stopped(Exception):
    pass


class Kills(unittest.TestCase):
    def test_what_another_source_began_is_not_gone_on_with(self):
        """An incomplete file belongs to its source and its scores, although the header would be the same."""
        with tempfile.TemporaryDirectory() as folder:
            source, scores, out, want = (os.path.join(folder, name) for name in ("m.safetensors", "s.safetensors", "out", "want"))

            def stopped(*arguments):
                with mock.patch.object(Writer, "finish", side_effect=Stopped), self.assertRaises(Stopped):
                    weights.convert(source, out, *arguments)
                self.assertTrue(os.path.exists(os.path.join(out, "m.safetensors.journal")))
            write(source, {"a.weight": ("BF16", bf16(64, 128))})
            write(scores, {"a.weight": ("F32", RNG.standard_normal((64, 128)).astype(np.float32))})
            stopped()
            write(source, {"a.weight": ("BF16", bf16(64, 128))})
            stopped()
            weights.convert(source, out, scores=scores)
            weights.convert(source, want, scores=scores)
            self.assertEqual(*(pathlib.Path(d, "m.safetensors").read_bytes() for d in (out, want)))

    def test_a_journal_that_is_no_journal_is_begun_anew(self):
        with tempfile.TemporaryDirectory() as folder:
            source, out, want = (os.path.join(folder, name) for name in ("m.safetensors", "out", "want"))
            write(source, {"a.weight": ("BF16", bf16(64, 128))})
            weights.convert(source, want)
            os.mkdir(out)
            for text in ("", "[]", "{}", "\0" * 99, '{"done": 1, "notes": {}, "origin": null}'):
                pathlib.Path(out, "m.safetensors.journal").write_text(text)
                pathlib.Path(out, "m.safetensors.partial").write_bytes(b"short")
                weights.convert(source, out)
                self.assertEqual(*(pathlib.Path(d, "m.safetensors").read_bytes() for d in (out, want)))
                self.assertEqual(sorted(os.listdir(out)), ["m.safetensors", "model.safetensors.index.json"])
                os.remove(os.path.join(out, "m.safetensors"))

    def test_a_killed_conversion_goes_on(self):
        """After a kill at any moment, the next run ends with the bytes of an undisturbed one."""
        with tempfile.TemporaryDirectory() as folder:
            source, whole, killed = (os.path.join(folder, name) for name in ("m.safetensors", "whole", "killed"))
            write(source, {f"{i}.weight": ("BF16", bf16(1024, 4096)) for i in range(6)})
            weights.convert(source, whole, "e4m3")
            command = [sys.executable, "-m", "heddle.weights", "convert", source, killed, "--type", "e4m3"]
            kills, journal = 0, os.path.join(killed, "m.safetensors.journal")
            while not os.path.exists(os.path.join(killed, "m.safetensors")):
                before = os.stat(journal).st_mtime_ns if os.path.exists(journal) else 0
                child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
                while child.poll() is None and kills < 3:
                    if os.path.exists(journal) and os.stat(journal).st_mtime_ns != before:
                        child.send_signal(signal.SIGKILL)
                        kills += 1
                        break
                    time.sleep(0.01)
                child.wait()
            self.assertEqual(kills, 3)
            for name in ("m.safetensors", "model.safetensors.index.json"):
                self.assertEqual(*(pathlib.Path(d, name).read_bytes() for d in (whole, killed)))


if __name__ == "__main__":
    unittest.main()

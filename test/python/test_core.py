"""The package without a GPU and without PyTorch: problems, kernels in the simulator, matrices, errors."""
import inspect
import unittest

import numpy as np

import heddle
from heddle import _c

RNG = np.random.default_rng(7)


def numbers(*shape):
    return RNG.standard_normal(shape)


class Elements(unittest.TestCase):
    def test_round_trip_is_exact(self):
        for type, dtype in heddle.DTYPES.items():
            if type in ("f32", "s32", "tf32"):
                continue
            bits = np.arange(256, dtype=np.uint8) if np.dtype(dtype).itemsize == 1 else np.arange(65536, dtype=np.uint16)
            values = heddle.decode(bits.view(dtype), type)
            values = values[~np.isinf(values)] if heddle.elements.per_byte(type) == 1 else values
            again = heddle.decode(heddle.encode(values, type), type)
            np.testing.assert_array_equal(again, values, err_msg=type)

    def test_bf16_rounds_to_even(self):
        self.assertEqual(heddle.encode([1 + 2 ** -8, 1 + 3 * 2 ** -8], "bf16").tolist(), [0x3f80, 0x3f82])


class Matrices(unittest.TestCase):
    def test_prune_keeps_the_largest_and_the_first_of_equals(self):
        got = heddle.decode(heddle.prune([[1, -3, 2, 2, 0, 0, 0, 5]], "bf16"), "bf16")
        np.testing.assert_array_equal(got, [[0, -3, 2, 0, 0, 0, 0, 5]])

    def test_every_type_comes_back(self):
        for type in ("f16", "bf16", "tf32", "e4m3", "e5m2", "s8", "u8", "s4"):
            dense = heddle.prune(np.abs(numbers(70, 264) * 3) if type == "u8" else numbers(70, 264) * 3, type)
            packed = heddle.SparseMatrix.from_dense(dense, type, "mma")
            again = heddle.SparseMatrix.from_image(packed.image().tobytes())
            np.testing.assert_array_equal(again.numbers(), heddle.decode(dense, type), err_msg=type)
            twin = heddle.SparseMatrix.from_canonical(*packed.canonical(), packed.shape, type, "mma")
            np.testing.assert_array_equal(twin.payload, packed.payload)

    def test_what_is_not_sparse_is_refused(self):
        with self.assertRaises(heddle.Invalid) as caught:
            heddle.SparseMatrix.from_dense(np.ones((4, 8)), "bf16")
        self.assertEqual(caught.exception.rule, "sparse.not-2-4")

    def test_rows_of_gate_and_up_are_interleaved_in_the_payload_alone(self):
        dense = heddle.prune(numbers(48, 128), "bf16")
        packed = heddle.SparseMatrix.from_dense(dense, "bf16", pair=True)
        order = [24 * (i // 8 % 2) + i // 16 * 8 + i % 8 for i in range(48)]
        plain = heddle.SparseMatrix.from_dense(np.asarray(dense)[order], "bf16")
        np.testing.assert_array_equal(packed.payload, plain.payload)
        again = heddle.SparseMatrix.from_image(packed.image().tobytes())
        self.assertTrue(again.pair)
        np.testing.assert_array_equal(again.dense(), dense)

    def test_a_damaged_image_is_refused(self):
        image = heddle.SparseMatrix.from_dense(numbers(64, 64), "bf16", prune=True).image()
        image[4000] ^= 1
        with self.assertRaises(heddle.Invalid):
            heddle.SparseMatrix.from_image(image)


class Kernels(unittest.TestCase):
    def test_gate_and_up_in_one_kernel(self):
        w, x, bias = numbers(96, 256), numbers(24, 256), numbers(96).astype(np.float32)
        kernel = heddle.Problem(96, 24, 256, act="swiglu", bias="f32", out="f32").compile()
        a = heddle.SparseMatrix.from_dense(w, "bf16", kernel.family, prune=True, pair=True)
        got = kernel.simulate(a, x, bias=bias)
        y = heddle.decode(heddle.encode(x, "bf16"), "bf16").astype(float) @ a.numbers().T.astype(float) + bias
        gate, up = y[:, :48], y[:, 48:]
        self.assertEqual(got.shape, (24, 48))
        np.testing.assert_allclose(got, gate / (1 + np.exp(-gate)) * up, rtol=1e-4, atol=1e-3)
        with self.assertRaises(heddle.Invalid) as caught:
            kernel.simulate(heddle.SparseMatrix.from_dense(w, "bf16", kernel.family, prune=True), x, bias=bias)
        self.assertEqual(caught.exception.rule, "sparse.pair")

    def check(self, type, target, n, **more):
        m, k = 96, 256
        problem = heddle.Problem(m=m, n=None, k=k, type=type, target=target, **more)
        kernel = problem.compile()
        w = heddle.SparseMatrix.from_dense(numbers(m, k) * 2, type, kernel.family, prune=True)
        x = numbers(n, k) * 2
        given = {"scale_a": RNG.random(m, np.float32), "scale_b": RNG.random(n, np.float32),
                 "bias": RNG.random(m, np.float32)}
        given = {name: value for name, value in given.items() if name in more}
        d = kernel.simulate(w, x, **given)
        compared = kernel.compare(d, w, x, **given)
        self.assertTrue(compared, f"{type} {target}: {compared}")
        d.reshape(-1)[5] = 0 if d.reshape(-1)[5] else 1  # an injected fault must be detected
        self.assertFalse(kernel.compare(d, w, x, **given))

    def test_types_and_targets(self):
        for target in ("sm_80", "sm_90a"):
            for type in ("bf16", "f16", "tf32"):
                self.check(type, target, 33, out="f32", bias="f32")
        self.check("e4m3", "sm_90a", 16, scale_a="vector", scale_b="vector", bias="f32", out="f32")
        self.check("s8", "sm_90a", 5, out="s32")

    def test_times_are_predicted(self):
        problem = heddle.Problem(4096, None, 4096)
        few, many = (problem.predict("tile=128x64", (0, n, 0)) for n in (16, 4096))
        self.assertTrue(1e-6 < few < many / 4 < 1e-3)
        with self.assertRaises(heddle.Unsupported):
            heddle.Problem(4096, 16, 4096, target="sm_80").predict()

    def test_norm_by_sums_of_squares(self):
        """The sums that one kernel returns scale the columns of the next one's B."""
        first = heddle.Problem(256, None, 256, c="bf16", reduce="sumsq").compile()
        second = heddle.Problem(96, None, 256, out="f32", scale_b="sumsq").compile()
        x, residual = numbers(9, 256), heddle.encode(numbers(9, 256), "bf16")
        a, b = (heddle.SparseMatrix.from_dense(numbers(m, 256), "bf16", first.family, prune=True) for m in (256, 96))
        h, sums = first.simulate(a, x, c=residual)
        exact, _ = first.reference(a, x, c=residual)
        np.testing.assert_allclose(sums, (exact.reshape(9, 2, 128) ** 2).sum(2).T, rtol=1e-5)
        y = second.simulate(b, h, scale_b=sums, eps=0.5)
        self.assertTrue(second.compare(y, b, h, scale_b=sums, eps=0.5))
        self.assertFalse(second.compare(y, b, h, scale_b=sums, eps=0.51))
        normed = exact / np.sqrt((exact ** 2).mean(1, keepdims=True) + 0.5)
        np.testing.assert_allclose(y, normed @ b.numbers().T, atol=0.2)
        for bad in ({"scale_b": sums[:1]}, {"scale_b": sums, "eps": None}):
            with self.assertRaises(heddle.Invalid):
                second.simulate(b, h, **{"eps": 0.5, **bad})

    def test_second_matrix(self):
        """The results before D's conversion, and the activation's input, which the reference computes."""
        w, x = numbers(96, 256), numbers(9, 256)
        for value, act, order in (("result", "none", "col_major"), ("input", "gelu", "row_major")):
            kernel = heddle.Problem(96, None, 256, act=act, aux=value, aux_type="f32",
                                    d_order=order).compile()
            a = heddle.SparseMatrix.from_dense(w, "bf16", kernel.family, prune=True)
            d, aux = kernel.simulate(a, x)
            exact, _ = kernel.reference(a, x)
            np.testing.assert_allclose(aux, exact, rtol=1e-4, atol=1e-3)
            self.assertEqual(d.shape, aux.shape)
            self.assertTrue(act != "none" or kernel.compare(d, a, x))
        with self.assertRaises(heddle.Invalid):
            heddle.Problem(96, None, 256, aux="output")

    def right(self, problem, n_matrices, x, **operands):
        """Simulates and compares; an injected fault must be detected."""
        kernel = problem.compile()
        m, k = 96, 256
        a = [heddle.SparseMatrix.from_dense(numbers(m, k), kernel.facts["a_elem"], kernel.family, prune=True)
             for _ in range(n_matrices)]
        a = a if n_matrices > 1 else a[0]
        d = kernel.simulate(a, x, **operands)
        compared = kernel.compare(d, a, x, **operands)
        self.assertTrue(compared, f"{problem.text()} {compared}")
        wrong = d.copy()
        wrong.reshape(-1)[-1] = 1 if not d.reshape(-1)[-1] else 0
        self.assertFalse(kernel.compare(wrong, a, x, **operands))
        return kernel, a, d

    def test_a_batch(self):
        problem = heddle.Problem(96, None, 256, batch=3, out="f32", bias="f32")
        own = {"bias": RNG.random((3, 96), np.float32)}
        _, _, d = self.right(problem, 3, numbers(3, 17, 256), **own)
        self.assertEqual(d.shape, (3, 17, 96))
        self.right(problem, 1, numbers(3, 17, 256), **own)                       # one A for all
        self.right(problem, 3, numbers(17, 256), bias=RNG.random(96, np.float32))  # one B, one bias
        self.right(heddle.Problem(96, 9, 256, batch=heddle.Dynamic(8), d_order="row_major"), 2, numbers(2, 9, 256))
        added = heddle.Problem(96, 9, 256, batch=2, c="f32", c_order="row_major", out="f32", alpha=True, beta=True)
        self.right(added, 2, numbers(2, 9, 256), c=numbers(2, 96, 9) * 8, alpha=0.5, beta=2.0)

    def test_groups(self):
        offsets = [0, 5, 5, 31]
        problem = heddle.Problem(96, None, 256, groups=3, out="f32")
        kernel, a, d = self.right(problem, 3, numbers(31, 256), offsets=offsets)
        self.assertEqual(d.shape, (31, 96))
        with self.assertRaises(heddle.Invalid) as caught:
            kernel.simulate(a[:2], numbers(31, 256), offsets=offsets)
        self.assertEqual(caught.exception.rule, "array.shape")
        self.assertRaises(heddle.Invalid, heddle.Problem, 96, None, 256, groups=8, gather_b=True)  # without t
        self.assertRaises(heddle.Invalid, heddle.Problem, 96, None, 256, groups=8, batch=8)
        by_index = heddle.Problem(96, None, 256, groups=heddle.Dynamic(8), t=heddle.Dynamic(), gather_b=True,
                                  scatter_d=True, out="f32")
        self.right(by_index, 3, numbers(12, 256), offsets=offsets, gather_b=RNG.integers(-1, 13, 31),
                   scatter_d=RNG.permutation(31))

    def test_sums_of_columns(self):
        problem = heddle.Problem(96, None, 256, groups=2, t=heddle.Dynamic(), combine=2, out="f32", scale_b="vector")
        kernel = problem.compile()
        a = [heddle.SparseMatrix.from_dense(numbers(96, 256), "bf16", kernel.family, prune=True) for _ in range(2)]
        x, slots, weights = numbers(20, 256), RNG.permutation(20).reshape(10, 2), RNG.random(20, np.float32)
        given = {"offsets": [0, 9, 20], "combine_d": slots, "scale_b": weights}
        want, _ = kernel.reference(a, x, **given)
        np.testing.assert_allclose(kernel.simulate(a, x, **given), want, rtol=1e-4, atol=1e-3)
        self.assertRaises(heddle.Invalid, kernel.compare, want, a, x, **given)

    def test_block_scales(self):
        def scales(*shape):
            return 2.0 ** RNG.integers(-3, 4, shape)
        one = heddle.Problem(96, None, 256, "e4m3", block=128, block_rows=128, out="f32")
        self.right(one, 1, numbers(33, 256), block_scale_a=scales(1, 2), block_scale_b=scales(33, 2))
        batch = heddle.Problem(96, None, 256, "e4m3", block=128, out="f32", batch=2)
        self.right(batch, 2, numbers(2, 33, 256), block_scale_a=scales(2, 96, 2), block_scale_b=scales(2, 33, 2))
        groups = heddle.Problem(96, None, 256, "e4m3", block=128, block_rows=128, out="f32", groups=3)
        given = {"block_scale_a": scales(3, 1, 2), "block_scale_b": scales(33, 2), "offsets": [0, 7, 21, 33]}
        kernel, a, d = self.right(groups, 3, numbers(33, 256), **given)
        for bad in ({"block_scale_b": scales(33, 3)}, {"block_scale_b": scales(32, 2)}, {"block_scale_a": scales(2, 1, 2)},
                    {"block_scale_a": scales(1, 2)}, {"offsets": [0, 7, 33]}):
            with self.assertRaises(heddle.Invalid) as caught:
                kernel.simulate(a, numbers(33, 256), **{**given, **bad})
            self.assertEqual(caught.exception.rule, "array.shape", str(bad))
        for offsets, rule in (([0, 7.5, 21, 33], "array.type"), ([0, 7, 21, 2 ** 40], "array.type"), ([], "array.shape")):
            with self.assertRaises(heddle.Invalid) as caught:
                kernel.simulate(a, numbers(33, 256), **{**given, "offsets": offsets})
            self.assertEqual(caught.exception.rule, rule, str(offsets))
        index = heddle.Problem(96, None, 256, "e4m3", block=128, out="f32", groups=3, t=20, gather_b=True)
        self.right(index, 3, numbers(20, 256), block_scale_a=scales(3, 96, 2), block_scale_b=scales(20, 2),
                   offsets=[0, 7, 21, 33], gather_b=RNG.integers(-1, 21, 33))
        tensor = heddle.Problem(96, None, 256, "e4m3", "sm_120a", block=64, block_type="ue8m0", out="f32")
        self.right(tensor, 1, numbers(33, 256), block_scale_a=scales(96, 4), block_scale_b=scales(33, 4))

    def test_an_unknown_operand_is_named(self):
        kernel = heddle.Problem(64, None, 64).compile()
        w = heddle.SparseMatrix.from_dense(numbers(64, 64), "bf16", kernel.family, prune=True)
        with self.assertRaises(heddle.Invalid) as caught:
            kernel.simulate(w, numbers(8, 64), biass=1)
        self.assertEqual(caught.exception.rule, "simulate.argument")

    def test_tuned_choices_are_found_without_a_file(self):
        problem = heddle.Problem(m=4096, n=None, k=4096)
        words = problem.tuned_schedule((0, 16, 0))
        self.assertIn("tile=", words)
        self.assertEqual(problem.compile(tuned_for=(0, 16, 0)).schedule, problem.compile(words).schedule)

    def test_text_comes_back(self):
        problem = heddle.Problem(m=64, n=heddle.Dynamic(max=128), k=64, act="relu")
        self.assertEqual(heddle.Problem.parse(problem.text()).hash(), problem.hash())

    def test_a_refusal_points_at_the_caller(self):
        with self.assertRaises(heddle.Invalid) as caught:
            heddle.Problem(m=64, n=None, k=66).compile()
        error, line = caught.exception, inspect.currentframe().f_lineno - 1
        self.assertEqual((error.rule, error.nearest, error.line), ("problem.k-group", "68", line))
        self.assertTrue(error.file.endswith("test_core.py"))

    def test_a_wrong_family_is_refused_by_name(self):
        kernel = heddle.Problem(m=64, n=None, k=64).compile()
        w = heddle.SparseMatrix.from_dense(numbers(64, 64), "bf16", "mma", prune=True)
        with self.assertRaises(heddle.Invalid) as caught:
            kernel.simulate(w, numbers(8, 64))
        self.assertEqual(caught.exception.rule, "sparse.family")


class Declarations(unittest.TestCase):
    def test_every_export_is_declared_and_documented(self):
        import os
        exports = os.path.join(os.path.dirname(__file__), "..", "lint", "exports.txt")
        for name in open(exports).read().split():
            self.assertTrue(hasattr(_c, name), name)
            self.assertIsNotNone(getattr(_c, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()

"""heddle.torch without a GPU: formats bit for bit as the host's, layers, ops under PyTorch's own checks, kernels that a
layer would get. What needs a GPU stands in test/gpu/torch."""
import copy
import unittest

import numpy as np
import torch
from torch import nn

import heddle
import heddle.torch as ht
from heddle.torch import _ops, _plans, formats

torch.manual_seed(11)


def rough(m, k, dtype):
    """Random, with zeros of both signs, and what no number is."""
    w = torch.randn(m, k) * 3
    w[torch.rand(m, k) < 0.3] = 0
    w[torch.rand(m, k) < 0.1] = -0.0
    w = (w * 10).to(dtype)
    if dtype.is_floating_point:
        w.view(-1)[::37] = float("nan")
        if dtype.itemsize > 1:
            w.view(-1)[5::41] = float("inf")
    return w


def host(w):
    return w.contiguous().view(torch.uint8).numpy().view(heddle.DTYPES[ht.type_of(w.dtype)])


class Formats(unittest.TestCase):
    def test_prune_pack_unpack_are_the_hosts(self):
        for dtype in formats._TYPES:
            type = ht.type_of(dtype)
            for m, k in ((64, 256), (70, 130 if type == "tf32" else 132), (1, 4), (200, 520)):
                w = rough(m, k, dtype)
                pruned = heddle.prune(host(w), type)
                np.testing.assert_array_equal(host(ht.prune(w)).view(np.uint8), pruned.view(np.uint8))
                packed = heddle.SparseMatrix.from_dense(pruned, type)
                np.testing.assert_array_equal(ht.pack(w).numpy(), packed.payload)
                again = ht.unpack(ht.pack(w), m, k, dtype)
                np.testing.assert_array_equal(host(again).view(np.uint8), packed.dense().view(np.uint8))

    def test_scores_take_the_place_of_magnitudes(self):
        w, scores = torch.tensor([[4.0, 3, 2, 1]]).bfloat16(), torch.tensor([[0.0, 1, 2, 3]])
        self.assertEqual(ht.prune(w, scores).tolist(), [[0, 0, 2, 1]])

    def test_two_way_masks_keep_the_most(self):
        w = torch.randn(64, 128).bfloat16()
        mask = ht.two_way_mask(w)
        self.assertTrue((mask.view(16, 4, 128).sum(1) == 2).all() and (mask.view(64, 32, 4).sum(-1) == 2).all())
        self.assertTrue(ht.is_sparse((w * mask).t().contiguous()))


class Layers(unittest.TestCase):
    def test_a_layer_is_the_pruned_linear(self):
        layer, x = nn.Linear(256, 96).bfloat16(), torch.randn(2, 5, 256).bfloat16()
        sparse = ht.SparseLinear.from_linear(layer)
        want = nn.functional.linear(x.float(), ht.prune(layer.weight.detach()).float(), layer.bias.float())
        torch.testing.assert_close(sparse(x).float(), want, rtol=1e-2, atol=1e-2)
        self.assertTrue(torch.equal(sparse.dense_weight(), ht.prune(layer.weight.detach())))

    def test_fp8_by_row_and_token(self):
        layer, x = nn.Linear(256, 96).bfloat16(), torch.randn(5, 256).bfloat16()
        sparse = ht.SparseLinear.from_linear(layer, dtype=torch.float8_e4m3fn)
        want = nn.functional.linear(x.float(), sparse.dense_weight().float(), layer.bias.float())
        torch.testing.assert_close(sparse(x).float(), want, rtol=0.05, atol=0.1)

    def test_sparsify_takes_what_is_named(self):
        model = nn.ModuleDict({"mlp": nn.Linear(64, 64), "lm_head": nn.Linear(64, 64), "odd": nn.Linear(62, 64)})
        ht.sparsify(model.bfloat16())
        self.assertEqual([type(m).__name__ for m in model.values()], ["SparseLinear", "Linear", "Linear"])

    def test_state_dicts_say_what_they_hold(self):
        layer = ht.SparseLinear.from_linear(nn.Linear(64, 64).bfloat16())
        other = ht.SparseLinear(64, 64)
        other.load_state_dict(copy.deepcopy(layer.state_dict()))
        self.assertTrue(torch.equal(other.packed, layer.packed))
        for field, value in (("format", 2), ("type", "f16"), ("shape", (64, 128))):
            state = copy.deepcopy(layer.state_dict())
            state["_extra_state"][field] = value
            with self.assertRaises(heddle.Invalid) as caught:
                other.load_state_dict(state)
            self.assertEqual(caught.exception.rule, f"torch.state-{field}")

    def test_an_error_points_at_the_caller(self):
        layer = ht.SparseLinear.from_linear(nn.Linear(64, 64).bfloat16())
        with self.assertRaises(heddle.Invalid) as caught:
            layer(torch.ones(3, 64))
        self.assertTrue(caught.exception.file.endswith("test_torch.py"))

    def test_training_has_the_dense_gradients(self):
        layer = nn.Linear(64, 128).bfloat16()
        sparse = ht.TrainableSparseLinear(layer)
        layer.weight.data = sparse.weight.data.clone()
        x = torch.randn(16, 64).bfloat16()
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        sparse(a).square().sum().backward(), layer(b).square().sum().backward()
        torch.testing.assert_close(a.grad, b.grad, rtol=2e-2, atol=2e-1)
        torch.testing.assert_close(sparse.weight.grad, layer.weight.grad * (layer.weight != 0), rtol=2e-2, atol=2e-1)
        for new_mask in (False, True):
            sparse.weight.data = torch.randn(128, 64).bfloat16()
            ht.repack(sparse, new_mask)
            self.assertTrue(torch.equal(ht.unpack(sparse.packed, 128, 64, torch.bfloat16), sparse.weight.data))
            self.assertTrue(torch.equal(ht.unpack(sparse.packed_t, 64, 128, torch.bfloat16), sparse.weight.data.t()))


class Ops(unittest.TestCase):
    def test_opcheck(self):
        w, x = ht.prune(torch.randn(96, 256).bfloat16()), torch.randn(7, 256).bfloat16()
        for arguments in ((x, ht.pack(w), 96), (x, ht.pack(w), 96, torch.ones(96).bfloat16(), None, None, "silu")):
            torch.library.opcheck(torch.ops.heddle.linear.default, arguments)
        torch.library.opcheck(torch.ops.heddle.linear_with_grad.default, (x.clone().requires_grad_(), ht.pack(w), 96))
        torch.library.opcheck(torch.ops.heddle.masked_linear.default,
                              (x.clone().requires_grad_(), w.clone().requires_grad_(), ht.pack(w)))

    def test_a_graph_without_breaks(self):
        net = ht.sparsify(nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 64)).bfloat16())
        explained = torch._dynamo.explain(net)(torch.randn(7, 64).bfloat16())
        self.assertEqual(explained.graph_break_count, 0)

    def test_torchs_semi_structured_tensors(self):
        w, x = ht.prune(torch.randn(96, 64).bfloat16()), torch.randn(7, 64).bfloat16()
        held = ht.to_sparse_semi_structured(w)
        want = (x.float() @ w.float().t()).bfloat16()
        for got in (torch.mm(x, held.t()), torch.nn.functional.linear(x, held), torch.mm(held, x.t()).t()):
            torch.testing.assert_close(got, want, rtol=1e-2, atol=1e-2)
        self.assertTrue(torch.equal(held.to_dense(), w))
        with self.assertRaises(NotImplementedError):
            torch.mm(x[:, :7], held)


class Kernels(unittest.TestCase):
    """What a layer would launch, compiled here and run in the simulator against the op's dense form."""

    def test_a_kernel_is_the_op(self):
        m, k, n = 96, 256, 9
        for dtype, scaled, act in ((torch.bfloat16, False, "none"), (torch.float8_e4m3fn, True, "none"),
                                   (torch.int8, False, "relu")):
            w, x = (torch.randn(m, k) * 5).to(dtype), (torch.randn(n, k) * 5).to(dtype)
            out = _ops._out_dtype(x, None)
            key = _plans.Key(0, dtype, out, torch.float32, act, scaled, m, k, _plans.bucket_of(n))
            kernel = _plans.compile_kernel(key, "sm_90a")
            self.assertEqual([a.name for a in kernel.arguments if a.name not in _plans.ROLES], [])
            bias, sx, sw = torch.rand(m), torch.rand(n), torch.rand(m)
            scales = (sx, sw) if scaled else (None, None)
            want = torch.ops.heddle.linear(x, ht.pack(w), m, bias, *scales, act)
            given = {"scale_a": sw.numpy(), "scale_b": sx.numpy()} if scaled else {}
            got = kernel.simulate(heddle.SparseMatrix(ht.pack(w).numpy(), (m, k), ht.type_of(dtype), kernel.family),
                                  host(x), bias=bias.numpy(), **given)
            got = torch.from_numpy(heddle.decode(got, _plans._OUT[out]))
            torch.testing.assert_close(got.float(), want.float(), rtol=1e-2, atol=1e-2)

    def test_every_bucket_has_a_kernel(self):
        for bucket in range(len(_plans.BUCKETS)):
            key = _plans.Key(0, torch.bfloat16, torch.bfloat16, None, "none", False, 192, 128, bucket)
            self.assertIn("tile=", _plans.compile_kernel(key, "sm_90a").schedule)
        self.assertEqual([_plans.bucket_of(n) for n in (1, 8, 9, 4096, 4097, 10 ** 6)], [0, 0, 1, 9, 10, 10])


if __name__ == "__main__":
    unittest.main()

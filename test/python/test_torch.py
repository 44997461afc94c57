"""heddle.torch without a GPU: formats equal the host's bit for bit, layers, ops under PyTorch's own checks, kernels for
layers. Tests that need a GPU are in test/gpu/torch."""
import copy
import ctypes
import itertools
import json
import re
import shutil
import unittest

import numpy as np
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import heddle
import heddle.torch as ht
from heddle.elements import elem
from heddle.errors import call
from heddle.torch import _extension, _ops, _plans, formats

torch.manual_seed(11)


def rough(m, k, dtype):
    """Random values, with zeros of both signs, infinities and NaNs."""
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
                self.assertTrue(torch.equal(ht.pack(w), ht.pack(w.t().contiguous(), transposed=True)))
                again = ht.unpack(ht.pack(w), m, k, dtype)
                np.testing.assert_array_equal(host(again).view(np.uint8), packed.dense().view(np.uint8))

    def test_every_type_has_a_kernel_that_packs(self):
        for dtype in formats._TYPES:
            kernel = _plans.compile_packer(ht.type_of(dtype), "sm_90a")
            other = _plans.compile_packer(ht.type_of(dtype), "sm_90a", "transposed")
            for one in (kernel, other):
                self.assertEqual([argument.name for argument in one.arguments], ["b", "d", "m", "k", "ldb"])
            self.assertNotEqual(kernel.ptx, other.ptx)
            if dtype.itemsize == 2:
                twin = _plans.compile_packer(ht.type_of(dtype), "sm_90a", "twin")
                self.assertEqual([argument.name for argument in twin.arguments], ["b", "d", "twin", "m", "k", "ldb"])
                two_way = _plans.compile_packer(ht.type_of(dtype), "sm_90a", "two_way")
                masked = _plans.compile_packer(ht.type_of(dtype), "sm_90a", "masked")
                for one, name in ((two_way, "mask"), (masked, "keep")):
                    self.assertEqual([argument.name for argument in one.arguments], ["b", "d", "twin", name, "m", "k", "ldb"])
        with self.assertRaises(heddle.Unsupported) as caught:
            _plans.compile_packer("s4", "sm_90a")
        self.assertEqual(caught.exception.rule, "pack.type")

    def test_rows_are_quantized_after_they_are_pruned(self):
        """By hand: the pruned weight times the reciprocal of its scale, rounded by torch."""
        for dtype, m, k in ((torch.float8_e4m3fn, 70, 132), (torch.float8_e5m2, 3, 4), (torch.float8_e4m3fn, 64, 256)):
            w = torch.randn(m, k).bfloat16() * torch.logspace(-3, 3, m, base=2)[:, None].bfloat16()
            scale = ht.row_scales(w, dtype)
            self.assertTrue(torch.equal(scale, w.float().abs().amax(1) / torch.finfo(dtype).max))
            q = (ht.prune(w).float() * (1 / scale)[:, None]).to(dtype)
            self.assertTrue(torch.equal(ht.unpack(ht.pack_quantized(w, scale, dtype), m, k, dtype).float(), q.float()))
        kernel = _plans.compile_packer(("bf16", "e4m3"), "sm_90a")
        self.assertEqual([argument.name for argument in kernel.arguments], ["b", "d", "scale_a", "m", "k", "ldb"])
        with self.assertRaises(heddle.Invalid) as caught:
            ht.pack_quantized(torch.zeros(8, 8), torch.ones(8), torch.float8_e4m3fn)
        self.assertEqual(caught.exception.rule, "torch.dtype")
        for scale in (torch.ones(7), torch.ones(8, 1), torch.ones(8, device="meta")):
            with self.assertRaises(heddle.Invalid) as caught:
                ht.pack_quantized(torch.zeros(8, 8).bfloat16(), scale, torch.float8_e4m3fn)
            self.assertEqual(caught.exception.rule, "torch.scale")
        layer = nn.Linear(64, 64).bfloat16()
        sparse = ht.SparseLinear.from_linear(layer, dtype=torch.float8_e4m3fn)
        near = ht.prune(layer.weight.detach()).float()
        torch.testing.assert_close(sparse.dense_weight().float(), near, rtol=0.07, atol=float(near.abs().max()) / 500)

    def test_a_tensor_without_memory_is_not_packed_by_a_kernel(self):
        with FakeTensorMode():
            w = torch.empty(64, 128, dtype=torch.bfloat16, device="cuda")
            packed = ht.pack_quantized(w, torch.empty(64, device="cuda"), torch.float8_e4m3fn)
            self.assertEqual(packed.numel(), formats.packed_bytes(64, 128, torch.float8_e4m3fn))
            out, twin = (torch.empty(formats.packed_bytes(*size, w.dtype), dtype=torch.uint8, device="cuda")
                         for size in ((64, 128), (128, 64)))
            formats.pack_with_twin(w, out, twin)
            mask = ht.two_way_mask(w)
            formats.pack_two_way(w, out, twin, mask), formats.pack_masked(w, mask, out, twin)

    def test_what_cannot_be_packed_is_refused(self):
        for weight, rule in ((torch.zeros(8, 6).bfloat16(), "sparse.shape"), (torch.zeros(0, 8).bfloat16(), "sparse.shape"),
                             (torch.zeros(8, 8).double(), "torch.dtype")):
            with self.assertRaises(heddle.Invalid) as caught:
                ht.pack(weight)
            self.assertEqual(caught.exception.rule, rule)

    def test_scores_take_the_place_of_magnitudes(self):
        w, scores = torch.tensor([[4.0, 3, 2, 1]]).bfloat16(), torch.tensor([[0.0, 1, 2, 3]])
        self.assertEqual(ht.prune(w, scores).tolist(), [[0, 0, 2, 1]])

    def test_two_way_masks_keep_the_most(self):
        rows = [torch.tensor([float(i in pair) for i in range(4)]) for pair in itertools.combinations(range(4), 2)]
        patterns = torch.stack([torch.stack(four) for four in itertools.product(rows, repeat=4)]).double()
        patterns = patterns[(patterns.sum(1) == 2).all(-1)]
        self.assertEqual(len(patterns), 90)
        for dtype in (torch.bfloat16, torch.float16, torch.int8, torch.float8_e4m3fn):
            w = (torch.randn(24, 64) * 30).to(dtype)
            mask, sizes = ht.two_way_mask(w), w.double().abs()
            self.assertTrue((mask.view(6, 4, 64).sum(1) == 2).all() and (mask.view(24, 16, 4).sum(-1) == 2).all())
            tiles, chosen = (t.reshape(6, 4, 16, 4).permute(0, 2, 1, 3).reshape(-1, 1, 4, 4) for t in (sizes, mask))
            most = (tiles * patterns).sum((2, 3)).max(1).values
            torch.testing.assert_close((tiles * chosen).sum((1, 2, 3)), most, rtol=1e-6, atol=0)

    def test_two_way_masks_are_the_hosts(self):
        for dtype in (torch.bfloat16, torch.float16, torch.int8, torch.float8_e4m3fn, torch.float8_e5m2):
            w = torch.randint(0, 256, (40, 72 * dtype.itemsize), dtype=torch.uint8).view(dtype)
            w[:20] = rough(20, 72, dtype)
            pruned, mask = host(w).copy(), np.zeros((40, 72), np.uint8)
            call(heddle._c.heddle_sparse_prune_two_way, elem(ht.type_of(dtype)), 40, 72, pruned.ctypes.data, pruned.strides[0],
                 mask.ctypes.data_as(ctypes.POINTER(ctypes.c_ubyte)))
            self.assertEqual(ht.two_way_mask(w).tolist(), mask.astype(bool).tolist(), dtype)
            np.testing.assert_array_equal(pruned, np.where(mask, host(w), 0))
            out, twin = (torch.zeros(formats.packed_bytes(*size, dtype), dtype=torch.uint8) for size in ((40, 72), (72, 40)))
            got = torch.zeros(40, 72, dtype=torch.bool)
            formats.pack_two_way(w, out, twin, got)
            self.assertEqual(got.tolist(), mask.astype(bool).tolist())
            for packed, dense in ((out, pruned), (twin, np.ascontiguousarray(pruned.T))):
                np.testing.assert_array_equal(packed.numpy(), heddle.SparseMatrix.from_dense(dense, ht.type_of(dtype)).payload)

    def test_a_two_way_mask_needs_tiles(self):
        for w in (torch.zeros(6, 8).bfloat16(), torch.zeros(8, 6).bfloat16(), torch.zeros(8, 8), torch.zeros(8, 8).double()):
            with self.assertRaises(heddle.Invalid) as caught:
                ht.two_way_mask(w)
            self.assertEqual(caught.exception.rule, "sparse.two-way")


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

    def test_straight_through_training_keeps_what_is_pruned(self):
        layer = nn.Linear(64, 128).bfloat16()
        sparse = ht.TrainableSparseLinear(layer, straight_through=True)
        dense = layer.weight.detach()
        self.assertTrue(torch.equal(sparse.weight, dense))
        pruned = torch.where(sparse.mask, dense, 0)
        self.assertTrue(torch.equal(ht.unpack(sparse.packed, 128, 64, torch.bfloat16), pruned))
        x = torch.randn(16, 64).bfloat16()
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        layer.weight.data = pruned
        sparse(a).square().sum().backward(), layer(b).square().sum().backward()
        torch.testing.assert_close(a.grad, b.grad, rtol=2e-2, atol=2e-1)
        torch.testing.assert_close(sparse.weight.grad, layer.weight.grad, rtol=2e-2, atol=2e-1)  # also where it is pruned
        with torch.no_grad():
            sparse.weight.copy_(torch.randn(128, 64))
        before = sparse.mask.clone()
        ht.repack(sparse, new_mask=False)
        self.assertTrue(torch.equal(sparse.mask, before))
        kept = torch.where(before, sparse.weight, 0)
        self.assertTrue(torch.equal(ht.unpack(sparse.packed, 128, 64, torch.bfloat16), kept))
        ht.repack(sparse)
        self.assertTrue(torch.equal(sparse.mask, ht.two_way_mask(sparse.weight)))
        weight = torch.where(sparse.mask, sparse.weight, 0)
        self.assertTrue(torch.equal(ht.unpack(sparse.packed, 128, 64, torch.bfloat16), weight))
        self.assertTrue(torch.equal(ht.unpack(sparse.packed_t, 64, 128, torch.bfloat16), weight.t()))
        made = ht.sparsify(nn.Sequential(nn.Linear(64, 64).bfloat16()), trainable="straight_through")
        self.assertTrue(made[0].straight_through)
        for bad in (lambda: ht.TrainableSparseLinear(nn.Linear(64, 64).bfloat16(), two_way=False, straight_through=True),
                    lambda: ht.sparsify(nn.Sequential(nn.Linear(64, 64).bfloat16()), trainable="yes")):
            with self.assertRaises(heddle.Invalid):
                bad()

    def test_training_has_the_dense_gradients(self):
        layer = nn.Linear(64, 128).bfloat16()
        sparse = ht.TrainableSparseLinear(layer)
        layer.weight.data = sparse.weight.data.clone()
        x = torch.randn(16, 64).bfloat16()
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        sparse(a).square().sum().backward(), layer(b).square().sum().backward()
        torch.testing.assert_close(a.grad, b.grad, rtol=2e-2, atol=2e-1)
        torch.testing.assert_close(sparse.weight.grad, layer.weight.grad * (layer.weight != 0), rtol=2e-2, atol=2e-1)
        packed = sparse.packed.clone()
        ht.repack(sparse, masked=True)
        self.assertTrue(torch.equal(sparse.packed, packed))
        other = ht.TrainableSparseLinear(nn.Linear(64, 128).bfloat16())
        other.load_state_dict(copy.deepcopy(sparse.state_dict()))  # changes the mask
        ht.repack(other, masked=True)
        self.assertTrue(torch.equal(other.packed, sparse.packed) and torch.equal(other.packed_t, sparse.packed_t))
        self.assertTrue(torch.equal(other.pruned, ~sparse.mask))
        twin = copy.deepcopy(other)
        while twin.mask._version < other._mask_version:
            twin.mask.logical_not_()
        ht.repack(twin, masked=True)
        self.assertTrue(torch.equal(twin.pruned, ~twin.mask))
        for new_mask in (False, True):
            sparse.weight.data = torch.randn(128, 64).bfloat16()
            ht.repack(sparse, new_mask)
            self.assertTrue(torch.equal(ht.unpack(sparse.packed, 128, 64, torch.bfloat16), sparse.weight.data))
            self.assertTrue(torch.equal(ht.unpack(sparse.packed_t, 64, 128, torch.bfloat16), sparse.weight.data.t()))


class LlamaMLP(nn.Module):
    """An MLP as in real models; act: a function that its forward calls."""

    def __init__(self, act, names=("gate_proj", "up_proj", "down_proj"), bias=False):
        super().__init__()
        self.act, self.names = act, names
        for name, (k, m) in zip(names, ((64, 96), (64, 96), (96, 64))):
            setattr(self, name, nn.Linear(k, m, bias).bfloat16())

    def forward(self, x):
        gate, up, down = (getattr(self, name) for name in self.names)
        return down(self.act(gate(x)) * up(x))


class Pairs(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(4)

    def test_pairs_of_rows_come_back(self):
        for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float32):
            w = ht.prune(torch.randn(96, 128).to(dtype))
            packed = ht.pack(w, pair=True)
            twin = heddle.SparseMatrix.from_dense(host(w), ht.type_of(dtype), pair=True)
            self.assertTrue(torch.equal(packed, torch.from_numpy(twin.payload)))
            again = ht.unpack(packed, 96, 128, dtype, pair=True)
            self.assertTrue(torch.equal(again.float(), w.float()))

    def test_one_layer_of_gate_and_up(self):
        gate, up, x = nn.Linear(128, 48).bfloat16(), nn.Linear(128, 48).bfloat16(), torch.randn(2, 3, 128).bfloat16()
        for dtype, tolerance in ((None, 2e-2), (torch.float8_e4m3fn, 8e-2)):
            layer = ht.SparseLinear.from_pair(gate, up, dtype=dtype)
            g, u = layer.dense_weight().float().chunk(2)
            bg, bu = layer.bias.float().chunk(2)
            want = nn.functional.silu(x.float() @ g.t() + bg) * (x.float() @ u.t() + bu)
            self.assertEqual(layer(x).shape, (2, 3, 48))
            torch.testing.assert_close(layer(x).float(), want, rtol=tolerance, atol=tolerance)
            other = ht.SparseLinear(128, 48, dtype=layer.weight_dtype, act="swiglu", out_dtype=torch.bfloat16)
            other.load_state_dict(copy.deepcopy(layer.state_dict()))
            self.assertTrue(torch.equal(other(x), layer(x)))
            with self.assertRaises(Exception):
                ht.SparseLinear(128, 48, dtype=layer.weight_dtype).load_state_dict(layer.state_dict())
        for bad in ((gate, nn.Linear(128, 56).bfloat16()), (gate, nn.Linear(128, 48))):
            with self.assertRaises(heddle.Invalid) as caught:
                ht.SparseLinear.from_pair(*bad)
            self.assertEqual(caught.exception.rule, "torch.pair")

    def test_mlps_of_models_become_one_kernel_and_one_more(self):
        F, x = nn.functional, torch.randn(5, 64).bfloat16()
        for act, want in ((nn.SiLU(), "swiglu"), (F.relu, "reglu"), (F.gelu, "geglu"),
                          (nn.GELU(approximate="tanh"), "geglu_tanh")):
            for names in (("gate_proj", "up_proj", "down_proj"), ("w1", "w3", "w2")):
                model = nn.ModuleDict({"mlp": LlamaMLP(act, names, bias=True)}).eval()
                dense = copy.deepcopy(model["mlp"])
                for layer in dense.children():
                    if isinstance(layer, nn.Linear):
                        layer.weight.data = ht.prune(layer.weight.data)
                ht.sparsify(model)
                self.assertIsInstance(model["mlp"], ht.GatedMLP)
                self.assertEqual(model["mlp"].gate_up.act, want)
                torch.testing.assert_close(model["mlp"](x), dense(x), rtol=2e-2, atol=2e-2)

    def test_what_computes_something_else_is_not_fused(self):
        class Other(LlamaMLP):
            def forward(self, x):
                return self.down_proj(self.gate_proj(x) * self.act(self.up_proj(x)))
        for mlp in (Other(nn.SiLU()), LlamaMLP(torch.tanh), LlamaMLP(nn.SiLU()).train()):
            model = nn.ModuleDict({"mlp": mlp.train(mlp.training and type(mlp) is LlamaMLP)})
            if not isinstance(mlp, Other) and mlp.act is torch.tanh:
                model.eval()
            ht.sparsify(model)
            self.assertIs(model["mlp"], mlp)
            self.assertIsInstance(mlp.gate_proj, ht.SparseLinear)
        model = nn.ModuleDict({"mlp": LlamaMLP(nn.SiLU())}).eval()
        self.assertIsInstance(ht.sparsify(model, fuse=False)["mlp"], LlamaMLP)

    def test_gradients_behind_activations(self):
        """Gradients of every activation, for x and bias, compared with autograd through the dense weight."""
        x, bias = torch.randn(9, 64), torch.randn(96)
        w = ht.prune(torch.randn(96, 64))
        for act in _plans.ACTS:
            pair = act in _plans.PAIRS
            grads = []
            for dense in (False, True):
                a, b = x.clone().requires_grad_(), bias.clone().requires_grad_()
                y = _ops._activated(a @ w.t() + b, act) if dense else ht.linear(a, ht.pack(w, pair), 96 // (1 + pair), b, act)
                y.square().sum().backward()
                grads.append((a.grad, b.grad))
            for got, want in zip(*grads):
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-3)


class Extension(unittest.TestCase):
    def test_it_is_compiled_where_it_can_be(self):
        kind, why = ht.extension()
        if not torch.version.cuda or not shutil.which("c++"):
            self.skipTest(why)
        self.assertEqual(kind, "c++", why)

    def test_its_tables_are_those_of_python(self):
        """ORDER ROLES, KEY and ACTS."""
        source = "".join(open(path).read() for path in _extension.SOURCES)

        def words(pattern):
            return re.findall(r"\w+", re.search(pattern, source).group(1))
        self.assertEqual([word.lower() for word in words(r"enum class Role : uint8_t {([^}]*)}")], list(_plans.ROLES))
        self.assertEqual(words(r"char \*const ACTS\[\] = {([^}]*)}"), list(_plans.ACTS))
        *fields, last = (word[4:].lower() for word in words(r"enum {([^}]*KEY_FIELDS) }"))
        self.assertEqual(last, "fields")
        self.assertEqual(len(fields), _plans.FAMILY_FIELDS)
        key = _plans.Key(3, torch.bfloat16, torch.float16, torch.float32, "silu", True, 128, 64, addend=True)
        numbers = {"x": 15, "out": 5, "bias": 6, "act": words(r"char \*const ACTS\[\] = {([^}]*)}").index("silu")}
        self.assertEqual(key.family(), tuple(int(numbers.get(field, getattr(key, field))) for field in fields))
        self.assertEqual(vars(_plans.Key.of(key.family(), 2)), {**vars(key), "bucket": 2})


class Ops(unittest.TestCase):
    def test_the_quick_call_is_the_op(self):
        quick = _ops._quick
        if quick is None:
            self.skipTest(f"no C++ extension with a call of its own: {ht.extension()}")
        layer, x = ht.SparseLinear.from_linear(nn.Linear(64, 32).bfloat16()), torch.randn(3, 64).bfloat16()
        args = [x, layer.packed, 32, layer.bias, None, None, "silu", torch.float32, None]
        added = [*args[:6], "none", torch.float32, torch.randn(3, 32)]
        with torch.no_grad():
            for both in (args, added):
                self.assertTrue(torch.equal(quick(*both), torch.ops.heddle.linear(*both)))
        x.requires_grad_()
        quick(*args).sum().backward()
        got, x.grad = x.grad, None
        torch.ops.heddle.linear(*args).sum().backward()
        self.assertTrue(torch.equal(got, x.grad))
        subclass = x.detach().as_subclass(type("Other", (torch.Tensor,), {}))
        for other in ((subclass, *args[1:]), (None, *args[1:]), (*args[:2], 32.0, *args[3:]), args[:8],
                      (*args[:8], subclass)):
            self.assertIs(quick(*other), NotImplemented)
        with torch.overrides.BaseTorchFunctionMode():
            self.assertIs(quick(*args), NotImplemented)
        with self.assertRaisesRegex(heddle.Invalid, "torch.act"):
            quick(*args[:6], "tanh", None, None)

    def test_opcheck(self):
        w, x = ht.prune(torch.randn(96, 256).bfloat16()), torch.randn(7, 256).bfloat16()
        for arguments in ((x, ht.pack(w), 96), (x, ht.pack(w), 96, torch.ones(96).bfloat16(), None, None, "silu"),
                          (x, ht.pack(w, pair=True), 48, torch.ones(96).bfloat16(), None, None, "swiglu")):
            torch.library.opcheck(torch.ops.heddle.linear.default, arguments)
        for act in ("none", "silu", "gelu_tanh"):
            torch.library.opcheck(torch.ops.heddle.linear_with_grad.default,
                                  (x.clone().requires_grad_(), ht.pack(w), 96, None, None, None, act))
        torch.library.opcheck(torch.ops.heddle.linear_with_grad.default,
                              (x.clone().requires_grad_(), ht.pack(w, pair=True), 48, None, None, None, "swiglu"))
        torch.library.opcheck(torch.ops.heddle.masked_linear.default,
                              (x.clone().requires_grad_(), w.clone().requires_grad_(), ht.pack(w)))

    def test_packing_is_an_op(self):
        w = torch.randn(96, 128).bfloat16()
        for transposed in (False, True):
            torch.library.opcheck(torch.ops.heddle.pack.default, (w, transposed))
            packer = torch.compile(lambda w: ht.pack(w, transposed=transposed), fullgraph=True)
            self.assertTrue(torch.equal(packer(w), ht.pack(w, transposed=transposed)))

    def test_a_graph_without_breaks(self):
        net = ht.sparsify(nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 64)).bfloat16())
        gated = ht.sparsify(nn.ModuleList([LlamaMLP(nn.SiLU())]).eval())[0]
        for model in (net, gated):
            explained = torch._dynamo.explain(model)(torch.randn(7, 64).bfloat16())
            self.assertEqual(explained.graph_break_count, 0)

    def test_dynamic_tokens_and_export(self):
        gated = ht.sparsify(nn.ModuleList([LlamaMLP(nn.SiLU())]).eval())[0]
        run = torch.compile(gated, fullgraph=True, dynamic=True, backend="aot_eager")
        with torch.no_grad():
            program = torch.export.export(gated, (torch.randn(48, 64).bfloat16(),),
                                          dynamic_shapes=({0: torch.export.Dim("tokens", min=2, max=4096)},))
            for n in (3, 40, 700):
                x = torch.randn(n, 64).bfloat16()
                torch.testing.assert_close(run(x), gated(x), rtol=0, atol=0)
                torch.testing.assert_close(program.module()(x), gated(x), rtol=0, atol=0)

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
    """The kernels that a layer launches, run in the simulator and compared with the dense form of the op."""

    CASES = ((torch.bfloat16, False, "none", False), (torch.float8_e4m3fn, True, "none", False),
             (torch.int8, False, "relu", False), (torch.bfloat16, False, "swiglu", False),
             (torch.float8_e4m3fn, True, "swiglu", False), (torch.float16, False, "geglu", False),
             (torch.bfloat16, False, "none", True), (torch.float8_e4m3fn, True, "none", True),
             (torch.float16, False, "none", True))

    def check(self, dtype, scaled, act, addend, kernel, m, k, n):
        w, x = (torch.randn(m, k) * 2).to(dtype), (torch.randn(n, k) * 2).to(dtype)
        pair = act in _plans.PAIRS
        bias, sx, sw = torch.rand(m), torch.rand(n), torch.rand(m)
        scales = (sx, sw) if scaled else (None, None)
        packed, out = ht.pack(w, pair), _ops._out_dtype(x, None)
        added = (torch.randn(n, m) * 40).to(out) if addend else None
        want = torch.ops.heddle.linear(x, packed, m // (1 + pair), bias, *scales, act, None, added)
        given = {"scale_a": sw.numpy(), "scale_b": sx.numpy()} if scaled else {}
        given.update({"c": added.view(torch.uint8).numpy().view(heddle.DTYPES[_plans._OUT[out]])} if addend else {})
        got = kernel.simulate(heddle.SparseMatrix(packed.numpy(), (m, k), ht.type_of(dtype), kernel.family, pair),
                              host(x), bias=bias.numpy(), **given)
        got = torch.from_numpy(heddle.decode(got, _plans._OUT[out])).float()
        scale = want.float().abs().max().item()
        torch.testing.assert_close(got, want.float(), rtol=1e-2, atol=1e-2 * scale if pair else 1e-2)

    def test_a_kernel_is_the_op(self):
        m, k = 96, 256
        for dtype, scaled, act, addend in self.CASES:
            key = _plans.Key(0, dtype, _ops._OUT[dtype], torch.float32, act, scaled, m, k, addend=addend)
            ranges = _plans.buckets(key, "sm_90a")
            for n in (9, 65):
                kernel = _plans.compile_kernel(key.at(_plans.bucket_of(ranges, n)), "sm_90a")
                self.assertEqual([a.name for a in kernel.arguments if a.name not in _plans.ROLES], [])
                self.assertEqual([a.name for a in kernel.arguments if a.name in ("c", "ldc")], ["c", "ldc"] * addend)
                with self.subTest(dtype=dtype, act=act, addend=addend, n=n):
                    self.check(dtype, scaled, act, addend, kernel, m, k, n)

    KEY = _plans.Key(0, torch.bfloat16, torch.bfloat16, None, "swiglu", False, 28672, 4096)

    def test_ranges_are_the_compilers(self):
        ranges = _plans.buckets(self.KEY, "sm_90a")
        limits = [limit for limit, _ in ranges]
        self.assertEqual(limits, sorted(limits[:-1]) + [0])
        self.assertGreater(len(limits), 3)
        for bucket, (limit, words) in enumerate(ranges):
            self.assertEqual(_plans.bucket_of(ranges, limit or 10 ** 6), bucket)
            self.assertEqual(_plans.bucket_of(ranges, limits[bucket - 1] + 1 if bucket else 1), bucket)
        first = _plans.compile_kernel(self.KEY, "sm_90a")
        self.assertEqual(first.schedule.split()[:3], ranges[0][1].split()[:3])

    def test_schedules_without_a_workspace(self):
        key = _plans.Key(0, torch.bfloat16, torch.bfloat16, None, "swiglu", False, 28672, 4096)
        with_one = dict(_plans.buckets(key, "sm_90a"))
        self.assertTrue(any("stream_k=1" in words for words in with_one.values()))
        ht.settings["workspace"] = False
        try:
            limit, words = next((limit, words) for limit, words in _plans.buckets(key, "sm_90a")
                                if "stream_k=1" in with_one[limit])
            kernel = _plans.compile_kernel(key.at(list(with_one).index(limit)), "sm_90a")
        finally:
            ht.settings["workspace"] = True
        self.assertIn("stream_k=0", words)
        self.assertNotIn("workspace", [argument.name for argument in kernel.arguments])
        self.assertEqual(_plans.without_workspace("split_k=4 reduce=workspace stream_k=0"),
                         "split_k=1 reduce=workspace stream_k=0")
        self.assertEqual(_plans.without_workspace("split_k=4 reduce=cluster"), "split_k=4 reduce=cluster")

    def test_an_overlapping_kernel_is_the_same_launch(self):
        key = _plans.Key(0, torch.bfloat16, torch.bfloat16, None, "none", False, 4096, 14336)
        limits = [limit for limit, _ in _plans.buckets(key, "sm_90a")]
        key = key.at(limits.index(48))
        ht.settings["weights_ready"] = True
        try:
            ordinary, overlapping = _plans.compile_kernel(key, "sm_90a"), _plans.compile_overlapping(key, "sm_90a")
        finally:
            ht.settings["weights_ready"] = False
        names = [argument.name for argument in overlapping.arguments]
        self.assertEqual([a.name for a in ordinary.arguments if a.name != "workspace"], names)
        for kernel, ready in ((ordinary, False), (overlapping, True)):
            variants = json.loads(kernel.manifest)["variant"]
            self.assertEqual({v["dependent_launch"] for v in variants}, {True})
            self.assertEqual({v["weights_ready"] for v in variants}, {ready})

    def test_what_spills_gets_a_narrower_tile(self):
        compile, tried = heddle.Problem.compile, []

        def spills(problem, words=None, **more):
            tried.append(words)
            if len(tried) < 3:
                error = heddle.HeddleError(5, [])
                error.rule = "ptxas.spill"
                raise error
            return compile(problem, words, **more)
        heddle.Problem.compile = spills
        try:
            words = _plans.compile_kernel(self.KEY, "sm_90a").schedule
        finally:
            heddle.Problem.compile = compile
        self.assertIn("tile=128x128", words)


if __name__ == "__main__":
    unittest.main()

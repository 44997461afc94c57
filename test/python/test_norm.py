"""RMSNorms of heddle.torch without a GPU: fold_norm, the op linear_norm, what a launch gets (in the simulator), and norms that
torch.compile lets the kernels apply."""
import copy
import re
import unittest
from unittest import mock

import torch
from functorch.compile import make_boxed_func
from simulated_launch import launch
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._inductor import config
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.utils import fresh_inductor_cache, run_and_get_code
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

import heddle
import heddle.torch as ht
from heddle.torch import _norm_fusion, _ops, _passes, _plans

EPS = 1e-5
SMALL = 2e-3  # tokens of this size have squares near EPS


def sums_of(x):
    """[features / 128, tokens], as the kernels have them."""
    return x.float().reshape(-1, x.shape[-1] // 128, 128).square().sum(-1).t().contiguous()


def normed(x):
    """RMSNorm in double precision."""
    return x.double() * torch.rsqrt(x.double().square().mean(-1, keepdim=True) + EPS)


class HandWritten(nn.Module):
    """As models have it: with a weight of its own and variance_epsilon."""

    def __init__(self, size, kind="rms"):
        super().__init__()
        self.weight, self.variance_epsilon, self.kind = nn.Parameter(torch.rand(size) + 0.5), EPS, kind

    def forward(self, x):
        wide = x.float() - (x.float().mean(-1, keepdim=True) if self.kind == "layer" else 0)
        eps = self.variance_epsilon * (100 if self.kind == "other eps" else 1)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
        return (self.weight + 1 if self.kind == "plus 1" else self.weight) * wide.to(x.dtype)


class Folding(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(9)

    def test_the_weight_moves_into_the_layers(self):
        own = nn.RMSNorm(256, eps=EPS).bfloat16()
        nn.init.uniform_(own.weight, 0.5, 2)
        for norm in (own, HandWritten(256).bfloat16()):
            layers = [nn.Linear(256, m, bias=m == 64).bfloat16() for m in (64, 128)]
            x = torch.randn(2, 5, 256).bfloat16() * torch.tensor([1, SMALL])[:, None, None].bfloat16()
            before = [layer(norm(x)) for layer in layers]
            bare = ht.fold_norm(norm, *layers)
            self.assertIsNone(bare.weight)
            self.assertIs(ht.fold_norm(bare, *layers), bare)
            for layer, want in zip(layers, before):
                torch.testing.assert_close(layer(bare(x)), want, rtol=2e-2, atol=2e-2)

    def test_what_cannot_be_folded_is_refused(self):
        layer, norm = nn.Linear(256, 64).bfloat16(), nn.RMSNorm(256).bfloat16()
        weight = layer.weight.detach().clone()
        sparse = ht.SparseLinear.from_linear(nn.Linear(256, 64).bfloat16())
        for case, layers, rule in ((nn.LayerNorm(256).bfloat16(), [layer], "torch.fold-norm"),
                                   (HandWritten(256, "layer").bfloat16(), [layer], "torch.fold-norm"),
                                   (HandWritten(256, "plus 1").bfloat16(), [layer], "torch.fold-norm"),
                                   (HandWritten(256, "other eps").bfloat16(), [layer], "torch.fold-norm"),
                                   (nn.RMSNorm((2, 128)), [layer], "torch.fold-norm"),
                                   (nn.Identity(), [layer], "torch.fold-norm"),
                                   (norm, [], "torch.fold-norm"), (norm, [layer, sparse], "torch.fold-norm"),
                                   (norm, [layer, layer], "torch.fold-norm"),
                                   (norm, [layer, nn.Linear(128, 64)], "torch.shape"),
                                   (nn.RMSNorm(256, device="meta"), [layer], "torch.fold-norm")):
            with self.subTest(norm=str(case), layers=len(layers)), self.assertRaises(heddle.Invalid) as caught:
                ht.fold_norm(case, *layers)
            self.assertEqual(caught.exception.rule, rule)
        self.assertTrue(torch.equal(layer.weight, weight))


def linear(k, m, bias=False, **more):
    return ht.SparseLinear.from_linear(nn.Linear(k, m, bias=bias).bfloat16(), **more).requires_grad_(False)


class Decoder(nn.Module):
    """A decoder layer with the names of Hugging Face's Llama; attention without attention."""

    def __init__(self, size=256, hidden=384):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = HandWritten(size), HandWritten(size)
        self.self_attn, self.mlp = nn.Module(), MLP(size, hidden)
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self.self_attn, name, nn.Linear(size, size, bias=False))

    def forward(self, x):
        at, normed = self.self_attn, self.input_layernorm(x)
        x = x + at.o_proj(F.silu(at.q_proj(normed)) * at.k_proj(normed) + at.v_proj(normed))
        return x + self.mlp(self.post_attention_layernorm(x))


class MLP(nn.Module):
    def __init__(self, size, hidden):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(size, hidden, bias=False), nn.Linear(size, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Models(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(10)

    def test_norms_of_decoder_layers_are_folded(self):
        model = nn.Sequential(Decoder(), Decoder()).bfloat16().eval().requires_grad_(False)
        dense = copy.deepcopy(model)
        ht.sparsify(model, fold_norms=True)
        for layer, old in zip(model, dense):
            for norm in (layer.input_layernorm, layer.post_attention_layernorm):
                self.assertTrue(isinstance(norm, nn.RMSNorm) and norm.weight is None and norm.eps == EPS)
            q, want = layer.self_attn.q_proj.dense_weight(), old.self_attn.q_proj.weight * old.input_layernorm.weight
            self.assertTrue(torch.equal(q, ht.prune(want)))
            want = torch.cat((old.mlp.gate_proj.weight, old.mlp.up_proj.weight)) * old.post_attention_layernorm.weight
            self.assertTrue(torch.equal(layer.mlp.gate_up.dense_weight(), ht.prune(want)))
            self.assertTrue(torch.equal(layer.mlp.down.dense_weight(), ht.prune(old.mlp.down_proj.weight)))

    def test_norms_of_given_names_are_folded(self):
        model = nn.ModuleDict({"norm": nn.RMSNorm(128), "a": nn.Linear(128, 64), "b": nn.Linear(128, 64)}).bfloat16()
        ht.sparsify(model, fold_norms={"norm": ("a", "b")})
        self.assertIsNone(model["norm"].weight)

    def test_norms_that_something_else_reads_stay(self):
        def router(model):
            model.mlp.router = nn.Linear(256, 4)

        def sandwich(model):
            model.post_feedforward_layernorm = HandWritten(256)
        for change, wanted, n_kept in ((router, "*", 1), (sandwich, "*", 2), (lambda model: None, "*mlp*", 1),
                                       (lambda model: delattr(model, "input_layernorm"), "*", 1)):
            model = nn.ModuleDict({"layer": Decoder(), "other": Decoder()}).bfloat16().eval()
            change(model["layer"])
            ht.sparsify(model, wanted, fold_norms=True)
            self.assertEqual(sum(isinstance(one, HandWritten) for one in model["layer"].children()),
                             n_kept + (change is sandwich))
        for bad in (dict(fold_norms={"no": ("a",)}), dict(fold_norms=True, pattern="other.*"),
                    dict(fold_norms=True, trainable=True)):
            with self.assertRaises(heddle.Invalid) as caught:
                ht.sparsify(nn.ModuleDict({"layer": Decoder(), "other": nn.Linear(64, 64)}).bfloat16(), **bad)
            self.assertEqual(caught.exception.rule, "torch.fold-norms")


class Ops(unittest.TestCase):
    """torch.ops.heddle.linear_norm, dense and as a launch in the simulator."""

    def setUp(self):
        torch.manual_seed(11)

    CASES = (("none", True, True, True), ("none", False, True, False), ("swiglu", True, False, False),
             ("silu", True, True, False), ("none", True, False, True))  # act, sums given, wanted, addend

    def test_it_is_linear_behind_a_norm(self):
        for dtype in (torch.bfloat16, torch.float16):
            for (act, given, wanted, added), n in zip(self.CASES, (9, 65, 9, 17, 130)):
                m, pair = 256, act == "swiglu"
                w, bias = ht.prune(torch.randn(m * (1 + pair), 384).to(dtype) / 16), torch.randn(m * (1 + pair))
                x = torch.randn(n, 384).to(dtype)
                x[::2] *= SMALL
                addend = torch.randn(n, m).to(dtype) if added else None
                y = (normed(x) if given else x.double()) @ w.double().t() + bias.double()
                want = _ops._activated(y if addend is None else y + addend.double(), act)
                arguments = (x, ht.pack(w, pair), m, bias, act, addend, sums_of(x) if given else None, EPS, wanted)
                simulated, numbers = launch(_ops._norm_launch_form, *arguments)
                for got, sums in (torch.ops.heddle.linear_norm(*arguments), simulated):
                    torch.testing.assert_close(got.double(), want, rtol=2.0 ** -7, atol=2e-3)
                    self.assertEqual(tuple(sums.shape), (m // 128, n) if wanted else (0,))
                    if wanted:
                        torch.testing.assert_close(sums.double(), sums_of(want).double(), rtol=1e-2, atol=1e-2)
                self.assertEqual("eps" in numbers, given)

    def test_sums_lie_at_any_distance(self):
        """[tokens, 2] in memory is copied."""
        x, w = torch.randn(9, 256).bfloat16(), ht.prune(torch.randn(128, 256).bfloat16() / 16)
        apart = sums_of(x).t().contiguous().t()
        y, _ = torch.ops.heddle.linear_norm(x, ht.pack(w), 128, sums=apart, eps=EPS)
        torch.testing.assert_close(y.double(), normed(x) @ w.double().t(), rtol=2.0 ** -7, atol=2e-3)
        (again, _), _ = launch(_ops._norm_launch_form, x, ht.pack(w), 128, None, "none", None, apart, EPS, False)
        torch.testing.assert_close(again, y, rtol=2.0 ** -7, atol=2e-3)

    def test_no_tokens(self):
        packed = ht.pack(torch.randn(128, 256).bfloat16())
        y, sums = torch.ops.heddle.linear_norm(torch.zeros(2, 0, 256).bfloat16(), packed, 128, sums=torch.zeros(2, 0),
                                               want_sums=True)
        self.assertEqual((tuple(y.shape), tuple(sums.shape)), ((2, 0, 128), (1, 0)))

    def test_what_it_cannot_do_is_refused(self):
        x, sums, packed = torch.randn(3, 256).bfloat16(), torch.ones(2, 3), ht.pack(torch.randn(128, 256).bfloat16())
        odd, wide = torch.randn(3, 192).bfloat16(), ht.pack(torch.randn(128, 256))
        other, narrow = ht.pack(torch.randn(128, 192).bfloat16()), ht.pack(torch.randn(96, 256).bfloat16())
        for a, b, m, more, rule in ((x.float(), wide, 128, dict(sums=sums), "torch.norm"),
                                    (x, packed, 128, dict(sums=sums.double()), "torch.norm"),
                                    (x, packed, 128, dict(sums=sums, eps=-1.0), "torch.norm"),
                                    (odd, other, 128, dict(sums=sums), "torch.norm"),
                                    (x, narrow, 96, dict(want_sums=True), "torch.norm"),
                                    (x, packed, 128, dict(sums=sums[:1]), "torch.shape"),
                                    (x, packed, 128, dict(sums=sums[:, :2]), "torch.shape"),
                                    (x, packed, 128, dict(sums=sums.to("meta")), "torch.device"),
                                    (x[0, 0], packed, 128, dict(sums=sums), "torch.shape"),
                                    (x, packed, 128, dict(act="tanh"), "torch.act")):
            for form in (_ops._norm_dense_form, _ops._norm_fake):
                with self.assertRaises(heddle.Invalid) as caught:
                    form(a, b, m, **more)
                self.assertEqual(caught.exception.rule, rule)
        for wants in (dict(x=x.clone().requires_grad_()), dict(addend=torch.zeros(3, 128).bfloat16().requires_grad_())):
            with self.assertRaisesRegex(Exception, "torch.autograd"):
                torch.ops.heddle.linear_norm(**{"x": x, "packed": packed, "out_features": 128, **wants})

    def test_opcheck(self):
        x, packed = torch.randn(2, 5, 256).bfloat16(), ht.pack(torch.randn(128, 256).bfloat16())
        bias, addend = torch.ones(128).bfloat16(), torch.randn(2, 5, 128).bfloat16()
        for more in ((), (bias, "silu", None, sums_of(x), EPS), (bias, "none", addend, None, 0.0, True),
                     (None, "none", addend, sums_of(x), EPS, True)):
            torch.library.opcheck(torch.ops.heddle.linear_norm.default, (x, packed, 128, *more))

    def test_both_forms_have_one_schema(self):
        self.assertEqual(str(torch.ops.heddle.linear_norm.default._schema), "heddle::linear_norm" + _ops._NORM_SCHEMA)


class Fusion(unittest.TestCase):
    """Norms in front of the op that torch.compile lets it apply, and those that it must not."""

    def setUp(self):
        torch.manual_seed(12)
        torch._dynamo.reset()
        self.norm = nn.RMSNorm(256, eps=EPS, elementwise_affine=False)
        self.out, self.q, self.v = linear(384, 256), linear(256, 128, True), linear(256, 64)
        self.pair, self.a = linear(256, 256, act="swiglu"), torch.randn(6, 384).bfloat16() * SMALL
        self.x = torch.randn(6, 256).bfloat16()
        self.x[::2] *= SMALL
        mode = mock.patch.dict(ht.settings, fuse_norm="always")
        mode.start()
        self.addCleanup(mode.stop)

    def fused(self, function, *args, dynamic=False):
        """(ops with given sums, ops that return sums, norms left) of a function's graph after autograd, whose result is
        compared with that of the function."""
        counts = []

        def compiler(module, _):
            ht.fuse_add(module.graph)
            before = self.norms_of(module.graph)
            n = ht.fuse_norm(module.graph)
            module.graph.lint()
            module.recompile()
            ops = [_norm_fusion._linear(node) for node in module.graph.nodes]
            counts.append((sum(one is not None and one["sums"] is not None for one in ops),
                           sum(one is not None and one["want_sums"] for one in ops), self.norms_of(module.graph)))
            self.assertEqual(n, before - counts[-1][-1])
            return make_boxed_func(module.forward)
        with torch.no_grad():
            want = function(*(arg.clone() for arg in args))
            compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend=aot_autograd(
                fw_compiler=compiler, decompositions=select_decomp_table()))
            got = compiled(*(arg.clone() for arg in args))
        torch.testing.assert_close(got, want, rtol=2.0 ** -5, atol=2.0 ** -5)
        return counts[0]

    @staticmethod
    def norms_of(graph):
        return sum(node.target is torch.ops.aten.rsqrt.default for node in graph.nodes)

    def by_hand(self, x, square=lambda v: v.pow(2)):
        wide = x.float()
        return (torch.rsqrt(square(wide).mean(-1, keepdim=True) + 1e-5) * wide).to(x.dtype)

    def test_a_norm_is_applied_by_its_readers(self):
        norm, out, q, v, pair, x, a = self.norm, self.out, self.q, self.v, self.pair, self.x, self.a
        other = nn.RMSNorm(256, eps=4 * EPS, elementwise_affine=False)
        for dynamic in (False, True):
            for function, want in (
                    (lambda x, a: (h := x + out(a), q(norm(h))), (1, 1, 0)), (lambda x, a: q(norm(x)), (1, 0, 0)),
                    (lambda x, a: q(norm(out(a))), (1, 1, 0)),
                    (lambda x, a: (h := x + out(a), q(n := norm(h)), v(n)), (2, 1, 0)),
                    (lambda x, a: (h := x + out(a), h + pair(norm(h))[..., :1]), (1, 1, 0)),
                    (lambda x, a: q(self.by_hand(x + out(a))), (1, 1, 0)),
                    (lambda x, a: q(self.by_hand(x + out(a), lambda v: v * v)), (1, 1, 0)),
                    (lambda x, a: q(norm(x).view(2, 3, 256)), (1, 0, 0)),
                    (lambda x, a: (h := x + out(a), q(norm(h.view(1, 2, 3, 256)).view(-1, 256))), (1, 1, 0)),
                    (lambda x, a: (q(norm(x)), v(norm(out(a)))), (2, 1, 0)),
                    (lambda x, a: (q(norm(h := out(a))), v(other(h))), (2, 1, 0))):
                with self.subTest(want=want, dynamic=dynamic):
                    torch._dynamo.reset()
                    self.assertEqual(self.fused(function, x, a, dynamic=dynamic), want)

    def test_a_reader_returns_sums_for_the_next_norm(self):
        norm, out, square, q = self.norm, self.out, linear(256, 256), self.q
        for dynamic in (False, True):
            torch._dynamo.reset()
            self.assertEqual(self.fused(lambda x, a: (h := x + out(a), g := h + square(norm(h)), q(norm(g))), self.x, self.a,
                                        dynamic=dynamic), (2, 2, 0))

    def test_what_is_another_norm_or_is_read_elsewhere_stays(self):
        norm, out, q, x, a = self.norm, self.out, self.q, self.x, self.a
        weighted = nn.RMSNorm(256, eps=EPS).bfloat16().requires_grad_(False)
        eights = linear(256, 128, dtype=torch.float8_e4m3fn)
        odd, narrow = nn.RMSNorm(192, eps=EPS, elementwise_affine=False), linear(192, 128)
        nn.init.uniform_(weighted.weight, 0.5, 2)
        split = linear(64, 256)

        def scaled(x):
            wide = x.float()
            factor = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)
            return q((wide * factor).to(x.dtype)), factor

        def other(x, dims=(-1,), square=2, shift=0.0):
            wide = x.float()
            mean = wide.pow(square).mean(dims, keepdim=True)
            y = wide * torch.rsqrt(mean + EPS)
            return (y + shift if shift else y).to(x.dtype)
        for function, want in ((lambda x, a: q(weighted(x)), (0, 0, 1)), (lambda x, a: (q(n := norm(x)), n), (0, 0, 1)),
                               (lambda x, a: q(n := norm(x)) + n[:, :128], (0, 0, 1)),
                               (lambda x, a: scaled(x), (0, 0, 1)),
                               (lambda x, a: narrow(odd(x[:, :192])), (0, 0, 1)), (lambda x, a: eights(norm(x)), (0, 0, 1)),
                               (lambda x, a: q(other(x)), (1, 0, 0)), (lambda x, a: q(other(x, (0,))), (0, 0, 1)),
                               (lambda x, a: q(other(x, (0, 1))), (0, 0, 1)),
                               (lambda x, a: q(other(x, square=4)), (0, 0, 1)),
                               (lambda x, a: q(other(x, shift=1.0)), (0, 0, 1)),
                               (lambda x, a: q(F.layer_norm(x, (256,), eps=EPS)), (0, 0, 1)),
                               (lambda x, a: q(norm(x.float()).bfloat16()), (1, 0, 0)),
                               (lambda x, a: q(norm(x.float() * 2).bfloat16()), (0, 0, 1)),
                               (lambda x, a: torch.ops.heddle.linear(norm(x), q.packed, 128, out_dtype=torch.float32),
                                (0, 0, 1)),
                               (lambda x, a: split(norm(x).view(-1, 64)), (0, 0, 1)),
                               (lambda x, a: q(norm(x)) + q(x), (1, 0, 0))):
            with self.subTest(want=want):
                torch._dynamo.reset()
                self.assertEqual(self.fused(function, x, a), want)

    def test_sums_of_something_else_are_not_taken(self):
        """What lies between the op and the norm changes the rows: the sums are those of what is normalised."""
        norm, out, q, x, a = self.norm, self.out, self.q, self.x, self.a
        wide, half, (scale_a, scale_w) = linear(384, 512), linear(384, 192), (torch.rand(6) + 1, torch.rand(256) + 1)
        for function in (lambda x, a: q(norm(out(a) * 2)), lambda x, a: q(norm(wide(a)[:, 256:])),
                         lambda x, a: q(norm(wide(a).view(-1, 256))), lambda x, a: q(norm((x + out(a)).flip(0))),
                         lambda x, a: q(norm(torch.cat((half(a), a[:, :64]), 1))),
                         lambda x, a: q(norm(ht.scaled_linear(a, out.packed, scale_a, scale_w, 256)))):
            torch._dynamo.reset()
            self.assertEqual(self.fused(function, x, a), (1, 0, 0))

    def test_a_write_in_between_is_not_passed(self):
        """Neither between the op that returns the sums and the norm, nor between the norm and its reader."""
        for where in ("nowhere", "before", "behind"):
            def function(a, x, packed, packed_q):
                h = ht.linear(a, packed, 256)
                if where == "before":
                    h.view(-1).mul_(2)
                n = self.by_hand(h)
                h.zero_() if where == "behind" else h.clone()
                return ht.linear(n, packed_q, 128)
            module = make_fx(function, tracing_mode="fake", decomposition_table=select_decomp_table())(
                self.a, self.x, self.out.packed, self.q.packed)
            self.assertEqual(ht.fuse_norm(module.graph), where == "nowhere")

    def test_the_model_decides(self):
        """By predicted times: sums by the op, by a kernel, or the norm as it is."""
        norm, out, q, x, a = self.norm, self.out, self.q, self.x, self.a

        def seconds(reduce=0.0, normed=0.0):
            return lambda key, target, tokens: 1e-5 + key.reduce * reduce + key.norm * normed

        def function(x, a):
            return q(norm(x + out(a)))
        many = torch.randn(1, 256).bfloat16().expand(40000, 256), torch.randn(1, 384).bfloat16().expand(40000, 384)
        for times, args, want in ((seconds(), (x, a), (1, 1, 0)), (seconds(1e-6), (x, a), (1, 1, 0)),
                                  (seconds(4e-6), (x, a), (0, 0, 1)), (seconds(0, 4e-6), (x, a), (0, 0, 1)),
                                  (seconds(1e-3), many, (1, 0, 0)), (seconds(1e-3, 1e-3), many, (0, 0, 1))):
            torch._dynamo.reset()
            with mock.patch.dict(ht.settings, fuse_norm=True), mock.patch.object(_plans, "predicted_seconds", times):
                for dynamic in (False, True):
                    torch._dynamo.reset()
                    self.assertEqual(self.fused(function, *args, dynamic=dynamic), want)
        with mock.patch.dict(ht.settings, fuse_norm=True):
            self.assertEqual(self.fused(function, x, a), (1, 1, 0))
            with mock.patch.object(_plans, "predicted_seconds", lambda *key: None):  # of a target without rates
                for splits, want in ((True, (0, 0, 1)), (False, (1, 1, 0))):
                    torch._dynamo.reset()
                    with mock.patch.object(_plans, "splits_k", lambda *key: splits):
                        self.assertEqual(self.fused(function, x, a), want)

    def code_of(self, function, *args, dynamic=False):
        """(linear_norm ops, kernels of Inductor's own) of what Inductor writes."""
        torch._dynamo.reset()
        with torch.no_grad(), fresh_inductor_cache():
            got, (code, *_) = run_and_get_code(torch.compile(function, fullgraph=True, dynamic=dynamic), *args)
            torch.testing.assert_close(got, function(*args), rtol=2.0 ** -5, atol=2.0 ** -5)
        return code.count("torch.ops.heddle.linear_norm.default("), len(re.findall(r"^ +cpp_fused\w*\(", code, re.M))

    def test_inductor_calls_the_pass_by_itself(self):
        norm, out, q, v = self.norm, self.out, self.q, self.v

        def function(x, a):
            n = norm(x + out(a))
            return q(n), v(n)
        for dynamic in (False, True):
            self.assertEqual(self.code_of(function, self.x, self.a, dynamic=dynamic), (3, 0))
            self.assertEqual(self.code_of(lambda x: (q(n := norm(x)), v(n)), self.x.view(2, 3, 256), dynamic=dynamic), (2, 1))
        own = config.post_grad_custom_post_pass
        own = own[-1] if isinstance(own, (list, tuple)) else own
        self.assertIsInstance(own, _passes._pass_class())
        key = own.uuid()
        ht.settings["fuse_norm"] = False
        self.assertNotEqual(own.uuid(), key)
        self.assertEqual(self.code_of(function, self.x, self.a)[0], 0)

    def test_blocks_of_a_model(self):
        """Every norm but the first takes the sums of the projection in front of it, for any number of tokens."""
        model = nn.Sequential(Decoder(), Decoder()).bfloat16().eval().requires_grad_(False)
        ht.sparsify(model, fold_norms=True)
        self.assertEqual(self.fused(model, self.x), (8, 3, 0))
        torch._dynamo.reset()
        run = torch.compile(model, fullgraph=True, dynamic=True)
        with torch.no_grad():
            for n in (5, 48, 130):
                x = torch.randn(n, 256).bfloat16()
                torch.testing.assert_close(run(x), model(x), rtol=2.0 ** -5, atol=2.0 ** -5)
        self.assertEqual(self.code_of(model, self.x)[0], 11 - 3 + 3)

    def test_gradients_are_those_of_the_norm(self):
        """A graph that keeps the norm for its backward pass is left as it is."""
        grads = []
        for run in (lambda f: f, lambda f: torch.compile(f, fullgraph=True)):
            x = self.x.clone().requires_grad_()
            run(lambda x: self.q(self.norm(x)).float().square().sum())(x).backward()
            grads.append(x.grad)
        torch.testing.assert_close(grads[1], grads[0], rtol=5e-2, atol=5e-2 * float(grads[0].abs().max()))


if __name__ == "__main__":
    unittest.main()

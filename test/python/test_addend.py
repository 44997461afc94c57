"""Addends of heddle.torch's op without a GPU: the op, what a launch gets (in the simulator), and residuals that
torch.compile makes addends. Kernels with an addend are among the cases of test_torch.py."""
import re
import unittest
from concurrent.futures import ThreadPoolExecutor

import torch
from functorch.compile import make_boxed_func
from simulated_launch import launch
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._inductor import config
from torch._inductor.utils import fresh_inductor_cache, run_and_get_code
from torch.fx.experimental.proxy_tensor import make_fx

import heddle
import heddle.torch as ht
from heddle.torch import _ops, _passes


class Addends(unittest.TestCase):
    """torch.ops.heddle.linear with an addend, which the kernel adds before it rounds."""

    def setUp(self):
        torch.manual_seed(6)

    def test_it_is_added_before_the_sum_is_rounded(self):
        x, w, bias = torch.randn(2, 5, 64).bfloat16(), ht.prune(torch.randn(96, 64).bfloat16()), torch.randn(96)
        packed, wide = ht.pack(w), torch.randn(2, 5, 200).bfloat16()
        for addend in (wide[..., :96].contiguous(), wide[..., :96], wide[..., ::2][..., :96]):
            for given in (None, bias):
                y = ht.linear(x, packed, 96, given, addend=addend)
                want = x.double() @ w.double().t() + addend.double() + (0 if given is None else given.double())
                self.assertEqual((y.shape, y.dtype), ((2, 5, 96), torch.bfloat16))
                torch.testing.assert_close(y.double(), want, rtol=2.0 ** -8, atol=1e-4)
        (qx, sx), (qw, sw) = ht.quantize_rows(x[0]), ht.quantize_rows(w)
        y = ht.scaled_linear(qx, ht.pack(qw), sx, sw, 96, bias, addend=wide[0, :, :96])
        want = (qx.double() * sx[:, None]) @ (qw.double() * sw[:, None]).t() + bias.double() + wide[0, :, :96].double()
        torch.testing.assert_close(y.double(), want, rtol=2.0 ** -8, atol=1e-4)

    def test_what_cannot_be_added_is_refused(self):
        x, y = torch.randn(3, 64).bfloat16(), torch.zeros(3, 32).bfloat16()
        packed = ht.pack(torch.randn(32, 64).bfloat16())
        pair = ht.pack(torch.randn(64, 64).bfloat16(), pair=True)
        integers, of_integers = torch.ones(3, 64, dtype=torch.int8), ht.pack(torch.ones(32, 64, dtype=torch.int8))
        cases = ((x, packed, "none", y.float(), "torch.addend"), (x, packed, "relu", y, "torch.addend"),
                 (x, pair, "swiglu", y, "torch.addend"), (x, packed, "none", y[:2], "torch.shape"),
                 (x, packed, "none", y[0], "torch.shape"), (x, packed, "none", y[None], "torch.shape"),
                 (x, packed, "none", y.to("meta"), "torch.device"),
                 (integers, of_integers, "none", y.int(), "torch.addend"))
        for a, b, act, addend, rule in cases:
            for call in (ht.linear, lambda *some, **more: _ops._fake(*some[:4], None, None, some[4], **more)):
                with self.assertRaises(heddle.Invalid) as caught:
                    call(a, b, 32, None, act, addend=addend)
                self.assertEqual(caught.exception.rule, rule)

    def test_its_gradient_is_that_of_the_sum(self):
        """Of x, bias and addend, compared with the sum behind the op; each alone and all."""
        w = ht.prune(torch.randn(96, 64))
        packed, values = ht.pack(w), (torch.randn(7, 64), torch.randn(96), torch.randn(7, 96))
        for wanted in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1)):
            grads = []
            for fused in (False, True):
                x, bias, addend = (v.clone().requires_grad_(bool(want)) for v, want in zip(values, wanted))
                y = ht.linear(x, packed, 96, bias, addend=addend) if fused else ht.linear(x, packed, 96, bias) + addend
                y.square().sum().backward()
                grads.append((x.grad, bias.grad, addend.grad))
            for got, want in zip(*grads):
                self.assertEqual(got is None, want is None)
                if want is not None:
                    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-3)

    def test_an_addend_of_a_scaled_product_has_a_gradient(self):
        (qx, sx), (qw, sw) = ht.quantize_rows(torch.randn(3, 64)), ht.quantize_rows(torch.randn(32, 64))
        addend, bias = torch.randn(3, 32).bfloat16().requires_grad_(), torch.zeros(32).requires_grad_()
        ht.scaled_linear(qx, ht.pack(qw), sx, sw, 32, addend=addend).sum().backward()
        self.assertTrue(torch.equal(addend.grad, torch.ones(3, 32).bfloat16()))
        with self.assertRaises(heddle.Invalid) as caught:
            ht.scaled_linear(qx, ht.pack(qw), sx, sw, 32, bias, addend=addend).sum().backward()
        self.assertEqual(caught.exception.rule, "torch.autograd")

    def test_opcheck(self):
        x, packed = torch.randn(7, 256).bfloat16(), ht.pack(torch.randn(96, 256).bfloat16())
        bias, addend = torch.ones(96).bfloat16(), torch.randn(7, 96).bfloat16()
        for op in (torch.ops.heddle.linear, torch.ops.heddle.linear_with_grad):
            for requires_grad in (False, True):
                more = (None, None, "none", None, addend.clone().requires_grad_(requires_grad))
                torch.library.opcheck(op.default, (x.clone().requires_grad_(requires_grad), packed, 96, bias, *more))

    def test_both_forms_have_one_schema(self):
        """The extension's, if there is one, and that of the form in Python."""
        for op in (torch.ops.heddle.linear, torch.ops.heddle.linear_with_grad):
            self.assertEqual(str(op.default._schema), "heddle::" + op.__name__ + _ops._SCHEMA)


class Launches(unittest.TestCase):
    """The form through ctypes on tensors of the host, launched in the simulator."""

    def test_rows_at_any_distance(self):
        torch.manual_seed(8)
        m, k = 72, 96
        w = ht.prune(torch.randn(m, k).bfloat16())
        flat, packed = torch.randn(40 * 100).bfloat16(), ht.pack(w)
        for n, addend, pitch in ((9, flat[:9 * m].view(9, m), m), (9, flat[1:901].view(9, 100)[:, 3:75], 100),
                                 (1, flat[5:5 + m][None], m), (1, flat[:m][None].as_strided((1, m), (1, 1)), m),
                                 (9, flat[:9 * m].view(m, 9).t(), m), (9, flat[:m][None].expand(9, m), m),
                                 (9, flat[:18 * m].view(9, 2 * m)[:, ::2], m), (35, flat[:35 * m].view(7, 5, m), m)):
            x = torch.randn(*addend.shape[:-1], k).bfloat16()
            y, numbers = launch(_ops._launch_form, x, packed, m, None, None, None, "none", None, addend)
            self.assertEqual((numbers["n"], numbers["ldc"]), (n, pitch))
            want = x.double() @ w.double().t() + addend.double()
            torch.testing.assert_close(y.double(), want, rtol=2.0 ** -8, atol=1e-4)

    def test_with_scales_and_bias(self):
        (qx, sx), (qw, sw) = ht.quantize_rows(torch.randn(9, 128)), ht.quantize_rows(ht.prune(torch.randn(72, 128)))
        bias, addend = torch.randn(72), torch.randn(9, 80).bfloat16()[:, :72]
        y, _ = launch(_ops._launch_form, qx, ht.pack(qw), 72, bias, sx, sw, "none", None, addend)
        want = (qx.double() * sx[:, None]) @ (qw.double() * sw[:, None]).t() + bias.double() + addend.double()
        torch.testing.assert_close(y.double(), want, rtol=2.0 ** -8, atol=1e-3)
        y, numbers = launch(_ops._launch_form, qx, ht.pack(qw), 72, bias, sx, sw, "none", None, None)
        self.assertNotIn("ldc", numbers)
        torch.testing.assert_close(y.double(), want - addend.double(), rtol=2.0 ** -8, atol=1e-3)


class Fusion(unittest.TestCase):
    """Additions behind the op that torch.compile makes addends, and those that it must not."""

    def setUp(self):
        torch.manual_seed(7)
        torch._dynamo.reset()
        self.layer = ht.SparseLinear.from_linear(nn.Linear(64, 32).bfloat16()).requires_grad_(False)
        self.h, self.x = torch.randn(6, 64).bfloat16(), torch.randn(6, 32).bfloat16()

    def fused(self, function, *args, dynamic=False):
        """(linear ops with an addend, additions left) of a function's graph after autograd, whose result is compared."""
        counts = []

        def compiler(module, _):
            n = ht.fuse_add(module.graph)
            module.graph.lint()
            module.recompile()
            linear = [node for node in module.graph.nodes if str(node.target).startswith("heddle.linear")]
            counts.append((sum(node.args[-1] is not None and len(node.args) == 9 for node in linear),
                           sum(node.target is torch.ops.aten.add.Tensor for node in module.graph.nodes)))
            self.assertEqual(n, counts[-1][0])
            return make_boxed_func(module.forward)
        want = function(*(arg.clone() for arg in args))
        compiled = torch.compile(function, backend=aot_autograd(fw_compiler=compiler), fullgraph=True, dynamic=dynamic)
        got = compiled(*(arg.clone() for arg in args))
        torch.testing.assert_close(got, want, rtol=2.0 ** -6, atol=2.0 ** -6)
        return counts[0]

    def test_a_residual_becomes_an_addend(self):
        layer, h, x, wide = self.layer, self.h, self.x, torch.randn(6, 40).bfloat16()
        twice = ht.SparseLinear.from_linear(nn.Linear(32, 32).bfloat16()).requires_grad_(False)
        fp8 = ht.SparseLinear.from_linear(nn.Linear(64, 32).bfloat16(), dtype=torch.float8_e4m3fn).requires_grad_(False)
        for dynamic in (False, True):
            for function, residual, want in (
                    (lambda h, x: x + layer(h), x, (1, 0)), (lambda h, x: layer(h) + x, x, (1, 0)),
                    (lambda h, x: torch.add(x, layer(h), alpha=1), x, (1, 0)), (lambda h, x: x + fp8(h), x, (1, 0)),
                    (lambda h, x: x.add_(layer(h)), x, (1, 0)), (lambda h, x: layer(h) + fp8(h), x, (1, 0)),
                    (lambda h, x: x + layer(h) + fp8(h), x, (2, 0)),
                    (lambda h, x: (y := x + layer(h)) + twice(y), x, (2, 0)),
                    (lambda h, x: x + layer(h).view(1, -1, 32), x[None], (1, 0)),
                    (lambda h, x: layer(h.view(2, 3, 64)).view(-1, 32) + x, x, (1, 0)),
                    (lambda h, x: x[:, :32] + layer(h), wide, (1, 0))):
                with self.subTest(want=want, dynamic=dynamic):
                    torch._dynamo.reset()
                    self.assertEqual(self.fused(function, h, residual, dynamic=dynamic), want)

    def test_what_is_no_residual_stays(self):
        layer, h, x = self.layer, self.h, self.x
        act = ht.SparseLinear.from_linear(nn.Linear(64, 32).bfloat16(), act="relu").requires_grad_(False)
        pair = ht.SparseLinear.from_linear(nn.Linear(64, 64).bfloat16(), act="swiglu").requires_grad_(False)
        for function, residual, want in (
                (lambda h, x: torch.add(x, layer(h), alpha=2), x, (0, 1)), (lambda h, x: x + act(h), x, (0, 1)),
                (lambda h, x: x + pair(h), x, (0, 1)), (lambda h, x: (y := layer(h)) + y, x, (0, 1)),
                (lambda h, x: (x + (y := layer(h)), y), x, (0, 1)), (lambda h, x: x + layer(h), x.float(), (0, 1)),
                (lambda h, x: x + layer(h), x[:1], (0, 1)), (lambda h, x: x + layer(h), x[0], (0, 1)),
                (lambda h, x: x.t() + layer(h), x.t().contiguous(), (0, 1)), (lambda h, x: layer(h) + 1, x, (0, 1)),
                (lambda h, x: x + layer(h).view(4, 48), x.view(4, 48), (0, 1)),
                (lambda h, x: (x + (v := layer(h).view(1, 6, 32)), v * 2), x[None], (0, 1)),
                (lambda h, x: (x + (y := layer(h)).view(1, 6, 32), y * 2), x[None], (0, 1)),
                (lambda h, x: x.transpose(0, 1) + layer(h.view(2, 3, 64)), x.view(3, 2, 32), (0, 1)),
                (lambda h, x: layer(h) + x.expand(6, 32), x[:1], (1, 0))):
            with self.subTest(want=want):
                torch._dynamo.reset()
                self.assertEqual(self.fused(function, h, residual), want)

    def test_a_write_in_between_is_not_passed(self):
        for writes in (False, True):
            def function(h, x, packed):
                y = ht.linear(h, packed, 32)
                h.zero_() if writes else h.clone()
                return x + y
            module = make_fx(function, tracing_mode="fake")(self.h.clone(), self.x, self.layer.packed)
            self.assertEqual(ht.fuse_add(module.graph), not writes)

    def test_gradients_of_what_was_fused(self):
        layer, grads = self.layer, []
        for run in (lambda f: f, lambda f: torch.compile(f, backend="inductor", fullgraph=True)):
            h, x = self.h.clone().requires_grad_(), self.x.clone().requires_grad_()
            run(lambda h, x: (x + layer(h)).float().square().sum())(h, x).backward()
            grads.append((h.grad, x.grad))
        for got, want in zip(*grads):
            torch.testing.assert_close(got, want, rtol=3e-2, atol=3e-2)

    def code_of(self, function, *args):
        """What Inductor writes: how many ops with an addend, and whether there is a kernel of its own."""
        torch._dynamo.reset()
        with torch.no_grad(), fresh_inductor_cache():
            _, (code, *_) = run_and_get_code(torch.compile(function, fullgraph=True), *args)
        with_addend = r"torch.ops.heddle.linear.default\(.*'none', (?:None|torch\.\w+), (?!addend|None)"
        return len(re.findall(with_addend, code)), "cpp_fused" in code

    def test_inductor_calls_the_pass_by_itself(self):
        """In one thread, and in one that has not compiled before; not if it is off; behind a pass of the user's."""
        def function(h, x):
            return x + self.layer(h)
        config.post_grad_custom_post_pass = None
        self.assertEqual(self.code_of(function, self.h, self.x), (1, False))
        with ThreadPoolExecutor(1) as pool:
            self.assertEqual(pool.submit(self.code_of, function, self.h, self.x).result(), (1, False))
        own = config.post_grad_custom_post_pass
        key = own.uuid()
        ht.settings["fuse_add"] = False
        try:
            self.assertNotEqual(own.uuid(), key)
            self.assertEqual(self.code_of(function, self.h, self.x), (0, True))
        finally:
            ht.settings["fuse_add"] = True
        seen = []
        config.post_grad_custom_post_pass = lambda graph: seen.append(len(graph.nodes))
        try:
            self.assertEqual(self.code_of(function, self.h, self.x), (1, False))
        finally:
            config.post_grad_custom_post_pass = None
        self.assertTrue(seen)

    def test_passes_that_run_before(self):
        """In a torch whose hook is one pass: it is called first, and is part of the key of the caches."""
        FuseAdd = _passes._pass_class()
        seen = []
        self.assertIsNone(FuseAdd(seen.append).uuid())
        both = FuseAdd(FuseAdd(seen.append))
        both(torch.fx.Graph())
        self.assertEqual(len(seen), 1)
        self.assertNotEqual(FuseAdd(FuseAdd()).uuid(), FuseAdd().uuid())


if __name__ == "__main__":
    unittest.main()

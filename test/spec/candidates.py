"""Candidate instructions for the comparison with ptxas: legal ones and near misses, enumerated from shapes,
types and modifiers, not from specs/. Each is (text, selector or None, operands)."""
import itertools

F8F6F4 = ["e4m3", "e5m2", "e3m2", "e2m3", "e2m1"]
FLOAT_PAIRS = [("f16", "f16"), ("bf16", "bf16"), ("f16", "bf16"), ("tf32", "tf32")]
INT_PAIRS = [(a, b) for t in ("8", "4") for a in ("s" + t, "u" + t) for b in ("s" + t, "u" + t)]
FP8_PAIRS = list(itertools.product(F8F6F4, F8F6F4))
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4}


def regs(letter, n):
    return "{" + ",".join(letter + str(i) for i in range(max(1, n))) + "}"


def accumulators(dtype, n_f32):
    return regs("f", n_f32) if dtype == "f32" else regs("r", n_f32 // (2 if dtype == "f16" else 1))


def mma_operands(k, d, a, b, selector, packed=False):
    a_regs = k * (4 if packed else BITS.get(a, 8)) // 128
    b_regs = k * (4 if packed else BITS.get(b, 8)) // 128
    acc = accumulators(d, 4)
    return f"{acc},{regs('r', a_regs)},{regs('r', b_regs)},{acc},r0,{selector}"


def mma_sp():
    pairs = FLOAT_PAIRS + INT_PAIRS + [("s8", "s4")] + FP8_PAIRS
    for variant, k, d, (a, b) in itertools.product(("mma.sp", "mma.sp::ordered_metadata"),
                                                   (8, 16, 32, 64, 128), ("f16", "f32", "s32"),
                                                   pairs):
        head = f"{variant}.sync.aligned.m16n8k{k}.row.col"
        likely = (d == "s32") == (a[0] in "su")
        fits = k * BITS.get(a, 8) in (256, 512)
        # All selectors if the types fit, otherwise one; satfinite on integers and one float.
        for sel in (range(5) if likely and fits else (0,)):
            yield (f"{head}.{d}.{a}.{b}.{d}", sel, mma_operands(k, d, a, b, sel))
        if a[0] in "su" or (a, b) == ("f16", "f16"):
            yield (f"{head}.satfinite.{d}.{a}.{b}.{d}", 0, mma_operands(k, d, a, b, 0))
        if a in F8F6F4 and k in (32, 64, 128) and d != "s32":
            yield (f"{head}.kind::f8f6f4.{d}.{a}.{b}.{d}", 0, mma_operands(k, d, a, b, 0))
        if a in F8F6F4 and k == 64 and d != "s32":  # kinds that only other instructions have
            for kind in ("mxf8f6f4", "mxf4", "mxf4nvf4", "f16", "tf32", "i8"):
                yield (f"{head}.kind::{kind}.{d}.{a}.{b}.{d}", 0, mma_operands(k, d, a, b, 0))
        if (a, b) == ("f16", "f16") and d != "s32":  # D and C of different types
            c = "f32" if d == "f16" else "f16"
            text = f"{head}.{d}.f16.f16.{c}"
            ops = f"{accumulators(d, 4)},{regs('r', k // 8)},{regs('r', k // 8)},{accumulators(c, 4)},r0,0"
            yield (text, 0, ops)


def mma_sp_scaled():
    vecs = ("", ".scale_vec::1X", ".scale_vec::2X", ".scale_vec::4X")
    for variant, kind, vec, stype in itertools.product(
            ("mma.sp", "mma.sp::ordered_metadata"), ("f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4"),
            vecs, ("ue8m0", "ue4m3")):
        for k, (a, b) in itertools.product((64, 128), FP8_PAIRS):
            if kind.startswith("mxf4") and (a, b) not in (("e2m1", "e2m1"), ("e4m3", "e4m3")):
                continue
            text = (f"{variant}.sync.aligned.m16n8k{k}.row.col.kind::{kind}.block_scale{vec}"
                    f".f32.{a}.{b}.f32.{stype}")
            for sel in (0, 1) if (a, b) == ("e2m1", "e2m1") else (0,):
                ops = mma_operands(k, "f32", a, b, sel, kind.startswith("mxf4"))
                yield (text, sel, ops + ",r0,{0,0},r1,{0,0}")


def wgmma_immediates(a):
    if a[0] in "su":
        return ""
    return ",1,1,0,0" if a in ("f16", "bf16") else ",1,1"


def wgmma_sp():
    pairs = FLOAT_PAIRS + INT_PAIRS[:4] + [("s4", "s4")] + list(
        itertools.product(F8F6F4[:2], F8F6F4[:2])) + [("e2m1", "e2m1")]
    for d, (a, b), k in itertools.product(("f16", "f32", "s32"), pairs, (16, 32, 64, 128)):
        near = k * BITS.get(a, 8) == 512
        for n in ([4, 12] + list(range(8, 273, 8)) if near else (8, 64, 256)):
            acc = accumulators(d, max(n // 2, 2))
            text = f"wgmma.mma_async.sp.sync.aligned.m64n{n}k{k}"
            for sel in (range(4) if near and n in (8, 64) else (0,)):
                yield (f"{text}.{d}.{a}.{b}", sel,
                       f"{acc},l0,l1,r0,{sel},p0{wgmma_immediates(a)}")
            if n in (8, 40, 64) and (a[0] in "su" or near):
                yield (f"{text}.satfinite.{d}.{a}.{b}", 0, f"{acc},l0,l1,r0,0,p0{wgmma_immediates(a)}")


def matrix_moves():
    types = ("b16", "b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64")
    for op, shape, num, trans, space, typ in itertools.product(
            ("ldmatrix", "stmatrix"), ("m8n8", "m8n16", "m16n16", "m16n8"), (1, 2, 4),
            ("", ".trans"), ("", ".shared", ".shared::cta"), types):
        n = 2 * num if shape == "m16n16" else num
        address = "[l0]" if space == "" else "[r9]"
        data = regs("r", n)
        text = f"{op}.sync.aligned.{shape}.x{num}{trans}{space}.{typ}"
        yield (text, None, f"{data},{address}" if op == "ldmatrix" else f"{address},{data}")


def tcgen05_mma_sp():
    kinds = ("f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4")
    scales = ("", ".block_scale", ".block_scale.scale_vec::1X", ".block_scale.scale_vec::2X",
              ".block_scale.scale_vec::4X", ".block_scale.block16", ".block_scale.block32")
    collectors = ("", ".collector::a::fill", ".collector::a::use", ".collector::a::lastuse",
                  ".collector::a::discard")
    for cta, kind, scale, shift, collector in itertools.product((1, 2), kinds, scales,
                                                                ("", ".ashift"), collectors):
        if shift and scale:
            continue  # no scaled form has .ashift; a near miss follows below
        scaled = ",[r3],[r4]" if scale else ""
        a = "[r1]" if shift else "l0"
        text = f"tcgen05.mma.sp.cta_group::{cta}.kind::{kind}{scale}{shift}{collector}"
        yield (text, None, f"[r0],{a},l1,[r2],r5{scaled},p0")


SPACES = {"": "[l0]", ".shared": "[r0]", ".shared::cta": "[r0]", ".shared::cluster": "[r0]"}


def mbarriers():
    orders = [""] + [f".{o}.{s}" for o in ("release", "acquire", "relaxed") for s in ("cta", "cluster")]
    for space, at in SPACES.items():
        state = "_" if "cluster" in space else "l1"
        yield (f"mbarrier.init{space}.b64", None, f"{at},r1")
        yield (f"mbarrier.inval{space}.b64", None, at)
        yield (f"mbarrier.pending_count{space}.b64", None, "r0,l1")
        for inc in ("", ".noinc", ".inc"):
            yield (f"cp.async.mbarrier.arrive{inc}{space}.b64", None, at)
        for order in orders:
            for op in ("arrive", "arrive_drop"):
                yield (f"mbarrier.{op}{order}{space}.b64", None, f"{state},{at}")
                yield (f"mbarrier.{op}.expect_tx{order}{space}.b64", None, f"{state},{at},r1")
                yield (f"mbarrier.{op}.noComplete{order}{space}.b64", None, f"{state},{at},r1")
            for op in ("expect_tx", "complete_tx"):
                yield (f"mbarrier.{op}{order}{space}.b64", None, f"{at},r1")
            for op in ("try_wait", "test_wait"):
                yield (f"mbarrier.{op}{order}{space}.b64", None, f"p0,{at},l1")
                yield (f"mbarrier.{op}.parity{order}{space}.b64", None, f"p0,{at},r1")


def barriers():
    for word, order, aligned in itertools.product(
            ("arrive", "wait"), ("", ".release", ".acquire", ".relaxed"), ("", ".aligned")):
        yield (f"barrier.cluster.{word}{order}{aligned}", None, "")
    for name, cta, op, aligned in itertools.product(("bar", "barrier"), ("", ".cta"),
                                                    ("sync", "arrive"), ("", ".aligned")):
        yield (f"{name}{cta}.{op}{aligned}", None, "1,128")


def others():
    """Copies, groups, barriers: one line each, and a near miss of each family."""
    fixed = {
        "cp.async.commit_group": "", "cp.async.wait_group": "0", "cp.async.wait_all": "",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes": "[r0],[l0],r1,[r2]",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster":
            "[r0],[l0],r1,[r2],h0",
        "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes": "[r0],[l0],r1,[r2]",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes":
            "[r0],[r3],r1,[r2]",
        "cp.async.bulk.global.shared::cta.bulk_group": "[l0],[r0],r1",
        "cp.async.bulk.prefetch.L2.global": "[l0],r1",
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint": "[l0],[r0],r1,l1",
        "cp.async.bulk.prefetch.L2.global.L2::cache_hint": "[l0],r1,l1",
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.L2::cache_hint":
            "[r0],[r3],r1,[r2],l1",
        "cp.async.bulk.wait_group.L2::cache_hint": "0",
        "cp.async.bulk.global.shared::cta.bulk_group.cp_mask": "[l0],[r0],r1,h0",
        "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask": "[l0],[r0],r1,l1,h0",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.cp_mask":
            "[r0],[l0],r1,[r2],h0",
        "cp.async.bulk.commit_group": "", "cp.async.bulk.wait_group": "0",
        "cp.async.bulk.wait_group.read": "0",
        "wgmma.fence.sync.aligned": "", "wgmma.commit_group.sync.aligned": "",
        "wgmma.wait_group.sync.aligned": "0",
        "fence.proxy.async": "", "fence.proxy.async.shared::cta": "",
        "fence.proxy.async.shared::cluster": "", "fence.proxy.async.global": "",
        "fence.mbarrier_init.release.cluster": "",
        "griddepcontrol.wait": "", "griddepcontrol.launch_dependents": "",
        "setmaxnreg.inc.sync.aligned.u32": "240", "setmaxnreg.dec.sync.aligned.u32": "40",
        "tcgen05.wait::ld.sync.aligned": "", "tcgen05.wait::st.sync.aligned": "",
        "tcgen05.fence::before_thread_sync": "", "tcgen05.fence::after_thread_sync": "",
        # near misses
        "cp.async.cb.shared.global": "[r0],[l0],16", "wgmma.fence.sync": None,
        "fence.proxy.sync": "", "mbarrier.init.global.b64": "[l0],r1",
        "cp.async.bulk.wait_group.write": "0",
        "griddepcontrol.arrive": "", "setmaxnreg.set.sync.aligned.u32": "240",
        "tcgen05.wait::mma.sync.aligned": "",
    }
    for text, ops in fixed.items():
        if ops is not None:
            yield (text, None, ops)
    yield from mbarriers()
    yield from barriers()
    yield from fences()
    yield from cp_async()


def vector(register, n):
    return "{" + ",".join([register] * n) + "}"


def tensor_operands(mode, rank):
    """Coordinates, im2col offsets."""
    coords = vector("r1", 5 if mode.endswith("4") else rank)
    n = 2 if "::w" in mode else rank - 2 if mode == ".im2col" else 0
    return coords, "," + vector("h1", n) if n > 0 else ""


def tensor_loads():
    modes = ("", ".tile", ".im2col", ".im2col::w", ".im2col::w::128", ".tile::gather4",
             ".tile::scatter4", ".im2col_no_offs")
    groups = ("", ".cta_group::1", ".cta_group::2", ".cta_group::3")
    for mode, rank, (space, mask), group, hint in itertools.product(
            modes, range(1, 7), ((".shared::cluster", ""), (".shared::cta", ""),
                                 (".shared::cluster", ".multicast::cluster"),
                                 (".shared::cta", ".multicast::cluster")),
            groups, ("", ".L2::cache_hint")):
        if (group and rank not in (1, 2, 3)) or (hint and (rank != 3 or group == groups[1])):
            continue  # adds nothing
        coords, offsets = tensor_operands(mode, rank)
        yield (f"cp.async.bulk.tensor.{rank}d{space}.global{mode}.mbarrier::complete_tx::bytes"
               f"{mask}{group}{hint}", None,
               f"[r0],[l0,{coords}],[r2]{offsets}{',h0' if mask else ''}{',l1' if hint else ''}")


def tensor_stores():
    for mode, rank, hint in itertools.product(
            ("", ".tile", ".im2col", ".im2col_no_offs", ".tile::scatter4", ".tile::gather4"),
            range(1, 7), ("", ".L2::cache_hint")):
        coords, _ = tensor_operands(mode, rank)
        yield (f"cp.async.bulk.tensor.{rank}d.global.shared::cta{mode}.bulk_group{hint}", None,
               f"[l0,{coords}],[r0]{',l1' if hint else ''}")
    for mode, rank, hint in itertools.product(
            ("", ".tile", ".im2col", ".im2col::w", ".im2col::w::128", ".tile::gather4",
             ".tile::scatter4"), range(1, 7), ("", ".L2::cache_hint")):
        coords, offsets = tensor_operands(mode, rank)
        yield (f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global{mode}{hint}", None,
               f"[l0,{coords}]{offsets}{',l1' if hint else ''}")


def cp_async():
    for (cache, n), space, hint, size in itertools.product(
            (("ca", 4), ("cg", 16)), (".shared", ".shared::cta", ".shared::cluster", ""),
            ("", ".L2::cache_hint"), ("", ".L2::64B", ".L2::128B", ".L2::256B", ".L2::32B")):
        yield (f"cp.async.{cache}{space}.global{hint}{size}", None,
               f"[{'r0' if space else 'l0'}],[l0],{n}{',l1' if hint else ''}")


def fences():
    for order, scope in itertools.product(("", ".acq_rel", ".sc", ".acquire", ".release", ".relaxed"),
                                          ("cta", "cluster", "gpu", "sys", "sm")):
        yield (f"fence{order}.{scope}", None, "")
    for proxy, order, space, scope in itertools.product(
            ("", ".proxy.async::generic"), ("acquire", "release", "acq_rel"), ("cta", "cluster"),
            ("cta", "cluster", "gpu")):
        yield (f"fence{proxy}.{order}.sync_restrict::shared::{space}.{scope}", None, "")
    for order, scope in itertools.product(("acquire", "release", "acq_rel"),
                                          ("cta", "cluster", "gpu", "sys", "sm")):
        yield (f"fence.proxy.tensormap::generic.{order}.{scope}", None,
               "[l0],128" if order == "acquire" else "")
    for text in ("fence.proxy.alias", "fence.proxy.tensormap", "fence.mbarrier_init.release.cta",
                 "fence.mbarrier_init.acquire.cluster", "fence.proxy.async.release"):
        yield (text, None, "")


def tensor_memory():
    for cg in (1, 2, 3):
        g = f".cta_group::{cg}"
        for space, at in (("", "[l0]"), (".shared", "[r0]"), (".shared::cta", "[r0]"),
                          (".shared::cluster", "[r0]")):
            yield (f"tcgen05.alloc{g}.sync.aligned{space}.b32", None, f"{at},32")
            for mask in ("", ".multicast::cluster"):
                yield (f"tcgen05.commit{g}.mbarrier::arrive::one{space}{mask}.b64", None,
                       at + (",h0" if mask else ""))
        yield (f"tcgen05.dealloc{g}.sync.aligned.b32", None, "r0,32")
        yield (f"tcgen05.relinquish_alloc_permit{g}.sync.aligned", None, "")
        yield (f"tcgen05.shift{g}.down", None, "[r0]")
        for shape, fmt in itertools.product(
                ("128x256b", "4x256b", "128x128b", "64x128b.warpx2::02_13", "64x128b.warpx2::01_23",
                 "32x128b.warpx4", "64x128b", "32x128b.warpx2::02_13"),
                ("", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64", ".b6x16_p32")):
            yield (f"tcgen05.cp{g}.{shape}{fmt}", None, "[r0],l0")
    per_num = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1, "16x32bx2": 1, "64x32b": 1}
    for shape, num, pack in itertools.product(per_num, (1, 2, 3, 4, 8, 16, 32, 64, 128, 256),
                                              ("", ".pack::16b", ".unpack::16b")):
        data = regs("r", per_num[shape] * num)
        split = ",4" if shape == "16x32bx2" else ""
        yield (f"tcgen05.ld.sync.aligned.{shape}.x{num}{pack}.b32", None, f"{data},[r0]{split}")
        yield (f"tcgen05.st.sync.aligned.{shape}.x{num}{pack}.b32", None, f"[r0]{split},{data}")


def moved(text):
    """Moves one qualifier to another position."""
    words = text.split(".")
    for i, j in itertools.product(range(1, len(words)), repeat=2):
        if i != j:
            rest = words[:i] + words[i + 1:]
            yield ".".join(rest[:j] + [words[i]] + rest[j:])


def shortened(text):
    """Removes one qualifier, for instructions whose operands do not depend on it."""
    words = text.split(".")
    return (".".join(words[:i] + words[i + 1:]) for i in range(1, len(words)))


def spellings():
    shortened_too = [
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 0,
         mma_operands(32, "f32", "f16", "f16", 0)),
        ("mma.sp.sync.aligned.m16n8k64.row.col.satfinite.s32.u8.s8.s32", 0,
         mma_operands(64, "s32", "u8", "s8", 0)),
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", 0,
         mma_operands(64, "f32", "e2m1", "e3m2", 0)),
        ("wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16", 0,
         "{f0,f1,f2,f3,f4,f5,f6,f7},l0,l1,r0,0,p0,1,1,0,0"),
        ("wgmma.mma_async.sp.sync.aligned.m64n8k64.satfinite.s32.s8.u8", 0,
         "{r0,r1,r2,r3},l0,l1,r4,0,p0"),
        ("wgmma.fence.sync.aligned", None, ""), ("wgmma.commit_group.sync.aligned", None, ""),
        ("wgmma.wait_group.sync.aligned", None, "0"),
        ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", None, "{r0,r1,r2,r3},[r4]"),
    ]
    load = "cp.async.bulk.tensor.2d.shared::cluster.global"
    done = ".mbarrier::complete_tx::bytes"
    moved_only = [
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale.f32.e4m3"
         ".e5m2.f32.ue8m0", 0, mma_operands(64, "f32", "e4m3", "e5m2", 0) + ",r0,{0,0},r1,{0,0}"),
        ("stmatrix.sync.aligned.m8n8.x2.shared::cta.b16", None, "[r4],{r0,r1}"),
        ("tcgen05.mma.sp.cta_group::1.kind::f16.ashift.collector::a::lastuse", None,
         "[r0],[r1],l1,[r2],r5,p0"),
        ("tcgen05.mma.sp.cta_group::2.kind::mxf8f6f4.block_scale.block32.collector::a::fill", None,
         "[r0],l0,l1,[r2],r5,[r3],[r4],p0"),
        (load + done + ".multicast::cluster.cta_group::2.L2::cache_hint", None,
         "[r0],[l0,{r1,r1}],[r2],h0,l1"),
        (load + ".tile" + done, None, "[r0],[l0,{r1,r1}],[r2]"),
        ("cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs.bulk_group", None,
         "[l0,{r1,r1,r1}],[r0]"),
        ("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4", None, "[l0,{r1,r1,r1,r1,r1}]"),
        ("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask", None,
         "[l0],[r0],r1,l1,h0"),
        ("cp.async.bulk.wait_group.read", None, "0"),
        ("cp.async.ca.shared::cta.global.L2::cache_hint.L2::128B", None, "[r0],[l0],4,l1"),
        ("cp.async.mbarrier.arrive.noinc.shared.b64", None, "[r0]"),
        ("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64", None, "l1,[r0],r1"),
        ("mbarrier.arrive.noComplete.release.cta.b64", None, "l1,[l0],r1"),
        ("mbarrier.try_wait.parity.acquire.cluster.shared.b64", None, "p0,[r0],r1"),
        ("barrier.cluster.arrive.release.aligned", None, ""),
        ("barrier.cta.sync.aligned", None, "1,128"), ("barrier.arrive.aligned", None, "1,128"),
        ("fence.acq_rel.gpu", None, ""), ("fence.proxy.async.shared::cta", None, ""),
        ("fence.release.sync_restrict::shared::cta.cluster", None, ""),
        ("setmaxnreg.inc.sync.aligned.u32", None, "240"),
        ("tcgen05.ld.sync.aligned.16x64b.x2.pack::16b.b32", None, "{r0,r1},[r2]"),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", None, "[r0],32"),
        ("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64",
         None, "[r0],h0"),
        ("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16.b6x16_p32", None, "[r0],l0"),
    ]
    seen = {text for text, _, _ in moved_only}  # candidates of other families
    for text, selector, operands in shortened_too + moved_only:
        short = () if text in seen else shortened(text)
        for other in itertools.chain(moved(text), short):
            if other not in seen:
                seen.add(other)
                yield (other, selector, operands)


FAMILIES = {"spellings": spellings, "mma.sp": mma_sp, "mma.sp scaled": mma_sp_scaled, "wgmma.sp": wgmma_sp,
            "ldmatrix, stmatrix": matrix_moves, "tcgen05.mma.sp": tcgen05_mma_sp,
            "copies, sync": others, "tensor loads": tensor_loads, "tensor stores": tensor_stores,
            "tensor memory": tensor_memory}

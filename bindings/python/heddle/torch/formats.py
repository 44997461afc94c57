"""Prune and pack on whatever device a weight is on: docs/format.md as tensor operations.

Bit for bit what heddle_sparse_prune and heddle_sparse_pack_dense make on the host (test/python/test_torch.py). On a GPU a
kernel packs (heddle_pack_device); tensor operations do where a graph is captured before the kernel is there."""
import torch

from ..errors import invalid

# A packed type: the tensor's dtype, elements of a group, kept of it, the largest finite magnitude's bits of a float.
_TYPES = {
    torch.bfloat16: ("bf16", 4, 2), torch.float16: ("f16", 4, 2), torch.float32: ("tf32", 2, 1),
    torch.float8_e4m3fn: ("e4m3", 4, 2), torch.float8_e5m2: ("e5m2", 4, 2), torch.int8: ("s8", 4, 2),
}
# Bits of a magnitude that count, and the bits of infinity: all that lies above is a NaN.
_MAGNITUDES = {"bf16": (torch.int16, 0x7fff, 0x7f80), "f16": (torch.int16, 0x7fff, 0x7c00),
               "tf32": (torch.int32, 0x7fffe000, 0x7f800000), "e4m3": (torch.uint8, 0x7f, 0x7e),
               "e5m2": (torch.uint8, 0x7f, 0x7c)}
_CODES = {(0, 1): 0x4, (0, 2): 0x8, (1, 2): 0x9, (0, 3): 0xc, (1, 3): 0xd, (2, 3): 0xe}
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32}  # which hold the bits of an element of so many bytes
BLOCK_ROWS = 64


def type_of(dtype):
    """The element type of a tensor's dtype: "bf16" of torch.bfloat16, "tf32" of torch.float32."""
    if dtype not in _TYPES:
        raise invalid("torch.dtype", f"got {dtype}", ", ".join(map(str, _TYPES)))
    return _TYPES[dtype][0]


def dtype_of(type):
    """The dtype whose tensors hold a type's weights."""
    return next(dtype for dtype, row in _TYPES.items() if row[0] == type)


def magnitudes(weight):
    """Integers that order elements as pruning does: by magnitude, every NaN alike and above infinity."""
    type = type_of(weight.dtype)
    if type == "s8":
        return weight.to(torch.int16).abs()
    integer, mask, infinity = _MAGNITUDES[type]
    bits = weight.contiguous().view(integer).to(torch.int32) & mask
    return bits.clamp_max(infinity + 1)


def _keep(key, kept):
    """key [..., group]: which elements stay: those that fewer than `kept` others beat, ties to the lower index."""
    group = key.shape[-1]
    beaten = torch.zeros(key.shape, dtype=torch.uint8, device=key.device)
    for i in range(group):
        for j in range(i):
            first = key[..., j] >= key[..., i]  # the lower index wins a tie
            beaten[..., i] += first
            beaten[..., j] += ~first
    return beaten < kept


def _check_groups(weight, group):
    if weight.dim() != 2 or weight.shape[1] % group or 0 in weight.shape:
        raise invalid("sparse.shape", f"got a weight of shape {tuple(weight.shape)}",
                      f"out_features x in_features, in_features a multiple of {group}")


def _groups(weight, group):
    _check_groups(weight, group)
    return weight.reshape(weight.shape[0], -1, group)


def mask_of(weight, scores=None):
    """The mask that pruning makes: True where an element stays. scores: of the same shape, in the place of magnitudes
    (the largest stay; NaN counts as largest)."""
    _, group, kept = _TYPES[weight.dtype] if weight.dtype in _TYPES else (type_of(weight.dtype),)
    if scores is None:
        key = magnitudes(weight)
    elif scores.shape == weight.shape:
        key = torch.nan_to_num(scores.float(), nan=float("inf"), posinf=float("inf"), neginf=float("-inf"))
    else:
        raise invalid("sparse.scores", f"got scores of shape {tuple(scores.shape)}", f"{tuple(weight.shape)}")
    return _keep(_groups(key, group), kept).reshape(weight.shape)


def two_way_mask(weight):
    """A mask that is 2:4 along rows and along columns, so that the transposed weight is 2:4, too: of the 90 patterns of a
    4 x 4 tile the one whose magnitudes have the largest sum. Sums are of float32; a NaN counts as infinity. On a GPU a kernel
    chooses for 16-bit elements."""
    _check_two_way(weight)
    if _has_a_kernel(weight):
        out, twin = (torch.empty(packed_bytes(*size, weight.dtype), dtype=torch.uint8, device=weight.device)
                     for size in (weight.shape, weight.shape[::-1]))
        mask = torch.empty(weight.shape, dtype=torch.bool, device=weight.device)
        if _pack_two_way_on_device(weight, out, twin, mask):
            return mask
    rows, columns = weight.shape
    tiles = weight.float().abs().nan_to_num(float("inf"), float("inf")).reshape(rows // 4, 4, columns // 4, 4)
    tiles = tiles.permute(0, 2, 1, 3).reshape(-1, 4, 4)
    mask = torch.cat([_choose_two_way(some) for some in tiles.split(_TILES_AT_ONCE)])
    return mask.reshape(rows // 4, columns // 4, 4, 4).permute(0, 2, 1, 3).reshape(rows, columns)


_TILES_AT_ONCE = 1 << 18  # of a two-way mask: 240 MB of sums


def _check_two_way(weight):
    rows, columns = weight.shape
    if weight.dtype not in _TYPES or weight.dtype == torch.float32 or rows % 4 or columns % 4:
        raise invalid("sparse.two-way", f"got {weight.dtype} of {rows} x {columns}", "16- or 8-bit, multiples of 4")


# Pairs of columns, each with the other two (lib/Layout/two_way.h). ORDER TWO-WAY
_PAIRS = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2), (1, 2, 0, 3), (1, 3, 0, 2), (2, 3, 0, 1))


def _larger(sums, patterns):
    """The largest sum and its pattern, of equal ones the first: [n, i] and [i, 4, 4] or [n, i, 4, 4] to [n], [n, 4, 4]."""
    best = sums.max(-1)
    if patterns.dim() == 3:
        return best.values, patterns[best.indices]
    return best.values, patterns.gather(1, best.indices[:, None, None, None].expand(-1, 1, 4, 4))[:, 0]


def _pattern(device, *columns):
    """[4, 4]: the columns of each row."""
    return torch.tensor([[c in row for c in range(4)] for row in columns], device=device)


def _half(x, y, rows):
    """Of two rows of tiles: both [n, 4]; for each pair the larger of the two orders, and the largest crossed sum, with their
    patterns. rows: puts the columns of the two rows into a pattern."""
    one = x[:, :, None] + y[:, None, :]
    once = [_larger(torch.stack((one[:, a, b], one[:, b, a]), -1), torch.stack((rows((a,), (b,)), rows((b,), (a,)))))
            for a, b, _, _ in _PAIRS]
    cross = _larger(torch.stack([one[:, a, c] + one[:, b, d] for a, b, c, d in _PAIRS], -1),
                    torch.stack([rows((a, b), (c, d)) for a, b, c, d in _PAIRS]))
    return one.diagonal(dim1=1, dim2=2), once, cross


def _choose_two_way(tiles):
    """The mask [n, 4, 4] of tiles of magnitudes: the pattern with the largest sum."""
    def upper(*two):
        return _pattern(tiles.device, *two, (), ())

    def lower(*two):
        return _pattern(tiles.device, (), (), *two)
    both, once, cross = _half(tiles[:, 0], tiles[:, 1], upper)
    both_l, once_l, cross_l = _half(tiles[:, 2], tiles[:, 3], lower)
    sums, patterns = [cross[0] + cross_l[0]], [cross[1] | cross_l[1]]
    for (_, _, a, d), first, second in zip(_PAIRS, once, once_l):
        orders = [_pattern(tiles.device, (x,), (x,), (y,), (y,)) for x, y in ((a, d), (d, a))]
        twice = _larger(torch.stack((both[:, a] + both_l[:, d], both[:, d] + both_l[:, a]), -1), torch.stack(orders))
        sums.append((first[0] + second[0]) + twice[0])
        patterns.append(first[1] | second[1] | twice[1])
    for a, b, c, d in _PAIRS:
        sums.append((both[:, a] + both[:, b]) + (both_l[:, c] + both_l[:, d]))
        patterns.append(_pattern(tiles.device, (a, b), (a, b), (c, d), (c, d)).expand(len(tiles), 4, 4))
    return _larger(torch.stack(sums, -1), torch.stack(patterns, 1))[1]


def prune(weight, scores=None):
    """A pruned copy: 2:4 (1:2 of float32, for tf32) by magnitude, or by scores."""
    return torch.where(mask_of(weight, scores), weight, torch.zeros((), dtype=weight.dtype, device=weight.device)) \
        if weight.element_size() > 1 else (weight.view(torch.uint8) * mask_of(weight, scores)).view(weight.dtype)


def is_sparse(weight):
    """Whether each group has few enough non-zeros to be packed."""
    _, group, kept = _TYPES[weight.dtype]
    return bool((_groups(magnitudes(weight) != 0, group).sum(-1) <= kept).all())


def compress(weight):
    """(values [m, k/2], codes [m, bytes] as uint8) of a weight that is sparse already: the canonical form. A group with
    more non-zeros than may stay loses its smallest."""
    type, group, kept = _TYPES[weight.dtype]
    m, k = weight.shape
    key = _groups(magnitudes(weight), group)
    keep = _keep(key, kept)
    integer = _INTEGERS[weight.element_size()]
    bits = torch.where(key != 0, _groups(weight.contiguous().view(integer), group), 0)
    place = torch.arange(group, device=weight.device, dtype=torch.uint8)
    if kept == 1:  # tf32: the code says which two halves: 4 or e
        second = keep[..., 1]
        values = torch.where(second, bits[..., 1], bits[..., 0])
        codes = torch.where(second, 0xe, 0x4).to(torch.uint8)
    else:
        order = torch.where(keep, place, place + group).sort(-1).indices[..., :2]  # kept first, ascending
        values = bits.gather(-1, order).reshape(m, -1)
        codes = (order[..., 0] | order[..., 1] << 2).to(torch.uint8)
    codes = codes.reshape(m, -1)
    if codes.shape[1] % 2:
        codes = torch.nn.functional.pad(codes, (0, 1))
    return values.reshape(m, -1).view(weight.dtype), codes[:, 0::2] | codes[:, 1::2] << 4


def _blocks(m, k, element_bytes):
    """(slabs, k_blocks, code bytes of a k-block's row) of a matrix."""
    k_of_granule = 128 // element_bytes
    return -(-m // BLOCK_ROWS), -(-k // k_of_granule), 16 if element_bytes == 1 else 8


def packed_bytes(m, k, dtype):
    slabs, k_blocks, code_bytes = _blocks(m, k, dtype.itemsize)
    return slabs * k_blocks * (4096 + 64 * code_bytes)


def _value_blocks(values, slabs, k_blocks):
    """[slabs * 64, k_blocks * 64 bytes' worth] in the order of blocks: rows of 8 x k-block x k-step x half x 16 bytes ->
    k-step, rows of 8, half, row, 16 bytes."""
    chunk = values.shape[1] // k_blocks // 4
    return values.view(slabs, 8, 8, k_blocks, 2, 2, chunk).permute(0, 3, 4, 1, 5, 2, 6).reshape(slabs, k_blocks, -1)


def pair_rows(weight):
    """Rows of gate, then of up, as kernels with an act of pairs have them: 8 of gate, 8 of up, in turn."""
    m = weight.shape[0]
    if m % 16:
        raise invalid("sparse.pair", f"got {m} rows of gate and up", "a multiple of 16", f"{m + -m % 16}")
    return weight.reshape(2, m // 16, 8, -1).transpose(0, 1).reshape(weight.shape)


def unpair_rows(weight):
    """The inverse of pair_rows."""
    return weight.reshape(weight.shape[0] // 16, 2, 8, -1).transpose(0, 1).reshape(weight.shape)


def _has_memory(weight):
    """False for a tensor that only stands for one (FakeTensor), and while a graph is made."""
    return type(weight) in (torch.Tensor, torch.nn.Parameter) and not torch.compiler.is_compiling()


def pack(weight, pair=False, transposed=False, out=None):
    """The packed bytes (uint8) of a weight, on its own device: what `linear` takes. It is pruned by magnitude where it is
    not sparse already. pair: its rows are gate, then up (an act of pairs). transposed: the bytes of weight.t().
    out: a tensor that takes them."""
    if pair:
        return pack(pair_rows(weight.contiguous().view(_INTEGERS[weight.element_size()])).view(weight.dtype), out=out)
    group = _TYPES[weight.dtype][1] if weight.dtype in _TYPES else type_of(weight.dtype)
    _check_groups(weight.t() if transposed and weight.dim() == 2 else weight, group)
    if not _has_memory(weight):
        packed = torch.ops.heddle.pack(weight, transposed)  # a tensor that only stands for one, or a graph
        return packed if out is None else out.copy_(packed)
    return pack_now(weight, transposed, out)


def pack_now(weight, transposed=False, out=None):
    """By a kernel where there is one, else by tensor operations."""
    from . import _plans  # which needs this module
    packed = _plans.pack_on_device(weight, transposed, out) if weight.is_cuda else None
    if packed is None:
        packed = _pack_by_tensors(weight.t().contiguous() if transposed else weight)
        packed = packed if out is None else out.copy_(packed)
    _plans.weights_written(packed)
    return packed


def pack_with_twin(weight, out, twin):
    """Writes the packed bytes of a weight to `out`, and those of weight.t() to `twin`. On a GPU one kernel reads a weight of
    16-bit elements once for both."""
    from . import _plans  # which needs this module
    group = _TYPES[weight.dtype][1] if weight.dtype in _TYPES else type_of(weight.dtype)
    _check_groups(weight, group), _check_groups(weight.t(), group)
    if _has_a_kernel(weight) and _plans.pack_on_device(weight, out=out, twin=twin) is not None:
        _plans.weights_written(twin)
        return
    pack(weight, out=out)
    pack(weight, transposed=True, out=twin)


def pack_two_way(weight, out, twin, mask):
    """Chooses the two-way mask of a weight anew, writes it to `mask` (torch.bool), and the packed bytes of the masked weight
    and of its transpose to `out` and `twin`. The weight stays as it is. On a GPU one kernel does this for 16-bit elements."""
    from . import _plans  # which needs this module
    _check_two_way(weight)
    if _has_a_kernel(weight) and mask.is_contiguous() and _pack_two_way_on_device(weight, out, twin, mask):
        _plans.weights_written(twin)
        return
    mask.copy_(two_way_mask(weight))
    pack_masked(weight, mask, out, twin)


def pack_masked(weight, mask, out, twin):
    """pack_with_twin of a weight under a mask (torch.bool of its shape, two-way)."""
    from . import _plans  # which needs this module
    _check_two_way(weight)
    by_kernel = _has_a_kernel(weight) and mask.is_contiguous()
    if by_kernel and _plans.pack_on_device(weight, out=out, twin=twin, keep=mask) is not None:
        _plans.weights_written(twin)
        return
    pack_with_twin(torch.where(mask, weight, torch.zeros((), dtype=weight.dtype, device=weight.device)), out, twin)


def _has_a_kernel(weight):
    return weight.is_cuda and weight.element_size() == 2 and _has_memory(weight)


def _pack_two_way_on_device(weight, out, twin, mask):
    from . import _plans  # which needs this module
    return _plans.pack_on_device(weight, out=out, twin=twin, mask=mask) is not None


def pack_quantized(weight, scale, dtype, pair=False):
    """The packed bytes of a bf16 or f16 weight as an fp8 type: pruned by its own magnitudes; what stays is multiplied by
    the reciprocal of its row's scale in f32, and rounded; the largest finite value is the limit. On a GPU (sm_89 and
    later) one kernel does this. pair: as for pack; so is the order of the scales."""
    from . import _plans  # which needs this module
    if weight.dtype not in (torch.bfloat16, torch.float16) or dtype not in (torch.float8_e4m3fn, torch.float8_e5m2):
        raise invalid("torch.dtype", f"got {dtype} from {weight.dtype}", "float8_e4m3fn or float8_e5m2 from bfloat16 or float16")
    _check_groups(weight, _TYPES[dtype][1])
    if scale.shape != weight.shape[:1] or scale.device != weight.device:
        raise invalid("torch.scale", f"got scales of shape {tuple(scale.shape)} on {scale.device}",
                      f"({weight.shape[0]},) on {weight.device}, one for each row")
    if pair:
        bits, scale = pair_rows(weight.contiguous().view(torch.int16)), pair_rows(scale[:, None])[:, 0]
        return pack_quantized(bits.view(weight.dtype), scale, dtype)
    on_device = weight.is_cuda and _has_memory(weight)
    packed = _plans.quantize_on_device(weight, scale, dtype) if on_device else None
    if packed is None:
        (values, codes), top = compress(weight), torch.finfo(dtype).max
        values = (values.float() * scale.float().reciprocal()[:, None]).clamp(-top, top).to(dtype)
        bits = values.view(torch.uint8)
        packed = _pack_values(bits.where(bits != 0x80, 0).view(dtype), codes, weight.shape[1])
    _plans.weights_written(packed)
    return packed


def _pack_by_tensors(weight):
    return _pack_values(*compress(weight), weight.shape[1])


def _pack_values(values, codes, k):
    """The packed bytes of a canonical form with k columns."""
    m = values.shape[0]
    slabs, k_blocks, code_bytes = _blocks(m, k, values.element_size())
    value_bytes = torch.zeros(slabs * 64, k_blocks * 64, dtype=torch.uint8, device=values.device)
    raw = values.contiguous().view(torch.uint8).reshape(m, -1)
    value_bytes[:m, :raw.shape[1]] = raw
    plane = torch.full((slabs * 64, k_blocks * code_bytes), 0x44, dtype=torch.uint8, device=values.device)
    plane[:m, :codes.shape[1]] = codes
    groups = k // _TYPES[values.dtype][1]
    if groups % 2:  # the code behind the last group is padding: 4
        plane[:m, codes.shape[1] - 1] |= 0x40
    out = torch.empty(slabs, k_blocks, 4096 + 64 * code_bytes, dtype=torch.uint8, device=values.device)
    out[..., :4096] = _value_blocks(value_bytes, slabs, k_blocks)
    if code_bytes == 8:  # warp, upper rows, g, k-block, q, 2 bytes -> warp, g, q, upper, 2
        words = plane.view(slabs, 4, 2, 8, k_blocks, 4, 2).permute(0, 4, 1, 3, 5, 2, 6)
    else:  # warp, upper, g, k-block, k-step, q high, 4 bytes -> warp, g, q high, upper, k-step, 4
        words = plane.view(slabs, 4, 2, 8, k_blocks, 2, 2, 4).permute(0, 4, 1, 3, 6, 2, 5, 7)
    out[..., 4096:] = words.reshape(slabs, k_blocks, -1)
    return out.view(-1)


def dense_of(weight, in_features=None):
    """The dense tensor of a weight in one of torch's sparse forms: a SparseSemiStructuredTensor, or what
    torch._cslt_compress made, [m, ...] with the in_features it had. A dense one is given back.

    cuSPARSELt's form is opaque: the dense weight is its product with the identity, which is exact (but for -0)."""
    if isinstance(weight, torch.sparse.SparseSemiStructuredTensor):
        return weight.to_dense()
    if in_features is None:
        return weight
    eye = torch.eye(in_features, device=weight.device, dtype=torch.float32).to(weight.dtype)
    more = {} if weight.dtype.itemsize > 1 else {"out_dtype": torch.bfloat16}  # exact of any 8-bit value
    parts = [torch._cslt_sparse_mm(weight, some.t(), **more) for some in eye.split(_COLUMNS_AT_ONCE)]
    dense = torch.cat(parts, 1)
    if dense.is_floating_point() and not bool(dense.isfinite().all()):
        raise invalid("torch.cusparselt", "the product with the identity has Inf or NaN", "finite weights")
    return dense.to(weight.dtype)


_COLUMNS_AT_ONCE = 1024  # of the identity


def unpack(packed, m, k, dtype, pair=False):
    """The dense weight [m, k] of packed bytes: the inverse of pack."""
    if pair:
        return unpair_rows(unpack(packed, m, k, dtype).view(_INTEGERS[dtype.itemsize])).view(dtype)
    slabs, k_blocks, code_bytes = _blocks(m, k, dtype.itemsize)
    if packed.numel() != packed_bytes(m, k, dtype):
        raise invalid("sparse.bytes", f"got {packed.numel()} bytes for {m} x {k} {dtype}",
                      f"{packed_bytes(m, k, dtype)}")
    blocks = packed.view(slabs, k_blocks, -1)
    values = blocks[..., :4096].reshape(slabs, k_blocks, 2, 8, 2, 8, 16).permute(0, 3, 5, 1, 2, 4, 6)
    values = values.reshape(slabs * 64, k_blocks * 64)
    plane = blocks[..., 4096:]
    if code_bytes == 8:
        plane = plane.reshape(slabs, k_blocks, 4, 8, 4, 2, 2).permute(0, 2, 5, 3, 1, 4, 6)
    else:
        plane = plane.reshape(slabs, k_blocks, 4, 8, 2, 2, 2, 4).permute(0, 2, 5, 3, 1, 6, 4, 7)
    plane = plane.reshape(slabs * 64, -1)
    codes = torch.stack((plane & 15, plane >> 4), -1).reshape(slabs * 64, -1).to(torch.int64)
    integer = _INTEGERS[dtype.itemsize]
    values = values.contiguous().view(integer)
    _, group, kept = _TYPES[dtype]
    places = (codes >> 3 if kept == 1 else torch.stack((codes & 3, codes >> 2), -1))
    dense = torch.zeros(*codes.shape, group, dtype=integer, device=packed.device)
    dense.scatter_(-1, places.reshape(*codes.shape, kept), values.reshape(*codes.shape, kept))
    return dense.reshape(slabs * 64, -1)[:m, :k].contiguous().view(dtype)

"""Products of matrices: batched, of any strides, with epilogues, and of groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.frontends.triton import language as tl
from gridlane.tiles.kernels import addressed, described, prepared
from gridlane.tiles.kernels.blocks import (
    is_hopper,
    multiprocessors,
    product_blocks,
)
from gridlane.tiles.kernels.copies import Copy, turned_copy
from gridlane.tiles.kernels.factors import FACTORS, bias_of, check_options, factors
from gridlane.tiles.kernels.operands import (
    FLOATS,
    INDICES,
    NARROW,
    Operand,
    contiguous,
    expect_shape,
    index_type,
    merged,
    operand,
    result,
    sum_name,
    sum_type,
    transposed,
)
from gridlane.tiles.kernels.programs.described_products import (
    add_described_parts,
    described_group_tiles,
    described_product_tiles,
)
from gridlane.tiles.kernels.programs.products import grouped_product_tiles

_GROUP = addressed.GROUP


class Epilogue(NamedTuple):
    """What is computed of the sums of products."""

    scale_a: Operand | None
    scale_b: Operand | None
    bias: Operand | None
    residual: Operand | None
    activation: str | None

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays, as programs take them."""
        return tuple([None if each is None else each.value for each in self[:4]])


class Batches(NamedTuple):
    """The products of a launch: pairs of matrices in (outer, inner) batches.

    Attributes:
        a, b, out, residual: steps of (outer, inner) batches, of rows and of columns.
    """

    outer: int
    inner: int
    a: tuple[int, ...]
    b: tuple[int, ...]
    out: tuple[int, ...]
    residual: tuple[int, ...]

    @property
    def products(self) -> int:
        """The number of products."""
        return self.outer * self.inner


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    bias: Any = None,
    activation: str | None = None,
    residual: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    out_dtype: str | None = None,
    split_k: int | None = None,
    persistent: bool = False,
    precision: str = "ieee",
) -> Any:
    """The products of the matrices of two arrays, and ``activation(a @ b * scales + bias) +
    residual`` of them.

    Args:
        a, b: of shapes (..., m, k) and (..., k, n) whose batches broadcast, with NumPy's rules for
            one dimension; both of float16, bfloat16, float32, float64 or int8, or any two of the
            floats of 8 bits. A transposed view is as good as a copy of it.
        out: of the result's shape and dtype; a new array by default.
        bias: floats of shape (n,).
        activation: "relu", "gelu", "gelu_tanh" or "silu".
        residual: floats of the result's shape.
        scale_a, scale_b: float32 of shape (), or (m,) and (n,).
        out_dtype: the name of the result's dtype; by default that of a, float32 for floats of 8
            bits, int32 for int8.
        split_k: the parts of the sums that are computed apart and then added in order; by default
            as many as keep the device busy.
        persistent: each program computes several tiles.
        precision: of float32: ``ieee``, or ``tf32`` where instructions may round factors to 10 bits
            behind the point, as Hopper's do.

    Returns:
        ``out``. Products are added in float32, float64 for float64, int32 for int8. Hopper's
        instructions add those of floats of 8 bits with about 14 bits: 128 of them at a time where
        both factors are consecutive along the inner dimension, in lines at multiples of 16 bytes.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> matmul(np.eye(2), np.array([[1.0, 2.0], [3.0, 4.0]]), bias=np.array([1.0, 0.0]))
    array([[2., 2.],
           [4., 4.]])
    """
    arrays = a, b, out, scale_a, scale_b, bias, residual
    key = prepared.key_of(arrays, (activation, out_dtype, split_k, persistent, precision))
    known = prepared.find(key)
    if known is not None:
        return known.run(a, b, out, arrays[3:])
    check_options(None, precision=precision)
    left, right = factors(a, b)
    dtype = _result_dtype(left, out_dtype)
    shape, left, right = _shapes(left, right)
    target = result("out", out, left, shape.result, dtype)
    made = _matrices(target, shape)
    epilogue = _epilogue(shape, bias, residual, scale_a, scale_b, activation)
    if not target.size:
        return target.value
    batches = _batches(left, right, made, epilogue.residual)
    if batches is None:  # of more than two steps
        key, left, right = None, *(_repeated(each, shape.batch) for each in (left, right))
        batches = _repeated_batches(left, right, made, epilogue.residual, target)
    if _are_rows_of_one(batches, shape.m, epilogue):
        left, made = (_as_rows(each, batches.products) for each in (left, made))
        batches = Batches(1, 1, *[(0, 0, *each[2:]) for each in batches[2:]])
    launches = _multiply(left, right, made, batches, epilogue, split_k, persistent, precision)
    if key is not None:
        prepared.remember(key, launches._replace(shape=shape.result))
    return target.value


def grouped_matmul(
    a: Any, b: Any, sizes: Any, out: Any = None, *, out_dtype: str | None = None
) -> Any:
    """The products of groups of rows, each with a matrix of its own.

    Args:
        a: of shape (rows, k); the rows of a group follow each other.
        b: of shape (groups, k, n), of a's dtype; the dtypes are those of ``matmul``.
        sizes: the rows of each group, int32 or int64 of shape (groups,). Rows behind the last
            group have products of 0; groups end where a does.
        out: of shape (rows, n); a new array by default.
        out_dtype: as of ``matmul``.

    Returns:
        ``out``.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> a, b = np.ones((3, 1)), np.array([[[1.0]], [[5.0]]])
    >>> grouped_matmul(a, b, np.array([1, 2])).ravel()
    array([1., 5., 5.])
    """
    key = prepared.key_of((a, b, sizes, out), ("groups", out_dtype))
    known = prepared.find(key)
    if known is not None:
        return known.run(a, b, sizes, out)
    left, right = factors(a, b, (2, 3))
    groups, k, n = right.shape
    rows = left.shape[0]
    if left.shape[1] != k:
        raise ArgumentError(f"{left}, and {right}: a's columns must be b's rows")
    each = operand("sizes", sizes, INDICES, 1)
    expect_shape(each, (groups,))
    target = result("out", out, left, (rows, n), _result_dtype(left, out_dtype))
    if not target.size:
        return target.value
    if not groups:
        raise ArgumentError(f"{right}; it must have groups")
    if left.dtype in described.FACTORS and is_hopper() and k:
        forms = described.described(left), described.described(right, _batches_of_groups(right))
        # Groups begin at any row, boxes at multiples of 16 bytes of the lines in memory.
        if forms[0] is not None and forms[1] is not None and not forms[0].turned:
            launch = _prepared_groups(forms[0], forms[1], left, each, target, groups)
            launch.run(left.value, right.value, each.value, target.value)
            if key is not None:
                prepared.remember(key, launch)
            return target.value
    tile = product_blocks(rows, n, k, left.dtype, of_arrays=True)
    grid = (-(-rows // tile.m) + groups) * -(-n // tile.n)
    grouped_product_tiles[(grid,)](
        left.value, right.value, each.value, target.value, rows, groups, n, k,
        left.strides, right.strides, each.strides[0], target.strides, M=tile.m, N=tile.n, K=tile.k,
        num_warps=tile.warps, SUM=_sum_type(left.dtype), INDEX=index_type(left, right, target),
    )  # fmt: skip
    return target.value


def _batches_of_groups(b: Operand) -> tuple[tuple[int, int], ...]:
    return (1, 0), (b.shape[0], b.strides[0])


def _prepared_groups(
    a: described.Described,
    b: described.Described,
    like: Operand,
    sizes: Operand,
    out: Operand,
    groups: int,
) -> prepared.PreparedGroups:
    """Products of groups by tensor descriptors of the factors."""
    (rows, n), (_, k) = out.shape, like.shape
    in_lines = a.is_in_lines, b.is_in_lines
    # Programs that store while others multiply, and tiles as of groups of one size.
    tile = described.described_blocks(-(-rows // groups), n, k, 1, in_lines, groups, False)
    width = tile.n + tile.extra
    launch = prepared.Launch(
        described_group_tiles[((-(-rows // tile.m) + groups) * -(-n // width),)],
        (rows, groups, n, k, sizes.strides[0], (0, 0, *out.strides), a.turned, b.turned, tile.m,
         tile.n, tile.extra, tile.k, _GROUP, _sum_type(like.dtype), index_type(out)),
        {"num_warps": tile.warps, "num_stages": tile.stages},
    )  # fmt: skip
    others = b.descriptor(tile.k, tile.extra) if tile.extra else None
    forms = a.descriptor(tile.m, tile.k), b.descriptor(tile.k, tile.n), others
    return prepared.PreparedGroups(forms, launch, out.shape, out.dtype)


class Shapes(NamedTuple):
    """The shapes of a product: of its batches, of its matrices, and of its result."""

    batch: tuple[int, ...]
    m: int
    n: int
    k: int
    result: tuple[int, ...]


def _result_dtype(a: Operand, asked: str | None) -> str:
    if a.dtype == "int8":
        known, allowed = "int32", ("int32",)
    else:
        known = "float32" if a.dtype in NARROW else a.dtype
        allowed = (*FLOATS, *NARROW)
    if asked is None:
        return known
    name = np.dtype(asked).name if not isinstance(asked, str) else asked
    if name not in allowed:
        raise ArgumentError(f"out_dtype is {name}; for {a.dtype} it must be {', '.join(allowed)}")
    return name


def _sum_type(dtype: str) -> Any:
    return tl.int32 if dtype == "int8" else sum_type(dtype)


def _shapes(a: Operand, b: Operand) -> tuple[Shapes, Operand, Operand]:
    """The shapes, and the factors as arrays of matrices over the same memory."""
    if not a.shape or not b.shape:
        raise ArgumentError(f"{a}, and {b}: they must have dimensions")
    vectors = len(a.shape) == 1, len(b.shape) == 1
    if vectors[0]:
        a = Operand(a.name, a.value, (1, *a.shape), (0, *a.strides), a.dtype)
    if vectors[1]:
        b = Operand(b.name, b.value, (*b.shape, 1), (*b.strides, 0), b.dtype)
    (*above_a, m, k), (*above_b, inner, n) = a.shape, b.shape
    if k != inner:
        raise ArgumentError(f"{a}, and {b}: a's columns must be b's rows")
    try:
        batch = np.broadcast_shapes(tuple(above_a), tuple(above_b))
    except ValueError:
        raise ArgumentError(f"{a}, and {b}: their batches do not broadcast") from None
    kept = (*([] if vectors[0] else [m]), *([] if vectors[1] else [n]))
    return Shapes(batch, m, n, k, (*batch, *kept)), a, b


def _matrices(array: Operand, shape: Shapes) -> Operand:
    """An array of the result's shape as one of matrices."""
    count = len(shape.batch)
    steps = list(array.strides[count:])
    if len(array.shape) < count + 2:
        one = len(shape.result) - count == 1
        is_row = one and shape.m == 1 and shape.result[-1] == shape.n
        steps = ([0, *steps] if is_row else [*steps, 0]) if one else [0, 0]
    strides = (*array.strides[:count], *steps)
    return Operand(array.name, array.value, (*shape.batch, shape.m, shape.n), strides, array.dtype)


def _epilogue(
    shape: Shapes, bias: Any, residual: Any, scale_a: Any, scale_b: Any, activation: str | None
) -> Epilogue:
    check_options(activation)
    scales: list[Operand | None] = []
    for name, value, extent in (("scale_a", scale_a, shape.m), ("scale_b", scale_b, shape.n)):
        made = None if value is None else operand(name, value, ("float32",))
        if made and made.shape:
            expect_shape(made, (extent,))
        scales.append(made)
    more = None if residual is None else operand("residual", residual, FLOATS)
    if more:
        expect_shape(more, shape.result)
        more = _matrices(more, shape)
    return Epilogue(scales[0], scales[1], bias_of(bias, shape.n), more, activation)


def _batches(a: Operand, b: Operand, out: Operand, residual: Operand | None) -> Batches | None:
    """The batches of a launch; None if they have more than two steps."""
    batch = out.shape[:-2]
    arrays = [each for each in (a, b, out, residual) if each is not None]
    groups = merged(batch, [_batch_steps(each, batch) for each in arrays])
    if len(groups) > 2:
        return None
    none = (1, (0,) * len(arrays))
    (outer, far), (inner, near) = [*[none] * (2 - len(groups)), *groups]
    steps = [
        (one, other, *each.strides[-2:]) for one, other, each in zip(far, near, arrays, strict=True)
    ]
    return Batches(outer, inner, steps[0], steps[1], steps[2], steps[3] if residual else (0,) * 4)


def _repeated_batches(
    a: Operand, b: Operand, out: Operand, residual: Operand | None, target: Operand
) -> Batches:
    batches = _batches(a, b, out, residual)
    if batches is None:
        raise ArgumentError(
            f"{target}, with strides {target.strides}: its matrices are more than two steps apart; "
            "pass a contiguous array, and a contiguous residual"
        )
    return batches


def _are_rows_of_one(batches: Batches, rows: int, epilogue: Epilogue) -> bool:
    """Whether all products have one right factor, and the rows of all else follow each other: they
    are one product of more rows."""
    if batches.products == 1 or any(batches.b[:2]):
        return False
    if epilogue.scale_a is not None and epilogue.scale_a.shape:
        return False
    written = [batches.a, batches.out, *([batches.residual] if epilogue.residual else [])]
    return all(
        (batches.outer == 1 or outer == batches.inner * rows * row)
        and (batches.inner == 1 or inner == rows * row)
        for outer, inner, row, _ in written
    )


def _as_rows(array: Operand, count: int) -> Operand:
    """So many matrices, whose rows follow each other, as one."""
    *_, rows, columns = array.shape
    strides = array.strides[-2:]
    return Operand(array.name, array.value, (count * rows, columns), strides, array.dtype)


def _batch_steps(array: Operand, batch: Sequence[int]) -> tuple[int, ...]:
    """The steps of an array's batches, 0 where it is repeated."""
    own = array.shape[:-2]
    steps = [0 if n == 1 else step for n, step in zip(own, array.strides, strict=False)]
    return (*[0] * (len(batch) - len(own)), *steps)


def _repeated(array: Operand, batch: tuple[int, ...]) -> Operand:
    """A contiguous copy of an array's matrices for all batches."""
    if len(array.value.shape) < 2:
        return array
    value = array.value
    shape = (*batch, *array.shape[-2:])
    if isinstance(value, np.ndarray):
        value = np.ascontiguousarray(np.broadcast_to(value, shape))
    elif hasattr(value, "expand"):
        value = value.expand(shape).contiguous()
    elif tuple(value.shape) != shape:
        raise ArgumentError(
            f"{array}; batches of more than two steps of a device array do not broadcast: pass a "
            f"contiguous array of shape {shape}"
        )
    return contiguous(operand(array.name, value, FACTORS))


def _multiply(
    a: Operand,
    b: Operand,
    out: Operand,
    batches: Batches,
    epilogue: Epilogue,
    split_k: int | None,
    persistent: bool,
    precision: str,
) -> prepared.Prepared | addressed.PreparedAddressed:
    """Compute the products; the launches, which later calls may use."""
    k = a.shape[-1]
    check_options(None, split_k)
    if a.dtype in described.FACTORS and is_hopper() and k:
        left, right = _described(a, batches, batches.a), _described(b, batches, batches.b)
        if left is not None and right is not None:
            made = _prepared(a, left, right, out, batches, epilogue, split_k)
            made.run(a.value, b.value, out.value, epilogue.arrays)
            return made
    along = a.dtype == "float32" and precision == "tf32"
    along = along or (a.dtype in described.BYTES and b.dtype in described.BYTES)
    if along and is_hopper() and k:
        made = _prepared_along(a, b, out, batches, epilogue, split_k)
        if made is not None:
            made.run(a.value, b.value, out.value, epilogue.arrays)
            return made
    more = (*[_step(each) for each in epilogue[:3]], batches.residual)
    places = addressed.Places(
        batches.products, batches.inner, batches.a, batches.b, batches.out, more
    )
    sums = _sum_type(a.dtype), "int32" if a.dtype == "int8" else sum_name(a.dtype)
    plain = addressed.prepare(
        (a, b), out, epilogue.residual, places, epilogue.activation, sums, split_k, persistent
    )
    plain.run(a.value, b.value, out.value, epilogue.arrays)
    return plain


def prepared_product(
    a: Operand, b: Operand, out: Operand, bias: Operand | None, activation: str | None
) -> prepared.Prepared | None:
    """The launches of a product by tensor descriptors; None where there are none for it.

    Args:
        a, b, out: of shapes (m, k), (k, n) and (m, n), or with batches in front; the operands of
            ``matmul``, checked.
    """
    if a.dtype not in described.FACTORS or not is_hopper() or not a.shape[-1]:
        return None
    epilogue, batches = Epilogue(None, None, bias, None, activation), _batches(a, b, out, None)
    if batches is None:
        return None
    if _are_rows_of_one(batches, out.shape[-2], epilogue):
        a, out = (_as_rows(each, batches.products) for each in (a, out))
        batches = Batches(1, 1, *[(0, 0, *each[2:]) for each in batches[2:]])
    left, right = _described(a, batches, batches.a), _described(b, batches, batches.b)
    if left is None or right is None:
        return None
    return _prepared(a, left, right, out, batches, epilogue, None)


def _described(
    array: Operand, batches: Batches, steps: Sequence[int]
) -> described.Described | None:
    """An array of matrices as descriptors see it; None if no tensor map describes it."""
    if batches.products == 1:
        return described.described(array)
    extents = batches.outer, batches.inner
    return described.described(array, tuple(zip(extents, steps[:2], strict=True)))


def _prepared_along(
    a: Operand,
    b: Operand,
    out: Operand,
    batches: Batches,
    epilogue: Epilogue,
    split_k: int | None,
) -> prepared.Prepared | None:
    """Products of factors that instructions read along the inner dimension alone; those that lie
    otherwise are copied first, if there is one product."""
    left, right = _described(a, batches, batches.a), _described(b, batches, batches.b)
    turned, copies = (False, True), list[Copy | None]((None, None))
    found: list[described.Described] = []
    for number, (each, array) in enumerate(zip((left, right), (a, transposed(b)), strict=True)):
        if each is not None and each.turned == turned[number]:
            found.append(each)
            continue
        if batches.products > 1 or a.dtype in described.BYTES:
            return None
        (rows, k), (down, across) = array.shape[-2:], array.strides[-2:]
        lines = Operand(array.name, array.value, (1, k, 1, rows), (0, across, 0, down), array.dtype)
        step = -(-k // 4) * 4  # 16 bytes, for tensor maps
        copies[number] = turned_copy(lines, rows, (rows, True), step)
        found.append(described.Described(array.value, (rows, k), step, turned[number], size=4))
    made = _prepared(a, found[0], found[1], out, batches, epilogue, split_k)
    return made._replace(copies=(copies[0], copies[1]))


_ADDED = 32, 64
"""The piece of a tile whose parts are added at once."""


def _prepared(
    like: Operand,
    a: described.Described,
    b: described.Described,
    out: Operand,
    batches: Batches,
    epilogue: Epilogue,
    split_k: int | None,
) -> prepared.Prepared:
    """Products by tensor descriptors of their factors."""
    *_, m, n = out.shape
    k, count = a.shape[0] if a.turned else a.shape[1], batches.products
    apart = like.dtype in NARROW
    tile = _tile(a, b, (m, n, k), split_k, count, apart)
    width, rows = tile.n + tile.extra, tile.m * tile.cluster
    rest = count * -(-m // rows) * -(-n // width) - tile.whole
    more_steps = (*[_step(each) for each in epilogue[:3]], batches.residual)
    target, index = _described(out, batches, batches.out), index_type(out, epilogue.residual)
    is_described = target is not None and not target.turned and out.dtype not in NARROW
    programs, total, steps = tile.whole + rest * tile.parts, _sum_type(like.dtype), batches.out
    most = multiprocessors() * tile.programs // tile.cluster
    options: dict[str, Any] = {"num_warps": tile.warps, "num_stages": tile.stages}
    if tile.cluster > 1:
        options["cluster_dims"] = tile.cluster, 1, 1
    numbers = None if count == 1 else (count, batches.inner)
    first = prepared.Launch(
        described_product_tiles[(min(programs, most) * tile.cluster,)],
        (programs, tile.whole, numbers, m, n, k, tile.parts, steps, more_steps,
         a.moves | b.moves << 2, a.turned, b.turned, is_described, epilogue.activation, tile.m,
         tile.n, tile.extra, tile.k, _GROUP // tile.cluster, total, index, tile.cluster,
         apart),
        options,
    )  # fmt: skip
    ends = tile.parts, steps, more_steps, epilogue.activation
    second = _adding(rest, (tile.whole, numbers, m, n, *ends), rows, width, tile, (total, index))
    forms = _forms(a, b, target if is_described else None, tile)
    return prepared.Prepared(
        forms, first, second, (tile.parts, rest * rows * width),
        "int32" if like.dtype == "int8" else sum_name(like.dtype),
        any(each is not None for each in epilogue), bool(tile.extra), (), out.dtype,
    )  # fmt: skip


def _tile(
    a: described.Described,
    b: described.Described,
    extents: tuple[int, int, int],
    split_k: int | None,
    count: int,
    apart: bool,
) -> described.DescribedBlocks:
    m, n, k = extents
    units = -(-k * a.size // 2)  # of 16 bits
    in_lines = a.is_in_lines, b.is_in_lines
    tile = described.described_blocks(m, n, units, split_k, in_lines, count, apart=apart)
    return tile._replace(k=tile.k * 2 // a.size)


def _adding(
    rest: int,
    first: tuple[Any, ...],
    rows: int,
    width: int,
    tile: described.DescribedBlocks,
    types: tuple[Any, Any],
) -> prepared.Launch | None:
    """The launch that adds the parts of the sums of ``rest`` tiles of rows and a width, if any."""
    if not rest:
        return None
    high, columns = _ADDED
    assert width % columns == rows % high == 0
    grid = (rest * (rows // high) * (width // columns),)
    last = rows, width, high, columns, _GROUP // tile.cluster, *types
    return prepared.Launch(add_described_parts[grid], (*first, *last), {})


def _forms(
    a: described.Described,
    b: described.Described,
    out: described.Described | None,
    tile: described.DescribedBlocks,
) -> prepared.Forms:
    """The descriptors of a launch, for blocks of a tile."""
    results = [
        out.descriptor(tile.m, each) if out and each else None for each in (tile.n, tile.extra)
    ]
    others = b.descriptor(tile.k, tile.extra) if tile.extra else None
    left, right = a.descriptor(tile.m, tile.k), b.descriptor(tile.k, tile.n)
    return left, right, others, results[0], results[1]


def _step(array: Operand | None) -> int:
    return array.strides[0] if array and array.shape else 0

"""Products with weights of 4 bits."""

from __future__ import annotations

from typing import Any

from gridlane.core.errors import ArgumentError
from gridlane.frontends.triton import language as tl
from gridlane.tiles.kernels.blocks import (
    least_rows,
    multiprocessors,
    power_of_2,
    product_blocks,
    record,
)
from gridlane.tiles.kernels.described import address_of_array
from gridlane.tiles.kernels.norms import step_of, value_of
from gridlane.tiles.kernels.operands import (
    FLOATS,
    Operand,
    expect_shape,
    index_type,
    new,
    operand,
    result,
    sum_name,
    sum_type,
)
from gridlane.tiles.kernels.products import ACTIVATIONS
from gridlane.tiles.kernels.programs.int4_products import (
    int4_row_tiles,
    int4_tiles,
    int4_word_tiles,
)
from gridlane.tiles.kernels.programs.products import add_parts

_LEAST_GROUP = 32
_ADDED = 16, 128
"""The piece whose parts are added at once."""
_STEP = 64
"""Bytes of a column in a step, at most."""
_MOST_ROWS = 2
"""Of products without matrix instructions, each of which reads all weights."""
_COLUMNS = 128
_PROGRAMS = 4
"""For each of a GPU's multiprocessors."""
_LEAST_STEPS = 4
"""Of a part of the sums."""


def int4_matmul(
    a: Any,
    weights: Any,
    scales: Any,
    zeros: Any = None,
    out: Any = None,
    *,
    bias: Any = None,
    activation: str | None = None,
    split_k: int | None = None,
) -> Any:
    """The product of a matrix and the transpose of one of 4-bit weights, and
    ``activation(product + bias)`` of it.

    Args:
        a: of shape (m, k), float16, bfloat16, float32 or float64.
        weights: uint8 of shape (n, k / 2), each with the weights of two columns of ``a``: that of
            the even one in the low four bits.
        scales: float32, or a's dtype, of shape (n, groups): of as many neighbours of a row each,
            a multiple of 32.
        zeros: uint8 of shape (n, groups), what is subtracted from a weight's number of 0 to 15
            before it is scaled; None for 0.
        out: of shape (m, n) and a's dtype; a new array by default.
        bias: floats of shape (n,).
        activation: as of ``matmul``.
        split_k: the parts of the sums that are computed apart and then added in order; by default
            as many as keep the device busy.

    Returns:
        ``out``. Products with the differences of numbers and zeros, which are exact, are added, and
        those of a step times their scale, in float32, or float64 for float64.

    Raises:
        ArgumentError: an array or option does not fit.

    >>> import numpy as np
    >>> a, weights = np.ones((1, 32)), np.full((1, 16), 0x31, np.uint8)
    >>> int4_matmul(a, weights, np.array([[0.5]]))
    array([[32.]])
    """
    left, packed = operand("a", a, FLOATS, 2), operand("weights", weights, ("uint8",), 2)
    (m, k), n = left.shape, packed.shape[0]
    if k % 2:
        raise ArgumentError(f"{left}; its columns must be even")
    expect_shape(packed, (n, k // 2))
    scale = operand("scales", scales, ("float32", left.dtype), 2)
    groups = scale.shape[1]
    expect_shape(scale, (n, groups))
    if (k and not groups) or (groups and (k % groups or k // groups % _LEAST_GROUP)):
        raise ArgumentError(
            f"{scale}, and {left}: a's columns must be in groups of a multiple of {_LEAST_GROUP}"
        )
    zero = None if zeros is None else operand("zeros", zeros, ("uint8",), 2)
    if zero is not None:
        expect_shape(zero, scale.shape)
    if activation is not None and activation not in ACTIVATIONS:
        raise ArgumentError(f"activation is {activation!r}; it must be {', '.join(ACTIVATIONS)}")
    if split_k is not None and split_k < 1:
        raise ArgumentError(f"split_k is {split_k}; it must be at least 1")
    shift = None if bias is None else operand("bias", bias, FLOATS, 1)
    if shift is not None:
        expect_shape(shift, (n,))
    target = result("out", out, left, (m, n), left.dtype)
    if target.size:
        _launch(left, packed, scale, zero, target, shift, activation, split_k)
    return target.value


def _launch(
    a: Operand,
    packed: Operand,
    scales: Operand,
    zeros: Operand | None,
    out: Operand,
    bias: Operand | None,
    activation: str | None,
    split_k: int | None,
) -> None:
    (m, n), count = out.shape, packed.shape[1]
    group = max(count // max(scales.shape[1], 1), 1)
    step = min(group & -group, _STEP)
    is_row = m <= _MOST_ROWS
    tile = product_blocks(m, n, 2 * step, a.dtype)
    rows = 1 if is_row else max(tile.m, least_rows(a.dtype))
    columns = min(power_of_2(n), _COLUMNS) if is_row else tile.n
    tiles = -(-m // rows) * -(-n // columns)
    steps = -(-count // step)
    busy = multiprocessors() * (1 if record().on_host else _PROGRAMS)
    wanted = min(busy // tiles, steps // _LEAST_STEPS) if split_k is None else split_k
    parts = max(min(wanted, steps), 1)
    plain = parts == 1 and bias is None and activation is None
    split, kind = None, sum_type(a.dtype)
    target, out_steps = out, (*out.strides, 0)
    if not plain:
        split = target = new("parts", a, (parts, m * n), sum_name(a.dtype))
        out_steps = n, 1, m * n
    index = index_type(a, packed, scales, zeros, out, split)
    strides = a.strides, packed.strides, scales.strides, zeros.strides if zeros else (0, 0)
    arrays = a.value, packed.value, scales.value, value_of(zeros), target.value
    constants: dict[str, Any] = {"N": columns, "STEP": step, "SUM": kind, "INDEX": index}
    if is_row and n % columns == 0 and _has_words(packed, step) and kind is tl.float32:
        del constants["SUM"]
        int4_word_tiles[(tiles * parts,)](
            *arrays, n, count, group, parts, *strides, out_steps, **constants
        )
    elif is_row:
        int4_row_tiles[(tiles * parts,)](
            *arrays,
            n,
            count,
            group,
            parts,
            *strides,
            out_steps,
            WHOLE=n % columns == 0,
            **constants,
        )
    else:
        int4_tiles[(tiles * parts,)](
            *arrays, m, n, count, group, parts, *strides, out_steps, M=rows,
            num_warps=tile.warps, **constants,
        )  # fmt: skip
    if split is not None:
        high, width = (min(power_of_2(e), most) for e, most in zip((m, n), _ADDED, strict=True))
        add_parts[(-(-m // high) * -(-n // width),)](
            split.value, out.value, (None, None, value_of(bias), None), parts, 1, m, n, m * n,
            (0, 0, *out.strides), (0, 0, step_of(bias), (0, 0, 0, 0)), ACTIVATION=activation,
            M=high, N=width, SUM=kind, INDEX=index,
        )  # fmt: skip


def _has_words(packed: Operand, step: int) -> bool:
    """Whether a GPU reads columns by words of eight numbers."""
    return (
        record().name == "cuda"
        and packed.strides[1] == 1
        and packed.strides[0] % 4 == 0
        and address_of_array(packed.value) % 4 == 0
        and step % 4 == 0
    )
